mkdir -p "$TMP/d/e"; cp good-1x1.png "$TMP/d/e/c.png"; ln -s .. "$TMP/d/e/up"; ln -s . "$TMP/d/self"; cd "$TMP"; imgstat --recursive d
