#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What golden files cannot hold: signals, closed pipes, names of any bytes, threads, and whether
help, man page and completion say the same.

usage: test_program.py IMGSTAT
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
import zlib
from pathlib import Path

from harness import LIMIT, environment

ROOT = Path(__file__).resolve().parent.parent.parent
TESTDATA = ROOT / "testdata"
CHECKS = []


def check(good, sentence):
    CHECKS.append((bool(good), sentence))


def run(program, *arguments, **keywords):
    return subprocess.run([program, *arguments], cwd=keywords.pop("cwd", TESTDATA), capture_output=True, timeout=LIMIT,
                          env=environment(), check=False, **keywords)


# ---- Documentation ---------------------------------------------------------------------------------


COMMANDS = ("stats", "hist", "info", "normalize", "equalize", "apply", "devices")


def help_of(program, command, option):
    text = run(program, command, option).stdout.decode()
    return set(re.findall(r"^ +(?:-\w, +)?(--[a-z0-9-]+)", text, re.M)), text


def test_help(program):
    for command in COMMANDS:
        everyday, _ = help_of(program, command, "--help")
        options, _ = help_of(program, command, "--help-all") if command != "devices" else (everyday, "")
        check(everyday <= options and 0 < len(everyday) <= 25, f"{command} --help lists {len(everyday)} everyday options")
        for option in ("--help", "--help-all")[:1 if command == "devices" else 2]:
            text = help_of(program, command, option)[1]
            check(all(len(line) <= 80 for line in text.splitlines()), f"{command} {option} fits 80 columns")
            examples = text.split("Examples:\n")[-1].splitlines()
            check(len(examples) == 3, f"{command} {option} ends with three examples")
        whole = run(program, "help", command).stdout.decode()
        check(whole == help_of(program, command, "--help-all" if command != "devices" else "--help")[1], f"help {command}")


def test_manual(program):
    """Each command has a page with its options, which imgstat(1) names; roff has no complaint."""
    overview = (ROOT / "docs" / "imgstat.1").read_text(encoding="utf-8")
    everything = {"--version"}
    for command in re.findall(r"^  (\w+)  ", run(program, "--help").stdout.decode(), re.M):
        page = run(program, "--manual", command, "2026-01-31").stdout
        words = page.decode().replace("\\-", "-")
        shown = set(re.findall(r"^\.TP\n(?:\\fB-\w\\fR, )?\\fB(--[a-z0-9-]+)", words, re.M))
        options = help_of(program, command, "--help-all" if command != "devices" else "--help")[0]
        check(shown == options, f"the page of {command} has other options: {shown ^ options}")
        everything |= options
        check(words.startswith(f'.TH IMGSTAT-{command.upper()} 1 "2026-01-31" "imgstat '), f"its first line: {words[:80]}")
        check(f"imgstat\\-{command} (1)" in overview, f"imgstat(1) names the page of {command}")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, check=False)
            check(done.returncode == 0 and not done.stderr, f"groff about {command}: {done.stderr}")
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", overview.replace("\\-", "-"))):
        check(option in everything, f"{option} of imgstat(1) exists")
    sources = "".join(path.read_text(encoding="utf-8") for folder in ("src", "tools/imgstat") for path in (ROOT / folder).rglob("*.c"))
    environment = overview.partition(".SH ENVIRONMENT")[2].partition(".SH ")[0]
    variables = set(re.findall(r'getenv\("(\w+)"\)|"(IMGSTAT_[A-Z_]+)"', sources))
    for variable in {a or b for a, b in variables}:
        check(re.search(rf"\b{variable}\b", environment), f"{variable} is in ENVIRONMENT of imgstat(1)")
    check(run(program, "--manual", "stat").returncode == 2, "a page of another command is wrong usage")


