# SPDX-License-Identifier: MIT
"""What the tests of the Python package share."""
import os
import signal
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
def is_small():
    """Whether sanitizers run, which take long and hold what is freed."""
    return os.environ.get("IMGSTAT_TEST_SMALL") == "1"
