#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of devices.sh. usage: time_devices.py IMGSTAT DIR NAME...

Devices take turns, so that what else the machine does meets all of them. Auto is compared with the better device, so
rows of milliseconds, which differ by as much from run to run, are repeated for BRIEF seconds a device.

Environment: RUNS (default 3), THREADS (default: "1 4" and all), OUTPUTS (default "table,--json,all"; all: JSON with
shape and percentiles, for floats in place of --json).
"""

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

WAYS = {"table": [], "--json": ["--json"],
        "all": ["--json", "--shape", "--percentiles=1,25,50,75,99"]}
WIDE = ("f32", "f64")
BRIEF = 0.25


def seconds(program, device, threads, arguments, folder):
    began = time.monotonic()
    done = subprocess.run([program, "stats", "--verbose", "--device", device, "--jobs", str(threads), *arguments,
                           folder], capture_output=True, check=False, timeout=300)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(done.stderr.decode(errors="replace")[-2000:])
    reason = re.search(rb"stats: device (\w+): (.*)", done.stderr)
    return took, reason[1].decode() if reason else "?", reason[2].decode() if reason else ""


def measure(program, folder, threads, way, runs):
    """Seconds of each device, by turns; what auto chose, and why."""
    times, choice = {"cpu": [], "cuda": [], "auto": []}, None
    while any(len(taken) < runs or (sum(taken) < BRIEF and len(taken) < 50) for taken in times.values()):
        for device, taken in times.items():
            if len(taken) >= runs and sum(taken) >= BRIEF:
                continue
            took, *chosen = seconds(program, device, threads, WAYS[way], folder)
            taken.append(took)
            choice = chosen if device == "auto" else choice
    return {device: statistics.median(taken) for device, taken in times.items()}, *choice


def row(program, folder, threads, way, runs):
    times, choice, reason = measure(program, folder, threads, way, runs)
    best = min(times["cpu"], times["cuda"])
    print(f"| {folder.name} | {way} | {threads} | {times['cpu']:.3f} | {times['cuda']:.3f} | {times['auto']:.3f} | "
          f"{choice} | {times['auto'] / best:.2f} |", flush=True)
    estimate = re.search(r"take ([\d.e+-]+) s on cpu.* ([\d.e+-]+) s on cuda", reason)
    if estimate:
        print(f"{folder.name}, {way}, {threads}: cuda - cpu {times['cuda'] - times['cpu']:.3f} s, expected "
              f"{float(estimate[2]) - float(estimate[1]):.3f} s", file=sys.stderr)


def main():
    program, folder, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    everyone = len(os.sched_getaffinity(0))
    threads = [int(word) for word in os.environ.get("THREADS", f"1 4 {everyone}").split()]
    runs = int(os.environ.get("RUNS", "3"))
    outputs = os.environ.get("OUTPUTS", "table,--json,all").split(",")
    print("| images | output | threads | cpu s | cuda s | auto s | auto chose | auto / best |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |")
    for name in names:
        seconds(program, "cpu", everyone, [], folder / name)  # into the cache
        for way in outputs:
            if way == ("--json" if any(word in name for word in WIDE) else "all"):
                continue
            for n in threads:
                row(program, folder / name, n, way, runs)


if __name__ == "__main__":
    main()
