imgstat --jobs 1 --csv good-*.png > "$TMP/1"; imgstat --jobs 4 --csv good-*.png > "$TMP/4"; cmp "$TMP/1" "$TMP/4" && wc -l < "$TMP/4"
