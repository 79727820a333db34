cp good-example.png "$TMP/a.png" && cd "$TMP" && imgstat equalize a.png -o a.btf && imgstat stats a.btf && imgstat equalize a.png -o a.unknown && imgstat stats a.unknown
