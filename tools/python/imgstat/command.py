# SPDX-License-Identifier: MIT
"""The command line: `imgstat.run`, the console script `imgstat` and `python -m imgstat`."""
import os
import signal
import sys
from collections.abc import Sequence

from . import _imgstat


def run(argv: Sequence[str | bytes | os.PathLike[str]]) -> int:
    """Runs a command of the command line and returns its exit status.

    `argv` are the words behind "imgstat". Results go to the standard output of the process, messages to its standard
    error, past `sys.stdout` and `sys.stderr`. 0: all good; 1: some input failed; 2: wrong usage; 128 + the number of a
    signal that ended the command: Ctrl-C gives 130, and no KeyboardInterrupt. Other threads run meanwhile. A second
    call waits for the first one to end.

    >>> imgstat.run(["stats", "--json", "photo.tif"])  # doctest: +SKIP
    0
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return _imgstat.run(argv)


def main() -> int:
    """The whole process is the program `imgstat`, which handles signals itself."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _imgstat.run_program(sys.argv[1:])
