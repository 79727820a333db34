imgstat good-palette.png; imgstat --indices good-palette.png
