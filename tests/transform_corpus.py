#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Normalizes and equalizes every readable file of the corpus and reads the outputs again.

usage: transform_corpus.py IMGSTAT [WORD...]     only files whose path contains one of the words

Every file of class ok gives an output with the input's format, pages, geometry, sample type, depth,
photometric, channel names and count of undefined samples; joint stretching reaches the ends of the
full scale, and stretching the output once more changes nothing. What is not contrast is compared in the
bytes of the files: chunks of a PNG; fields of a TIFF, colour profiles, GeoTIFF keys and private ones
among them. Where vipsheader and gdalinfo are installed, they must read the outputs' geometry too.
What the libtiff here cannot do is skipped, and said. Without the corpus: exit status 77.

Under sanitizers (IMGSTAT_TEST_SMALL=1) every file is transformed, and what comes out is looked at without them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from libraries import Libraries
from roundtrip_corpus import compare_png, compare_tiff

sys.path.append(str(Path(__file__).resolve().parent / "cli"))
from harness import all_run, environment, is_run  # noqa: E402

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or HERE.parent.parent / "shared" / "corpus")
SAME = ("page", "pages", "format", "width", "height", "sample", "bits", "photometric")
FOREIGN = 150 if all_run() else 30  # outputs that other programs are asked about; evenly spread
SANITIZED = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")
checks, wrong = 0, []
moved = []  # files whose range ended at their nodata value


def check(good, sentence):
    global checks
    checks += 1
    if not good:
        wrong.append(sentence)
    return good


def run(program, *words, cwd=None):
    done = subprocess.run([program, *map(str, words)], cwd=cwd, capture_output=True, timeout=3600, check=False,
                          env=environment())
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1) or any(word in said for word in SANITIZED):
        sys.exit(f"{words}\nexit status {done.returncode}\n{said[-4000:]}")
    return done.stdout.decode(errors="replace"), said


def pages_of(program, folder, names):
    """The pages of each file, as stats --json gives them."""
    pages = {}
    for start in range(0, len(names), 100):
        text, _ = run(program, "stats", "--json", "--mode", *names[start:start + 100], cwd=folder)
        for line in text.splitlines():
            page = json.loads(line)
            pages.setdefault(page["file"], []).append(page)
    return pages


def becomes_8bit(before):
    """PNG has gray with alpha from 8 bits on: less, with a transparent colour, is scaled to 8."""
    return before["format"] == "png" and before["bits"] < 8 and len(before["channels"]) == 2


def changed_by_purpose(before, key):
    """A lossless copy of a lossy image is no longer YCbCr, which libtiff has converted, nor LogLuv."""
    return (key == "photometric" and before["photometric"] in ("ycbcr", "log-luv", "log-l")) or (
        key == "bits" and becomes_8bit(before))


def compare(name, before, after, left_out):
    """left_out: thumbnails that a warning names."""
    if not check(len(before) == len(after), f"{name}: {len(after)} pages, expected {len(before)}"):
        return
    for old, new in zip(before, after):
        if not check("error" not in new, f"{name}: {new.get('message')}"):
            return
        for key in SAME:
            wanted = old[key] - left_out if key == "pages" else old[key]
            check(wanted == new[key] or changed_by_purpose(old, key),
                  f"{name}: {key} {new[key]!r}, expected {wanted!r}")
        names = [[channel["name"] for channel in page["channels"]] for page in (old, new)]
        if old["photometric"] in ("log-luv", "log-l"):
            names[0] = ["gray", "extra1", "extra2"][:len(names[0])]
        check(names[0] == names[1], f"{name}: channels {names[1]}, expected {names[0]}")
        for a, b in zip(old["channels"], new["channels"]):
            for key in ("count", "nan", "inf", "nodata"):
                check(a[key] == b[key], f"{name}: {a['name']} {key} {b[key]}, expected {a[key]}")
            if a["name"] != "alpha":
                continue
            scale = 255 // ((1 << old["bits"]) - 1) if becomes_8bit(old) else 1
            same = [b["min"], b["max"], b["sum"], b["entropy"]] == [a["min"] * scale, a["max"] * scale,
                                                                    a["sum"] * scale, a["entropy"]]
            check(same and (b["mode"], b["min_at"], b["max_at"]) == (a["mode"] * scale, a["min_at"], a["max_at"]),
                  f"{name}: alpha changed")


def statistics(page):
    return {key: page[key] for key in page if key not in ("file", "device")}


def full_scale(page):
    sample, bits = page["sample"], page["bits"]
    if sample[0] == "f":
        return 0, 1
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if sample[0] == "i" else (0, (1 << bits) - 1)


def check_stretched(name, page):
    """The extrema of all channels but alpha are the ends of the range, unless there is no contrast."""
    colours = [channel for channel in page["channels"] if channel["name"] != "alpha" and channel["count"]]
    if not colours or min(c["min"] for c in colours) == max(c["max"] for c in colours):
        return
    got = (min(c["min"] for c in colours), max(c["max"] for c in colours))
    want = full_scale(page)
    # An end of the range that is the nodata value moves inwards, by the least step there is.
    step = 1e-40 if page["sample"][0] == "f" else 1
    near = page["format"] == "tiff" and abs(got[0] - want[0]) <= step and abs(got[1] - want[1]) <= step
    moved.extend([name] if near and got != want else [])
    check(got == want or near, f"{name}: stretched to {got}, expected {want}")


