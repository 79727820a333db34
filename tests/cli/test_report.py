#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report: flags against a check of their definitions in Python, over planted defects; pages, thresholds, records; and
pages in a browser, where chromium is installed. With IMGSTAT_TEST_LARGE=1 also a page of 100,000 images.

IMGSTAT_SCREENSHOTS names a folder for pictures of pages.

usage: test_report.py IMGSTAT"""

import json
import math
import os
import random
import re
import shutil
import subprocess
import tarfile
import time
from fractions import Fraction
from pathlib import Path

import harness
from harness import TESTDATA, check, png, run, skip, tiff

NUMPY, = harness.modules("numpy")  # which may start the script again
WIDTH, HEIGHT = 40, 30
QUANTILES = [2.5 + 5 * k for k in range(20)]


# ---- The definitions of docs/reports.md ----

def percentile(ordered, p):
    h = (len(ordered) - 1) * p / 100
    low = ordered[math.floor(h)]
    return low + (ordered[math.ceil(h)] - low) * (h - math.floor(h))


def median(values):
    return percentile(sorted(values), 50)


def robust(values):
    known = [value for value in values if value is not None]
    middle = median(known)
    spread = 1.4826 * median([abs(value - middle) for value in known]) if len(known) >= 10 else 0
    return [(value - middle) / spread if spread and value is not None else None for value in values]


def measure(images):
    """images: name to (type, bits, width, height, channels as lists, NaN left out of these). One kind a type."""
    out = []
    for sample, bits, width, height, channels in images.values():
        m, full = {}, 2 ** bits - 1
        every = [value for channel in channels for value in channel]
        m["mean"] = sum(every) / len(every)
        m["empty"] = max(100 - 100 * len(channel) / (width * height) for channel in channels)
        m["exposure"] = sum(median(channel) for channel in channels) / len(channels)
        m["range"] = max(max(channel) - min(channel) for channel in channels)
        m["contrast"] = max(percentile(sorted(channel), 99) - percentile(sorted(channel), 1) for channel in channels)
        if sample != "f32":
            low, high = ([100 * channel.count(end) / len(channel) for channel in channels] for end in (0, full))
            m["low"], m["high"] = max(low), max(high)
            if len(channels) > 1:
                pixels = list(zip(*channels))  # NaN is of floats alone
                m["low_all"], m["high_all"] = (100 * pixels.count((end,) * len(channels)) / len(pixels) for end in (0, full))
            levels = [sorted(set(channel)) for channel in channels]
            if bits > 8 and max(map(len, levels)) > 1:
                m["levels"] = max(map(len, levels))
                m["step"] = math.gcd(*(b - a for values in levels for a, b in zip(values, values[1:])))
        m["copies"] = sum((sample, width, height, channels) == (other[0], *other[2:]) for other in images.values())
        out.append(m)
    kinds = {}
    for image in images.values():
        kinds.setdefault((image[0], len(image[4])), []).append(image)
    of_kind, scales = {}, {}
    for kind, members in kinds.items():
        merged = [sorted(value for image in members for value in image[4][c]) for c in range(kind[1])]
        of_kind[kind] = [[percentile(channel, p) for p in QUANTILES] for channel in merged]
        scales[kind] = (0, 2 ** members[0][1] - 1) if kind[0] != "f32" else \
            (min(percentile(c, 0.1) for c in merged), max(percentile(c, 99.9) for c in merged))
    for m, image in zip(out, images.values()):
        kind = image[0], len(image[4])
        low, high = scales[kind]
        for name in ("range", "contrast"):
            m[name] *= 100 / (high - low)
        m["exposure"] = 100 * (m["exposure"] - low) / (high - low)
        m["distance"] = max(100 / (high - low) / 20 * sum(abs(percentile(sorted(channel), p) - q)
                            for p, q in zip(QUANTILES, want)) for channel, want in zip(image[4], of_kind[kind]))
    for name, source in (("exposure", "exposure"), ("apart", "distance")):
        for m, z in zip(out, robust([m[source] for m in out])):
            m[name] = z
    return out


RULES = {"empty": ("empty", ">", 50), "constant": ("range", "<=", 0), "clipped-low": ("low", ">", 1),
         "clipped-high": ("high", ">", 1), "clipped-low-all": ("low_all", ">", 1),
         "clipped-high-all": ("high_all", ">", 1), "few-levels": ("levels", "<=", 256), "stepped": ("step", ">", 1),
         "low-contrast": ("contrast", "<", 5), "dark": ("exposure", "<", -3.5), "bright": ("exposure", ">", 3.5),
         "duplicate": ("copies", ">", 1), "outlier": ("apart", ">", 5)}


def passes(value, way, threshold):
    return value is not None and (value > threshold if way == ">" else value < threshold if way == "<" else
                                  value <= threshold)


# ---- A folder with planted defects ----

def plant(folder):
    """Images, and the defects that were planted in each."""
    draw, images, planted = random.Random(5), {}, {}
    n = WIDTH * HEIGHT

    def noise(mean, spread=4000):
        return [min(max(round(draw.gauss(mean, spread)), 1), 65534) for _ in range(n)]

    def add(name, values, *defects):
        data = b"".join(value.to_bytes(2, "big") for value in values)
        if name.endswith("png"):
            (folder / name).write_bytes(png(WIDTH, HEIGHT, 16, data))
        else:
            (folder / name).write_bytes(tiff("u16", WIDTH, HEIGHT, values))
        images[name] = ("u16", 16, WIDTH, HEIGHT, [values])
        planted[name] = set(defects)

    for i in range(24):
        add(f"a{i:02}.png", noise(30000 + 150 * (i - 12)))
    add("bright.png", noise(61000, 800), "bright", "outlier")
    add("clipped-high.png", [65535] * 30 + noise(30000)[30:], "clipped-high")
    add("clipped-low.png", [0] * 30 + noise(30000)[30:], "clipped-low")
    add("constant.png", [30000] * n, "constant", "low-contrast")
    add("copy.tif", images["a03.png"][4][0], "duplicate")
    planted["a03.png"].add("duplicate")
    add("dark.png", noise(2500, 300), "dark", "low-contrast", "outlier")
    add("eight.png", [257 * (value // 257) for value in noise(30000)], "few-levels", "stepped")
    add("shifted.png", [16 * (value // 16) for value in noise(30000)], "stepped")
    add("two.png", [20000 + 20000 * (i % 2) + draw.randrange(500) for i in range(n)], "outlier")
    return images, planted


def lines(program, *words, status=0):
    return [json.loads(line) for line in run(program, "report", "--json", *words, status=status).stdout.splitlines()]


def page_data(text):
    """What a page has for its script."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def is_near(got, want):
    if want is None:
        return got is None
    return got is not None and abs(got - want) <= 1e-9 * max(abs(want), 1)


