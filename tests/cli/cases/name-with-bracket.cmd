cp good-1x1.png "$TMP/a.png[0]"; cd "$TMP" && imgstat "a.png[0]"
