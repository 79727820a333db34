imgstat --ddof 1 good-example.png
