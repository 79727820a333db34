#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs imgstat over the corpus of real files and compares with its expected.jsonl.

usage: corpus.py IMGSTAT [WORD...]     only files whose path contains one of the words

The corpus is $IMGSTAT_CORPUS, or ../shared/corpus beside the project; without it: exit status 77.
Files that deviate and may are listed in corpus_known.txt with the reason; an entry that no longer
deviates is a failure, so that the list stays true. Files whose compression the libtiff here is built
without must be refused with its name.
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from decode_corpus import READ_BY_NEWER
from libraries import Libraries

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or HERE.parent.parent / "shared" / "corpus")
PERCENTS = ("1", "5", "25", "50", "75", "95", "99")
BATCH = 100
MEAN = 1e-12  # relative; means and deviations
FLOAT_SUM = 1e-9
LERP = 1e-12  # numpy rounds its position among n samples, and then twice more
JPEG = 2  # a sample more or less, between JPEG decoders
SECONDS, BYTES = 2.0, 1 << 30  # a file that is refused may take
SANITIZED = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


class Report:
    def __init__(self):
        self.compared = 0
        self.wrong = defaultdict(list)
        self.classes = Counter()

    def check(self, path, good, sentence):
        self.compared += 1
        if not good:
            self.wrong[path].append(sentence)

    def equal(self, path, what, got, want):
        self.check(path, got == want, f"{what}: {got!r}, expected {want!r}")

    def near(self, path, what, got, want, relative, absolute=0.0):
        good = isinstance(got, (int, float)) and math.isclose(got, want, rel_tol=relative, abs_tol=absolute)
        self.check(path, good, f"{what}: {got!r}, expected {want!r}")


# ---- Running ---------------------------------------------------------------------------------------


def environment():
    return {key: value for key, value in os.environ.items() if key not in ("IMGSTAT_DEVICE", "IMGSTAT_JOBS")}


def run(program, *arguments):
    done = subprocess.run([program, *arguments], cwd=CORPUS, capture_output=True, timeout=3600, check=False,
                          env=environment())
    stderr = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1) or any(word in stderr for word in SANITIZED):
        sys.exit(f"imgstat {' '.join(arguments)[:2000]}\nexit status {done.returncode}\n{stderr[-8000:]}")
    return done.stdout.decode("utf-8"), stderr


def run_json(program, names, *options):
    """The lines of each file, and what was said about it on standard error. The other decoders know no masks."""
    lines, said = defaultdict(list), defaultdict(list)
    for start in range(0, len(names), BATCH):
        stdout, stderr = run(program, "stats", "--json", "--mask", "none", *options, *names[start:start + BATCH])
        for line in stdout.splitlines():
            page = json.loads(line, parse_constant=lambda word: sys.exit(f"{word} is not JSON: {line[:300]}"))
            lines[page["file"]].append(page)
        for line in stderr.splitlines():
            said[line.split(": ", 1)[0]].append(line)
    return lines, said


def run_limited(program, name):
    """One process: exit status, stdout, stderr, processor seconds, bytes of resident memory."""
    read = [os.memfd_create("stdout"), os.memfd_create("stderr")]
    pid = os.posix_spawn(program, [program, "stats", "--json", "--jobs", "1", name], environment(), file_actions=[
        (os.POSIX_SPAWN_DUP2, read[0], 1), (os.POSIX_SPAWN_DUP2, read[1], 2)])
    deadline = time.monotonic() + 600
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(pid, 9)
        time.sleep(0.001)
    texts = []
    for descriptor in read:
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(descriptor, "rb") as stream:
            texts.append(stream.read().decode(errors="replace"))
    return os.waitstatus_to_exitcode(status), *texts, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss


# ---- Comparing what is readable --------------------------------------------------------------------


def is_jpeg(row):
    note = row.get("note", "")
    return row["info"].get("comp") in ("JPEG", "OJPEG") or "YCbCr to" in note


