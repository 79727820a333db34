imgstat merge --help
