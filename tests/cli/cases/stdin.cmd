imgstat - < good-example.png; imgstat --json - < good-example.tif
