#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/python.md from testdata/. usage: make.py [FOLDER] (default: the folder of this script)

Needs the package and numpy. tests/python/test_documents.py compares what it draws with what is here.
"""
import sys
from pathlib import Path

import numpy as np

import imgstat

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent.parent / "testdata"
GAP = 8  # white, between images


def smaller(x, factor):
    """Means of squares of pixels."""
    height, width = x.shape[0] // factor, x.shape[1] // factor
    squares = x[: height * factor, : width * factor].reshape(height, factor, width, factor, -1)
    return squares.mean(axis=(1, 3)).round().astype(x.dtype)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    with imgstat.open(TESTDATA / "photo.tif") as file:
        photo = file.read()
    images = [smaller(x, 3) for x in (photo, imgstat.equalize(photo), imgstat.clahe(photo))]
    gap = np.full((images[0].shape[0], GAP, 3), 255, np.uint8)
    row = np.concatenate([images[0], gap, images[1], gap, images[2]], axis=1)
    imgstat.save(row, folder / "contrast.png", replace=True)
    html = imgstat.stats(photo)._repr_html_()
    drawing = html[html.index("<svg ") : html.index("</svg>")] + "</svg>\n"
    drawing = drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    (folder / "histogram.svg").write_text(drawing)


if __name__ == "__main__":
    main()
