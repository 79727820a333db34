mkdir $TMP/in; cp good-rgb.png $TMP/in/a.png; cp good-dark16.tif $TMP/in/b.tif
imgstat normalize --method meanstd=118,50 $TMP/in -o $TMP/out; echo $?; ls $TMP
