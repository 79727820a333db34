# SPDX-License-Identifier: MIT
"""Statistics and contrast of images: exact, in one read, the same on the CPU and on a GPU."""
from ._imgstat import __version__
from .command import run

__all__ = ["__version__", "run"]
