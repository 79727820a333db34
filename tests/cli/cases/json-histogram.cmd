imgstat stats --json --histogram --cdf --bins 8 --range 0,256 good-example.png
