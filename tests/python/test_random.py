# SPDX-License-Identifier: MIT
"""Some of the calls that random_cases.py draws, on the processor; test_gpu.py makes them on a GPU."""
import pytest

pytest.importorskip("numpy")

import random_cases  # noqa: E402


def test_cases():
    for seed in range(100):
        result, what, others = random_cases.run_case(seed)
        assert not others, f"random_cases.py --first {seed} --cases 1: {what}"
        assert not result.startswith(b"Error"), result
