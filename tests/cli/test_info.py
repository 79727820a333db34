#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What info lists of pages that cannot be decoded and of nodata values, and how sentences name pages.

usage: test_info.py IMGSTAT"""

import json
import math

import harness
from harness import check, run, tiff
from tiff_tree import LONG, SHORT, Page, gray, write

ROWS = [[100 * y + x for x in range(8)] for y in range(6)]
JPEG = b"\xff\xd8\xff\xd9"


def undecodable():
    """Main image; behind it an EXIF thumbnail; in it: an unknown compression, complex samples, a thumbnail without a height,
    one that is a JPEG file of its own."""
    strange = gray(ROWS, fields={259: (SHORT, [60123])})
    complex_samples = Page({**gray(ROWS, "Q").fields, 339: (SHORT, [6])}, gray(ROWS, "Q").strips)
    flat = gray(ROWS, fields={254: (LONG, [1])})
    del flat.fields[257]
    stream = Page({254: (LONG, [1]), 259: (SHORT, [6]), 262: (SHORT, [6]), 277: (SHORT, [3])}, [], jpeg=JPEG)
    exif = Page({259: (SHORT, [6])}, [], jpeg=JPEG)
    return [gray(ROWS, subs=[strange, complex_samples, flat, stream]), exif]


# name: role, width, height, bits, photometric, samples, compression, words of the reason
WANT = {"0": ("image", 8, 6, 16, "gray", 1, "none", None),
        "1": ("thumbnail", None, None, None, "unknown", 0, "old JPEG", "a JPEG file of its own"),
        "0.0": ("image", 8, 6, 16, "gray", 1, "unknown", "compression 60123"),
        "0.1": ("image", 8, 6, 64, "gray", 1, "none", "64-bit complex floating-point samples"),
        "0.2": ("thumbnail", 8, None, 16, "gray", 1, "none", "without width and height"),
        "0.3": ("thumbnail", None, None, None, "ycbcr", 3, "old JPEG", "a JPEG file of its own")}


def test_undecodable(program, folder):
    # info listed none of what the directory says of such a page, and ended with 1.
    path = folder / "a.tif"
    for order, big in (("<", False), (">", False), ("<", True), (">", True)):
        path.write_bytes(write(undecodable(), order, big))
        done = run(program, "info", "--json", path)
        lines = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
        check(not done.stderr, f"{done.stderr}")
        text = run(program, "info", path).stdout.decode()
        check(list(lines) == list(WANT), f"{list(lines)}")
        for name, want in WANT.items():
            line, reason = lines[name], want[-1]
            got = (line["role"], line["width"], line["height"], line["bits"], line["photometric"], len(line["channels"]),
                   line["compression"])
            check(got == want[:-1], f"{name}: {got} instead of {want}")
            check((reason or "") in (line["unsupported"] or "") and bool(reason) == bool(line["unsupported"]),
                  f"{name}: {line['unsupported']}")
            check({bool(reason)} == {line[key] is None for key in ("layout", "sample", "predictor")}, f"{name}: {line}")
            check(line["bigtiff"] == big and line["byte_order"] == {"<": "little", ">": "big"}[order], f"{name}: {line}")
            row = [row for row in text.splitlines() if row.split()[:1] == [name]]
            check(len(row) == 1 and ("not decoded: " + (line["unsupported"] or "-") in row[0]) == bool(reason), f"{name}: {row}")
        run(program, "info", "--page", "0.1", path)
        stats = run(program, "stats", "--page", "0.1", path, status=1)
        check(b"page 0.1: holds 64-bit complex" in stats.stderr, f"{stats.stderr}")


def test_nodata_that_is_no_number(program, folder):
    # It was shown as "-", and null in JSON, as if there were none; an infinity made saved transfers that none could read.
    path, saved, out = folder / "a.tif", folder / "t.json", folder / "o.tif"
    for text, name in (("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity"), ("7", 7), (None, None)):
        path.write_bytes(tiff("f32", 3, 2, [1.0, 2.0, 3.0, math.inf, 4.0, math.nan]))
        words = [f"--nodata={text}"] if text else []
        run(program, "normalize", "--force", *words, path, "-o", out)
        line = json.loads(run(program, "info", "--json", out).stdout)
        check(line["nodata"] == name, f"{text}: {line['nodata']!r}")
        of_all = json.loads(run(program, "--by", "all", "--json", *words, path).stdout)
        check(of_all.get("nodata") == name, f"{text}: {of_all.get('nodata')!r} of all images")
        shown = f"nodata {text}\n".encode()
        for command in (["info", out], [out], [*words, path], ["--by", "all", *words, path]):
            done = run(program, *command)
            check((shown in done.stdout) == bool(text), f"{text}, {command}: {done.stdout!r}")
        run(program, "normalize", "--force", *words, path, "-o", out, "--save-transfer", saved)
        run(program, "apply", "--force", *words, saved, path, "-o", folder / "again.tif")
        check(out.read_bytes() == (folder / "again.tif").read_bytes(), f"{text}: a saved transfer")


def test_broken(program, folder):
    """A directory that is broken stays an error."""
    flat = gray(ROWS)
    del flat.fields[257]
    (folder / "b.tif").write_bytes(write([gray(ROWS), flat]))
    done = run(program, "info", "--json", folder / "b.tif", status=1)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    check("error" not in lines[0] and lines[1]["error"] == "format" and lines[1]["page"] == 1, f"{lines}")


def test_page_names(program, folder):
    """Sentences name pages as JSON does: they counted SubIFDs on behind the chain."""
    bad = gray(ROWS, "I", fields={258: (SHORT, [32])})
    damaged = Page({**bad.fields, 259: (SHORT, [8])}, [b"\xff" * 30])
    path = folder / "c.tif"
    path.write_bytes(write([gray(ROWS), gray(ROWS), gray(ROWS, subs=[damaged])]))
    done = run(program, "stats", "--json", "--page", "2.0", path, status=1)
    line = json.loads(done.stdout)
    check(b"c.tif: page 2.0: " in done.stderr and line["page"] == 3, f"{done.stderr} {line}")
    done = run(program, "stats", "--salvage", "--page", "2.0", path, status=1)
    check(b"page 2.0: 6 of 6 rows cannot be decoded" in done.stderr, f"{done.stderr}")
    done = run(program, "stats", "--by", "file", "--page", "0,2.0", path, status=1)
    check(b"page 2.0: " in done.stderr and b"page 3" not in done.stderr, f"{done.stderr}")


if __name__ == "__main__":
    harness.main(globals())
