# SPDX-License-Identifier: MIT
"""Statistics and contrast of images: exact, in one read, the same on the CPU and on a GPU."""
from . import exposure
from ._imgstat import (Array, Chain, Dataset, Error, Histogram, Record, Stats, Transfer, __version__, clahe, equalize,
                       histogram, match, normalize, percentile, stats)
from .command import run
from .files import File, Page, open, save

__all__ = ["Array", "Chain", "Dataset", "Error", "File", "Histogram", "Page", "Record", "Stats", "Transfer",
           "__version__", "clahe", "equalize", "exposure", "histogram", "match", "normalize", "open", "percentile",
           "run", "save", "stats"]
