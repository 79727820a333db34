imgstat --json warned-ifd-loop.tif > "$TMP/o" 2> "$TMP/e"; echo $?; wc -l < "$TMP/o"; head -n 1 "$TMP/e"; imgstat --quiet --json warned-ifd-loop.tif > "$TMP/o"
