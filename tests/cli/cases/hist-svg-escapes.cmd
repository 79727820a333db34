cp good-example.png "$TMP/a<b>&\"c\".png"; cd "$TMP"; imgstat hist --plot - *.png | grep "a&lt;"
