#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs imgstat over testdata/ and compares with testdata/expected.json.

usage: testdata.py IMGSTAT
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "cli"))
from harness import environment  # noqa: E402

FOLDER = Path(__file__).resolve().parent.parent / "testdata"
SCALE = 1e-13  # mean, stddev, entropy ...: a few roundings of a double
FLOAT_SUM = 1e-12  # sums and means of floats: docs/float-sums.md


class Tally:
    def __init__(self):
        self.compared, self.wrong = 0, []

    def equal(self, where, got, want, relative=0.0):
        self.compared += 1
        same = got == want and isinstance(got, bool) == isinstance(want, bool)
        if not same and relative and isinstance(got, (int, float)) and isinstance(want, (int, float)):
            same = abs(got - want) <= relative * max(abs(want), 1e-300)
        if not same:
            self.wrong.append(f"{where}: {got!r}, expected {want!r}")


def run(program, *arguments):
    done = subprocess.run([program, *arguments], cwd=FOLDER, capture_output=True, timeout=600, check=False,
                          env=environment())
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return done.returncode, lines, done.stderr.decode(errors="replace")


def compare_percentile(tally, where, got, channel, value):
    """The library gives percentiles as doubles: exact but for interpolation and for integers past 2^53."""
    largest = max(abs(channel["min"]), abs(channel["max"]))
    if isinstance(got, (int, float)) and largest > 2 ** 53:
        tally.equal(where, abs(got - value) <= largest * 2.0 ** -52, True)
        return
    tally.equal(where, got, value, 1e-15)


def compare_channel(tally, where, got, want, percentiles):
    real = isinstance(want["min"], float)
    if want["count"]:
        want = want | {"median": want[percentiles]["50"]}
    for key, value in want.items():
        if key in ("linear", "nearest"):
            continue
        if key == "median" and value is not None:
            compare_percentile(tally, f"{where} median", got.get(key), want, value)
            continue
        exact = key in ("name", "count", "nan", "inf", "nodata", "min", "max", "min_at", "max_at", "median", "mode")
        relative = 0.0 if exact or (key == "sum" and not real) else FLOAT_SUM if real else SCALE
        tally.equal(f"{where} {key}", got.get(key, "absent"), value, relative)
    for p, value in want.get(percentiles, {}).items() if "percentiles" in got else ():
        compare_percentile(tally, f"{where} {percentiles} percentile {p}", got.get("percentiles", {}).get(p), want, value)


def compare_page(tally, name, got, want, percentiles):
    where = f"{name}[{got.get('page')}]"
    for key, value in want.items():
        if key != "channels":
            tally.equal(f"{where} {key}", got.get(key, "absent"), value)
    tally.equal(f"{where} channels", len(got.get("channels", [])), len(want["channels"]))
    for mine, theirs in zip(got.get("channels", []), want["channels"]):
        compare_channel(tally, f"{where} {theirs['name']}", mine, theirs, percentiles)


def check_good(tally, program, expected, method):
    names = [name for name in expected if "pages" in expected[name] and not name.startswith("warned-")]
    listed = ",".join(expected["photo.tif"]["pages"][0]["channels"][0][method])
    status, lines, stderr = run(program, "stats", "--json", "--mode", "--percentiles", listed, "--interpolation", method,
                                *names)
    tally.equal(f"exit status over good files ({method})", status, 0)
    tally.equal(f"stderr over good files ({method})", stderr, "")
    for name in names:
        pages = [line for line in lines if line["file"] == name]
        tally.equal(f"{name} pages", len(pages), len(expected[name]["pages"]))
        for number, (got, want) in enumerate(zip(pages, expected[name]["pages"])):
            tally.equal(f"{name} page", (got["page"], got["pages"]), (number, len(pages)))
            tally.equal(f"{name} has percentiles", all("percentiles" in c for c in got["channels"]), True)
            compare_page(tally, name, got, want, method)


def check_warned(tally, program, expected):
    for name in expected:
        if not name.startswith("warned-"):
            continue
        status, lines, stderr = run(program, "stats", "--json", name)
        tally.equal(f"{name} exit status", status, 0)
        tally.equal(f"{name} pages", len(lines), len(expected[name]["pages"]))
        tally.equal(f"{name} warning", stderr.startswith(f"{name}: warning: "), True)
        for got, want in zip(lines, expected[name]["pages"]):
            compare_page(tally, name, got, want, "linear")


def check_bad(tally, program, expected):
    for name, want in expected.items():
        if "error" not in want:
            continue
        status, lines, stderr = run(program, "stats", "--json", name)
        tally.equal(f"{name} exit status", status, 1)
        errors = [line for line in lines if "error" in line]
        tally.equal(f"{name} error lines", len(errors), 1)
        for line in errors:
            tally.equal(f"{name} error '{line['error']}' among {want['error']}", line["error"] in want["error"], True)
            tally.equal(f"{name} message names it", line["message"].startswith(f"{name}:"), True)
            tally.equal(f"{name} message on stderr", line["message"] in stderr, True)


def main():
    program = str(Path(sys.argv[1]).resolve())
    expected = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    tally = Tally()
    for method in ("linear", "nearest"):
        check_good(tally, program, expected, method)
    check_warned(tally, program, expected)
    check_bad(tally, program, expected)

    # A comparison that cannot fail would pass everything: damage one value and look.
    probe = Tally()
    probe.equal("probe", 1.0 + 1e-9, 1.0, SCALE)
    assert probe.wrong, "the comparison accepts anything"

    print("\n".join(tally.wrong))
    print(f"{len(expected)} files, {tally.compared} values compared, {len(tally.wrong)} wrong")
    sys.exit(1 if tally.wrong or tally.compared < 2000 else 0)


if __name__ == "__main__":
    main()
