imgstat info --help
