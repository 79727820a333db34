#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a terminal shows, and pipes do not: colours, tables and progress that fit. Terminals are those of Python's pty.

usage: test_terminal.py IMGSTAT"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import harness
from harness import TESTDATA, check, png, run, tiff
from tiff_tree import gray, write

STYLE = re.compile(r"\033\[[0-9;]*m")
LONG = "a-name-that-is-longer-than-any-table-has-room-for-{}-and-ends-ümlaut.png"


def show(program, *words, columns=80, variables=None, stderr=True):
    """What the program writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([program, *map(str, words)], stdin=subprocess.DEVNULL, stdout=theirs,
                             stderr=theirs if stderr else subprocess.DEVNULL,
                             env={**harness.environment(), "TERM": "xterm", "NO_COLOR": "", **(variables or {})})
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # as Linux ends it
            break
        if not piece:
            break
        text += piece
    child.wait(timeout=harness.LIMIT)
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def plain(text):
    """Without styles, and without the lines of progress, which are cleared."""
    return STYLE.sub("", re.sub("\r[^\n]*?\033\\[K", "", text))


def many(folder):
    for i in range(3):
        (folder / LONG.format(i)).write_bytes(png(8, 8, 8, bytes(range(64))))
    return folder


def test_colours(program, folder):
    words = ["stats", many(folder)]
    piped = run(program, *words).stdout.decode()
    shown = show(program, *words, columns=200)
    check(shown.count("\033[1m") == 1 and "\033[1mfile" in shown, f"the header alone: {shown!r}")
    check("\033" not in piped, "a pipe has no colours")
    for variables, more in (({"NO_COLOR": "1"}, []), ({}, ["--color=never"]), ({"TERM": "dumb"}, []), ({"TERM": ""}, [])):
        check(not STYLE.search(show(program, *words, *more, variables=variables)), f"{variables} {more}")
    always = run(program, *words, "--color", "always", variables={"NO_COLOR": "1"}).stdout.decode()
    check(STYLE.search(always) and STYLE.sub("", always) == piped, "--color always")
    for style in ("--json", "--csv"):
        check("\033" not in show(program, *words, style, "--color=always", stderr=False), style)
    gray = run(program, "hist", "--color", "always", TESTDATA / "good-example.tif").stdout
    check(b"\033" not in gray, "the curve of gray has the colour of text, and nothing ends it")
    done = run(program, *words, "--color", "red", status=2)
    check(b"--color" in done.stderr and b"always" in done.stderr, done.stderr)


def test_channels(program, folder):
    """Bars have the colour of their channel; kept texts of shards have none."""
    image = folder / "rgb.tif"
    image.write_bytes(tiff("u8", 4, 4, list(range(48)), 3))
    shown = show(program, "hist", image)
    check(all(f"\033[{code}m" in shown for code in (31, 32, 34)), shown)
    check(plain(shown) == run(program, "hist", "--width", 80, image).stdout.decode(), "bars are the same")
    check("\033" not in show(program, "hist", "--shards", 2, "--state", folder / "state", image, stderr=False), "shards")


def test_pages_as_one(program, folder):
    """The margin was that of the samples of one page, and the title of a plot had the size of the first page."""
    image = folder / "a.tif"
    for sizes, size in (([(8, 8)] * 20, "8 x 8"), ([(8, 8), (16, 77)], "several sizes")):
        image.write_bytes(write([gray([bytes(width)] * height, "B") for width, height in sizes]))
        rows = [line for line in run(program, "hist", "--ascii", "--by", "file", image).stdout.decode().splitlines()
                if " |" in line or " +-" in line]
        count = str(sum(width * height for width, height in sizes))
        check(len(rows) == 9 and rows[0].startswith(f"{count} |") and
              all(row[len(count) + 1] in "|+" for row in rows), f"{size}: {rows}")
        run(program, "hist", "--force", "--by", "file", "--plot", folder / "a.svg", image)
        check(f">a.tif, {size}, u8</text>" in (folder / "a.svg").read_text(), size)


def test_drawing_options(program, _):
    """JSON and CSV ignored options that are for the drawing."""
    for style in ("--json", "--csv"):
        for words in (["--log"], ["--ascii"], ["--width", 40], ["--height", 3]):
            done = run(program, "hist", style, *words, TESTDATA / "good-example.png", status=2)
            check(done.stdout == b"" and b"are for what is drawn" in done.stderr, f"{style} {words}: {done.stderr}")


def test_many_columns(program, folder):
    """Columns from the 65th on were not below each other."""
    (folder / "a.tif").write_bytes(tiff("f32", 3, 2, [0.5, 1.25, 300, 4, 5, 6]))
    (folder / "b.tif").write_bytes(tiff("f32", 3, 2, [1, 2, 3, 4, 5, 60000]))
    rows = run(program, "stats", "--percentiles", ",".join(map(str, range(101))), "a.tif", "b.tif", cwd=folder).stdout.decode().splitlines()
    ends = [[word.end() for word in re.finditer(r"\S+", row)][2:] for row in rows]  # numbers end at one place
    check(len(rows) == 3 and all(len(one) == 106 and one == ends[0] for one in ends), str(ends))


def test_long_title(program, folder):
    """The title of a plot left the picture where the name of the file was long."""
    name = "x" * 100 + "-ümlaut.tif"
    (folder / name).write_bytes(tiff("u8", 2, 1, [1, 2]))
    run(program, "hist", "--plot", folder / "a.svg", folder / name)
    title = re.search(r'font-size="15">([^<]*)<', (folder / "a.svg").read_text())[1]
    check(re.fullmatch(r"x+…x*-ümlaut\.tif, 2 x 1, u8", title) and len(title) == 44 + len(", 2 x 1, u8"), title)


def test_plot_and_record(program, folder):
    """A plot followed the record on standard output, and took its place in a file."""
    (folder / "is.svg").write_text("kept")
    (folder / "other.svg").symlink_to("is.svg")
    for plot, record in (("-", "-"), ("new.svg", "new.svg"), ("is.svg", "./other.svg")):
        done = run(program, "hist", "--force", "--by", "all", "--plot", plot, "--save-record", record,
                   TESTDATA / "good-example.png", cwd=folder, status=2)
        check(done.stdout == b"" and f"both become {plot}\n".encode() in done.stderr, f"{plot}: {done.stderr}")
    check((folder / "is.svg").read_text() == "kept" and not (folder / "new.svg").exists(), "nothing is written")


def test_warnings(program, folder):
    image = folder / "w.png"
    image.write_bytes(png(8, 8, 8, bytes(64)))
    (folder / "loop").symlink_to(folder)
    for text in (show(program, "stats", "-r", folder), show(program, "normalize", "-r", folder, "-o", folder / "out")):
        check(re.search("loop: \033\\[33mwarning:\033\\[0m leads to", text), f"{text!r}")


def test_tables(program, folder):
    many(folder)
    piped = run(program, "stats", folder).stdout.decode()
    check(all(LONG.format(i) in piped for i in range(3)), "whole names in a pipe")
    for columns in (60, 80, 100):
        lines = plain(show(program, "stats", folder, columns=columns)).splitlines()
        rows = [line for line in lines if "…" in line]
        check(len(rows) == 3 and all(len(line) == columns for line in rows), f"{columns}: {rows}")
        check(all(line.split()[0].endswith("mlaut.png") for line in rows), f"{columns}: {rows}")
    rows = plain(show(program, "stats", folder, columns=20)).splitlines()
    check(len(rows) == 4 and all(line.split()[0][-4:] in ("file", ".png") for line in rows), f"the least: {rows}")
    shown = plain(show(program, "stats", folder, columns=400))
    check(shown.splitlines()[1].startswith(str(folder / LONG.format(0)) + "  gray"), "a wide terminal has whole names")
    ascii_only = show(program, "stats", folder, columns=80, variables={"LC_ALL": "C"})
    check("..." in ascii_only and "…" not in ascii_only, "ASCII")


def test_progress(program, folder):
    """A line that never wraps: what it has no room for is left out."""
    many(folder)
    for columns, parts in ((80, 4), (14, 2), (6, 1)):
        shown = show(program, "stats", folder, columns=columns, variables={"NO_COLOR": "1"})
        lines = re.findall("\r([^\r\n]*?)\033\\[K", shown)
        first = next((line for line in lines if line), "")
        want = ["[123]", " of 3", r", [\d,.]+ a (second|minute)", r", \d+ s left"][:parts]
        check(re.fullmatch("".join(want), first), f"{columns} columns: {lines}")
        check(all(len(line) < columns for line in lines), f"{columns} columns: {lines}")
        check(lines and lines[-1] == "", f"it is cleared: {lines}")
    for words, variables in ((["--quiet"], {}), ([], {"TERM": "dumb"})):
        check("\r" not in show(program, "stats", folder, *words, variables=variables), f"{words} {variables}")
    check(run(program, "stats", folder).stderr == b"", "none in a pipe")


def test_help(program, _):
    """A heading and options stand out on a terminal, and the text is that of a pipe."""
    shown = show(program, "stats", "--help")
    check("\033[1mStatistics:\033[0m" in shown and "\033[36m--json\033[0m" in shown, f"{shown!r}")
    check(plain(shown) == run(program, "stats", "--help").stdout.decode(), "the text of help")
    check("\033" not in show(program, "--help", variables={"NO_COLOR": "1"}), "NO_COLOR")
    check(show(program, "stats", TESTDATA / "good-example.tif", "--color", "never").startswith(str(TESTDATA)), "one image")


if __name__ == "__main__":
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:  # a container without /dev/pts
        print(f"skipped: no terminal: {error}")
        sys.exit(77)
    harness.main(globals())
