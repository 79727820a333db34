imgstat photo.tif > /dev/full
