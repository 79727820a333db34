imgstat hist --help
