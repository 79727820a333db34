imgstat info photo.tif good-pages.tif good-rgb.png good-interlaced.png good-nodata.tif bad-text.tif
