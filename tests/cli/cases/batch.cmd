imgstat bad-truncated.png good-1x1.png bad-text.tif good-1x1.tif unsupported-codec.tif
