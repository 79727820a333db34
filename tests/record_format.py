# SPDX-License-Identifier: MIT
"""Reads saved records by docs/record-format.md alone, with nothing of imgstat.

read(bytes) returns {"version", "files", "names", "failed", "all_failures", "failures", "shards", "records"}; a record has its kind and "channels",
each with "n", "nan", "pinf", "ninf", "nodata", "masked", "bins" ({key: count}), "min_key", "max_key", "sum" and "sum2"
(exact: int or Fraction; None where the bins tell it), "min_at", "max_at" ((file, page, index)), "min_width" and "max_width"."""

import struct
from fractions import Fraction

SAMPLES = ("u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64")
WIDTH = {name: int(name[1:]) for name in SAMPLES}
FLAGS = ("has_nodata", "holds_nodata", "ignore_masks", "alpha_masks", "mask", "indices", "region", "bins")


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert self.at + n <= len(self.data), "the bytes end early"
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "little")

    def varint(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        return self.take(self.varint()).decode(errors="surrogateescape")


class Bits:
    def __init__(self, reader):
        self.reader, self.bits, self.n = reader, 0, 0

    def take(self, n):
        while self.n < n:
            self.bits |= self.reader.number(1) << self.n
            self.n += 8
        value = self.bits & ((1 << n) - 1)
        self.bits >>= n
        self.n -= n
        return value


def stream(reader, m):
    bits, folded = Bits(reader), []
    while len(folded) < m:
        here = min(8, m - len(folded))
        width = bits.take(6)
        if width:
            width = 64 if width == 63 else width
            folded += [bits.take(width) for _ in range(here)]
            continue
        run = shift = 0
        while True:
            group = bits.take(4)
            run |= (group & 7) << shift
            shift += 3
            if group < 8:
                break
        folded += [0] * min(8 * (run + 1), m - len(folded))
    assert bits.bits == 0
    numbers, before = [], 0
    for x in folded:
        before = (before + (-(x + 1) // 2 if x & 1 else x // 2)) % 2**64
        numbers.append(before)
    return numbers


def read_bins(reader):
    m = reader.varint()
    gaps = stream(reader, m)
    counts = stream(reader, m)
    bins, key = {}, -1
    for gap, count in zip(gaps, counts):
        key += gap + 1
        bins[key] = count
    return bins


def read_exact(reader):
    first, n = reader.varint(), reader.varint()
    value = int.from_bytes(reader.take(4 * n), "little", signed=True) if n else 0
    return Fraction(value * 2 ** (32 * first), 2**1074)


def read_channel(reader, sample, has_bins, names):
    out = {key: reader.varint() for key in ("nan", "pinf", "ninf", "nodata", "masked")}
    narrow = WIDTH[sample] <= 16
    out["n"] = None if narrow else reader.varint()
    out["bins"] = read_bins(reader) if has_bins else None
    if narrow:
        out["n"] = sum(out["bins"].values())
    out["sum"] = out["sum2"] = None
    if out["n"] == 0:
        return out
    if narrow:
        out["min_key"], out["max_key"] = min(out["bins"]), max(out["bins"])
    else:
        out["min_key"], out["max_key"] = reader.varint(), reader.varint()
        if sample[0] == "f":
            out["overflow"] = reader.varint(), reader.varint()
            out["sum"], out["sum2"] = read_exact(reader), read_exact(reader)
        else:
            out["sum"] = int.from_bytes(reader.take(16), "little", signed=True)
            out["sum2"] = reader.number(24)
    for key in ("min_at", "max_at"):
        name, page, width, at = reader.varint(), reader.varint(), reader.varint(), reader.varint()
        out[key[:3] + "_width"] = width
        out[key] = (names[name - 1] if name else None, page, at)
    return out


def read_record(data):
    reader = Reader(data)
    out = {"group": reader.text(), "sample": SAMPLES[reader.number(1)], "bits": reader.number(1)}
    channels = reader.varint()
    out["alpha"] = reader.varint() - 1
    out["photometric"] = reader.text()
    out["names"] = [reader.text() for _ in range(channels)]
    flags = reader.number(1)
    out.update({name: bool(flags >> i & 1) for i, name in enumerate(FLAGS)})
    out["nodata_key"] = reader.varint() if out["holds_nodata"] else None
    out["region"] = [reader.varint() for _ in range(4)] if out["region"] else None
    out["files"], out["pages"], out["digest"] = reader.varint(), reader.varint(), reader.number(16)
    places = [reader.text() for _ in range(reader.varint())]
    out["channels"] = [read_channel(reader, out["sample"], out["bins"], places) for _ in range(channels)]
    assert reader.at == len(data)
    return out


def read(data):
    reader = Reader(data[:-8])
    assert reader.take(8) == b"\x89imgstat" and reader.number(2) == 1
    out = {"version": struct.unpack("<3H", reader.take(6)), "files": reader.varint(), "digest": reader.number(16)}
    out["failed"], out["all_failures"] = reader.varint(), reader.varint()
    out["failures"] = [(reader.text(), reader.text(), reader.text()) for _ in range(reader.varint())]
    out["shards"] = reader.varint()
    if out["shards"]:
        out["set"] = reader.take(16)
        done = reader.take((out["shards"] + 7) // 8)
        out["done"] = [k for k in range(out["shards"]) if done[k // 8] >> k % 8 & 1]
    out["records"] = [read_record(reader.take(reader.varint())) for _ in range(reader.varint())]
    assert reader.at == len(reader.data)
    return out


def value(sample, key):
    """Of an order key: an int, or a float."""
    width = WIDTH[sample]
    if sample[0] == "u":
        return key
    if sample[0] == "i":
        return key - 2 ** (width - 1)
    raw = key - 2 ** (width - 1) if key >> (width - 1) else 2**width - 1 - key
    pack, unpack = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[width]
    return struct.unpack(unpack, struct.pack(pack, raw))[0]
