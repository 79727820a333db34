imgstat compare good-example.png good-example.tif
