imgstat --csv good-example.png good-all-nan.tif good-pages.tif