def compare(found, images):
    """All measures and flags of lines against the definitions."""
    for line, (name, want) in zip(found, zip(images, measure(images)), strict=True):
        for key in ("mean", "empty", "range", "contrast", "low", "high", "low_all", "high_all", "levels", "step", "copies",
                    "exposure", "distance", "apart"):
            check(is_near(line[key], want.get(key)), f"{name}: {key} {line[key]}, expected {want.get(key)}")
        flags = {flag for flag, (key, way, threshold) in RULES.items() if passes(want.get(key), way, threshold)}
        check(set(line["flags"]) - {"odd-form", "damaged"} == flags, f"{name}: {line['flags']}, expected {flags}")


def test_planted(program, folder):
    images, planted = plant(folder)
    found = lines(program, folder)
    check([line["file"].rsplit("/")[-1] for line in found] == list(sorted(images)), "order")
    compare(found, {name: images[name] for name in sorted(images)})
    for line in found:
        name = line["file"].rsplit("/")[-1]
        check(planted[name] <= set(line["flags"]), f"{name}: {line['flags']}, planted {planted[name]}")
        if name[0] == "a":
            check(set(line["flags"]) == planted[name], f"{name}: {line['flags']}, nothing was planted")
    check([line["file"] for line in found if "odd-form" in line["flags"]] == [str(folder / "copy.tif")], "odd-form")


def test_types(program, folder):
    """Colours, alpha, floats with NaN; channels count by themselves and together."""
    draw, images, n = random.Random(7), {}, WIDTH * HEIGHT
    for i in range(12):
        channels = [[draw.randrange(1, 255) for _ in range(n)] for _ in range(4)]
        for c in range(i % 4):
            first = 40 * c if i > 7 else 0  # other pixels in each channel, or the same
            channels[c][first:first + 40] = [255] * 40
        (folder / f"b{i:02}.tif").write_bytes(
            tiff("u8", WIDTH, HEIGHT, [channels[c][k] for k in range(n) for c in range(4)], 4))
        images[f"b{i:02}.tif"] = ("u8", 8, WIDTH, HEIGHT, channels[:3])
    values = [draw.gauss(5, 1) for _ in range(n)]
    values = [math.nan if k < 700 else value for k, value in enumerate(values)]
    found = lines(program, folder)
    compare(found, images)
    (folder / "c.tif").write_bytes(tiff("f32", WIDTH, HEIGHT, values))
    line = lines(program, folder / "c.tif")[0]
    check("empty" in line["flags"] and is_near(line["empty"], 700 / n * 100), line)
    check([("clipped-high" in line["flags"], "clipped-high-all" in line["flags"]) for line in found[:4]] ==
          [(False, False), (True, False), (True, False), (True, True)], "channels")
    check([line["high_all"] for line in found[8:]] == [0] * 4, "no pixel is clipped in all channels")


