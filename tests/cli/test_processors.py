#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every set of instructions that IMGSTAT_CPU names gives the same bytes: usage: test_processors.py IMGSTAT"""

import os
import random
from pathlib import Path

import harness
from harness import SAMPLES, TESTDATA, check, is_run, run, tiff

LEVELS = ("portable", "avx2", "avx512")
CHANNELS = [n for n in (1, 2, 3, 4) if is_run(n + 1, 2)]
STATISTICS = ("stats", "--json", "--shape", "--histogram", "--cdf", "--percentiles", "0,0.1,25,50,99.99,100")
TRANSFORMS = {
    "stretch": ("normalize",),
    "gamma": ("normalize", "--method", "gamma=2.2", "--channels", "each"),
    "meanstd": ("normalize", "--method", "meanstd=50%,20%", "--out-range", "0%,80%"),
    "bytes": ("normalize", "--depth", "8", "--fast"),
    "floats": ("equalize", "--depth", "float", "--channels", "each"),
    "luma": ("equalize", "--compression", "deflate"),
    "clahe": ("equalize", "--clahe"),
}


def levels_here(program):
    """Those that this processor has, portable first."""
    here = []
    for level in LEVELS:
        said = run(program, "stats", "--device", "cpu", TESTDATA / "good-rgb.png", variables={"IMGSTAT_CPU": level}, status=None)
        if said.returncode == 0:
            here.append(level)
        else:
            check(b"does not support it" in said.stderr, f"{level}: {said.stderr!r}")
            harness.skip(f"this processor lacks {level}")
    return here


def values_of(draw, sample, n):
    """Slopes and noise; of floats, also what is not finite and zeros of both signs."""
    if sample[0] == "f":
        return [draw.choice((draw.gauss(0.5, 0.2), i / n, i / n, draw.choice((0.0, -0.0, 1.0, float("nan"), float("inf")))))
                for i in range(n)]
    bits, signed = int(sample[1:]), sample[0] == "i"
    top = (1 << (bits - signed)) - 1
    low = -top - 1 if signed else 0
    return [min(top, max(low, low + (top - low) * i // n + draw.randint(-(top >> 5), top >> 5))) for i in range(n)]


def make_images(folder):
    draw = random.Random(3)
    for sample in SAMPLES:
        for channels in CHANNELS:
            width, height = draw.randint(60, 400), draw.randint(40, 90)
            values = values_of(draw, sample, width * height * channels)
            (folder / f"{sample}x{channels}.tif").write_bytes(tiff(sample, width, height, values, channels))


def same(program, levels, what, words, out=None):
    """Standard output, and the files in `out`, which is made anew for each level."""
    expected = None
    for level in levels:
        more = ["-o", out / level / what] if out else []
        done = run(program, *words, *more, "--device", "cpu", "--jobs", "2", variables={"IMGSTAT_CPU": level},
                   status=None)
        files = sorted((out / level / what).iterdir()) if out else []
        got = (done.returncode, done.stdout, [(path.name, path.read_bytes()) for path in files])
        expected = got if expected is None else expected
        check(got[:2] == expected[:2], f"{what}, {level}: something else is said: {done.stderr[-300:]!r}")
        check([name for name, _ in got[2]] == [name for name, _ in expected[2]], f"{what}, {level}: other files")
        for (name, data), (_, wanted) in zip(got[2], expected[2]):
            check(data == wanted, f"{what}, {level}: {name} differs from that of {levels[0]}")
    return expected


def test_processors(program, folder):
    levels = levels_here(program)
    check(levels[:1] == ["portable"], f"{levels}")
    images = folder / "in"
    images.mkdir()
    make_images(images)
    status, said, _ = same(program, levels, "statistics", [*STATISTICS, images])
    check(status == 0 and said.count(b"\n") == len(CHANNELS) * len(SAMPLES), f"{status}, {said.count(b'}')} lines")
    for what, words in TRANSFORMS.items():
        inputs = [images]
        if what == "clahe":
            inputs = sorted(path for path in images.iterdir() if path.name[1:3] in ("8x", "16") and path.name[0] != "f")
        status, _, files = same(program, levels, what, [*words, *inputs], folder)
        check(status == 0 and len(files) == len(CHANNELS) * (len(SAMPLES) if inputs == [images] else 4), f"{what}: {status}")
        again = [folder / levels[0] / what]  # big-endian words and differences are undone here
        same(program, levels, f"{what}, read again", [*STATISTICS, *again])
    png = [path for path in images.iterdir() if path.name[0] == "u" and path.name[1:3] in ("8x", "16")]
    status, _, files = same(program, levels, "png", ["normalize", "--format", "png", *png], folder)
    check(status == 0 and len(files) == 2 * len(CHANNELS), f"PNG: {status}, {len(files)} files")
    same(program, levels, "png, read again", [*STATISTICS, folder / levels[0] / "png"])


def test_files(program, _):
    """The files of the project, and the small ones of the corpus, broken ones too."""
    levels = levels_here(program)
    corpus = Path(os.environ.get("IMGSTAT_CORPUS", TESTDATA.parent.parent / "shared" / "corpus"))
    same(program, levels, "test data", ["stats", "--json", TESTDATA])
    if not corpus.is_dir():
        harness.skip(f"no corpus at {corpus}")
        return
    small = sorted(path for path in corpus.rglob("*")
                   if path.suffix.lower() in (".png", ".tif", ".tiff") and path.stat().st_size <= 1 << 16)
    _, said, _ = same(program, levels, "corpus", ["stats", "--json", *small])
    check(said.count(b"\n") > 100, f"{said.count(b'}')} lines of the corpus")


if __name__ == "__main__":
    harness.main(globals())
