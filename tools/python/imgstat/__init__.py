# SPDX-License-Identifier: MIT
"""Statistics and contrast of images: exact, in one read, the same on the CPU and on a GPU."""
from ._imgstat import (Array, Chain, Error, Histogram, Stats, __version__, clahe, equalize, histogram, match,
                       normalize, percentile, stats)
from .command import run

__all__ = ["Array", "Chain", "Error", "Histogram", "Stats", "__version__", "clahe", "equalize", "histogram",
           "match", "normalize", "percentile", "run", "stats"]
