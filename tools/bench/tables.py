#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of imgstat-bench --json into Markdown files.

Usage: tables.py BENCH.json FILE.md...

Replaces what stands between <!-- bench NAME --> and <!-- end --> by table NAME, for each NAME that
a file asks for: machine, scans, records, wide, small, batch, transforms, within, ceilings,
losses.
"""
import json
import re
import sys

SIZES = {1 << 10: "KiB", 1 << 20: "MiB", 1 << 30: "GiB"}


def size_text(n):
    unit = max((u for u in SIZES if u <= 1.02 * n), default=1) # see close()
    return f"{n / unit:.0f} {SIZES.get(unit, 'bytes')}"


def close(a, b):
    """Sizes of one case: three channels do not fill a power of two."""
    return abs(a - b) <= b / 50


class Bench:
    def __init__(self, data):
        self.data = data
        self.rows = [r for r in data["rows"] if r["right"]]

    def find(self, **want):
        size = want.pop("bytes", None)
        for r in self.rows:
            if all(r[k] == v for k, v in want.items()) and (size is None or close(r["bytes"], size)):
                return r
        return None

    def serial(self, name, **want):
        """The serial loop's row of the largest input, which a first touch of memory disturbs least."""
        found = [r for r in self.rows if r["name"] == name and all(r[k] == v for k, v in want.items())]
        return max(found, key=lambda r: r["bytes"], default=None)

    def sizes(self, group, cached=False):
        """The sizes asked for, of which a case may fall short by less than a row of pixels."""
        found = {r["bytes"] for r in self.rows
                 if r["group"] == group and r["cached"] == cached and r["channels"] == 1
                 and not r["name"].startswith("serial")}
        return sorted(found)

    def main_size(self, group):
        """1 GiB, or the size next to it."""
        return min(self.sizes(group), key=lambda n: abs(n - (1 << 30)))


def table(head, rows):
    if not rows:
        return "Not measured.\n"
    align = ["---"] + ["---:"] * (len(head) - 1)
    lines = [head, align] + rows
    return "".join("| " + " | ".join(str(c) for c in line) + " |\n" for line in lines)


def rate(row):
    if not row:
        return "-"
    return f"{row['gb_s']:,.0f}" if row["gb_s"] >= 10 else f"{row['gb_s']:.1f}"


def rate_share(row):
    return f"{rate(row)} ({100 * row['of_ceiling']:.0f} %)" if row and row["of_ceiling"] >= 0.005 else rate(row)


def layout_text(sample, channels):
    return f"{sample}, {channels} channel{'s' if channels > 1 else ''}"


def times(row, other):
    return f"{row['gb_s'] / other['gb_s']:.1f}" if row and other and other["gb_s"] else "-"


def machine(b):
    d = b.data
    return (f"{d['device']}, {d['multiprocessors']} multiprocessors, {d['l2_bytes'] / 1e6:.0f} MB L2; driver "
            f"{d['driver']}, CUDA {d['runtime_cuda']}; host {d['cpu']}; imgstat {d['version']}, {d['date']}; read "
            f"ceiling {d['read_ceiling_gb_s']:,.0f} GB/s, copy ceiling {d['copy_ceiling_gb_s']:,.0f} GB/s. "
            f"`{d['command']}`\n")


def scans(b):
    sizes = b.sizes("scan")
    head = ["i32, GB/s read + written (of the copy ceiling)"] + [size_text(n) for n in sizes]
    names = []
    for r in b.rows:
        if r["group"] == "scan" and r["sample"] == "i32" and not r["cached"] and r["name"] not in names:
            names.append(r["name"])
    lines = []
    for name in names:
        cells = [rate_share(b.find(group="scan", sample="i32", name=name, cached=False, bytes=n)) for n in sizes]
        lines.append([name] + cells)
    return table(head, lines)


def layouts(b, group="record"):
    seen = []
    for r in b.rows:
        if r["group"] == group and (r["sample"], r["channels"]) not in seen:
            seen.append((r["sample"], r["channels"]))
    return seen


INPUTS = ("random", "smooth", "12bit", "skewed", "constant", "checkerboard")