COMPLETE = """source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_imgstat
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_completion(program):
    with tempfile.TemporaryDirectory() as folder:
        for shell, syntax in (("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
            path = Path(folder) / shell
            path.write_bytes(run(program, "--completion", shell).stdout)
            text = path.read_text(encoding="utf-8")
            for command in COMMANDS:
                check(command in text, f"{shell} completes {command}")
            if shutil.which(shell):
                done = subprocess.run([shell, *syntax, str(path)], capture_output=True, timeout=LIMIT, check=False)
                check(done.returncode == 0, f"{shell} reads its completion: {done.stderr!r}")

        def complete(*words):
            done = subprocess.run(["bash", "-c", COMPLETE, "bash", f"{folder}/bash", "imgstat", *words], cwd=TESTDATA,
                                  capture_output=True, timeout=LIMIT, check=False)
            return done.stdout.decode().split()

        if shutil.which("bash"):
            for command in COMMANDS:
                options = help_of(program, command, "--help-all" if command != "devices" else "--help")[0]
                check(set(complete(command, "--")) == options, f"bash offers the options of {command}")
            check(complete("eq") == ["equalize"], f"a command: {complete('eq')}")
            check(complete("--ve") == ["--verbose", "--version"], f"options without a command: {complete('--ve')}")
            check(complete("equalize", "--like", "=", "im") == ["imagemagick", "imagej", "imagej-classic"], "values")
            check(complete("--jobs", "") == [], "nothing where a number is wanted")
            check("photo.tif" in complete("equalize", "--match", "ph"), "files where a file is wanted")
    for shell in ("bash", "zsh", "fish"):
        text = run(program, "--completion", shell).stdout.decode()
        for command in COMMANDS[:-1]:
            for option in help_of(program, command, "--help-all")[0]:
                name = option if shell != "fish" else f"-l {option[2:]}"
                check(re.search(re.escape(name) + r"(?![a-z-])", text), f"{shell} completes {option}")
    done = run(program, "--completion", "csh")
    check((done.returncode, done.stderr) == (2, b"imgstat: --completion is for bash, zsh or fish, not 'csh'\n"), f"{done.stderr!r}")


def test_version(program):
    text = run(program, "--version").stdout.decode()
    for word in ("imgstat ", "cpu", "libpng", "libtiff"):
        check(word in text, f"--version names {word}")
    check("cpu" in run(program, "devices").stdout.decode(), "devices lists cpu")


# ---- Ends ------------------------------------------------------------------------------------------


def test_closed_pipe(program):
    names = ["good-example.png"] * 2000
    with subprocess.Popen([program, "--json", "--jobs", "1", *names], cwd=TESTDATA, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment()) as child:
        child.stdout.readline()
        child.stdout.close()
        stderr = child.stderr.read()
        child.wait(LIMIT)
    check(stderr == b"", f"a closed pipe is quiet: {stderr!r}")
    check(child.returncode in (1, -signal.SIGPIPE), f"a closed pipe ends it: {child.returncode}")


def test_interrupt(program):
    # Standard input that never ends keeps it waiting, whatever the machine's speed; it has begun to read once more was
    # taken than a pipe holds.
    with subprocess.Popen([program, "-"], cwd=TESTDATA, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment()) as child:
        child.stdin.write((TESTDATA / "good-example.png").read_bytes() + bytes(2 << 20))
        child.stdin.flush()
        child.send_signal(signal.SIGINT)
        check(child.wait(LIMIT) == 130, f"SIGINT gives 130: {child.returncode}")


def test_endless_input(program):
    # It used to be copied until the disk was full.
    done = run(program, "/dev/zero")
    check(done.returncode == 1 and b"neither PNG nor TIFF" in done.stderr, f"/dev/zero: {done.stderr!r}")
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = run(program, "-", stdin=endless.stdout)
        endless.stdout.close()
        check(done.returncode == 1 and b"neither PNG nor TIFF" in done.stderr, f"yes: {done.stderr!r}")
    for name in ("good-rgb.png", "good-pages.tif"):
        with subprocess.Popen(["dd", f"if={name}", "bs=7", "status=none"], cwd=TESTDATA, stdout=subprocess.PIPE) as slow:
            done = run(program, "--json", "-", stdin=slow.stdout)
        other = run(program, "--json", name)
        check(done.stdout == other.stdout.replace(name.encode(), b"-"), f"{name} from a pipe in small pieces")


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


def test_page_of_standard_input(program):
    # "-[1]" was taken for an option "[".
    data = (TESTDATA / "good-pages.tif").read_bytes()
    for page in range(3):
        named = run(program, "--json", f"good-pages.tif[{page}]").stdout.replace(b"good-pages.tif", b"-")
        whole = run(program, "hist", "--csv", f"good-pages.tif[{page}]").stdout.replace(b"good-pages.tif", b"-")
        check(named and whole, f"page {page} of a file")
        for words in ((f"-[{page}]", "--json"), ("stats", "--json", f"-[{page}]"), ("--json", "--", f"-[{page}]")):
            done = run(program, *words, input=data)
            check((done.returncode, done.stdout) == (0, named), f"{words}: {done.stderr!r}")
        done = run(program, "hist", f"-[{page}]", "--csv", input=data)
        check((done.returncode, done.stdout) == (0, whole), f"hist -[{page}]: {done.stderr!r}")
        for command in (("normalize",), ("equalize",), ("equalize", "--clahe"))[:2 if page == 2 else 3]:  # no float CLAHE
            of_file = run(program, *command, f"good-pages.tif[{page}]", "-o", "-")
            of_input = run(program, *command, f"-[{page}]", "-o", "-", input=data)
            check(of_file.stdout and of_file.stdout == of_input.stdout, f"{command} of -[{page}]: {of_input.stderr!r}")
    done = run(program, "--csv", "good-1x1.png", "-[1]", "--quiet", "good-1x1.tif", input=data)
    order = [line.split(b",")[0] for line in done.stdout.splitlines()]
    check(order == [b"file", b"good-1x1.png", b"-", b"-", b"-", b"good-1x1.tif"], f"in the order of the names: {order}")
    with tempfile.TemporaryDirectory() as folder:
        transfer = f"{folder}/t.json"
        run(program, "normalize", "--save-transfer", transfer, "-[0]", "-o", f"{folder}/0.tif", input=data)
        done = run(program, "apply", transfer, "-[0]", "-o", "-", input=data)
        check(done.stdout and done.stdout == Path(f"{folder}/0.tif").read_bytes(), f"apply to -[0]: {done.stderr!r}")
    for word, status, sentence in (("-[3]", 1, b"-: has no page 3; it has 3, counted from 0\n"),
                                   ("-[x]", 1, b"-[x]: No such file or directory\n"),
                                   ("-[", 1, b"-[: No such file or directory\n"),
                                   ("-q[1]", 2, b"imgstat stats: unknown option '-q[1]'\n")):
        done = run(program, word, input=data)
        check(done.returncode == status and done.stderr.startswith(sentence), f"{word}: {done.stderr!r}")


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


def axis_texts(program, *names):
    """The numbers of a plot along its axes: of sample values, and of samples."""
    svg = xml.fromstring(run(program, "hist", "--plot", "-", *names).stdout)
    texts = [node for node in svg.iter() if node.tag.endswith("text") and re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", node.text)]
    return [[(float(node.get("x")), node.text) for node in texts if node.get("text-anchor") == anchor] for anchor in ("middle", "end")]


def test_plot_numbers(program):
    """Numbers of more than 6 digits lay on each other, those of close values were all the same, large counts left the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.tif"
        for lo, hi in ((0, 4294967295), (-2147483648, 2147483647), (1e9, 1e9 + 0.1), (1000, 1000.0001), (-1e300, 1e300), (0, 255)):
            path.write_bytes(make_doubles([lo + (hi / 100 - lo / 100) * k for k in range(101)]))
            ticks = axis_texts(program, path)[0]
            for (left, one), (right, next_one) in zip(ticks, ticks[1:]):
                check(float(one) < float(next_one), f"numbers of {lo} to {hi} rise: {ticks}")
                check(right - left >= 7 * (len(one) + len(next_one)) / 2, f"numbers of {lo} to {hi} have room: {ticks}")
            at = [(x - ticks[0][0]) / (ticks[-1][0] - ticks[0][0]) for x, _ in ticks]
            values = [(float(text) - float(ticks[0][1])) / (float(ticks[-1][1]) - float(ticks[0][1])) for _, text in ticks]
            check(len(ticks) >= 2 and max(abs(a - b) for a, b in zip(at, values)) < 2e-3, f"numbers lie where they belong: {ticks}")
        record = Path(folder) / "0.rec"
        run(program, "stats", "--by", "all", "--save-record", record, "photo.tif")
        for k in range(15):
            run(program, "merge", record, record, "-o", Path(folder) / f"{k + 1}.rec")
            record = Path(folder) / f"{k + 1}.rec"
        counts = [text for _, text in axis_texts(program, record)[1]]
        check(len(counts) > 3 and max(map(float, counts)) > 1e8 and max(map(len, counts)) < 9, f"large counts are short: {counts}")


