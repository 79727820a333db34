for codecs in png,jpg ''; do imgstat stats --codecs "$codecs" good-example.png good-rgb.png; done
