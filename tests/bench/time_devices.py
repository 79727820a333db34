#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of devices.sh. usage: time_devices.py IMGSTAT DIR NAME..."""

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

WAYS = {"table": [], "--json": ["--json"],
        "--json, shape, percentiles": ["--json", "--shape", "--percentiles=1,25,50,75,99"]}
WIDE = ("f32", "f64")


def seconds(program, device, threads, arguments, folder):
    began = time.monotonic()
    done = subprocess.run([program, "stats", "--verbose", "--device", device, "--jobs", str(threads), *arguments,
                           folder], capture_output=True, check=False, timeout=300)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(done.stderr.decode(errors="replace")[-2000:])
    reason = re.search(rb"stats: device (\w+): (.*)", done.stderr)
    return took, reason[1].decode() if reason else "?", reason[2].decode() if reason else ""


def row(program, folder, threads, way, runs):
    times, choice, reason = {}, "", ""
    for device in ("cpu", "cuda", "auto"):
        taken = []
        for _ in range(runs):
            took, chosen, why = seconds(program, device, threads, WAYS[way], folder)
            taken.append(took)
        times[device] = statistics.median(taken)
        if device == "auto":
            choice, reason = chosen, why
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
    print("| images | output | threads | cpu s | cuda s | auto s | auto chose | auto / best |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |")
    for name in names:
        seconds(program, "cpu", everyone, [], folder / name)  # into the cache
        for way in WAYS:
            if way.endswith("percentiles") and not any(word in name for word in WIDE):
                continue
            if way == "--json" and any(word in name for word in WIDE):
                continue
            for n in threads:
                row(program, folder / name, n, way, runs)


if __name__ == "__main__":
    main()
