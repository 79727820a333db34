imgstat hist --plot a.jpg photo.tif; imgstat hist --plot a.svg photo.tif good-1x1.png; imgstat hist --plot a.svg --json photo.tif
