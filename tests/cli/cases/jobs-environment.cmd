IMGSTAT_JOBS=0 imgstat photo.tif; IMGSTAT_JOBS=3 imgstat good-1x1.png
