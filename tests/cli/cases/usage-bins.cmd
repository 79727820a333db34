imgstat --bins 0 photo.tif; imgstat --bins 1.5 photo.tif; imgstat --bins -1 photo.tif
