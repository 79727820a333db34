imgstat --range 5 photo.tif; imgstat --range 5,5 photo.tif; imgstat --range 1,nan photo.tif
