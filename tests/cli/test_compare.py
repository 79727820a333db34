#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare: distances and differences against their definitions in Python.

usage: test_compare.py IMGSTAT"""

import json
import math
import random
import re
import struct
from fractions import Fraction

import harness
from harness import SAMPLES, TESTDATA, check, run, tiff

WIDTH, HEIGHT = 31, 90  # more rows than are read at a time


def compare(program, *words, status=0):
    return json.loads(run(program, "compare", "--json", *words, status=status).stdout)


def draw_values(draw, sample):
    letter, _ = SAMPLES[sample]
    if letter in "efd":
        return [struct.unpack(letter, struct.pack(letter, draw.gauss(10, 3)))[0] for _ in range(WIDTH * HEIGHT)]
    bits = 8 * struct.calcsize(letter)
    low = 0 if letter.isupper() else -2 ** (bits - 1)
    return [low + draw.getrandbits(bits) for _ in range(WIDTH * HEIGHT)]


def percentile(ordered, p):
    h = (len(ordered) - 1) * p / 100
    low = ordered[math.floor(h)]
    return low + (ordered[math.ceil(h)] - low) * (h - math.floor(h))


def is_near(got, want):
    return got is not None and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)


def test_types(program, folder):
    draw = random.Random(11)
    for sample, (letter, _) in SAMPLES.items():
        a, b = draw_values(draw, sample), draw_values(draw, sample)
        b[:500] = a[:500]
        for name, values in (("a.tif", a), ("b.tif", b)):
            (folder / name).write_bytes(tiff(sample, WIDTH, HEIGHT, values))
        got = compare(program, folder / "a.tif", folder / "b.tif")
        channel, samples = got["channels"][0], got["samples"]
        apart = [abs(x - y) for x, y in zip(a, b)]
        largest = apart.index(max(apart))
        check(samples["count"] == len(a) and samples["different"] == sum(x != y for x, y in zip(a, b)), f"{sample}: {samples}")
        check(is_near(samples["largest"], float(max(apart))), f"{sample}: {samples}")
        check(is_near(samples["mean"], sum(apart) / len(a)), f"{sample}: mean {samples}")
        check(is_near(samples["rms"], math.sqrt(sum(x * x for x in apart) / len(a))), f"{sample}: rms {samples}")
        check(samples["channel"] == "gray" and samples["at"] == [largest % WIDTH, largest // WIDTH], f"{sample}: at {samples}")
        x, y = sorted(a), sorted(b)
        if struct.calcsize(letter) <= 2 and letter != "e":  # W1 of as many samples pairs them in order
            want = sum(abs(p - q) for p, q in zip(x, y)) / len(x)
            share = max(abs(sum(p <= v for p in a) - sum(q <= v for q in b)) for v in sorted({*a, *b})[::97]) / len(a)
            check(channel["share"] >= share and channel["distance"] == want, f"{sample}: {channel}, expected {want}")
        else:
            want = sum(abs(percentile(x, k + 0.5) - percentile(y, k + 0.5)) for k in range(100)) / 100
            check(channel["share"] is None, f"{sample}: share {channel}")
        check(is_near(channel["distance"], want), f"{sample}: distance {channel['distance']}, expected {want}")
        check(channel["min"] == [min(a), min(b)] and channel["max"] == [max(a), max(b)], f"{sample}: {channel}")
        if letter not in "efd":  # integers are not rounded
            sums = [sorted(values)[(len(a) - 1) // 2] + sorted(values)[len(a) // 2] for values in (a, b)]
            medians = [total // 2 if total % 2 == 0 else total / 2 for total in sums]
            check(channel["median"] == medians and [*map(type, channel["median"])] == [*map(type, medians)], f"{sample}: {channel}")
            text = run(program, "compare", folder / "a.tif", folder / "b.tif").stdout.decode()
            check(re.search(rf" min +{min(a)} +{min(b)}\n", text), f"{sample}: the least values in {text}")
        same = compare(program, folder / "a.tif", folder / "a.tif")
        check(same["samples"]["different"] == 0 and same["samples"]["at"] is None and
              same["channels"][0]["distance"] == 0, f"{sample}: {same}")


def test_not_a_number(program, folder):
    nan, inf = math.nan, math.inf
    (folder / "a.tif").write_bytes(tiff("f32", 3, 2, [nan, inf, 0.0, 1.0, nan, 5.0]))
    (folder / "b.tif").write_bytes(tiff("f32", 3, 2, [nan, inf, -0.0, 2.0, 1.0, 5.0]))
    got = compare(program, folder / "a.tif", folder / "b.tif")["samples"]
    check(got["different"] == 2 and got["largest"] == 1 and got["at"] == [0, 1], got)
    for sample, letter, nans in (("f16", "H", (0x7E00, 0xFE00, 0x7C01)), ("f32", "I", (0x7FC00000, 0xFFC00000, 0x7FC00001)),
                                 ("f64", "Q", (0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1))):
        zeros = tiff(sample, 3, 1, [0.0] * 3)  # bytes of NaN take the place of their samples
        size = struct.calcsize(letter)
        for name, values in (("c.tif", nans[:1] * 3), ("d.tif", nans)):
            (folder / name).write_bytes(zeros[:8] + struct.pack(f"<3{letter}", *values) + zeros[8 + 3 * size:])
        got = compare(program, folder / "c.tif", folder / "d.tif")["samples"]
        check(got["count"] == 3 and got["different"] == 0, f"{sample}: all NaN are equal: {got}")
    (folder / "b.tif").write_bytes(tiff("f32", 3, 2, [nan, inf, nan, 1.0, nan, 5.0]))
    text = run(program, "compare", folder / "a.tif", folder / "b.tif").stdout
    check(text.endswith(b"1 of 6 samples differ; no difference is a finite number.\n"), text)


def test_large_integers(program, folder):
    """Differences that are one double: the first of them was the largest one, and its value was rounded."""
    for sample, low in (("u64", 0), ("i64", -2 ** 63)):
        for apart in ([2 ** 63 + 1, 5, 2 ** 63 + 3, 2 ** 63 + 3], [2 ** 53, 2 ** 53 + 1], [2 ** 64 - 2, 2 ** 64 - 1], [0, 7, 1]):
            for name, values in (("a.tif", [low] * len(apart)), ("b.tif", [low + x for x in apart])):
                (folder / name).write_bytes(tiff(sample, len(apart), 1, values))
            got = compare(program, folder / "a.tif", folder / "b.tif")["samples"]
            check(isinstance(got["largest"], int) and got["largest"] == max(apart) and got["at"] == [apart.index(max(apart)), 0],
                  f"{sample}, {apart}: {got}")


def test_far(program, folder):
    """Sums, and squares, of differences that are no doubles, beside small ones; their mean and root mean square are doubles."""
    for a, b in (([1e307] * 40, [-1e307] * 40), ([1e200, 3.0, 5e-200, 0.0], [0.0, 1.0, 0.0, 0.0]),
                 ([1.5e308, -1.5e308, 1e308], [0.0, 0.0, 1.0]), ([2.0 ** 512, 2.0 ** 511], [0.0, 2.0 ** 510])):
        for name, values in (("a.tif", a), ("b.tif", b)):
            (folder / name).write_bytes(tiff("f64", len(values), 1, values))
        got = compare(program, folder / "a.tif", folder / "b.tif")["samples"]
        apart = [abs(Fraction(x) - Fraction(y)) for x, y in zip(a, b)]
        square = sum(x * x for x in apart) / len(a)
        check(got["mean"] is not None and is_near(got["mean"], float(sum(apart) / len(a))), f"{a}: mean {got}")
        check(got["rms"] is not None and is_near(got["rms"], float(math.isqrt(int(square)))), f"{a}: rms {got}")
    for name, values in (("a.tif", [1.5e308, 4.0]), ("b.tif", [-1.5e308, 1.0])):
        (folder / name).write_bytes(tiff("f64", 2, 1, values))
    got = compare(program, folder / "a.tif", folder / "b.tif")["samples"]
    check((got["different"], got["largest"], got["mean"], got["rms"]) == (2, 3, 3, 3), f"beyond the largest double: {got}")


def test_unlike(program, folder):
    """Of other sizes distributions are compared, of other types neither."""
    (folder / "a.tif").write_bytes(tiff("u8", 3, 2, [0, 1, 2, 3, 4, 5]))
    (folder / "b.tif").write_bytes(tiff("u8", 3, 1, [1, 2, 9]))
    (folder / "c.tif").write_bytes(tiff("u16", 3, 2, [0, 1, 2, 3, 4, 5]))
    got = compare(program, folder / "a.tif", folder / "b.tif")
    want = sum(abs(sum(p <= v for p in range(6)) / 6 - sum(q <= v for q in (1, 2, 9)) / 3) for v in range(10))
    check(got["samples"] is None and is_near(got["channels"][0]["distance"], want), got)
    got = compare(program, folder / "a.tif", folder / "c.tif")
    check(got["samples"] is None and got["channels"][0]["distance"] is None, got)


def test_more_channels(program, folder):
    """Channels that one of the two lacks were left out without a word."""
    for name, channels in (("rgb.tif", 3), ("rgba.tif", 4), ("gray.tif", 1)):
        (folder / name).write_bytes(tiff("u8", 2, 1, range(2 * channels), channels))
    for a, b, warning in (("rgb.tif", "rgba.tif", b"rgba.tif: warning: 3 of its 4 channels are compared: rgb.tif has no more\n"),
                          ("rgb.tif", "gray.tif", b"rgb.tif: warning: 1 of its 3 channels is compared: gray.tif has no more\n"),
                          ("rgb.tif", "rgb.tif", b"")):
        check(run(program, "compare", a, b, cwd=folder).stderr == warning, f"{a}, {b}")
        check(run(program, "compare", "--quiet", "--json", a, b, cwd=folder).stderr == b"", f"--quiet {a}, {b}")


def test_records(program, folder):
    """Records have the distances of the images that they are of."""
    names = [TESTDATA / "good-example.tif", folder / "b.png"]
    run(program, "equalize", names[0], "-o", names[1])
    records = [folder / "a.rec", folder / "b.rec"]
    for name, record in zip(names, records):
        run(program, "stats", "--by", "all", "--save-record", record, name)
    one, other = compare(program, *names), compare(program, *records)
    check(one["channels"] == other["channels"] and other["samples"] is None, f"{one}, {other}")


def test_refusals(program, folder):
    a, pages = TESTDATA / "good-example.tif", TESTDATA / "good-pages.tif"
    run(program, "stats", "--by", "all", "--save-record", folder / "a.rec", a)
    for words, status, sentence in (([a], 2, b"name two images"), ([a, a, a], 2, b"name two images"),
                                    ([a, pages], 1, b"these are 3 images"), ([a, folder / "no.tif"], 1, b"no.tif: No such file"),
                                    ([folder, a], 1, b"no .png or .tif file"), ([a, TESTDATA / "bad-truncated.png"], 1, b"ends early"),
                                    ([a, folder / "a.rec"], 2, b"holds records"), ([folder / "a.rec", a], 1, b"is no record")):
        done = run(program, "compare", *words, status=status)
        check(sentence in done.stderr and done.stdout == b"", f"{words}: {done.stderr}")
    got = compare(program, f"{pages}[0]", f"{pages}[1]")
    check(got["first"].endswith("good-pages.tif[0]") and got["second"].endswith("[1]"), got)


def curves(svg, kind):
    """The points of the curves of a plot, from 0 to 1 along both axes of their panel."""
    found = re.findall(rf'<polyline class="{kind}" stroke="#\w+" points="([^"]*)"', svg)
    points = [[tuple(map(float, point.split(","))) for point in line.split()] for line in found]
    return [[((x - 84) / (710 - 84), (416 - y % 480) / (416 - 48)) for x, y in line] for line in points]


def test_plot(program, folder):
    """Both cumulative distributions and, of integers of at most 16 bits, both histograms, of each channel."""
    draw = random.Random(3)
    n = WIDTH * HEIGHT
    a, b = ([[draw.randrange(low, 200) for _ in range(n)] for _ in range(3)] for low in (0, 90))
    for channels in (a, b):
        for values in channels:
            values[:90] = [0] * 45 + [255] * 45
    for name, channels in (("a.tif", a), ("b.tif", b)):
        (folder / name).write_bytes(tiff("u8", WIDTH, HEIGHT, [values[i] for i in range(n) for values in channels], 3))
    svg = run(program, "compare", "--plot", "-", folder / "a.tif", folder / "b.tif").stdout.decode()
    steps, sums = curves(svg, "curve"), curves(svg, "cdf")
    check(svg.startswith("<?xml") and 'height="1440"' in svg and len(steps) == len(sums) == 6, "three panels")
    for c in range(3):
        shares = [[values[c].count(v) / n for v in range(256)] for values in (a, b)]
        peak = max(max(share[1:-1]) for share in shares)  # the ends may be cut
        for i in range(2):
            check(all(abs(y - min(shares[i][k // 2] / peak, 1)) < 1e-3 for k, (_, y) in enumerate(steps[2 * c + i])), f"{c} {i}: histogram")
            check(all(abs(x - k / 256) < 1e-3 and abs(y - sum(shares[i][:k])) < 1e-3
                      for k, (x, y) in enumerate(sums[2 * c + i])), f"{c} {i}: distribution")
    got = compare(program, folder / "a.tif", folder / "b.tif", "--plot", folder / "p.png")
    check(struct.unpack(">II", (folder / "p.png").read_bytes()[16:24]) == (1720, 2880) and len(got["channels"]) == 3, "PNG")
    run(program, "compare", folder / "a.tif", folder / "b.tif", "--plot", folder / "p.png", status=1)
    table = run(program, "compare", folder / "a.tif", folder / "b.tif", "--plot", folder / "p.png", "--force").stdout
    check(table == run(program, "compare", folder / "a.tif", folder / "b.tif").stdout, "the table is printed as well")

    floats = [sorted(draw.gauss(mean, 1) for _ in range(n)) for mean in (0, 2)]
    for name, values in zip(("f.tif", "g.tif"), floats):
        (folder / name).write_bytes(tiff("f64", WIDTH, HEIGHT, values))
    svg = run(program, "compare", "--plot", "-", folder / "f.tif", folder / "g.tif").stdout.decode()
    low, high = min(map(min, floats)), max(map(max, floats))
    check(curves(svg, "curve") == [] and len(curves(svg, "cdf")) == 2, "floats have distributions alone")
    for line, values in zip(curves(svg, "cdf"), floats):
        want = [(values[0], 0), *((percentile(values, k + 0.5), (k + 0.5) / 100) for k in range(100)), (values[-1], 1)]
        check(all(abs(x - (v - low) / (high - low)) < 1e-3 and abs(y - p) < 1e-3 for (x, y), (v, p) in zip(line, want)), "floats")
    done = run(program, "compare", "--plot", folder / "x.svg", folder / "a.tif", folder / "f.tif", status=1)
    check(b"one type" in done.stderr and not (folder / "x.svg").exists(), done.stderr)
    for words in (["--plot", "x.jpg"], ["--plot", "-", "--json"]):
        run(program, "compare", *words, folder / "a.tif", folder / "b.tif", status=2)


if __name__ == "__main__":
    harness.main(globals())
