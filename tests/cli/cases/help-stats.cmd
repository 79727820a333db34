imgstat stats --help
