#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of the documents from testdata/, by the commands of docs/tutorial.md and docs/transforms.md.

usage: make.py [FOLDER] (default: the folder of this script). With chromium: make.py FOLDER --screenshot, also report.png.

Needs the package and numpy. tests/python/test_documents.py compares what it draws with what is here.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import imgstat

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent.parent / "testdata"
GAP = 8  # white, between images


def read(name):
    with imgstat.open(name) as file:
        return file.read()


def smaller(x, factor):
    """Means of squares of pixels."""
    height, width = x.shape[0] // factor, x.shape[1] // factor
    squares = x[: height * factor, : width * factor].reshape(height, factor, width, factor, -1)
    return squares.mean(axis=(1, 3)).round().astype(x.dtype)


def joined(images, axis):
    shape = list(images[0].shape)
    shape[axis] = GAP
    gap = np.full(shape, 255, np.uint8)
    return np.concatenate([part for image in images for part in (gap, image)][1:], axis=axis)


def row(*images):
    return joined(images, 1)


def histogram(image):
    """What a notebook shows, as a file."""
    html = imgstat.stats(image)._repr_html_()
    drawing = html[html.index("<svg ") : html.index("</svg>")] + "</svg>\n"
    return drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def draw(folder):
    """In a folder where the commands have run."""
    photo = read("photo.tif")
    (folder / "histogram.svg").write_text(histogram(photo))
    shutil.copy("photo.svg", folder)
    series = [row(*(smaller(read(f"{name}/{i}.png"), 4) for i in (1, 2, 3))) for name in ("series", "alone", "together")]
    methods = [smaller(read("hazy.png"), 4)] + [
        smaller(read(f"by/{name}.png"), 4)
        for name in ("stretch", "percentile", "meanstd", "gamma", "match", "equalize", "clahe")]
    pictures = {
        "methods": joined([row(*methods[:4]), row(*methods[4:])], 0),
        "contrast": row(*(smaller(x, 3) for x in (photo, read("equalized.tif"), read("clahe.tif")))),
        "before-after": row(*(smaller(read(name), 2) for name in ("hazy.png", "clear.png"))),
        "dark": row(*(smaller(x, 3) for x in ((read("dark16.tif") >> 8).astype(np.uint8), read("bright8.png")))),
        "series": joined(series, 0),
    }
    for name, x in pictures.items():
        imgstat.save(x, folder / f"{name}.png", replace=True)


def main():
    words = [word for word in sys.argv[1:] if word != "--screenshot"]
    folder = Path(words[0]).resolve() if words else HERE
    text = "".join((HERE.parent / page).read_text() for page in ("tutorial.md", "transforms.md"))
    commands = re.findall(r"^\$ imgstat ([^|]*?)(?: \|.*)?$", text, re.M)
    with tempfile.TemporaryDirectory() as temporary:
        work = shutil.copytree(TESTDATA, Path(temporary) / "testdata")
        os.chdir(work)
        for command in commands:
            imgstat.run(shlex.split(command))
        draw(folder)
        if "--screenshot" in sys.argv:
            subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,1300",
                            f"--screenshot={folder / 'report.png'}", f"file://{work}/report.html"], check=True)
        os.chdir(HERE)


if __name__ == "__main__":
    main()
