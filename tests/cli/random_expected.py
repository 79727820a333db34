# SPDX-License-Identifier: MIT
"""What the statistics and outputs of images that random_files.py draws should be, by numpy, fractions and the definitions, and
outputs as others decode them."""

import lzma
import math
import zlib
from fractions import Fraction

import numpy as np
import tiff_tree
from osgeo import gdal


def moments(x, valid):
    """Exact count, sum and sum of squares; of wide floats those that docs/float-sums.md defines."""
    values = x[valid]
    if x.dtype.kind != "f" or x.itemsize == 2:
        exact = [Fraction(v) for v in values.tolist()]
        return len(exact), sum(exact), sum(v * v for v in exact)
    total, squares = Fraction(0), Fraction(0)
    for left in range(0, x.shape[1], 4096):
        v, good = x[:, left:left + 4096].astype("f8"), valid[:, left:left + 4096]
        pivot = np.take_along_axis(v, good.argmax(axis=1)[:, None], 1) + 0.0
        d = np.where(good, np.where(good, v, 0) - np.where(good.any(axis=1)[:, None], pivot, 0), 0)
        d = np.pad(d, ((0, 0), (0, -d.shape[1] % 128))).reshape(len(d), -1, 128)
        lanes = [np.zeros((len(d), 128)), np.zeros((len(d), 128))]
        for i in range(d.shape[1]):
            lanes = [lanes[0] + d[:, i], lanes[1] + d[:, i] * d[:, i]]
        half = 64
        while half:
            lanes = [lane[:, :half] + lane[:, half:2 * half] for lane in lanes]
            half //= 2
        for p, n, sums, sums2 in zip(pivot[:, 0], good.sum(axis=1).tolist(), lanes[0][:, 0], lanes[1][:, 0]):
            if n:
                p, sums = Fraction(float(p)), Fraction(float(sums))
                total, squares = total + n * p + sums, squares + Fraction(float(sums2)) + 2 * p * sums + n * p * p
    return values.size, total, squares


def close(value, wanted, tolerance):
    return value is not None and abs(value - wanted) <= tolerance * max(1, abs(wanted))


def percentile(ordered, p, nearest):
    """Exactly, and the two samples that it lies between."""
    if nearest:
        a = b = ordered[max(math.ceil(len(ordered) * p / 100), 1) - 1]
    else:
        h = (len(ordered) - 1) * p / 100
        a, b = ordered[math.floor(h)], ordered[min(math.floor(h) + 1, len(ordered) - 1)]
    return Fraction(a) + (0 if nearest else h - math.floor(h)) * (Fraction(b) - Fraction(a)), a, b


