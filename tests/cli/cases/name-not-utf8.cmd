cp good-1x1.png "$TMP/$(printf "a\377\303b.png")"; cd "$TMP" && imgstat --json . && imgstat --csv . && imgstat .
