imgstat --help
