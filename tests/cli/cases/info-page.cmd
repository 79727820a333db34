imgstat info --page 2,0 good-pages.tif
