cp good-rgb.png $TMP/a.png; cd $TMP; ln -s a.png b.png; imgstat hist --force --plot b.png a.png; status=$?; imgstat a.png; exit $status
