imgstat info --json good-pages.tif good-gray-alpha.png no.tif
