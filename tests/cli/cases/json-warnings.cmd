imgstat --json warned-ifd-loop.tif | grep -o '"warnings":.*'
imgstat --json --quiet warned-ifd-loop.tif | grep -o '"warnings":.*'