def records(b):
    size = b.main_size("record")
    head = [f"{size_text(size)}", "input", "imgstat GB/s (of the read ceiling)", "with bins", "CUB calls",
            "x", "CUB histogram alone", "x", "NPP calls", "x", "serial CPU"]
    lines = []
    for sample, channels in layouts(b):
        for pattern in INPUTS:
            def row(*names):
                found = [b.find(group="record", sample=sample, channels=channels, input=pattern, cached=False,
                                name=name, bytes=size) for name in names]
                return next((r for r in found if r), None)
            ours, more = row("imgstat"), row("imgstat with bins")
            cub, npp = row("CUB calls"), row("NPP calls")
            histogram = row("CUB HistogramEven", "CUB MultiHistogramEven")
            serial = b.serial("serial CPU", group="record", sample=sample, channels=channels, input=pattern)
            if not (ours or cub or npp):
                continue
            lines.append([layout_text(sample, channels), pattern, rate_share(ours),
                          rate_share(more), rate(cub), times(ours, cub), rate(histogram), times(ours, histogram),
                          rate(npp), times(ours, npp), f"{serial['gb_s']:.2f}" if serial else "-"])
    return table(head, lines)


def wide(b):
    """Moments and extrema of wide types: the share of the read ceiling of the worst and the best input."""
    sizes = [b.main_size("wide"), max(b.sizes("wide"))]
    heads = [f"{size_text(size)}, {channels} channel{'s' if channels > 1 else ''}"
             for size in sizes for channels in (1, 2, 3, 4)]
    lines = []
    for sample in ("u32", "u64", "f32", "f64"):
        cells = []
        for size in sizes:
            for channels in (1, 2, 3, 4):
                shares = [round(100 * r["of_ceiling"]) for r in b.rows
                          if (r["name"], r["sample"], r["channels"], r["cached"]) == ("imgstat", sample, channels, False)
                          and r["group"] in ("wide", "record") and close(r["bytes"], size)]
                least, most = min(shares, default=0), max(shares, default=0)
                cells.append("-" if not shares else f"{least} %" if least == most else f"{least} to {most} %")
        lines.append([sample] + cells)
    return table(["of the read ceiling"] + heads, lines)


def us(row):
    return f"{1e3 * row['ms']:,.1f}" if row else "-"


def transformed(b):
    """The rows of equalize, each with what finds another row of the same image."""
    for r in b.rows:
        if r["group"] == "apply" and r["name"] == "imgstat equalize":
            yield r, lambda name, cached, r=r: b.find(group="apply", sample=r["sample"], channels=r["channels"],
                                                      cached=cached, name=name, bytes=r["bytes"])


def transforms(b):
    """Pixels to pixels, random: times of equalize, and what they are compared with."""
    head = ["microseconds, random", "NPP LUT", "imgstat LUT", "imgstat equalize", "of its bound"]
    lines = []
    for r, row in transformed(b):
        if not row("imgstat equalize", True):
            lines.append([f"{layout_text(r['sample'], r['channels'])}, {size_text(r['bytes'])}",
                          us(row("NPP LUTPalette", False)), us(row("imgstat apply", False)), us(r),
                          f"{100 * r['of_ceiling']:.0f} %"])
    return table(head, lines)


def within(b):
    """The same of images that the second-level cache holds: from memory, and where they are there already."""
    head = ["microseconds, u8, random", "copy", "NPP LUT", "imgstat LUT", "imgstat equalize", "times the copy",
            "in the L2 cache: copy", "imgstat equalize", "in a graph", "times the copy"]
    lines = []
    for r, row in transformed(b):
        cached, copies = row("imgstat equalize", True), [row("copy", False), row("copy", True)]
        if r["cached"] or not cached or not all(copies):
            continue
        lines.append([size_text(r["bytes"]), us(copies[0]), us(row("NPP LUTPalette", False)), us(row("imgstat apply", False)),
                      us(r), f"{r['ms'] / copies[0]['ms']:.2f}", us(copies[1]), us(cached),
                      us(row("imgstat equalize, graph", True)), f"{cached['ms'] / copies[1]['ms']:.2f}"])
    return table(head, lines)


