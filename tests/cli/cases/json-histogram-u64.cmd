imgstat stats --json --histogram --bins 3 good-u64.tif && imgstat stats --json --histogram --bins 2 --range 0,18446744073709551615 good-u64.tif good-i64.tif