def test_deviations(program, folder):
    """Deviations were roots of differences of squares: 0 for 1e9 + noise. Extrema are exact. Channels without samples
    do not count."""
    draw, n, wanted = random.Random(8), 300, {}
    for name, sample, values in (("noise", "f64", [1e9 + draw.gauss(0, 1) for _ in range(n)]),
                                 ("large", "f64", [1e300 * draw.random() for _ in range(n)]),
                                 ("whole", "u64", [10 ** 15 + draw.randrange(7) for _ in range(n)]),
                                 ("end", "u64", [2 ** 64 - 2 - draw.randrange(1000) for _ in range(n)]),
                                 ("other", "i64", [draw.randrange(1 - 2 ** 63, 2 ** 63 - 1) for _ in range(n)]),
                                 ("most", "u32", [2 ** 32 - 1 - draw.randrange(3) for _ in range(n)])):
        (folder / f"{name}.tif").write_bytes(tiff(sample, 30, 10, values))
        wanted[name] = values
    colours = [[7] * n, [100 + draw.randrange(3) for _ in range(n)], [200 + draw.randrange(9) for _ in range(n)]]
    (folder / "rgb.tif").write_bytes(tiff("u8", 30, 10, [colours[c][k] for k in range(n) for c in range(3)], 3))
    wanted["rgb"] = colours[1] + colours[2]
    (folder / "deep.tif").write_bytes(tiff("u16", 30, 10, [(7, 0, 65535)[c] for _ in range(n) for c in range(3)], 3))
    found = {Path(line["file"]).stem: line for line in lines(program, "--nodata", 7, folder)}
    deep = [found["deep"][key] for key in ("low", "high", "levels", "step")]
    check(deep == [100, 100, None, None], f"ends beside a channel without samples: {deep}")
    for name, values in wanted.items():
        mean = Fraction(sum(map(Fraction, values)), len(values))
        largest = max(map(abs, values))  # whose square may be beyond a double
        variance = sum(((value - mean) / Fraction(largest)) ** 2 for value in map(Fraction, values)) / len(values)
        want = largest * math.sqrt(variance)
        check(abs(found[name]["stddev"] - want) <= 1e-14 * want, f"{name}: {found[name]['stddev']}, expected {want}")
        check([found[name][key] for key in ("min", "max")] == [min(values), max(values)], f"{name}: {found[name]}")
    check(found["large"]["distance"] is not None, "the distance of an image with values beyond single precision")
    check(found["rgb"]["median"] == (median(colours[1]) + median(colours[2])) / 2, f"rgb: {found['rgb']['median']}")


def test_pages(program, folder):
    """The same bytes for any number of threads; no address of anything outside."""
    plant(folder)
    (folder / "<b>&amp;.png").write_bytes((folder / "a00.png").read_bytes())
    (folder / "z.png").write_bytes((folder / "a00.png").read_bytes()[:200])
    pages = [run(program, "report", "--jobs", jobs, folder, "-o", "-", status=1).stdout for jobs in (1, 2, 7)]
    check(pages[0] == pages[1] == pages[2], "threads")
    text = pages[0].decode()
    check(not re.search(r"(?:src|href)=\"(?!data:image/jpeg;base64,|#)", text) and "url(" not in text and
          "@import" not in text, "the page loads something")
    check("&lt;b&gt;&amp;amp;.png" in text and "<b>" not in text, "names are text")
    check("z.png" in text and "ends early" in text, "a damaged file")
    check(text.count("<img ") == 34, f"{text.count('<img ')} thumbnails")
    none = run(program, "report", "--thumbs", 0, folder, "-o", "-", status=1).stdout.decode()
    few = run(program, "report", "--thumbs", 3, folder, "-o", "-", status=1).stdout.decode()
    check(none.count("<img ") == 0 and few.count("<img ") == 3, "--thumbs")


def test_file(program, folder):
    source, page = TESTDATA / "good-example.tif", folder / "r.html"
    done = run(program, "report", source, "-o", page)
    check(done.stdout.startswith(b"1 image\n") and page.read_bytes().startswith(b"<!DOCTYPE html>"), done.stdout)
    run(program, "report", source, "-o", page, status=1)
    run(program, "report", source, "-o", page, "--force")
    run(program, "report", source, "-o", folder / "no" / "r.html", status=1)
    check([path.name for path in folder.iterdir()] == ["r.html"], "nothing else is left")


