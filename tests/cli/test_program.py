#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What golden files cannot hold: signals, closed pipes, names of any bytes, threads, and whether
help, man page and completion tell the same.

usage: test_program.py IMGSTAT
"""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TESTDATA = ROOT / "testdata"
CHECKS = []


def check(good, sentence):
    CHECKS.append((bool(good), sentence))


def run(program, *arguments, **keywords):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run([program, *arguments], cwd=keywords.pop("cwd", TESTDATA), capture_output=True, timeout=120,
                          env=environment, check=False, **keywords)


# ---- Documentation ---------------------------------------------------------------------------------


def options_of(program, command):
    text = run(program, command, "--help").stdout.decode()
    return set(re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", text, re.M)), text


def test_documents(program):
    page = (ROOT / "docs" / "imgstat.1").read_text().replace("\\-", "-")
    completion = (ROOT / "tools" / "completion.bash").read_text()
    everything = set()
    for command in ("stats", "hist", "devices"):
        options, text = options_of(program, command)
        everything |= options
        check(options, f"{command} --help lists options")
        check(all(len(line) <= 80 for line in text.splitlines()), f"{command} --help fits 80 columns")
        examples = text.split("Examples:\n")[-1].splitlines()
        check(len(examples) == 3, f"{command} --help ends with three examples")
        for option in options:
            check(re.search(re.escape(option) + r"(?![a-z-])", page), f"{option} is in the man page")
            check(re.search(re.escape(option) + r"(?![a-z-])", completion), f"{option} is in the completion")
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![a-z*-])", completion)):
        check(option in everything | {"--version"}, f"{option} of the completion exists")
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page)):
        check(option in everything | {"--version"}, f"{option} of the man page exists")


def test_version(program):
    text = run(program, "--version").stdout.decode()
    for word in ("imgstat ", "cpu", "libpng", "libtiff"):
        check(word in text, f"--version names {word}")
    check("cpu" in run(program, "devices").stdout.decode(), "devices lists cpu")


# ---- Ends ------------------------------------------------------------------------------------------


def test_closed_pipe(program):
    names = ["good-example.png"] * 2000
    with subprocess.Popen([program, "--json", "--jobs", "1", *names], cwd=TESTDATA, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        child.stdout.close()
        stderr = child.stderr.read()
        child.wait(60)
    check(stderr == b"", f"a closed pipe is quiet: {stderr!r}")
    check(child.returncode in (1, -signal.SIGPIPE), f"a closed pipe ends it: {child.returncode}")


def test_interrupt(program):
    # Standard input that never ends keeps it waiting, whatever the machine's speed.
    with subprocess.Popen([program, "-"], cwd=TESTDATA, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        check(child.wait(20) == 130, f"SIGINT gives 130: {child.returncode}")


# ---- Names and formats -----------------------------------------------------------------------------


def strict_json(line):
    def refuse(word):
        raise ValueError(word)
    return json.loads(line, parse_constant=refuse)


def test_names(program):
    one = (TESTDATA / "good-1x1.png").read_bytes()
    names = [b"a\xff.png", b"\xe2\x82.png", b'q".png', b"c,d.png", b"n\nl.png", b"t\t.png", b"\x01\x7f.png",
             b"b\\s.png", b"\xed\xa0\x80.png", "日本.png".encode(), b"-.png", b"<&>.png"]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            (Path(os.fsdecode(folder)) / os.fsdecode(name)).write_bytes(one)
        wanted = sorted(names)
        told = [(b"./" + name).decode("utf-8", errors="replace") for name in wanted]
        done = run(program, "--json", ".", cwd=folder)
        pages = [strict_json(line) for line in done.stdout.decode("utf-8").splitlines()]
        check([page["file"] for page in pages] == told, f"names in JSON: {[page['file'] for page in pages]}")
        done = run(program, "--csv", ".", cwd=folder)
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode("utf-8"), newline=""), strict=True))
        check([row["file"] for row in rows] == told, "names in CSV")
        done = run(program, ".", cwd=folder)
        check(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", done.stdout), "no control character in the table")
        for name in names:
            done = run(program, "hist", "--plot", "-", b"./" + name, cwd=folder)
            title = xml.fromstring(done.stdout)
            check(title.tag.endswith("svg"), f"SVG of {name!r} is well-formed")
            done = run(program, b"./no" + name, cwd=folder)
            check(done.returncode == 1 and done.stderr.count(b"\n") == 1, f"one line about missing {name!r}")


def test_broken_lines(program):
    names = sorted(path.name for path in TESTDATA.glob("*.png")) + sorted(path.name for path in TESTDATA.glob("*.tif"))
    done = run(program, "--json", *names)
    check(done.returncode == 1, "a batch with bad files gives 1")
    files = [strict_json(line)["file"] for line in done.stdout.decode().splitlines()]
    check(sorted(set(files), key=files.index) == names, "every file has a line, in order")


# ---- Threads ---------------------------------------------------------------------------------------


def test_jobs(program):
    names = [path.name for path in sorted(TESTDATA.glob("*.png")) + sorted(TESTDATA.glob("*.tif"))] * 3
    for style in (["--json", "--histogram", "--bins", "7"], ["--csv", "--percentiles", "1,99"], []):
        one = run(program, "--jobs", "1", *style, *names)
        for jobs in ("2", "3", "8"):
            many = run(program, "--jobs", jobs, *style, *names)
            check((one.stdout, one.stderr, one.returncode) == (many.stdout, many.stderr, many.returncode),
                  f"--jobs {jobs} gives what --jobs 1 gives {style}")


def test_plot(program):
    done = run(program, "hist", "--plot", "-", "photo.tif")
    svg = xml.fromstring(done.stdout)
    curves = [node for node in svg.iter() if node.get("class") == "curve"]
    check(len(curves) == 3, f"one curve per channel: {len(curves)}")
    texts = [node.text for node in svg.iter() if node.tag.endswith("text")]
    for word in ("red", "green", "blue", "sample value", "0", "50", "250"):
        check(word in texts, f"the plot says {word}")
    check(not re.search(rb'(href|src|url\()', done.stdout), "the plot needs no other file")


def main():
    program = str(Path(sys.argv[1]).resolve())
    tests = [value for name, value in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        test(program)
    for good, sentence in CHECKS:
        if not good:
            print(f"WRONG {sentence}")
    wrong = sum(not good for good, _ in CHECKS)
    print(f"{len(tests)} tests, {len(CHECKS)} checks, {wrong} wrong")
    sys.exit(1 if wrong or len(CHECKS) < 100 else 0)


if __name__ == "__main__":
    main()
