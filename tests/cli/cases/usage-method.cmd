imgstat --percentile-method cubic photo.tif
