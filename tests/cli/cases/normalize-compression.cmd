imgstat normalize --compression lzw good-rgb.png -o "$TMP/a.png"; ls -A "$TMP"
