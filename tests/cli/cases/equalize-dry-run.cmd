mkdir "$TMP/in" && cp good-gray16.png good-rgb.png "$TMP/in" && cd "$TMP" && imgstat equalize --dry-run in -o out && ls
