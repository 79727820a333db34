#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages that are measured or transformed as one: --by, --together. Expected values are computed here, by numpy as
well where it is installed, or come from one tall page with the same pixels.

usage: test_groups.py IMGSTAT
"""

import json
import random
import struct

import harness
from harness import SAMPLES, TESTDATA, check, run, tiff

try:
    import numpy
except ImportError:
    numpy = None

ASCII, SHORT, LONG = 2, 3, 4
DESCRIPTION = 270


def stack(pages, description=None, big_endian=False):
    """A TIFF file of gray pages; pages: sample type, width and values of each."""
    order = ">" if big_endian else "<"
    out = bytearray(struct.pack(order + "2sHI", b"MM" if big_endian else b"II", 42, 8))
    link = 4
    for number, (sample, width, values) in enumerate(pages):
        letter, kind = SAMPLES[sample]
        at, height = len(out), len(values) // width
        out += struct.pack(f"{order}{len(values)}{letter}", *values)
        tags = [(256, LONG, [width]), (257, LONG, [height]), (258, SHORT, [8 * struct.calcsize(letter)]),
                (259, SHORT, [1]), (262, SHORT, [1]), (273, LONG, [at]), (277, SHORT, [1]), (278, LONG, [height]),
                (279, LONG, [struct.calcsize(letter) * len(values)]), (339, SHORT, [kind])]
        if number == 0 and description:
            tags.append((DESCRIPTION, ASCII, description.encode() + b"\0"))
        entries = b""
        for tag, field, value in sorted(tags):
            data = value if field == ASCII else struct.pack(f"{order}{len(value)}{'H' if field == SHORT else 'I'}", *value)
            place = data.ljust(4, b"\0")
            if len(data) > 4:
                out += b"\0" * (len(out) % 2)
                place = struct.pack(order + "I", len(out))
                out += data
            entries += struct.pack(order + "HHI", tag, field, len(value)) + place
        out += b"\0" * (len(out) % 2)
        out[link:link + 4] = struct.pack(order + "I", len(out))
        out += struct.pack(order + "H", len(tags)) + entries
        link = len(out)
        out += b"\0\0\0\0"
    return bytes(out)


def noise(sample, n, seed):
    source = random.Random(seed)
    if sample[0] == "f":
        return [struct.unpack("<f", struct.pack("<f", source.gauss(100, 30)))[0] for _ in range(n)]
    low = 0 if sample[0] == "u" else -100
    return [source.randrange(low, 120) * (1 if "8" in sample else 257) for _ in range(n)]


def lines(program, *words, status=0):
    return [json.loads(line) for line in run(program, *words, status=status).stdout.splitlines()]


PLACES = ("min_at", "max_at", "min_page", "max_page")


def test_by_file(program, folder):
    for sample in ("u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"):
        width, pages = 16, [(sample, 16, noise(sample, 16 * height, height)) for height in (5, 9, 1, 4)]
        every = [value for page in pages for value in page[2]]
        (folder / "s.tif").write_bytes(stack(pages))
        (folder / "tall.tif").write_bytes(tiff(sample, width, len(every) // width, every))
        words = ("--json", "--mode", "--shape", "--histogram", "--percentiles", "0,1,50,99.5,100")
        [got] = lines(program, "stats", *words, "--by", "file", folder / "s.tif")
        [want] = lines(program, "stats", *words, folder / "tall.tif")
        check(got["by"] == "file" and got["page_list"] == "0-3" and got["pages"] == 4 and "page" not in got,
              f"{sample}: {got}")
        check(got["width"] is None and got["height"] is None, f"{sample}: pages of several sizes have none")
        for kind, extremum in (("min", min), ("max", max)):
            page = next(i for i, (_, _, values) in enumerate(pages) if extremum(every) in values)
            at = pages[page][2].index(extremum(every))
            check(got["channels"][0][kind + "_page"] == page, f"{sample}: {kind}_page: {got['channels']}")
            check(got["channels"][0][kind + "_at"] == [at % width, at // width], f"{sample}: {kind}_at")
        for line in (got, want):
            for key in PLACES:
                line["channels"][0].pop(key, None)
        check(got["channels"] == want["channels"], f"{sample}: {got['channels']} {want['channels']}")
        one = run(program, "hist", "--csv", "--bins", "7", "--by", "file", folder / "s.tif").stdout.splitlines()
        tall = run(program, "hist", "--csv", "--bins", "7", folder / "tall.tif").stdout.splitlines()
        check([line.split(b",")[3:] for line in one] == [line.split(b",")[3:] for line in tall], f"{sample}: hist")
        check(one[1].split(b",")[1] == b"0-3", f"{sample}: {one[1]!r}")


def test_some_pages(program, folder):
    pages = [("u8", 4, [10 * number + i for i in range(8)]) for number in range(6)]
    (folder / "s.tif").write_bytes(stack(pages))
    [got] = lines(program, "stats", "--json", "--by", "file", f"{folder / 's.tif'}[1,3-5]")
    check(got["page_list"] == "1,3-5" and got["channels"][0]["min"] == 10 and got["channels"][0]["count"] == 32, f"{got}")
    check(got["width"] == 4 and got["height"] == 2, f"{got}")
    rows = run(program, "stats", "--csv", "--by", "file", f"{folder / 's.tif'}[1,3-5]").stdout.decode().splitlines()
    check(rows[0].startswith("file,page,pages,") and ",max_y,min_page,max_page,sum," in rows[0], rows[0])
    check(f'{folder / "s.tif"},"1,3-5",6,tiff,4,2,u8,8,' in rows[1] and ",1,5," in rows[1], rows[1])
    by_page = run(program, "stats", "--json", "--by", "page", folder / "s.tif").stdout
    check(by_page == run(program, "stats", "--json", folder / "s.tif").stdout and by_page.count(b"\n") == 6, "by page")
    # Without axes, channels are those of a page.
    check(by_page == run(program, "stats", "--json", "--by", "channel", folder / "s.tif").stdout, "by channel, no axes")
    table = run(program, "stats", "--by", "file", folder / "s.tif").stdout.decode().splitlines()
    check(len(table) == 3 and "TIFF, 6 pages, 4 x 2" in table[0], f"{table}")


IMAGEJ = "ImageJ=1.54f\nimages={0}\nchannels={1}\nslices={2}\nframes={3}\nhyperstack=true\nmode=composite\n"
OME = ('<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels '
       'ID="Pixels:0" DimensionOrder="{order}" Type="uint16" SizeX="{width}" SizeY="{height}" SizeC="3" SizeZ="5" '
       'SizeT="2"><Channel ID="Channel:0:0" Name="DAPI" SamplesPerPixel="1"/><Channel ID="Channel:0:1" Name="GFP" '
       'SamplesPerPixel="1"/><Channel ID="Channel:0:2" SamplesPerPixel="1"/><TiffData/></Pixels></Image></OME>')
HYPER = (2, 5, 3, 8, 16)  # T, Z, C, height, width
LEVEL = (300, 2500, 40)  # of each channel


def hyperstack(order, sample="u16"):
    """Pages in that order of axes, slowest first; channels of different brightness, darker with Z."""
    source, pages, channels = random.Random(7), [], []
    sizes = dict(zip("TZC", HYPER))
    for i in range(sizes["T"] * sizes["Z"] * sizes["C"]):
        at, rest = {}, i
        for axis in reversed(order):
            rest, at[axis] = divmod(rest, sizes[axis])
        values = [LEVEL[at["C"]] * (10 - at["Z"]) // 10 + source.randrange(LEVEL[at["C"]]) for _ in
                  range(HYPER[3] * HYPER[4])]
        pages.append((sample, HYPER[4], values))
        channels.append(at["C"])
    return pages, channels


def ome(order):
    return OME.format(order="XY" + order[::-1], width=HYPER[4], height=HYPER[3])


def percentile(values, p):
    """numpy's linear percentile."""
    values = sorted(values)
    at = p * (len(values) - 1) / 100
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def test_by_channel(program, folder):
    for name, order, text in (("imagej", "TZC", IMAGEJ.format(30, 3, 5, 2)), ("ome", "TCZ", ome("TCZ"))):
        pages, channels = hyperstack(order)
        (folder / f"{name}.tif").write_bytes(stack(pages, text))
        got = lines(program, "stats", "--json", "--by", "channel", "--percentiles", "1,50,99", folder / f"{name}.tif")
        check(len(got) == 3, f"{name}: {got}")
        for c, line in enumerate(got):
            every = [value for page, of in zip(pages, channels) if of == c for value in page[2]]
            found = line["channels"][0]
            check((line["by"], line["c"], line["pages"]) == ("channel", c, 30), f"{name}: {line}")
            check(line["channel"] == (("DAPI", "GFP", None)[c] if name == "ome" else None), f"{name}: {line}")
            check((found["count"], found["sum"], found["min"], found["max"]) ==
                  (len(every), sum(every), min(every), max(every)), f"{name}, channel {c}: {found}")
            for p in (1, 50, 99):
                want = percentile(every, p)
                check(abs(found["percentiles"][str(p)] - want) < 1e-9, f"{name}, channel {c}, {p} %: {found}")
                check(not numpy or abs(numpy.percentile(every, p) - want) < 1e-9, "this percentile is numpy's")
    check(got[0]["page_list"] == "0-4,15-19", f"{got[0]}")
    table = run(program, "stats", "--by", "channel", folder / "ome.tif").stdout.decode().splitlines()
    check(len(table) == 4 and "[channel 0]" in table[1] and "DAPI" in table[1] and "[channel 2]" in table[3], f"{table}")


