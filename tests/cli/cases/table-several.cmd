imgstat photo.tif good-rgb.png good-gray16.png
