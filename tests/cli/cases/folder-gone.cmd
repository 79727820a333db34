image=$PWD/good-example.png; mkdir $TMP/gone; cd $TMP/gone; rmdir $TMP/gone
imgstat normalize $image -o x.png; echo $?; imgstat normalize $image -o ./a/x.png; echo $?; imgstat normalize $image -o $TMP/y.png && ls $TMP
