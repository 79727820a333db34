imgstat normalize --dry-run --codecs tiff good-rgb.png good-1x1.tif -o out
