#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden tests: runs each cases/NAME.cmd in testdata/ and compares with what lies beside it.

usage: run_cases.py IMGSTAT [--regenerate] [NAME...]

NAME.cmd is a shell command in which imgstat is the program. NAME.stdout, NAME.stderr and NAME.exit
are what it must give; --regenerate writes them anew: read the difference before committing it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from harness import LIMIT, TESTDATA, environment

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"


def run(program, command, folder):
    """In an environment that is the same everywhere; $TMP is an empty folder of the case."""
    same = environment()
    same.update(PATH=f"{folder}/bin:{same['PATH']}", TMP=f"{folder}/tmp", IMGSTAT_DEVICE="cpu")
    (folder / "bin").mkdir()
    (folder / "tmp").mkdir()
    (folder / "bin" / "imgstat").symlink_to(program)
    done = subprocess.run(["sh", "-c", command], cwd=TESTDATA, env=same, capture_output=True, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, check=False)
    return {"stdout": done.stdout, "stderr": done.stderr.replace(str(folder).encode(), b"FOLDER"),
            "exit": b"%d\n" % done.returncode}


def expected(case, part):
    path = case.with_suffix(f".{part}")
    return path.read_bytes() if path.exists() else b"0\n" if part == "exit" else b""


def differ(case, got):
    wrong = []
    for part, text in got.items():
        if text != expected(case, part):
            wrong.append(f"{case.stem}.{part}:\n--- expected\n{expected(case, part).decode(errors='replace')}"
                         f"--- got\n{text.decode(errors='replace')}")
    return wrong


def regenerate(case, got):
    for part, text in got.items():
        path = case.with_suffix(f".{part}")
        path.unlink(missing_ok=True)
        if text != (b"0\n" if part == "exit" else b""):
            path.write_bytes(text)


def main():
    program = Path(sys.argv[1]).resolve()
    names = [word for word in sys.argv[2:] if word != "--regenerate"]
    cases = [case for case in sorted(CASES.glob("*.cmd")) if not names or case.stem in names]
    wrong = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            got = run(program, case.read_bytes(), Path(folder))
        if "--regenerate" in sys.argv:
            regenerate(case, got)
        wrong += differ(case, got)
        # A comparison that cannot fail would pass everything.
        assert differ(case, {**got, "stdout": got["stdout"] + b"x"}), "the comparison accepts anything"
    print("\n".join(wrong))
    print(f"{len(cases)} cases, {len(wrong)} differences")
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()
