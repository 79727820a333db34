imgstat --csv --shape --percentiles 5,95 good-example.png bad-empty.png
