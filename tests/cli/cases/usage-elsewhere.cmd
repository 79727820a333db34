imgstat info --csv photo.tif
