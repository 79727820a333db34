# SPDX-License-Identifier: MIT
"""`python -m imgstat` is the program `imgstat`."""
import sys

from .command import main

sys.exit(main())
