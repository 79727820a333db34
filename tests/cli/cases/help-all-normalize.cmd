imgstat normalize --help-all
