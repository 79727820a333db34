imgstat --memory 1G photo.tif; for size in 1X 0 31M 99999999999T; do imgstat equalize --memory $size photo.tif -o "$TMP/o.tif"; done; imgstat equalize --quiet --memory 32M photo.tif -o "$TMP/o.tif"
