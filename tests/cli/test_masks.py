#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pixels that do not count: masks of pages and of other files, alpha, nodata values; and what undefined samples become
in outputs. usage: test_masks.py IMGSTAT"""

import csv
import json
import math
import random
import struct
import zlib

import harness
import tiff_tree
from harness import SAMPLES, check, is_run, modules, png, png_chunk, run, skip

(np,) = modules("numpy")

WIDTH, HEIGHT = 61, 47


def directory(sample, width, height, values, channels=1, alpha=False, nodata=None, kind=0, planar=False):
    """A page: its fields, type 2 for texts, and its pixels."""
    letter, form = SAMPLES[sample]
    if planar:
        values = [value for c in range(channels) for value in values[c::channels]]
    data = struct.pack(f"<{len(values)}{letter}", *values)
    colours = 3 if channels in (3, 4) else 1
    extra = [2 if alpha else 0] * (channels - colours)
    plane = len(data) // (channels if planar else 1)
    n = channels if planar else 1
    tags = [(254, 4, [kind]), (256, 4, [width]), (257, 4, [height]), (258, 3, [8 * struct.calcsize(letter)] * channels),
            (259, 3, [1]), (262, 3, [4 if kind == 4 else 2 if colours == 3 else 1]), (277, 3, [channels]),
            (278, 4, [height]), (279, 4, [plane] * n), (284, 3, [2 if planar else 1]), (338, 3, extra),
            (339, 3, [form] * channels)]
    if nodata is not None:
        tags.append((42113, 2, nodata.encode() + b"\0"))
    return [tag for tag in tags if tag[2]], data, plane, n


def write(path, *directories):
    body, link = bytearray(struct.pack("<2sHI", b"II", 42, 0)), 4
    for tags, data, plane, n in directories:
        at = len(body)
        body += data + b"\0" * (len(data) % 2)
        rows = sorted(tags + [(273, 4, [at + i * plane for i in range(n)])])
        entries, start = b"", len(body) + 2 + 12 * len(rows) + 4
        extra = b""
        for tag, kind, values in rows:
            raw = bytes(values) if kind == 2 else struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
            place = raw.ljust(4, b"\0") if len(raw) <= 4 else struct.pack("<I", start + len(extra))
            extra += b"" if len(raw) <= 4 else raw + b"\0" * (len(raw) % 2)
            entries += struct.pack("<HHI", tag, kind, len(values)) + place
        struct.pack_into("<I", body, link, len(body))
        link = len(body) + 2 + len(entries)
        body += struct.pack("<H", len(rows)) + entries + b"\0\0\0\0" + extra
    path.write_bytes(body)


def mask_page(mask, width=WIDTH, height=HEIGHT):
    return directory("u8", width, height, [255 if valid else 0 for valid in mask], kind=4)


def read(path, sample, page=0):
    """Samples of an uncompressed output, and its nodata text."""
    file = tiff_tree.read(path)
    fields = file.chain[page].fields
    raw = b"".join(file.data[at:at + n] for at, n in zip(fields[273], fields[279]))
    letter = SAMPLES[sample][0]
    values = struct.unpack(f"<{len(raw) // struct.calcsize(letter)}{letter}", raw)
    return values, fields[42113][0].rstrip(b"\0").decode() if 42113 in fields else None


def disc(width=WIDTH, height=HEIGHT):
    return [(x - 20) ** 2 + (y - 20) ** 2 < 18 ** 2 for y in range(height) for x in range(width)]


def draw(sample, n, seed):
    choose = random.Random(seed)
    if sample[0] == "f":
        values = [choose.gauss(100, 10) for _ in range(n)]
        letter = SAMPLES[sample][0]
        return list(struct.unpack(f"<{n}{letter}", struct.pack(f"<{n}{letter}", *values)))
    return [choose.randrange(20, 110) for _ in range(n)]


def percentile(ordered, p):
    h = (len(ordered) - 1) * p / 100
    low = int(h)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (h - low)


def statistics(program, *words, status=0):
    done = run(program, "stats", "--json", "--percentiles", "2,50,98", "--histogram", *words, status=status)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(name, channel, values, masked):
    """The statistics of a channel, of its valid values."""
    ordered = sorted(values)
    mean = math.fsum(values) / len(values)
    stddev = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    got = [channel["mean"], channel["stddev"], *channel["percentiles"].values()]
    want = [mean, stddev, *[percentile(ordered, p) for p in (2, 50, 98)]]
    check((channel["count"], channel.get("masked", 0)) == (len(values), masked),
          f"{name}: count {channel['count']}, masked {channel.get('masked')}")
    check((channel["min"], channel["max"]) == (ordered[0], ordered[-1]), f"{name}: {channel['min']}, {channel['max']}")
    check(all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(got, want)), f"{name}: {got}, expected {want}")
    check(sum(channel["histogram"]["counts"]) == len(values), f"{name}: the histogram counts others")


def test_mask_of_page(program, folder):
    # Statistics of a file with an internal mask covered the pixels outside it, of value 0.
    path, mask = folder / "a.tif", disc()
    off = mask.count(False)
    for k, sample in enumerate(SAMPLES):
        for i, (channels, planar) in enumerate(((1, False), (3, False), (3, True), (8, False))):
            if not is_run(k + i, 2):
                continue
            values = draw(sample, WIDTH * HEIGHT * channels, channels)
            values = [v if mask[i // channels] else 0 for i, v in enumerate(values)]
            write(path, directory(sample, WIDTH, HEIGHT, values, channels, planar=planar), mask_page(mask))
            name = f"{sample} {channels}{' planar' if planar else ''}"
            (image,) = statistics(program, path)
            for c, channel in enumerate(image["channels"]):
                valid = [v for i, v in enumerate(values[c::channels]) if mask[i]]
                compare(f"{name}, channel {c}", channel, valid, off)
            (image,) = statistics(program, "--mask", "none", path)
            compare(f"{name} without", image["channels"][0], values[0::channels], 0)


def test_csv(program, folder):
    # The rows of --csv said nothing of masked pixels.
    path, mask = folder / "a.tif", disc()
    values = draw("u8", WIDTH * HEIGHT * 3, 3)
    write(path, directory("u8", WIDTH, HEIGHT, values, 3), mask_page(mask))
    for words, masked in ((["--mask", "none"], 0), ([], mask.count(False))):
        rows = list(csv.DictReader(run(program, "stats", "--csv", *words, path).stdout.decode().splitlines()))
        got = [(int(row["count"]), int(row["masked"])) for row in rows]
        check(got == [(len(mask) - masked, masked)] * 3, f"--csv {words}: {got}")


def test_bands(program, folder):
    # Larger than a band: rows of the mask stay in step; the page is read again for percentiles of wide samples.
    width, height = 1000, 3000
    mask = [(x // 50 + y // 70) % 3 > 0 for y in range(height) for x in range(width)]
    for sample in ("u8", "f32"):
        values = [float(i % 251) if sample == "f32" else i % 251 for i in range(width * height)]
        write(folder / "a.tif", directory(sample, width, height, values), mask_page(mask, width, height))
        valid = [v for v, counts in zip(values, mask) if counts]
        for variables in (None, {"IMGSTAT_DECODE": "plain"}, {"IMGSTAT_DECODE": "threads", "IMGSTAT_JOBS": "3"}):
            done = run(program, "stats", "--json", "--percentiles", "2,50,98", "--histogram", folder / "a.tif",
                       variables=variables)
            compare(f"bands of {sample}", json.loads(done.stdout)["channels"][0], valid, mask.count(False))


def test_memory_and_region(program, folder):
    # Rows are read again, a few at a time; a region cuts the mask as it does the pixels.
    width, height = 2000, 3000
    mask = [(x // 50 + y // 70) % 3 > 0 for y in range(height) for x in range(width)]
    values = [(i * 7 + i // 1000) % 65000 for i in range(width * height)]
    write(folder / "a.tif", directory("u16", width, height, values), mask_page(mask, width, height))
    outputs = []
    for words in ([], ["--memory", "32M"], ["--jobs", "1", "--memory", "32M"]):
        run(program, "equalize", "--force", *words, folder / "a.tif", "-o", folder / "o.tif")
        outputs.append((folder / "o.tif").read_bytes())
    check(outputs[0] == outputs[1] == outputs[2], "other bytes with less memory")
    kept = [i for i in range(width * height) if 100 <= i % width < 700 and 555 <= i // width < 1755]
    (image,) = statistics(program, "--region", "100,555,600,1200", folder / "a.tif")
    compare("region", image["channels"][0], [values[i] for i in kept if mask[i]], sum(not mask[i] for i in kept))


def test_mask_file(program, folder):
    path, mask, values = folder / "a.tif", disc(), draw("u16", WIDTH * HEIGHT, 5)
    other = [i % 3 > 0 for i in range(WIDTH * HEIGHT)]
    (folder / "m.png").write_bytes(png(WIDTH, HEIGHT, 8, bytes(9 * valid for valid in mask)))
    write(folder / "m.tif", directory("f32", WIDTH, HEIGHT, [0.0] * WIDTH * HEIGHT),
          directory("f32", WIDTH, HEIGHT, [0.5 if valid else -0.0 for valid in mask]))
    for name in ("m.png", "m.tif[1]"):
        write(path, directory("u16", WIDTH, HEIGHT, values))
        (image,) = statistics(program, "--mask", folder / name, path)
        compare(name, image["channels"][0], [v for v, on in zip(values, mask) if on], mask.count(False))
        write(path, directory("u16", WIDTH, HEIGHT, values), mask_page(other))
        (image,) = statistics(program, "--mask", folder / name, path)
        both = [a and b for a, b in zip(mask, other)]
        compare(f"{name} and own", image["channels"][0], [v for v, on in zip(values, both) if on], both.count(False))
    (folder / "small.png").write_bytes(png(8, 8, 8, bytes(64)))
    done = run(program, "stats", "--mask", folder / "small.png", path, status=1)
    check(b"has 61 x 47 pixels, its mask" in done.stderr, f"a mask of another size: {done.stderr}")
    done = run(program, "stats", "--mask", folder / "none.png", path, status=1)
    check(b"none.png" in done.stderr, f"a mask that is not there: {done.stderr}")
    done = run(program, "normalize", "--force", "--mask", folder / "m.png", path, "-o", folder / "m.png", status=2)
    check(b"which is an input as well" in done.stderr, f"the mask as output: {done.stderr}")
    # Nothing counts.
    (folder / "all.png").write_bytes(png(WIDTH, HEIGHT, 8, bytes(WIDTH * HEIGHT)))
    (image,) = statistics(program, "--mask", folder / "all.png", path)
    channel = image["channels"][0]
    check((channel["count"], channel["masked"], channel["mean"]) == (0, WIDTH * HEIGHT, None), f"nothing: {channel}")


def test_mask_pages(program, folder):
    # Which page of a mask file counts, of what type it may be, and what is said where none can.
    path, values, size = folder / "a.tif", draw("u16", 2 * WIDTH * HEIGHT, 5), WIDTH * HEIGHT
    masks = [disc(), [i % 3 > 0 for i in range(size)]]
    write(path, *(directory("u16", WIDTH, HEIGHT, values[k * size:(k + 1) * size]) for k in range(2)))
    pages = [directory("i32", WIDTH, HEIGHT, [-7 if on else 0 for on in mask]) for mask in masks]
    write(folder / "m.tif", *pages)
    for name, mask in (("m.tif", masks[0]), ("m.tif[0]", masks[0]), ("m.tif[1]", masks[1])):
        images = statistics(program, "--mask", folder / name, path)
        check(len(images) == 2, f"{name}: {len(images)} images")
        for k, image in enumerate(images):  # every page has the one mask
            valid = [v for v, on in zip(values[k * size:], mask) if on]
            compare(f"{name}, page {k}", image["channels"][0], valid, mask.count(False))
    for name, sentence in (("m.tif[0,1]", b"names several pages, a mask is one"), ("m.tif[2]", b"m.tif"),
                           ("m.tif[0-1]", b"names several pages, a mask is one")):
        for words in (["stats"], ["normalize", "--force", "-o", folder / "o.tif"]):
            done = run(program, *words, "--mask", folder / name, path, status=1)
            check(sentence in done.stderr and not (folder / "o.tif").exists(), f"{name}: {done.stderr}")
    # MinIsWhite has no meaning for a mask: 0 as stored excludes. Of colours the first one decides.
    tags, *rest = directory("u8", WIDTH, HEIGHT, [255 if on else 0 for on in masks[0]])
    white = [(number, kind, [0] if number == 262 else value) for number, kind, value in tags]
    colours = directory("u16", WIDTH, HEIGHT, [v for on in masks[0] for v in (1 if on else 0, 0 if on else 9, 5)], 3)
    for name, page in (("white", (white, *rest)), ("colours", colours)):
        write(folder / "m.tif", page)
        image = statistics(program, "--mask", folder / "m.tif", path)[0]
        compare(name, image["channels"][0], [v for v, on in zip(values, masks[0]) if on], masks[0].count(False))
    # A mask that cannot be read is named; nothing is measured or written without it.
    write(folder / "m.tif", pages[0])
    (folder / "m.tif").write_bytes(b"II*\0" + (folder / "m.tif").read_bytes()[4:60])
    for words in (["stats"], ["normalize", "--force", "-o", folder / "o.tif"]):
        done = run(program, *words, "--mask", folder / "m.tif", path, status=1)
        check(b"m.tif" in done.stderr and not done.stdout.strip() and not (folder / "o.tif").exists(), f"{done.stderr}")
    # Without alpha --alpha mask changes nothing.
    check(statistics(program, "--alpha", "mask", path) == statistics(program, path), "--alpha mask without alpha")


def test_alpha(program, folder):
    # Transparent black was measured.
    path, mask = folder / "a.tif", disc()
    for sample in ("u8", "u16", "f32"):
        for planar in (False, True):
            values = draw(sample, WIDTH * HEIGHT * 4, 7)
            for i, valid in enumerate(mask):
                values[4 * i + 3] = 1 if valid else 0
                if not valid:
                    values[4 * i:4 * i + 3] = [0, 0, 0]
            write(path, directory(sample, WIDTH, HEIGHT, values, 4, alpha=True, planar=planar))
            (image,) = statistics(program, "--alpha", "mask", path)
            for c in range(3):
                valid = [v for i, v in enumerate(values[c::4]) if mask[i]]
                compare(f"alpha, {sample}, planar {planar}", image["channels"][c], valid, mask.count(False))
            (image,) = statistics(program, path)
            check(image["channels"][0]["count"] == len(mask), "alpha masks unasked")


METHODS = (["normalize"], ["normalize", "--clip", "2,2"], ["normalize", "--clip", "2,2", "--channels", "each"],
           ["normalize", "--method", "meanstd=60,9"], ["equalize"], ["equalize", "--channels", "each"])


def test_transforms(program, folder):
    # An image whose pixels outside the mask are 0 was stretched from 0.
    path, alone, out, mask = folder / "a.tif", folder / "b.tif", folder / "o.tif", disc()
    for k, sample in enumerate(("u8", "i16", "u16", "f32", "u32")):
        for channels in (1, 3):
            values = draw(sample, WIDTH * HEIGHT * channels, 11)
            values = [v if mask[i // channels] else 3 for i, v in enumerate(values)]
            valid = [v for i, v in enumerate(values) if mask[i // channels]]
            write(path, directory(sample, WIDTH, HEIGHT, values, channels), mask_page(mask))
            write(alone, directory(sample, len(valid) // channels, 1, valid, channels))
            for method in [method for i, method in enumerate(METHODS) if is_run(k + channels + i, 3)]:
                if sample == "i16" and "meanstd=60,9" not in method and channels == 1:
                    method = [*method, "--depth", "8"]
                depth = "u8" if "--depth" in method else sample
                words = [*method, "--force", "--compression", "none"]
                run(program, *words, path, "-o", out)
                got, _ = read(out, depth)
                run(program, *words, alone, "-o", folder / "c.tif")
                want, _ = read(folder / "c.tif", depth)
                name = f"{sample} {channels} {method}"
                inside = tuple(v for i, v in enumerate(got) if mask[i // channels])
                outside = {v for i, v in enumerate(got) if not mask[i // channels]}
                check(inside == want, f"{name}: valid samples differ")
                check(outside == {3 if depth == sample else 0}, f"{name}: masked samples {sorted(outside)[:5]}")
                check(len(tiff_tree.read(out).chain) == 2, f"{name}: the mask is gone")
                run(program, *words, "--out-nodata", "3", path, "-o", out)
                got, text = read(out, depth)
                check(float(text) == 3 and {v for i, v in enumerate(got) if not mask[i // channels]} == {3} and
                      3 not in {v for i, v in enumerate(got) if mask[i // channels]}, f"{name}: --out-nodata")
    # Adaptive equalization does not see them either.
    values = draw("u8", WIDTH * HEIGHT, 3)
    outputs = []
    for fill in (0, 255):
        write(path, directory("u8", WIDTH, HEIGHT, [v if on else fill for v, on in zip(values, mask)]), mask_page(mask))
        run(program, "equalize", "--clahe", "--force", "--compression", "none", path, "-o", out)
        outputs.append([v for v, on in zip(read(out, "u8")[0], mask) if on])
    check(outputs[0] == outputs[1], "clahe: masked samples count")


def palette_png(colours, indices, width, alpha):
    """Of 8-bit indices."""
    rows = b"".join(b"\0" + bytes(indices[i:i + width]) for i in range(0, len(indices), width))
    header = struct.pack(">IIBBBBB", width, len(indices) // width, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", bytes(sum(colours, []))), (b"tRNS", bytes(alpha)),
              (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


def palette_page(colours, indices, width):
    tags, *pixels = directory("u8", width, len(indices) // width, indices)
    table = [257 * (colours[i][c] if i < len(colours) else 0) for c in range(3) for i in range(256)]
    return [tag for tag in tags if tag[0] != 262] + [(262, 3, [3]), (320, 3, table)], *pixels


def test_palettes(program, folder):
    # Masked pixels had the new colours of others, and masked and nodata samples counted as clamped.
    colours = [[0, 200, 250], [60, 80, 100], [90, 70, 50], [40, 100, 60], [80, 80, 80]]
    width, alpha = 5, [0, 255, 255, 90, 255]
    indices = [0, 1, 2, 3, 4, 1, 2, 3, 0, 4, 3, 3, 2, 1, 0]
    mask = [i % 4 != 1 and index > 0 for i, index in enumerate(indices)]
    paths = [folder / name for name in ("p.png", "c.tif", "p.tif", "d.tif")]
    paths[0].write_bytes(palette_png(colours, indices, width, alpha))
    write(paths[1], directory("u8", width, 3, sum((colours[i] + [alpha[i]] for i in indices), []), 4, alpha=True))
    own = mask_page(mask, width, 3)
    write(paths[2], palette_page(colours, indices, width), own)
    write(paths[3], directory("u8", width, 3, sum((colours[i] for i in indices), []), 3), own)
    (folder / "m.png").write_bytes(png(width, 3, 8, bytes(255 * valid for valid in mask)))

    def pixels(path):
        """Of a TIFF, which a PNG is turned into."""
        if path.suffix == ".png":
            run(program, "normalize", "--force", "--in-range=0,255", "--compression", "none", path, "-o", folder / "again.tif")
            return read(folder / "again.tif", "u8")[0]
        table = tiff_tree.read(path).chain[0].fields.get(320)
        values = read(path, "u8")[0]
        return tuple(table[256 * c + i] // 257 for i in values for c in range(3)) if table else values

    for pair, ways in ((paths[:2], (["--mask", folder / "m.png"], ["--alpha", "mask"], ["--nodata", "80"], [])),
                       (paths[2:], ([], ["--mask", "none"], ["--mask", "none", "--nodata", "60"]))):
        for words in [[*method, *way] for way in ways for method in (*METHODS, [*METHODS[1], "--channels", "luma"])]:
            results = []
            for path in pair:
                out = folder / f"out{path.suffix}"
                coding = ["--compression", "none"] if out.suffix == ".tif" else []
                line = run(program, *words, *coding, "--force", "--json", path, "-o", out).stdout
                results.append((json.loads(line).get("clamped"), pixels(out)))
            check(results[0] == results[1], f"{pair[0].name} {words}: {results[0]}, as colours {results[1]}")


def test_nodata_to_bytes(program, folder):
    # Holes became 0, as the darkest valid samples did, and the field still said -9999.
    path, out, mask = folder / "a.tif", folder / "o.tif", disc()
    plain = draw("f32", WIDTH * HEIGHT, 2)
    for text in ("-9999", "nan"):
        values = [v if on else float(text) for v, on in zip(plain, mask)]
        write(path, directory("f32", WIDTH, HEIGHT, values, nodata=text))
        for words in ([], ["--clip", "2,2"], ["--depth", "16"], ["--out-range", "50,100"], ["--out-nodata", "255"]):
            depth = "u16" if "16" in words else "u8"
            hole = 255 if "--out-nodata" in words else 0
            done = run(program, "normalize", "--force", "--depth", "8", "--compression", "none", *words, path, "-o", out)
            got, said = read(out, depth)
            inside = {v for v, on in zip(got, mask) if on}
            check(said == str(hole), f"nodata {text} {words}: the field says {said}")
            check({v for v, on in zip(got, mask) if not on} == {hole}, f"nodata {text} {words}: holes")
            low = 50 if "50,100" in words else 0 if hole else 1
            check(hole not in inside and min(inside) == low, f"nodata {text} {words}: from {min(inside)} on")
            check((b"cannot hold the nodata value" in done.stderr) == (hole == 0), f"{words}: {done.stderr}")
        # A saved transfer does the same, and one for all.
        run(program, "normalize", "--force", "--depth", "8", "--compression", "none", "--together", "--save-transfer",
            folder / "t.json", path, "-o", out)
        got = read(out, "u8")
        run(program, "apply", "--force", folder / "t.json", "--compression", "none", path, "-o", out)
        check(read(out, "u8") == got and got[1] == "0", f"nodata {text}: the saved transfer differs")
        run(program, "normalize", "--force", "--compression", "none", "--out-nodata", "-1", path, "-o", out)
        got, said = read(out, "f32")
        check(said == "-1" and {v for v, on in zip(got, mask) if not on} == {-1.0}, f"nodata {text} to -1: {said}")
    # 65535 of u16 does not fit into 8 bits; 0 does.
    for value in (65535, 0):
        write(path, directory("u16", WIDTH, HEIGHT, [v if on else value for v, on in zip(draw("u16", len(mask), 1), mask)],
                              nodata=str(value)))
        run(program, "equalize", "--force", "--depth", "8", "--compression", "none", path, "-o", out)
        got, said = read(out, "u8")
        check(said == "0" and {v for v, on in zip(got, mask) if not on} == {0} and
              min(v for v, on in zip(got, mask) if on) == 1, f"nodata {value} of u16: {said}")
    done = run(program, "normalize", "--force", "--out-nodata", "-1", path, "-o", out, status=1)
    check(b"cannot hold the nodata value -1" in done.stderr, f"--out-nodata -1 of u16: {done.stderr}")
    done = run(program, "normalize", "--force", path, "-o", folder / "o.png")
    check(b"PNG has no nodata value" in done.stderr, f"nodata to PNG: {done.stderr}")


def test_out_nodata_saved(program, folder):
    # A saved transfer gave defined samples other values, or was "not a transfer of imgstat".
    path, out, saved, mask = folder / "a.tif", folder / "o.tif", folder / "t.json", disc()
    for sample, to, hole, words in (
            ("u8", "u8", 255, ("normalize",)), ("u8", "u8", 7, ("equalize",)), ("u16", "u16", 65535, ("normalize", "--clip", "5,5")),
            ("f32", "u16", 65535, ("normalize", "--depth", "16", "--gamma", "1")), ("i8", "u8", 255, ("normalize", "--depth", "8")),
            ("u32", "u32", 2 ** 32 - 1, ("equalize",))):
        drawn = [(v - 100) / 16 if sample == "f32" else v for v in draw(sample, len(mask), 8)]
        write(path, directory(sample, WIDTH, HEIGHT, [v if on else 0 for v, on in zip(drawn, mask)], nodata="0"))
        given = ("--out-nodata", str(hole))
        run(program, *words, *given, "--force", "--compression", "none", "--save-transfer", saved, path, "-o", out)
        want = read(out, to)
        check(json.loads(saved.read_text())["to"]["nodata"] == hole, f"{words} of {sample}: saved without {hole}")
        check(want[1] == str(hole) and all((v == hole) != on for v, on in zip(want[0], mask)), f"{words} of {sample} to {hole}")
        check(0 in want[0], f"{words} of {sample}: 0 is no nodata in the output, and not used")
        for again in (given, ()):  # without the option 0 stayed nodata
            run(program, "apply", *again, "--force", "--compression", "none", saved, path, "-o", out)
            check(read(out, to) == want, f"{words} of {sample} to {hole}: the saved transfer differs with {again}")
        saved.unlink()


def test_out_nodata_saved_with_mask(program, folder):
    # Masked samples stayed as they were when a transfer was applied that was saved with --out-nodata.
    path, out, saved, holes = (folder / name for name in ("a.tif", "o.tif", "t.json", "m.tif"))
    mask = disc()
    write(holes, directory("u8", WIDTH, HEIGHT, [255 if on else 0 for on in mask]))
    for sample, nodata, hole, words in (
            ("u8", None, "255", ()), ("u8", "7", "7", ()), ("u16", "7", "0", ("--clip", "5,5")), ("i16", None, "-1", ()),
            ("f32", None, "-9999", ()), ("f32", "-9999", "nan", ()), ("f32", None, "nan", ()), ("f32", None, "-inf", ())):
        values = draw(sample, len(mask), 9)
        write(path, directory(sample, WIDTH, HEIGHT, values, nodata=nodata))
        given = ("--mask", holes, "--force", "--compression", "none")
        run(program, "normalize", *words, *given, "--out-nodata", hole, "--save-transfer", saved, path, "-o", out)
        want, said = read(out, sample)
        check(said == hole and {str(v) for v, on in zip(want, mask) if not on} == {str(type(want[0])(hole))}, f"{sample} to {hole}")
        check(json.loads(saved.read_text())["to"]["nodata"] == {"nan": "NaN", "-inf": "-Infinity"}.get(hole, float(hole)), f"{sample}: saved {hole}")
        raw = out.read_bytes()
        run(program, "apply", *given, saved, path, "-o", out)
        check(out.read_bytes() == raw, f"{sample} of {nodata} to {hole}: the saved transfer differs")
        saved.unlink()


def test_other_nodata(program, folder):
    # The nodata value of an image replaces that of a saved transfer, whose value is a sample like others there. Tables kept it.
    made, path, out, saved = (folder / name for name in ("a.tif", "b.tif", "o.tif", "t.json"))
    levels = [50, 99, 101, 150]
    cases = ((("normalize", "--out-range", "0,255"), 128), (("normalize", "--method", "meanstd=128,60", "--out-range", "0,255"), 128),
             (("normalize", "--method", "gamma=1", "--out-range", "0,255"), None), (("equalize", "--out-range", "0,255"), 85))
    for sample in ("u8", "u16", "u32"):
        for words, want in cases:
            write(made, directory(sample, 5, 1, [*levels, 100], nodata="100"))
            write(path, directory(sample, 5, 1, [*levels[:3], 100, 7], nodata="7"))
            run(program, *words, "--force", "--save-transfer", saved, made, "-o", out)
            run(program, "apply", "--force", "--compression", "none", saved, path, "-o", out)
            got, said = read(out, sample)
            want = round(100 * 255 / (2 ** (8 * struct.calcsize(SAMPLES[sample][0])) - 1)) if want is None else want
            check(said == "7" and got[3] == want and got[4] == 7, f"{words} of {sample}: 100 becomes {got[3]}, not {want}")
            saved.unlink()


def test_nodata_given(program, folder):
    # A file without the field had a mean of -976.
    path, out, mask = folder / "a.tif", folder / "o.tif", disc()
    for sample, value in (("f32", -9999), ("i16", -9999), ("u16", 65535), ("i64", -2 ** 63 + 5), ("u64", 2 ** 64 - 1)):
        values = [v if on else value for v, on in zip(draw(sample, len(mask), 6), mask)]
        valid = [v for v, on in zip(values, mask) if on]
        for nodata in (None, "25"):
            write(path, directory(sample, WIDTH, HEIGHT, values, nodata=nodata))
            (image,) = statistics(program, f"--nodata={value}", path)
            channel = image["channels"][0]
            compare(f"--nodata {value} of {sample}", channel, valid, 0)
            check(channel["nodata"] == mask.count(False), f"--nodata of {sample}: {channel['nodata']}")
            run(program, "normalize", "--force", f"--nodata={value}", "--compression", "none", path, "-o", out)
            got, said = read(out, sample)
            check(float(said) == float(value) and {v for v, on in zip(got, mask) if not on} == {value},
                  f"--nodata of {sample} in the output: {said}")
    done = run(program, "stats", "--nodata", "-9999", path)
    check(done.stderr.count(b"cannot hold the nodata value -9999") == 1, f"--nodata of u64: {done.stderr}")
    for words in (["--nodata", "x"], ["--nodata", ""], ["--mask", "-"], ["--alpha", "no"]):
        run(program, "stats", *words, path, status=2)


def test_nodata_of_records(program, folder):
    # The range began at 0, so that a transfer from a record and that of the same images differed by a level.
    images, mask = folder / "in", disc()
    images.mkdir()
    for sample, value in (("u16", 3460), ("u16", 65535), ("f32", "nan"), ("f32", -9999), ("u16", 0)):
        values = [v if on else float(value) if sample == "f32" else value for v, on in zip(draw(sample, len(mask), 6), mask)]
        write(images / "a.tif", directory(sample, WIDTH, HEIGHT, values))
        nodata = f"--nodata={value}"
        run(program, "stats", "--by", "all", nodata, "--force", "--save-record", folder / "a.rec", images)
        for words in ([], ["--method", "gamma=2.2"], ["--method", "meanstd=50%,20%"], ["--out-range", "0,99"]):
            words = ["normalize", *words, "--depth", "8", nodata, "--force", "--compression", "none", images]
            run(program, *words, "--together", "-o", folder / "together")
            run(program, *words, "--from", folder / "a.rec", "-o", folder / "from")
            want, got = (read(folder / name / "a.tif", "u8") for name in ("together", "from"))
            check(got == want, f"{nodata} of {sample} {words[1:-5]}: the transfer from a record differs")


def test_colours_and_further_channels(program, folder):
    # A fourth channel that was undefined took the colours of its pixel with it, and they took it.
    path, out, mask = folder / "a.tif", folder / "o.tif", disc()
    colours, fourth = draw("u16", 3 * len(mask), 1), draw("u16", len(mask), 2)
    values = [v for i in range(len(mask)) for v in (*colours[3 * i:3 * i + 3], fourth[i])]
    holes = list(values)
    for i, on in enumerate(mask):
        if not on:
            holes[4 * i + i % 4] = 300
    results = []
    for pixels in (values, holes):
        write(path, directory("u16", WIDTH, HEIGHT, pixels, 4, nodata="300"))
        run(program, "normalize", "--in-range", "0,200", "--channels", "luma", "--depth", "8", "--force", "--compression",
            "none", path, "-o", out)
        results.append(read(out, "u8")[0])
    for i in range(len(mask)):
        was, got = (list(result[4 * i:4 * i + 4]) for result in results)
        if not mask[i] and i % 4 == 3:
            was[3] = 0
        elif not mask[i]:
            was[:3] = [0, 0, 0]
        check(got == was, f"pixel {i}: {got}, expected {was}")


def test_devices(program, folder):
    # A GPU gives the same results.
    path, cpu, gpu, mask = folder / "a.tif", folder / "c.tif", folder / "g.tif", disc()
    write(path, directory("u8", WIDTH, HEIGHT, draw("u8", WIDTH * HEIGHT, 1)), mask_page(mask))
    done = run(program, "stats", "--device", "cuda", path, status=None)
    if done.returncode != 0:
        skip("masks on a GPU: there is none")
        return
    for sample in SAMPLES:
        for channels in (1, 3, 4, 8):
            values = draw(sample, WIDTH * HEIGHT * channels, channels)
            write(path, directory(sample, WIDTH, HEIGHT, values, channels, alpha=channels == 4, nodata="25"), mask_page(mask))
            words = ["--json", "--percentiles", "2,50,98", "--histogram", "--shape", path]
            lines = [json.loads(run(program, "stats", "--device", device, *words).stdout) for device in ("cpu", "cuda")]
            for line in lines:
                line.pop("device")
            check(lines[0] == lines[1], f"{sample} {channels}: other statistics on the GPU")
            methods = [*METHODS, ["normalize", "--depth", "8", "--out-nodata", "3"]]
            if sample in ("u8", "u16"):
                methods.append(["equalize", "--clahe"])
            for method in methods:
                if "each" in method and channels == 1:
                    continue
                for device, out in (("cpu", cpu), ("cuda", gpu)):
                    run(program, *method, "--force", "--device", device, path, "-o", out)
                check(cpu.read_bytes() == gpu.read_bytes(), f"{sample} {channels} {method}: other bytes on the GPU")


def test_numpy(program, folder):
    # 2-98 % of 8 bands with NaN and a mask.
    if not np:
        return
    bands, mask = 8, np.array(disc())
    values = np.random.default_rng(4).normal(100, 10, (WIDTH * HEIGHT, bands)).astype(np.float32)
    values[::7, ::3] = np.nan
    values[~mask] = 1e9
    write(folder / "a.tif", directory("f32", WIDTH, HEIGHT, values.ravel().tolist(), bands), mask_page(mask))
    run(program, "normalize", "--clip", "2,2", "--channels", "each", "--depth", "float", "--compression", "none",
        folder / "a.tif", "-o", folder / "o.tif")
    got = np.array(read(folder / "o.tif", "f32")[0], np.float32).reshape(-1, bands)
    (image,) = statistics(program, folder / "a.tif")
    for c in range(bands):
        kept = np.ma.masked_array(values[:, c], ~mask | ~np.isfinite(values[:, c])).compressed()
        compare(f"numpy, band {c}", image["channels"][c], kept.astype(float).tolist(), int((~mask).sum()))
        ordered = np.sort(kept)
        n = len(ordered)
        black, white = float(ordered[int(n * 2 / 100)]), float(ordered[n - 1 - int(n * 2 / 100)])
        want = np.clip((kept.astype(float) - black) / (white - black), 0, 1).astype(np.float32)
        valid = got[mask & np.isfinite(values[:, c]), c]
        check(np.abs(valid - want).max() < 2e-7, f"numpy, band {c}: {np.abs(valid - want).max()}")
        check((got[~mask, c] == np.float32(1e9)).all(), f"numpy, band {c}: masked samples changed")


if __name__ == "__main__":
    harness.main(globals())
