#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists of devices: images are dealt out, bytes stay, and one that fails is named. GPUs are stand-ins (stand_in.c).

usage: test_device_lists.py IMGSTAT
"""

import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import device_ways
import harness
from harness import check, run

PHOTO = harness.TESTDATA / "photo.tif"
MODULE = os.environ.get("IMGSTAT_STAND_IN", "")


def gpus(n, **more):
    return {"IMGSTAT_CUDA_MODULE": MODULE, "IMGSTAT_STAND_IN_GPUS": str(n),
            **{f"IMGSTAT_STAND_IN_{name.upper()}": str(value) for name, value in more.items()}}


def files(folder, n=24):
    names = [folder / f"{i:02}.png" for i in range(n)]
    for i, name in enumerate(names):
        name.write_bytes(harness.png(64, 48, 8, bytes((i * 7 + k * k) % 256 for k in range(64 * 48))))
    return names


def test_sentences(program, folder):
    names = "valid names are cpu, cuda, cuda:N, lists such as cuda:0,1, and cuda:all"
    for text in ("cuda:0,x", "cuda:", "cuda:,", "cuda:0,", "cuda:,1", "cuda:0,,1", "cuda:0, 1", "cuda:0,-1", "cpu,cuda",
                 "cpu:0,1", "cpu:all", "cuda,cuda", "cuda:0,cuda:1", "all", ":all", "cuda:ALL", "cuda:0,all"):
        for words in ["stats", "--json"], ["stats", "--by=all"], ["normalize", "-o", folder / "out"]:
            done = run(program, *words, "--device", text, PHOTO, status=2, variables=gpus(2))
            check(f'there is no device "{text}": {names}\n' in done.stderr.decode(), f"{text}: {done.stderr!r}")
            check(done.stdout == b"" and not (folder / "out").exists(), f"{text}: nothing is done")
    done = run(program, "--device", "cuda:" + ",".join(["0"] * 65), PHOTO, status=2, variables=gpus(2))
    check(b'0..." has more than 64 devices' in done.stderr, f"too many: {done.stderr!r}")
    run(program, "--device", "cuda:" + ",".join(["0"] * 64), PHOTO, variables=gpus(2))
    for text, number in ("cuda:0,2", 2), ("cuda:7,0,1", 7), ("cuda:0,999", 999):
        done = run(program, "--device", text, PHOTO, status=1, variables=gpus(2))
        check(done.stderr.endswith(b"cuda:%d: there are 2 CUDA devices, counted from 0\n" % number), f"{done.stderr!r}")
    done = run(program, "--device", "cuda:0,1", PHOTO, status=1, variables=gpus(1))
    check(done.stderr.endswith(b"cuda:1: there is 1 CUDA device, counted from 0\n"), f"{done.stderr!r}")
    for text in "cuda:all", "cuda:0,1":
        done = run(program, "--device", text, PHOTO, status=1, variables=gpus(0))
        check(done.stderr.endswith(b"no CUDA device: no stand-in\n"), f"none is there: {done.stderr!r}")
        done = run(program, "--device", text, PHOTO, status=1, variables={"IMGSTAT_CUDA_MODULE": "/no/module.so"})
        check(b"no CUDA device: /no/module.so was not found" in done.stderr, f"no module: {done.stderr!r}")
    done = run(program, "--json", PHOTO, variables={**gpus(2), "IMGSTAT_DEVICE": "cuda:1,1"})
    check(b'"device":"cuda:1"' in done.stdout, "the environment may name a list")


def test_bytes(program, folder):
    device_ways.make_files(folder)
    device_ways.compare_ways(program, folder, ["cuda:0,0", "cuda:2,0,1"], gpus(3))


def test_dealing(program, folder):
    """Workers take the devices in turn; those that are not listed stay closed."""
    log, names = folder / "log", files(folder)
    for command in ["stats", "--json"], ["stats", "--by=all", "--json"], ["normalize", "-o", folder / "out", "--force"], \
            ["normalize", "--together=all", "-o", folder / "out", "--force"]:
        for device, listed in ("cuda:0,1", [0, 1]), ("cuda:2,0", [0, 2]), ("cuda:all", [0, 1, 2]), ("cuda:1,1", [1]):
            log.unlink(missing_ok=True)
            run(program, *command, "--device", device, "--jobs", 6, *names,
                variables=gpus(3, log=log, meet=len(listed)))
            lines = [line.split() for line in log.read_text().splitlines()]
            opened = Counter(int(name[5:]) for name, *_ in lines)
            work = Counter()
            for name, calls, _ in lines:
                work[int(name[5:])] += int(calls)
            check(sorted(opened) == listed, f"{command}, {device}: {opened} were opened")
            check(all(work[gpu] > 0 for gpu in listed), f"{command}, {device}: {work}")
    log.unlink()
    run(program, "stats", "--device=cuda:0,1", "--jobs=1", *names, variables=gpus(2, log=log))
    check(log.read_text() == "cuda:0 24 0\n", "one thread has one device")


def test_lost_device(program, folder):
    """A device that was named and fails fails the file that it had; the others go on."""
    names = files(folder)
    expected = run(program, "normalize", "-o", folder / "cpu", *names) and \
        {path.name: path.read_bytes() for path in (folder / "cpu").iterdir()}
    for fault in "1:1", "1:2", "0:2", "1:0":  # measured, mapped, mapped, not opened
        out = folder / f"out{fault[0]}{fault[2]}"
        done = run(program, "normalize", "--device=cuda:0,1", "--jobs=2", "-o", out, *names, status=1,
                   variables=gpus(2, fault=fault, meet=2))
        said = done.stderr.decode().splitlines()
        failed = [line for line in said if "it was unplugged" in line]
        check(len(failed) == 1 and f": cuda:{fault[0]}: it was unplugged" in failed[0], f"{fault}: {said}")
        written = {path.name: path.read_bytes() for path in out.iterdir()}
        check(len(written) == 23 and all(expected[name] == data for name, data in written.items()),
              f"{fault}: {len(written)} files, or other bytes")
    for fault in "1:1", "0:1", "1:0":
        done = run(program, "stats", "--json", "--device=cuda:0,1", "--jobs=2", *names, status=1,
                   variables=gpus(2, fault=fault, meet=2))
        check(done.stdout.count(b'"error":"device"') == 1 and done.stdout.count(b'"mean"') == 23, f"{fault}: {done.stderr}")
    done = run(program, "normalize", "--device=cuda:0,1", "--jobs=2", "-o", folder / "none", *names, status=1,
               variables=gpus(2, fault="0:1 1:1", meet=2))
    check(done.stderr.count(b"it was unplugged") == 24, "once all are lost, so are all files")


def test_lost_in_data_sets(program, folder):
    """Nothing that was measured together lacks a file in silence."""
    names = files(folder)
    done = run(program, "stats", "--by=all", "--json", "--device=cuda:0,1", "--jobs=2", *names, status=1,
               variables=gpus(2, fault="1:1", meet=2))
    check(b'"files":23,' in done.stdout and b'"failed":1' in done.stdout, f"{done.stdout[:300]} {done.stderr}")
    check(b"cuda:1: it was unplugged" in done.stderr, f"{done.stderr}")
    for fault in "1:0", "1:1":
        done = run(program, "normalize", "--together=all", "--device=cuda:0,1", "--jobs=2", "-o", folder / fault[2], *names,
                   status=1, variables=gpus(2, fault=fault, meet=2))
        check(b"cuda:1: it was unplugged" in done.stderr, f"{fault}: {done.stderr}")


if __name__ == "__main__":
    if not MODULE:
        print("IMGSTAT_STAND_IN names no module")
        sys.exit(77)
    harness.main(globals())
