#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures testdata/ and the corpus on both devices: the JSON must be the same bytes, the device's name aside.

usage: corpus_devices.py IMGSTAT [WORD...]     only files whose path contains one of the words

The corpus is $IMGSTAT_CORPUS; without it testdata alone is compared. Without a GPU: exit status 77, or 1 if
IMGSTAT_REQUIRE_CUDA=1.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent.parent / "testdata"
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or HERE.parent.parent.parent / "shared" / "corpus")
PERCENTILES = "--percentiles=0,0.1,1,5,25,50,75,95,99,99.9,100"
WAYS = {
    "plain": [],
    "histogram": ["--histogram", "--cdf"],
    "shape, mode, percentiles": ["--shape", "--mode", PERCENTILES],
    "nearest, ddof": ["--interpolation=nearest", "--ddof=1", PERCENTILES],
    "bins": ["--histogram", "--bins=37"],
    "bins and range": ["--histogram", "--bins=1000", "--range=-3.5,200.25"],
    "indices, bins": ["--indices", "--histogram", "--bins=70000", "--shape"],
}
NAME = re.compile(rb'("device": ?")(cuda:0|cpu)(")')
SUFFIXES = (".png", ".tif", ".tiff")


def environment():
    return {key: value for key, value in os.environ.items() if key not in ("IMGSTAT_DEVICE", "IMGSTAT_JOBS")}


def run(program, device, arguments, files, folder):
    """Exit status, lines of standard output and of standard error: files that fail must fail alike."""
    began = time.monotonic()
    done = subprocess.run([program, "stats", "--json", "--device", device, *arguments, *files], cwd=folder,
                          env=environment(), capture_output=True, timeout=900, check=False)
    named = {match[1] for match in NAME.findall(done.stdout)}
    lines = [NAME.sub(rb"\1\3", line) for line in done.stdout.splitlines()]
    return done.returncode, lines, done.stderr.splitlines(), named, time.monotonic() - began


def first_difference(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return a[max(at - 80, 0):at + 60].decode(errors="replace"), b[max(at - 80, 0):at + 60].decode(errors="replace")


def compare(cpu, cuda, what):
    """How many lines differ; the first few are shown."""
    wrong = abs(len(cpu) - len(cuda))
    if wrong:
        print(f"{what}: cpu {len(cpu)} lines, cuda {len(cuda)}")
    for one, other in zip(cpu, cuda):
        if one == other:
            continue
        wrong += 1
        if wrong <= 5:
            there, here = first_difference(one, other)
            print(f"{what}: {one[:100].decode(errors='replace')} ...\n  cpu:  {there}\n  cuda: {here}")
    return wrong


def compare_folder(program, folder, files):
    failures = compared = 0
    for way, arguments in WAYS.items():
        cpu, cuda = (run(program, device, arguments, files, folder) for device in ("cpu", "cuda"))
        if cuda[0] not in (0, 1) or cpu[0] != cuda[0]:
            failures += 1
            print(f"{way}: exit status {cpu[0]} on cpu, {cuda[0]} on cuda\n" +
                  b"\n".join(cuda[2][-5:]).decode(errors="replace"))
        if not cpu[3] <= {b"cpu"} or not cuda[3] <= {b"cuda:0"}:
            failures += 1
            print(f"{way}: measured on {cpu[3] | cuda[3]}")
        wrong = compare(cpu[1], cuda[1], way) + compare(cpu[2], cuda[2], f"{way}, standard error")
        failures += wrong
        compared += len(cpu[1])
        print(f"{folder.name}, {way}: {len(cpu[1])} lines, {wrong} differ; cpu {cpu[4]:.1f} s, cuda {cuda[4]:.1f} s",
              flush=True)
    return compared, failures


def main():
    program = Path(sys.argv[1]).resolve()
    listed = subprocess.run([program, "devices"], capture_output=True, check=True).stdout.decode()
    if "cuda:0" not in listed:
        print(f"no CUDA device:\n{listed}")
        sys.exit(1 if os.environ.get("IMGSTAT_REQUIRE_CUDA") == "1" else 77)
    assert compare([b'{"mean": 1.5}'], [b'{"mean": 1.25}'], "planted difference, to be seen") == 1
    compared = failures = 0
    for folder in (TESTDATA, CORPUS):
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                       if path.suffix.lower() in SUFFIXES and path.is_file()
                       and (len(sys.argv) < 3 or any(word in str(path) for word in sys.argv[2:])))
        if files:
            counts = compare_folder(program, folder, files)
            compared, failures = compared + counts[0], failures + counts[1]
    print(f"{compared} lines compared, {failures} failures")
    sys.exit(1 if failures or not compared else 0)


if __name__ == "__main__":
    main()
