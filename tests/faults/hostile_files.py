#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small files that ask for much: memory, time, output, or the end of the process.

usage: hostile_files.py DIR     writes each under its name
"""

import json
import lzma
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from harness import png_chunk  # noqa: E402

SHORT, LONG, LONG8 = 3, 4, 16
DEFLATE, ZSTD, LZMA, CCITT_T6, JBIG, PIXARLOG = 8, 50000, 34925, 4, 34661, 32909
FAR = 1 << 28  # of pixels: enough to see who reads them


def directory(at, width, height, more, next_at=0):
    """A gray page without data of its own; more: tag -> (type, values) or (type, count, place)."""
    fields = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8]), 259: (SHORT, [1]), 262: (SHORT, [1]),
              277: (SHORT, [1]), 278: (LONG, [height]), **more}
    entries, extra = b"", b""
    behind = at + 2 + 12 * len(fields) + 4
    for tag, field in sorted(fields.items()):
        if len(field) == 3:
            entries += struct.pack("<HHII", tag, *field)
            continue
        kind, values = field
        data = struct.pack(f"<{len(values)}{'H' if kind == SHORT else 'I'}", *values)
        entries += struct.pack("<HHI", tag, kind, len(values))
        entries += data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", behind + len(extra))
        extra += data if len(data) > 4 else b""
    return struct.pack("<H", len(fields)) + entries + struct.pack("<I", next_at) + extra


def tiff(width, height, compression, data, more=None):
    """One strip."""
    at = 8 + len(data) + len(data) % 2
    strip = {259: (SHORT, [compression]), 273: (LONG, [8]), 279: (LONG, [len(data)])}
    return struct.pack("<2sHI", b"II", 42, at) + data.ljust(at - 8, b"\0") + \
        directory(at, width, height, {**strip, **(more or {})})


# ---- What ends the process ----

def jbig(width, height, planes=1, order=1):
    """A page of 64 by 64 pixels whose JBIG data declare another size. Where memory for that is not there, libjbig calls
    abort(). libtiff takes the lowest bit for the first one in the usual order of bits, the highest in the other one."""
    head = struct.pack(">BBBBIIIBBBB", 0, 0, planes, 0, width, height, height, 8, 0, 3, 64)
    data = head + b"\xff\x02" * 8
    data = bytes(int(f"{byte:08b}"[::-1], 2) for byte in data) if order == 1 else data
    return tiff(64, 64, JBIG, data, {258: (SHORT, [1]), 266: (SHORT, [order])})


# ---- What leaves memory unwritten ----

def jbig_bits(bits, rows=16):
    """16 rows of 32 samples of so many bits; the JBIG data are of 32 x `rows` samples of 1 bit, all white."""
    head = struct.pack(">BBBBIIIBBBB", 0, 0, 1, 0, 32, rows, rows, 8, 0, 3, 64)
    data = bytes(int(f"{byte:08b}"[::-1], 2) for byte in head + b"\xff\x02")
    return tiff(32, 16, JBIG, data, {258: (SHORT, [bits])})


# ---- What takes memory ----

def many_fields(n, size, kind=1):
    """n private fields that claim the same bytes."""
    body = bytes(size)
    more = {40000 + i: (kind, size // {1: 1, LONG8: 8}[kind], 8) for i in range(n)}
    return tiff(16, 16, 1, body, {**more, 279: (LONG, [256])})


def zstd_frame(size, window_log):
    """Zeros: blocks of one repeated byte."""
    out = struct.pack("<IBB", 0xFD2FB528, 0, (window_log - 10) << 3)
    most = 1 << 17
    blocks = [most] * (size // most) + ([size % most] if size % most else [])
    for i, block in enumerate(blocks):
        out += struct.pack("<I", block << 3 | 1 << 1 | (i + 1 == len(blocks)))[:3] + b"\0"
    return out


def zstd_window(size=192 << 20):
    return tiff(1 << 14, size >> 14, ZSTD, zstd_frame(size, 27))


def zstd_planes(n=20, size=48 << 20):
    """A strip for each of n channels, which are interleaved."""
    frame = zstd_frame(size, 27)
    at = 8 + n * len(frame)
    more = {259: (SHORT, [ZSTD]), 273: (LONG, [8 + i * len(frame) for i in range(n)]), 279: (LONG, [len(frame)] * n),
            277: (SHORT, [n]), 258: (SHORT, [8] * n), 284: (SHORT, [2]), 338: (SHORT, [0] * (n - 1))}
    return struct.pack("<2sHI", b"II", 42, at + at % 2) + frame * n + b"\0" * (at % 2) + \
        directory(at + at % 2, 1 << 13, size >> 13, more)


def lzma_dictionary(size=192 << 20):
    """The dictionary that its header asks for has 1.5 GiB, and is filled."""
    data = bytearray(lzma.compress(bytes(size), check=lzma.CHECK_NONE, preset=0))
    head = data[12:12 + (data[12] + 1) * 4 - 4]
    head[head.index(b"\x21\x01") + 2] = 37
    data[12:12 + len(head) + 4] = head + struct.pack("<I", zlib.crc32(head))
    return tiff(1 << 14, size >> 14, LZMA, bytes(data))


def pixarlog(width=10000, height=20000):
    data = zlib.compress(bytes(2 * width * height), 9)
    return tiff(width, height, PIXARLOG, data)


def png(width, height, rows, chunks=b"", interlaced=0, kind=0):
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, interlaced)) +
            chunks + png_chunk(b"IDAT", zlib.compress(rows, 9)) + png_chunk(b"IEND", b""))


def png_profile(size=60 << 20):
    head = struct.pack(">I4sIIII", size, b"none", 0x04300000, 0x6D6E7472, 0x47524159, 0x58595A20).ljust(128, b"\0")
    profile = head[:36] + b"acsp" + head[40:] + bytes(size - 128)
    return png(16, 16, bytes(17 * 16), png_chunk(b"iCCP", b"p\0\0" + zlib.compress(profile, 9)))


def nested_transfer(depth=7 << 20):
    return b'{"imgstat":"transfer","maps":[' + b"[]," * depth + b"[]]}"


def flat_transfer(n=10 << 20):
    return b'{"imgstat":"transfer","maps":[' + b"0," * n + b"0]}"


def many_channels(n):
    """1 by 5 pixels."""
    return tiff(1, 5, 1, bytes(5 * n), {277: (SHORT, [n]), 258: (SHORT, [8] * n), 338: (SHORT, [0] * (n - 1))})


# ---- What takes time, or writes much ----

def lzma_work(size=1 << 30):
    """Zeros in one strip: the same bytes again and again."""
    return tiff(1 << 15, size >> 15, LZMA, lzma.compress(bytes(size), preset=0))


def fax_work(width=1 << 16, height=1 << 16):
    """White rows of one bit each."""
    return tiff(width, height, CCITT_T6, b"\xff" * (height // 8) + b"\x00\x10\x01",
                {258: (SHORT, [1]), 262: (SHORT, [0])})


def interlaced_work(side=1 << 15):
    """One bit a pixel would be smaller; 8 bits take more time."""
    starts = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    bytes_of = [(1 + -(-(side - x) // dx)) * -(-(side - y) // dy) for x, y, dx, dy in starts]
    maker = zlib.compressobj(9)
    rows = b"".join(maker.compress(bytes(n)) for n in bytes_of) + maker.flush()
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 1)) +
            png_chunk(b"IDAT", rows) + png_chunk(b"IEND", b""))


def many_pages(n=200, size=1 << 28):
    """Pages that have the same strip."""
    data = zlib.compress(bytes(size), 9)
    body = data + b"\0" * (len(data) % 2)
    out, at = body, 8 + len(body)
    more = {259: (SHORT, [DEFLATE]), 273: (LONG, [8]), 279: (LONG, [len(data)])}
    each = len(directory(0, 1, 1, more))
    for i in range(n):
        out += directory(at, 1 << 14, size >> 14, more, at + each if i + 1 < n else 0)
        at += each
    return struct.pack("<2sHI", b"II", 42, 8 + len(body)) + out


def sparse(side=1 << 18):
    """Tiles that are not there."""
    return struct.pack("<2sHI", b"II", 42, 8) + directory(8, side, side, {273: (LONG, [0]), 279: (LONG, [0])})


def many_below(n=200_000, chain=20_000):
    """SubIFDs that are all the same chain of directories."""
    links = b"".join(struct.pack("<HHHIII", 1, 256, SHORT, 1, 1, 8 + 18 * (i + 1) if i + 1 < chain else 0) for i in range(chain))
    return (struct.pack("<2sHI", b"II", 42, 8 + len(links)) + links +
            directory(8 + len(links), 1, 1, {330: (LONG, n, 8 + len(links) + 2 + 12 * 8 + 4)}) + struct.pack("<I", 8) * n)


FILES = {
    "jbig_abort.tif": lambda: jbig(0x7FFFFFFF, 0x7FFFFFFF),
    "jbig_reversed.tif": lambda: jbig(0x7FFFFFFF, 0x7FFFFFFF, order=2),
    "jbig_larger.tif": lambda: jbig(60000, 60000),
    "jbig_planes.tif": lambda: jbig(64, 64, 128),
    "jbig_bits.tif": lambda: jbig_bits(32),
    "fields_4000.tif": lambda: many_fields(4000, 4 << 20),
    "fields_threads.tif": lambda: many_fields(200, 1 << 20),
    "zstd_window.tif": zstd_window,
    "zstd_planes.tif": zstd_planes,
    "lzma_dictionary.tif": lzma_dictionary,
    "pixarlog.tif": pixarlog,
    "profile.png": png_profile,
    "nested.json": nested_transfer,
    "flat.json": flat_transfer,
    "channels.tif": lambda: many_channels(65535),
    "channels_1000.tif": lambda: many_channels(1000),
    "lzma_work.tif": lzma_work,
    "fax_work.tif": fax_work,
    "interlaced.png": interlaced_work,
    "pages.tif": many_pages,
    "sparse.tif": sparse,
    "below.tif": many_below,
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        (folder / name).write_bytes(make())


if __name__ == "__main__":
    main()
