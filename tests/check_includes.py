#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the direction of every #include "...", and that no two files include each other in a circle.

The list below is the only copy of the order of the folders.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = {"imgstat.h", "imgstat_async.h"}
# Folder of src/: folders that its files may include, besides itself.
BELOW = {
    "base": "",
    "codec": "base",
    "png": "base codec",
    "tiff": "base codec",
    "record": "base",
    "transfer": "base record",
    "device": "base record transfer",
    "cpu": "base record transfer device",
    "measure": "base record transfer device codec decode",
    "transform": "base record transfer device codec measure encode decode",
    "batch": "base record transfer device codec measure transform encode decode",
    "decode": "base record transfer device codec",
    "encode": "base record transfer device codec png tiff",
}
KERNELS = "base codec record transfer device"  # of src/, for everything in kernels/
BACKENDS = {"cpu"}
PROGRAM = "tools/imgstat/program.h"  # the command line, as others call it
EXCEPTIONS = {"device/device.c": BACKENDS}  # the table that names what others do not


def sources():
    for top in ("src", "kernels", "tools/imgstat", "tools/python"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".c", ".cc", ".h", ".cu", ".cuh"}:
                yield top, path, path.relative_to(ROOT / top).as_posix()


def target(top, path, name):
    """The file that an include names: beside the file, in its own tree, in src/, or the command line."""
    for folder in (path.parent, ROOT / top, ROOT / "src", (ROOT / PROGRAM).parent):
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None


def allowed(top, name, path, included):
    if included.name in INSTALLED and included.parent == ROOT / "src":
        return True
    if top != "src" and included.is_relative_to(ROOT / top):
        return True
    if top == "tools/python" and included == ROOT / PROGRAM:
        return True
    if top.startswith("tools/") or not included.is_relative_to(ROOT / "src"):
        return False
    folder, other = path.parent.name, included.parent.name
    if top == "kernels":
        return other in KERNELS.split()
    return other == folder or other in BELOW[folder].split() or other in EXCEPTIONS.get(name, ())


def circles(graph):
    """Every include that closes a circle, found by depth-first search."""
    done, found = set(), []

    def visit(node, way):
        if node in way:
            found.append(way[way.index(node):] + [node])
        elif node not in done:
            for other in graph.get(node, ()):
                visit(other, way + [node])
            done.add(node)

    for node in graph:
        visit(node, [])
    return found


def main():
    graph, wrong, checked = {}, set(), 0
    for top, path, name in sources():
        for line in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            included = target(top, path, line)
            if included is None or not allowed(top, name, path, included):
                wrong.add(f"{top}/{name} -> {line}")
            graph.setdefault(path, []).append(included)
            checked += 1
    bad = [f"not allowed: {one}" for one in sorted(wrong)]
    bad += ["a circle: " + " -> ".join(one.relative_to(ROOT).as_posix() for one in circle) for circle in circles(graph)]
    print("\n".join(bad))
    print(f"{checked} includes, {len(bad)} wrong")
    return 1 if bad or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
