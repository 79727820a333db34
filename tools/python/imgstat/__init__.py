# SPDX-License-Identifier: MIT
"""Statistics and contrast of images: exact, in one read, the same on the CPU and on a GPU."""
from . import exposure
from ._imgstat import (Array, Chain, Dataset, Error, Histogram, Record, Stats, StatsBatch, Transfer, __version__, clahe,
                       equalize, histogram, match, normalize, percentile, stats)
from .command import run
from .files import File, Measured, Page, Transformed, measure_files, open, save, transform_files

__all__ = ["Array", "Chain", "Dataset", "Error", "File", "Histogram", "Measured", "Page", "Record", "Stats",
           "StatsBatch", "Transfer", "Transformed", "__version__", "clahe", "equalize", "exposure", "histogram", "match",
           "measure_files", "normalize", "open", "percentile", "run", "save", "stats", "transform_files"]