def ask_others(folder, name, page):
    """Others read what was written: the size, at least."""
    size = (page["width"], page["height"])
    path = folder / name
    if shutil.which("vipsheader"):
        done = subprocess.run(["vipsheader", "-f", "width", path], capture_output=True, check=False, timeout=600)
        if done.returncode == 0:
            check(int(done.stdout) == size[0], f"{name}: vips reads width {done.stdout!r}")
        else:
            return False, done.stderr.decode(errors="replace").strip()
    if shutil.which("gdalinfo"):
        done = subprocess.run(["gdalinfo", "-json", "-checksum", path], capture_output=True, check=False, timeout=600)
        if done.returncode == 0:
            check(json.loads(done.stdout.decode(errors="replace"))["size"] == list(size), f"{name}: GDAL reads another size")
        else:
            return False, done.stderr.decode(errors="replace").strip()
    return True, ""


def others_read(folder, name):
    for words in (["vipsheader"], ["gdalinfo", "-json"]):
        if shutil.which(words[0]):
            done = subprocess.run([*words, folder / name], capture_output=True, check=False, timeout=600)
            if done.returncode != 0:
                return False
    return True


def transform_only(program, folder, n):
    for command in ("normalize", "equalize"):
        run(program, command, "-r", CORPUS, "-o", folder / command, "--fast")
        written = sum(path.is_file() for path in (folder / command).rglob("*"))
        check(written >= n, f"{command}: {written} outputs of {n} files")
    print("\n".join(wrong))
    print(f"{n} files, {checks} checks, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


def main():
    if not (CORPUS / "expected.jsonl").exists():
        print("no corpus: skipped")
        sys.exit(77)
    testdata = HERE.parent / "testdata"
    check(compare_tiff(testdata / "photo.tif", testdata / "good-rgba.tif", True, False) is not None and
          compare_png(testdata / "good-rgb.png", testdata / "good-interlaced.png", True, False) is not None,
          "the comparison of files accepts anything")
    program, words = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    expected = [json.loads(line) for line in (CORPUS / "expected.jsonl").read_text().splitlines()]
    libraries = Libraries(program, "--version")
    entries = [entry for entry in expected
               if entry["class"] == "ok" and (not words or any(word in entry["path"] for word in words))]
    for entry in entries:
        if libraries.lacks(entry):
            libraries.skip(entry["path"], f"this libtiff has no {libraries.lacks(entry)}")
    names = [entry["path"] for entry in entries if not libraries.lacks(entry)]
    before = pages_of(program, CORPUS, names)
    # What imgstat declines to read, complex samples for instance, is another test's business.
    readable = [name for name in names if name in before and all("error" not in page for page in before[name])]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {}
        if not is_run(1, 2):
            transform_only(program, Path(temporary), len(readable))
        for command in ("normalize", "equalize"):
            folder = folders[command] = Path(temporary) / command
            _, said = run(program, command, "-r", CORPUS, "-o", folder, "--fast")
            after = pages_of(program, folder, [name for name in readable if (folder / name).exists()])
            for name in readable:
                if check(name in after, f"{command} {name}: no output"):
                    left_out = [int(number) for number in re.findall(
                        re.escape(f"{name}: warning: its thumbnail") + r" \(page (\d+),", said)]
                    compare(f"{command} {name}", before[name], after[name], len(left_out))
                    paths = CORPUS / name, folder / name
                    problem = (compare_png(*paths, indices=True, colours=False, mapped=True) if before[name][0]["format"] == "png"
                               else compare_tiff(*paths, indices=True, colours=False, mapped=True, libraries=libraries,
                                                  left_out=left_out))
                    check(problem is None, f"{command} {name}: {problem}")
                elif str(name) in said:
                    wrong.append("    " + next(line for line in said.splitlines() if str(name) in line
                                               and "warning" not in line))
            if command == "normalize":
                stretched = after
        again = Path(temporary) / "again"
        run(program, "normalize", "-r", folders["normalize"], "-o", again, "--fast")
        twice = pages_of(program, again, [name for name in stretched if (again / name).exists()])
        for name, pages in stretched.items():
            if not check(name in twice, f"{name}: cannot be stretched twice"):
                continue
            for old, new in zip(pages, twice[name]):
                check(statistics(old) == statistics(new), f"{name}: stretching twice changes page {old['page']}")
                check_stretched(name, old)
        logarithmic = [name for name in stretched if stretched[name][0]["format"] == "tiff" and "luv" in str(name)]
        picked = sorted({*list(stretched)[::max(1, len(stretched) // FOREIGN)], *logarithmic})
        for name in picked:
            good, said = ask_others(folders["equalize"], name, stretched[name][0])
            check(good or not others_read(CORPUS, name), f"{name}: others read the input but not the output: {said}")
    check(20 * len(set(moved)) <= len(readable), f"too many ranges end short: {sorted(set(moved))}")
    print("\n".join(wrong[:200]))
    libraries.say_skipped()
    print(f"{len(readable)} files, {len(picked)} shown to others, {checks} checks, {len(wrong)} wrong")
    sys.exit(1 if wrong or not readable else 0)


if __name__ == "__main__":
    main()
