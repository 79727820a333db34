imgstat --max-tile 1X photo.tif; imgstat --max-tile 0 photo.tif; imgstat --max-tile 99999999999T photo.tif
