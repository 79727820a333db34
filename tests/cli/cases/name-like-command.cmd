cp good-1x1.png "$TMP/stats"; cd "$TMP" && imgstat ./stats && imgstat stats stats