def compare_channel(got, x, masked, bits, nearest, nodata):
    """The fields of a channel that are not what they should be; x: its samples, as a plane."""
    floats, wide, wrong = x.dtype.kind == "f", x.dtype.kind == "f" or x.itemsize > 2, []
    equal = np.isnan(x) if nodata != nodata else x == nodata if nodata is not None else np.zeros(x.shape, bool)
    valid = ~masked & ~equal & (np.isfinite(x) if floats else True)
    n, total, squares = moments(x, valid)
    wanted = {"count": n, "nodata": int((~masked & equal & (x == x)).sum()), "nan": int((~masked & np.isnan(x)).sum()) if floats else 0,
              "inf": int((~masked & ~equal & np.isinf(x)).sum()) if floats else 0, "min": None, "max": None, "mean": None, "median": None}
    ordered = np.sort(x[valid]).tolist()
    if n:
        variance = (n * squares - total * total) / (n * n)
        unique, counts = np.unique(x[valid], return_counts=True)
        wanted |= {"min": ordered[0], "max": ordered[-1], "sum": float(total) if floats else int(total), "mean": float(total / n),
                   "stddev": math.sqrt(float(variance)), "mode": unique[counts.argmax()].item()}
        for name in ("min", "max"):
            y, column = np.unravel_index((valid & (x == wanted[name])).argmax(), x.shape)
            wanted[name + "_at"] = [int(column), int(y)]
        if not floats:
            low = 0 if x.dtype.kind == "u" else -2 ** (bits - 1)
            wanted |= {"low": ordered.count(low), "high": ordered.count(low + 2 ** bits - 1)}
        del wanted["median"]
        for name, value in [("50", got["median"]), *got["percentiles"].items()]:
            exact, a, b = percentile(ordered, Fraction(name), nearest)
            tolerance = float(np.finfo(x.dtype).eps) * max(abs(a), abs(b)) if floats and a != b else 0
            if value is None or not (value in (exact, float(exact)) or abs(Fraction(value) - exact) <= tolerance):
                wrong.append(f"percentile {name} is {value}, not {float(exact)}")
        if variance > 0 and not floats and n < 400:
            third, fourth = (sum((Fraction(v) - total / n) ** k for v in ordered) / n for k in (3, 4))
            for name, value in (("skewness", float(third) / float(variance) ** 1.5), ("kurtosis", float(fourth / variance ** 2) - 3)):
                if not close(got[name], value, 1e-9):
                    wrong.append(f"{name} is {got[name]}, not {value}")
        bins = None
        if not wide:
            bins = np.zeros(got["histogram"]["bins"], int)
            bins[unique.astype(int) - got["histogram"]["lo"]] = counts
            if not close(got["entropy"], -(counts / n * np.log2(counts / n)).sum(), 1e-12):
                wrong.append(f"entropy is {got['entropy']}")
        elif max(abs(ordered[0]), abs(ordered[-1])) < 2 ** 53:
            width = (float(ordered[-1]) - float(ordered[0])) / 256
            if width > 2 * np.spacing(float(max(abs(ordered[0]), abs(ordered[-1])))):
                edges = float(ordered[0]) + np.arange(1, 256) * width
                bins = np.bincount(np.searchsorted(edges, x[valid].astype("f8"), "right"), minlength=256)
        if bins is not None and got["histogram"]["counts"] != bins.tolist():
            wrong.append("the histogram is another")
    return wrong + [f"{name} is {got.get(name)}, not {value}" for name, value in wanted.items() if got.get(name) != value]


def compare_with_numpy(image, pages, words):
    if len(pages) != len(image.pages):
        return [f"{len(pages)} pages"]
    wrong = []
    for i, (page, got) in enumerate(zip(image.held(), pages)):
        masked = ~image.mask if image.mask is not None and "--mask=none" not in words else np.zeros(page.shape[:2], bool)
        if image.alpha and "--alpha=mask" in words:
            masked = masked | (page[..., image.alpha_at()] == 0)
        nodata = 0 if "--nodata=0" in words else image.nodata
        if len(got["channels"]) != page.shape[2] or [got["width"], got["height"]] != [page.shape[1], page.shape[0]]:
            return wrong + ["size"]
        for c, channel in enumerate(got["channels"]):
            bits = image.bits if image.palette is None else 8
            sentences = compare_channel(channel, page[..., c], masked, bits, "--interpolation=nearest" in words, nodata)
            wrong += [f"page {i} channel {c}: {sentence}" for sentence in sentences]
    return wrong


def expected_output(image, words):
    """Of integers that are stretched or equalized as docs/transforms.md defines it; None of all others."""
    page = image.held()[0]
    plain = not [word for word in words if word.startswith(("--method", "--clahe", "--match", "--in-range", "--depth", "--alpha", "--nodata",
                                                                  "--mask", "--out-nodata"))]
    luma = words[0] == "equalize" and image.colours in ("rgb", "palette") and not [word for word in words if "--channels" in word]
    if not plain or luma or page.dtype.kind == "f" or image.nodata is not None or len(image.pages) > 1:
        return None
    mapped = [c for c in range(page.shape[2]) if c != image.alpha_at()]
    joint = "--channels=joint" in words or words[0] == "normalize" and "--channels=each" not in words
    bits = image.bits if image.palette is None else 8
    low, top = (0 if page.dtype.kind == "u" else -2 ** (bits - 1)), 2 ** bits - 1
    out, used = page.copy(), np.ones(page.shape[:2], bool) if image.mask is None else image.mask
    for group in [mapped] if joint else [[c] for c in mapped]:
        values, counts = np.unique(page[used][:, group], return_counts=True)
        values, below = values.tolist(), np.cumsum(counts).tolist()
        if len(values) > 1 and words[0] == "normalize":
            table = {v: low + round(Fraction((v - values[0]) * top, values[-1] - values[0])) for v in values}
        elif len(values) > 1:
            table = {v: low + round(Fraction((n - below[0]) * top, below[-1] - below[0])) for v, n in zip(values, below)}
        else:
            continue
        for c in group:
            out[used, c] = [table[v] for v in page[used][:, c].tolist()]
    return [out]


