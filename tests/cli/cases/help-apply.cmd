imgstat apply --help
