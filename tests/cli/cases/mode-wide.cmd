imgstat --json good-float32.tif; imgstat --json --mode good-float32.tif; imgstat --csv good-float32.tif; imgstat --csv --mode good-float32.tif
