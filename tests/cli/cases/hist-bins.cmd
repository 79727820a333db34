imgstat hist --csv --bins 4 good-i8.tif; imgstat hist --csv --bins 2 good-scan12.tif