def compare_percentiles(report, path, where, got, want, whole):
    for percent, value in zip(PERCENTS, want):
        mine = got.get(percent)
        if whole and float(value).is_integer() and isinstance(value, int):
            report.equal(path, f"{where} percentile {percent}", mine, value)
        else:
            report.near(path, f"{where} percentile {percent}", mine, value, LERP, 1e-300)


def compare_channel(report, path, where, got, want, whole, tolerance):
    if tolerance:
        report.equal(path, f"{where} count", got["count"], want.get("n", got["count"]))
        for key, theirs in (("min", "min"), ("max", "max"), ("mean", "mean")):
            report.near(path, f"{where} {key}", got[key], want[theirs], 0, tolerance)
        return
    for key, theirs in (("count", "n"), ("min", "min"), ("max", "max"), ("nan", "nan"), ("inf", "inf")):
        if theirs in want:
            mine = got[key] + got["nan"] + got["inf"] if key == "count" and "nan" in want else got[key]
            expected = want[theirs]
            if key in ("min", "max") and not whole:
                report.near(path, f"{where} {key}", mine, expected, 0)
            else:
                report.equal(path, f"{where} {key}", mine, expected)
    if "sum" in want and whole:
        report.equal(path, f"{where} sum", got["sum"], want["sum"])
    elif "sum" in want:
        report.near(path, f"{where} sum", got["sum"], want["sum"], FLOAT_SUM)
    if got["mean"] is not None or want.get("mean") is not None:
        report.near(path, f"{where} mean", got["mean"], want["mean"], MEAN)
        report.near(path, f"{where} stddev", got["stddev"], want["std"], MEAN)
    if "pct_linear" in want:
        compare_percentiles(report, path, where, got["percentiles"], want["pct_linear"], whole)
    if "hist16" in want and "histogram" in got:
        report.equal(path, f"{where} histogram", got["histogram"]["counts"], want["hist16"])


def without_nodata(report, path, where, got, want):
    """The corpus counts nodata samples in, imgstat does not: what remains comparable."""
    report.equal(path, f"{where} count + nodata", got["count"] + got["nodata"] + got["nan"] + got["inf"],
                 want.get("n", got["count"] + got["nodata"] + got["nan"] + got["inf"]))
    if got["count"]:
        report.check(path, want["min"] <= got["min"] <= got["max"] <= want["max"], f"{where}: extrema outside")


def compare_page(report, path, where, page, stats, tolerance):
    whole = page["sample"][0] != "f"
    channels = page["channels"]
    # A transparent colour (tRNS) is a channel here and no channel of the stored samples.
    extra = [channel["name"] for channel in channels[len(stats):]]
    report.check(path, len(channels) >= len(stats) and extra in ([], ["alpha"]),
                 f"{where}: channels {[channel['name'] for channel in channels]}, expected {len(stats)}")
    for got, want in zip(channels, stats):
        name = f"{where} {got['name']}"
        if "min" not in want:
            report.check(path, got["min"] is None, f"{name}: min {got['min']!r}, expected none")
        elif got["nodata"]:
            without_nodata(report, path, name, got, want)
        else:
            compare_channel(report, path, name, got, want, whole, tolerance)


def compare_pages(report, row, pages):
    path = row["path"]
    looped = row.get("pages") == 2000
    if not looped:
        report.equal(path, "pages", len(pages), row.get("pages", 1))
    for number, (page, want) in enumerate(zip(pages, row.get("page_list", []))):
        if number and "stats" in want:
            tolerance = JPEG if want["comp"] in ("JPEG", "OJPEG") else 0
            if want["photo"] == "YCBCR" and not tolerance:
                continue  # the stored samples are listed, imgstat gives RGB
            compare_page(report, path, f"page {number}", page, want["stats"], tolerance)


