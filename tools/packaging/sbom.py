#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the bill of materials of a build: imgstat and the libraries that it was configured with, in CycloneDX 1.5.

usage: sbom.py BUILD_FOLDER     the folder of a configured build; SOURCE_DATE_EPOCH: the time, instead of that of HEAD

The same build gives the same bytes."""

import json
import os
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# By the prefix of the library in CMakeCache.txt: its name and licence.
LIBRARIES = {
    "PNG": ("libpng", "libpng-2.0"), "TIFF": ("libtiff", "libtiff"), "ZLIB": ("zlib", "Zlib"), "JSONC": ("json-c", "MIT"),
    "EXPAT": ("expat", "MIT"), "JPEG": ("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib"), "LIBDEFLATE": ("libdeflate", "MIT"),
    "ISAL": ("isa-l", "BSD-3-Clause"), "LIBARCHIVE": ("libarchive", "BSD-2-Clause"),
}


def component(kind, name, version, licence):
    return {"type": kind, "bom-ref": f"pkg:generic/{name}@{version}", "name": name, "version": version,
            "licenses": [{"expression": licence}], "purl": f"pkg:generic/{name}@{version}"}


def xxhash_version(folder):
    numbers = re.findall(r"#define XXH_VERSION_(?:MAJOR|MINOR|RELEASE)\s+(\d+)", Path(folder, "xxhash.h").read_text())
    return ".".join(numbers[:3])


def main():
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (Path(sys.argv[1]) / "CMakeCache.txt").read_text(), flags=re.M))
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=True).stdout
    program = component("application", "imgstat", cache["CMAKE_PROJECT_VERSION"], "MIT")
    libraries = [component("library", name, cache[f"{prefix}_VERSION"], licence)
                 for prefix, (name, licence) in LIBRARIES.items() if cache.get(f"{prefix}_VERSION")]
    libraries.append(component("library", "xxhash", xxhash_version(cache["XXHASH_INCLUDE_DIR"]), "BSD-2-Clause"))
    libraries.sort(key=lambda one: one["name"])
    bill = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": datetime.fromtimestamp(int(epoch), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                     "component": program},
        "components": libraries,
        "dependencies": [{"ref": program["bom-ref"], "dependsOn": [one["bom-ref"] for one in libraries]}],
    }
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill))}"
    print(json.dumps(bill, indent=2))


if __name__ == "__main__":
    main()
