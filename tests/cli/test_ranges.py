#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranges of normalize: black and white that are given, per cent of full scale, inputs of several depths, floats that
are not limited. usage: test_ranges.py IMGSTAT"""

import json
import math
import random
from fractions import Fraction

import harness
from harness import SAMPLES, TESTDATA, check, png, run, tiff
from test_methods import compare, draw_values, full_scale, in_range, read, write


def expected(sample, values, black, white):
    """Exact, from black..white to full scale."""
    out = []
    for v in values:
        v = min(max(v, black), white)
        out.append(in_range(sample, (Fraction(v) - Fraction(black)) / (Fraction(white) - Fraction(black))))
    return out


def test_input_range(program, folder):
    # There was no way to give black and white; a transfer written by hand needed a table of 65,536 numbers.
    draw = random.Random(8)
    source, out, saved = folder / "a.tif", folder / "o.tif", folder / "t.json"
    write(source, "u16", 3, 1, [100, 500, 900])
    run(program, "normalize", "--in-range", "100,900", "--depth", "8", "--compression", "none", source, "-o", out)
    check(read(out, "u8") == (0, 128, 255), f"100..900 to 8 bits: {read(out, 'u8')}")
    for sample in SAMPLES:
        values = draw_values(draw, sample, 400)
        lo, hi = full_scale(sample)
        pairs = [(-2, 700), (0.25, 0.5)] if sample[0] == "f" else [(lo + 3, lo + 90), (lo, hi)]
        for black, white in pairs:
            write(source, sample, 20, 20, values)
            words = ["--force", "--compression", "none", source, "-o", out]
            if sample[1:] == "64" and sample[0] != "f":
                black, white = int(float(black)), min(int(float(white)), hi)  # the nearest doubles
                if not black < white:
                    continue
            run(program, "normalize", f"--in-range={black},{white}", "--save-transfer", saved, *words)
            got = read(out, sample)
            compare(f"in-range {black},{white} of {sample}", sample, got, expected(sample, values, black, white))
            run(program, "apply", saved, *words)
            check(read(out, sample) == got, f"{sample}: the saved transfer gives something else")
            made = json.loads(saved.read_text())["maps"][0]
            ends = made.get("between") or [made["parameters"]["black"], made["parameters"]["white"]]
            check(ends == [black, white], f"{sample}: black and white {ends} in the transfer")
    # The image is not measured: an outlier is beyond white, and the range of the others holds for all.
    write(source, "u16", 3, 1, [0, 100, 65535])
    run(program, "normalize", "--force", "--in-range", "0%,50%", "--compression", "none", source, "-o", out)
    check(read(out, "u16") == (0, 200, 65535), f"per cent of the input: {read(out, 'u16')}")
    for clip in ("60,40", "0,99.9999999999", "99.9999999999,0"):  # 100 per cent to nine decimals
        done = run(program, "normalize", "--clip", clip, source, "-o", "-", status=2)
        check(b"two percentages that leave something" in done.stderr, f"--clip {clip}: {done.stderr}")
    for method in (["--clip", "1,1"], ["--method", "gamma=2"], ["--method", "meanstd=1,2"]):
        done = run(program, "normalize", *method, "--in-range", "1,2", source, "-o", "-", status=2)
        check(b"--in-range is for a stretch" in done.stderr, f"{method}: {done.stderr}")
    for wrong, why in (("2,1", b"LO below HI"), ("-1,5", b"reach from 0 to 65535"), ("0.5,5", b"whole numbers"),
                       ("10%,10%", b"LO below HI"), ("0%,101%", b"from 0 to 100"), ("50%,3", b"does not fit")):
        done = run(program, "normalize", f"--in-range={wrong}", source, "-o", folder / "w.tif", status=None)
        check(done.returncode in (1, 2) and why in done.stderr, f"--in-range {wrong}: {done.returncode} {done.stderr}")
        check(not (folder / "w.tif").exists(), f"--in-range {wrong}: something was written")


def test_per_cent(program, folder):
    source, out = folder / "a.tif", folder / "o.tif"
    for sample in SAMPLES:
        lo, hi = full_scale(sample)
        values = [lo, lo + 1, lo + 2] if sample[0] != "f" else [0.0, 0.5, 1.0]
        write(source, sample, 3, 1, values)
        words = ["--force", "--compression", "none", source, "-o", out]
        run(program, "normalize", "--out-range", "10%,90%", *words)
        got = read(out, sample)
        ends = [lo + (hi - lo) * Fraction(share) / 100 for share in (10, 90)]
        if sample[1:] == "64" and sample[0] != "f":
            good = all(abs(a - b) <= 2 ** 12 for a, b in zip((got[0], got[2]), ends))
        elif sample[0] == "f":
            good = all(abs(a - b) < 1e-3 for a, b in zip((got[0], got[2]), ends))
        else:
            good = [got[0], got[2]] == [round(end) for end in ends]
        check(good, f"{sample}: 10 % to 90 %: {got}")
    write(source, "u8", 4, 1, [10, 20, 10, 20])
    run(program, "normalize", "--method", "meanstd=50%,20%", "--force", "--compression", "none", source, "-o", out)
    check(read(out, "u8") == (76, 178, 76, 178), f"u8, 127.5 and 51: {read(out, 'u8')}")
    write(source, "u16", 4, 1, [10, 20, 10, 20])
    run(program, "normalize", "--mean", "50%", "--stddev", "20%", "--force", "--compression", "none", source, "-o", out)
    check(read(out, "u16") == (19660, 45874, 19660, 45874), f"u16, 32767.5 and 13107: {read(out, 'u16')}")
    write(source, "i8", 4, 1, [10, 20, 10, 20])
    run(program, "normalize", "--method", "meanstd=50%,20%", "--force", "--compression", "none", source, "-o", out)
    check(read(out, "i8") == (-52, 50, -52, 50), f"i8, -0.5 and 51: {read(out, 'i8')}")


def test_several_depths(program, folder):
    # A mean of 118 made 16-bit photographs black, with "30 written, 0 failed".
    photos, out = folder / "photos", folder / "out"
    photos.mkdir()
    values = [20 + i * 7 % 200 for i in range(64)]
    (photos / "a.png").write_bytes(png(8, 8, 8, bytes(values)))
    (photos / "b.tif").write_bytes(tiff("u16", 8, 8, [257 * v for v in values]))
    for words in (["--method", "meanstd=118,50"], ["--method", "meanstd=46%,50"], ["--out-range", "10,245"],
                  ["--out-range", "10,90%"], ["--in-range", "10,245"]):
        done = run(program, "normalize", *words, photos, "-o", out, status=2)
        check(b"b.tif: its " in done.stderr and b"65535" in done.stderr and b"255" in done.stderr and
              b"per cent" in done.stderr, f"{words}: {done.stderr}")
        check(not out.exists() or not any(out.iterdir()), f"{words}: {list(out.iterdir()) if out.exists() else 0}")
    run(program, "normalize", "--method", "meanstd=118,50", "--depth", "8", photos, "-o", folder / "eight")
    eight = json.loads(run(program, "--json", folder / "eight" / "b.tif").stdout)["channels"][0]
    check(abs(eight["mean"] - 118) < 1, f"one depth of the output is one unit: {eight['mean']}")
    run(program, "normalize", "--method", "meanstd=46%,20%", photos, "-o", out)
    a, b = (json.loads(run(program, "--json", out / name).stdout)["channels"][0] for name in ("a.png", "b.tif"))
    check(abs(a["mean"] - 0.46 * 255) < 0.5 and abs(b["mean"] - 0.46 * 65535) < 2, f"{a['mean']}, {b['mean']}")
    # Floats of any width have one full scale; equal depths in several types are one as well.
    floats = folder / "floats"
    floats.mkdir()
    for sample in ("f16", "f32", "f64"):
        write(floats / f"{sample}.tif", sample, 2, 1, [0.5, 7.0])
    run(program, "normalize", "--in-range=0,10", floats, "-o", folder / "f")
    check(read(folder / "f" / "f64.tif", "f64") == (0.05, 0.7), "floats are of one scale")


def test_meanstd_of_floats(program, folder):
    # Half of all data became 0: floats were cut to 0..1.
    draw, source, out = random.Random(5), folder / "a.tif", folder / "o.tif"
    for sample in ("u8", "u16", "i16", "u32", "f16", "f32", "f64"):
        values = draw_values(draw, sample, 500)
        if sample == "f16":
            values = [v if abs(v) < 900 else v / 2 for v in values]
        write(source, sample, 25, 20, values)
        mean = math.fsum(values) / len(values)
        stddev = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
        kind = {"f64": "f64"}.get(sample, "f32")
        words = ["normalize", "--method", "meanstd=0,1", "--depth", "float", "--force", "--compression", "none"]
        run(program, *words, "--save-transfer", folder / "t.json", source, "-o", out)
        got = read(out, kind)
        if stddev > 0:
            wrong = [(a, (v - mean) / stddev) for a, v in zip(got, values) if abs(a - (v - mean) / stddev) > 1e-5]
            check(not wrong and min(got) < -0.5, f"{sample}: {wrong[:3]}")
        run(program, "apply", folder / "t.json", "--force", "--compression", "none", source, "-o", out)
        check(read(out, kind) == got, f"{sample}: the saved transfer gives something else")
        run(program, *words, "--out-range=-1,1", source, "-o", out)
        check(all(-1 <= v <= 1 for v in read(out, kind)), f"{sample}: a range that is asked for holds")
    write(source, "f32", 2, 1, [1.0, 3.0])
    run(program, "normalize", "--method", "meanstd=50,10", "--force", "--compression", "none", source, "-o", out)
    check(read(out, "f32") == (40.0, 60.0), f"floats that stay floats: {read(out, 'f32')}")
    good = TESTDATA / "good-rgb.png"
    if good.exists():
        run(program, "normalize", "--method", "meanstd=0,1", "--depth", "float", "--channels", "luma", "--format", "tiff",
            good, "-o", folder / "luma.tif")


def clamped(program, *words):
    """What the one line of --json says: samples, low, high."""
    counts = json.loads(run(program, "normalize", "--force", "--json", *words).stdout).get("clamped")
    if counts is None:
        return None
    share = (counts["low"] + counts["high"]) / counts["samples"] if counts["samples"] else 0
    check(counts["share"] == share, f"{words}: share {counts['share']} of {counts}")
    return counts["samples"], counts["low"], counts["high"]


def test_clamped(program, folder):
    # Nothing told how many samples became black or white.
    draw, source, out, saved = random.Random(11), folder / "a.tif", folder / "o.tif", folder / "t.json"
    for sample in SAMPLES:
        values = draw_values(draw, sample, 600)
        n, ordered = len(values), sorted(values)
        write(source, sample, 30, 20, values)
        words = ["--clip", "10,20", source, "-o", out]  # ranks n/10, and n - 1 - n/5
        black, white = ordered[n // 10], ordered[n - 1 - n // 5]
        want = (n, sum(v < black for v in values), sum(v > white for v in values))
        got = clamped(program, *words, "--save-transfer", saved)
        check(got == want or black >= white, f"{sample}: clip 10,20: {got} instead of {want}")
        again = json.loads(run(program, "apply", "--force", "--json", saved, source, "-o", out).stdout)["clamped"]
        check(again["low"] == got[1] and again["high"] == got[2], f"{sample}: the saved transfer: {again}, {got}")
        check(clamped(program, source, "-o", out) == (n, 0, 0), f"{sample}: a stretch limits nothing")
        check(clamped(program, "--match", source, source, "-o", out) is None, "and a match has no share")
        if float(black) == black and float(white) == white and black < white:
            whole = lambda v: repr(float(v)) if sample[0] == "f" else v
            got = clamped(program, f"--in-range={whole(black)},{whole(white)}", source, "-o", out)
            check(got == want, f"{sample}: in-range: {got} instead of {want}")
        if sample[1:] == "64":
            continue  # beyond doubles
        mean = math.fsum(values) / n
        stddev = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n)
        lo, hi = 0, 255
        if stddev > 0:
            mapped = [(v - mean) / stddev * 100 + 128 for v in values]
            near = sum(min(abs(y - lo), abs(y - hi)) < 1e-6 for y in mapped)
            got = clamped(program, "--method", "meanstd=128,100", "--depth", "8", source, "-o", out)
            want = (n, sum(y < lo for y in mapped), sum(y > hi for y in mapped))
            check(all(abs(a - b) <= near for a, b in zip(got, want)), f"{sample}: meanstd: {got} instead of {want}")
            check(clamped(program, "--method", "meanstd=0,1", "--depth", "float", source, "-o", out) == (n, 0, 0),
                  f"{sample}: floats are not limited")
    # Undefined samples count for nothing, alpha and channels by their own maps.
    write(source, "f32", 6, 1, [math.nan, math.inf, -math.inf, -1.0, 0.5, 2.0])
    check(clamped(program, "--in-range=0,1", source, "-o", out) == (3, 1, 1), "NaN and infinities")
    source.write_bytes(tiff("u8", 2, 1, [10, 20, 30, 0, 200, 210, 220, 255], channels=4))
    check(clamped(program, "--in-range=20,210", source, "-o", out) == (6, 1, 1), "all colours but alpha")
    check(clamped(program, "--in-range=20,210", "--channels", "each", source, "-o", out) == (6, 1, 1), "each of them")
    got = clamped(program, "--in-range=20,207", "--channels", "luma", source, "-o", out)
    check(got == (2, 1, 1), f"luma counts pixels: {got}")
    palette = TESTDATA / "good-palette.png"
    if palette.exists():
        as_png = clamped(program, "--in-range=50,100", palette, "-o", folder / "p.png")
        as_tiff = clamped(program, "--in-range=50,100", palette, "-o", folder / "p.tif")
        check(as_png == as_tiff and as_png[1] > 0, f"palette: {as_png}, as colours {as_tiff}")
    write(source, "u8", 4, 1, [0, 100, 200, 255])
    done = run(program, "normalize", "--force", "-v", "--in-range=100,200", source, "-o", out)
    check(b", 25 % clamped low, 25 % high\n" in done.stderr, f"--verbose: {done.stderr}")


if __name__ == "__main__":
    harness.main(globals())
