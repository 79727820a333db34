imgstat equalize good-example.png -o "$TMP/e.png" --save-transfer - ; imgstat normalize --method gamma=2 good-constant.tif -o "$TMP/c.tif" --save-transfer "$TMP/t.json" && cat "$TMP/t.json"
