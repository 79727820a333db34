imgstat --json warned-ifd-loop.tif > "$TMP/o"; echo $?; wc -l < "$TMP/o"; imgstat --quiet --json warned-ifd-loop.tif > "$TMP/o"
