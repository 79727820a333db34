cp good-1x1.png "$TMP/--json"; cd "$TMP" && imgstat -- --json
