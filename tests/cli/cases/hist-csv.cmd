imgstat hist --csv --bins 4 --range 0,256 good-example.png; imgstat hist --csv --bins 3 good-float32.tif
