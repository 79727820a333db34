#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every command of README.md and of the pages of docs/, and compares what it prints with what the page shows.

usage: run_documents.py IMGSTAT [--regenerate] [PAGE...]     --regenerate: writes what is printed into the pages

Each page gets a copy of testdata/ to work in. In the order of the page:

    ```console             lines behind "$ " are run; what they print, errors included, must be what follows.
                           "..." stands for anything. Trailing blanks do not count.
    ```sh                  a script that must succeed
    ```sh elsewhere        not run: it is for machines that tests do not have
    ```c, ```python        written to the file that the first line names: /* NAME.c: ... */, # NAME.py: ...
    <!-- sh ... -->        a script as above, which readers do not see

A block that needs a program that is not installed is left out, aloud. Examples with >>> are those of tests/python."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "cli"))
from harness import LIMIT, TESTDATA, environment  # noqa: E402

ROOT = TESTDATA.parent
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```|^<!-- (sh)()\n(.*?)^-->", re.S | re.M)
UNFENCED = re.compile(r"^ {4}(?:\$ )?imgstat .*", re.M)
OTHERS = ("vips", "vipsheader", "identify", "convert", "gdalinfo", "gdal_translate", "oiiotool", "iinfo", "jq", "cc", "pkg-config",
          "mpirun", "parallel", "exiftool")
PACKAGE = "Name: imgstat\nDescription: this build\nVersion: 0\nCflags: -I{root}/src\nLibs: -L{lib} -Wl,-rpath,{lib} -limgstat\n"


class Page:
    """A page, the folder in which its commands run, and what was found."""

    def __init__(self, path, folder, variables):
        self.path, self.folder, self.variables = path, folder, variables
        self.run, self.wrong, self.skipped = 0, [], set()

    def shell(self, script, *options):
        self.run += 1
        return subprocess.run(["bash", *options, "-c", script], cwd=self.folder, env=self.variables, check=False, timeout=LIMIT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def is_skipped(self, text):
        missing = {word for word in OTHERS if re.search(rf"(^|[|;(]|\bdo ) *(\$ )?{word} ", text, re.M) and not shutil.which(word)}
        missing |= {word for word in re.findall(r"python3 -c 'import (\w+)", text) if not importlib.util.find_spec(word)}
        self.skipped |= missing
        return bool(missing)

    def console(self, text):
        """The block as it should be: as it is, where it says the truth."""
        new = ""
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", part).group()
            shown = part[len(command):]
            printed = self.shell(command).stdout.decode().rstrip()
            printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
            pattern = ".*?".join(re.escape(piece) for piece in shown.rstrip().split("..."))
            if re.fullmatch(pattern, printed.rstrip(), re.S):
                printed = shown.rstrip("\n") + "\n" if shown.strip() else ""
            else:
                self.wrong.append(f"$ {command}prints\n{printed}")
            new += f"$ {command}{printed}" + ("\n" if shown.endswith("\n\n") else "")
        return new

    def script(self, text):
        done = self.shell(text, "-euo", "pipefail")
        if done.returncode != 0:
            self.wrong.append(f"{text}exit status {done.returncode}\n{done.stdout.decode()}")

    def block(self, match):
        language, more, text = match.group(1) or match.group(4), match.group(2) or "", match.group(3) or match.group(6)
        name = re.match(r"(?:/\*|#) (\w+\.(?:c|py)):", text)
        if name:
            (self.folder / name.group(1)).write_text(text)
        elif language in ("console", "sh") and more.strip() == "elsewhere" or self.is_skipped(text):
            pass
        elif language == "console":
            return match.group().replace(text, self.console(text))
        elif language == "sh":
            self.script(text)
        elif re.search(r"^\$? ?imgstat ", text, re.M):
            self.wrong.append(f"{text}is not run: a fence says console or sh")
        return match.group()


def run_page(path, program, regenerate):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(TESTDATA, folder / "testdata")
        (folder / "bin").mkdir()
        (folder / "bin" / "imgstat").symlink_to(program)
        (folder / "imgstat.pc").write_text(PACKAGE.format(root=ROOT, lib=program.parent))
        variables = {**environment(), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(folder),
                     "HOME": str(folder)}
        page = Page(path, folder / "testdata", variables)
        old = path.read_text(encoding="utf-8")
        new = BLOCK.sub(page.block, old)
        page.wrong += [f"{line}\nis not run: it needs a fence" for line in UNFENCED.findall(BLOCK.sub("", old))]
    if regenerate and new != old:
        path.write_text(new, encoding="utf-8")
    return page


def main():
    program = Path(sys.argv[1]).resolve()
    words = sys.argv[2:]
    names = [Path(word).resolve() for word in words if word != "--regenerate"]
    pages = [run_page(path, program, "--regenerate" in words)
             for path in names or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]]
    for page in pages:
        for sentence in page.wrong:
            print(f"{page.path.relative_to(ROOT)}: {sentence}")
        if page.skipped:
            print(f"skipped: {page.path.name}: {', '.join(sorted(page.skipped))} not installed")
    run, wrong = sum(page.run for page in pages), sum(len(page.wrong) for page in pages)
    print(f"{run} commands of {len(pages)} pages run, {wrong} wrong")
    return 1 if wrong or run == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
