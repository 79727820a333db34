imgstat --percentiles 1,50,99.9 --percentile-method nearest good-example.png
