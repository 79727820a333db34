#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes every file of this folder that is no source, with expected.json and README.md.

usage: generate.py [DIR]      (default: the folder of this script)
"""

import json
import math
import random
import struct
import sys
import zlib
from pathlib import Path

import encode as e
from measure import page
from scene import landscape

EXAMPLE = [[52, 55, 61, 66, 70, 61, 64, 73], [63, 59, 55, 90, 109, 85, 69, 72], [62, 59, 68, 113, 144, 104, 66, 73],
           [63, 58, 71, 122, 154, 106, 70, 69], [67, 61, 68, 104, 126, 88, 68, 70], [79, 65, 60, 70, 77, 68, 58, 75],
           [85, 71, 64, 59, 55, 61, 65, 83], [87, 79, 69, 68, 65, 76, 78, 94]]
NAMES = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}
rng = random.Random(20260101)


def gray(rows):
    return [[(s,) for s in row] for row in rows]


def field(width, height, channels, draw):
    """An image whose samples are draw(x, y, c)."""
    return [[tuple(draw(x, y, c) for c in range(channels)) for x in range(width)] for y in range(height)]


def rounded(value, letter):
    """value as the float type of that struct letter holds it."""
    return struct.unpack("<" + letter, struct.pack("<" + letter, value))[0]


def palette_page(indices, colors):
    return e.Page(indices, 8, photometric=e.TIFF_PALETTE,
                  tags={320: (e.SHORT, [color[c] for c in range(3) for color in colors])})


class Folder:
    def __init__(self, path):
        self.path, self.expected, self.lines = path, {}, []

    def add(self, name, text, data, pages=None, error=None):
        (self.path / name).write_bytes(data)
        self.lines.append(f"| `{name}` | {text} | MIT |")
        self.expected[name] = {"error": error} if error else {"pages": pages}

    def png(self, name, text, image, color, bits, palette=None, trns=None, interlace=False):
        """The expected samples are those of `image`, through the palette where there is one."""
        shown, sample_bits = image, bits
        if palette:
            alpha = list(trns or b"") + [255] * (len(palette) - len(trns or b""))
            shown = [[palette[p[0]] + ((alpha[p[0]],) if trns else ()) for p in row] for row in image]
            sample_bits = 8
        elif trns:
            opaque = (1 << bits) - 1
            key = struct.unpack(f">{len(trns) // 2}H", trns)
            shown = [[p + (0 if p == key else opaque,) for p in row] for row in image]
        photometric = "palette" if palette else "rgb" if color in (e.RGB, e.RGBA) else "gray"
        about = {"format": "png", "sample": "u16" if bits == 16 else "u8", "bits": sample_bits,
                 "photometric": photometric}
        self.add(name, text, e.png(image, color, bits, palette, trns, interlace),
                 [page(shown, NAMES[len(shown[0][0])], **about)])

    def tiff(self, name, text, *pages, nodata=None, names=None, palette=None, palette_bits=8, **how):
        told = []
        for p in pages:
            letter = {e.UINT: "u", e.INT: "i", e.FLOAT: "f"}[p.kind]
            held = next(w for w in (8, 16, 32, 64) if p.bits <= w)
            photometric = {e.MIN_IS_WHITE: "min-is-white", e.MIN_IS_BLACK: "gray", e.TIFF_RGB: "rgb",
                           e.TIFF_PALETTE: "palette", e.CMYK: "cmyk"}[p.photometric]
            shown = [[palette[q[0]] for q in row] for row in p.image] if palette else p.image
            if palette:
                held = palette_bits
            about = {"format": "tiff", "sample": f"{letter}{held}", "bits": held if palette else p.bits,
                     "photometric": photometric}
            told.append(page(shown, names or NAMES[len(shown[0][0])], nodata, **about))
        self.add(name, text, e.tiff(list(pages), **how), told)


def good_png(out):
    out.png("good-example.png", "the 8x8 worked example of histogram equalization", gray(EXAMPLE), e.GRAY, 8)
    colors = [(i * 16, 255 - i * 13, i * i) for i in range(16)]
    indices = field(21, 13, 1, lambda x, y, c: (x * 5 + y * 3) % 16)
    out.png("good-palette.png", "4-bit palette", indices, e.PALETTE, 4, palette=colors)
    out.png("good-palette-alpha.png", "8-bit palette with transparency for its first entries", indices, e.PALETTE, 8,
            palette=colors, trns=bytes([0, 64, 128]))
    out.png("good-gray-alpha.png", "8-bit gray with alpha", field(19, 11, 2, lambda x, y, c: (x * 13 + y * 7) % 256
            if c == 0 else 255 - y), e.GRAY_ALPHA, 8)
    out.png("good-rgba16.png", "16-bit RGB with alpha", field(17, 9, 4, lambda x, y, c: rng.randrange(65536)),
            e.RGBA, 16)
    out.png("good-rgb.png", "8-bit RGB, random", field(33, 31, 3, lambda x, y, c: rng.randrange(256)), e.RGB, 8)
    out.png("good-rgb-key.png", "8-bit RGB with one transparent colour", field(9, 9, 3, lambda x, y, c: (x % 3) * 100),
            e.RGB, 8, trns=struct.pack(">3H", 100, 100, 100))
    out.png("good-gray16.png", "16-bit gray ramp of period 251", field(64, 40, 1, lambda x, y, c:
            (y * 64 + x) % 251 * 257), e.GRAY, 16)
    for bits in (1, 2, 4):
        out.png(f"good-gray{bits}.png", f"{bits}-bit gray, raw values", field(37, 5, 1, lambda x, y, c:
                rng.randrange(1 << bits)), e.GRAY, bits)
    out.png("good-interlaced.png", "8-bit RGB, Adam7 interlaced", field(30, 23, 3, lambda x, y, c:
            (x * (c + 3) + y * 5) % 256), e.RGB, 8, interlace=True)
    out.png("good-interlaced-3x2.png", "interlaced, smaller than some passes", field(3, 2, 1, lambda x, y, c:
            x * 40 + y), e.GRAY, 8, interlace=True)
    out.png("good-1x1.png", "one pixel", [[(200,)]], e.GRAY, 8)


def good_tiff(out):
    out.tiff("good-example.tif", "the 8x8 worked example, one strip", e.Page(gray(EXAMPLE), 8))
    out.tiff("good-1x1.tif", "one pixel", e.Page([[(7,)]], 8))
    scan = field(61, 47, 1, lambda x, y, c: min(max(int(rng.gauss(900 + 40 * x, 120)), 0), 4095))
    out.tiff("good-scan12.tif", "12-bit scan in 16-bit samples", e.Page(scan, 16, rows_per_strip=8))
    out.tiff("good-packed12.tif", "the same scan, 12 bits packed", e.Page(scan, 12, rows_per_strip=8))
    out.tiff("good-dark16.tif", "underexposed 16-bit RGB, tiled, deflate, predictor",
             e.Page(field(70, 50, 3, lambda x, y, c: 200 + c * 30 + int(rng.expovariate(0.02))), 16, deflate=True,
                    predictor=True, tile=(32, 16)))
    out.tiff("good-bigendian.tif", "16-bit gray, big-endian", e.Page(field(23, 9, 1, lambda x, y, c: x * 2003 + y), 16),
             order=">")
    out.tiff("good-planar.tif", "8-bit RGB, one plane after the other", e.Page(field(20, 15, 3, lambda x, y, c:
             (x * 11 + y * 7 + c * 80) % 256), 8, planar=True, rows_per_strip=4))
    out.tiff("good-planar-tiled.tif", "16-bit RGB, planar tiles, big-endian", e.Page(field(40, 35, 3, lambda x, y, c:
             rng.randrange(65536)), 16, planar=True, tile=(16, 16)), order=">")
    out.tiff("good-tiled.tif", "8-bit gray in tiles that do not divide it", e.Page(field(45, 37, 1, lambda x, y, c:
             rng.randrange(256)), 8, tile=(16, 32)))
    out.tiff("good-bigtiff.tif", "BigTIFF, 8-bit gray", e.Page(field(31, 8, 1, lambda x, y, c: x * 8 + y), 8,
             rows_per_strip=3), big=True)
    out.tiff("good-bilevel.tif", "1-bit, 0 is white", e.Page(field(29, 13, 1, lambda x, y, c: (x + y) % 5 == 0 and 1
             or 0), 1, photometric=e.MIN_IS_WHITE))
    out.tiff("good-minwhite.tif", "8-bit, 0 is white", e.Page(field(16, 4, 1, lambda x, y, c: x * 10), 8,
             photometric=e.MIN_IS_WHITE))
    out.tiff("good-cmyk.tif", "8-bit CMYK", e.Page(field(12, 10, 4, lambda x, y, c: (x * 20 + y * c) % 256), 8,
             photometric=e.CMYK), names=["cyan", "magenta", "yellow", "black"])
    eight = [(i, 255 - i, i * 7 % 256) for i in range(256)]
    sixteen = [(i * 257, 65535 - i * 257, i * i) for i in range(256)]
    indices = field(32, 16, 1, lambda x, y, c: y * 16 + x // 2)
    out.tiff("good-palette.tif", "8-bit palette; its 16-bit colours are 8-bit ones, times 257",
             palette_page(indices, [tuple(s * 257 for s in color) for color in eight]), palette=eight)
    out.tiff("good-palette16.tif", "8-bit palette of 16-bit colours", palette_page(indices, sixteen), palette=sixteen,
             palette_bits=16)
    out.tiff("good-rgba.tif", "8-bit RGB with alpha", e.Page(field(14, 9, 4, lambda x, y, c: 255 - y if c == 3
             else x * (c + 4)), 8))
    small = gray([[1, 2, 3], [4, 5, 6]])
    out.tiff("good-pages.tif", "three pages of different size and type", e.Page(small, 8),
             e.Page(field(5, 4, 3, lambda x, y, c: x + 10 * y + 100 * c), 16),
             e.Page(field(4, 6, 1, lambda x, y, c: x / 4 - y), 32, e.FLOAT))
    out.tiff("good-nodata.tif", "16-bit signed elevations, GDAL_NODATA -9999", e.Page(field(26, 22, 1, lambda x, y, c:
             -9999 if (x - 12) ** 2 + (y - 9) ** 2 < 40 else x * 31 - y * 57), 16, e.INT,
             tags={42113: (e.ASCII, b"-9999")}), nodata=-9999)
    out.tiff("good-all-nodata.tif", "nothing but nodata", e.Page(field(6, 5, 1, lambda x, y, c: 0), 8,
             tags={42113: (e.ASCII, b"0")}), nodata=0)


def good_wide(out):
    """Samples wider than 16 bits, and floats."""
    out.tiff("good-labels32.tif", "32-bit labels of a segmentation", e.Page(field(50, 40, 1, lambda x, y, c:
             70000 * (x // 10) + 3 * (y // 8)), 32))
    out.tiff("good-u64.tif", "64-bit unsigned, sums past 2^64", e.Page(field(7, 7, 1, lambda x, y, c:
             2 ** 64 - 1 - x * y), 64))
    out.tiff("good-i64.tif", "64-bit signed, both ends of the range", e.Page(field(8, 4, 1, lambda x, y, c:
             (-2 ** 63 + y) if x % 2 else 2 ** 63 - 1 - y), 64, e.INT))
    out.tiff("good-i32.tif", "32-bit signed", e.Page(field(21, 20, 1, lambda x, y, c: rng.randrange(-2 ** 31, 2 ** 31)),
             32, e.INT))
    out.tiff("good-i8.tif", "8-bit signed", e.Page(field(16, 16, 1, lambda x, y, c: x * 16 + y - 128), 8, e.INT))

    def broken(x, y, c):
        if (x + y) % 9 == 0:
            return math.nan
        if x == y:
            return math.inf if x % 2 else -math.inf
        return rounded(rng.gauss(0, 1), "f")
    out.tiff("good-float32.tif", "float with NaN (first of all) and infinities", e.Page(field(30, 20, 1, broken), 32,
             e.FLOAT))
    out.tiff("good-float32-offset.tif", "float, 1e7 +- 4: deviation lost by careless sums",
             e.Page(field(64, 64, 1, lambda x, y, c: rounded(1e7 + rng.choice([-4, 4]) + x % 2, "f")), 32, e.FLOAT))
    out.tiff("good-float64-offset.tif", "double, 1e9 + N(0,1)", e.Page(field(64, 32, 1, lambda x, y, c:
             1e9 + rng.gauss(0, 1)), 64, e.FLOAT))
    out.tiff("good-half.tif", "half floats with negative zero", e.Page(field(18, 10, 1, lambda x, y, c:
             rounded(x / 8 - y, "e")), 16, e.FLOAT))
    out.tiff("good-all-nan.tif", "nothing but NaN", e.Page(field(5, 3, 1, lambda x, y, c: math.nan), 32, e.FLOAT))
    out.tiff("good-constant.tif", "every sample 0.1", e.Page(field(40, 40, 1, lambda x, y, c: 0.1), 64, e.FLOAT))


def bad(out):
    """Each carries the errors that describe it; what a page before the damage holds may be told as well."""
    png = e.png(field(40, 40, 1, lambda x, y, c: rng.randrange(256)), e.GRAY, 8)
    idat = png.index(b"IDAT")
    out.add("bad-truncated.png", "ends in the middle of its pixels", png[:idat + 300], error=["truncated"])
    damaged = bytearray(png)
    damaged[idat + 200] ^= 0x55
    out.add("bad-crc.png", "a byte of IDAT changed, so that its checksum is wrong", bytes(damaged),
            error=["format", "truncated"])
    head = png[:idat - 4]
    out.add("bad-zlib.png", "right checksums around data that is no zlib stream",
            head + e.png_chunk(b"IDAT", b"not a zlib stream at all") + e.png_chunk(b"IEND", b""), error=["format"])
    short = e.png_chunk(b"IDAT", zlib.compress(bytes(41 * 20)))
    out.add("bad-rows.png", "a complete zlib stream of half the rows", head + short + e.png_chunk(b"IEND", b""),
            error=["truncated", "format"])
    for name, width, height, codes in (("huge", 2 ** 31 - 1, 2 ** 31 - 1, ["limit", "format"]),
                                       ("zero", 0, 5, ["format"])):
        header = e.png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        out.add(f"bad-{name}.png", f"declares {width} x {height} pixels",
                e.PNG_SIGNATURE + header + e.png_chunk(b"IDAT", zlib.compress(b"\0")) + e.png_chunk(b"IEND", b""),
                error=codes)
    out.add("bad-empty.png", "no bytes", b"", error=["format", "truncated"])
    out.add("bad-text.tif", "a text file", b"This is a text file, whatever its name says.\n", error=["format"])

    image = field(50, 40, 1, lambda x, y, c: rng.randrange(256))
    whole = e.tiff([e.Page(image, 8, rows_per_strip=10)])
    directory = struct.unpack_from("<I", whole, 4)[0]
    # The directory first, so that what is missing is pixels.
    moved = struct.pack("<2sHI", b"II", 42, 8)
    page_of_moved = e.Page(image, 8, rows_per_strip=40)
    tags, _ = e.directory(e.page_tags(page_of_moved, [bytes(2000)], [8 + 200], False), 8, "<", False)
    out.add("bad-truncated.tif", "ends in the middle of its pixels", (moved + tags).ljust(208, b"\0") + bytes(700),
            error=["truncated", "format", "io"])
    out.add("bad-cut.tif", "ends before its directory", whole[:directory], error=["format", "truncated", "io"])
    out.add("bad-ifd-offset.tif", "the directory lies far past the end", struct.pack("<2sHI", b"II", 42, 2 ** 31),
            error=["format", "truncated", "io"])
    out.add("bad-strip-offset.tif", "the strip lies far past the end",
            e.tiff([e.Page(image, 8, tags={273: (e.LONG, [2 ** 31])})]), error=["truncated", "format", "io"])
    example = e.Page(gray(EXAMPLE), 8)
    out.tiff("warned-ifd-loop.tif", "the last directory leads back to the first", example, example, loop=True)
    out.add("bad-huge.tif", "declares 4294967295 x 4294967295 pixels",
            e.tiff([e.Page([[(0,)]], 8, tags={256: (e.LONG, [2 ** 32 - 1]), 257: (e.LONG, [2 ** 32 - 1])})]),
            error=["limit", "format"])
    out.add("bad-zero.tif", "declares a width of 0",
            e.tiff([e.Page([[(0,)]], 8, tags={256: (e.LONG, [0])})]), error=["format", "unsupported"])
    out.add("bad-deflate.tif", "a deflate strip that is no deflate stream",
            e.tiff([e.Page(image, 8, tags={259: (e.SHORT, [8])})]), error=["format", "truncated"])


def unsupported(out):
    values = field(4, 4, 1, lambda x, y, c: 1)
    wide = e.Page(field(4, 4, 1, lambda x, y, c: 1.5), 64, e.FLOAT, tags={339: (e.SHORT, [e.COMPLEX])})
    out.add("unsupported-complex.tif", "complex samples", e.tiff([wide]), error=["unsupported"])
    out.add("unsupported-codec.tif", "a compression (JPEG 2000) that libtiff lacks",
            e.tiff([e.Page(values, 8, tags={259: (e.SHORT, [34712])})]), error=["unsupported"])
    packed = e.Page(values, 48, tags={339: (e.SHORT, [e.FLOAT])})
    out.add("unsupported-float48.tif", "floats of 48 bits", e.tiff([packed]), error=["unsupported"])


def readme(out):
    text = ["# Test inputs", "",
            "`generate.py` makes every file here but the Python sources and `expected-transforms.json` (what other programs gave,",
            "recorded by `tests/record_expected.py`), with nothing but the Python standard library; it also makes",
            "`expected.json`, whose values `measure.py` computes in exact fractions. Nothing here comes from anybody",
            "else: all of it is under the licence of the project (MIT).", "",
            "`good-*` measures without a word, `warned-*` with a warning; `bad-*` contradicts its format; `unsupported-*` is",
            "valid and holds something that imgstat does not measure.", "", "| file | what it is | licence |", "|---|---|---|"]
    (out.path / "README.md").write_text("\n".join(text + sorted(out.lines)) + "\n")


def main():
    out = Folder(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
    out.tiff("photo.tif", "a landscape, 640 x 480 RGB, deflate with predictor: the example of the documentation",
             e.Page(landscape(640, 480), 8, deflate=True, predictor=True, rows_per_strip=32))
    good_png(out)
    good_tiff(out)
    good_wide(out)
    bad(out)
    unsupported(out)
    readme(out)
    lines = [f"{json.dumps(name)}: {json.dumps(out.expected[name], allow_nan=False)}" for name in sorted(out.expected)]
    (out.path / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