def test_curves(program, folder):
    """The curve of black had the colour of that of cyan."""
    tags = [(256, 4, [2]), (257, 4, [2]), (258, 3, [8] * 4), (259, 3, [1]), (262, 3, [5]), (273, 4, [8]), (277, 3, [4]),
            (278, 4, [2]), (279, 4, [16])]
    (folder / "cmyk.tif").write_bytes(harness.tiff_file(bytes(range(16)), tags))
    run(program, "report", folder / "cmyk.tif", "-o", folder / "cmyk.html")
    keys = re.findall(r'<span class="key (c\d)">(\w+)<', (folder / "cmyk.html").read_text())
    check([name for _, name in keys] == ["cyan", "magenta", "yellow", "black"] and len({kind for kind, _ in keys}) == 4, str(keys))


def test_fail_on(program, folder):
    plant(folder)
    for text, status in (("clipped", 1), ("clipped>99%", 0), ("clipped-high>2", 1), ("empty", 0), ("constant,dark<-1000", 1),
                         ("dark<-1000,bright>1000", 0), ("duplicate>2", 0), ("outlier>1000", 0)):
        run(program, "report", "--fail-on", text, folder, status=status)
    found = lines(program, "--fail-on", "clipped-high>99", folder)
    check(not any("clipped-high" in line["flags"] for line in found), "a threshold is that of JSON")
    (folder / "black.tif").write_bytes(tiff("u8", 2, 2, [0] * 12, 3))
    found = lines(program, "--fail-on", "clipped-low>100%", folder / "black.tif")  # which was the threshold of both
    check(found[0]["flags"] == ["constant", "clipped-low-all", "low-contrast"], str(found))
    for text in ("clip", "clipped-", "low", "odd", "clipped<1", "dark>1", "clipped>", "clipped>%", "clipped>x", "clipped>1,,", ">1", "", "clipped,"):
        done = run(program, "report", "--fail-on", text, folder, status=2)
        check(b"--fail-on" in done.stderr, done.stderr)


def test_no_image(program, folder):
    """A folder and an archive without images were damaged images."""
    (folder / "none").mkdir()
    tarfile.open(folder / "none.tar", "w").close()
    shutil.copy(TESTDATA / "good-example.png", folder)
    names = "none", "good-example.png", "none.tar", "no.png"
    done = run(program, "report", "--json", *names, cwd=folder, status=1)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    check([line["file"] for line in found] == list(names) and
          [line["flags"] for line in found] == [[], [], [], ["damaged"]], done.stdout)
    check([line.get("error") for line in found] == ["io", None, "io", "io"] and
          b"1 measured, 3 failed" in done.stderr, f"{done.stdout} {done.stderr}")
    done = run(program, "report", *names, "-o", "page.html", cwd=folder, status=1)
    check(done.stdout.split() == [b"2", b"images", b"1", b"damaged"], done.stdout)
    text = (folder / "page.html").read_text()
    check("2 files (1 damaged), 2 images, 1 with a flag." in text, "the page counts as the command does")
    data = page_data(text)
    check(data["empty"] == [0, 2] and sorted(data["messages"]) == ["0", "2", "3"], str(data))


def test_large_floats(program, folder):
    """Constant floats from 2^53 on had no flag: their scale was empty."""
    for value in (0.0, 1e15, 2.0 ** 53, 1e20, -1e300, 1.5e308):
        (folder / "a.tif").write_bytes(tiff("f64", 3, 2, [value] * 6))
        found = lines(program, folder / "a.tif")
        check(found[0]["flags"] == ["constant", "low-contrast"] and found[0]["range"] == 0, f"{value}: {found}")


def test_bins(program, folder):
    """Bins of 3 and of 4 values were beside each other: a comb that was not in the images."""
    (folder / "a.tif").write_bytes(tiff("u16", 25, 40, range(1000)))
    run(program, "report", folder / "a.tif", "-o", folder / "page.html")
    points = re.search(r'<g class="linear"><polyline class="[^"]*" points="([^"]*)"', (folder / "page.html").read_text())[1]
    heights = [point.split(",")[1] for point in points.split()]
    check(len(heights) == 250 and set(heights) == {"0.0"}, str(heights))


def test_headings(program, folder):
    """Kinds that differ in channels or in a nodata value that was given had the same heading."""
    shutil.copy(TESTDATA / "good-rgb.png", folder)
    shutil.copy(TESTDATA / "good-rgba16.png", folder)
    run(program, "normalize", "--depth", 8, folder / "good-rgba16.png", "-o", folder / "rgba8.png")
    (folder / "good-rgba16.png").unlink()
    run(program, "report", folder, "-o", folder / "page.html")
    headings = re.findall(r"<summary><h3>(.*?)</h3>", (folder / "page.html").read_text())
    check(sorted(headings) == ["1 image, rgb, u8", "1 image, rgb, u8, 4 channels"], str(headings))
    run(program, "report", "--nodata", 7, folder / "good-rgb.png", "-o", folder / "nodata.html")
    headings = re.findall(r"<summary><h3>(.*?)</h3>", (folder / "nodata.html").read_text())
    check(headings == ["1 image, rgb, u8, nodata 7"], str(headings))


