#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--salvage: what can be decoded of damaged files is measured and written, with a warning and exit status 1.
usage: test_salvage.py IMGSTAT"""

import json
import random
import struct
import zlib

import harness
import tiff_tree
from harness import SAMPLES, check, png, run, skip, tiff_file
from test_levels import stack as stack_of_levels
from test_methods import read
from tiff_tree import ASCII, LONG, SHORT, Page, write

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
        plain = ("normalize", *words, "--json", "--force", "--compression", "none")
        salvaged = run(program, *plain, "--salvage", bad, "-o", out, status=1)
        (folder / "good.tif").write_bytes(tiff_of(good, 50))
        whole = run(program, *plain, folder / "good.tif", "-o", folder / "g.tif")
        counts = [json.loads(done.stdout)["clamped"] for done in (salvaged, whole)]
        check(counts[0] == counts[1], f"{words}: lost rows are not clamped samples: {counts}")
        got, want = read(out, "u8"), read(folder / "g.tif", "u8")
        check(got[:20 * WIDTH] + got[30 * WIDTH:] == want, f"{words}: lost rows have no part in the transfer")
    done = run(program, "stats", "--salvage", folder / "plain.tif")
    check(b"warning" not in done.stderr, "a good file is no damaged one")


def tiff_of(values, height):
    return tiff_file(bytes(values), [(256, 4, [WIDTH]), (257, 4, [height]), (258, 3, [8]), (259, 3, [1]), (262, 3, [1]),
                                     (273, 4, [8]), (277, 3, [1]), (278, 4, [height]), (279, 4, [len(values)])])


def test_modes(program, folder):
    """Whatever is done with a damaged file, the exit status is 1 and one warning names it. Several said nothing."""
    draw = random.Random(11)
    values = [draw.randrange(1, 256) for _ in range(WIDTH * HEIGHT)]
    data = deflated(program, folder, values)
    at = strip_places(data)[2]
    data[at:at + 40] = b"\xff" * 40
    bad, good, out = folder / "bad.tif", folder / "plain.tif", folder / "out"
    bad.write_bytes(data)
    saved = ("--save-transfer", folder / "t.json")
    modes = [("stats", bad), ("stats", "--by", "all", bad, good), ("stats", "--by", "all", "--percentiles", "5", bad),
             ("stats", "--by", "group=bad", bad, good), ("hist", "--by", "all", "--csv", bad), ("compare", bad, good),
             ("compare", good, bad), ("normalize", "--match", bad, good, "-o", folder / "m.tif"),
             ("normalize", "--together", "--match", bad, good, "-o", f"{out}/"),
             ("normalize", "--match", bad, "--json", bad, good, "-o", out),  # had two warnings
             ("normalize", "--together", "--match", bad, good, bad, "-o", out),
             ("normalize", "--together", *saved, bad, good), ("normalize", "--together", "--json", *saved, good, bad),
             ("normalize", "--together", bad, good, "-o", out), ("equalize", bad, "-o", folder / "m.tif")]
    for words in modes:
        words = (*words, "--force") if words[0] in ("normalize", "equalize") else words
        done = run(program, *words, "--salvage", status=1)
        lines = [line for line in done.stderr.decode().splitlines() if "10 of 60 rows cannot be decoded" in line]
        check(len(lines) == 1 and lines[0].startswith(f"{bad}: warning: page 0: "), f"{words}: {done.stderr}")
        done = run(program, *words, "--salvage", "--quiet", status=1)
        check(not done.stderr, f"{words} --quiet: {done.stderr}")
    # The reference is measured before the shards, and an input is warned of by its shard.
    words = ("normalize", "--together", "--salvage", "--shards", 2, "--state")
    for i, inputs in enumerate((("--match", bad, good, folder / "deflate.tif"), (bad, good))):
        done = run(program, *words, folder / f"state{i}", *inputs, "-o", folder / f"of-shards{i}/", status=1)
        check(done.stderr.count(b"rows cannot be decoded") == 1 and b"2 written, 0 failed" in done.stderr, f"{done.stderr}")
    # What is kept of a shard has its warnings and its exit status: a second run gave neither.
    words = ("stats", "--json", "--by", "all", "--salvage", "--shards", 2, "--state", folder / "merged", good, bad)
    first, second = run(program, *words, status=1), run(program, *words, status=1)
    check(first.stderr.count(b"rows cannot be decoded") == 1, f"{first.stderr}")
    check((second.stdout, second.stderr) == (first.stdout, first.stderr), f"again: {second.stderr}")
    # An output that exists has its part in the transfer.
    done = run(program, "normalize", "--together", "--salvage", "--skip-existing", bad, good, "-o", out, status=1)
    check(done.stderr.count(b"rows cannot be decoded") == 1 and b"2 skipped" in done.stderr, f"{done.stderr}")


def test_ends_early(program, folder):
    """What is behind the end of a PNG, or of a TIFF with its directory in front, is lost."""
    draw = random.Random(5)
    values = [draw.randrange(1, 256) for _ in range(WIDTH * HEIGHT)]
    width, height = 400, 600
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


def test_png_is_cut(program, folder):
    """All rows whose bytes are there are read: of a small file, whose only chunk is cut, none were."""
    draw, bad = random.Random(12), folder / "bad.png"
    for width, height, depth, chunk in ((40, 30, 8, 1 << 20), (40, 30, 8, 100), (300, 200, 8, 1 << 20), (300, 200, 16, 3000),
                                        (64, 300, 4, 1 << 20), (64, 300, 4, 999), (9000, 9, 16, 1 << 20)):
        pitch = width * depth // 8
        lines = [draw.randbytes(pitch) for _ in range(height)]
        coded = zlib.compress(b"".join(b"\0" + line for line in lines))
        head = b"\x89PNG\r\n\x1a\n" + harness.png_chunk(
            b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0))
        chunks = [coded[at:at + chunk] for at in range(0, len(coded), chunk)]
        whole = head + b"".join(harness.png_chunk(b"IDAT", data) for data in chunks)
        for cut in (len(whole) // 2, len(whole) * 4 // 5 + 1, len(head) + 8 + min(chunk, len(coded)), len(whole) - 13):
            n = cut - len(head)
            there = b"".join(data[:max(n - k * (chunk + 12) - 8, 0)] for k, data in enumerate(chunks))
            rows = len(zlib.decompressobj().decompress(there)) // (pitch + 1)
            rows = min(rows, height - 1)  # the last row stands for the checksums
            bad.write_bytes(whole[:cut])
            for variables in ({}, {"IMGSTAT_DECODE": "plain"}, {"IMGSTAT_DECODE": "threads", "IMGSTAT_JOBS": "3"}):
                done = run(program, "stats", "--json", "--salvage", bad, status=1, variables=variables)
                channel, name = json.loads(done.stdout)["channels"][0], f"{width} x {height}, {depth} bits, {chunk}, {cut} bytes"
                check(channel["count"] == rows * width, f"{name}: {channel['count'] / width} rows, not {rows}")
                if depth == 8 and rows > 0:
                    check(summary(channel) == of(b"".join(lines[:rows])), f"{name}: {channel}")


def test_strip_ends(program, folder):
    """The rows in front of the damage are read, of the only strip as well."""
    draw, bad, out = random.Random(4), folder / "bad.tif", folder / "out.tif"
    for predictor in (1, 2):
        values = [draw.randrange(1, 17) for _ in range(WIDTH * HEIGHT)]
        rows = [values[y * WIDTH:(y + 1) * WIDTH] for y in range(HEIGHT)]
        stored = values if predictor == 1 else [(v - before) % 256 for row in rows for before, v in zip([0, *row], row)]
        whole = zlib.compress(bytes(stored), 9)
        half = whole[:len(whole) * 2 // 3]
        n = len(zlib.decompressobj().decompress(half)) // WIDTH
        bad.write_bytes(tiff_file(half, [(256, 4, [WIDTH]), (257, 4, [HEIGHT]), (258, 3, [8]), (259, 3, [8]), (262, 3, [1]),
                                         (273, 4, [8]), (277, 3, [1]), (278, 4, [HEIGHT]), (279, 4, [len(half)]),
                                         (317, 3, [predictor])]))
        run(program, "stats", bad, status=1)
        done = run(program, "stats", "--json", "--salvage", bad, status=1)
        channel = json.loads(done.stdout)["channels"][0]
        check(20 < n < 50 and summary(channel) == of(values[:n * WIDTH]), f"{n} rows: {channel}")
        check(f"{HEIGHT - n} of 60 rows cannot be decoded".encode() in done.stderr, f"{done.stderr}")
        run(program, "normalize", "--in-range", "0,255", "--compression", "none", "--force", "--salvage", bad, "-o", out,
            status=1)
        check(list(read(out, "u8")) == values[:n * WIDTH] + [0] * WIDTH * (HEIGHT - n), "the output")


def front_stack(n, order, rows_per_strip, channels=1):
    """A stack of n planes as ImageJ writes large ones: one directory, in front; and the values of each plane, in rows."""
    draw, width = random.Random(n), WIDTH * channels
    planes = [[[draw.randrange(1, 60000) for _ in range(width)] for _ in range(HEIGHT)] for _ in range(n)]
    text = f"ImageJ=1.53t\nimages={n}\nslices={n}\n".encode() + b"\0"
    down, row = -(-HEIGHT // rows_per_strip), 2 * width
    fields = {256: (LONG, [WIDTH]), 257: (LONG, [HEIGHT]), 258: (SHORT, [16] * channels), 259: (SHORT, [1]),
              262: (SHORT, [1 if channels == 1 else 2]), 270: (ASCII, text), 277: (SHORT, [channels]),
              278: (LONG, [rows_per_strip]),
              279: (LONG, [row * min(rows_per_strip, HEIGHT - y) for y in range(0, HEIGHT, rows_per_strip)])}
    first = 8 + len(tiff_tree.write([Page({**fields, 273: (LONG, [0] * down)}, [])], order)) + down * 8
    fields[273] = (LONG, [first + row * y for y in range(0, HEIGHT, rows_per_strip)])
    out = tiff_tree.Writer(order, False)
    out.data[:4] = struct.pack(f"{order}2sH", b"II" if order == "<" else b"MM", 42)
    at, _ = out.fields(fields)
    struct.pack_into(f"{order}I", out.data, 4, at)
    out.data += b"\0" * (first - len(out.data))
    for rows in planes:
        out.data += b"".join(struct.pack(f"{order}{width}H", *values) for values in rows)
    return bytes(out.data), first, planes


def check_stack(program, folder, name, data, planes, whole, channels=1):
    """whole: how many rows of each plane are there."""
    bad, out = folder / "bad.tif", folder / "out.tif"
    bad.write_bytes(data)
    done = run(program, "stats", "--json", bad, status=1)
    check(b"ends early" in done.stderr or b"holds one" in done.stderr, f"{name}: {done.stderr}")
    lines = [json.loads(line) for line in run(program, "stats", "--json", "--salvage", bad, status=1).stdout.splitlines()]
    check([line["page"] for line in lines] == [*range(len(planes))], f"{name}: {len(lines)} pages")
    for line, rows, n in zip(lines, planes, whole):
        for c, channel in enumerate(line["channels"]):
            want = [v for row in rows[:n] for v in row[c::channels]]
            check((channel["count"], channel["sum"] or 0) == (len(want), sum(want)), f"{name} {line['page']}: {channel}")
            check(channel.get("masked", 0) == (HEIGHT - n) * WIDTH, f"{name} {line['page']}: {channel}")
    every = [v for rows, n in zip(planes, whole) for row in rows[:n] for v in row[::channels]]
    [line] = [json.loads(line) for line in
              run(program, "stats", "--json", "--by", "file", "--salvage", bad, status=1).stdout.splitlines()]
    check(summary(line["channels"][0]) == of(every), f"{name}: {line}")
    for words in (["--in-range", "0,65535"], ["--in-range", "0,65535", "--together=page"]):
        done = run(program, "normalize", *words, "--force", "--salvage", bad, "-o", out, status=1)
        for k, n in enumerate(whole):
            said = f"page {k}: {HEIGHT - n} of {HEIGHT} rows cannot be decoded" in done.stderr.decode()
            check(said == (n < HEIGHT), f"{name} page {k}: {done.stderr}")
        tree = tiff_tree.read(out)
        first = tree.chain[0].fields[273][0]
        flat = struct.unpack_from(f"{tree.order}{len(planes) * WIDTH * HEIGHT * channels}H", tree.data, first)
        want = [v for rows, n in zip(planes, whole) for y, row in enumerate(rows) for v in (row if y < n else [0] * len(row))]
        check(len(tree.chain) == 1 and list(flat) == want, f"{name} {words}: the output")
    before = bad.read_bytes()
    run(program, "normalize", "--force", bad, "-o", out, status=None)
    check(bad.read_bytes() == before, f"{name}: the input")
    for words in (["--clip", "1,1"], ["--together=file", "--method", "meanstd=50%,20%"]):
        run(program, "normalize", *words, "--force", "--salvage", bad, "-o", out, status=1)
    run(program, "equalize", "--clahe", "--grid", "2", "--force", "--salvage", bad, "-o", out, status=1)


def test_stacks(program, folder):
    """Of a stack in one directory whose last planes are missing nothing at all was read."""
    row = 2 * WIDTH
    for order, strip, channels in (("<", HEIGHT, 1), (">", 7, 1), ("<", HEIGHT, 3)):
        data, first, planes = front_stack(5, order, strip, channels)
        plane = HEIGHT * row * channels
        name = f"{order} strips of {strip}, {channels} channels"
        (folder / "good.tif").write_bytes(data)
        done = run(program, "stats", "--json", "--salvage", folder / "good.tif")
        check(len(done.stdout.splitlines()) == 5 and not done.stderr, f"{name}: {done.stderr}")
        for cut, whole in ((3 * plane, [60, 60, 60, 0, 0]), (2 * plane + 17 * row * channels + 5, [60, 60, 17, 0, 0]),
                           (5 * plane - 1, [60, 60, 60, 60, 59]), (plane + row * channels, [60, 1, 0, 0, 0]),
                           (11 * row * channels, [11, 0, 0, 0, 0])):
            check_stack(program, folder, f"{name}, {cut} bytes", data[:first + cut], planes, whole, channels)
    bad = folder / "few.tif"
    bad.write_bytes(data[:first + 2 * HEIGHT * row].replace(b"images=5\nslices=5", b"images=500\nx=5   "))
    done = run(program, "stats", "--salvage", bad, status=1)
    check(b"counts 500 images, of which it holds 1: more than 63 of 64 are lost" in done.stderr, f"{done.stderr}")
    # The directory behind the planes that are there is none of their samples.
    planes, data = stack_of_levels(n=3, text="ImageJ=1.53t\nimages=5\n")
    bad = folder / "behind.tif"
    bad.write_bytes(data)
    lines = [json.loads(line) for line in run(program, "stats", "--json", "--salvage", bad, status=1).stdout.splitlines()]
    want = [len(rows) * len(rows[0]) for rows in planes] + [0, 0]
    check([line["channels"][0]["count"] for line in lines] == want, f"{lines}")


def test_devices(program, folder):
    # A GPU gives the same results.
    draw, bad = random.Random(2), folder / "bad.tif"
    rows = [[draw.randrange(1, 250) for _ in range(70 * 3)] for _ in range(50)]
    if run(program, "stats", "--device", "cuda", harness.TESTDATA / "good-1x1.png", status=None).returncode != 0:
        skip("damaged files on a GPU: there is none")
        return
    for kind in "BHf":
        tiles = tiles_of(rows, 16, kind, 3)
        for k in (7, 12):
            tiles[k] = b"\xff" * 9
        bad.write_bytes(tiled(rows, tiles, kind, 3))
        lines, images = [], []
        for device in ("cpu", "cuda"):
            words = ["--salvage", "--device", device, bad]
            line = json.loads(run(program, "stats", "--json", "--percentiles", "5,50", *words, status=1).stdout)
            line.pop("device")
            lines.append(line)
            for method in (["normalize", "--clip", "1,1"], ["equalize"], *([["equalize", "--clahe"]] if kind != "f" else [])):
                run(program, *method, "--force", *words, "-o", folder / "o.tif", status=1)
                images.append((folder / "o.tif").read_bytes())
        n = len(images) // 2
        check(lines[0] == lines[1] and images[:n] == images[n:], f"{kind}: other results on the GPU")


# ---- Fax -------------------------------------------------------------------------------------------

EOL = "000000000001"
WHITE_CODES = {4: "1011", 5: "1100", 8: "10011", 10: "00111", 12: "001000", 20: "0001000"}
BLACK_CODES = {2: "11", 3: "10", 4: "011", 6: "0010", 8: "000101", 10: "0000100"}
RUNS = ([10, 10, 20], [4, 8, 4, 4, 20], [12, 8, 20], [20, 6, 4, 2, 8])  # white, black, ... of a row


def fax_pixels(runs):
    row = [bit for i, n in enumerate(runs) for bit in [i % 2] * n]
    return row + [0] * (WIDTH - len(row))  # libtiff and others complete a row with white


def fax_codes(runs):
    return "".join((BLACK_CODES if i % 2 else WHITE_CODES)[n] for i, n in enumerate(runs))


def fax_file(bits, compression):
    data = int(bits.ljust(len(bits) + -len(bits) % 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    tags = [(256, 4, [WIDTH]), (257, 4, [HEIGHT]), (258, 3, [1]), (259, 3, [compression]), (262, 3, [0]), (273, 4, [8]),
            (277, 3, [1]), (278, 4, [HEIGHT]), (279, 4, [len(data)])]
    return tiff_file(data, tags)


def check_fax(program, folder, name, data, want, lost, damaged):
    """want: the rows that can be decoded, in order; the others are lost."""
    bad, out = folder / "bad.tif", folder / "out.tif"
    bad.write_bytes(data)
    done = run(program, "stats", bad, status=1)
    check(b"cannot be decoded" in done.stderr, f"{name}: {done.stderr}")
    flat = [v for row in want for v in row]
    for variables in ({}, {"IMGSTAT_DECODE": "plain"}, {"IMGSTAT_DECODE": "threads"}):
        done = run(program, "stats", "--json", "--salvage", bad, status=1, variables=variables)
        channel = json.loads(done.stdout)["channels"][0]
        check(summary(channel) == of(flat), f"{name}: {summary(channel)} instead of {of(flat)}")
        check(channel.get("masked", 0) == lost * WIDTH, f"{name}: {channel.get('masked')} masked")
        for n, words in ((lost, "cannot be decoded"), (damaged, "are damaged")):
            check((f"{n} of 60 rows {words}" in done.stderr.decode()) == (n > 0), f"{name}: {done.stderr}")
    run(program, "normalize", "--in-range", "0,1", "--compression", "none", "--depth", "8", "--force", "--salvage", bad,
        "-o", out, status=1)
    check(list(read(out, "u8")) == [255 * v for v in flat] + [0] * WIDTH * lost, f"{name}: the output")


def test_fax(program, folder):
    """A line that ends too early refused the page that others read."""
    rows = [RUNS[y % 4] for y in range(HEIGHT)]
    short = [*rows[:17], [4, 8, 4], *rows[18:40], [20], *rows[41:]]
    good = EOL + EOL.join(map(fax_codes, rows)) + EOL * 6
    (folder / "good.tif").write_bytes(fax_file(good, 3))
    done = run(program, "stats", "--json", "--salvage", folder / "good.tif")
    flat = [v for row in rows for v in fax_pixels(row)]
    check(summary(json.loads(done.stdout)["channels"][0]) == of(flat) and not done.stderr, f"a good fax: {done.stderr}")
    check_fax(program, folder, "premature EOL", fax_file(EOL + EOL.join(map(fax_codes, short)) + EOL * 6, 3),
              [fax_pixels(row) for row in short], 0, 2)
    check_fax(program, folder, "data end", fax_file(EOL + EOL.join(map(fax_codes, short[:30])), 3),
              [fax_pixels(row) for row in short[:30]], 30, 1)
    # Group 4: a row by horizontal codes, then rows like it, and the end of the block in place of the other rows.
    first = "001" + WHITE_CODES[10] + BLACK_CODES[10] + "1"
    check_fax(program, folder, "group 4 ends", fax_file(first + "111" * 29 + EOL * 2, 4),
              [fax_pixels(RUNS[0])] * 30, 30, 0)


# ---- Tiles -----------------------------------------------------------------------------------------


def tiles_of(rows, tile, kind, per_pixel=1):
    """rows: lists of samples; the pixels of each tile, compressed."""
    height, width = len(rows), len(rows[0]) // per_pixel
    out = []
    for y in range(0, height, tile):
        for x in range(0, width, tile):
            part = [(row[x * per_pixel:(x + tile) * per_pixel] + [0] * tile * per_pixel)[:tile * per_pixel]
                    for row in (rows[y:y + tile] + [[]] * tile)[:tile]]
            flat = [v for row in part for v in row]
            out.append(zlib.compress(struct.pack(f"<{len(flat)}{kind}", *flat)))
    return out


def tiled(rows, tiles, kind, samples, planar=False, nodata=None):
    """A page of compressed tiles, 16 by 16."""
    size, height, width = struct.calcsize(kind), len(rows), len(rows[0]) // samples
    fields = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8 * size] * samples), 259: (SHORT, [8]),
              262: (SHORT, [2 if samples == 3 else 1]), 277: (SHORT, [samples]), 284: (SHORT, [2 if planar else 1]),
              322: (LONG, [16]), 323: (LONG, [16]), 339: (SHORT, [3 if kind == "f" else 1] * samples)}
    if nodata is not None:
        fields[42113] = (ASCII, nodata.encode() + b"\0")
    return write([Page(fields, tiles, tile=16)])


def test_tiles(program, folder):
    """A bad tile took its whole row of tiles with it."""
    draw, bad, out = random.Random(8), folder / "bad.tif", folder / "out.tif"
    width, height, lost = 70, 50, (7, 12)  # tiles of 5 by 4
    for kind, sample, samples, planar, nodata in (("B", "u8", 1, False, None), ("H", "u16", 3, False, None),
                                                  ("H", "u16", 3, True, None), ("f", "f32", 1, False, "-1"),
                                                  ("f", "f32", 3, True, None)):
        rows = [[draw.randrange(1, 250) for _ in range(width * samples)] for _ in range(height)]
        if planar:
            tiles = [t for c in range(samples) for t in tiles_of([row[c::samples] for row in rows], 16, kind)]
        else:
            tiles = tiles_of(rows, 16, kind, samples)
        for k in lost:
            tiles[k] = b"\xff" * len(tiles[k])
        name = f"{sample} {samples} {'planar' if planar else ''} {nodata}"
        bad.write_bytes(tiled(rows, tiles, kind, samples, planar, nodata))
        inside = [[y // 16 * 5 + x // 16 in lost for x in range(width)] for y in range(height)]
        run(program, "stats", bad, status=1)
        n_lost, all_tiles = sum(map(sum, inside)), 20 * (3 if planar else 1)
        for variables in ({}, {"IMGSTAT_DECODE": "plain"}, {"IMGSTAT_DECODE": "threads", "IMGSTAT_JOBS": "3"}):
            done = run(program, "stats", "--json", "--percentiles", "50", "--salvage", bad, status=1, variables=variables)
            for c, channel in enumerate(json.loads(done.stdout)["channels"]):
                valid = [row[x * samples + c] for row, gone in zip(rows, inside) for x in range(width) if not gone[x]]
                check(summary(channel) == of(valid), f"{name}: {summary(channel)} instead of {of(valid)}")
                check(channel["masked"] == n_lost and channel["nodata"] == 0, f"{name}: {channel}")
                check(channel["percentiles"]["50"] == median(valid), f"{name}: {channel['percentiles']}")
            words = f"2 of {all_tiles} tiles cannot be decoded, the first at 32,16"
            check(words in done.stderr.decode(), f"{name}: {done.stderr}")
        # What is left of the image is mapped as an image without the tiles is.
        fill = -1 if nodata else 0
        for words in (["--in-range", "0,250", "--out-range", "0,250"], ["--method", "meanstd=100,20", "--out-range", "0,250"]):
            done = run(program, "normalize", *words, "--channels", "each", "--compression", "none", "--force", "--salvage",
                       bad, "-o", out, status=1)
            check(b"2 of" in done.stderr and b"tiles cannot be decoded" in done.stderr, f"{name}: {done.stderr}")
            got = samples_of(out, sample, samples, planar)
            bands = [0] if planar else range(samples)  # both tiles are of the first channel
            check(all(got[y][x * samples + c] == fill for y in range(height) for x in range(width) if inside[y][x]
                      for c in bands), f"{name} {words}: lost samples")
            if "--in-range" in words:
                kept = [(a, b) for new, old, gone in zip(got, rows, inside)
                        for i, (a, b) in enumerate(zip(new, old)) if not gone[i // samples] or i % samples not in bands]
                check(all(a == b for a, b in kept) and len(kept) > 1000, f"{name} {words}: kept samples")


def samples_of(path, sample, channels, planar):
    """Rows of an uncompressed output in tiles of 16."""
    file = tiff_tree.read(path)
    page = file.chain[0]
    (width, height), letter = page.size, SAMPLES[sample][0]
    rows, across = [[None] * width * channels for _ in range(height)], -(-width // 16)
    down, per = -(-height // 16), 1 if planar else channels
    for k, (at, n) in enumerate(zip(page.fields[324], page.fields[325])):
        flat = struct.unpack(f"<{n // struct.calcsize(letter)}{letter}", file.data[at:at + n])
        plane, y0, x0 = k // (across * down), k // across % down * 16, k % across * 16
        for y in range(min(16, height - y0)):
            for x in range(min(16, width - x0)):
                for c in range(per):
                    rows[y0 + y][(x0 + x) * channels + plane + c] = flat[(16 * y + x) * per + c]
    return rows


def median(values):
    ordered, n = sorted(values), len(values)
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def test_region(program, folder):
    """Warnings come where reading ends before the last row as well, and for damage in the region alone."""
    draw = random.Random(6)
    rows = [[draw.randrange(1, 256) for _ in range(70)] for _ in range(50)]
    tiles = tiles_of(rows, 16, "B")
    tiles[7] = b"\xff" * 9
    (folder / "bad.tif").write_bytes(tiled(rows, tiles, "B", 1))
    done = run(program, "stats", "--json", "--salvage", "--region", "30,10,10,10", folder / "bad.tif", status=1)
    valid = [v for y in range(10, 20) for x, v in enumerate(rows[y]) if 30 <= x < 40 and (y < 16 or x < 32)]
    channel = json.loads(done.stdout)["channels"][0]
    check(summary(channel) == of(valid) and channel["masked"] == 100 - len(valid), f"{channel}")
    check(b"1 of 20 tiles cannot be decoded" in done.stderr, f"{done.stderr}")


if __name__ == "__main__":
    harness.main(globals())
