imgstat --jobs 0 photo.tif
