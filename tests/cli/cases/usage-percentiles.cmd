imgstat --percentiles 101 photo.tif; imgstat --percentiles 1,,2 photo.tif; imgstat --percentiles "" photo.tif
