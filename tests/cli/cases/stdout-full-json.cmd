imgstat --json photo.tif > /dev/full