def test_no_sample(program, folder):
    """The thumbnail of an image without a valid sample had a filter of NaN."""
    (folder / "a.tif").write_bytes(tiff("u8", 3, 2, [1, 2, 3, 4, 5, 6]))
    (folder / "b.tif").write_bytes(tiff("u8", 3, 2, [0] * 6))
    run(program, "report", "--nodata", 0, folder, "-o", folder / "page.html")
    filters = re.findall(r'style="--one:([^"]*)"', (folder / "page.html").read_text())
    check(len(filters) == 2 and not any("nan" in one for one in filters), str(filters))
    run(program, "report", "--nodata", 0, folder / "b.tif", "-o", folder / "none.html")
    pastes = [(folder / name).read_text().count("To paste") for name in ("page.html", "none.html")]
    check(pastes == [1, 0], f"no mean to paste: {pastes}")


def test_records(program, folder):
    """A page of records has what the page of their images has of the set."""
    images, record = folder / "images", folder / "a.rec"
    images.mkdir()
    plant(images)
    run(program, "stats", "--by", "all", "--save-record", record, images)
    one = run(program, "report", images, "-o", "-").stdout.decode()
    other = run(program, "report", record, "-o", "-").stdout.decode()
    kinds = [re.search(r"<details.*</details>", text, re.S).group() for text in (one, other)]
    check(kinds[0] == kinds[1], "the set")
    heads = [re.search(r"\d+ files? \(\d+ damaged\), \d+ images?", text).group() for text in (one, other)]
    check(heads[0] == heads[1], f"numbers of images: {heads}")
    counts = [run(program, "report", what, status=None).stdout.partition(b"\n")[0] for what in (images, record)]
    check(counts[0] == counts[1], f"numbers of images: {counts}")
    for k in (1, 2, 3):
        run(program, "stats", "--by", "all", "--shard", f"{k}/3", "--save-record", folder / f"{k}.rec", images)
    run(program, "merge", *(folder / f"{k}.rec" for k in (3, 1, 2)), "-o", folder / "m.rec")
    merged = run(program, "report", folder / "m.rec", "-o", "-").stdout.decode()
    check(merged.replace("m.rec", "a.rec") == other, "merged records")
    done = run(program, "report", folder / "1.rec", folder / "3.rec", status=1)  # were a report on two thirds, with status 0
    check(b"of 3 shards 2 is missing" in done.stderr and not done.stdout, f"an incomplete set: {done.stderr}")
    done = run(program, "report", folder / "m.rec")  # "0 images"
    check(done.stdout == b"%d images\n" % len(list(images.iterdir())), f"{done.stdout}")
    done = run(program, "report", record, images, status=1)
    check(done.stderr != b"", "records and images")


def test_before_and_after(program, folder):
    """normalize --report: inputs beside outputs, whatever fails."""
    inputs = folder / "in"
    inputs.mkdir()
    images, _ = plant(inputs)
    (inputs / "broken.png").write_bytes((inputs / "a00.png").read_bytes()[:150])
    pages = []
    for jobs in (1, 7):
        page, out = folder / f"{jobs}.html", folder / f"out{jobs}"
        run(program, "normalize", "--jobs", jobs, "--report", page, inputs, "-o", out, status=1)
        pages.append(page.read_text().replace(str(out), "OUT"))
    check(pages[0] == pages[1], "threads")
    check(pages[0].count("<img ") == 2 * len(images), f"{pages[0].count('<img ')} thumbnails")
    for name, image in images.items():
        row = re.search(f"<tr[^\n]*alt=\"Output of {name}\"[^\n]*", pages[0]).group()
        cells = re.findall(r"<td>([^<]*)</td>", row)
        mean = sum(image[4][0]) / len(image[4][0])
        low, high = min(image[4][0]), max(image[4][0])
        after = (mean - low) / (high - low) * 65535 if high > low else mean
        check(f"alt=\"Input of {name}\"" in row and abs(float(cells[0]) - mean) < 1 and abs(float(cells[1]) - after) < 1,
              f"{name}: {cells}")
    done = run(program, "normalize", "--report", folder / "1.html", inputs, "-o", folder / "new", status=1)
    check(b"exists already" in done.stderr and not any((folder / "new").glob("*")), done.stderr)
    for words in (["-o", "-"], ["-o", folder / "x.png", "--dry-run"], ["--together", "--save-transfer", folder / "t.json"]):
        run(program, "normalize", "--report", folder / "x.html", inputs / "a00.png", *words, status=2)
    with (inputs / "a00.png").open("rb") as file:
        run(program, "normalize", "--report", folder / "x.html", "-", "-o", folder / "x.png", status=2, stdin=file)
    check(not (folder / "x.html").exists() and not (folder / "x.png").exists(), "nothing is written")


