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
from harness import SAMPLES, TESTDATA, check, modules, run, tiff
from tiff_tree import ASCII, LONG, SHORT, Tiff, gray, write

(numpy,) = modules("numpy")

DESCRIPTION = 270


def stack(pages, description=None, big_endian=False):
    """A TIFF file of gray pages; pages: sample type, width and values of each."""
    order = ">" if big_endian else "<"
    out = []
    for number, (sample, width, values) in enumerate(pages):
        letter, kind = SAMPLES[sample]
        fields = {DESCRIPTION: (ASCII, description.encode() + b"\0")} if number == 0 and description else {}
        rows = [values[i:i + width] for i in range(0, len(values), width)]
        out.append(gray(rows, letter, order, fields={339: (SHORT, [kind]), **fields}))
    return write(out, order)


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
    done = run(program, "stats", "--by", "everything", folder / "cut.tif", status=2)
    check(b"page, channel, file, all or group" in done.stderr, f"{done.stderr!r}")
    run(program, "hist", "--by", "channel", "--plot", folder / "p.svg", folder / "cut.tif", status=2)


# ---- Transforms ------------------------------------------------------------------------------------


def planes(path, sample):
    """The samples of each page of the chain; strips are not compressed."""
    file, out = Tiff(path.read_bytes()), []
    for page in file.chain:
        data = b"".join(file.data[at:at + n] for at, n in zip(page.fields[273], page.fields[279]))
        out.append(list(struct.unpack(f"{file.order}{len(data) // struct.calcsize(SAMPLES[sample][0])}"
                                      f"{SAMPLES[sample][0]}", data)))
    return out


METHODS = [("normalize",), ("normalize", "--clip", "1,1"), ("normalize", "--method", "meanstd=30000,9000"), ("equalize",)]


