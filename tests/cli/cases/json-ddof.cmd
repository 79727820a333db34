imgstat --ddof 5 --json good-1x1.png
