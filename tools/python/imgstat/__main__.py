# SPDX-License-Identifier: MIT
"""`python -m imgstat` is the program `imgstat`."""
import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
