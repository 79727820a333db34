imgstat stats --json --shape good-example.png
