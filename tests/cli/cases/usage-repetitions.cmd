imgstat stats --by 'group=x++++++++++++++++++++++++++++++++++++++++' photo.tif
