imgstat --max-pixels 100 photo.tif; imgstat --max-width 639 photo.tif; imgstat --max-pages 2 good-pages.tif; imgstat --max-tile 1K photo.tif