def test_unlike_pages(program, folder):
    words = ("stats", "--json", "--by", "file")
    done = run(program, *words, TESTDATA / "good-pages.tif", status=1)
    sentence = f"{TESTDATA / 'good-pages.tif'}: page 1: has u16 samples, page 0 u8; pages that are measured as one have equal ones"
    check(done.stderr.decode().strip() == sentence, f"{done.stderr!r}")
    check(json.loads(done.stdout)["error"] == "argument" and json.loads(done.stdout)["page"] == 1, f"{done.stdout!r}")
    data = bytearray(stack([("u16", 8, noise("u16", 64, 1)), ("u16", 8, noise("u16", 64, 2))]))
    second = data.find(struct.pack("<HHII", 273, LONG, 1, 0)[:8], len(data) // 2)
    struct.pack_into("<I", data, second + 8, len(data) + 8)
    (folder / "cut.tif").write_bytes(data)
    done = run(program, *words, folder / "cut.tif", status=1)
    check(b"cut.tif: page 1: " in done.stderr and done.stderr.count(b"\n") == 1, f"{done.stderr!r}")
    done = run(program, "stats", "--by", "all", folder / "cut.tif", status=2)
    check(b"page, channel or file" in done.stderr, f"{done.stderr!r}")
    run(program, "hist", "--by", "channel", "--plot", folder / "p.svg", folder / "cut.tif", status=2)


if __name__ == "__main__":
    harness.main(globals())
