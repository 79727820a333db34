cp good-1x1.png "$TMP/写真.png"; cp good-1x1.png "$TMP/été.png"; cd "$TMP" && imgstat .
