imgstat compare photo.tif good-rgb.png
