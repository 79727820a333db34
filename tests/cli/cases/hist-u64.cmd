imgstat hist --csv --bins 2 good-u64.tif good-i64.tif
