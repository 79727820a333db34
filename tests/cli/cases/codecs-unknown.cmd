imgstat stats --codecs png,jpg good-example.png good-rgb.png
