imgstat normalize --compression brotli good-rgb.png -o "$TMP/a.png"; ls -A "$TMP"
