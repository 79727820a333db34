# SPDX-License-Identifier: MIT
"""What the libraries that imgstat is built with can do, for tests of real files."""

import re
import subprocess
from collections import defaultdict

# Compressions that a libtiff may be built without: as the corpus calls them, as imgstat does.
OPTIONAL = {"JPEG": "JPEG", "OJPEG": "old JPEG", "LZMA": "LZMA", "ZSTD": "Zstandard", "WEBP": "WebP", "LERC": "LERC"}


class Libraries:
    def __init__(self, *command):
        """command: prints what imgstat_libraries() gives."""
        text = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        found = re.search(r"libtiff (\d+)\.(\d+)\.\S+ \((none, [^)]*)\), zlib", text)
        if not found:
            raise SystemExit(f"{command} does not name libtiff's version and compressions: {text}")
        self.compressions = set(found[3].split(", "))
        self.wide_differences = (int(found[1]), int(found[2])) >= (4, 4)
        self.skipped = defaultdict(set)

    def lacks(self, entry):
        """The name of a compression of the corpus's entry that this libtiff does not know, or None."""
        used = [page.get("comp") for page in [entry.get("info") or {}, *entry.get("page_list", [])]]
        return next((OPTIONAL[comp] for comp in used
                     if comp in OPTIONAL and OPTIONAL[comp] not in self.compressions), None)

    def skip(self, path, reason):
        self.skipped[reason].add(str(path))

    def say_skipped(self):
        for reason, paths in sorted(self.skipped.items()):
            print(f"skipped: {len(paths)} files: {reason}: {', '.join(sorted(paths))}")
