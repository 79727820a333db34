# SPDX-License-Identifier: MIT
"""What Jupyter shows of Stats, Histogram and Record: a table, and the histogram as inline SVG without scripts."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

WIDTH, HEIGHT, MARGIN, COLUMNS = 480, 120, 16, 256
GRAY = "#5b7fa6"
COLOURS = {1: (GRAY,), 3: ("#d1495b", "#3a9d5d", "#3d6fb6"), 4: ("#d1495b", "#3a9d5d", "#3d6fb6", "#8d8d8d")}
ROWS = ("count", "nan", "inf", "nodata", "masked", "min", "max", "mean", "std", "median", "entropy")
SELDOM = {"nan", "inf", "nodata", "masked"}  # rows that are left out where all are 0


def _number(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"


def _columns(counts: Sequence[int]) -> list[int]:
    """Sums of neighbouring bins: as many as are drawn."""
    n = len(counts)
    width = -(-n // COLUMNS)
    return [sum(counts[k : k + width]) for k in range(0, n, width)]


def _outline(columns: Sequence[int], highest: int) -> str:
    """The upper edge of the bars as a closed path."""
    step = WIDTH / len(columns)
    points = [f"M0,{HEIGHT}"]
    for k, count in enumerate(columns):
        y = HEIGHT * (1 - count / highest)
        points.append(f"L{k * step:.4g},{y:.4g}H{(k + 1) * step:.4g}")
    return "".join(points) + f"L{WIDTH},{HEIGHT}Z"


def _used(counts: Sequence[Sequence[int]]) -> tuple[int, int]:
    """The bins between which those of all channels lie that are not empty; of few bins, all."""
    n = len(counts[0])
    used = [k for k in range(n) if any(channel[k] for channel in counts)] if n > COLUMNS else []
    return (used[0], used[-1] + 1) if used else (0, n)


def _svg(histograms: Sequence[Any]) -> str:
    """One drawing of the histograms of all channels, of one scale."""
    counts = [memoryview(h.counts).tolist() for h in histograms]
    first, last = _used(counts)
    drawn = [_columns(channel[first:last]) for channel in counts]
    highest = max(max(columns) for columns in drawn)
    edges, is_per_value = memoryview(histograms[0].edges), histograms[0].per_value
    lo, hi = edges[first], edges[last - is_per_value]
    colours = COLOURS.get(len(drawn), (GRAY,) * len(drawn))
    paths = "".join(
        f'<path d="{_outline(columns, highest or 1)}" fill="{colour}" fill-opacity="0.35" stroke="{colour}"/>'
        for columns, colour in zip(drawn, colours, strict=True)
    )
    return (
        f'<svg viewBox="0 -{MARGIN} {WIDTH} {HEIGHT + 2 * MARGIN}" width="{WIDTH}" height="{HEIGHT + 2 * MARGIN}" '
        'role="img" aria-label="histogram" style="max-width:100%;font:11px sans-serif;overflow:visible">'
        f"{paths}"
        f'<path d="M0,{HEIGHT}H{WIDTH}" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<text x="0" y="-4" fill="currentColor" fill-opacity="0.7">{highest}</text>'
        f'<text x="0" y="{HEIGHT + 12}" fill="currentColor">{_number(lo)}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 12}" text-anchor="end" fill="currentColor">{_number(hi)}</text>'
        "</svg>"
    )


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f'<{tag} style="text-align:right">{cell}</{tag}>' for cell in cells) + "</tr>"


def _table(stats: Any) -> str:
    """A row for each channel, a column for each statistic that was measured and says something."""
    names, columns = [], []
    for name in ROWS:
        values = getattr(stats, name, None)  # what was not measured raises AttributeError
        values = values if isinstance(values, tuple) else (values,)
        if any(value is not None for value in values) and (name not in SELDOM or any(values)):
            names.append(name)
            columns.append([_number(value) for value in values])
    rows = [_row([str(i), *cells]) for i, cells in enumerate(zip(*columns, strict=True))]
    return f"<table>{_row(['channel', *names], 'th')}{''.join(rows)}</table>"


def _stats(stats: Any) -> str:
    histograms = getattr(stats, "histogram", None)
    if histograms is None:
        return _table(stats)
    histograms = histograms if isinstance(histograms, tuple) else (histograms,)
    same = all(h.range == histograms[0].range and len(h.counts) == len(histograms[0].counts) for h in histograms)
    drawings = [_svg(histograms)] if same else [_svg([h]) for h in histograms]
    return _table(stats) + "".join(f"<div>{drawing}</div>" for drawing in drawings)


def _histogram(histogram: Any) -> str:
    return f"<div>{_svg([histogram])}</div>"


def _record(record: Any) -> str:
    return _stats(record.stats())


_MAKERS: dict[str, Callable[[Any], str]] = {"Stats": _stats, "Histogram": _histogram, "Record": _record}


def repr_html(thing: object) -> str:
    """The HTML of a Stats, Histogram or Record."""
    return _MAKERS[type(thing).__name__](thing)
