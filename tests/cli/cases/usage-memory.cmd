imgstat --memory 1X photo.tif; imgstat --memory 0 photo.tif; imgstat --memory 99999999999T photo.tif
