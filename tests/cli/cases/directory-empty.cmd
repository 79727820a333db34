mkdir "$TMP/d"; cd "$TMP"; imgstat d
