#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders that a device decodes: texts and bytes as on the processor, whatever the device refuses, doubts, or is lost
with. GPUs are stand-ins (stand_in.c), and IMGSTAT_DECODE=threads gives them all that they can decode.

usage: test_fed_devices.py IMGSTAT
"""

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
from harness import check, run

MODULE = os.environ.get("IMGSTAT_STAND_IN", "")
COMMANDS = (["stats"], ["stats", "--json", "--mode", "--shape", "--percentiles=0.5,50,99"], ["hist", "--json"],
            ["stats", "--json", "--nodata=3"], ["stats", "--json", "--indices"], ["stats", "--json", "--by=all"],
            ["stats", "--json", "--by=group=([a-z]*)[0-9]*.png"], ["stats", "--json", "--region=3,2,9,5"],
            ["stats", "--json", "--salvage"])

TRANSFORMS = (["normalize"], ["normalize", "--fast", "--channels=luma", "--depth=8"], ["equalize"], ["equalize", "--clahe"],
              ["normalize", "--format=tiff", "--depth=float"], ["normalize", "--method=percentile", "--level=6"],
              ["normalize", "--nodata=3"], ["equalize", "--together=file"])


def gpu(**more):
    return {"IMGSTAT_CUDA_MODULE": MODULE, "IMGSTAT_STAND_IN_GPUS": "1", "IMGSTAT_DECODE": "threads",
            **{f"IMGSTAT_STAND_IN_{name.upper()}": str(value) for name, value in more.items()}}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(rng, kind, depth):
    """A PNG with every filter, in one IDAT chunk or several. kind: its colour type."""
    width, height = rng.randrange(1, 60), rng.randrange(1, 40)
    row = (width * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind] * depth + 7) // 8
    colors = 1 << depth if kind == 3 else 0
    rows = b"".join(bytes([rng.randrange(5) if kind != 3 else 0]) + bytes(rng.randrange(256) for _ in range(row))
                    for _ in range(height))
    stream = zlib.compress(rows, rng.choice((0, 1, 6, 9)))
    cut = rng.randrange(len(stream))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)) +
            (chunk(b"PLTE", bytes(rng.randrange(256) for _ in range(3 * colors))) if colors else b"") +
            (chunk(b"tRNS", bytes(rng.randrange(256) for _ in range(colors // 2))) if colors and rng.random() < 0.5 else b"") +
            b"".join(chunk(b"IDAT", part) for part in (stream[:cut], stream[cut:]) if part) + chunk(b"IEND", b""))


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


def make_files(folder):
    rng = random.Random(5)
    kinds = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16),
             (6, 8), (6, 16)]
    folder.mkdir()
    for i in range(150):
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
        for jobs in 1, 3:
            for more in ({}, {"doubt": 1}, {"doubt": 3})[:3 if i == 0 else 1]:
                log.unlink(missing_ok=True)
                got = texts(run(program, *words, "--device=cuda", f"--jobs={jobs}", "in", status=None, cwd=folder,
                                variables=gpu(log=log, **more)))
                what = f"{words} with {jobs} threads and {more}"
                check(got[0] == expected[0], f"{what}: exit status {got[0]}, expected {expected[0]}")
                check(got[1] == expected[1], f"{what} prints something else")
                check(got[2] == expected[2], f"{what} says something else: {got[2][-300:]!r}")
                check(not {"--region=3,2,9,5", "--salvage"}.isdisjoint(words) or log.read_text() != "cuda:0 0\n",
                      f"{what}: the device has done nothing")
    print(f"{compared} lines compared")
    check(compared > 1000, "nothing was compared")


def compare_files(a, b, what):
    names = sorted(path.name for path in a.iterdir())
    check(names == sorted(path.name for path in b.iterdir()), f"{what}: other files are written")
    wrong = [name for name in names if (a / name).read_bytes() != (b / name).read_bytes()]
    check(not wrong, f"{what}: other bytes in {wrong[:5]}")
    return len(names)


def test_written(program, folder):
    make_files(folder / "in")
    names = [path.relative_to(folder) for path in sorted((folder / "in").glob("*.png"))]
    log, compared = folder / "log", 0
    for i, words in enumerate(TRANSFORMS):
        cpu, cuda = folder / f"{i}a", folder / f"{i}b"
        expected = run(program, *words, "--device=cpu", *names, "-o", cpu, status=None, cwd=folder)
        for jobs, more in (1, {}), (3, {"doubt": 3}):
            log.unlink(missing_ok=True)
            got = run(program, *words, "--device=cuda", f"--jobs={jobs}", *names, "-o", cuda, "--force", status=None,
                      cwd=folder, variables=gpu(log=log, **more))
            what = f"{words} with {jobs} threads"
            said = [re.sub(rb" in [0-9.]+ s\b.*", b"", done.stderr.replace(str(to).encode(), b"OUT"))
                    for done, to in ((expected, cpu), (got, cuda))]
            check(got.returncode == expected.returncode and said[0] == said[1], f"{what} says something else: {said[1][-300:]!r}")
            compared += compare_files(cpu, cuda, what)
            calls = sum(int(line.split()[1]) for line in log.read_text().splitlines())
            check(calls > 50, f"{what}: the device has done nothing")
    print(f"{compared} files compared")
    check(compared > 1000, "nothing was compared")


def test_plain(program, folder):
    """Without IMGSTAT_DECODE=threads a device decodes no small folder, and with plain none at all."""
    log = folder / "log"
    make_files(folder / "in")
    for way in "auto", "plain":
        log.unlink(missing_ok=True)
        run(program, "stats", "--device=cuda", "--jobs=2", *sorted((folder / "in").glob("*right.png")),
            variables={**gpu(log=log), "IMGSTAT_DECODE": way})
        calls = sum(int(line.split()[1]) for line in log.read_text().splitlines())
        check(calls == 150, f"{way}: {calls} calls, one was to be for each file")


def test_lost(program, folder):
    """A device that was named and fails fails what it had; the processor goes on with the others."""
    make_files(folder / "in")
    names = sorted((folder / "in").glob("*right.png"))
    expected = [texts(run(program, "stats", "--json", name))[1] for name in names]
    for fault in "0:3", "0:4", "0:5":  # decoded, counted, decoded; two calls prepare
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
        written = sorted(path.name for path in out.iterdir())
        check(failed > 0 and len(written) == len(names) - failed, f"{fault}: {failed} failed, {len(written)} are there")
        check(all((out / name).read_bytes() == (folder / "cpu" / name).read_bytes() for name in written), f"{fault}: bytes")
    done = run(program, "normalize", "--device=cuda", *names, "-o", folder / "none", status=1, variables=gpu(fault="0:0"))
    check(b"cuda:0: it was unplugged" in done.stderr, f"{done.stderr!r}")


if __name__ == "__main__":
    if not MODULE:
        print("IMGSTAT_STAND_IN names no module")
        sys.exit(77)
    harness.main(globals())
