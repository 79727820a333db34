imgstat compare --help
