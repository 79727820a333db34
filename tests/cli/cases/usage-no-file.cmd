imgstat stats
