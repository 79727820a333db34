#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times `imgstat normalize` and `stats` over a folder of photographs: each device, and 1 to all processors.

usage: time_folder.py IMGSTAT PHOTOS SCRATCH

PHOTOS holds some PNG photographs of about 4 megapixels. SCRATCH gets COUNT copies of them (default 400) as PNG and as
TIFF with deflate strips, about 5 GB; what is written goes to /dev/shm where it is there, so that no disk is timed.
Environment: COUNT, SCALING_COUNT (files in the rows that vary the threads; default 96), RUNS (default 1, the least of
which is printed).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COUNT = int(os.environ.get("COUNT", "400"))
SCALING_COUNT = int(os.environ.get("SCALING_COUNT", "96"))
RUNS = int(os.environ.get("RUNS", "1"))


def run(command):
    began = time.monotonic()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode(errors="replace")[-2000:])
    return time.monotonic() - began


def copy_files(sources, folder, count):
    """Copies, not links: each has pages of its own in the system's cache."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        source = sources[i % len(sources)]
        shutil.copyfile(source, folder / f"{i:04}{source.suffix}")
    return folder


def make_inputs(program, photos, scratch):
    pngs = sorted(photos.glob("*.png"))
    if not pngs:
        sys.exit(f"no .png in {photos}")
    tiffs = scratch / "tiff"
    run([program, "normalize", "-q", "--force", "--method", "gamma=1", "--format", "tiff", "--compression", "deflate",
         "-o", tiffs, *pngs])
    kinds = {"PNG": pngs, "TIFF deflate": sorted(tiffs.iterdir())}
    return {kind: (copy_files(files, scratch / f"{i}-all", COUNT), copy_files(files, scratch / f"{i}-few", SCALING_COUNT))
            for i, (kind, files) in enumerate(kinds.items())}


def normalize(program, device, threads, folder):
    taken = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as out:
            taken.append(run([program, "normalize", "-q", "--device", device, "--jobs", threads, folder, "-o",
                              Path(out) / "out"]))
    return min(taken)


def stats(program, threads, folder):
    return min(run([program, "stats", "--json", "--device", "cpu", "--jobs", threads, folder]) for _ in range(RUNS))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, photos, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    scratch.mkdir(parents=True, exist_ok=True)
    inputs = make_inputs(program, photos, scratch)
    everyone = len(os.sched_getaffinity(0))

    print(f"| normalize, {COUNT} photographs | threads | cpu s | cuda s | auto s | auto / best |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind, (folder, _) in inputs.items():
        stats(program, everyone, folder)  # into the cache
        times = {device: normalize(program, device, everyone, folder) for device in ("cpu", "cuda", "auto")}
        print(f"| {kind} to {kind.split()[0]} | {everyone} | {times['cpu']:.2f} | {times['cuda']:.2f} | "
              f"{times['auto']:.2f} | {times['auto'] / min(times['cpu'], times['cuda']):.2f} |", flush=True)

    print(f"\n| {SCALING_COUNT} photographs, cpu | threads | s | times one thread | of the threads |")
    print("| --- | ---: | ---: | ---: | ---: |")
    threads = [n for n in (1, 2, 4, 8, 16, 32, 64) if n < everyone] + [everyone]
    for kind, (_, folder) in inputs.items():
        for name, job in (("stats", stats), ("normalize", lambda p, n, f: normalize(p, "cpu", n, f))):
            one = None
            for n in threads:
                taken = job(program, n, folder)
                one = one or taken
                print(f"| {name}, {kind} | {n} | {taken:.2f} | {one / taken:.2f} | {one / taken / n:.2f} |", flush=True)


if __name__ == "__main__":
    main()
