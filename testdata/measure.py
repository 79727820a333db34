# SPDX-License-Identifier: MIT
"""Statistics by the definitions, in exact fractions: slow, simple, and independent of imgstat."""

import math
from collections import Counter
from fractions import Fraction

PERCENTILES = ["0", "1", "12.5", "25", "50", "75", "99", "99.9", "100"]


def percentile(ordered, p, method):
    n, p = len(ordered), Fraction(p)
    if method == "nearest":
        return Fraction(ordered[max(math.ceil(n * p / 100), 1) - 1])
    h = (n - 1) * p / 100
    low = Fraction(ordered[math.floor(h)])
    return low + (h - math.floor(h)) * (Fraction(ordered[math.ceil(h)]) - low)


def number(value, whole):
    """As JSON shows it: integers as such; a fraction as the nearest double."""
    if whole and Fraction(value).denominator == 1:
        return int(value)
    return float(value)


def channel(samples, width, nodata=None):
    """samples: of one channel in raster order; nodata: the value that stands for none."""
    whole = all(isinstance(s, int) for s in samples)
    out = {"count": 0, "nan": sum(s != s for s in samples),
           "inf": sum(s == s and math.isinf(s) for s in samples) if not whole else 0,
           "nodata": sum(s == nodata for s in samples) if nodata is not None else 0}
    valid = [s for s in samples if s != nodata and (whole or math.isfinite(s))]
    n = out["count"] = len(valid)
    if n == 0:
        return out | dict.fromkeys(["min", "max", "min_at", "max_at", "sum", "mean", "stddev", "median", "mode"])
    low, high = min(valid), max(valid)
    at = {key: divmod(samples.index(value), width) for key, value in (("min_at", low), ("max_at", high))}
    counts = Counter(valid)
    total = sum(Fraction(v) * c for v, c in counts.items())
    mean = total / n
    variance = sum((v - mean) ** 2 * c for v, c in counts.items()) / n
    ordered = sorted(valid)
    most = max(counts.values())
    out |= {"min": low, "max": high, "min_at": at["min_at"][::-1], "max_at": at["max_at"][::-1],
            "sum": number(total, whole), "mean": float(mean), "stddev": math.sqrt(variance),
            "median": number(percentile(ordered, 50, "linear"), whole),
            "mode": min(v for v, c in counts.items() if c == most)}
    if whole and max(abs(low), abs(high)) < 65536:  # one bin per value
        out["entropy"] = -math.fsum(c / n * math.log2(c / n) for c in counts.values()) + 0.0
    for method in ("linear", "nearest"):
        out[method] = {p: number(percentile(ordered, p, method), whole) for p in PERCENTILES}
    return out


def page(image, names, nodata=None, **about):
    """What imgstat should say of a page: rows of pixels, a pixel being a tuple of samples."""
    height, width = len(image), len(image[0])
    planes = zip(*(pixel for row in image for pixel in row))
    channels = [{"name": name} | channel(list(plane), width, nodata) for name, plane in zip(names, planes)]
    return {"width": width, "height": height} | about | {"channels": channels}
