cp good-rgb.png "$TMP/a.png"; imgstat normalize "$TMP/a.png" -o "$TMP/a.png"
