imgstat normalize --out-range 0,50% photo.tif -o $TMP/o.tif; echo $?
imgstat normalize --method meanstd=50%,20% good-rgb.png -o $TMP/p.png; echo $?
imgstat normalize --out-range 9%,9% photo.tif -o $TMP/o.tif; echo $?
imgstat normalize --in-range 5%,-1 photo.tif -o $TMP/q.tif; echo $?
