imgstat report good-rgb.png good-constant.tif good-example.png good-example.tif
