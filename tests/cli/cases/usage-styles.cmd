imgstat --json --csv photo.tif; imgstat --histogram photo.tif
