#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--salvage: what can be decoded of damaged files is measured and written, with a warning and exit status 1.
usage: test_salvage.py IMGSTAT"""

import json
import random
import struct

import harness
from harness import check, png, run, tiff_file
from test_methods import read

WIDTH, HEIGHT, ROWS = 40, 60, 10  # rows of a strip


def strips(values, sizes=None, nodata=None):
    """Gray, 8 bits, uncompressed strips; sizes: what the file says of each."""
    data = bytes(values)
    n = WIDTH * ROWS
    places = [8 + i * n for i in range(HEIGHT // ROWS)]
    tags = [(256, 4, [WIDTH]), (257, 4, [HEIGHT]), (258, 3, [8]), (259, 3, [1]), (262, 3, [1]), (273, 4, places),
            (277, 3, [1]), (278, 4, [ROWS]), (279, 4, sizes or [n] * len(places))]
    return tiff_file(data, tags)


def deflated(program, folder, values):
    (folder / "plain.tif").write_bytes(strips(values))
    run(program, "normalize", "--in-range", "0,255", "--compression", "deflate", "--force", folder / "plain.tif",
        "-o", folder / "deflate.tif")
    return bytearray((folder / "deflate.tif").read_bytes())


def strip_places(data):
    at = struct.unpack("<I", data[4:8])[0]
    for i in range(struct.unpack("<H", data[at:at + 2])[0]):
        tag, kind, count, value = struct.unpack("<HHII", data[at + 2 + 12 * i:at + 14 + 12 * i])
        if tag == 273:
            return struct.unpack(f"<{count}I", data[value:value + 4 * count])
    return ()


def summary(channel):
    return channel["count"], channel["sum"], channel["min"], channel["max"]


def of(values):
    return len(values), sum(values), min(values), max(values)


def test_strips(program, folder):
    # One bad strip of a scan was the end of it: nothing was measured and nothing written.
    draw = random.Random(3)
    values = [draw.randrange(1, 256) for _ in range(WIDTH * HEIGHT)]
    data = deflated(program, folder, values)
    places = strip_places(data)
    check(len(places) == HEIGHT // ROWS, f"strips at {places}")
    data[places[2]:places[2] + 40] = b"\xff" * 40
    bad, out = folder / "bad.tif", folder / "out.tif"
    bad.write_bytes(data)
    run(program, "stats", bad, status=1)
    good = values[:20 * WIDTH] + values[30 * WIDTH:]
    for threads in (1, 4):
        done = run(program, "stats", "--json", "-j", threads, "--salvage", bad, status=1)
        page = json.loads(done.stdout)
        check(summary(page["channels"][0]) == of(good), f"{threads} threads: {page}")
        check(b"10 of 60 rows cannot be decoded" in done.stderr, f"{done.stderr}")
    run(program, "normalize", "--in-range", "0,255", bad, "-o", out, status=1)
    check(not out.exists(), "without --salvage nothing is written")
    done = run(program, "normalize", "--in-range", "0,255", "--compression", "none", "--salvage", bad, "-o", out, status=1)
    want = values[:20 * WIDTH] + [0] * (10 * WIDTH) + values[30 * WIDTH:]
    check(out.exists() and list(read(out, "u8")) == want, "the rest is written, and lost rows are 0")
    check(b"10 of 60 rows cannot be decoded" in done.stderr, f"{done.stderr}")
    for words in (["--clip", "1,1"], ["--method", "meanstd=50%,20%"]):
        run(program, "normalize", *words, "--force", "--salvage", "--compression", "none", bad, "-o", out, status=1)
        (folder / "good.tif").write_bytes(tiff_of(good, 50))
        run(program, "normalize", *words, "--force", "--compression", "none", folder / "good.tif", "-o", folder / "g.tif")
        got, want = read(out, "u8"), read(folder / "g.tif", "u8")
        check(got[:20 * WIDTH] + got[30 * WIDTH:] == want, f"{words}: lost rows have no part in the transfer")
    done = run(program, "stats", "--salvage", folder / "plain.tif")
    check(b"warning" not in done.stderr, "a good file is no damaged one")


def tiff_of(values, height):
    return tiff_file(bytes(values), [(256, 4, [WIDTH]), (257, 4, [height]), (258, 3, [8]), (259, 3, [1]), (262, 3, [1]),
                                     (273, 4, [8]), (277, 3, [1]), (278, 4, [height]), (279, 4, [len(values)])])


def test_ends_early(program, folder):
    """What is behind the end of a PNG, or of a TIFF with its directory in front, is lost."""
    draw = random.Random(5)
    values = [draw.randrange(1, 256) for _ in range(WIDTH * HEIGHT)]
    width, height = 400, 600  # libpng takes 8 KiB at a time
    large = [draw.randrange(1, 256) for _ in range(width * height)]
    whole = png(width, height, 8, bytes(large), 0)
    bad = folder / "bad.png"
    bad.write_bytes(whole[:len(whole) // 2])
    run(program, "stats", bad, status=1)
    done = run(program, "stats", "--json", "--salvage", bad, status=1)
    channel = json.loads(done.stdout)["channels"][0]
    rows = channel["count"] // width
    check(270 <= rows <= 300 and summary(channel) == of(large[:rows * width] or [0]), f"{rows} rows: {channel}")
    check(f"{height - rows} of 600 rows cannot".encode() in done.stderr, f"{done.stderr}")
    out = folder / "out.tif"
    run(program, "normalize", "--in-range", "0,255", "--compression", "none", "--salvage", bad, "-o", out, status=1)
    check(list(read(out, "u8")) == large[:rows * width] + [0] * (width * (height - rows)), "PNG to TIFF")
    for words in (["--together"], ["--clip", "1,1"]):
        run(program, "normalize", *words, "--force", "--salvage", bad, "-o", out, status=1)
    front = bytearray(strips(values))
    at = struct.unpack("<I", front[4:8])[0]
    moved = front[at:]  # the directory and its lists, in front of the samples
    shift = 8 + len(moved) - 8
    fields = bytearray(moved)
    for i in range(struct.unpack("<H", fields[:2])[0]):
        tag, kind, count, value = struct.unpack("<HHII", fields[2 + 12 * i:14 + 12 * i])
        if count > 1:
            list_at = value - at
            if tag == 273:
                offsets = struct.unpack(f"<{count}I", fields[list_at:list_at + 4 * count])
                struct.pack_into(f"<{count}I", fields, list_at, *(o + shift for o in offsets))
            struct.pack_into("<I", fields, 2 + 12 * i + 8, list_at + 8)
    bad = folder / "bad.tif"
    struct.pack_into("<I", front, 4, 8)
    bad.write_bytes(bytes(front[:8]) + bytes(fields) + bytes(values[:35 * WIDTH]))
    run(program, "stats", bad, status=1)
    done = run(program, "stats", "--json", "--salvage", bad, status=1)
    channel = json.loads(done.stdout)["channels"][0]
    check(channel["count"] == 35 * WIDTH and summary(channel) == of(values[:35 * WIDTH]), f"{channel} {done.stderr}")


if __name__ == "__main__":
    harness.main(globals())
