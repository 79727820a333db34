imgstat equalize --compression jpeg good-rgb.png -o "$TMP/out.tif"
