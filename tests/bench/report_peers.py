#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""imgstat report beside cleanvision, fastdup and MultiQC, on the same images with planted defects.

Makes folders of gray images of 8 and 16 bits (PNG) and of floats from 0 to 1 (TIFF), the same scenes in each: most are
exposed alike, some dark, bright, constant or copies of others. Prints a table in Markdown: time, processor time, largest
memory, bytes of the page, and of the planted images how many were found and how many others were named with them. A dash:
the program has no such answer. MultiQC reads no images: it gets what `imgstat stats --csv` prints. What is not installed
is left out. Needs numpy, Pillow and tifffile.

usage: report_peers.py IMGSTAT FOLDER [--images N]"""
import argparse
import csv
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

SIDE = 256
KINDS = {"u8": "png", "u16": "png", "f32": "tiff"}
DEFECTS = {"dark": 20, "bright": 20, "constant": 10, "duplicate": 10}


def scenes(n):
    """Values from 0 to 1, with the name of each."""
    source = np.random.default_rng(1)
    names = [defect for defect, count in DEFECTS.items() for _ in range(count)]
    names = names + ["plain"] * (n - len(names))
    for i, defect in enumerate(names):
        coarse = Image.fromarray(source.random((9, 9), np.float32)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        values = 0.5 + 0.05 * source.standard_normal() + 0.5 * (np.asarray(coarse) - 0.5)
        values = values + source.normal(0, 0.02, values.shape)
        if defect == "dark":
            values = 0.03 + 0.02 * values
        elif defect == "bright":
            values = 0.95 + 0.02 * values
        elif defect == "constant":
            values = np.full_like(values, 0.3 + 0.0037 * i)
        yield f"{defect}{i:04}", np.clip(values, 0.002, 0.998)


def save(values, kind, path, level):
    if kind == "f32":
        tifffile.imwrite(path, values.astype(np.float32), compression="zlib", compressionargs={"level": level})
        return
    dtype = np.uint8 if kind == "u8" else np.uint16
    Image.fromarray(np.rint(values * np.iinfo(dtype).max).astype(dtype)).save(path, compress_level=level)


def make(folder, n):
    for kind in KINDS:
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for name, values in scenes(n):
        for kind, ending in KINDS.items():
            save(values, kind, folder / kind / f"{name}.{ending}", 6)
            if name.startswith("duplicate"):  # the same samples in a file of other bytes
                save(values, kind, folder / kind / f"{name}-copy.{ending}", 1)


# ---- Each program: the names that it gives each defect, and the bytes of its page ----

def imgstat(program, images, work):
    page = work / "imgstat.html"
    done = subprocess.run([program, "report", "--json", "--force", images, "-o", page], capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = {defect: {Path(line["file"]).stem for line in lines if defect in line["flags"]} for defect in DEFECTS}
    return found, page.stat().st_size


def cleanvision(_, images, work):
    from cleanvision import Imagelab
    lab = Imagelab(data_path=str(images))
    lab.find_issues()
    lab.save(str(work / "cleanvision"), force=True)

    def flagged(name):
        column = f"is_{name}_issue"
        rows = lab.issues[lab.issues[column]] if column in lab.issues else []
        return {Path(path).stem for path in getattr(rows, "index", [])}
    sets = lab.info.get("exact_duplicates", {}).get("sets", []) + lab.info.get("near_duplicates", {}).get("sets", [])
    return {"dark": flagged("dark"), "bright": flagged("light"), "constant": flagged("low_information"),
            "duplicate": {Path(path).stem for group in sets for path in group}}, None


def fastdup(_, images, work):
    import fastdup as module
    found = module.create(work_dir=str(work / "fastdup"), input_dir=str(images))
    found.run(overwrite=True, print_summary=False)
    names = {row["index"]: Path(row["filename"]).stem for _, row in found.annotations().iterrows()}
    pairs = found.similarity()
    pairs = pairs[pairs["distance"] >= 0.99]
    found.vis.duplicates_gallery()
    return {"duplicate": {names[i] for name in ("from", "to") for i in pairs[name] if i in names}}, \
        sum(path.stat().st_size for path in (work / "fastdup").rglob("*.html"))


def multiqc(program, images, work):
    folder = work / "multiqc"
    folder.mkdir(exist_ok=True)
    done = subprocess.run([program, "stats", "--csv", images], capture_output=True, check=True, text=True)
    with open(folder / "imgstat_mqc.csv", "w", encoding="utf-8") as out:
        out.write("# plot_type: table\n")
        for row in csv.reader(done.stdout.splitlines()):
            out.write(",".join([Path(row[0]).stem, *row[17:19], *row[23:26]]) + "\n")
    subprocess.run([sys.executable, "-m", "multiqc", "--force", "--quiet", "--outdir", folder, folder], check=True,
                   capture_output=True)
    return {}, (folder / "multiqc_report.html").stat().st_size


def measured(function, words, answers):
    os.dup2(2, 1)  # programs talk
    start = time.monotonic()
    try:
        found, size = function(*words)
    except Exception as error:  # what another program cannot do is a row of the table
        answers.put(f"{type(error).__name__}: {error}".splitlines()[0])
        return
    wall = time.monotonic() - start
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    answers.put((found, size, wall, sum(one.ru_utime + one.ru_stime for one in usage),
                 max(one.ru_maxrss for one in usage) / 1024))


def row(name, kind, answer, planted):
    if isinstance(answer, str):
        return f"| {kind} | {name} | {answer} |"
    found, size, wall, cpu, memory = answer
    cells = [f"{wall:.1f} s", f"{cpu:.1f} s", f"{memory:.0f} MiB", "-" if size is None else f"{size / 1e6:.1f} MB"]
    for defect, want in planted.items():
        if defect not in found:
            cells.append("-")
            continue
        others = len(found[defect] - want)
        cells.append(f"{len(found[defect] & want)} of {len(want)}" + (f", {others} others" if others else ""))
    return f"| {kind} | {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("imgstat")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=990, help="without the copies (default: %(default)s)")
    parser.add_argument("--only", help="names of programs, separated by commas")
    args = parser.parse_args()
    os.environ["SENTRY_OPT_OUT"] = "1"
    if not (args.folder / "f32").exists():
        make(args.folder, args.images)
    print("| samples | program | time | processor | memory | page | " + " | ".join(DEFECTS) + " |")
    print("|---|---|" + "---:|" * (4 + len(DEFECTS)))
    for kind in KINDS:
        images = args.folder / kind
        names = {path.stem for path in images.iterdir()}
        planted = {defect: {name for name in names if name.startswith(defect)} for defect in DEFECTS}
        for function in (imgstat, cleanvision, fastdup, multiqc):
            if args.only and function.__name__ not in args.only.split(","):
                continue
            answers = multiprocessing.Queue()
            process = multiprocessing.Process(target=measured, args=(function, (args.imgstat, images, args.folder), answers))
            process.start()
            while True:
                try:
                    answer = answers.get(timeout=1)
                    break
                except Exception:  # empty: still at work, or dead
                    if not process.is_alive():
                        answer = f"ends with {process.exitcode}"
                        break
            process.join()
            print(row(function.__name__, kind, answer, planted), flush=True)


if __name__ == "__main__":
    main()
