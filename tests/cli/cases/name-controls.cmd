cp good-1x1.png "$TMP/$(printf "a\tb\033[31m.png")"; cd "$TMP" && imgstat . && imgstat --json .
