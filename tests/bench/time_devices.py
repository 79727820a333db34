#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of devices.sh. usage: time_devices.py IMGSTAT DIR NAME...

Devices take turns, so that what else the machine does meets all of them. Auto is compared with the better device, so
rows of milliseconds, which differ by as much from run to run, are repeated for BRIEF seconds a device.

Environment: RUNS (default 3), THREADS (default: "1 4" and all), DEVICES (default "cpu cuda auto"), WORK (default
"table,--json,all": what stats is to print; all: JSON with shape and percentiles, for floats in place of --json; further
normalize, bytes (with --depth 8), gamma, percentile, equalize, equalize-8 (with --depth 8) and clahe), WRITTEN (folder
for what transforms write, which is removed after each run; default: /dev/shm where it is there, so that no disk is timed).
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {"table": ["stats"], "--json": ["stats", "--json"],
        "all": ["stats", "--json", "--shape", "--percentiles=1,25,50,75,99"],
        "normalize": ["normalize"], "bytes": ["normalize", "--depth=8"], "gamma": ["normalize", "--method=gamma=2.2"],
        "percentile": ["normalize", "--method=percentile"], "equalize": ["equalize"],
        "equalize-8": ["equalize", "--depth=8"], "clahe": ["equalize", "--clahe"]}
WIDE = ("u32", "f32", "f64")
BRIEF = 0.25


def seconds(program, device, threads, way, folder):
    """Of one run; what was chosen, and why."""
    command, *arguments = WAYS[way]
    words = [program, command, "--verbose", "--device", device, "--jobs", str(threads), *arguments, folder]
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=os.environ.get("WRITTEN", shared)) as written:
        if command != "stats":
            words += ["-o", Path(written) / "out"]
        began = time.monotonic()
        done = subprocess.run(words, capture_output=True, check=False, timeout=300)
        took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(done.stderr.decode(errors="replace")[-2000:])
    reason = re.search(rb"^imgstat \w+: device (\w+): (.*)", done.stderr, re.M)
    return took, reason[1].decode() if reason else "?", reason[2].decode() if reason else ""


def measure(program, folder, threads, way, runs):
    """Seconds of each device, by turns; what auto chose, and why."""
    times, choice = {device: [] for device in os.environ.get("DEVICES", "cpu cuda auto").split()}, ("", "")
    while any(len(taken) < runs or (sum(taken) < BRIEF and len(taken) < 50) for taken in times.values()):
        for device, taken in times.items():
            if len(taken) >= runs and sum(taken) >= BRIEF:
                continue
            took, *chosen = seconds(program, device, threads, way, folder)
            taken.append(took)
            choice = chosen if device == "auto" else choice
    return {device: statistics.median(taken) for device, taken in times.items()}, *choice


def row(program, folder, threads, way, runs):
    times, choice, reason = measure(program, folder, threads, way, runs)
    cells = [f"{times[device]:.3f}" if device in times else "-" for device in ("cpu", "cuda", "auto")]
    if len(times) == 3:
        cells += [choice, f"{times['auto'] / min(times['cpu'], times['cuda']):.2f}"]
    print("|", " | ".join([folder.name, way, str(threads), *cells]), "|", flush=True)
    estimate = re.search(r"take ([\d.e+-]+) s on cpu.* ([\d.e+-]+) s on cuda", reason)
    if estimate and len(times) == 3:
        print(f"{folder.name}, {way}, {threads}: cuda - cpu {times['cuda'] - times['cpu']:.3f} s, expected "
              f"{float(estimate[2]) - float(estimate[1]):.3f} s", file=sys.stderr)


def main():
    program, folder, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    everyone = len(os.sched_getaffinity(0))
    threads = [int(word) for word in os.environ.get("THREADS", f"1 4 {everyone}").split()]
    runs = int(os.environ.get("RUNS", "3"))
    work = os.environ.get("WORK", "table,--json,all").split(",")
    print("| images | work | threads | cpu s | cuda s | auto s | auto chose | auto / best |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |")
    for name in names:
        seconds(program, "cpu", everyone, "table", folder / name)  # into the cache
        for way in work:
            if way in (("--json", "clahe") if any(word in name for word in WIDE) else ("all",)):
                continue
            for n in threads:
                row(program, folder / name, n, way, runs)


if __name__ == "__main__":
    main()
