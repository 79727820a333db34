#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares decoded samples with the corpus's expected values.

    decode_corpus.py DUMP_PIXELS [CORPUS]

Every file of class ok must decode: those on which independent decoders agree to the SHA-256 of
their samples, JPEG and the like to statistics within the stated tolerance. Files of the other
classes must end with one sentence and status 1, or be read. Every file, of whatever class, must give
the same samples, warnings, errors and status by libpng and libtiff alone (IMGSTAT_DECODE=plain) as by
the faster ways, threads included (IMGSTAT_DECODE=threads). What the libtiff here cannot do is skipped, and said. Exit status
77 without a corpus.
"""

import array
import hashlib
import json
import os
import sys

from libraries import Libraries
from serve import Server, end_all

# Files of class ok that imgstat holds otherwise or refuses, each with its reason: docs/lab/2026-11-26-tests.md.
COMPLEX = "complex samples are not measured"
BAD_INDEX = "has indices that its palette has no colour for; read with --indices"
FAX = "CCITT data that libtiff can only guess at"
STRIPS = "does not say where all of its strips lie; decoders disagree"
DEVIATIONS = {
    "rouault_gdal/autotest/cpp/data/cfloat32.tif": COMPLEX,
    "rouault_gdal/autotest/cpp/data/cint32.tif": COMPLEX,
    "rouault_gdal/autotest/gcore/data/cint_sar.tif": COMPLEX,
    "rouault_gdal/autotest/gcore/data/complex_int32.tif": COMPLEX,
    "rouault_gdal/autotest/gcore/data/gtiff/cint32_big_endian.tif": COMPLEX,
    "rouault_gdal/autotest/gcore/data/gtiff/complex_non_zero_real_zero_imag.tif": COMPLEX,
    "rouault_gdal/autotest/gcore/data/ycbcr_11_lzw.tif": "YCbCr is measured as RGB",
    "python-pillow_Pillow/Tests/images/crash-0da013a13571cc8eb457a39fee8db18f8a3c7127.tif": FAX,
    "python-pillow_Pillow/Tests/images/crash-74d2a78403a5a59db1fb0a2b8735ac068a75f6e3.tif": FAX,
    "rouault_gdal/autotest/gcore/data/size_of_stripbytecount_at_1_and_lower_than_stripcount.tif": STRIPS,
    "rouault_gdal/autotest/gcore/data/huge-implied-number-strips.tif":
        "has strips without sizes; decoders disagree on what they hold",
    **{f"pnggroup_libpng/contrib/testpngs/badpal/{name}.png": BAD_INDEX
       for name in ["regression-palette-8", *(f"{kind}-palette-{bits}" for kind in ("small", "test")
                                              for bits in (1, 2, 4, 8))]},
}
# Refused with older versions of libtiff; newer ones (4.7 does) read the samples of the file named here.
READ_BY_NEWER = {"libsdl-org_libtiff/test/images/testfax3_bug_513.tiff":
                 "libsdl-org_libtiff/test/refs/o-testfax3_bug_513.tiff"}
LIMIT_SECONDS = float(os.environ.get("IMGSTAT_CORPUS_SECONDS", "2"))  # of processors: others may be at work too
SAMPLE_CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q",
                "i64": "q", "f32": "f", "f64": "d"}
NOT_OK = ("malformed", "unsupported_codec", "declares_huge_size", "not_png_or_tiff")


class Dump:
    """What dump_pixels gave for one command line."""

    def __init__(self, tool, path, page, *options):
        run = tool.run(*options, path, str(page))
        self.stdout, self.seconds, self.status = run.stdout, run.seconds, run.returncode
        self.stderr = run.stderr.decode("utf-8", "replace")
        head, _, self.bytes = run.stdout.partition(b"\n")
        words = head.decode("utf-8").split()
        if len(words) >= 9:
            self.pages, self.width, self.height, self.channels = map(int, words[1:5])
            self.sample, self.bits, self.photometric, self.alpha = words[5], int(words[6]), words[7], int(words[8])

    def first_channels(self, n):
        """The samples of the first n channels only."""
        if n == self.channels:
            return self.bytes
        size = {"8": 1, "16": 2, "32": 4, "64": 8}[self.sample[1:]]
        out = bytearray(len(self.bytes) // self.channels * n)
        for c in range(n):
            for b in range(size):
                out[c * size + b::n * size] = self.bytes[c * size + b::self.channels * size]
        return bytes(out)

    def channel(self, c):
        if self.sample == "f16":
            import struct
            return [v[0] for v in struct.iter_unpack("<e", self.bytes)][c::self.channels]
        values = array.array(SAMPLE_CODES[self.sample], self.bytes)
        if sys.byteorder == "big":
            values.byteswap()
        return values[c::self.channels]


def compare_stats(dump, expected, tolerance):
    """The first difference, or None."""
    if dump.channels < len(expected):
        return f"{dump.channels} channels instead of {len(expected)}"
    for c, want in enumerate(expected):
        values = [v for v in dump.channel(c) if v == v and abs(v) != float("inf")]
        if not values:
            continue
        got = {"min": min(values), "max": max(values), "mean": sum(values) / len(values)}
        for key, value in got.items():
            if want.get(key) is None:
                continue
            allowed = tolerance if tolerance else 1e-9 * max(1.0, abs(want[key]))
            if abs(value - want[key]) > allowed:
                return f"channel {c}: {key} {value} instead of {want[key]}"
    return None


def check_pixels(tool, path, entry):
    dump = Dump(tool, path, 0, "--indices", "--rows", "7")
    if dump.status != 0:
        return f"not read: {dump.stderr.strip()}"
    if (dump.width, dump.height) != (entry["width"], entry["height"]):
        return f"{dump.width} x {dump.height} instead of {entry['width']} x {entry['height']}"
    digest = hashlib.sha256(dump.first_channels(entry["channels"])).hexdigest()
    if entry["status"] == "agree" and not jpeg(entry):
        return None if digest == entry["sha_pixels"] else f"other samples ({dump.sample}, {dump.channels} channels)"
    if digest == entry["sha_pixels"]:
        return None
    return compare_stats(dump, entry["stats"], 2 if jpeg(entry) else 0)


def check_lacking(tool, path, codec):
    dump = Dump(tool, path, "all")
    named = f"({codec}) is not supported by this libtiff" in dump.stderr
    return None if dump.status == 1 and named else f"status {dump.status}: {dump.stderr.strip()}"


def check_ways(plainly, threads, path, entry, libraries):
    """The faster ways against libpng and libtiff alone."""
    if not os.path.isfile(path):
        return None
    info = entry.get("info") or {}
    if not libraries.wide_differences and (info.get("bits"), info.get("pred")) == (64, "HORIZONTAL"):
        libraries.skip(path, "this libtiff alone has no differences of 64-bit samples")
        return None if Dump(plainly, path, "all").status == 1 else "was read by libtiff alone"
    for options in ((), ("--indices", "--rows", "4294967295")):
        plain = Dump(plainly, path, "all", *options)
        fast = Dump(threads, path, "all", *options)
        for what in ("status", "stderr", "stdout"):
            if getattr(plain, what) != getattr(fast, what):
                shown = "" if what == "stdout" else f": {getattr(fast, what)} instead of {getattr(plain, what)}"
                return f"decoded by threads, gives another {what}{shown}"
    return None


def check_whole(tool, path, entry):
    """Reading in one band gives the same as reading in small ones; palettes expand as expected."""
    small, whole = Dump(tool, path, 0, "--rows", "5"), Dump(tool, path, 0, "--rows", "4294967295")
    if small.status != 0:
        return f"not read: {small.stderr.strip()}"
    if small.bytes != whole.bytes:
        return "bands of other heights give other samples"
    return compare_stats(small, entry["rgb_stats"], 0) if "rgb_stats" in entry else None


def check_pages(tool, path, entry):
    problems = []
    for number, page in enumerate(entry.get("page_list", [])):
        if number >= small_page_count(entry) or "sha_pixels" not in page and "stats" not in page:
            continue
        dump = Dump(tool, path, number, "--indices")
        if dump.status != 0:
            problems.append(f"page {number}: {dump.stderr.strip()}")
        elif hashlib.sha256(dump.bytes).hexdigest() != page.get("sha_pixels"):
            wrong = compare_stats(dump, page.get("stats", []), 2 if jpeg(page) else 0)
            if wrong:
                problems.append(f"page {number}: {wrong}")
    return "; ".join(problems) or None


def small_page_count(entry):
    return 1 if entry.get("pages") == 2000 else 64  # directory loops: each page once


def check_loop(tool, path):
    dump = Dump(tool, path, 0)
    loops = sum("form a loop" in line for line in dump.stderr.splitlines())
    return None if dump.status == 0 and loops == 1 else f"{loops} warnings about the loop: {dump.stderr.strip()}"


def jpeg(entry):
    info = entry.get("info") or entry
    return info.get("comp") in ("JPEG", "OJPEG") or info.get("photo") == "YCBCR"


def check_refused(tool, path, entry, name):
    dump = Dump(tool, path, "all")
    errors = [line for line in dump.stderr.splitlines() if not line.startswith("warning: ")]
    if dump.seconds > LIMIT_SECONDS:
        return f"took {dump.seconds:.1f} s"
    if dump.status not in (0, 1):
        return f"exit status {dump.status}: {dump.stderr.strip()[-2000:]}"
    if dump.status == 0 and path in READ_BY_NEWER:
        same = dump.bytes and dump.bytes == Dump(tool, READ_BY_NEWER[path], "all").bytes
        return None if same else f"other samples than {READ_BY_NEWER[path]}"
    if dump.status == 0:
        return "was read" if entry["class"] in NOT_OK else None
    if not errors or not all(name in e for e in errors):
        return f"no clear sentence: {dump.stderr.strip()}"
    print(f"    {entry['class']:24} {errors[0]}")
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    tool, plainly, threads = (Server(program), Server(program, IMGSTAT_DECODE="plain"),
                              Server(program, IMGSTAT_DECODE="threads"))
    here = os.path.dirname(os.path.abspath(__file__))
    corpus = sys.argv[2] if len(sys.argv) > 2 else os.environ.get(
        "IMGSTAT_CORPUS", os.path.join(here, "..", "..", "shared", "corpus"))
    index = os.path.join(corpus, "expected.jsonl")
    if not os.path.exists(index):
        print(f"no corpus at {corpus}: skipped")
        sys.exit(77)
    counts, deviating = {}, []
    with open(index, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    os.chdir(corpus)
    libraries = Libraries(program, "--libraries")
    for entry in entries:
        path, kind = entry["path"], f"{entry['class']}/{entry['status']}"
        lacking = libraries.lacks(entry) if entry["class"] == "ok" else None
        if lacking:
            problem = check_lacking(tool, path, lacking)
            libraries.skip(path, f"this libtiff has no {lacking}")
        elif entry["class"] == "ok":
            checks = [check_pixels(tool, path, entry), check_whole(tool, path, entry)]
            checks.append(check_loop(tool, path) if entry.get("pages") == 2000 else check_pages(tool, path, entry))
            problem = "; ".join(c for c in checks if c) or None
        else:
            problem = check_refused(tool, path, entry, path)
        differs = check_ways(plainly, threads, path, entry, libraries)
        if differs:
            print(f"FAIL {kind} {path}: {differs}")
            counts[(kind, "failed")] = counts.get((kind, "failed"), 0) + 1
            deviating.append(path)
            continue
        if path in DEVIATIONS and not problem:
            problem = "is listed as deviating, and does not"
        elif path in DEVIATIONS:
            print(f"    deviates: {path}: {DEVIATIONS[path]} ({problem})")
        if problem and (path not in DEVIATIONS or "is listed" in problem):
            print(f"FAIL {kind} {path}: {problem}")
            counts[(kind, "failed")] = counts.get((kind, "failed"), 0) + 1
            deviating.append(path)
        else:
            word = "skipped" if lacking else "deviates" if problem else "as expected"
            counts[(kind, word)] = counts.get((kind, word), 0) + 1
    for (kind, word), n in sorted(counts.items()):
        print(f"{kind:40} {word:12} {n}")
    libraries.say_skipped()
    compared = sum(n for (_, word), n in counts.items() if word == "as expected")
    if end_all(tool, plainly, threads) or deviating or compared == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