def test_together_by_channel(program, folder):
    """There was no way to give each channel of a stack one transfer over z and time."""
    for name, order, text in (("imagej", "TZC", IMAGEJ.format(30, 3, 5, 2)), ("ome", "TCZ", ome("TCZ"))):
        pages, channels = hyperstack(order)
        source = folder / f"{name}.tif"
        source.write_bytes(stack(pages, text))
        for number, method in enumerate(METHODS):
            out = folder / f"{name}{number}.tif"
            done = run(program, *method, source, "-o", out)
            check(b"transfer of its own" not in done.stderr, f"{name}: {done.stderr!r}")
            got = planes(out, "u16")
            check(len(got) == 30, f"{name}, {method}: {len(got)} pages")
            for c in range(3):
                every = [value for page, of in zip(pages, channels) if of == c for value in page[2]]
                (folder / "tall.tif").write_bytes(tiff("u16", HYPER[4], len(every) // HYPER[4], every))
                run(program, *method, "--force", folder / "tall.tif", "-o", folder / "tall_out.tif")
                [want] = planes(folder / "tall_out.tif", "u16")
                check([value for page, of in zip(got, channels) if of == c for value in page] == want,
                      f"{name}, {method}: channel {c} has one map over z and time")
            run(program, *method, "--together=channel", "--force", source, "-o", folder / "same.tif")
            check(out.read_bytes() == (folder / "same.tif").read_bytes(), f"{name}: channel is the default")
    # 1-99 % of each channel, by numpy's ranks.
    words = ("normalize", "--clip", "1,1", "--json", source, "-o", folder / "json.tif")
    for line, of in zip(lines(program, *words), channels):
        every = sorted(value for page, c in zip(pages, channels) if c == of for value in page[2])
        n = len(every)
        black, white = every[n // 100], every[n - 1 - n // 100]
        [found] = line["transfer"]["maps"]
        check((found["black"], found["white"]) == (black, white), f"{line}: {black}, {white}")
        if numpy:
            low, high = numpy.percentile(every, [1, 99])
            check(black <= low <= every[n // 100 + 1] and every[n - 2 - n // 100] <= high <= white, "numpy's percentiles")
    run(program, "normalize", "--together=page", source, "-o", folder / "alone.tif")
    check(all(min(page) == 0 and max(page) == 65535 for page in planes(folder / "alone.tif", "u16")), "each page alone")
    done = run(program, "normalize", "--save-transfer", folder / "t.json", source, "-o", folder / "o.tif", status=1)
    check(b"no single transfer" in done.stderr, f"{done.stderr!r}")


def mean(values):
    return sum(values) / len(values)


def test_profile(program, folder):
    """Alone, pages of a stack turned its profile upside down, without a word."""
    source = folder / "z.tif"
    generator = random.Random(3)
    pages = [("u16", 16, [320 - 34 * z + generator.randrange(60) ** 2 // (10 + 6 * z) for _ in range(128)]) for z in range(5)]
    source.write_bytes(stack(pages))
    before = [mean(page[2]) for page in pages]
    check(before == sorted(before, reverse=True), f"{before}")
    done = run(program, "normalize", source, "-o", folder / "alone.tif")
    check(b"each of its 5 images gets a transfer of its own" in done.stderr and done.stderr.count(b"\n") == 1, f"{done.stderr!r}")
    for words in (("--together=page",), ("--together=channel",)):
        done = run(program, "normalize", *words, "--force", source, "-o", folder / "page.tif")
        check(b"warning" not in done.stderr, f"{done.stderr!r}")
        check((folder / "page.tif").read_bytes() == (folder / "alone.tif").read_bytes(), "by page is the default")
    run(program, "normalize", "--together=file", "--save-transfer", folder / "t.json", source, "-o", folder / "one.tif")
    after = [mean(page) for page in planes(folder / "one.tif", "u16")]
    check(after == sorted(after, reverse=True), f"the profile stays: {after}")
    run(program, "apply", folder / "t.json", source, "-o", folder / "apply.tif")
    check((folder / "one.tif").read_bytes() == (folder / "apply.tif").read_bytes(), "the transfer of the file is saved")
    run(program, "normalize", "--together", source, "-o", folder / "all.tif")
    check((folder / "one.tif").read_bytes() == (folder / "all.tif").read_bytes(), "one file is all files")
    for words in (("--method", "gamma=2"), ("--in-range", "100,900")):
        done = run(program, "normalize", *words, "--force", source, "-o", folder / "g.tif")
        check(b"warning" not in done.stderr, f"{words}: equal maps need no note: {done.stderr!r}")
    (folder / "sizes.tif").write_bytes(stack([("u8", 4, noise("u8", 16, 1)), ("u8", 8, noise("u8", 16, 2))]))
    done = run(program, "normalize", folder / "sizes.tif", "-o", folder / "sizes_out.tif")
    check(b"warning" not in done.stderr, f"pages of other sizes are no stack: {done.stderr!r}")


def test_together_by_file(program, folder):
    for sample in ("u8", "i16", "f32", "u32", "f64"):
        pages = [(sample, 16, noise(sample, 16 * height, height)) for height in (5, 9, 1, 4)]
        every = [value for page in pages for value in page[2]]
        (folder / "s.tif").write_bytes(stack(pages))
        (folder / "tall.tif").write_bytes(tiff(sample, 16, len(every) // 16, every))
        for method in (("normalize", "--clip", "2,2"), ("normalize",), ("equalize",)):
            for jobs in ("1", "3"):
                run(program, *method, "--jobs", jobs, "--together=file", "--force", folder / "s.tif", "-o", folder / "o.tif")
                got = [value for page in planes(folder / "o.tif", sample) for value in page]
                run(program, *method, "--force", folder / "tall.tif", "-o", folder / "tall_out.tif")
                check(got == planes(folder / "tall_out.tif", sample)[0], f"{sample}, {method}, {jobs} threads")
        run(program, "normalize", "--match", folder / "tall.tif", "--together=file", "--force", folder / "s.tif", "-o",
            folder / "m.tif")
        check([value for page in planes(folder / "m.tif", sample) for value in page] == every, f"{sample}: matched to itself")
    done = run(program, "normalize", "--together=file", TESTDATA / "good-pages.tif", "-o", folder / "x.tif", status=1)
    check(b"good-pages.tif: page 1: has u16 samples, the first image u8" in done.stderr, f"{done.stderr!r}")
    check(not (folder / "x.tif").exists(), "nothing is written")
    run(program, "equalize", "--clahe", "--together=file", folder / "s.tif", "-o", folder / "x.tif", status=2)
    run(program, "normalize", "--together=group", folder / "s.tif", "-o", folder / "x.tif", status=2)
    (folder / "b.tif").write_bytes(stack([("u8", 8, noise("u8", 64, seed)) for seed in (1, 2)]))
    run(program, "equalize", "--clahe", "--together=page", folder / "b.tif", "-o", folder / "clahe.tif")
    with open(folder / "b.tif", "rb") as pipe:
        run(program, "normalize", "--together=file", "-", "-o", folder / "piped.tif", stdin=pipe)
    run(program, "normalize", "--together=file", folder / "b.tif", "-o", folder / "named.tif")
    check((folder / "piped.tif").read_bytes() == (folder / "named.tif").read_bytes(), "standard input has groups")


# ---- Several depths --------------------------------------------------------------------------------


def test_mixed_depths(program, folder):
    """Half of a folder failed and the other half was written; which half depended on the names."""
    (folder / "in").mkdir()
    images = {"a8.tif": ("u8", noise("u8", 160, 1)), "b16.tif": ("u16", noise("u16", 320, 2)),
              "c8.tif": ("u8", [value // 2 for value in noise("u8", 80, 3)])}
    for name, (sample, values) in images.items():
        (folder / "in" / name).write_bytes(tiff(sample, 16, len(values) // 16, values))
    # The same as a folder of 16 bits, whose samples are 257 times those of 8 bits.
    (folder / "wide").mkdir()
    for name, (sample, values) in images.items():
        wide = [257 * value for value in values] if sample == "u8" else values
        (folder / "wide" / name).write_bytes(tiff("u16", 16, len(wide) // 16, wide))
    every = sorted(value * (257 if sample == "u8" else 1) for sample, values in images.values() for value in values)
    black, white = every[len(every) // 50], every[-1 - len(every) // 50]
    for number, method in enumerate((("normalize",), ("normalize", "--clip", "2,2"), ("equalize",),
                                     ("normalize", "--method", "meanstd=50%,20%"), ("normalize", "--method", "gamma=2"))):
        for jobs in ("1", "3"):
            out = folder / f"o{number}{jobs}"
            run(program, *method, "--together", "--jobs", jobs, folder / "in", "-o", out)
            for depth, sample in (("8", "u8"), ("16", "u16")):
                want = folder / f"w{number}{jobs}{depth}"
                run(program, *method, "--together", "--depth", depth, folder / "wide", "-o", want)
                for name in (name for name, image in images.items() if image[0] == sample):
                    check(planes(out / name, sample) == planes(want / name, sample), f"{method}, {jobs} threads: {name}")
    for name, (sample, values) in images.items():
        scale, top = (257, 255) if sample == "u8" else (1, 65535)
        want = [min(max((value * scale - black) / (white - black), 0), 1) * top for value in values]
        got = planes(folder / "o11" / name, sample)[0]
        check(max(abs(a - b) for a, b in zip(got, want)) <= 0.5, f"{name}: black {black}, white {white} of both depths")
    run(program, "normalize", "--together", "--save-transfer", folder / "t.json", folder / "in", "-o", folder / "t")
    run(program, "apply", folder / "t.json", folder / "in", "-o", folder / "again")
    check(all((folder / "t" / name).read_bytes() == (folder / "again" / name).read_bytes() for name in images),
          "the transfers of both depths are saved")
    # Others are refused as a whole, whatever their order.
    for name in ("0.tif", "z.tif"):
        (folder / "in" / name).write_bytes(tiff("f32", 4, 4, noise("f32", 16, 5)))
        done = run(program, "normalize", "--together", folder / "in", "-o", folder / "refused", status=2)
        check(b"together they must be equal" in done.stderr and done.stderr.count(b"\n") == 1, f"{done.stderr!r}")
        check(not list((folder / "refused").rglob("*.tif")), "nothing is written")
        (folder / "in" / name).unlink()
    (folder / "in" / "rgb.tif").write_bytes(tiff("u8", 4, 4, noise("u8", 48, 5), channels=3))
    run(program, "normalize", "--together", "--channels", "joint", folder / "in", "-o", folder / "joint")
    done = run(program, "normalize", "--together", "--channels", "each", folder / "in", "-o", folder / "refused", status=2)
    check(b"has other channels" in done.stderr and not list((folder / "refused").rglob("*.tif")), f"{done.stderr!r}")
    # A file that cannot be read fails by itself.
    (folder / "in" / "bad.tif").write_bytes(b"II*\0no image")
    done = run(program, "normalize", "--together", folder / "in", "-o", folder / "rest", status=1)
    check(len(list((folder / "rest").rglob("*.tif"))) == 4 and b"4 written, 1 failed" in done.stderr, f"{done.stderr!r}")


if __name__ == "__main__":
    harness.main(globals())
