imgstat equalize good-example.png -o "$TMP/e.png" && imgstat stats --json --histogram "$TMP/e.png" | sed "s|$TMP/||"
