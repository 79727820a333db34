imgstat "good-pages.tif[1]"