def compare_good(report, row, lines, said, palette):
    """palette: None, or which of the two readings of a palette image this is."""
    path = row["path"]
    if str(row["dtype"]).startswith("complex"):
        report.equal(path, "error", [line.get("error") for line in lines], ["unsupported"])
        return
    errors = [line["message"] for line in lines if "error" in line]
    if errors or not lines:
        report.check(path, False, f"refused: {errors or said}")
        return
    first = lines[0]
    report.equal(path, "size", (first["width"], first["height"]), (row["width"], row["height"]))
    if palette == "colours":
        compare_page(report, path, "colours", first, row["rgb_stats"], 0)
        return
    if first["sample"][0] != "f":
        report.equal(path, "bits", first["bits"], row["bits"])
    compare_page(report, path, "page 0", first, row["stats"], JPEG if is_jpeg(row) else 0)
    compare_pages(report, row, lines)


def is_palette(row):
    return "rgb_stats" in row or str(row["info"].get("photo")) in ("PALETTE", "3")


def with_pages(row):
    """Levels and masks are measured where they are named."""
    pages = row.get("pages", 1)
    return row["path"] if pages in (1, 2000) else f"{row['path']}[0-{pages - 1}]"


def range_of(row):
    """The bins of hist16: LO,HI and how many; its last bin is open, so HI itself never occurs."""
    listed = [channel["hist16"] for channel in row["stats"] if "hist16" in channel]
    return (f"0,{2 ** row['bits']}", len(listed[0])) if listed else (None, 0)


def check_good(report, program, rows):
    groups = defaultdict(list)
    for row in rows:
        palette = "indices" if is_palette(row) else None
        groups[(palette, *range_of(row))].append(row)
        if "rgb_stats" in row:
            groups[("colours", "0,256", 16)].append(row)
    for (palette, limits, bins), members in groups.items():
        options = ["--percentiles", ",".join(PERCENTS)]
        if palette == "indices":
            options.append("--indices")
        if limits:
            options += ["--histogram", "--range", limits, "--bins", str(bins)]
        lines, said = run_json(program, [with_pages(row) for row in members], *options)
        for row in members:
            compare_good(report, row, lines[row["path"]], said[row["path"]], palette)
    check_nearest(report, program, rows)


def check_nearest(report, program, rows):
    for indices in ([], ["--indices"]):
        chosen = [row for row in rows if is_palette(row) == bool(indices) and not is_jpeg(row)
                  and not str(row["dtype"]).startswith("complex")]
        lines, _ = run_json(program, [row["path"] for row in chosen], "--interpolation", "nearest",
                            "--percentiles", ",".join(PERCENTS), "--page", "0", *indices)
        for row in chosen:
            page = lines[row["path"]][0] if lines[row["path"]] else {}
            for got, want in zip(page.get("channels", []), row["stats"]):
                if "pct_nearest" in want and not got["nodata"]:
                    compare_percentiles(report, row["path"], f"{got['name']} nearest", got["percentiles"],
                                        want["pct_nearest"], page["sample"][0] != "f")


# ---- What is refused -------------------------------------------------------------------------------


def check_refused(report, program, row, may_read, cause=""):
    path = row["path"]
    status, stdout, stderr, seconds, memory = run_limited(program, path)
    sentences = [line for line in stderr.splitlines() if not line.startswith(f"{path}: warning: ")]
    lines = [json.loads(line) for line in stdout.splitlines()]
    errors = [line for line in lines if "error" in line]
    report.check(path, not any(word in stderr for word in SANITIZED), f"sanitizer: {stderr[-3000:]}")
    report.check(path, status == 1 or (may_read and status == 0), f"exit status {status}")
    report.equal(path, "error objects", len(errors), 1 if status == 1 else 0)
    report.check(path, len(sentences) == len(errors), f"sentences: {sentences}")
    for sentence in sentences:
        report.check(path, sentence.startswith(f"{path}: ") and len(sentence) > len(path) + 8 and cause in sentence,
                     f"says {sentence!r}")
    report.check(path, seconds <= SECONDS, f"took {seconds:.1f} s")
    report.check(path, memory <= BYTES, f"took {memory >> 20} MiB")


