imgstat --mode photo.tif
