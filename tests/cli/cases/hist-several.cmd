imgstat hist --height 3 good-pages.tif good-1x1.png
