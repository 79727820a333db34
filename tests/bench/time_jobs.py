#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times whole jobs over folders on each device: many photographs measured and normalized, many small images.

usage: time_jobs.py IMGSTAT PHOTO SCRATCH

PHOTO is a PNG photograph of some megapixels; 64 different ones are made of it, and linked as often as needed. The files
are in the page cache; what is written goes to /dev/shm where it is there.

Environment: JOBS (a list of stats-256, stats-2000, normalize-256, normalize-2000, small-10000; default all of these; with
-strips or -tiles behind it a job is one of TIFFs, with -stack10 of stacks of 10 pages, with -page100 of one page of
100 x 100 tiles; normalize-256-tiles-png writes PNGs, and +fast behind it adds --fast), DEVICES (default "cpu,cuda,auto"),
THREADS (default "16,4"), RUNS (default 2, by turns; the least is printed; 0: only makes the files), SECONDS (nothing
begins after so many).
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import make_tiles

HERE = Path(__file__).resolve().parent
JOBS = os.environ.get("JOBS", "stats-256,stats-2000,normalize-256,normalize-2000,small-10000").split(",")
THREADS = [int(n) for n in os.environ.get("THREADS", "16,4").split(",")]
RUNS = int(os.environ.get("RUNS", "2"))
SECONDS = float(os.environ.get("SECONDS", "inf"))
DEVICES = os.environ.get("DEVICES", "cpu,cuda,auto").split(",")
DIFFERENT = 64
BEGAN = time.monotonic()


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode(errors="replace")[-2000:])


def link(sources, folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{i:05}{sources[0].suffix}" for i in range(count)]
    for i, file in enumerate(files):
        if not file.exists():
            os.link(sources[i % len(sources)], file)
    return files


def make_photographs(program, photo, folder, form):
    """Half of them compressed with searches for matches, as most files are, half as imgstat writes them; tiles all so."""
    there = sorted(folder.glob("*.*"))
    if len(there) == DIFFERENT:
        return there
    if form == "tiles":
        return make_tiles.make_photographs(program, photo, folder)
    folder.mkdir(parents=True, exist_ok=True)
    made, started = [], []
    for i in range(DIFFERENT):
        to = folder / f"{i:02}.{'tif' if form == 'strips' else 'png'}"
        made.append(to)
        started.append(subprocess.Popen([program, "normalize", "-q", "--device=cpu", "--force", "--jobs=1",
                                         f"--method=gamma={0.7 + 0.01 * i:.2f}", *(["--level=6"] if i % 2 else []), photo,
                                         "-o", to]))
    if any([process.wait() for process in started]):
        sys.exit("no photographs")
    return made


def make_stacks(program, photo, scratch, pages):
    tiles = scratch / "photographstiles"
    make_photographs(program, photo, tiles, "tiles")
    return make_tiles.make_stacks(tiles, scratch / f"stacks{pages}", pages)


def make_page(program, photo, folder, side):
    """One page of side x side of the tiles of photographs."""
    tiles, page = folder / "photographstiles", folder / f"page{side}.tif"
    make_photographs(program, photo, tiles, "tiles")
    if not page.exists():
        make_tiles.make_big(tiles, page, side, side)
    return [page]


def make_small(folder):
    run(sys.executable, HERE / "make_images.py", folder, f"{DIFFERENT}x512x512x1-u8-png")
    return sorted(folder.rglob("*.png"))


def timed(program, words, device, threads, files):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as out:
        began = time.monotonic()
        run(program, *[out if word == "OUT" else word for word in words], "--device", device, "--jobs", threads, *files)
        return time.monotonic() - began


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, photo, scratch = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3]).resolve()
    made = {}
    print(f"| job | threads | {' | '.join(f'{device} s' for device in DEVICES)} |")
    print(f"| --- | ---: |{' ---: |' * len(DEVICES)}")
    for job in JOBS:
        name, *options = job.split("+")
        kind, count, form, to = (name.split("-") + ["", ""])[:4]
        source = "small" if kind == "small" else form
        if source not in made:
            made[source] = (make_small(scratch / "small") if kind == "small"
                            else make_page(program, photo, scratch, int(form[4:])) if form.startswith("page")
                            else make_stacks(program, photo, scratch, int(form[5:])) if form.startswith("stack")
                            else make_photographs(program, photo, scratch / f"photographs{form}", form))
        words = (["normalize", "-q", "-o", "OUT", *([f"--format={to}"] if to else [])] if kind == "normalize"
                 else ["stats", "--json"]) + [f"--{option}" for option in options]
        files = link(made[source], scratch / name, int(count))
        run(program, "stats", "--device=cpu", *files[:DIFFERENT])  # into the cache
        for threads in THREADS:
            times = {device: [] for device in DEVICES}
            for _ in range(RUNS):
                for device in DEVICES:
                    if time.monotonic() - BEGAN < SECONDS:
                        times[device].append(timed(program, words, device, threads, files))
            if not all(times.values()):
                break
            print(f"| {job} | {threads} | {' | '.join(f'{min(times[device]):.2f}' for device in DEVICES)} |", flush=True)


if __name__ == "__main__":
    main()
