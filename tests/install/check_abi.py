#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the binary interface of the installed headers with the one recorded beside this file.

    check_abi.py ABI_NUMBER [C_COMPILER]     ABI_NUMBER: the number in libimgstat.so's name
    check_abi.py --update ABI_NUMBER         records today's headers

Debian's list of symbols, tools/packaging/debian/libimgstat0.symbols, has each function with the version that brought
it; --update adds new ones to it.

abi/ has the headers as they were recorded, and abi/number their number. Of both states a library of empty
functions is compiled, and abidiff (package abigail-tools) compares these. New functions are compatible;
anything else that differs, a field at the end of a struct included, needs a new number: programs that are
linked with the older library hand over structs of the older size. Without abidiff: exit status 77.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
RECORDED, SOURCE, SYMBOLS = HERE / "abi", PROJECT / "src", PROJECT / "tools/packaging/debian/libimgstat0.symbols"


def headers(folder):
    return sorted(folder.glob("imgstat*.h"))


def functions(text):
    """The declarations of functions, as they stand."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
    return re.findall(r"(?:^|(?<=[;}{]))\s*((?:\w+[\s*]+)+imgstat_\w+\s*\([^;{}]*\))\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?;",
                      text, flags=re.S)


def stub(folder, cc, out):
    """A library of the headers in folder whose functions are empty; returns how many there are."""
    found = [one for header in headers(folder) for one in functions(header.read_text())]
    source = out.with_suffix(".c")
    source.write_text("".join(f'#include "{header.name}"\n' for header in headers(folder)) +
                      "".join(f"{one}\n{{\n    __builtin_trap();\n}}\n" for one in found))
    subprocess.run([cc, "-g", "-O0", "-shared", "-fPIC", "-w", f"-I{folder}", "-o", out, source], check=True)
    return len(found)


def differences(before, after, cc, folder):
    """What abidiff has to say, or an empty text."""
    counts = [stub(state, cc, folder / name) for state, name in ((before, "recorded.so"), (after, "today.so"))]
    if min(counts) < 20:
        sys.exit(f"only {counts} functions found in the headers")
    done = subprocess.run(["abidiff", "--no-added-syms", folder / "recorded.so", folder / "today.so"],
                          capture_output=True, check=False)
    if done.returncode & 3:
        sys.exit(f"abidiff failed: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace") if done.returncode else ""


def today(folder):
    """The names of all functions of the headers in folder, and the version of these."""
    text = "".join(header.read_text() for header in headers(folder))
    names = [re.search(r"(imgstat_\w+)\s*\(", one).group(1) for one in functions(text)]
    version = re.findall(r"define IMGSTAT_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)", text)
    return sorted(names), ".".join(version)


def listed():
    """Debian's list: names and versions."""
    return dict(re.findall(r"^ (imgstat_\w+)@Base (\S+)$", SYMBOLS.read_text(), flags=re.M))


def list_symbols():
    names, version = today(SOURCE)
    known, head = listed(), re.match(r"(?:\S.*\n)*", SYMBOLS.read_text()).group()
    SYMBOLS.write_text(head + "".join(f" {name}@Base {known.get(name, version)}\n" for name in names))


def update(number):
    RECORDED.mkdir(exist_ok=True)
    for old in headers(RECORDED):
        old.unlink()
    for header in headers(SOURCE):
        shutil.copy(header, RECORDED)
    (RECORDED / "number").write_text(f"{number}\n")
    list_symbols()


def changed_header(folder):
    """A copy of the headers, with one struct changed: what the comparison must find."""
    folder.mkdir()
    for header in headers(SOURCE):
        shutil.copy(header, folder)
    main = folder / "imgstat.h"
    text, n = re.subn(r"typedef struct (\w+) \{", r"typedef struct \1 {\n    char one_more;", main.read_text(), count=1)
    main.write_text(text)
    return folder if n else sys.exit("imgstat.h has no struct")


def main():
    if sys.argv[1] == "--update":
        update(int(sys.argv[2]))
        return
    if today(SOURCE)[0] != sorted(listed()):
        sys.exit(f"{SYMBOLS} lists other functions than the headers: run {Path(__file__).name} --update {sys.argv[1]}")
    number, cc = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "cc"
    if not shutil.which("abidiff"):
        print("THE BINARY INTERFACE WAS NOT COMPARED: abidiff is missing (package abigail-tools)")
        sys.exit(77)
    recorded = int((RECORDED / "number").read_text())
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if not differences(SOURCE, changed_header(folder / "changed"), cc, folder):
            sys.exit("a changed struct is not found")
        found = differences(RECORDED, SOURCE, cc, folder)
    if found and number == recorded:
        sys.exit(f"{found}\nThe interface differs from the recorded one: raise the ABI number, or undo the change; "
                 f"then run {Path(__file__).name} --update NUMBER")
    if number != recorded:
        sys.exit(f"the ABI number is {number}, recorded is {recorded}: run {Path(__file__).name} --update {number}")
    print(f"ABI {number}: as recorded")


if __name__ == "__main__":
    main()
