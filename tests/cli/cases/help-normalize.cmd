imgstat normalize --help
