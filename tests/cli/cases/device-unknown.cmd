imgstat --device abacus photo.tif 2> "$TMP/e"; echo $?; cut -d: -f1-2 "$TMP/e"
