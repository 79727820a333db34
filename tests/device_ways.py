# SPDX-License-Identifier: MIT
"""What a batch does on one device and on lists of them, for the tests of several GPUs: the same bytes everywhere."""

import random
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "cli"))
import harness

# Commands with files that they write; what they print is compared as well. IN and OUT are folders.
WAYS = {
    "stats": ["stats", "--json", "--percentiles=1,50,99", "IN"],
    "stats with shape and mode": ["stats", "--json", "--shape", "--mode", "IN"],
    "stats by file": ["stats", "--json", "--by=file", "IN"],
    "hist": ["hist", "--json", "IN"],
    "stats of all": ["stats", "--json", "--by=all", "IN"],
    "record of all": ["stats", "--by=all", "--quiet", "--save-record=OUT/all.rec", "IN"],
    "records of groups": ["stats", "--by=group=^[^-]*/([a-z]+)", "--quiet", "--save-record=OUT/groups.rec", "IN"],
    "hist of all": ["hist", "--json", "--by=all", "IN"],
    "normalize": ["normalize", "IN", "-o", "OUT"],
    "normalize by percentiles": ["normalize", "--method=percentile", "--clip=1,2", "--depth=8", "IN", "-o", "OUT"],
    "normalize by luma": ["normalize", "--method=meanstd=0.5,0.2", "--channels=luma", "--depth=float", "IN", "-o", "OUT"],
    "equalize": ["equalize", "IN", "-o", "OUT"],
    "clahe": ["equalize", "--clahe", "IN", "-o", "OUT"],
    "normalize together": ["normalize", "--together=all", "--save-transfer=OUT/t.json", "ALIKE", "-o", "OUT"],
    "equalize together": ["equalize", "--together=all", "--save-transfer=OUT/t.json", "FLOATS", "-o", "OUT"],
}


def make_files(folder):
    """Files of several types and sizes: in/ has all, alike/ and floats/ those that get one transfer."""
    rng = random.Random(23)
    for name in "in", "alike", "floats":
        (folder / name).mkdir()
    for i in range(10):
        width, height = rng.randrange(40, 300), rng.randrange(30, 200)
        n = width * height
        words = [min(65535, int(rng.expovariate(1 / 900))) for _ in range(n)]
        tall = [rng.gauss(0, 10 ** (i - 4)) for _ in range(n)]
        (folder / "in" / f"bytes{i}.png").write_bytes(harness.png(width, height, 8, bytes(v % 256 for v in words)))
        (folder / "in" / f"words{i}.tif").write_bytes(harness.tiff("u16", width, height, words))
        (folder / "in" / f"floats{i}.tif").write_bytes(harness.tiff("f32", width, height, tall))
        (folder / "in" / f"colours{i}.tif").write_bytes(
            harness.tiff("u8", width // 4 + 1, height // 4 + 1,
                         [v % 251 for v in words[:(width // 4 + 1) * (height // 4 + 1)] for _ in range(3)], 3))
        (folder / "in" / f"doubles{i}.tif").write_bytes(harness.tiff("f64", width, 4, tall[:width * 4]))
        (folder / "in" / f"longs{i}.tif").write_bytes(harness.tiff("u32", width, 4, [v * 65537 for v in words[:width * 4]]))
        for kind, to in (("bytes", "alike"), ("floats", "floats")):
            for path in (folder / "in").glob(f"{kind}{i}.*"):
                shutil.copy(path, folder / to)
    for path in harness.TESTDATA.glob("good-*"):
        shutil.copy(path, folder / "in")
    shutil.copy(harness.TESTDATA / "bad-cut.tif", folder / "in")


def run_way(program, way, device, folder, out, jobs=4, variables=None, status=None):
    """Exit status, texts without devices and times, and the bytes of what was written."""
    out.mkdir()
    words = [word.replace("OUT", str(out)).replace("IN", "in").replace("ALIKE", "alike").replace("FLOATS", "floats")
             for word in WAYS[way]]
    done = harness.run(program, *words, "--device", device, "--jobs", jobs, status=status, cwd=folder,
                       variables=variables)
    texts = [re.sub(rb'"device": ?"[^"]*"', b"", done.stdout),
             re.sub(rb" in [0-9.]+ s\b.*", b"", done.stderr.replace(str(out).encode(), b"OUT"))]
    files = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    shutil.rmtree(out)
    return done.returncode, texts, files


def compare(expected, got, what):
    """Adds a sentence for each difference to what is wrong."""
    harness.check(expected[0] == got[0], f"{what}: exit status {got[0]}, expected {expected[0]}: {got[1][1][-300:]!r}")
    harness.check(expected[1][0] == got[1][0], f"{what}: prints something else")
    harness.check(expected[1][1] == got[1][1], f"{what}: says {got[1][1][-300:]!r}, expected {expected[1][1][-300:]!r}")
    harness.check(expected[2].keys() == got[2].keys(), f"{what}: other files are written")
    for name, data in expected[2].items():
        harness.check(data == got[2].get(name), f"{what}: {name} has other bytes")


def check_comparison():
    """A planted difference is seen."""
    before = len(harness.wrong)
    compare((0, [b"", b""], {"planted": b"same"}), (0, [b"", b""], {"planted": b"sane"}), "self-test")
    seen = len(harness.wrong) == before + 1
    del harness.wrong[before:]
    harness.check(seen, "the comparison sees no difference")


def compare_ways(program, folder, devices, variables=None, jobs=4):
    """Every way on the CPU and on each of the devices."""
    check_comparison()
    files = 0
    for way in WAYS:
        expected = run_way(program, way, "cpu", folder, folder / "out", jobs)
        harness.check(expected[1][0] or expected[2], f"{way}: nothing to compare")
        for device in devices:
            compare(expected, run_way(program, way, device, folder, folder / "out", jobs, variables),
                    f"{way} on {device}")
            files += len(expected[2])
    print(f"{len(WAYS)} ways on {', '.join(devices)}: {files} files compared")
