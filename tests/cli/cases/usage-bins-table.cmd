imgstat --bins 4 good-example.png || imgstat stats --range 0,9 good-example.png
