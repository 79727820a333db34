imgstat
