imgstat --percentiles 1,50,99.9 --shape good-example.png
