cp good-1x1.png "$TMP/a,\"b\" c.png"; cd "$TMP" && imgstat --csv *.png
