imgstat devices photo.tif