def small(b):
    sizes = b.sizes("record")
    head = ["microseconds a call, random"] + [size_text(n) for n in sizes]
    lines = []
    for sample, channels in layouts(b):
        for name in ("imgstat", "CUB calls", "NPP calls"):
            found = [b.find(group="record", sample=sample, channels=channels, input="random", cached=False,
                            name=name, bytes=n) for n in sizes]
            if any(found):
                lines.append([f"{layout_text(sample, channels)}: {name}"] +
                             [f"{1e3 * r['ms']:,.1f}" if r else "-" for r in found])
    for name in ("imgstat", "CUB calls", "NPP calls"):
        found = [b.find(group="record", name=name, cached=True, bytes=n) for n in sizes]
        if any(found):
            lines.append([f"u8, 1 channel, in the L2 cache: {name}"] +
                         [f"{1e3 * r['ms']:,.1f}" if r else "-" for r in found])
    return table(head, lines)


def batch(b):
    lines = [[r["name"], f"{r['images']:,}", f"{r['ms']:.2f}", f"{1e3 * r['ms'] / r['images']:.2f}", rate_share(r)]
             for r in b.rows if r["group"] == "batch" and r["sample"] == "u8"]
    return table(["512 x 512 u8", "images", "ms", "us an image", "GB/s (of the read ceiling)"], lines)


RIVALS = {"record": ("CUB calls", "CUB HistogramEven", "CUB MultiHistogramEven", "NPP calls"),
          "scan": ("CUB InclusiveSum",), "apply": ("NPP LUTPalette",)}


def losses(b):
    """Where somebody else is faster, all sizes and inputs; and where somebody else is wrong."""
    cases = {}
    for r in b.rows:
        if r["name"] not in ("imgstat", "imgstat inclusive", "imgstat apply"):
            continue
        for name in RIVALS.get(r["group"], ()):
            other = b.find(group=r["group"], sample=r["sample"], channels=r["channels"], input=r["input"],
                           cached=r["cached"], name=name, bytes=r["bytes"])
            if other and other["ms"] < r["ms"]:
                key = (r["group"], r["sample"], r["channels"], r["bytes"], r["cached"], name)
                cases.setdefault(key, []).append((r["ms"] / other["ms"], r["input"], r["ms"], other["ms"]))
    lines = []
    for (group, sample, channels, size, cached, name), found in cases.items():
        ratio, pattern, ours, theirs = max(found)
        lines.append([f"{group}, {layout_text(sample, channels)}, {size_text(size)}" + (", cached" if cached else ""),
                      name, f"{len(found)}", pattern, f"{1e3 * ours:,.1f}", f"{1e3 * theirs:,.1f}", f"{ratio:.2f}"])
    text = table(["work", "faster", "on inputs", "worst", "imgstat us", "theirs us", "times slower"], lines)
    wrong = sorted({f"{r['name']} ({layout_text(r['sample'], r['channels'])}, {size_text(r['bytes'])})"
                    for r in b.data["rows"] if not r["right"]})
    if not lines:
        text = "Nowhere.\n"
    return text + ("\nWrong results, so not timed: " + "; ".join(wrong) + ".\n" if wrong else "")


def ceilings(b):
    sizes = b.sizes("ceiling")
    lines = []
    for name, cached in (("read", False), ("copy", False), ("read", True), ("copy", True)):
        found = [b.find(group="ceiling", name=name, cached=cached, bytes=n) for n in sizes]
        if any(found):
            lines.append([name + (", in the L2 cache" if cached else "")] + [rate(r) for r in found])
    return table(["GB/s"] + [size_text(n) for n in sizes], lines)


TABLES = {f.__name__: f for f in (machine, scans, records, wide, small, batch, transforms, within, ceilings,
                                  losses)}


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        bench = Bench(json.load(file))
    wrong = [r for r in bench.data["rows"] if not r["right"] and r["name"][:3] not in ("CUB", "NPP")]
    if wrong:
        sys.exit(f"{arguments[0]}: {len(wrong)} rows were wrong; nothing written")
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"(<!-- bench (\w+) -->\n).*?(<!-- end -->)",
                      lambda m: m[1] + TABLES[m[2]](bench) + m[3], text, flags=re.S)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
