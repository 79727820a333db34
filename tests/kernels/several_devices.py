#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One GPU, one GPU twice, and several where there are: records, outputs and texts are the bytes of the CPU.

usage: several_devices.py IMGSTAT. Without a GPU: exit status 77, or 1 if IMGSTAT_REQUIRE_CUDA=1.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import device_ways
import harness


def gpus(program):
    return re.findall(r"^cuda:\d+", harness.run(program, "devices").stdout.decode(), re.M)


def test_bytes(program, folder):
    n = len(gpus(program))
    device_ways.make_files(folder)
    devices = ["cuda", "cuda:0,0"] + ["cuda:0,1"] * (n > 1)
    if n < 2:
        harness.skip("there is one GPU: cuda:0,0 stands in for cuda:0,1")
    device_ways.compare_ways(program, folder, devices)


def test_shares(program, folder):
    """Each GPU of the list measures some of the files."""
    listed = gpus(program)
    names = [folder / f"{i}.png" for i in range(64)]
    for name in names:
        name.write_bytes(harness.png(1500, 1000, 16, os.urandom(3000) * 1000, 1))
    done = harness.run(program, "stats", "--json", "--device=cuda:all", "--jobs", 2 * len(listed), *names)
    used = set(re.findall(r'"device":"([^"]*)"', done.stdout.decode()))
    harness.check(used == set(listed), f"{sorted(used)} worked, of {listed}")


def test_numbers(program, folder):
    n = len(gpus(program))
    done = harness.run(program, "stats", f"--device=cuda:0,{n}", harness.TESTDATA / "photo.tif", status=1)
    harness.check(f"cuda:{n}: there {'is' if n == 1 else 'are'} {n} CUDA device".encode() in done.stderr,
                  f"the number that is not there is named: {done.stderr!r}")


if __name__ == "__main__":
    if not gpus(str(Path(sys.argv[1]).resolve())):
        print("no CUDA device")
        sys.exit(1 if os.environ.get("IMGSTAT_REQUIRE_CUDA") == "1" else 77)
    harness.main(globals())