# ---- Formats ---------------------------------------------------------------------------------------


def check_csv(report, program, rows):
    """The same numbers as JSON, through another reader."""
    names = [row["path"] for row in rows]
    rows_seen = 0
    for start in range(0, len(names), BATCH):
        batch = names[start:start + BATCH]
        stdout, _ = run(program, "stats", "--csv", "--mask", "none", "--mode", "--page", "0", *batch)
        lines, _ = run_json(program, batch, "--mode", "--page", "0")
        table = csv.DictReader(io.StringIO(stdout), strict=True)
        channels = [(line, channel) for name in batch for line in lines[name] for channel in line.get("channels", [])]
        listed = list(table)
        report.equal("--csv", "rows", len(listed), len(channels))
        for got, (line, channel) in zip(listed, channels):
            rows_seen += 1
            report.equal("--csv", "names", (got["file"], got["channel"]), (line["file"], channel["name"]))
            for key in ("count", "nan", "inf", "nodata", "min", "max", "sum", "mean", "stddev", "median", "mode",
                        "entropy", "low", "high"):
                report.equal("--csv", f"{line['file']} {key}", json.loads(got[key]), channel[key])
    return rows_seen


def known_deviations():
    known = {}
    for line in (HERE / "corpus_known.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            path, reason = line.split("\t", 1)
            known[path] = reason
    return known


def main():
    program, words = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    if not (CORPUS / "expected.jsonl").exists():
        print(f"skipped: no corpus at {CORPUS}; IMGSTAT_CORPUS names another place")
        sys.exit(77)
    rows = [json.loads(line) for line in (CORPUS / "expected.jsonl").read_text().splitlines()]
    rows = [row for row in rows if not words or any(word in row["path"] for word in words)]
    os.chdir(CORPUS)
    report = Report()
    for row in rows:
        report.classes[f"{row['class']}, {row['status']}"] += 1
    libraries = Libraries(program, "--version")
    lacking = {row["path"]: libraries.lacks(row) for row in rows if row["class"] == "ok" and libraries.lacks(row)}
    good = [row for row in rows if row["class"] == "ok" and row["status"] in ("agree", "single")
            and row["path"] not in lacking]
    check_good(report, program, good)
    for row in rows:
        if row["path"] in lacking:
            check_refused(report, program, row, False, f"({lacking[row['path']]}) is not supported by this libtiff")
            libraries.skip(row["path"], f"this libtiff has no {lacking[row['path']]}")
        elif row["class"] != "ok" or row["status"] == "disagree":
            may_read = row["class"] in ("ok", "readable_but_some_refuse") or row["path"] in READ_BY_NEWER
            check_refused(report, program, row, may_read)
    csv_rows = check_csv(report, program, good)

    known = {path: reason for path, reason in known_deviations().items() if not words or path in report.wrong}
    for name, n in sorted(report.classes.items()):
        print(f"{n:5} {name}")
    for path, sentences in sorted(report.wrong.items()):
        print(f"{'known' if path in known else 'WRONG'} {path}: {'; '.join(sentences[:3])[:600]}"
              + (f" ... {len(sentences)} in all" if len(sentences) > 3 else ""))
    stale = [path for path in known if path not in report.wrong]
    for path in stale:
        print(f"STALE {path} no longer deviates: take it off corpus_known.txt")
    wrong = [path for path in report.wrong if path not in known]
    libraries.say_skipped()
    print(f"{len(rows)} files, {report.compared} values compared, {csv_rows} rows of CSV, "
          f"{len(known) - len(stale)} known deviations, {len(wrong)} wrong, {len(stale)} stale")
    sys.exit(1 if wrong or stale or (not words and report.compared < 50000) else 0)


if __name__ == "__main__":
    main()
