imgstat --json good-pages.tif
