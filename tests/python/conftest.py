# SPDX-License-Identifier: MIT
"""What the tests of the Python package share."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"

try:
    import hypothesis
except ImportError:
    pass
else:  # the same cases every time, and no time limit for a loaded machine
    hypothesis.settings.register_profile("imgstat", deadline=None, derandomize=True, print_blob=True)
    hypothesis.settings.load_profile("imgstat")

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore it


@pytest.fixture
def testdata():
    return TESTDATA


@pytest.fixture
def comma(tmp_path):
    """Runs code in a process that writes numbers with a comma."""
    made = tmp_path / "locales" / "de_DE.UTF-8"
    made.parent.mkdir()
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", made], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no locale can be made here (Debian, Ubuntu: locales)")
    begin = "import locale; locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8'); assert locale.str(0.5) == '0,5'\n"
    return lambda code: subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, check=True,
                                       cwd=tmp_path, env={**os.environ, "LOCPATH": str(made.parent)}).stdout


@pytest.fixture
def is_small():
    """Whether sanitizers run, which take long and hold what is freed."""
    return os.environ.get("IMGSTAT_TEST_SMALL") == "1"
