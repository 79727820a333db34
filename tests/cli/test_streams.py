#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large streams that several threads decompress, whole and damaged, give what one thread and the libraries alone give:
usage: test_streams.py IMGSTAT"""

import functools
import random
import struct
import zlib

import harness
from harness import check, png_chunk, run, tiff_file

WIDTH, HEIGHT, CHANNELS = 1500, 1100, 3
WAYS = [("1", {}), ("2", {}), ("5", {}), ("3", {"IMGSTAT_DECODE": "threads"}), ("1", {"IMGSTAT_DECODE": "plain"})]


deflated = functools.cache(zlib.compress)  # most files have the same rows


def rows(draw):
    """Small numbers of both signs, as the filters of PNG and predictor 2 leave them."""
    few = [bytes((draw.choice((-2, -1, -1, 0, 0, 0, 0, 1, 1, 2, 5)) & 255) for _ in range(WIDTH * CHANNELS)) for _ in range(50)]
    return [bytes(a + b & 255 for a, b in zip(few[y % 50], few[y * 7 % 47])) if y % 3 else few[y % 50] for y in range(HEIGHT)]


def make_png(data, filters, level=6, chunk=8192, cut=None, flip=None):
    stream = bytearray(deflated(b"".join(bytes([filters[y % len(filters)]]) + row for y, row in enumerate(data)), level))
    for place in flip or ():
        stream[int(place * len(stream))] ^= 4
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0))
    parts = b"".join(png_chunk(b"IDAT", bytes(stream[i:i + chunk])) for i in range(0, len(stream), chunk))
    whole = b"\x89PNG\r\n\x1a\n" + head + parts + png_chunk(b"IEND", b"")
    return whole[:int(cut * len(whole))] if cut else whole


def make_tiff(data, strips=1, flip=None):
    """Strips of deflate with predictor 2."""
    each = HEIGHT // strips
    stored = [bytearray(deflated(b"".join(data[i * each:(i + 1) * each]), 6)) for i in range(strips)]
    for place in flip or ():
        stored[-1][int(place * len(stored[-1]))] ^= 4
    starts = [8 + sum(len(strip) for strip in stored[:i]) for i in range(strips)]
    return tiff_file(b"".join(stored), [(256, 4, [WIDTH]), (257, 4, [HEIGHT]), (258, 3, [8, 8, 8]), (259, 3, [8]), (262, 3, [2]),
                                        (273, 4, starts), (277, 3, [3]), (278, 4, [each]), (279, 4, [*map(len, stored)]),
                                        (284, 3, [1]), (317, 3, [2])])


def test_threads(program, folder):
    draw = random.Random(1)
    data = rows(draw)
    files = {"paeth.png": make_png(data, [4]), "mixed.png": make_png(data, [0, 1, 2, 3, 4], chunk=1 << 20),
             "level1.png": make_png(data, [1], level=1), "stored.png": make_png(data, [1], level=0),
             "strip.tif": make_tiff(data), "strips.tif": make_tiff(data, 2)}
    bad = {"checksum.png": make_png(data, [4], flip=[0.999999]), "early.png": make_png(data, [4], flip=[0.01]),
           "half.png": make_png(data, [4], flip=[0.5]), "twice.png": make_png(data, [4], flip=[0.4, 0.8]),
           "cut.png": make_png(data, [4], cut=0.7), "half.tif": make_tiff(data, flip=[0.5]),
           "last.tif": make_tiff(data, 2, flip=[0.9]), "checksum.tif": make_tiff(data, flip=[0.999999])}
    for name, content in {**files, **bad}.items():
        (folder / name).write_bytes(content)
        expected = None
        for jobs, variables in WAYS:
            done = run(program, "stats", "--json", "--device", "cpu", "--jobs", jobs, folder / name, variables=variables, status=None)
            got = (done.returncode, done.stdout, done.stderr)
            expected = expected or got
            check(got == expected, f"{name}, {jobs} threads, {variables}: {got}, expected {expected}")
        check(name in bad or expected[0] == 0, f"{name}: {expected}")
    run(program, "normalize", "--jobs", "1", folder / "paeth.png", "-o", folder / "one.png")
    run(program, "normalize", "--jobs", "4", folder / "paeth.png", "-o", folder / "four.png")
    check((folder / "one.png").read_bytes() == (folder / "four.png").read_bytes(), "normalized by one thread and by four")


if __name__ == "__main__":
    harness.main(globals())
