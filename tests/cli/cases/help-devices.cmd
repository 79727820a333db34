imgstat devices --help
