imgstat hist --ascii --log --width 60 --height 5 --percentiles 10,90 photo.tif
