imgstat --page 2 good-pages.tif
