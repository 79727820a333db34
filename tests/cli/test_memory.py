#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--memory bounds the memory of a batch, whatever its files are. usage: test_memory.py IMGSTAT"""

import array
import lzma
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import harness
from harness import check, environment, run, skip

NONE, LZMA, DEFLATE, PACKBITS = 1, 34925, 8, 32773
# Beyond what is counted: the program and its libraries, 6 to 8 MiB, and 1 to 3 a job.
SLACK = 16

# Prints the peak memory of a command, in KiB. From a small process: a command starts with the peak of its parent.
PEAK = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)"""


def is_sanitized(program):
    return any(word in Path(program).read_bytes() for word in (b"__asan_init", b"__tsan_init"))


def peak(program, *words):
    """In MiB."""
    done = subprocess.run([sys.executable, "-c", PEAK, program, *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment(), check=False)
    check(done.returncode == 0, f"{words}: {done.stderr!r}")
    return int(done.stdout.splitlines()[-1]) / 1024


def packbits(data):
    """Literal runs alone."""
    return b"".join(bytes([len(run) - 1]) + run for run in (data[i:i + 100] for i in range(0, len(data), 100)))


def noise(samples, kind, seed):
    """Some bits of noise, as photographs have; of rows that come again, which takes less time to make."""
    values = random.Random(seed).randbytes(samples)
    if kind == "f32":
        return array.array("f", [v / 256 for v in values]).tobytes()
    if kind == "u16":
        return array.array("H", [v * 200 for v in values]).tobytes()
    return values.translate(bytes(64 + v % 100 for v in range(256)))


def write(name, width, height, kind, channels, compression, planar=False):
    """One strip for all rows, or one a plane."""
    planes, together = (channels, 1) if planar else (1, channels)
    rows = [noise(width * together, kind, seed) for seed in range(7)]
    plane = b"".join(rows[y % 7] for y in range(height))
    if compression == DEFLATE:
        plane = zlib.compress(plane, 1)
    elif compression == LZMA:
        plane = lzma.compress(plane, preset=0)
    elif compression == PACKBITS:
        plane = packbits(plane)
    bits = {"u8": 8, "u16": 16, "f32": 32}[kind]
    name.write_bytes(harness.tiff_file(plane * planes, [
        (256, 4, [width]), (257, 4, [height]), (258, 3, [bits] * channels), (259, 3, [compression]),
        (262, 3, [2 if channels > 1 else 1]), (273, 4, [8 + i * len(plane) for i in range(planes)]),
        (277, 3, [channels]), (278, 4, [height]), (279, 4, [len(plane)] * planes), (284, 3, [2 if planar else 1]),
        (339, 3, [3 if kind == "f32" else 1] * channels)]))


def mixed(program, folder, width, height):
    """Images of one strip, as many programs write them: of every kind of sample and compression."""
    folder.mkdir()
    for kind, channels, compression, planar in (
            ("u8", 1, DEFLATE, False), ("u8", 3, PACKBITS, False), ("u8", 3, DEFLATE, True), ("u16", 1, DEFLATE, False),
            ("u16", 3, NONE, False), ("u16", 3, DEFLATE, True), ("f32", 1, DEFLATE, False)):
        name = f"{kind}-{channels}-{compression}{'-planar' * planar}.tif"
        write(folder / name, width, height, kind, channels, compression, planar)
    for name, compression in (("u8-3-32773", "lzw"), ("u16-1-8", "zstd"), ("f32-1-8", "zstd"),
                              ("u8-3-8-planar", "zstd")):
        run(program, "normalize", "--gamma", "1", "--compression", compression, folder / f"{name}.tif", "-o",
            folder / f"{name}-{compression}.tif")


def test_mixed_files(program, folder):
    """Strips, as they are in the file and decoded, were held beside what was counted: 235 MiB of 64 here."""
    if is_sanitized(program):
        return skip("peak memory of mixed files: the sanitizer takes more than imgstat")
    mixed(program, folder / "in", 4000, 3000)
    write(folder / "in" / "lzma.tif", 4000, 700, "u8", 1, LZMA)
    n = len(os.listdir(folder / "in"))
    peaks = {}
    for words in (["normalize"], ["normalize", "--method", "percentile"], ["equalize"], ["equalize", "--clahe"]):
        inputs = sorted((folder / "in").glob("*"))
        if "--clahe" in words:  # not of floats
            inputs = [name for name in inputs if not name.name.startswith("f32")]
        peaks[" ".join(words)] = peak(program, *words, "--force", "--memory", "64M", "--jobs", "4", "--device", "cpu", *inputs,
                               "-o", folder / "out")
    check(len(os.listdir(folder / "out")) == n, "all of them are there")
    same = sorted((folder / "in").glob("u8-3*"))
    peaks["together"] = peak(program, "normalize", "--together", "--memory", "64M", "--jobs", "4", "--device", "cpu",
                             *same, "-o", folder / "together")
    check(max(peaks.values()) <= 64 + SLACK, f"MiB: {peaks}")


def test_rows(program, folder):
    """Strips too large for one piece: rows come as libtiff has them."""
    mixed(program, folder / "in", 500, 400)  # no more than 1 MiB in the file, which libtiff may hold
    write(folder / "in" / "lzma.tif", 500, 400, "u8", 1, LZMA)
    words = ["stats", "--json", "--memory", "128K", "--device", "cpu", folder / "in"]
    rows, plain = (run(program, *words, variables={"IMGSTAT_DECODE": way}).stdout for way in ("auto", "plain"))
    check(rows == plain and rows.count(b'"gray"') + rows.count(b'"red"') >= 12, f"{rows!r} instead of {plain!r}")


def test_parallel(program, folder):
    """The bound by default lets as many files in as there are jobs: several of 24 MB are held at once."""
    if is_sanitized(program):
        return skip("peak memory of parallel files: the sanitizer takes more than imgstat")
    (folder / "in").mkdir()
    for i in range(8):
        write(folder / "in" / f"{i}.tif", 4000, 3000, "u16", 1, DEFLATE)
    one, four = (peak(program, "equalize", "--jobs", jobs, "--device", "cpu", folder / "in", "-o", folder / str(jobs))
                 for jobs in (1, 4))
    check(four > 2 * one, f"MiB: {one} of one file at a time, {four} of four")


if __name__ == "__main__":
    harness.main(globals())
