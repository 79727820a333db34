#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the images of devices.sh, from a seed, with the standard library alone.

usage: make_images.py DIR NAME...      NAME: COUNTxWIDTHxHEIGHTxCHANNELS-SAMPLE-CODEC[-VALUES], e.g. 100x2048x2048x1-u16-raw

SAMPLE: u8, u16, u32, f32, f64. CODEC: raw, deflate (TIFF with horizontal differencing) or png. Each NAME becomes a folder.
VALUES: smooth (as without: rows are slopes with noise on them, so that codecs find what they find in photographs),
constant, checker (least and greatest in turn), two (either at random) or random.
"""

import array
import os
import random
import struct
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

TYPES = {"u8": ("B", 1, 1), "u16": ("H", 2, 1), "u32": ("I", 4, 1), "f32": ("f", 4, 3), "f64": ("d", 8, 3)}
ROWS = 64  # different ones; an image repeats them, shifted
# Shares of the type's range: of a pixel's place x from 0 to 1, its column and row, and noise from 0 to 1.
VALUES = {"smooth": lambda x, column, row, noise: 0.15 + 0.5 * x + 0.1 * row / ROWS + 0.1 * noise,
          "constant": lambda *_: 0.3,
          "checker": lambda x, column, row, noise: (column + row) % 2,
          "two": lambda x, column, row, noise: int(noise < 0.5),
          "random": lambda x, column, row, noise: noise}


def make_rows(seed, width, channels, sample, values):
    draw = random.Random(seed)
    code, size, kind = TYPES[sample]
    top = 256 ** size - 1 if kind == 1 else 1.0
    rows = []
    for y in range(ROWS):
        noise = array.array("H", draw.randbytes(2 * 1024))
        shares = (VALUES[values](i / (width * channels), i // channels, y, noise[i % 1024] / 65536)
                  for i in range(width * channels))
        rows.append(array.array(code, (top * share if kind == 3 else int(top * share) for share in shares)))
    return rows


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def difference(row, channels):
    """Each sample minus that of the pixel before, modulo the type's range; for integers."""
    top = 256 ** row.itemsize
    first = row[:channels]
    return first + array.array(row.typecode, ((a - b) % top for a, b in zip(row[channels:], row)))


def filtered(rows, channels, codec):
    """Bytes of each row as the codec compresses them."""
    out = []
    for row in rows:
        if codec == "raw":
            out.append(row.tobytes())
        elif codec == "deflate":
            out.append((difference(row, channels) if row.typecode in "BHI" else row).tobytes())
        else:
            big = array.array(row.typecode, row)
            if big.itemsize == 2:
                big.byteswap()
            data, step = big.tobytes(), channels * row.itemsize
            out.append(b"\1" + data[:step] + bytes((a - b) & 255 for a, b in zip(data[step:], data)))
    return out


def write_png(path, rows, width, height, channels, bits):
    squeeze = zlib.compressobj(6)
    data = b"".join(squeeze.compress(rows[(7 * y) % ROWS]) for y in range(height)) + squeeze.flush()
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    path.write_bytes(b"\x89PNG\r\n\x1a\n"
                     + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0))
                     + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b""))


def write_tiff(path, rows, width, height, channels, sample, codec):
    _, size, kind = TYPES[sample]
    strip_rows = max(1, (1 << 18) // len(rows[0]))
    strips = []
    for first in range(0, height, strip_rows):
        data = b"".join(rows[(7 * y) % ROWS] for y in range(first, min(first + strip_rows, height)))
        strips.append(zlib.compress(data, 6) if codec == "deflate" else data)
    n = len(strips)
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8 * size] * channels),
            (259, 3, [8 if codec == "deflate" else 1]), (262, 3, [2 if channels == 3 else 1]), (273, 16, None),
            (277, 3, [channels]), (278, 4, [strip_rows]), (279, 16, [len(s) for s in strips]), (284, 3, [1]),
            (317, 3, [2 if codec == "deflate" and kind == 1 else 1]), (339, 3, [kind] * channels)]
    ends = 16 + 8 + 20 * len(tags) + 8
    extra, entries = b"", []
    starts_at = None
    for tag, form, values in tags:  # a BigTIFF: files may exceed 4 GiB
        width_of = {3: 2, 4: 4, 16: 8}[form]
        if values is None:
            values = [0] * n
        packed = struct.pack("<%d%s" % (len(values), {3: "H", 4: "I", 16: "Q"}[form]), *values)
        if len(packed) <= 8:
            field = packed.ljust(8, b"\0")
            where = None
        else:
            where = len(extra)
            field = struct.pack("<Q", ends + where)
            extra += packed + b"\0" * (-len(packed) % 8)
        if tag == 273:
            starts_at = (len(entries), where)
        entries.append([tag, form, len(packed) // width_of, field])
    at, offsets = ends + len(extra), []
    for strip in strips:
        offsets.append(at)
        at += len(strip)
    packed = struct.pack("<%dQ" % n, *offsets)
    if starts_at[1] is None:
        entries[starts_at[0]][3] = packed
    else:
        extra = extra[:starts_at[1]] + packed + extra[starts_at[1] + len(packed):]
    with open(path, "wb") as out:
        out.write(struct.pack("<2sHHHQ", b"II", 43, 8, 0, 16) + struct.pack("<Q", len(entries)))
        for tag, form, count, field in entries:
            out.write(struct.pack("<HHQ", tag, form, count) + field)
        out.write(struct.pack("<Q", 0) + extra)
        for strip in strips:
            out.write(strip)


def make(folder, name):
    shape, sample, codec, values = (name.split("-") + ["smooth"])[:4]
    count, width, height, channels = map(int, shape.split("x"))
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    rows = filtered(make_rows(name, width, channels, sample, values), channels, codec)
    suffix = ".png" if codec == "png" else ".tif"
    first = target / f"0000{suffix}"
    if codec == "png":
        write_png(first, rows, width, height, channels, 8 * TYPES[sample][1])
    else:
        write_tiff(first, rows, width, height, channels, sample, codec)
    data = first.read_bytes() if count > 1 else b""
    for i in range(1, count):  # copies, not links: each has pages of its own in the system's cache
        (target / f"{i:04}{suffix}").write_bytes(data)


def main():
    folder = Path(sys.argv[1])
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make, [folder] * len(sys.argv[2:]), sys.argv[2:]))


if __name__ == "__main__":
    main()
