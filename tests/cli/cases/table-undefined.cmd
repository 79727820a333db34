imgstat good-float32.tif good-all-nan.tif good-all-nodata.tif good-nodata.tif
