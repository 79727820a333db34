#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what other programs make of images, into testdata/expected-transforms.json.

The tests read that file and need no Python. To record anew, with the packages of Debian 12:

    apt-get install python3-opencv python3-skimage python3-pil python3-tifffile imagemagick libvips-tools
    python3 tests/record_expected.py CORPUS testdata/expected-transforms.json

`convert` (ImageMagick 6, 16-bit build) and `vips` are run where they are installed. "recorded_with" gives the version
of each package. Each entry names the program, its parameters and the 64-bit FNV-1a hash of the samples (little endian,
row by row). Images are made by `pattern`, which tests/unit/helper_transform.c repeats, or come from the corpus.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import cv2
import numpy as np
import skimage
import skimage.exposure
import tifffile
import PIL
from PIL import Image, ImageOps


def fnv(array):
    h = 0xCBF29CE484222325
    for byte in np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes():
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h


def pattern(kind, width, height, dtype):
    x, y = np.meshgrid(np.arange(width, dtype=np.uint64), np.arange(height, dtype=np.uint64))
    m = np.uint64(0xFFFFFFFF)
    h = (x * np.uint64(374761393) + y * np.uint64(668265263)) & m
    h = ((h ^ (h >> np.uint64(13))) * np.uint64(1274126177)) & m
    h ^= h >> np.uint64(16)
    low, high = h & np.uint64(0xFFFF), h >> np.uint64(16)
    v = {
        "noise": high,
        "slope": (x * np.uint64(700) + y * np.uint64(300) + (low & np.uint64(4095))) & np.uint64(0xFFFF),
        "dark": (low * high) >> np.uint64(16),
        "scan": np.uint64(512) + (h & np.uint64(4095)) + x,
        "tiles": ((x // np.uint64(13) + y // np.uint64(17)) % np.uint64(5)) * np.uint64(9000) + np.uint64(1000),
        "black": x * np.uint64(0),
        "flat": x * np.uint64(0) + np.uint64(25700),
        "white": x * np.uint64(0) + np.uint64(65535),
    }[kind]
    return (v >> np.uint64(8)).astype(np.uint8) if dtype == np.uint8 else v.astype(np.uint16)


def convert(array, *args):
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.tif"), os.path.join(folder, "out.tif")
        tifffile.imwrite(source, array)
        depth = "8" if array.dtype == np.uint8 else "16"
        # else an image of one level becomes bilevel
        keep = ["-type", "Grayscale", "-depth", depth, "-compress", "None"]
        subprocess.run(["convert", source, *args, *keep, target], check=True, stderr=subprocess.DEVNULL)
        result = tifffile.imread(target)
        assert (result.shape, result.dtype) == (array.shape, array.dtype)
        return result


def vips_equalize(array):
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.tif"), os.path.join(folder, "out.tif")
        tifffile.imwrite(source, array)
        subprocess.run(["vips", "hist_equal", source, target], check=True)
        return tifffile.imread(target).astype(array.dtype)


def to_type(share, dtype):
    return np.rint(share * np.iinfo(dtype).max).astype(dtype)


def equalize(program, array):
    if program == "opencv":
        return cv2.equalizeHist(array)
    if program == "skimage":
        nbins = 256 if array.dtype == np.uint8 else 65536
        return to_type(skimage.exposure.equalize_hist(array, nbins=nbins), array.dtype)
    if program == "pillow":
        return np.array(ImageOps.equalize(Image.fromarray(array)))
    if program == "imagemagick":
        return convert(array, "-equalize")
    return vips_equalize(array)


def percentile(program, array, lo, hi):
    if program == "skimage":
        black, white = np.percentile(array, (lo, 100 - hi))
        return skimage.exposure.rescale_intensity(array, in_range=(black, white))
    if program == "pillow":
        return np.array(ImageOps.autocontrast(Image.fromarray(array), cutoff=(lo, hi)))
    return convert(array, "-contrast-stretch", "%.9g%%x%.9g%%" % (lo, hi))


def clahe(program, array, tiles, clip):
    if program == "opencv":
        return cv2.createCLAHE(clipLimit=clip, tileGridSize=tuple(tiles)).apply(array)
    height, width = array.shape
    kernel = (max(height // tiles[1], 1), max(width // tiles[0], 1))
    return to_type(skimage.exposure.equalize_adapthist(array, kernel_size=kernel, clip_limit=clip), array.dtype)


def patterns():
    sizes = (("noise", 64, 48), ("slope", 131, 97), ("dark", 255, 61), ("scan", 100, 80), ("tiles", 77, 90),
             ("black", 64, 48), ("flat", 64, 48), ("flat", 203, 199), ("flat", 5, 3), ("white", 131, 97))
    for kind, width, height in sizes:
        for dtype in (np.uint8, np.uint16):
            yield kind, width, height, dtype


def entries():
    have = {"opencv", "skimage", "pillow"}
    have |= {"imagemagick"} if shutil.which("convert") else set()
    have |= {"vips"} if shutil.which("vips") else set()
    for kind, width, height, dtype in patterns():
        array = pattern(kind, width, height, dtype)
        image = {"pattern": kind, "width": width, "height": height, "sample": "u8" if dtype == np.uint8 else "u16"}
        for program in sorted(have):
            if dtype == np.uint16 and program in ("opencv", "pillow"):
                continue
            yield {"op": "equalize", "like": program, **image, "fnv": fnv(equalize(program, array))}
        for program in sorted(have & {"skimage", "pillow", "imagemagick"}):
            if dtype == np.uint16 and program == "pillow":
                continue
            for lo, hi in ((0.175, 0.175), (2.5, 3.0), (0.0, 10.0)):
                result = percentile(program, array, lo, hi)
                yield {"op": "percentile", "like": program, **image, "clip": [lo, hi], "fnv": fnv(result)}
        for program, clips in (("opencv", (0.0, 2.0, 40.0)), ("skimage", (0.01, 0.03))):
            for clip in clips:
                if program == "opencv" and clip == 0.0:
                    continue
                for tiles in ((8, 8), (3, 5)):
                    result = clahe(program, array, tiles, clip)
                    yield {"op": "clahe", "like": program, **image, "tiles": list(tiles), "clip": clip,
                           "fnv": fnv(result)}
    for width, height in ((1, 9), (9, 1), (3, 2), (7, 7), (16, 16)):
        array = pattern("noise", width, height, np.uint8)
        image = {"pattern": "noise", "width": width, "height": height, "sample": "u8"}
        yield {"op": "clahe", "like": "opencv", **image, "tiles": [8, 8], "clip": 2.0,
               "fnv": fnv(clahe("opencv", array, (8, 8), 2.0))}


def gray8(path, sha):
    """The samples of a file, from the first program that reads those the corpus lists; None if none does."""
    readers = (tifffile.imread, lambda name: np.array(Image.open(name)),
               lambda name: cv2.imread(name, cv2.IMREAD_UNCHANGED))
    for read in readers:
        try:
            array = read(path)
        except Exception:  # what a program does not know, another may
            continue
        if array is not None and hashlib.sha256(array.tobytes()).hexdigest() == sha:
            if array.dtype == np.uint8 and array.ndim == 2:
                return array
    return None


def has_nodata(path):
    with tifffile.TiffFile(path) as tiff:
        return 42113 in tiff.pages[0].tags


def corpus_gray8(root):
    """All 8-bit gray files of the corpus (and palette files, as indices) on whose samples its decoders agree."""
    with open(os.path.join(root, "expected.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            d = json.loads(line)
            kind = (d["class"], d["status"], d.get("dtype"), d.get("bits"), d.get("channels"))
            if kind != ("ok", "agree", "uint8", 8, 1):
                continue
            path = os.path.join(root, d["path"])
            # A transparent colour makes an alpha channel; OpenCV counts nodata in.
            if "tRNS" in d["info"].get("chunks", []) or (d["format"] == "tiff" and has_nodata(path)):
                continue
            array = gray8(path, d["sha_pixels"])
            if array is None:
                print("left out, as no program here reads it:", d["path"])
                continue
            yield {"path": d["path"], "fnv": fnv(cv2.equalizeHist(array))}


def versions():
    """Of the packages, as the system knows them; else as the modules say."""
    packages = ("python3-opencv", "python3-skimage", "python3-pil", "imagemagick", "libvips-tools")
    if shutil.which("dpkg-query"):
        shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages], check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        found = dict(line.split(" ", 1) for line in shown.splitlines() if not line.endswith(" "))
        if len(found) == len(packages):
            with open("/etc/os-release", encoding="utf-8") as lines:
                name = next(line.split('"')[1] for line in lines if line.startswith("PRETTY_NAME="))
            return {"system": name, **found}
    return {"opencv": cv2.__version__, "skimage": skimage.__version__, "pillow": PIL.__version__}


def main():
    root, target = sys.argv[1:3]
    data = {
        "recorded_with": versions(),
        "patterns": list(entries()),
        "equalize_opencv_corpus": list(corpus_gray8(root)),
    }
    with open(target, "w", encoding="utf-8") as out:
        out.write('{"recorded_with": %s,\n "patterns": [\n  ' % json.dumps(data["recorded_with"]))
        out.write(",\n  ".join(json.dumps(e) for e in data["patterns"]))
        out.write('],\n "equalize_opencv_corpus": [\n  ')
        out.write(",\n  ".join(json.dumps(e) for e in data["equalize_opencv_corpus"]))
        out.write("]}\n")


if __name__ == "__main__":
    main()
