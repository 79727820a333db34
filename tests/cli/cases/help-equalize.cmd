imgstat equalize --help
