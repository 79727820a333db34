#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Statistics of integers, and stretch, percentile, equalize and match of every sample type, against
their definitions in exact fractions (docs/statistics.md, docs/transforms.md).
usage: test_methods.py IMGSTAT"""

import json
import random
import struct
from bisect import bisect_left, bisect_right
from collections import Counter
from fractions import Fraction

import harness
from harness import SAMPLES, check, is_run, run, tiff

ROUNDING = {"f16": 1e-3, "f32": 2e-7, "f64": 1e-12}  # of an output in 0..1
IMAGES = sum(is_run(i, 3) for i in range(3))  # of each type
PERCENTILES = ("0.000000001", "0", "1", "10", "25", "33.3", "50", "66.666666667", "75", "90", "99.9", "100")


def write(path, sample, width, height, values):
    path.write_bytes(tiff(sample, width, height, values))


def read(path, sample):
    """The samples of an uncompressed little-endian TIFF of one channel."""
    data = path.read_bytes()
    at, fields = struct.unpack("<I", data[4:8])[0], {}
    for i in range(struct.unpack("<H", data[at:at + 2])[0]):
        entry = data[at + 2 + 12 * i:at + 14 + 12 * i]
        tag, kind, count = struct.unpack("<HHI", entry[:8])
        letter = {3: "H", 4: "I"}.get(kind)
        if letter:
            size = count * struct.calcsize(letter)
            where = struct.unpack("<I", entry[8:])[0]
            fields[tag] = struct.unpack(f"<{count}{letter}", entry[8:8 + size] if size <= 4 else data[where:where + size])
    raw = b"".join(data[offset:offset + n] for offset, n in zip(fields[273], fields[279]))
    letter = SAMPLES[sample][0]
    return struct.unpack(f"<{len(raw) // struct.calcsize(letter)}{letter}", raw)


def full_scale(sample):
    if sample[0] == "f":
        return 0, 1
    bits = int(sample[1:])
    return (0, 2 ** bits - 1) if sample[0] == "u" else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)


def draw_values(draw, sample, n):
    lo, hi = full_scale(sample)
    kind = draw.randrange(3)
    if sample[0] == "f":
        values = [draw.choice((draw.gauss(0, 1), draw.gauss(1000, 5), 0.0, 1.5)) for _ in range(n)]
    elif kind == 0:
        values = [draw.randint(lo, hi) for _ in range(n)]
    elif kind == 1:
        low = draw.randint(lo, hi - 50)
        values = [low + draw.randint(0, 50) for _ in range(n)]
    else:
        middle = draw.randint(lo, hi)
        values = [min(hi, max(lo, int(middle + draw.gauss(0, (hi - lo) / 20)))) for _ in range(n)]
    letter = SAMPLES[sample][0]
    return list(struct.unpack(f"<{n}{letter}", struct.pack(f"<{n}{letter}", *values)))


def in_range(sample, share):
    """A share of the full scale; of integers, rounded half to even."""
    lo, hi = full_scale(sample)
    value = lo + share * (hi - lo)
    return round(value) if sample[0] != "f" else float(value)


def between(sample, values, black, white):
    if not black < white:
        return values
    span = Fraction(white) - Fraction(black)
    return [in_range(sample, (Fraction(min(max(v, black), white)) - Fraction(black)) / span) for v in values]


def cut(ordered, lo, hi):
    n = len(ordered)
    black = next(v for v in ordered if bisect_right(ordered, v) > n * Fraction(lo) / 100)
    white = next(v for v in reversed(ordered) if n - bisect_left(ordered, v) > n * Fraction(hi) / 100)
    return black, white


def equalized(sample, values, ordered):
    first, n = bisect_right(ordered, ordered[0]), len(ordered)
    if first == n:
        return values
    return [in_range(sample, Fraction(bisect_right(ordered, v) - first, n - first)) for v in values]


def matched(values, ordered, reference):
    """The smallest value of the reference whose share of samples up to it is not smaller."""
    n, ranked = len(ordered), sorted(reference)
    return [ranked[-(-bisect_right(ordered, v) * len(ranked) // n) - 1] for v in values]


def compare(what, sample, got, want, exact=False):
    step = 0 if exact else ROUNDING.get(sample, 0)
    wrong = [(a, b) for a, b in zip(got, want) if not (a == b or abs(a - b) <= step)]
    check(len(got) == len(want) and not wrong, f"{what}: {len(wrong)} of {len(want)} differ: {wrong[:3]}")


def test_methods(program, folder):
    draw = random.Random(20)
    source, reference, out = folder / "a.tif", folder / "r.tif", folder / "o.tif"
    for sample in SAMPLES:
        for _ in range(IMAGES):
            width, height = draw.randint(1, 40), draw.randint(1, 40)
            values = draw_values(draw, sample, width * height)
            other = draw_values(draw, sample, width * height)
            ordered = sorted(values)
            write(source, sample, width, height, values)
            write(reference, sample, width, height, other)
            clip = draw.choice((("0.175", "0.175"), ("1", "2"), ("10", "0"), ("33.3", "33.3")))
            cases = [(["normalize"], between(sample, values, ordered[0], ordered[-1])),
                     (["normalize", "--clip", ",".join(clip)], between(sample, values, *cut(ordered, *clip))),
                     (["equalize"], equalized(sample, values, ordered)),
                     (["equalize", "--match", reference], matched(values, ordered, other))]
            for words, want in cases:
                saved = folder / "t.json"
                more = ["--force", "--compression", "none", source, "-o", out]
                run(program, *words, "--save-transfer", saved, *more)
                got = read(out, sample)
                compare(f"{words[:2]} {sample} {width} x {height}", sample, got, want, "--match" in words)
                run(program, "apply", saved, *more)
                check(read(out, sample) == got, f"{words[:2]} {sample}: the saved transfer gives something else")


def percentile(ordered, p, method):
    n = len(ordered)
    if method == "nearest":
        return Fraction(ordered[max(-(-n * Fraction(p) // 100), 1) - 1])
    h = (n - 1) * Fraction(p) / 100
    low = int(h)
    return ordered[low] + (ordered[min(low + 1, n - 1)] - ordered[low]) * (h - low)


def test_statistics_of_integers(program, folder):
    # Percentiles of at most 32 bits had numpy's errors of rounding, those of 64 bits beyond 2^53 were rounded twice,
    # and what lies between two integers was told as one of them where a double cannot tell the two apart.
    draw, path = random.Random(53), folder / "a.tif"
    for sample in [name for name in SAMPLES if name[0] != "f"] + ["i64", "u64"] * 4:
        lo, hi = full_scale(sample)
        places = [at for at in (lo, 0, 2 ** 52, 2 ** 53, 2 ** 63, -2 ** 53, -2 ** 52, hi) if lo <= at <= hi]
        for _ in range(2 * IMAGES):
            near = [min(hi, max(lo, draw.choice(places) + draw.randint(-4, 4))) for _ in range(3)]
            values = [draw.choice(near) if draw.random() < 0.7 else draw.randint(lo, hi)
                      for _ in range(draw.randint(1, 50))]
            ordered, counts = sorted(values), Counter(values)
            write(path, sample, 1, len(values), values)
            for method in ("linear", "nearest"):
                done = run(program, "--json", "--mode", "--interpolation", method, "--percentiles",
                           ",".join(PERCENTILES), path)
                told = json.loads(done.stdout, parse_float=lambda text: (float(text),))["channels"][0]
                want = {"min": ordered[0], "max": ordered[-1], "sum": sum(values),
                        "median": percentile(ordered, 50, method),
                        "mode": min(value for value in counts if counts[value] == max(counts.values()))}
                got = [(told[key], value) for key, value in want.items()]
                got += [(told["percentiles"][p], percentile(ordered, p, method)) for p in PERCENTILES]
                wrong = [(a, str(b)) for a, b in got if a != (int(b) if b == int(b) else (float(b),))]
                check(not wrong, f"{sample} {method} of {ordered}: {wrong}")
                check(told["mean"] == (float(Fraction(sum(values), len(values))),), f"{sample}: {told['mean']}")


def test_match_of_other_types(program, folder):
    """Between floats of different width values are taken over; a range that is asked for holds."""
    source, reference, out = folder / "a.tif", folder / "r.tif", folder / "o.tif"
    values, other = [1.0, 5.0, 2.0, 9.0], [700.5, -3.25, 20.0, 1000.0]
    write(source, "f32", 2, 2, values)
    write(reference, "f64", 2, 2, other)
    words = ["equalize", "--force", "--compression", "none", "--match", reference, source, "-o", out]
    run(program, *words)
    check(read(out, "f32") == (-3.25, 700.5, 20.0, 1000.0), f"f32 matched to f64: {read(out, 'f32')}")
    run(program, *words, "--out-range", "0,800")
    check(read(out, "f32") == (0.0, 700.5, 20.0, 800.0), f"within a range: {read(out, 'f32')}")
    for sample in ("f16", "i16"):  # of 16 bits, whose maps are tables
        write(source, sample, 2, 2, [1, 5, 2, 9])
        write(reference, "f16", 2, 2, other)
        run(program, *words, "--depth", "float")
        check(read(out, "f32") == (-3.25, 700.5, 20.0, 1000.0), f"{sample} matched to f16: {read(out, 'f32')}")
    write(source, "f32", 2, 2, values)
    write(reference, "u8", 2, 2, [0, 51, 102, 255])
    run(program, *words)
    got = read(out, "f32")
    check(all(abs(a - b) < 1e-7 for a, b in zip(got, (0, 0.4, 0.2, 1))), f"f32 matched to u8: {got}")


if __name__ == "__main__":
    harness.main(globals())
