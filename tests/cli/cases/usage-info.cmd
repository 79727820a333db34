imgstat info --shape photo.tif
