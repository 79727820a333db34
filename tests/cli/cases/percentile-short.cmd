imgstat --percentile 50 --csv good-1x1.png
