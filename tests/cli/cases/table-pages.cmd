imgstat stats good-pages.tif
