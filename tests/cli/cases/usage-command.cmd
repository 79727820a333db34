imgstat statz photo.tif; imgstat equalise photo.tif -o "$TMP/o.tif"; imgstat hlep; imgstat help histt; imgstat help nothing; imgstat nothing
