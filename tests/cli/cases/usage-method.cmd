imgstat --interpolation cubic photo.tif
