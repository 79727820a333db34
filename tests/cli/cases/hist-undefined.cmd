imgstat hist --height 3 good-all-nan.tif good-constant.tif good-float32.tif