# ---- Outputs, as others decode them

def read_tiff(path):
    """The samples of all pages and of their levels: without any library, so of few compressions only."""
    tree, out = tiff_tree.Tiff(path.read_bytes()), ([], [])
    for page in [page for first in tree.chain for page in (first, *first.subs)]:
        width, height = page.size
        bits, channels = page.first(258, 1), page.first(277, 1)
        kind = "uuif"[page.first(339, 1)]
        dtype = np.dtype(kind + str(next(size for size in (1, 2, 4, 8) if 8 * size >= bits)))
        unpack = {1: bytes, 8: zlib.decompress, 32946: zlib.decompress, 34925: lzma.decompress}.get(page.first(259, 1))
        if not unpack:
            return None
        tile = (page.first(323), page.first(322)) if 322 in page.fields else (min(page.first(278, height), height), width)
        planes = channels if page.first(284, 1) == 2 else 1
        inside = channels // planes
        x = np.zeros((planes, -(-height // tile[0]) * tile[0], -(-width // tile[1]) * tile[1], inside), dtype)
        pieces = zip(page.fields.get(324, page.fields.get(273)), page.fields.get(325, page.fields.get(279)))
        for plane in range(planes):
            for top in range(0, height, tile[0]):
                for left in range(0, width, tile[1]):
                    at, size = next(pieces)
                    data = np.frombuffer(unpack(tree.data[at:at + size]), "u1")
                    rows = tile[0] if 322 in page.fields else min(tile[0], height - top)
                    data = data.reshape(rows, -1)
                    if page.first(317, 1) == 3:
                        data = np.cumsum(data.reshape(rows, -1, inside), axis=1, dtype="u1").reshape(rows, dtype.itemsize, -1)
                        piece = np.ascontiguousarray(data.transpose(0, 2, 1)).view(dtype.newbyteorder(">"))
                    elif bits == 8 * dtype.itemsize:
                        piece = data.view(dtype.newbyteorder(tree.order))
                    else:
                        stream = np.unpackbits(data, axis=1)[:, :tile[1] * inside * bits].reshape(-1, bits)
                        sign = stream[:, :1] * (kind == "i")
                        stream = np.concatenate([np.repeat(sign, 64 - bits, axis=1), stream], axis=1)
                        piece = np.packbits(stream, axis=1).view(">u8").astype(dtype)
                    piece = piece.reshape(rows, tile[1], inside).astype(dtype)
                    if page.first(317, 1) == 2:
                        piece = np.cumsum(piece.view(f"u{dtype.itemsize}"), axis=1, dtype=f"u{dtype.itemsize}").view(dtype)
                    x[plane, top:top + rows, left:left + tile[1]] = piece
        x = x[:, :height, :width].transpose(1, 2, 0, 3).reshape(height, width, channels)
        if page.first(262) == 3:
            x = (np.array(page.fields[320]).reshape(3, -1).T[x[..., 0]] // 257).astype("u1")
        if page.first(254) in (0, 1):
            out[page.first(254)].append(x)
    return out


def read_gdal(path, pages, palette):
    """Where GDAL knows the sample type. (It makes a table of MinIsWhite, too.)"""
    out = []
    for i in range(pages):
        file = gdal.Open(f"GTIFF_DIR:{i + 1}:{path}" if i else str(path))
        x = file.ReadAsArray().reshape(file.RasterCount, file.RasterYSize, file.RasterXSize).transpose(1, 2, 0)
        if file.GetRasterBand(1).GetMetadataItem("PIXELTYPE", "IMAGE_STRUCTURE") == "SIGNEDBYTE":
            x = x.view("i1")
        table = file.GetRasterBand(1).GetColorTable()
        if table and palette:
            x = np.array([table.GetColorEntry(k)[:3] for k in range(table.GetCount())], "u1")[x[..., 0]]
        out.append(x)
    return out


def is_png(path):
    return path.read_bytes()[:4] == b"\x89PNG"


def same_pixels(a, b):
    """Of lists of pages; None stands for pixels that nobody could read."""
    return a is None or b is None or len(a) == len(b) and all(
        x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(a, b))
