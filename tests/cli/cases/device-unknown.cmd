imgstat --device abacus photo.tif
