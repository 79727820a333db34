imgstat info warned-ifd-loop.tif; imgstat info --quiet warned-ifd-loop.tif
