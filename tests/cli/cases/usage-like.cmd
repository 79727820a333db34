for words in 'normalize --like vips' 'equalize --clahe --like pillow' 'equalize --like opencv --out-range 0,9'; do imgstat $words good-rgb.png -o "$TMP/out.png"; done
