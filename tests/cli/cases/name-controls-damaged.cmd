cp bad-crc.png "$TMP/$(printf 'a\nb.png')"; cd "$TMP" && imgstat normalize a*b.png -o out.png; imgstat a*b.png
