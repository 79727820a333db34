#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of kernels/ladder/README.md: which thread touches what. usage: ladder.py [--check]

Each picture follows the loops of its rungs, on fewer threads. --check compares with what is here.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKS, IDLE, READS, DONE, INK = "#f28e2b", "#e4e7eb", "#4e79a7", "#76b7b2", "#1f2933"
CELL = 30


class Picture:
    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="sans-serif" font-size="13" fill="{INK}">',
                      f"<title>{title}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>']

    def text(self, x, y, text, anchor="start", size=13, weight="normal"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" '
                          f'font-weight="{weight}">{text}</text>')

    def cell(self, x, y, text="", fill=IDLE, width=CELL - 2, height=22):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="{fill}"/>')
        if text != "":
            self.text(x + width / 2, y + height / 2 + 4, text, "middle", 11)

    def line(self, x1, y1, x2, y2, color=INK, width=1.2, dash=""):
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" '
                          f'stroke-width="{width}"{dash}/>')

    def legend(self, x, y, *entries):
        for color, what in entries:
            self.cell(x, y - 11, "", color, 14, 14)
            self.text(x + 20, y, what)
            x += 36 + 7 * len(what)

    def __str__(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


def steps(picture, x, y, values, sources, operator="+"):
    """Rows of cells, one a step: sources(step, i) says from where i takes what it adds, or None."""
    rows = [values]
    step = 0
    while any(sources(step, i) is not None for i in range(len(values))):
        last = rows[-1]
        rows.append([last[i] if sources(step, i) is None else last[i] + last[sources(step, i)] for i in range(len(last))])
        step += 1
    for r, row in enumerate(rows):
        for i, value in enumerate(row):
            source = sources(r - 1, i) if r else None
            top = y + r * 46
            if source is not None:
                for j in (source, i):
                    picture.line(x + j * CELL + 14, top - 24, x + i * CELL + 14, top, READS)
            picture.cell(x + i * CELL, top, value, WORKS if source is not None else IDLE)
    return len(rows)


def reduce():
    n = 16
    values = [3, 1, 7, 0, 4, 1, 6, 3, 2, 5, 1, 8, 2, 2, 6, 1]
    p = Picture(1080, 320, "Reductions: which threads work in each step")

    def interleaved(step, i):
        stride = 1 << step
        return i + stride if stride < n and i % (2 * stride) == 0 else None

    def sequential(step, i):
        half = n >> (step + 1)
        return i + half if half > 0 and i < half else None

    for x, title, sources in ((30, "1 interleaved: the stride doubles", interleaved),
                              (560, "2 sequential: the stride halves", sequential)):
        p.text(x, 30, title, weight="bold", size=15)
        for i in range(n):
            p.text(x + i * CELL + 14, 54, i, "middle", 10)
        steps(p, x, 62, values, sources)
    p.legend(30, 306, (WORKS, "this thread works in this step"), (IDLE, "this one does not"))
    p.text(560, 306, "Working threads side by side are whole warps; the other warps retire.")
    return p


def memory():
    """Which thread reads which sample: rung 4 (a block a tile) and rung 7 (a grid that stays)."""
    p = Picture(1080, 280, "Reductions: which block reads what")
    colors = ("#f6b26b", "#a4c2f4", "#b6d7a8", "#ea9999")
    p.text(30, 30, "4 finish_device: a block for each tile, a sample for each thread", weight="bold", size=15)
    for i in range(32):
        block = i // 4
        p.cell(30 + i * 32, 44, f"{block}", colors[block % 4] if block < 4 else IDLE, 30)
    p.text(30, 88, "Number: the block. It loads once, waits for memory, adds up, and ends; blocks 4 to 7 wait to be started.")
    p.text(30, 140, "7 vector: four blocks that stay; each thread reads 16 bytes at a time and strides over all",
           weight="bold", size=15)
    for i in range(32):
        turn, block = i // 8, i // 2 % 4
        p.cell(30 + i * 32, 154, f"{block}", colors[block], 30)
        if i % 8 == 0:
            p.text(30 + i * 32, 198, f"turn {turn}")
            p.line(28 + i * 32, 146, 28 + i * 32, 204, "#9aa5b1", 1, "3 3")
    p.text(30, 228, "A thread asks for the vectors of all four turns before it uses the first: they are on their way at the same time.")
    p.text(30, 262, "A cell is what one warp of a block reads at a time. Neighbouring lanes read neighbouring addresses in both.")
    return p


def count(additions):
    return f"{additions} addition{'s' if additions > 1 else ''}"


def scan():
    values = [3, 1, 7, 0, 4, 1, 6, 3]
    n = len(values)
    p = Picture(1080, 440, "Prefix sums: what is added to what")

    def hillis_steele(step, i):
        return i - (1 << step) if (1 << step) < n and i >= (1 << step) else None

    p.text(30, 30, "1 hillis_steele: the distance doubles", weight="bold", size=15)
    rows = steps(p, 60, 50, values, hillis_steele)
    for r in range(1, rows):
        p.text(30 + 9.5 * CELL + 8, 65 + r * 46, f"distance {1 << (r - 1)}: {count(n - (1 << (r - 1)))}")
    p.text(30, 250, "17 additions for 8 elements; n log n in general.")
    p.text(30, 270, "Nearly every thread works in every step.")

    x, y, row = 600, 50, list(values)
    p.text(570, 30, "3 blelloch: up a tree of sums, down again", weight="bold", size=15)

    def draw(r, changed, label):
        for i, value in enumerate(row):
            p.cell(x + i * CELL, y + r * 46, value, WORKS if i in changed else IDLE)
        p.text(x + 8.5 * CELL, y + 15 + r * 46, label)

    draw(0, (), "")
    r, stride = 1, 1
    while stride < n:
        changed = range(2 * stride - 1, n, 2 * stride)
        for i in changed:
            row[i] += row[i - stride]
            for j in (i, i - stride):
                p.line(x + j * CELL + 14, y + r * 46 - 24, x + i * CELL + 14, y + r * 46, READS)
        draw(r, changed, f"up: {count(len(changed))}")
        r, stride = r + 1, 2 * stride
    row[-1] = 0
    draw(r, (n - 1,), "the root becomes 0")
    r, stride = r + 1, n // 2
    while stride > 0:
        rights = range(2 * stride - 1, n, 2 * stride)
        for i in rights:
            row[i - stride], row[i] = row[i], row[i] + row[i - stride]
            for a, b in ((i, i - stride), (i, i), (i - stride, i)):
                p.line(x + a * CELL + 14, y + r * 46 - 24, x + b * CELL + 14, y + r * 46, READS)
        draw(r, [k for i in rights for k in (i - stride, i)], f"down: {count(len(rights))}")
        r, stride = r + 1, stride // 2
    p.text(570, 430, "14 additions; 2 n in general. Near the root one thread works, and all wait.")
    p.legend(30, 300, (WORKS, "written in this step"), (IDLE, "as it was"))
    return p


def lookback():
    p = Picture(1080, 330, "Decoupled look-back: what tiles publish")
    p.text(30, 30, "4 lookback: what each tile has published, as time goes on", weight="bold", size=15)
    totals = [11, 14, 9, 20, 6, 13]
    prefixes = [sum(totals[: i + 1]) for i in range(len(totals))]
    width = 150
    for i in range(len(totals)):
        p.text(80 + i * width + 66, 58, f"tile {i}", "middle", weight="bold")
    moments = [("ETTETE", ()), ("PTTETT", ()), ("PPTTTT", ((2, 1),)), ("PPPTTT", ((5, 4), (5, 3), (5, 2)))]
    for r, (states, looks) in enumerate(moments):
        y = 72 + r * 62
        p.text(30, y + 20, f"time {r}")
        for i, state in enumerate(states):
            what = {"E": "nothing", "T": f"total {totals[i]}", "P": f"prefix {prefixes[i]}"}[state]
            p.cell(80 + i * width, y, what, {"E": IDLE, "T": WORKS, "P": DONE}[state], 132, 30)
        for k, (reader, read) in enumerate(looks):
            lane = y + 38 + 4 * k
            p.line(80 + reader * width + 66, lane, 80 + read * width + 66, lane, READS, 1.6)
            p.line(80 + read * width + 66, lane, 80 + read * width + 66, y + 30, READS, 1.6)
            p.line(80 + reader * width + 66, lane, 80 + reader * width + 66, y + 30, READS, 1.6)
    p.text(30, 322, "At time 3 tile 5 adds the totals 6 of tile 4 and 20 of tile 3 and the prefix 34 of tile 2, and need not "
           "look further: 60 precede it.")
    return p


def histogram():
    lanes = [5, 2, 5, 5, 0, 7, 2, 5]  # the value that each lane of a warp brings
    p = Picture(1080, 380, "Histograms: where eight lanes count")
    colors = ("#f28e2b", "#4e79a7", "#76b7b2", "#e15759", "#59a14f", "#edc948", "#b07aa1", "#9c755f")

    def arrivals(x, y):
        for l, v in enumerate(lanes):
            p.cell(x + l * CELL, y, v, colors[l])
        p.text(x - 8, y + 15, "lanes", "end", 11)

    p.text(30, 30, "2 shared, 3 vector: one table", weight="bold", size=15)
    arrivals(80, 46)
    for v in range(8):
        y = 84 + v * 28
        p.text(62, y + 15, v, "end", 11)
        p.cell(80, y, "", IDLE, 60)
        hits = [l for l, w in enumerate(lanes) if w == v]
        for turn, l in enumerate(hits):
            p.cell(150 + turn * CELL, y, "", colors[l])
        if hits:
            p.text(156 + len(hits) * CELL, y + 15, f"{len(hits)} turn{'s' if len(hits) > 1 else ''}", size=11)
    p.text(30, 336, "Lanes that bring the same value, or values of one")
    p.text(30, 354, "bank, wait for each other: up to 32 turns.")

    p.text(400, 30, "4 copies: a table a warp", weight="bold", size=15)
    for w in range(3):
        for v in range(8):
            p.cell(430 + w * 84, 84 + v * 28, "", IDLE, 60)
        p.text(430 + w * 84 + 30, 70, f"warp {w}", "middle", 11)
    p.text(400, 336, "Warps no longer meet; within a warp")
    p.text(400, 354, "it is as before.")

    p.text(740, 30, "5 columns: a column a lane", weight="bold", size=15)
    arrivals(790, 46)
    for v in range(8):
        for l in range(8):
            p.cell(790 + l * CELL, 84 + v * 28, "+1" if lanes[l] == v else "", colors[l] if lanes[l] == v else IDLE)
        p.text(772, 84 + v * 28 + 15, v, "end", 11)
    p.text(740, 336, "One turn, whatever the image: a lane has")
    p.text(740, 354, "counters and a bank of its own.")
    return p


def main():
    stale = []
    for draw in (reduce, memory, scan, lookback, histogram):
        path = HERE / f"ladder-{draw.__name__}.svg"
        if sys.argv[1:] != ["--check"]:
            path.write_text(str(draw()))
        elif path.read_text() != str(draw()):
            stale.append(path.name)
    sys.exit(f"not what ladder.py draws: {', '.join(stale)}" if stale else 0)


if __name__ == "__main__":
    main()
