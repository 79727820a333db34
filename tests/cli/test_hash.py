#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stats --hash: the hash of the samples, compared with that of a definition in a few lines.

usage: test_hash.py IMGSTAT"""

import csv
import ctypes
import ctypes.util
import io
import json
import random
import struct
import zlib

import harness
from harness import SAMPLES, TESTDATA, check, png, run, skip, tiff, tiff_file


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3():
    """XXH3_128bits of the shared library of xxHash; None, said aloud, where it is missing."""
    name = ctypes.util.find_library("xxhash")
    if not name:
        skip("the shared library of xxHash is not installed")
        return None
    function = ctypes.CDLL(name).XXH3_128bits
    function.restype, function.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]

    def text(data):
        value = function(data, len(data))
        return f"{value.high:016x}{value.low:016x}"
    return text


def lines(program, *words):
    return [json.loads(line) for line in run(program, "stats", "--json", "--hash", *words).stdout.splitlines()]


def strips(sample, width, height, channels, data, rows, planar, deflate):
    """A TIFF of these little-endian samples, in strips of `rows` rows."""
    size = struct.calcsize(SAMPLES[sample][0])
    pixels = [data[i:i + size] for i in range(0, len(data), size)]
    planes = [b"".join(pixels[c::channels]) for c in range(channels)] if planar else [data]
    pitch = len(planes[0]) // height
    body, offsets, counts = b"", [], []
    for plane in planes:
        for y in range(0, height, rows):
            strip = plane[y * pitch:(y + rows) * pitch]
            strip = zlib.compress(strip) if deflate else strip
            offsets.append(8 + len(body))
            counts.append(len(strip))
            body += strip
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8 * size] * channels), (259, 3, [8 if deflate else 1]),
            (262, 3, [2]), (273, 4, offsets), (277, 3, [channels]), (278, 4, [rows]), (279, 4, counts),
            (284, 3, [2 if planar else 1]), (339, 3, [SAMPLES[sample][1]] * channels)]
    return tiff_file(body, tags)


def test_definition(program, folder):
    hash_of, draw, width, height = xxh3(), random.Random(3), 61, 47
    for sample, (letter, _) in SAMPLES.items():
        data = draw.randbytes(width * height * 3 * struct.calcsize(letter))
        want = hash_of and hash_of(f"{width} {height} 3 {sample}\n".encode() + data)
        forms = [(rows, planar, deflate) for rows in (1, 16, height) for planar in (False, True) for deflate in (False, True)]
        for i, form in enumerate(forms):
            (folder / f"{i:02}.tif").write_bytes(strips(sample, width, height, 3, data, *form))
        for jobs in ("1", "7"):
            found = lines(program, "--jobs", jobs, "--percentiles", "3", folder)
            want = want or found[0]["hash"]
            for form, line in zip(forms, found, strict=True):
                check(line.get("hash") == want, f"{sample}, rows, planar, deflate {form}: {line}")
    for i in range(len(forms)):
        single = lines(program, "--jobs", "7", folder / f"{i:02}.tif")[0]  # all threads have one file
        check(single["hash"] == want, f"f64, alone, {forms[i]}: {single}")
    data = draw.randbytes(width * height * 2)
    want = hash_of and hash_of(f"{width} {height} 1 u16\n".encode() + data)
    swapped = b"".join(data[i + 1:i + 2] + data[i:i + 1] for i in range(0, len(data), 2))
    (folder / "a.png").write_bytes(png(width, height, 16, swapped))
    got = lines(program, folder / "a.png")[0]["hash"]
    check(got == (want or got), f"png: {got}")


def test_region(program, folder):
    """The hash of a part is that of a file with this part alone."""
    values = list(range(200)) * 2
    (folder / "all.tif").write_bytes(tiff("u16", 20, 20, values))
    part = [values[y * 20 + x] for y in range(3, 10) for x in range(4, 15)]
    (folder / "part.tif").write_bytes(tiff("u16", 11, 7, part))
    one = lines(program, "--region", "4,3,11,7", folder / "all.tif")[0]["hash"]
    check(one == lines(program, folder / "part.tif")[0]["hash"], one)


def test_pages(program, _):
    """Pages as one: their lines and samples one after another."""
    source, hash_of = TESTDATA / "warned-ifd-loop.tif", xxh3()
    pages = [line["hash"] for line in lines(program, source)]
    one = [lines(program, "--jobs", jobs, "--by", "file", source)[0]["hash"] for jobs in ("1", "7")]
    check(len(pages) == 2 and one[0] not in pages and one[0] == one[1], f"{pages}, {one}")
    if not hash_of:
        return
    data = source.read_bytes()
    at = next(i for i in range(len(data)) if hash_of(b"8 8 1 u8\n" + data[i:i + 64]) == pages[0])
    page = b"8 8 1 u8\n" + data[at:at + 64]
    check(one[0] == hash_of(page + page), one)


def test_csv(program, _):
    names = [TESTDATA / "good-example.png", TESTDATA / "good-example.tif", TESTDATA / "good-rgb.png"]
    text = run(program, "stats", "--csv", "--hash", *names).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    want = {line["file"]: line["hash"] for line in lines(program, *names)}
    check(all(row["hash"] == want[row["file"]] for row in rows) and len(rows) == 5, text)
    check(rows[0]["hash"] == rows[1]["hash"] != rows[2]["hash"], "a PNG and a TIFF of equal pixels")


def test_refusals(program, folder):
    source = TESTDATA / "good-example.tif"
    done = run(program, "stats", "--hash", source, status=2)
    check(b"--hash needs --json or --csv" in done.stderr, done.stderr)
    done = run(program, "stats", "--hash", "--json", "--by", "all", source, status=2)
    check(b"--hash is that of one image" in done.stderr, done.stderr)
    run(program, "stats", "--by", "all", "--save-record", folder / "a.rec", source)
    done = run(program, "stats", "--hash", "--json", folder / "a.rec", status=2)
    check(b"--hash is for images" in done.stderr, done.stderr)


if __name__ == "__main__":
    harness.main(globals())