def read_rgb(data):
    """A PNG of 8-bit RGB without filters, as rows of bytes."""
    at, idat, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        check(zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], "PNG chunk")
        size = struct.unpack(">II", body[:8]) if kind == b"IHDR" else size
        idat += body if kind == b"IDAT" else b""
        at += 12 + length
    raw = zlib.decompress(idat)
    stride = 3 * size[0] + 1
    rows = [raw[y * stride + 1:(y + 1) * stride] for y in range(size[1])]
    check(all(raw[y * stride] == 0 for y in range(size[1])), "rows without filters")
    return size, rows


def test_plot_png(program):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plot.PNG"
        done = run(program, "hist", "--plot", path, "photo.tif")
        check((done.returncode, done.stdout, done.stderr) == (0, b"", b""), f"PNG plot: {done.stderr}")
        (width, height), rows = read_rgb(path.read_bytes())
        pixels = {row[3 * x:3 * x + 3] for row in rows for x in range(width)}
        for name, colour in (("red", "d62728"), ("green", "2ca02c"), ("blue", "1f77b4"), ("paper", "ffffff"),
                             ("frame", "333333"), ("text", "000000")):
            check(bytes.fromhex(colour) in pixels, f"the plot shows {name}")
        # The curve is where the counts say: the SVG has the same points, in units of two pixels.
        svg = xml.fromstring(run(program, "hist", "--plot", "-", "photo.tif").stdout)
        curve = [node for node in svg.iter() if node.get("class") == "curve"][2]
        wrong = 0
        for point in curve.get("points").split()[::7]:
            x, y = (int(2 * float(part)) for part in point.split(","))
            near = [rows[v][3 * u:3 * u + 3] for v in (y - 1, y) for u in (x - 1, x) if 0 <= v < height]
            wrong += bytes.fromhex("1f77b4") not in near
        check(wrong == 0, f"{wrong} points of the blue curve are not where they belong")
        check(run(program, "hist", "--plot", path, "photo.tif").returncode == 1, "an existing plot stays")


