# SPDX-License-Identifier: MIT
"""Other interpreters of a process, and Pythons without the interpreter's lock."""
import subprocess
import sys
import sysconfig

import pytest

MEASURE = "import imgstat; assert imgstat.stats(memoryview(bytes(range(6))).cast('B', (2, 3))).max == 5"
# Runs code in an interpreter of a kind, twice: the second one starts after the first has ended.
SEVERAL = """
import sys
kind, code = sys.argv[1:]
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    create = lambda: interpreters.create(kind)
else:
    import _xxsubinterpreters as interpreters
    create = lambda: interpreters.create(isolated=kind == "isolated")
exec(code)
for _ in range(2):
    one = create()
    failed = interpreters.run_string(one, code)
    if failed is not None:
        sys.exit(f"failed: {failed.type.__name__}: {failed.msg}")
    interpreters.destroy(one)
exec(code)
"""


def run(kind, code):
    return subprocess.run([sys.executable, "-c", SEVERAL, kind, code], capture_output=True, text=True, check=False)


def test_interpreters_that_share_the_lock():
    done = run("legacy", MEASURE)
    assert done.returncode == 0, done.stderr


def test_file_objects_are_for_the_main_interpreter(testdata):
    path = testdata / "photo.tif"
    code = f"""
import io, sys, imgstat
assert imgstat.open({str(path)!r}).stats().channels == imgstat.Record.of({str(path)!r}).channels == 3
for call in (lambda: imgstat.open(io.BytesIO(open({str(path)!r}, "rb").read())).stats(),
             lambda: imgstat.Dataset.of([{str(path)!r}])):
    try:
        call()
        print("called")
    except RuntimeError as error:
        print(error)
sys.stdout.flush()
"""
    done = run("legacy", code)
    assert done.returncode == 0, done.stderr
    refused = "file objects and many files at a time are for the main interpreter alone"
    assert done.stdout.splitlines() == ["called"] * 2 + [refused] * 4 + ["called"] * 2


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older interpreters are not created so from Python")
def test_interpreters_with_a_lock_of_their_own_are_refused():
    done = run("isolated", MEASURE)
    assert done.returncode == 1 and "ImportError" in done.stderr and "imgstat" in done.stderr, done.stderr


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has the interpreter's lock")
def test_importing_leaves_the_lock_off():
    code = "import sys, imgstat, imgstat.exposure; sys.exit(sys._is_gil_enabled())"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
