#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes TIFFs of tiles of 256 x 256 from RGB photographs of 8 bits, with the standard library alone.

usage: make_tiles.py IMGSTAT PHOTO FOLDER            64 photographs, by gamma, in deflate tiles with a predictor
       make_tiles.py --big FOLDER OUT COLUMNS ROWS   one image of so many tiles, which are those of the files in FOLDER
"""

import itertools
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

SIDE, CHANNELS, DIFFERENT = 256, 3, 64
FORMS = {3: "H", 4: "I", 16: "Q"}


def tags_of(data):
    """Values of a little-endian classic TIFF or BigTIFF, by tag."""
    big = data[2] == 43
    at = struct.unpack_from("<Q" if big else "<I", data, 8 if big else 4)[0]
    n, at = (struct.unpack_from("<Q", data, at)[0], at + 8) if big else (struct.unpack_from("<H", data, at)[0], at + 2)
    tags = {}
    for i in range(n):
        entry = at + i * (20 if big else 12)
        tag, form, count = struct.unpack_from("<HHQ" if big else "<HHI", data, entry)
        if form in FORMS:
            field = entry + (12 if big else 8)
            code = f"<{count}{FORMS[form]}"
            if struct.calcsize(code) > (8 if big else 4):
                field = struct.unpack_from("<Q" if big else "<I", data, field)[0]
            tags[tag] = struct.unpack_from(code, data, field)
    return tags


def read_rows(path):
    """The rows of an image that imgstat has written: deflate strips with a predictor."""
    data = path.read_bytes()
    tags = tags_of(data)
    (width,), (height,) = tags[256], tags[257]
    pixels = b"".join(zlib.decompress(data[at:at + n]) for at, n in zip(tags[273], tags[279]))
    rows = []
    for y in range(height):
        row = bytearray(pixels[y * width * CHANNELS:(y + 1) * width * CHANNELS])
        for c in range(CHANNELS):
            row[c::CHANNELS] = bytes(v & 255 for v in itertools.accumulate(row[c::CHANNELS]))
        rows.append(bytes(row))
    return width, height, rows


def write(path, pages, compression, predictor):
    """A BigTIFF. pages: width, height and tiles of each."""
    with open(path, "wb") as out:
        out.write(struct.pack("<2sHHHQ", b"II", 43, 8, 0, 0))
        link = 8
        for width, height, tiles in pages:
            first = out.tell()
            out.writelines(tiles)
            end = out.tell()
            tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8] * CHANNELS), (259, 3, [compression]), (262, 3, [2]),
                    (277, 3, [CHANNELS]), (284, 3, [1]), (317, 3, [predictor]), (322, 3, [SIDE]), (323, 3, [SIDE]),
                    (324, 16, list(itertools.accumulate((len(tile) for tile in tiles[:-1]), initial=first))),
                    (325, 4, [len(tile) for tile in tiles])]
            entries, extra = struct.pack("<Q", len(tags)), b""
            behind = end + 8 + 20 * len(tags) + 8
            for tag, form, values in tags:
                packed = struct.pack(f"<{len(values)}{FORMS[form]}", *values)
                place = packed.ljust(8, b"\0") if len(packed) <= 8 else struct.pack("<Q", behind + len(extra))
                extra += b"" if len(packed) <= 8 else packed
                entries += struct.pack("<HHQ", tag, form, len(values)) + place
            out.seek(link)
            out.write(struct.pack("<Q", end))
            out.seek(end)
            out.write(entries + b"\0" * 8 + extra)
            link = behind - 8


def difference(row):
    """Each sample minus that of the pixel before."""
    return row[:CHANNELS] + bytes((a - b) & 255 for a, b in zip(row[CHANNELS:], row))


def tiles_of(width, height, rows):
    blank = bytes(SIDE * CHANNELS)
    for y in range(0, height, SIDE):
        for x in range(0, width, SIDE):
            part = [difference(row[x * CHANNELS:(x + SIDE) * CHANNELS].ljust(SIDE * CHANNELS, b"\0"))
                    for row in rows[y:y + SIDE]]
            yield b"".join(part + [blank] * (SIDE - len(part)))


def make_photographs(program, photo, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        strips, seed = Path(scratch) / "strips.tif", Path(scratch) / "seed.tif"
        subprocess.run([program, "normalize", "-q", "--device=cpu", "--method=gamma=1", photo, "-o", strips], check=True,
                       stderr=subprocess.DEVNULL)
        width, height, rows = read_rows(strips)
        write(seed, [(width, height, [zlib.compress(tile, 1) for tile in tiles_of(width, height, rows)])], 8, 2)
        made = [folder / f"{i:02}.tif" for i in range(DIFFERENT)]
        started = [subprocess.Popen([program, "normalize", "-q", "--device=cpu", "--force", "--jobs=1",
                                     f"--method=gamma={0.7 + 0.01 * i:.2f}", seed, "-o", to]) for i, to in enumerate(made)]
        if any([process.wait() for process in started]):
            sys.exit("no photographs")
    return made


def page_of(path):
    """Width, height and tiles of a file of deflate tiles."""
    data = path.read_bytes()
    tags = tags_of(data)
    if tags[259] != (8,):
        sys.exit(f"{path} is not compressed by deflate")
    return *tags[256], *tags[257], [data[at:at + n] for at, n in zip(tags[324], tags[325])]


def make_big(folder, out, columns, rows):
    tiles = [tile for path in sorted(folder.glob("*.tif")) for tile in page_of(path)[2]]
    write(out, [(SIDE * columns, SIDE * rows, [tiles[i % len(tiles)] for i in range(columns * rows)])], 8, 2)


def make_stacks(folder, out, pages):
    """As many files as there are in `folder`, each of so many of their pages."""
    out.mkdir(parents=True, exist_ok=True)
    every = [page_of(path) for path in sorted(folder.glob("*.tif"))]
    made = [out / f"{i:02}.tif" for i in range(len(every))]
    for i, path in enumerate(made):
        write(path, [every[(i + k) % len(every)] for k in range(pages)], 8, 2)
    return made


if __name__ == "__main__":
    if len(sys.argv) == 6 and sys.argv[1] == "--big":
        make_big(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    elif len(sys.argv) == 4:
        make_photographs(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(__doc__)
