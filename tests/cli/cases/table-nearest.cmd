imgstat --percentiles 1,50,99.9 --interpolation nearest good-example.png
