#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spelling of all texts by codespell; the documents by proselint and by the house style's list of phrases.

usage: check_prose.py [FOLDER]     FOLDER: where proselint keeps what it found, since it is slow. Exit status 77: one of
the programs is not installed"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = "paeth,upto,te,ot,nin,stati,fro,caf"  # a name, and names of variables
DATA = "*.json,*.png,*.svg,*.tif,*/seeds/*,*/build/*"
# Of proselint: signs outside ASCII, the best words for literature, numbers that look like something else.
UNWANTED = re.compile(r" (typography\.|security\.|weasel_words\.|dates_times\.|misc\.illogic|misc\.chatspeak)")
PHRASES = re.compile(r"of whose|who would|what is (told|said) of|\b(tells|hears|heeds)\b|may be had|comes? round|, too\.|"
                     r"where memory is out|<{7} |>{7} ")


def prose(path):
    """The text with empty lines in place of code, so that numbers of lines stay."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^(```|<!--).*?^(```|-->)", lambda found: "\n" * found.group().count("\n"), text, flags=re.S | re.M)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.M)
    number = itertools.count(10)  # the same word twice would be a finding
    return re.sub(r"`[^`\n]*`", lambda _: f"code{next(number)}", text)


def spelling():
    """Run in a folder without a pyproject.toml: codespell 2.2 fails at ours."""
    program = "/usr/bin/codespell" if Path("/usr/bin/codespell").exists() else shutil.which("codespell")
    if not program:
        return None
    texts = [ROOT / name for name in ("README.md", "CHANGELOG.md", "docs", "src", "kernels", "tools", "tests")]
    done = subprocess.run([program, "--ignore-words-list", WORDS, "--skip", DATA, *texts], cwd=ROOT / "docs", check=False,
                          capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()


def style(pages, kept):
    """What proselint finds, with the names of the pages."""
    program = "/usr/bin/proselint" if Path("/usr/bin/proselint").exists() else shutil.which("proselint")
    if not program:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            (Path(folder) / str(page.relative_to(ROOT)).replace("/", "_")).write_text(prose(page), encoding="utf-8")
        done = subprocess.run([program, *sorted(path.name for path in Path(folder).iterdir())], cwd=folder, check=False,
                              capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": kept or folder})
    return [line for line in done.stdout.splitlines() if not UNWANTED.search(line)]


def main():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "contributing").glob("*.md")]
    found = {"codespell": spelling(), "proselint": style([page for page in pages if page.parent.name != "contributing"], *sys.argv[1:2] or [None])}
    found["the house style"] = [f"{page.relative_to(ROOT)}:{i}: {match.group()}" for page in pages if page.name != "style.md"
                                for i, line in enumerate(prose(page).splitlines(), 1) for match in PHRASES.finditer(line)]
    for name, lines in found.items():
        if lines is None:
            print(f"skipped: {name} is not installed")
        for line in lines or []:
            print(f"{name}: {line}")
    wrong = sum(len(lines or []) for lines in found.values())
    print(f"{len(pages)} pages, {wrong} findings")
    return 1 if wrong else 77 if None in found.values() else 0


if __name__ == "__main__":
    sys.exit(main())
