imgstat stats --help-all
