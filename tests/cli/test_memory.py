#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--memory bounds the memory of the program, whatever its files are. usage: test_memory.py IMGSTAT"""

import array
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import harness
from harness import PNG_PASSES, check, environment, png_chunk, run, skip

NONE, LZMA, DEFLATE, PACKBITS = 1, 34925, 8, 32773
# What comes on top of --memory: code, libraries, what malloc keeps; in MiB.
SLACK = 64
# Prints the peak memory of a command, in KiB. From a small process: a command starts with the peak of its parent.
PEAK = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)"""


def is_sanitized(program):
    return any(word in Path(program).read_bytes() for word in (b"__asan_init", b"__tsan_init"))


def measure(program, *words):
    """Peak memory in MiB, and what was said on standard error."""
    done = subprocess.run([sys.executable, "-c", PEAK, program, *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment(), check=False)
    check(done.returncode == 0, f"{words}: {done.stderr!r}")
    return int(done.stdout.splitlines()[-1]) / 1024, done.stderr


def peak(program, *words):
    return measure(program, *words)[0]


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


def write_tiles(name, width, height, tile):
    """RGB of 16 bits, deflated; every tile has the same samples."""
    data = zlib.compress(b"".join(noise(3 * tile, "u16", y % 7) for y in range(tile)), 1)
    n = -(-width // tile) * -(-height // tile)
    name.write_bytes(harness.tiff_file(data * n, [
        (256, 4, [width]), (257, 4, [height]), (258, 3, [16] * 3), (259, 3, [DEFLATE]), (262, 3, [2]), (277, 3, [3]),
        (322, 4, [tile]), (323, 4, [tile]), (324, 4, [8 + i * len(data) for i in range(n)]), (325, 4, [len(data)] * n)]))


def write_pages(name, sizes):
    """Of one deflated tile each."""
    out, link = bytearray(b"II*\0" + bytes(4)), 4
    for number, size in enumerate(sizes):
        data = zlib.compress(noise(size, "u8", number % 7) * size, 1)
        fields = [(256, 4, size), (257, 4, size), (258, 3, 8), (259, 3, DEFLATE), (262, 3, 1), (277, 3, 1), (322, 4, size),
                  (323, 4, size), (324, 4, len(out)), (325, 4, len(data))]
        out += data + bytes(len(data) % 2)
        struct.pack_into("<I", out, link, len(out))
        out += struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", tag, kind, 1, value)
                                                         for tag, kind, value in fields)
        link = len(out)
        out += bytes(4)
    name.write_bytes(out)


def write_png(name, width, height, interlaced):
    """RGB of 8 bits, the same pixels either way."""
    rows = [noise(3 * width, "u8", seed) for seed in range(7)]
    packer, data = zlib.compressobj(1), []
    for x, y, dx, dy in PNG_PASSES if interlaced else [(0, 0, 1, 1)]:
        some = [bytearray(3 * len(range(x, width, dx))) for row in rows]
        for part, row in zip(some, rows):
            for c in range(3):
                part[c::3] = row[3 * x + c::3 * dx]
        data += [packer.compress(b"\0" + some[line % 7]) for line in range(y, height, dy)]
    name.write_bytes(b"\x89PNG\r\n\x1a\n" +
                     png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, interlaced)) +
                     png_chunk(b"IDAT", b"".join(data) + packer.flush()) + png_chunk(b"IEND", b""))


def mixed(program, folder, width, height):
    """Images of one strip, as many programs write them: of every kind of sample and compression."""
    folder.mkdir()
    for kind, channels, compression, planar in (
            ("u8", 1, DEFLATE, False), ("u8", 3, PACKBITS, False), ("u8", 3, DEFLATE, True), ("u16", 1, DEFLATE, False),
            ("u16", 3, NONE, False), ("u16", 3, DEFLATE, True), ("f32", 1, DEFLATE, False)):
        name = f"{kind}-{channels}-{compression}{'-planar' * planar}.tif"
        # libtiff holds a strip of PackBits as it is in the file.
        rows = height // 8 if compression == PACKBITS else height
        write(folder / name, width, rows, kind, channels, compression, planar)
    for name, compression in (("u8-3-32773", "lzw"), ("u16-1-8", "zstd"), ("u8-3-8-planar", "zstd")):
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
    for words in (["normalize"], ["normalize", "--method", "percentile", "--fast"], ["equalize", "--fast"],
                  ["equalize", "--clahe", "--fast"]):
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
    # The free ends of idle threads' heaps were kept beside what was counted: up to 65 MiB, 75 elsewhere.
    for words in (["normalize", "--fast"], ["normalize", "--compression", "lzw"]):
        many = peak(program, *words, "--force", "--memory", "56M", "--jobs", "8", "--device", "cpu", folder / "in", "-o",
                    folder / "out")
        check(many <= 56 + SLACK, f"{words}, 8 jobs: {many} MiB")
    # What threads held was not counted, nor luma of a page that is kept, nor the image that others are to resemble.
    for words in (["equalize", "--clahe"], ["normalize", "--match", folder / "in" / "u16-3-8-planar.tif"]):
        many = peak(program, *words, "--force", "--memory", "64M", "--jobs", "16", "--device", "cpu", *same, "-o",
                    folder / "together")
        check(many <= 64 + SLACK, f"{words}, 16 jobs: {many} MiB")


def test_png(program, folder):
    """The decoder holds all of an interlaced PNG; threads held blocks: 117 MiB of 16."""
    for name in ("plain", "interlaced"):
        write_png(folder / f"{name}.png", 4000, 3000, name == "interlaced")
    peaks = {}
    for name, words in (("plain", ["--jobs", "16"]), ("interlaced", ["--jobs", "1"]),
                        ("interlaced", ["--jobs", "1", "--format", "tiff"])):
        output = folder / f"{name}-out.{'tif' if 'tiff' in words else 'png'}"
        words = ["normalize", "--memory", "64M", "--device", "cpu", *words, folder / f"{name}.png", "-o", output]
        if is_sanitized(program):
            run(program, *words)
        else:
            peaks[f"{name} to {output.suffix}"] = peak(program, *words)
    check(max(peaks.values(), default=0) <= 64 + SLACK, f"MiB: {peaks}")
    for name in ("plain", "interlaced"):
        run(program, "normalize", "--jobs", "2", folder / f"{name}-out.png", "-o", folder / f"{name}-again.tif")
    again = [(folder / f"{name}-again.tif").read_bytes() for name in ("plain", "interlaced")]
    check(len(again[0]) > 1 << 20 and again[0] == again[1] == (folder / "interlaced-out.tif").read_bytes(),
          "the same pixels, interlaced or not")
    form = [(folder / f"{name}-out.png").read_bytes()[28] for name in ("plain", "interlaced")]
    check(form == [0, 0], f"written without interlacing: {form}")


def test_interlaced(program, folder):
    """What does not fit is read once for each band. Interlaced input is written from top to bottom."""
    write_png(folder / "small.png", 301, 199, True)
    whole = run(program, "stats", "--json", folder / "small.png").stdout
    for memory in ("128K", "150K"):
        bands = run(program, "stats", "--json", "--max-tile", memory, folder / "small.png").stdout
        check(bands == whole and b'"red"' in whole, f"{memory}: {bands!r} instead of {whole!r}")
    (folder / "cut.png").write_bytes((folder / "small.png").read_bytes()[:-5000])
    errors = [run(program, "stats", *words, folder / "cut.png", status=1).stderr for words in ([], ["--max-tile", "128K"])]
    check(errors[0] == errors[1] and b"cut.png" in errors[0], f"{errors}")
    write_png(folder / "in.png", 4000, 3000, True)
    words = ["normalize", "--depth", "16", "--device", "cpu", "--jobs", "1"]
    most, said = measure(program, *words, "--memory", "64M", folder / "in.png", "-o", folder / "bands.png")
    check(most <= 64 + SLACK or is_sanitized(program), f"to 16 bits: {most} MiB")
    check(said.endswith(b"bands.png: warning: written without interlacing\n"), f"{said!r}")
    run(program, *words, "--memory", "32M", folder / "in.png", "-o", folder / "least.png", "--fast")
    run(program, *words, folder / "in.png", "-o", folder / "whole.png", "--fast")
    form = [(folder / f"{name}.png").read_bytes()[28] for name in ("bands", "whole")]
    check(form == [0, 0], f"interlacing: {form}")
    for name in ("bands", "least", "whole"):
        run(program, "normalize", "--fast", folder / f"{name}.png", "-o", folder / f"{name}.tif")
    pixels = [(folder / f"{name}.tif").read_bytes() for name in ("bands", "least", "whole")]
    check(len(pixels[0]) > 1 << 20 and pixels[0] == pixels[1] == pixels[2], "the same pixels")


def test_threads(program, folder):
    """Each thread held a tile, as it is in the file and decoded, and compressed another: 343 MiB of 162 elsewhere. Each
    counted keys for itself: 207 of 48."""
    write_tiles(folder / "tiles.tif", 3072, 2048, 1024)
    words = ["normalize", "--compression", "lzw", "--device", "cpu", "--jobs", "16", folder / "tiles.tif", "-o"]
    refused = run(program, *words, folder / "none.tif", "--memory", "48M", status=1)
    found = re.fullmatch(rb".*tiles\.tif: needs about (\d+) MiB of memory, and 48 are allowed\n", refused.stderr)
    check(found and not (folder / "none.tif").exists(), f"{refused.stderr!r}")
    needed = int(found[1])
    run(program, *words, folder / "all.tif")
    write(folder / "f32.tif", 4000, 3000, "f32", 1, NONE)
    equalize = ["equalize", "--device", "cpu", "--jobs", "16", folder / "f32.tif", "-o"]
    run(program, *equalize, folder / "f32-all.tif")
    if is_sanitized(program):
        run(program, *words, folder / "few.tif", "--memory", f"{needed}M")
        run(program, *equalize, folder / "f32-few.tif", "--memory", "48M")
    else:
        tiles = peak(program, *words, folder / "few.tif", "--memory", f"{needed}M")
        keys = peak(program, *equalize, folder / "f32-few.tif", "--memory", "48M")
        check(tiles <= needed + SLACK and keys <= 48 + SLACK, f"MiB: {tiles} of {needed}, {keys} of 48")
    for name in ("", "f32-"):
        few, many = ((folder / f"{name}{which}.tif").read_bytes() for which in ("few", "all"))
        check(len(many) > 1 << 20 and few == many, f"{name}few and all: not the same bytes")


def test_few_bits(program, folder):
    """Rows to compress are held as whole samples, eight times what a strip of single bits was counted: 96 MiB of 64."""
    if is_sanitized(program):
        return skip("peak memory of single bits: the sanitizer takes more than imgstat")
    (folder / "in").mkdir()
    width, height = 8000, 5000
    data = zlib.compress(b"".join(random.Random(y % 7).randbytes(width // 8) for y in range(height)), 1)
    for i in range(4):
        (folder / "in" / f"{i}.tif").write_bytes(harness.tiff_file(data, [
            (256, 4, [width]), (257, 4, [height]), (258, 3, [1]), (259, 3, [DEFLATE]), (262, 3, [1]), (273, 4, [8]),
            (277, 3, [1]), (278, 4, [height]), (279, 4, [len(data)])]))
    most = peak(program, "normalize", "--memory", "64M", "--jobs", "4", "--device", "cpu", folder / "in", "-o",
                folder / "out")
    check(most <= 64 + SLACK, f"MiB: {most}")
    check(len(os.listdir(folder / "out")) == 4, "all of them are there")


def test_pages(program, folder):
    """Only the first 64 pages were looked at: a later one took 270 MiB of 64."""
    write_pages(folder / "late.tif", [64] * 100 + [8192, 64])
    words = ["normalize", "--device", "cpu", folder / "late.tif", "-o", folder / "out.tif"]
    refused = run(program, *words, "--memory", "64M", status=1).stderr
    check(re.search(rb"late\.tif: needs about \d+ MiB of memory, and 64 are allowed\n", refused), f"{refused!r}")
    check(not (folder / "out.tif").exists(), "an output of what was refused")
    run(program, *words)


def test_measured(program, folder):
    """stats had no --memory: each of 16 threads kept a page."""
    (folder / "in").mkdir()
    write(folder / "in" / "0.tif", 4000, 3000, "f32", 1, NONE)
    write(folder / "in" / "1.tif", 4000, 3000, "u16", 3, DEFLATE)
    write_tiles(folder / "in" / "2.tif", 1024, 1024, 256)
    for i in range(3, 12):
        os.link(folder / "in" / f"{i % 3}.tif", folder / "in" / f"{i}.tif")
    words = ["--json", "--device", "cpu", "--jobs", "16", folder / "in"]
    for command in (["stats"], ["stats", "--shape", "--mode"], ["stats", "--by", "all"], ["hist"]):
        whole = run(program, *command, *words).stdout
        check(run(program, *command, "--memory", "32M", *words).stdout == whole, f"{command}: the same results")
        if not is_sanitized(program):
            most = peak(program, *command, "--memory", "32M", *words)
            check(most <= 32 + SLACK, f"{command}: {most} MiB")
    done = run(program, "stats", "--memory", "31M", *words, status=2).stderr
    check(b"--memory" in done and b"32M" in done, f"{done!r}")


def test_match(program, folder):
    """What is matched to was counted beside the page, though it is measured first: 16 bits needed 33 to 43 MiB."""
    write(folder / "gray.tif", 2500, 2000, "u16", 1, NONE)
    write(folder / "strip.tif", 2500, 2000, "u16", 3, DEFLATE)
    write_tiles(folder / "tiles.tif", 1024, 1024, 256)
    write(folder / "f32.tif", 1500, 1000, "f32", 1, NONE)
    peaks = {}
    for name, reference, *words in (("gray", "gray"), ("gray", "strip"), ("strip", "gray"), ("strip", "strip"),
                                    ("tiles", "strip", "--channels", "each"), ("strip", "tiles", "--channels", "each"),
                                    ("tiles", "tiles", "--together"), ("f32", "f32")):
        command = ["equalize", "--force", "--device", "cpu", "--fast", "--jobs", "4", "--match", folder / f"{reference}.tif",
                   *words, folder / f"{name}.tif", "-o"]
        if is_sanitized(program):
            run(program, *command, folder / "least.tif", "--memory", "32M")
        else:
            peaks[f"{name} to {reference}"] = peak(program, *command, folder / "least.tif", "--memory", "32M")
        run(program, *command, folder / "most.tif", "--memory", "1G")
        least, most = (run(program, "stats", "--json", "--hash", folder / f"{which}.tif").stdout.split(b'"device"')[1]
                       for which in ("least", "most"))
        check(least == most, f"{name} to {reference}: {least!r} instead of {most!r}")
    check(max(peaks.values(), default=0) <= 32 + 8, f"MiB: {peaks}")


def test_rows(program, folder):
    """Strips too large for one piece: rows come as libtiff has them."""
    mixed(program, folder / "in", 500, 400)  # no more than 1 MiB in the file, which libtiff may hold
    write(folder / "in" / "lzma.tif", 500, 400, "u8", 1, LZMA)
    words = ["stats", "--json", "--max-tile", "128K", "--device", "cpu", folder / "in"]
    rows, plain = (run(program, *words, variables={"IMGSTAT_DECODE": way}).stdout for way in ("auto", "plain"))
    check(rows == plain and rows.count(b'"gray"') + rows.count(b'"red"') >= 12, f"{rows!r} instead of {plain!r}")


def test_parallel(program, folder):
    """The bound by default lets as many files in as there are jobs: several of 24 MB are held at once."""
    if is_sanitized(program):
        return skip("peak memory of parallel files: the sanitizer takes more than imgstat")
    (folder / "in").mkdir()
    write(folder / "in" / "0.tif", 4000, 3000, "u16", 1, DEFLATE)
    for i in range(1, 8):
        os.link(folder / "in" / "0.tif", folder / "in" / f"{i}.tif")
    one, four = (peak(program, "equalize", "--fast", "--jobs", jobs, "--device", "cpu", folder / "in", "-o", folder / str(jobs))
                 for jobs in (1, 4))
    check(four > 2 * one, f"MiB: {one} of one file at a time, {four} of four")


def test_failures_of_a_set(program, folder):
    """Each file of a set that cannot be read took a kilobyte until the end, beside its name."""
    peaks = []
    for n in 1000, 21_000:
        (folder / "list").write_bytes(b"\0".join(b"%d.png" % i for i in range(n)))
        command = ["normalize", "--together", "--device", "cpu", "--files0-from", folder / "list", "-o", folder / "out"]
        done = subprocess.run([sys.executable, "-c", PEAK, program, *command], capture_output=True, env=environment(), cwd=folder,
                              check=False)
        check(done.stderr.count(b"No such file") == n, f"{n} files: {done.stderr[-200:]!r}")
        peaks.append(int(done.stdout.splitlines()[-1]))
    check(peaks[1] - peaks[0] < 20_000 * 600 / 1024 or is_sanitized(program), f"KiB: {peaks}")


def test_long_lists_are_not_held(program, folder):
    """Names come in windows: 100,000 take no more than 10,000, and every one of them is reported."""
    if is_sanitized(program):
        skip("memory of long lists: a sanitizer holds what is freed")
        return
    peaks = []
    for n in (10_000, 100_000):
        names = [b"%d.png" % i if i % 10 else b"/" + bytes(harness.TESTDATA)[1:] + b"/good-1x1.png" for i in range(n)]
        (folder / "list").write_bytes(b"\0".join(names))
        with open(folder / "out", "wb") as out:
            done = subprocess.run([sys.executable, "-c", PEAK, program, "stats", "--json", "--device", "cpu",
                                   "--files0-from", folder / "list"], stdout=out, stderr=subprocess.PIPE,
                                  env=environment(), cwd=folder, check=False)
        lines = (folder / "out").read_bytes().splitlines()
        peaks.append(int(lines.pop()) / 1024)
        check(done.returncode == 1 and len(lines) == n, f"{n} names: {done.returncode}, {len(lines)} lines")
        check(all(b'"file":"%s"' % name in line for name, line in zip(names, lines)), f"{n} names: their order")
        check(done.stderr.splitlines()[-1] == b"%d measured, %d failed" % (n // 10, n - n // 10),
              f"{n} names: {done.stderr[-100:]!r}")
        check(done.stderr.count(b"\n") == n - n // 10 + 1, f"{n} names: lines on stderr")
    check(peaks[1] < peaks[0] + 2, f"peak memory of 10,000 and 100,000 names: {peaks} MiB")


if __name__ == "__main__":
    harness.main(globals())
