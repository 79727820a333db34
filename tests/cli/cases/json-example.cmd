imgstat --json good-example.png
