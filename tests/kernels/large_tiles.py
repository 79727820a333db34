#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures and transforms one large TIFF of deflate tiles on both devices: the GPU decodes it in one band and in several.

usage: large_tiles.py IMGSTAT

Without a GPU: exit status 77, or 1 if IMGSTAT_REQUIRE_CUDA=1.
"""

import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import harness

WIDTH, HEIGHT, SIDE, DIFFERENT = 30000, 900, 64, 60


def make(path):
    rng = random.Random(8)
    kinds = []
    for _ in range(DIFFERENT):
        values = [rng.choice((0, 7, 200, rng.randrange(256))) for _ in range(SIDE * SIDE)]
        kinds.append(zlib.compress(bytes(v for v in values for _ in range(3)), rng.choice((1, 6))))
    tiles = [rng.choice(kinds) for _ in range(-(-WIDTH // SIDE) * -(-HEIGHT // SIDE))]
    path.write_bytes(harness.tiff_file(b"".join(tiles), [
        (256, 4, [WIDTH]), (257, 4, [HEIGHT]), (258, 3, [8] * 3), (259, 3, [8]), (262, 3, [2]), (277, 3, [3]), (317, 3, [2]),
        (322, 4, [SIDE]), (323, 4, [SIDE]), (324, 4, [*itertools.accumulate((len(t) for t in tiles[:-1]), initial=8)]),
        (325, 4, [len(tile) for tile in tiles])]))


def run(program, folder, device, mode, *words):
    done = subprocess.run([program, *words, "--device", device], cwd=folder, capture_output=True, timeout=600, check=False,
                          env={**os.environ, "IMGSTAT_DECODE": mode})
    if done.returncode != 0:
        sys.exit(f"{words} on {device}: {done.stderr.decode(errors='replace')}")
    return re.sub(rb'"device": ?"[^"]*"', b"", done.stdout)


def main():
    program = Path(sys.argv[1]).resolve()
    found = subprocess.run([program, "stats", "--device=cuda", harness.TESTDATA / "good-1x1.tif"], capture_output=True,
                           check=False)
    if found.returncode != 0:
        print(found.stderr.decode(errors="replace"))
        sys.exit(1 if os.environ.get("IMGSTAT_REQUIRE_CUDA") == "1" else 77)
    wrong = compared = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "large.tif")
        for device, mode in ("cuda", "auto"), ("cuda:0,0", "threads"):
            for words in ["stats", "--json", "--mode"], ["hist", "--json"]:
                same = run(program, folder, "cpu", "auto", *words, "large.tif") == \
                    run(program, folder, device, mode, *words, "large.tif")
                print(f"{words} on {device}: {'the same' if same else 'something else'}")
                wrong, compared = wrong + (not same), compared + 1
            for suffix, *words in ["tif", "normalize", "--fast"], ["tif", "equalize", "--clahe", "--fast"], ["png", "normalize"]:
                outputs = [f"{where}.{suffix}" for where in ("cpu", "cuda")]
                for to, on, how in zip(outputs, ("cpu", device), ("auto", mode)):
                    run(program, folder, on, how, *words, "large.tif", "-o", to, "--force")
                same = (folder / outputs[0]).read_bytes() == (folder / outputs[1]).read_bytes()
                print(f"{words} on {device}: {'the same bytes' if same else 'other bytes'}")
                wrong, compared = wrong + (not same), compared + 1
    print(f"{compared} compared, {wrong} wrong")
    sys.exit(1 if wrong or not compared else 0)


if __name__ == "__main__":
    main()
