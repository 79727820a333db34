imgstat stats --json --percentiles 1,99.50,050 good-example.png