# ---- Real files ----

def read_pixels(numpy, dump, name):
    """The header that dump_pixels writes of a page, and its samples as numpy has them."""
    match = re.fullmatch(r"(.*)\[(\d+)\]", name)
    path, page = match.groups() if match else (name, "0")
    done = subprocess.run([dump, path, page], capture_output=True, check=False, timeout=harness.LIMIT)
    head, _, data = done.stdout.partition(b"\n")
    words = head.decode(errors="replace").split()
    if done.returncode or len(words) < 9:
        return None, None
    width, height, channels = map(int, words[2:5])
    letter, bytes_of = words[5][0], int(words[5][1:]) // 8
    pixels = numpy.frombuffer(data, f"<{letter}{bytes_of}").reshape(height, width, channels)
    return words, numpy.delete(pixels, int(words[8]), 2) if int(words[8]) >= 0 else pixels


def measure_pixels(numpy, words, pixels):
    """What one image has by itself, integers of at most 16 bits; other types without ends and levels."""
    channels = [pixels[:, :, c].ravel() for c in range(pixels.shape[2])]
    m = {"min": pixels.min(), "max": pixels.max(), "mean": pixels.mean(dtype="f8"), "stddev": pixels.std(dtype="f8"),
         "median": numpy.mean([numpy.median(channel.astype("f8")) for channel in channels])}
    bits = int(words[6])
    if words[5] not in ("u8", "i8", "u16", "i16"):
        return m
    low = -2 ** (bits - 1) if words[5][0] == "i" else 0
    high = low + 2 ** bits - 1
    wide = [channel.astype("i4") for channel in channels]
    ends = [[100 * numpy.mean(channel == end) for channel in wide] for end in (low, high)]
    every = [100 * numpy.mean((numpy.stack(wide) == end).all(0)) if len(wide) > 1 else None for end in (low, high)]
    m |= {"low": max(ends[0]), "high": max(ends[1]), "range": 100 / (high - low) * max(c.max() - c.min() for c in wide),
          "low_all": every[0], "high_all": every[1],
          "contrast": 100 / (high - low) * max(numpy.subtract(*numpy.percentile(c, [99, 1])) for c in wide)}
    levels = [numpy.unique(channel) for channel in wide]
    some = bits > 8 and max(map(len, levels)) > 1
    m["levels"] = max(map(len, levels)) if some else None
    m["step"] = int(numpy.gcd.reduce(numpy.concatenate([numpy.diff(values) for values in levels]))) if some else None
    return m


def test_corpus(program, _):
    corpus, dump = os.environ.get("IMGSTAT_CORPUS", ""), os.environ.get("IMGSTAT_DUMP_PIXELS", "")
    if not NUMPY or not os.path.isdir(corpus) or not os.path.exists(dump):
        skip("no corpus of real files, or no dump_pixels")
        return
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(corpus) for name in names
                   if name.lower().endswith((".png", ".tif", ".tiff")))
    paths = [path for path in paths if os.path.getsize(path) < 200000]
    paths = paths if os.environ.get("IMGSTAT_TEST_LARGE") else paths[::24]
    compared, contents = 0, {}
    found = [line for line in lines(program, *paths, status=None) if "error" not in line]
    for line in found:
        words, pixels = read_pixels(NUMPY, dump, line["file"])
        if words is None or pixels.size == 0 or line["empty"] != 0:  # nodata and masks: test_types
            continue
        key = (pixels.shape, words[4], words[5], pixels.tobytes()) if int(words[8]) < 0 else line["hash"]
        contents.setdefault(key, []).append(line)
        m = measure_pixels(NUMPY, words, pixels)
        for name, want in m.items():
            check(is_near(line[name], want if want is None else float(want)), f"{line['file']}: {name} {line[name]}, expected {want}")
        own = {flag for flag, (key, way, threshold) in RULES.items()
               if key in m and passes(None if m[key] is None else float(m[key]), way, threshold)}
        of_image = {flag for flag in line["flags"] if RULES.get(flag, [""])[0] in m}
        check(of_image == own, f"{line['file']}: {of_image}, expected {own}")
        compared += 1
    for group in contents.values():
        check(all(line["copies"] >= len(group) and line["hash"] == group[0]["hash"] for line in group), group[0]["file"])
    check(len({group[0]["hash"] for group in contents.values()}) == len(contents), "unlike pixels have one hash")
    check(compared >= 20, f"{compared} images")
    print(f"{compared} of {len(found)} images compared with numpy, {len(contents)} different")


