imgstat stats --colour photo.tif