def make_doubles(values):
    """A TIFF of one row of float64."""
    tags = [(256, 3, 1, len(values)), (257, 3, 1, 1), (258, 3, 1, 64), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
            (277, 3, 1, 1), (278, 3, 1, 1), (279, 4, 1, 8 * len(values)), (339, 3, 1, 3)]
    data = struct.pack(f"<2sHI{len(values)}d", b"II", 42, 8 + 8 * len(values), *values)
    return data + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)


def test_more_than_a_double(program):
    # The edges of bins over such a range were null, the points of its plot no numbers, and --range refused it.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "far.tif"
        path.write_bytes(make_doubles([-1.5e308, 1.5e308, 0, 1]))
        for words in ([], ["--range=-1.5e308,1.5e308"]):
            lines = run(program, "hist", "--csv", "--bins", "4", *words, path).stdout.decode().splitlines()
            told = [tuple(map(float, line.split(",")[4:])) if "null" not in line else line for line in lines[1:]]
            check(told == [(-1.5e308, -7.5e307, 1, 1), (-7.5e307, 0, 0, 1), (0, 7.5e307, 2, 3), (7.5e307, 1.5e308, 1, 4)],
                  f"edges of a wide range {words}: {told}")
        svg = xml.fromstring(run(program, "hist", "--plot", "-", path).stdout)
        points = [part for node in svg.iter() for part in re.split("[ ,]", node.get("points") or "0")]
        check(len(points) > 1000 and all(re.fullmatch(r"\d+(\.\d+)?", part) for part in points), "points are in the picture")
        axis = run(program, "hist", path).stdout.decode()
        check("-1.5e+308" in axis.splitlines()[-4], f"the axis has values: {axis}")


def test_many_percentiles(program):
    # Every hundredth of a percent was one too many.
    keys = [f"{i / 100:g}" for i in range(10001)]
    done = run(program, "--json", "--percentiles", ",".join(keys), "good-example.png")
    told = strict_json(done.stdout.decode())["channels"][0]["percentiles"] if done.returncode == 0 else {}
    check(list(told) == keys and told["50"] == 69 and told["100"] == 154, f"10,001 percentiles: {done.stderr[:200]}")


def make_pages(pages):
    """A TIFF of 1 x 1 gray pages; bits per sample of each as given, 8 is good."""
    data = struct.pack("<2sHI", b"II", 42, 8)
    for i, bits in enumerate(pages):
        start = len(data)
        tags = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 1, bits), (259, 3, 1, 1), (262, 3, 1, 1),
                (273, 4, 1, start), (277, 3, 1, 1), (278, 3, 1, 1), (279, 4, 1, 1)]
        end = start + 2 + 12 * len(tags) + 4
        data += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
        data += struct.pack("<I", end if i + 1 < len(pages) else 0)
    return data


def test_bad_pages(program):
    # A bad page used to end its file: the pages after it were not measured.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.tif"
        for pages in ([8, 77, 8], [77, 8], [77, 77, 8, 77, 8], [8, 77]):
            path.write_bytes(make_pages(pages))
            done = run(program, "--json", path)
            lines = [strict_json(line) for line in done.stdout.decode().splitlines()]
            told = [(line.get("page"), "error" not in line) for line in lines]
            check(told == [(i, bits == 8) for i, bits in enumerate(pages)], f"pages {pages}: {told}")
            check(done.returncode == 1, f"pages {pages}: exit status {done.returncode}")
            for i, bits in enumerate(pages):
                check((b"page %d" % i in done.stderr) == (bits != 8), f"pages {pages}: page {i} in {done.stderr!r}")
        path.write_bytes(make_pages([77, 77, 77]))
        done = run(program, "--json", path)
        errors = [line for line in done.stderr.splitlines() if b": warning: " not in line]
        check(len(errors) == 1 and done.stdout.count(b"\n") == 1, "a file without a good page fails once")


def test_environment(program):
    def status(jobs, *arguments):
        return subprocess.run([program, *arguments, "good-1x1.png"], cwd=TESTDATA, check=False, capture_output=True,
                              env={**environment(), "IMGSTAT_JOBS": jobs}).returncode
    check(status("many") == 2 and status("many", "--jobs", "1") == 0 and status("2") == 0,
          "IMGSTAT_JOBS is read where --jobs is not given")


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
