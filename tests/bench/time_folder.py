#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times `imgstat normalize` and `stats` over a folder of photographs: each device, and 1 to all processors.

usage: time_folder.py IMGSTAT PHOTOS SCRATCH

PHOTOS holds some PNG photographs of about 4 megapixels. SCRATCH gets copies of them as PNG and as TIFF with deflate
strips, about 5 GB; what is written goes to /dev/shm where it is there, so that no disk is timed.

Scaling is weak: a row of n threads has n times as many files as that of one. Its control is n processes of one thread,
each with as many files as the row of one: what the machine itself makes of n of its processors, which may share their
clock, their caches or, as virtual ones, a core. `of the threads` is the time of one thread over that of the row, and so
is `of the processes` for the control; `of the control` is the first over the second.

Environment: COUNT (files that each device normalizes; default 400, 0 for none), STATS_FILES and NORMALIZE_FILES (for
each thread; default 16 and 7), KINDS (default "PNG,TIFF deflate"), RUNS (default 2, by turns; the least is printed).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COUNT = int(os.environ.get("COUNT", "400"))
FILES = {"stats": int(os.environ.get("STATS_FILES", "16")), "normalize": int(os.environ.get("NORMALIZE_FILES", "7"))}
KINDS = os.environ.get("KINDS", "PNG,TIFF deflate").split(",")
RUNS = int(os.environ.get("RUNS", "2"))
EVERYONE = len(os.sched_getaffinity(0))


def run(*commands):
    """Seconds until the last of them, started together, has ended."""
    began = time.monotonic()
    started = [subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
               for command in commands]
    failures = [process.communicate()[1] for process in started]
    taken = time.monotonic() - began
    for process, failure in zip(started, failures):
        if process.returncode != 0:
            sys.exit(failure.decode(errors="replace")[-2000:])
    return taken


def copy_files(sources, folder, count):
    """Copies, not links: each has pages of its own in the system's cache."""
    folder.mkdir(parents=True, exist_ok=True)
    copies = [folder / f"{i:04}{sources[i % len(sources)].suffix}" for i in range(count)]
    for i, copy in enumerate(copies):
        shutil.copyfile(sources[i % len(sources)], copy)
    return copies


def make_inputs(program, photos, scratch):
    pngs = sorted(photos.glob("*.png"))
    if not pngs:
        sys.exit(f"no .png in {photos}")
    tiffs = scratch / "tiff"
    run([program, "normalize", "-q", "--force", "--method", "gamma=1", "--format", "tiff", "--compression", "deflate",
         "-o", tiffs, *pngs])
    sources = {"PNG": pngs, "TIFF deflate": sorted(tiffs.iterdir())}
    count = max(COUNT, *(n * EVERYONE for n in FILES.values()))
    return {kind: copy_files(sources[kind], scratch / str(i), count) for i, kind in enumerate(KINDS)}


def stats(program, threads, files, _):
    return [program, "stats", "--json", "--device", "cpu", "--jobs", threads, *files]


def normalize(program, threads, files, out, device="cpu"):
    return [program, "normalize", "-q", "--device", device, "--jobs", threads, *files, "-o", out]


def timed(*jobs):
    """jobs: each makes a command, given a folder to write to."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as out:
        return run(*(job(Path(out) / str(i)) for i, job in enumerate(jobs)))


def time_devices(program, inputs):
    print(f"| normalize, {COUNT} photographs | threads | cpu s | cuda s | auto s | auto / best |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind, files in inputs.items():
        run(stats(program, EVERYONE, files, None))  # into the cache
        times = {device: timed(lambda out, d=device: normalize(program, EVERYONE, files[:COUNT], out, d))
                 for device in ("cpu", "cuda", "auto")}
        print(f"| {kind} to {kind.split()[0]} | {EVERYONE} | {times['cpu']:.2f} | {times['cuda']:.2f} | "
              f"{times['auto']:.2f} | {times['auto'] / min(times['cpu'], times['cuda']):.2f} |", flush=True)
    print()


def time_threads(program, job, files, each, threads):
    """A row of threads and its control, by turns."""
    files = files[:threads * each]
    rows, controls = [], []
    for _ in range(RUNS):
        rows.append(timed(lambda out: job(program, threads, files, out)))
        controls.append(timed(*(lambda out, i=i: job(program, 1, files[i * each:(i + 1) * each], out)
                                for i in range(threads))))
    return min(rows), min(controls)


def time_scaling(program, inputs):
    print("| cpu | threads | files | s | of the threads | control s | of the processes | of the control |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind, files in inputs.items():
        run(stats(program, EVERYONE, files, None))  # into the cache
        for job in (stats, normalize):
            each, one = FILES[job.__name__], None
            for threads in [n for n in (1, 2, 4, 8, 16, 32, 64) if n < EVERYONE] + [EVERYONE]:
                taken, control = time_threads(program, job, files, each, threads)
                one = one or min(taken, control)  # the same for one
                print(f"| {job.__name__}, {kind} | {threads} | {threads * each} | {taken:.2f} | {one / taken:.2f} | "
                      f"{control:.2f} | {one / control:.2f} | {control / taken:.2f} |", flush=True)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, photos, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    scratch.mkdir(parents=True, exist_ok=True)
    inputs = make_inputs(program, photos, scratch)
    if COUNT > 0:
        time_devices(program, inputs)
    time_scaling(program, inputs)


if __name__ == "__main__":
    main()
