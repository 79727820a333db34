# SPDX-License-Identifier: MIT
"""The types of the package: mypy --strict accepts it, its stubs are what the extension has, its examples are true."""
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import imgstat

FOLDER = Path(imgstat.__file__).parent
MODULES = [f"imgstat.{module.name}" for module in pkgutil.iter_modules([str(FOLDER)])
           if module.name != "__main__" and module.name.isidentifier()]  # the CUDA device's name is none


def run(*command, **options):
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def settings(tmp_path, is_small):
    if is_small:
        pytest.skip("what reads sources alone is the same for every build")
    pytest.importorskip("mypy")
    file = tmp_path / "mypy.ini"
    file.write_text(f"[mypy]\nstrict = true\npython_version = {sys.version_info[0]}.{sys.version_info[1]}\n"
                    f"mypy_path = {FOLDER.parent}\ncache_dir = {tmp_path}/cache\n")
    return file


def test_mypy_accepts_the_package(settings):
    assert "no issues found" in run("mypy", "--config-file", str(settings), "-p", "imgstat")


def test_the_stubs_are_true(settings, tmp_path):
    absent = tmp_path / "absent.txt"  # Python has it from 3.12 on, and type checkers always
    absent.write_text(".*__buffer__\n" if sys.version_info < (3, 12) else "")
    assert "Success" in run("mypy.stubtest", "imgstat", "--mypy-config-file", str(settings), "--allowlist", str(absent))


def test_a_user_of_the_package_is_checked(settings, tmp_path):
    """What is right passes, and what is wrong is found."""
    program = tmp_path / "program.py"
    program.write_text(
        "import imgstat\n"
        "s: imgstat.Stats = imgstat.stats(bytearray(9), percentiles=[1, 99], axes='HW')\n"
        "mean: float = s.mean + 1\n"
        "low: float = s.percentiles[1]\n"
        "status: int = imgstat.run(['stats', 'photo.tif'])\n")
    run("mypy", "--config-file", str(settings), str(program))
    program.write_text("import imgstat\nimgstat.stats(b'', percentils=[1])\nimgstat.run(3)\n")
    with pytest.raises(AssertionError, match="Found 2 errors"):
        run("mypy", "--config-file", str(settings), str(program))


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name, testdata, monkeypatch):
    monkeypatch.chdir(testdata)
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_everything_public_is_explained():
    for name in imgstat.__all__:
        thing = getattr(imgstat, name)
        assert name == "__version__" or (thing.__doc__ and len(thing.__doc__) > 20), name
    for kind in (imgstat.Stats, imgstat.Histogram, imgstat.Array):
        for name, attribute in vars(kind).items():
            assert name.startswith("__") or attribute.__doc__, f"{kind.__name__}.{name}"
