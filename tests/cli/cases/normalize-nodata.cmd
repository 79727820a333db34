imgstat normalize good-nodata.tif -o "$TMP/same.tif"; cd "$TMP" && imgstat normalize same.tif --depth 8 -o u8.tif; imgstat normalize same.tif --depth 16 -o u16.png; imgstat same.tif u8.tif