# ---- In a browser ----

STEPS = """
<script>
const result = {ready: document.documentElement.dataset.ready === "yes", loaded: performance.now()};
const get = (id) => document.getElementById(id), rows = () => [...get("image-table").tBodies[0].rows];
const timed = (name, act) => { const start = performance.now(); act(); result[name] = performance.now() - start; };
const change = (element, value, kind) => { element.value = value; element.dispatchEvent(new Event(kind)); };
const head = (name) => [...get("image-table").tHead.rows[0].cells].find((cell) => cell.dataset.column === name);
result.counts = Object.fromEntries([...get("flag-table").tBodies[0].rows].map((row) => [row.cells[0].textContent, row.cells[1].textContent]));
result.before = get("count").textContent;
timed("sort", () => head("mean").querySelector("button").click());
result.sorted = head("mean").getAttribute("aria-sort");
result.means = rows().map((row) => Number(row.cells[5].textContent));
timed("search", () => change(get("search"), RARE, "input"));
result.found = rows().map((row) => row.cells[1].textContent);
change(get("search"), "", "input");
timed("threshold", () => change(get("t-low-contrast").querySelector("input"), "1000", "change"));
result.all = get("n-low-contrast").textContent;
timed("flag", () => change(get("with"), get("with").options[11].value, "change"));
result.chosen = get("count").textContent;
result.one = document.images.length > 0 ? getComputedStyle(document.images[0]).filter : "";
get("own").click();
result.own = document.images.length > 0 ? getComputedStyle(document.images[0]).filter : "";
result.memory = performance.memory ? performance.memory.usedJSHeapSize : 0;
result.unlabelled = [...document.querySelectorAll("input, select")].filter((input) => !input.labels.length && !input.ariaLabel).length +
    [...document.images].filter((image) => !image.alt).length;
const pre = document.body.appendChild(document.createElement("pre"));
pre.id = "result";
pre.textContent = JSON.stringify(result);
</script>
</body>"""


def browse(browser, folder, words, url):
    for _ in range(2):  # the first start of a browser may fail on a loaded machine
        done = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               f"--user-data-dir={folder}/profile", *words, url], capture_output=True,
                              timeout=harness.LIMIT, check=False, cwd=folder)
        if done.returncode == 0:
            break
    return done.stdout.decode()


