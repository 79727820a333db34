imgstat "good-pages.tif[9]"
