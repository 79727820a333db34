imgstat good-u64.tif good-i64.tif good-float64-offset.tif good-float32-offset.tif good-half.tif
