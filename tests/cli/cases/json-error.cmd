imgstat --json bad-truncated.png good-1x1.png nowhere.png
