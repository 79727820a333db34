mkdir $TMP/d && cp good-1x1.png good-1x1.tif $TMP/d && cd $TMP && imgstat compare d d
