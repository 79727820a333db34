#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times imgstat against libvips, GDAL, OpenImageIO and ImageMagick on the same files, as whole processes.

The programs of a row take turns, so that what else the machine does falls on all of them alike. Reported are the
medians, how many times faster imgstat is than each, the peak resident memory and the sizes of outputs; at the end as a
table in Markdown, and with --json as a file.

DIR holds photo.png, photo-raw.tif, photo-deflate.tif, photo-lzw.tif, photo16-*.tif, photof-raw.tif, gray*.*,
small/*.png: what is absent is left out, and so are programs that are not installed.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STATS_FILES = ["photo.png", "gray.png", "photo16.png", "photo-raw.tif", "gray-raw.tif", "photo16-raw.tif",
               "gray16-raw.tif", "photof-raw.tif", "photo-deflate.tif", "photo16-deflate.tif", "photo-lzw.tif"]
IDENTIFY = ["identify", "-format", "%[min] %[max] %[mean] %[standard-deviation]\n"]


class Row:
    """One job: {program: command}; output: the file that each command writes, for its size. It is new each time:
    imgstat waits for the disk before it replaces a file, the others do not."""

    def __init__(self, name, commands, output=None):
        self.name, self.commands, self.output = name, commands, output


def stats_rows(options, scratch):
    for name in STATS_FILES:
        path = options.dir / name
        if path.exists():
            yield Row(f"stats {name}", {
                "imgstat": [options.imgstat, *options.arguments, path],
                "vips": ["vips", "stats", path, scratch / "stats.csv"],
                "gdalinfo": ["gdalinfo", "-stats", path],
                "oiiotool": ["oiiotool", "--stats", path],
                "identify": [*IDENTIFY, path]})


def folder_rows(options, scratch):
    files = sorted((options.dir / "small").glob("*.png"))
    if not files:
        return
    listed = scratch / "files"
    listed.write_text("".join(f"{path}\n" for path in files))
    each = f"while read -r f; do vips stats \"$f\" {scratch}/stats.csv; done <{listed}"
    commands = {"imgstat": [options.imgstat, *options.arguments, *files],
                "vips": ["sh", "-c", each],
                "identify": ["xargs", "-a", listed, "-P", str(os.cpu_count()), "-n", "50", *IDENTIFY]}
    if options.vips_program:
        commands["libvips"] = [options.vips_program, *files]
    yield Row(f"stats {len(files)} small PNGs", commands)


def equalize_rows(options, scratch):
    """vips and convert equalize each channel by itself, so imgstat does too. Of 16 bits vips saves 8, nearly all white:
    there only libvips is compared, by a program that says what the samples are."""
    for name in ("photo.png", "photo16.png", "photo-raw.tif"):
        path = options.dir / name
        if not path.exists():
            continue
        out = scratch / f"out{path.suffix}"
        ours = [options.imgstat, "equalize", "--channels", "each", *options.arguments]
        commands = {"imgstat": [*ours, path, "-o", out],
                    "imgstat --fast": [*ours, "--fast", path, "-o", out],
                    "convert": ["convert", path, "-equalize", out]}
        if name != "photo16.png":
            commands["vips"] = ["vips", "hist_equal", path, out]
        elif options.vips_program:
            commands["libvips"] = [Path(options.vips_program).with_name("vips_equalize"), path, out]
        yield Row(f"equalize {name}", commands, out)


def start_rows(options, _):
    yield Row("start-up (--version)", {
        "imgstat": [options.imgstat, "--version"], "vips": ["vips", "--version"],
        "gdalinfo": ["gdalinfo", "--version"], "identify": ["identify", "-version"]})


ROWS = [stats_rows, folder_rows, equalize_rows, start_rows]


def anew(row):
    if row.output:
        row.output.unlink(missing_ok=True)


def run(command, environment):
    """Seconds of wall time, or None where the command failed."""
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
    return time.perf_counter() - began if done.returncode == 0 else None


def peak_kib(command, environment, scratch):
    """Peak resident memory. Through time(1): a child counts what its parent had before exec, and time is small."""
    if not shutil.which("time"):
        return None
    note = scratch / "peak"
    subprocess.run(["time", "-f", "%M", "-o", note, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=environment, check=False)
    return int(note.read_text().split()[-1])


def measure(row, options, environment, scratch):
    """{program: figures} of a row; the programs that are there and succeed."""
    commands = {name: [str(word) for word in words] for name, words in row.commands.items() if shutil.which(words[0])}
    times, sizes, peaks = {name: [] for name in commands}, {}, {}
    for name in list(commands):  # the first run of each warms the page cache and is not counted
        anew(row)
        if run(commands[name], environment) is None or (row.output and not row.output.exists()):
            print(f"{row.name}: {name} failed, left out", file=sys.stderr)
            del commands[name]
            continue
        sizes[name] = row.output.stat().st_size if row.output else None
        anew(row)
        peaks[name] = peak_kib(commands[name], environment, scratch)
    names = list(commands)
    for turn in range(options.runs):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            anew(row)
            seconds = run(commands[name], environment)
            if seconds is not None:
                times[name].append(seconds)
    return {name: {"median_s": statistics.median(times[name]), "min_s": min(times[name]), "max_s": max(times[name]),
                   "peak_kib": peaks[name], "output_bytes": sizes[name]} for name in names}


def show(row, figures):
    print(row.name)
    ours = figures.get("imgstat")
    for name, f in sorted(figures.items(), key=lambda item: item[1]["median_s"]):
        ratio = f"{f['median_s'] / ours['median_s']:8.2f}x" if ours else ""
        peak = f"{f['peak_kib'] / 1024:9.1f} MiB" if f["peak_kib"] else ""
        size = f"{f['output_bytes'] / 1e6:9.2f} MB" if f["output_bytes"] else ""
        print(f"  {name:16}{f['median_s'] * 1e3:10.1f} ms{ratio}{peak}{size}")
    others = {name: f for name, f in figures.items() if not name.startswith("imgstat")}
    if ours and others:
        best = min(others, key=lambda name: others[name]["median_s"])
        print(f"  -> {others[best]['median_s'] / ours['median_s']:.2f}x the fastest other ({best})")
    sys.stdout.flush()


def in_markdown(results):
    """The rows of a table of whole commands, as in docs/lab: times, and how many times as long the others take."""
    programs = sorted({name for row in results.values() for name in row} - {"imgstat"})
    yield "| job | imgstat ms | peak MiB | MB out | fastest other | " + " | ".join(programs) + " |"
    yield "| --- | ---: | ---: | ---: | --- |" + " ---: |" * len(programs)
    for name, figures in results.items():
        ours = figures.get("imgstat")
        others = {other: f for other, f in figures.items() if not other.startswith("imgstat")}
        if not ours or not others:
            continue
        best = min(others, key=lambda other: others[other]["median_s"])
        cells = [name, f"{ours['median_s'] * 1e3:.1f}", f"{(ours['peak_kib'] or 0) / 1024:.0f}",
                 f"{ours['output_bytes'] / 1e6:.2f}" if ours["output_bytes"] else "",
                 f"{best}: {others[best]['median_s'] / ours['median_s']:.2f}x"]
        for program in programs:
            f = figures.get(program)
            cells.append("" if not f else f"{f['median_s'] / ours['median_s']:.2f}x"
                         + (f", {f['peak_kib'] / 1024:.0f} MiB" if f["peak_kib"] else "")
                         + (f", {f['output_bytes'] / 1e6:.2f} MB" if f["output_bytes"] else ""))
        yield "| " + " | ".join(cells) + " |"


def version_of(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return next(iter(done.stdout.splitlines()), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path, metavar="DIR", help="folder of the input files")
    parser.add_argument("arguments", nargs="*", help="further arguments for imgstat, after --")
    parser.add_argument("--imgstat", default=str(ROOT / "build/release/imgstat"), help="the program (default: %(default)s)")
    parser.add_argument("--vips-program",
                        help="libvips in one process: build/release/tests/bench/vips_stats; vips_equalize beside it")
    parser.add_argument("--runs", type=int, default=9, help="counted runs of each command (default: %(default)s)")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if not shutil.which(options.imgstat):
        parser.error(f"no program {options.imgstat}: build it first, or name it with --imgstat")
    if not options.dir.is_dir():
        parser.error(f"{options.dir} is not a folder")

    # GDAL would keep what it found beside the file, and read it the next time instead of the pixels.
    environment = dict(os.environ, GDAL_PAM_ENABLED="NO", LC_ALL="C.UTF-8")
    machine = {"date": time.strftime("%Y-%m-%d"), "processors": os.cpu_count(), "system": platform.platform(),
               "imgstat": version_of([options.imgstat, "--version"])}
    print(f"{machine['date']}, {machine['processors']} processors, {machine['system']}; {options.runs} runs each\n")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for make in ROWS:
            for row in make(options, scratch):
                if options.only in row.name:
                    results[row.name] = measure(row, options, environment, scratch)
                    show(row, results[row.name])
    if not results:
        parser.error(f"nothing to measure: no row matches, or {options.dir} has none of the files")
    print("", *in_markdown(results), sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