def open_page(browser, folder, page, rare):
    """What the page's script does when its controls are used."""
    text = page.read_text()
    (folder / "steps.html").write_text(text.replace("</body>", STEPS.replace("RARE", json.dumps(rare))))
    dom = browse(browser, folder, ["--dump-dom"], f"file://{folder}/steps.html")
    match = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    check(match, f"{page.name}: the script of the page failed")
    return json.loads(match.group(1).replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")) if match else None


def many(folder, n):
    draw = random.Random(n)
    folder.mkdir()
    for i in range(n):
        (folder / f"image_{i:06}.png").write_bytes(png(8, 8, 8, draw.randbytes(64), 1))


def take_screenshots(browser, folder, to):
    for name, words in (("light", ["--blink-settings=preferredColorScheme=1", "--window-size=1400,1800"]),
                        ("dark", ["--blink-settings=preferredColorScheme=0", "--window-size=1400,1800"]),
                        ("narrow", ["--window-size=420,900"])):
        browse(browser, folder, [*words, f"--screenshot={to}/{name}.png"], f"file://{folder}/1000.html")


def find_browser():
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        skip("chromium is not installed: pages are not opened")
    return browser


def test_printed(program, folder):
    """Wide tables of a page ended at the edge of the paper: in print nothing is wider than a letter or A4 page in landscape."""
    browser = find_browser()
    if not browser:
        return
    inputs, out = folder / "in", folder / "out"
    inputs.mkdir()
    plant(inputs)
    shutil.copy(inputs / "clipped-low.png", inputs / ("a_name_that_is_as_long_as_those_of_microscopes_" * 4 + ".png"))
    for name, sample, values in (("wide", "u32", [1574223872, 4294967295] * 50), ("pair", "u8", range(100))):
        (inputs / f"{name}.tif").write_bytes(tiff(sample, 10, 10 if name == "wide" else 5, values, 1 if name == "wide" else 2))
    run(program, "report", inputs, "-o", folder / "set.html")
    run(program, "normalize", "--report", folder / "pairs.html", inputs, "-o", out)
    for name in ("set", "pairs"):
        text = (folder / f"{name}.html").read_text()
        check("@media print" in text, "no layout of print")
        (folder / "printed.html").write_text(text.replace("@media print", "@media screen").replace(
            "</body>", "<script>document.title = 'past ' + [...document.querySelectorAll('.wide, pre')].map((part) => "
            "part.scrollWidth - part.clientWidth).join()</script></body>"))
        dom = browse(browser, folder, ["--dump-dom", "--window-size=980,700"], f"file://{folder}/printed.html")
        past = re.search(r"<title>past ([-0-9,]*)</title>", dom)
        check(past and len(past.group(1).split(",")) > 4 and set(past.group(1).split(",")) == {"0"}, f"{name}: {past and past.group(1)} pixels")


def test_thresholds(program, folder):
    """The script compared values as floats: 0.3 % was above 0.3 %. The largest u32 was shown as 4294967296."""
    browser = find_browser()
    if not browser:
        return
    for i in range(300):  # more values than a list of the page holds
        (folder / f"{i:03}.png").write_bytes(png(100, 100, 8, b"\xff" * i + b"\x64" * (10000 - i), 1))
    for kind, values in (("u32", [2 ** 32 - 1, 2 ** 24 + 1]), ("f64", [1e300, 1.5])):
        (folder / f"{kind}.tif").write_bytes(tiff(kind, 2, 1, values))
    for threshold in ("0.3", "0.7", "1.1"):
        page = folder / "page.html"
        counts = run(program, "report", "--force", "--fail-on", f"clipped-high>{threshold}%", folder, "-o", page, status=1).stdout
        want = 299 - int(float(threshold) * 100 + 0.5)
        check(f" {want}  clipped-high\n" in counts.decode(), f"{threshold}: {counts}, expected {want}")
        dom = browse(browser, folder, ["--dump-dom"], page.as_uri())
        shown = re.search('id="n-clipped-high">([0-9]*)<', dom)
        check(shown and shown.group(1) == str(want), f"{threshold}: the page has {shown and shown.group(1)}, expected {want}")
    steps = "<script>document.getElementById('search').value = '.tif'; document.getElementById('search').dispatchEvent(new Event('input'));</script></body>"
    (folder / "steps.html").write_text(page.read_text().replace("</body>", steps))
    rows = browse(browser, folder, ["--dump-dom"], f"file://{folder}/steps.html")
    for name, *cells in (("u32.tif", "16777217", "4294967295"), ("f64.tif", "1.5", "1e+300")):
        row = re.search(f'<th scope="row">{name}<.*?</tr>', rows)
        check(row and all(f"<td>{cell}</td>" in row.group() for cell in cells), f"{name}: {row and row.group()}")


def test_browser(program, folder):
    browser = find_browser()
    if not browser:
        return
    sizes = [(3, 1e6), (1000, 5e6)] + ([(100000, 1e7)] if os.environ.get("IMGSTAT_TEST_LARGE") else [])
    for n, most in sizes:
        many(folder / str(n), n)
        page = folder / f"{n}.html"
        start = time.monotonic()
        counts = run(program, "report", folder / str(n), "-o", page).stdout.decode()
        made = time.monotonic() - start
        check(page.stat().st_size <= most, f"{n} images: {page.stat().st_size} bytes")
        got = open_page(browser, folder, page, f"{n - 1:06}")
        if not got:
            continue
        for line in counts.splitlines()[1:]:
            count, flag = line.split()
            check(got["counts"][flag].replace(",", "") == count, f"{n} images: {flag} {got['counts'][flag]}, {count}")
        check(got["ready"] and got["sorted"] == "descending" and got["means"] == sorted(got["means"], reverse=True), got)
        check(got["found"] == [f"image_{n - 1:06}.png"], got["found"])
        check(got["all"].replace(",", "") == str(n) and got["chosen"].endswith(f"of {n:,}"), got)
        check(got["one"] != "none" and got["own"] == "none" and got["unlabelled"] == 0, got)
        print(f"{n} images: {page.stat().st_size} bytes, made in {made:.1f} s; opened in {got['loaded']:.0f} ms, sort "
              f"{got['sort']:.0f} ms, search {got['search']:.0f} ms, threshold {got['threshold']:.0f} ms, flag "
              f"{got['flag']:.0f} ms, {got['memory'] / 1e6:.0f} MB of script")
    plain = re.sub(r"<script>.*?</script>", "", (folder / "1000.html").read_text(), flags=re.S)
    (folder / "plain.html").write_text(plain.replace("</body>", "<script>const body = document.querySelector('#image-table tbody');"
                                       "document.title = getComputedStyle(body).display + body.rows.length</script></body>"))
    dom = browse(browser, folder, ["--dump-dom"], f"file://{folder}/plain.html")
    check("<title>table-row-group1000</title>" in dom, "a page without its script")
    if os.environ.get("IMGSTAT_SCREENSHOTS"):  # to be looked at
        take_screenshots(browser, folder, os.environ["IMGSTAT_SCREENSHOTS"])



if __name__ == "__main__":
    harness.main(globals())
