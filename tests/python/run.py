#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests of the Python package with pytest. usage: run.py TEST FOLDER_OF_PACKAGE [OPTION_OF_PYTEST...]

Exit status 77 (skipped) where no Python that can load the extension has pytest, or where every test was skipped.
Other packages that a test compares with may be absent: what needs them is skipped.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

test, package = Path(sys.argv[1]), Path(sys.argv[2])


def sanitizer():
    """The runtime that the extension was linked with must come first in the process."""
    extension = next((package / "imgstat").glob("_imgstat*.so"))
    linked = subprocess.run(["ldd", extension], capture_output=True, text=True, check=True).stdout
    return [words[2] for words in map(str.split, linked.splitlines()) if words[0].startswith("libasan.so")]


def python():
    """The Python of the build, or the system's, if it has pytest. The extension runs in every Python from 3.11."""
    if sys.version_info >= (3, 11) and importlib.util.find_spec("pytest"):
        return sys.executable
    code = "import sys, pytest; sys.exit(sys.version_info < (3, 11))"
    if subprocess.run(["/usr/bin/python3", "-c", code], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return "/usr/bin/python3"
    print("skipped: no Python here has pytest (Debian, Ubuntu: python3-pytest)")
    sys.exit(77)


def main():
    environment = dict(os.environ, PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE="1")
    if preload := sanitizer():
        environment |= {"LD_PRELOAD": ":".join(preload), "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:malloc_context_size=1"}  # it leaks at its end
        environment["PYTHONMALLOC"] = "malloc"
    with tempfile.TemporaryDirectory() as folder:
        environment["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        command = [python(), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(test), *sys.argv[3:]]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(done.stdout)
    last = done.stdout.strip().splitlines()[-1] if done.stdout else ""
    if done.returncode in (0, 5) and "passed" not in last:  # 5: nothing was collected
        print(f"skipped: {test.name}: {last}")
        return 77
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
