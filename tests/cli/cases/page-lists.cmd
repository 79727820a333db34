imgstat hist --page 0,1 --plot $TMP/p.svg good-pages.tif; echo $?; ls $TMP
imgstat stats --page x good-pages.tif; echo $?
imgstat 'good-pages.tif[0,2]'
