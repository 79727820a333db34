imgstat --json good-all-nan.tif
