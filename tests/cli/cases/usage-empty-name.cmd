imgstat stats good-example.png ''
