#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders that a device decodes: texts and bytes as on the processor, whatever the device refuses, doubts, or is lost
with. GPUs are stand-ins (stand_in.c), and IMGSTAT_DECODE=threads gives them all that they can decode.

usage: test_fed_devices.py IMGSTAT
"""

import itertools
import os
import random
import re
import shutil
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness
from harness import PNG_PASSES, all_run, check, png_chunk, run

MODULE = os.environ.get("IMGSTAT_STAND_IN", "")
COMMANDS = (["stats"], ["stats", "--json", "--mode", "--shape", "--percentiles=0.5,50,99"], ["hist", "--json"],
            ["stats", "--json", "--nodata=3"], ["stats", "--json", "--indices"], ["stats", "--json", "--by=all"],
            ["stats", "--json", "--by=group=([a-z]*)[0-9]*.png"], ["stats", "--json", "--region=3,2,9,5"],
            ["stats", "--json", "--salvage"])

TRANSFORMS = (["normalize"], ["normalize", "--fast", "--channels=luma", "--depth=8"], ["equalize", "--memory=40M"], ["equalize", "--clahe"],
              ["normalize", "--format=tiff", "--depth=float"], ["normalize", "--method=percentile", "--level=6"],
              ["normalize", "--nodata=3"], ["equalize", "--together=file"])

PICTURES, TIFFS, STACKS = (150, 100, 30) if all_run() else (45, 60, 15)


def gpu(**more):
    return {"IMGSTAT_CUDA_MODULE": MODULE, "IMGSTAT_STAND_IN_GPUS": "1", "IMGSTAT_DECODE": "threads",
            **{f"IMGSTAT_STAND_IN_{name.upper()}": str(value) for name, value in more.items()}}


def ways(i):
    """One thread, or three and every third image doubted: in turn, or both where all cases are run."""
    both = (1, {}), (3, {"doubt": 3})
    return both if all_run() else both[i % 2:][:1]


def picture(rng, kind, depth):
    """A PNG with every filter, interlaced or not, in one IDAT chunk or several. kind: its colour type."""
    width, height = rng.randrange(1, 60), rng.randrange(1, 40)
    interlaced, rows = rng.random() < 0.2, b""
    for x, y, dx, dy in PNG_PASSES if interlaced else [(0, 0, 1, 1)]:
        row = (len(range(x, width, dx)) * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind] * depth + 7) // 8
        rows += b"".join(bytes([rng.randrange(5) if kind != 3 else 0]) + bytes(rng.randrange(256) for _ in range(row))
                         for _ in range(y, height, dy) if row)
    colors = 1 << depth if kind == 3 else 0
    alpha = bytes(rng.randrange(256) for _ in range(colors // 2))
    if kind in (0, 2):  # the first sample of the first pixel, which no filter changes
        alpha = rows[1:3 + 2 * kind] if depth == 16 else b"".join(bytes([0, rows[1 + i] >> 8 - depth]) for i in range(1 + kind))
    stream = zlib.compress(rows, rng.choice((0, 1, 6, 9)))
    cut = rng.randrange(len(stream))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)) +
            (png_chunk(b"PLTE", bytes(rng.randrange(256) for _ in range(3 * colors))) if colors else b"") +
            (png_chunk(b"tRNS", alpha) if alpha and rng.random() < 0.5 else b"") +
            b"".join(png_chunk(b"IDAT", part) for part in (stream[:cut], stream[cut:]) if part) + png_chunk(b"IEND", b""))


def damaged(rng, data):
    """The file with a wrong byte and, or not, right checksums."""
    changed = bytearray(data)
    at = rng.randrange(33, len(data))
    changed[at] ^= 1 << rng.randrange(8)
    if rng.random() < 0.3:
        return bytes(data[:at])
    place = data.find(b"IDAT")
    length = struct.unpack(">I", data[place - 4:place])[0]
    if rng.random() < 0.8:
        changed[place + 4 + length:place + 8 + length] = struct.pack(">I", zlib.crc32(changed[place:place + 4 + length]))
    return bytes(changed)


def lzw(data):
    """Codes of single bytes, with a clear code before they become longer."""
    codes = []
    for at in range(0, len(data), 200):
        codes += [256, *data[at:at + 200]]
    bits = "".join(f"{code:09b}" for code in [*codes, 257])
    return int(bits.ljust((len(bits) + 7) // 8 * 8, "0"), 2).to_bytes((len(bits) + 7) // 8, "big")


def packbits(rows):
    """Literals, and a run where a row begins with one."""
    out = b""
    for row in rows:
        if len(row) > 1 and row[0] == row[1]:
            out, row = out + bytes([255, row[0]]), row[2:]
        for at in range(0, len(row), 128):
            out += bytes([len(row[at:at + 128]) - 1]) + row[at:at + 128]
    return out


def tiff_picture(rng, sample, compression, shape=None, more=None):
    """A TIFF in strips or tiles, with a predictor and a nodata value or without. shape: channels, width and height.
    more: fields, without a nodata value."""
    letter, kind = harness.SAMPLES[sample]
    channels, width, height = shape or (rng.choice((1, 1, 3)), rng.randrange(1, 70), rng.randrange(1, 50))
    size, apart = struct.calcsize(letter), rng.random() < 0.3
    tile = (16, 32) if rng.random() < 0.5 else (width, rng.randrange(1, height + 1))
    across, down = -(-width // tile[0]), -(-height // tile[1])
    in_pixel = 1 if apart else channels
    predictor = 2 if kind != 3 and compression in (5, 8) and rng.random() < 0.5 else 1
    body, offsets, counts = b"", [], []
    for number in range(across * down * (channels if apart else 1)):
        left = height - number // across % down * tile[1]
        rows = []
        for _ in range(tile[1] if tile[0] == 16 else min(left, tile[1])):
            values = [rng.choice((0, 1, 7, 7, rng.randrange(100))) for _ in range(tile[0] * in_pixel)]
            if predictor == 2:
                values = [(v - (values[i - in_pixel] if i >= in_pixel else 0)) % (1 << 8 * size) for i, v in enumerate(values)]
                rows.append(b"".join(v.to_bytes(size, "little") for v in values))
            else:
                rows.append(struct.pack(f"<{len(values)}{letter}", *values))
        data = b"".join(rows)
        data = {1: data, 5: lzw(data), 8: zlib.compress(data, rng.choice((0, 1, 6))), 32773: packbits(rows)}[compression]
        offsets.append(8 + len(body))
        counts.append(len(data))
        body += data + b"\0" * (len(data) % 2)
    place = [(322, 4, [16]), (323, 4, [32]), (324, 4, offsets), (325, 4, counts)] if tile[0] == 16 else \
        [(273, 4, offsets), (278, 4, [tile[1]]), (279, 4, counts)]
    if more is None and rng.random() < 0.4:  # GDAL_NODATA: "7" and its NUL
        place.append((42113, 2, [ord("7"), 0]))
    return harness.tiff_file(body, [(256, 4, [width]), (257, 4, [height]), (258, 3, [8 * size] * channels),
                                    (259, 3, [compression]), (262, 3, [2 if channels == 3 else 1]), (277, 3, [channels]),
                                    (284, 3, [2 if apart else 1]), (317, 3, [predictor]), (339, 3, [kind] * channels),
                                    *place, *(more or [])])


def joined(files):
    """A file of the pages of several, as harness.tiff_file writes them."""
    out, link = bytearray(struct.pack("<2sHI", b"II", 42, 0)), 4
    for data in map(bytearray, files):
        base, at = len(out) - 8, struct.unpack_from("<I", data, 4)[0]
        end = at + 2 + 12 * struct.unpack_from("<H", data, at)[0]
        for entry in range(at + 2, end, 12):
            tag, kind, count = struct.unpack_from("<HHI", data, entry)
            place = entry + 8
            if {2: 1, 3: 2, 4: 4}[kind] * count > 4:
                place = struct.unpack_from("<I", data, place)[0]
                struct.pack_into("<I", data, entry + 8, place + base)
            if tag in (273, 324):
                offsets = struct.unpack_from(f"<{count}I", data, place)
                struct.pack_into(f"<{count}I", data, place, *(offset + base for offset in offsets))
        struct.pack_into("<I", out, link, at + base)
        out += data[8:] + b"\0" * (len(data) % 2)
        link = end + base
    return bytes(out)


def stack_pages(rng, i, sample):
    """Pages of all sizes, some of two types or too many for the device; or of one shape; or an image and its levels."""
    if i % 3 == 1:
        channels = rng.choice((1, 3))
        return [tiff_picture(rng, sample, rng.choice((5, 8)), (channels, rng.randrange(9, 70), rng.randrange(9, 50)), [])
                for _ in range(rng.randrange(2, 6))]
    if i % 3 == 2:
        channels, width, height = rng.choice((1, 3)), rng.randrange(9, 70), rng.randrange(9, 50)
        return [tiff_picture(rng, sample, 8, (channels, -(-width // by), -(-height // by)), [(254, 4, [int(by > 1)])])
                for by in (1, 2, 4)]
    kinds = [sample] * (100 if i == 3 else rng.randrange(2, 6)) + (["i8"] if i % 2 else [])
    return [tiff_picture(rng, kind, rng.choice((5, 8))) for kind in kinds]


def make_stacks(folder):
    """Files of several pages, some damaged."""
    rng = random.Random(8)
    for i in range(STACKS):
        sample = rng.choice(("u8", "u16", "i16", "f32"))
        data = bytearray(joined(stack_pages(rng, i, sample)))
        if i % 4 == 1:
            data[rng.randrange(8, len(data))] ^= 16
        (folder / f"{i:03}stack-{sample}.tif").write_bytes(data)
    return [path.relative_to(folder.parent) for path in sorted(folder.iterdir())]


def make_tiffs(folder):
    rng = random.Random(6)
    folder.mkdir()
    for i in range(TIFFS):
        sample = rng.choice(("u8", "u8", "u16", "i16", "i8", "f32", "u32", "f64"))
        data = tiff_picture(rng, sample, (1, 5, 8, 8, 32773)[i % 5])
        (folder / f"{i:03}-{sample}.tif").write_bytes(data)
        if i % 4 == 0:
            at = rng.randrange(8, len(data))
            (folder / f"{i:03}wrong-{sample}.tif").write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1:])
    make_stacks(folder)
    for path in sorted(harness.TESTDATA.glob("*.tif")):
        shutil.copy(path, folder)
    return [path.relative_to(folder.parent) for path in sorted(folder.iterdir())]


def make_files(folder):
    rng = random.Random(5)
    kinds = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16),
             (6, 8), (6, 16)]
    folder.mkdir()
    for i in range(PICTURES):
        data = picture(rng, *kinds[i % len(kinds)])
        (folder / f"{i:03}right.png").write_bytes(data)
        if i % 3 == 0:
            (folder / f"{i:03}wrong.png").write_bytes(damaged(rng, data))
    for path in sorted(harness.TESTDATA.iterdir()):
        if path.suffix in (".png", ".tif"):
            shutil.copy(path, folder)


def texts(done):
    return (done.returncode, re.sub(rb'"device": ?"[^"]*"', b"", done.stdout), done.stderr)


def test_same(program, folder):
    make_files(folder / "in")
    log, compared = folder / "log", 0
    for i, words in enumerate(COMMANDS):
        expected = texts(run(program, *words, "--device=cpu", "in", status=None, cwd=folder))
        compared += expected[1].count(b"\n")
        for jobs, more in (*ways(0), *ways(1), (3, {"doubt": 1})) if i == 0 else ways(i):
            log.unlink(missing_ok=True)
            got = texts(run(program, *words, "--device=cuda", f"--jobs={jobs}", "in", status=None, cwd=folder,
                            variables=gpu(log=log, **more)))
            what = f"{words} with {jobs} threads and {more}"
            check(got[0] == expected[0], f"{what}: exit status {got[0]}, expected {expected[0]}")
            check(got[1] == expected[1], f"{what} prints something else")
            check(got[2] == expected[2], f"{what} says something else: {got[2][-300:]!r}")
            check("--salvage" in words or log.read_text() != "cuda:0 0 0\n",
                  f"{what}: the device has done nothing")
    print(f"{compared} lines compared")
    check(compared > 500, "nothing was compared")


def compare_files(a, b, what):
    names = sorted(path.name for path in a.iterdir())
    check(names == sorted(path.name for path in b.iterdir()), f"{what}: other files are written")
    wrong = [name for name in names if (a / name).read_bytes() != (b / name).read_bytes()]
    check(not wrong, f"{what}: other bytes in {wrong[:5]}")
    return len(names)


def decoded(log):
    return sum(int(line.split()[2]) for line in log.read_text().splitlines())


def compare_written(program, folder, names, commands, least):
    """Transforms files on both devices. least: files that the device decodes."""
    log, compared = folder / "log", 0
    for i, words in enumerate(commands):
        cpu, cuda = folder / f"{i}of{len(commands)}a", folder / f"{i}of{len(commands)}b"
        expected = run(program, *words, "--device=cpu", *names, "-o", cpu, status=None, cwd=folder)
        for jobs, more in ways(i + names[0].suffix.count("tif")):
            log.unlink(missing_ok=True)
            got = run(program, *words, "--device=cuda", f"--jobs={jobs}", *names, "-o", cuda, "--force", status=None,
                      cwd=folder, variables=gpu(log=log, **more))
            what = f"{words} with {jobs} threads"
            said = [re.sub(rb" in [0-9.]+ s\b.*", b"", done.stderr.replace(str(to).encode(), b"OUT"))
                    for done, to in ((expected, cpu), (got, cuda))]
            check(got.returncode == expected.returncode < 2 and said[0] == said[1], f"{what} says something else: {said[1][-300:]!r}")
            compared += compare_files(cpu, cuda, what)
            check(decoded(log) >= least, f"{what}: {decoded(log)} decoded")
    print(f"{compared} files compared")
    check(compared > len(commands) * len(names) // 4, "nothing was compared")


def test_written(program, folder):
    make_files(folder / "in")
    names = [path.relative_to(folder) for path in sorted((folder / "in").glob("*.png"))]
    compare_written(program, folder, names, TRANSFORMS, len(names) // 3)


def test_tiffs(program, folder):
    """Strips and tiles, also with nodata values and in files that are damaged, and parts of them."""
    names = make_tiffs(folder / "in")
    log = folder / "log"
    for i, words in enumerate((["stats", "--json", "--percentiles=1"], ["hist", "--json"],
                               ["stats", "--json", "--region=13,14,7,3"], ["stats", "--json", "--region=0,1,20,19"],
                               ["stats", "--json", "--by=group=.*-([a-z]+)[.]tif"])):
        expected = texts(run(program, *words, "--device=cpu", *names, status=None, cwd=folder))
        for jobs, more in ways(i):
            log.unlink(missing_ok=True)
            got = texts(run(program, *words, "--device=cuda", f"--jobs={jobs}", *names, status=None, cwd=folder,
                            variables=gpu(log=log, **more)))
            check(got == expected, f"{words} with {jobs} threads says or prints something else")
            least = len(names) // (10 if "--region" in words[-1] else 4 if more else 3)
            check(decoded(log) > least, f"{words}: {decoded(log)} of {len(names)} decoded")
    check(expected[1].count(b"\n") > 3, "no groups")


def test_stacks(program, folder):
    """The device decodes pages of stacks that are measured by themselves, and those of 96 pages at most."""
    (folder / "in").mkdir()
    make_stacks(folder / "in")
    log = folder / "log"
    for words, least in ((["stats", "--json"], 20), (["stats", "--json", "--by=all"], 20), (["stats", "--json", "--page=1"], 5),
                         (["stats", "--json", "--levels"], 25), (["stats", "--json", "--region=2,1,7,6"], 15),
                         (["stats", "--json", "--by=file"], 0)):
        log.unlink(missing_ok=True)
        done = [texts(run(program, *words, f"--device={device}", "in", status=None, cwd=folder, variables=gpu(log=log)))
                for device in ("cpu", "cuda")]
        check(done[0] == done[1], f"{words} says or prints something else")
        check(decoded(log) >= least, f"{words}: {decoded(log)} decoded")


def test_stacks_written(program, folder):
    """Pages of their own contrast or a common one, a choice of them, and levels, which are mapped, left out or made anew."""
    (folder / "in").mkdir()
    names = make_stacks(folder / "in")
    (folder / "in" / "000.tif").write_bytes(tiff_picture(random.Random(9), "u16", 8, (1, 30, 20), []))
    some = (["normalize"], ["normalize", "--region=1,2,7,6", "--fast"], ["equalize", "--together=file"], ["normalize", "--page=1,0"],
            ["normalize", "--levels=drop", "--depth=8"], ["equalize", "--clahe"], ["normalize", "--memory=40M", "--channels=luma"],
            ["normalize", "--method=percentile", "--together=channel", "--region=0,0,9,9"], ["equalize", "--match=in/000.tif"])
    compare_written(program, folder, [*names, Path("in/000.tif")], some, 15)
    compare_written(program, folder, names[1::3], (["normalize", "--together=group=([0-9]*)stack"], ["normalize", "--salvage"]), 0)


def test_in_place(program, folder):
    """Stacks that are replaced are read before."""
    for name in "cpu", "cuda":
        (folder / name).mkdir()
        make_stacks(folder / name)
        done = run(program, "normalize", f"--device={name}", "--jobs=3", name, "-o", name, "--force", status=1, cwd=folder,
                   variables=gpu(log=folder / "log"))
        said = re.sub(rb" in [0-9.]+ s\b.*", b"", re.sub(rb"\bcpu|\bcuda", b"IN", done.stderr))
        check(name == "cpu" or said == before, f"{name} says something else: {said[-300:]!r}")
        before = said
    compare_files(folder / "cpu", folder / "cuda", "in place")
    check(decoded(folder / "log") > 20, f"{decoded(folder / 'log')} decoded")


def test_memory(program, folder):
    """What the processor does within a limit, the device may not refuse for the memory that it would take more."""
    pages = []
    for width in 1504, 1904:  # one tile, which cannot be divided
        data = zlib.compress((bytes(range(3, 253)) * (width * 2 * 1008 // 250 + 1))[:width * 2 * 1008])
        pages.append(harness.tiff_file(data, [(256, 4, [width]), (257, 4, [1008]), (258, 3, [16]), (259, 3, [8]), (262, 3, [1]),
                                              (322, 4, [width]), (323, 4, [1008]), (324, 4, [8]), (325, 4, [len(data)])]))
    (folder / "in.tif").write_bytes(joined(pages))

    def says(device, mebibytes):
        done = run(program, "normalize", f"--memory={mebibytes}M", f"--device={device}", "--jobs=1", "in.tif", "-o",
                   f"{device}.tif", "--force", status=None, cwd=folder, variables=gpu(log=folder / "log", memory=800))
        return done.returncode, done.stderr.replace(device.encode(), b"")

    least = next((m for m in range(32, 80) if says("cpu", m)[0] == 0), None)
    print(f"{least} MiB are enough")
    for more in (-1, 0, 1, 2, 30):
        (folder / "log").unlink(missing_ok=True)
        check(says("cpu", least + more)[0] == says("cuda", least + more)[0] == (1 if more < 0 else 0), f"{least} and {more} MiB")
    check(decoded(folder / "log") == 2, "with room, the device decodes")


def test_tiffs_written(program, folder):
    names = make_tiffs(folder / "in")
    run(program, "normalize", "--save-transfer=maps.json", "in/001-u8.tif", "-o", "made.tif", cwd=folder)
    compare_written(program, folder, names, (*TRANSFORMS, ["apply", "maps.json"], ["normalize", "--format=png", "--depth=16"]),
                    len(names) // 3)


def test_bands(program, folder):
    """One large page, in several bands, of which the device doubts some, and one is damaged."""
    rng = random.Random(7)
    width, height, side = 22000, 112, 16
    across, down = -(-width // side), -(-height // side)
    kinds = [zlib.compress(bytes(rng.choice((0, 7, 200, rng.randrange(256))) for _ in range(side * side * 3)))
             for _ in range(50)]
    log = folder / "log"
    for name, wrong in ("right.tif", None), ("wrong.tif", across * down // 2):
        tiles = [rng.choice(kinds) for _ in range(across * down)]
        if wrong:
            tiles[wrong] = tiles[wrong][:-1] + bytes([tiles[wrong][-1] ^ 1])
        offsets = [*itertools.accumulate((len(tile) for tile in tiles[:-1]), initial=8)]
        (folder / name).write_bytes(harness.tiff_file(b"".join(tiles), [
            (256, 4, [width]), (257, 4, [height]), (258, 3, [8] * 3), (259, 3, [8]), (262, 3, [2]), (277, 3, [3]),
            (322, 4, [side]), (323, 4, [side]), (324, 4, offsets), (325, 4, [len(tile) for tile in tiles]),
            (42113, 2, [*b"200", 0])]))
        for words in (["stats", "--json", "--mode"], ["hist", "--json"], ["stats", "--json", "--hash"],
                      ["stats", "--json", "--region=5,30,20000,70"]):
            expected = texts(run(program, *words, "--device=cpu", name, status=None, cwd=folder))
            for more in {}, {"doubt": 1}:
                log.unlink(missing_ok=True)
                got = texts(run(program, *words, "--device=cuda:0,0", name, status=None, cwd=folder,
                                variables=gpu(log=log, **more)))
                check(got == expected, f"{words} of {name} says or prints something else: {got[2]!r}")
                least = 0 if more or "--region" in words[-1] or "--hash" in words else 1 if wrong else 3
                check(decoded(log) >= least, f"{words}: {decoded(log)} bands decoded")
        for i, (words, least) in enumerate(((["normalize", "--fast"], 3), (["equalize", "--clahe", "--fast"], 3),
                                            (["normalize", "--depth=float", "--format=tiff"], 3),
                                            (["normalize", "--out-nodata=3", "--fast"], 0))):
            names = [f"{i}{device}{name}" for device in ("cpu", "cuda")]
            log.unlink(missing_ok=True)
            done = [run(program, *words, f"--device={device}", name, "-o", to, "--force", status=None, cwd=folder,
                        variables=gpu(log=log)) for device, to in zip(("cpu", "cuda:0,0"), names)]
            written = [(folder / to).exists() and (folder / to).read_bytes() for to in names]
            check(done[0].returncode == done[1].returncode == (1 if wrong else 0), f"{words} of {name}: {done[1].stderr!r}")
            check(written[0] == written[1] and bool(written[0]) == (not wrong), f"{words} of {name}: other bytes")
            check(decoded(log) >= (0 if wrong else least), f"{words} of {name}: {decoded(log)} bands decoded")


def test_plain(program, folder):
    """Without IMGSTAT_DECODE=threads a device decodes no small folder, and with plain none at all."""
    log = folder / "log"
    make_files(folder / "in")
    for way in "auto", "plain":
        log.unlink(missing_ok=True)
        run(program, "stats", "--device=cuda", "--jobs=2", *sorted((folder / "in").glob("*right.png")),
            variables={**gpu(log=log), "IMGSTAT_DECODE": way})
        calls = sum(int(line.split()[1]) for line in log.read_text().splitlines())
        check(calls == PICTURES, f"{way}: {calls} calls, one was to be for each file")


def test_regions(program, folder):
    """The device decodes what the processor does: in bands of 4 MiB, which hold the rows of the part."""
    width, height, rows = 2000, 3000, 100
    strips = [zlib.compress(bytes((y * 7 + x * x) % 251 for x in range(400)) * (5 * 2 * rows)) for y in range(height // rows)]
    log = folder / "log"
    for wrong, fails in (None, 0), (25, 0), (9, 0), (12, 1), (15, 1):
        data = [strip[:-1] + bytes([strip[-1] ^ (i == wrong)]) for i, strip in enumerate(strips)]
        offsets = [*itertools.accumulate((len(strip) for strip in data[:-1]), initial=8)]
        (folder / "in.tif").write_bytes(harness.tiff_file(b"".join(data), [
            (256, 4, [width]), (257, 4, [height]), (258, 3, [16]), (259, 3, [8]), (262, 3, [1]), (277, 3, [1]),
            (273, 4, offsets), (278, 4, [rows]), (279, 4, [len(strip) for strip in data])]))
        log.unlink(missing_ok=True)
        one, other = (texts(run(program, "stats", "--json", "--region=1000,1500,300,80", f"--device={device}", "in.tif",
                                status=fails, cwd=folder, variables=gpu(log=log, memory=800))) for device in ("cpu", "cuda"))
        check(one == other, f"strip {wrong}: {other[2]!r}")
        check(decoded(log) == 1 - fails, f"strip {wrong}: {decoded(log)} decoded")
    # Strips that bands end within, beside other pages: those had pixels of them.
    pixels = bytes((x * x) % 251 for x in range(400)) * (width * 2 * height // 400)
    (folder / "plain.tif").write_bytes(harness.tiff_file(pixels, [
        (256, 4, [width]), (257, 4, [height]), (258, 3, [16]), (259, 3, [1]), (262, 3, [1]), (277, 3, [1]),
        (273, 4, [8 + y * width * 2 for y in range(0, height, 1300)]), (278, 4, [1300]),
        (279, 4, [min(1300, height - y) * width * 2 for y in range(0, height, 1300)])]))
    (folder / "in.tif").write_bytes(tiff_picture(random.Random(12), "u16", 8, (1, 70, 1600), []))
    for region in "3,1500,60,80", "0,0,70,1", "5,1040,9,20":
        one, other = (texts(run(program, "stats", "--json", f"--region={region}", f"--device={device}", "in.tif", "plain.tif",
                                "in.tif", "plain.tif", "in.tif", cwd=folder, variables=gpu(log=log, memory=800)))
                      for device in ("cpu", "cuda"))
        check(one == other, f"{region} beside plain strips")


def test_one(program, folder):
    """A file that is alone was measured twice where a device decoded it."""
    (folder / "in.tif").write_bytes(tiff_picture(random.Random(11), "u16", 8))
    one, other = (run(program, "stats", "--json", f"--device={device}", "--jobs=1", "in.tif", cwd=folder,
                      variables=gpu(log=folder / "log")) for device in ("cpu", "cuda"))
    check(texts(one) == texts(other) and one.stdout.count(b"\n") == 1, f"{other.stdout.count(bytes([10]))} lines")
    check(decoded(folder / "log") == 1, f"{decoded(folder / 'log')} decoded")


def test_lost(program, folder):
    """A device that was named and fails fails what it had; the processor goes on with the others."""
    make_files(folder / "in")
    names = sorted((folder / "in").glob("*right.png"))
    expected = [texts(run(program, "stats", "--json", name))[1] for name in names]
    for fault in "0:3", "0:4":  # decoded, counted; two calls prepare, and whether more follow is a matter of time
        done = run(program, "stats", "--json", "--device=cuda", "--jobs=1", *names, status=1, variables=gpu(fault=fault))
        lines = texts(done)[1].splitlines(keepends=True)
        failed = [i for i, line in enumerate(lines) if b'"error":"device"' in line]
        check(len(lines) == len(names) and failed, f"{fault}: {len(failed)} of {len(lines)} failed")
        check(all(lines[i] == expected[i] for i in range(len(lines)) if i not in failed), f"{fault}: other statistics")
        check(done.stderr.count(b"cuda:0: it was unplugged") == len(failed), f"{fault}: {done.stderr!r}")
    for fault in "0:0", "0:2":  # opened, prepared
        done = run(program, "stats", "--device=cuda", *names, status=1, variables=gpu(fault=fault))
        check(done.stdout == b"" and done.stderr == b"imgstat stats: cuda:0: it was unplugged\n", f"{done.stderr!r}")
    alike = [name for name in names if int(name.name[:3]) % 15 == 3]
    done = run(program, "stats", "--by=all", "--json", "--device=cuda", "--jobs=1", *alike, status=1,
               variables=gpu(fault="0:3"))
    failed = done.stderr.count(b"it was unplugged")
    check(failed > 0 and done.stderr.endswith(b"%d measured, %d failed\n" % (len(alike) - failed, failed)),
          f"a data set: {done.stderr[:300]!r}")


def test_lost_while_writing(program, folder):
    make_files(folder / "in")
    names = sorted((folder / "in").glob("*right.png"))
    run(program, "normalize", "--device=cpu", *names, "-o", folder / "cpu")
    for fault in "0:3", "0:6", "0:20":
        out = folder / fault[2:]
        done = run(program, "normalize", "--device=cuda", "--jobs=2", *names, "-o", out, status=1, variables=gpu(fault=fault))
        failed = done.stderr.count(b"cuda:0: it was unplugged")
        written = sorted(path.name for path in out.glob("*"))  # none: without a folder
        check(failed > 0 and len(written) == len(names) - failed, f"{fault}: {failed} failed, {len(written)} are there")
        check(all((out / name).read_bytes() == (folder / "cpu" / name).read_bytes() for name in written), f"{fault}: bytes")
    done = run(program, "normalize", "--device=cuda", *names, "-o", folder / "none", status=1, variables=gpu(fault="0:0"))
    check(b"cuda:0: it was unplugged" in done.stderr, f"{done.stderr!r}")


if __name__ == "__main__":
    if not MODULE:
        print("IMGSTAT_STAND_IN names no module")
        sys.exit(77)
    harness.main(globals())
