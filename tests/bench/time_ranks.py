#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times `imgstat stats` on 1 to all processors: threads of one process, and ranks of imgstat-mpi.

usage: time_ranks.py IMGSTAT IMGSTAT_MPI SCRATCH

SCRATCH gets 64 PNG images of 2048 x 1536 RGB, about 250 MB. A row of n processors measures n * FILES names, which repeat
these images: files come from the system's cache, and decoding takes the time. `start` is a job of the same ranks with one
tiny image: what mpirun, MPI_Init and MPI_Finalize take. `mpirun true` is the part of it that starts programs without MPI.
Threads and ranks take turns; the least of RUNS is printed. `ratio` is the time of threads over that of ranks, `without
start` over that of ranks less `start`.

Environment: FILES (default 64), RUNS (default 2), COUNTS (processors; default "1 2 4 8 16", up to all), COMMANDS
(default "stats --json,stats --by all --json"), THREADS (of a rank; default 1), SHARDS (--shards of a rank; default: as
imgstat-mpi chooses), MPIRUN (default "mpirun" with options for Open MPI)
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES, RUNS = int(os.environ.get("FILES", "64")), int(os.environ.get("RUNS", "2"))
COMMANDS = [command.split() for command in os.environ.get("COMMANDS", "stats --json,stats --by all --json").split(",")]
MPIRUN = os.environ.get("MPIRUN", "mpirun --allow-run-as-root --oversubscribe --bind-to none").split()
THREADS, SHARDS = int(os.environ.get("THREADS", "1")), int(os.environ.get("SHARDS", "0"))
EVERYONE = len(os.sched_getaffinity(0))
IMAGES, TINY = "64x2048x1536x3-u8-png", "1x8x8x1-u8-png"


def run(command, out):
    """Seconds, and processor seconds of all processes."""
    began, before = time.monotonic(), os.times()
    with open(out, "wb") as stdout:
        done = subprocess.run([str(word) for word in command], stdout=stdout, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace')[-2000:]}")
    after = os.times()
    return (time.monotonic() - began,
            after.children_user + after.children_system - before.children_user - before.children_system)


def make_lists(scratch, counts):
    subprocess.run([sys.executable, HERE / "make_images.py", scratch, IMAGES, TINY], check=True)
    images = sorted((scratch / IMAGES).iterdir())
    lists = {}
    for n in counts:
        lists[n] = scratch / f"list-{n}"
        lists[n].write_bytes(b"".join(os.fsencode(images[i % len(images)]) + b"\0" for i in range(n * FILES)))
    return lists


def describe():
    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")]
    quota = Path("/sys/fs/cgroup/cpu.max")
    version = subprocess.run([MPIRUN[0], "--version"], stdout=subprocess.PIPE, check=False).stdout.split(b"\n")[0].decode()
    print(f"{EVERYONE} processors ({model[0] if model else '?'}), cpu.max {quota.read_text().strip() if quota.exists() else '?'}; "
          f"{version}: {' '.join(MPIRUN)}\n")


def time_row(imgstat, mpi, command, n, names, scratch):
    threads = [imgstat, *command, "--device", "cpu", "--jobs", n, "--files0-from", names]
    count = n // THREADS
    start = [*MPIRUN, "-n", count, mpi, *command, "--device", "cpu", "--jobs", THREADS]
    ranks = [*start, *(("--shards", count * SHARDS) if SHARDS else ()), "--files0-from", names]
    tiny = next((scratch / TINY).iterdir())
    one, other, nothing = scratch / "threads", scratch / "ranks", scratch / "start"
    times = [(run(threads, one), run(ranks, other), run([*start, tiny], nothing),
              run([*MPIRUN, "-n", count, "true"], nothing)) for _ in range(RUNS)]
    if one.read_bytes() != other.read_bytes():
        sys.exit(f"{n} ranks print other bytes than {n} threads")
    return [min(column) for column in zip(*times)]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    imgstat, mpi, scratch = (Path(word).resolve() for word in sys.argv[1:])
    counts = [int(n) for n in os.environ.get("COUNTS", "1 2 4 8 16").split() if THREADS <= int(n) <= EVERYONE]
    lists = make_lists(scratch, counts)
    describe()
    run([imgstat, "stats", "--json", "--files0-from", lists[max(counts)]], "/dev/null")  # into the cache
    print("| command | processors | ranks | files | threads s | ranks s | start s | mpirun true s | ratio | without start | processor s of "
          "threads, ranks |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for command in COMMANDS:
        for n in counts:
            threads, ranks, start, true = time_row(imgstat, mpi, command, n, lists[n], scratch)
            print(f"| {' '.join(command)} | {n} | {n // THREADS} | {n * FILES} | {threads[0]:.2f} | {ranks[0]:.2f} | {start[0]:.2f} | "
                  f"{true[0]:.2f} | {threads[0] / ranks[0]:.3f} | {threads[0] / (ranks[0] - start[0]):.3f} | "
                  f"{threads[1]:.2f}, {ranks[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
