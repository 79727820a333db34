imgstat normalize good-example.png good-truncated-not-there.png bad-truncated.png -o "$TMP/out"; ls -A "$TMP/out"
