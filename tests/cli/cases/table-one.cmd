imgstat photo.tif
