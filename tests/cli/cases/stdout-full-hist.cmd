imgstat hist photo.tif > /dev/full
