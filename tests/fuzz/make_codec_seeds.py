#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes seeds/codec-*.tif: small files of every compression that this libtiff reads.

libtiff writes them; what it only reads (ThunderScan, NeXT, old JPEG) is put together here.

usage: make_codec_seeds.py [DIR]      (default: seeds beside this script)
"""

import ctypes
import ctypes.util
import struct
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "faults"))
from hostile_files import LONG, SHORT, tiff  # noqa: E402

NONE, RLE, T4, T6, LZW, OLD_JPEG, JPEG, DEFLATE = 1, 2, 3, 4, 5, 6, 7, 8
NEXT, RLEW, PACKBITS, THUNDERSCAN, PIXARLOG, OLD_DEFLATE, JBIG = 32766, 32771, 32773, 32809, 32909, 32946, 34661
SGILOG, SGILOG24, LERC, LZMA, ZSTD, WEBP = 34676, 34677, 34887, 34925, 50000, 50001
WIDTH, HEIGHT = 32, 16
INT, FLOAT = 1, 3

# Name, compression, bits, samples a pixel, sample format, photometric, more tags.
WRITTEN = [
    ("none", NONE, 8, 1, INT, 1, {}), ("lzw", LZW, 8, 3, INT, 2, {317: 2}), ("packbits", PACKBITS, 16, 1, INT, 1, {}),
    ("deflate", DEFLATE, 32, 1, FLOAT, 1, {317: 3}), ("old-deflate", OLD_DEFLATE, 8, 1, INT, 1, {}),
    ("ccitt-rle", RLE, 1, 1, INT, 0, {}), ("ccitt-rlew", RLEW, 1, 1, INT, 0, {}), ("ccitt-t4", T4, 1, 1, INT, 0, {}),
    ("ccitt-t4-two", T4, 1, 1, INT, 0, {292: 1}), ("ccitt-t6", T6, 1, 1, INT, 0, {}),
    ("ccitt-t6-reversed", T6, 1, 1, INT, 0, {266: 2}), ("jbig", JBIG, 1, 1, INT, 0, {278: HEIGHT}),
    ("jbig-reversed", JBIG, 1, 1, INT, 0, {266: 2, 278: HEIGHT}), ("jpeg", JPEG, 8, 3, INT, 2, {}), ("jpeg-gray", JPEG, 8, 1, INT, 1, {}),
    ("pixarlog-8", PIXARLOG, 8, 1, INT, 1, {65549: 0}), ("pixarlog-16", PIXARLOG, 16, 3, INT, 2, {65549: 4}),
    ("pixarlog-float", PIXARLOG, 32, 1, FLOAT, 1, {65549: 5}), ("sgilog-l", SGILOG, 16, 1, 2, 32844, {65560: 1}),
    ("sgilog-luv", SGILOG, 16, 3, 2, 32845, {65560: 1}), ("sgilog24", SGILOG24, 16, 3, 2, 32845, {65560: 1}),
    ("lzma", LZMA, 16, 1, INT, 1, {317: 2}), ("lzma-float", LZMA, 32, 1, FLOAT, 1, {}), ("zstd", ZSTD, 8, 3, INT, 2, {317: 2}),
    ("zstd-64", ZSTD, 64, 1, FLOAT, 1, {}), ("webp", WEBP, 8, 3, INT, 2, {65569: 1}), ("webp-lossy", WEBP, 8, 4, INT, 2, {}),
    ("lerc", LERC, 8, 1, INT, 1, {}), ("lerc-float", LERC, 32, 1, FLOAT, 1, {}), ("lerc-deflate", LERC, 16, 3, INT, 2, {65566: 1}),
]


def library():
    name = ctypes.util.find_library("tiff")
    lib = ctypes.CDLL(name) if name else sys.exit("no libtiff here")
    lib.TIFFOpen.restype = ctypes.c_void_p
    lib.TIFFWriteEncodedStrip.restype = ctypes.c_ssize_t
    lib.TIFFSetErrorHandler(None)
    lib.TIFFSetWarningHandler(None)
    return lib


def samples(bits, channels, kind, rows):
    if bits == 1:
        return b"".join(bytes((0xF0 >> (y % 5), 0x3C, y * 7 % 256, 0xFF)) for y in range(rows))
    values = [(x * 7 + y * 13 + c * 29) % 200 + 20 for y in range(rows) for x in range(WIDTH) for c in range(channels)]
    if kind == FLOAT:
        return struct.pack(f"<{len(values)}{'f' if bits == 32 else 'd'}", *[v / 256 for v in values])
    letter = {8: "B", 16: "H"}[bits]
    return struct.pack(f"<{len(values)}{letter}", *values)


def write(lib, path, compression, bits, channels, kind, photometric, more):
    """Two strips, or one with ROWSPERSTRIP. False: this libtiff does not write it."""
    handle = ctypes.c_void_p(lib.TIFFOpen(str(path).encode(), b"w"))
    tags = {256: WIDTH, 257: HEIGHT, 258: bits, 277: channels, 339: kind, 284: 1, 278: HEIGHT // 2, 259: compression,
            262: photometric, **more}
    good = lib.TIFFIsCODECConfigured(compression) and all(lib.TIFFSetField(handle, *item) for item in tags.items())
    if channels == 4:
        alpha = (ctypes.c_uint16 * 1)(2)
        lib.TIFFSetField(handle, 338, 1, alpha)
    data = samples(bits, channels, kind, tags[278])
    for strip in range(HEIGHT // tags[278]):
        buffer = ctypes.create_string_buffer(data, len(data))  # some codecs change it
        good = good and lib.TIFFWriteEncodedStrip(handle, strip, buffer, ctypes.c_ssize_t(len(data))) == len(data)
    lib.TIFFClose(handle)
    return good


def only_read(folder, lib):
    """ThunderScan: codes of one pixel each. NeXT: rows as they are. Old JPEG: a stream with all its tables."""
    thunder = bytes(0xC0 | (x * 3 + y) % 16 for y in range(HEIGHT) for x in range(WIDTH))
    rows = b"".join(b"\x00" + bytes((y * 37 + x * 11) % 256 for x in range(WIDTH // 4)) for y in range(HEIGHT))
    (folder / "codec-thunderscan.tif").write_bytes(tiff(WIDTH, HEIGHT, THUNDERSCAN, thunder, {258: (SHORT, [4])}))
    (folder / "codec-next.tif").write_bytes(tiff(WIDTH, HEIGHT, NEXT, rows, {258: (SHORT, [2])}))
    path = folder / "whole.tif"
    if not write(lib, path, JPEG, 8, 1, INT, 1, {278: HEIGHT, 65539: 0}):
        return
    data = path.read_bytes()
    path.unlink()
    stream = data[data.index(b"\xff\xd8"):data.rindex(b"\xff\xd9") + 2]
    stream = stream[:stream.index(b"\xff\xd9") + 2]
    more = {513: (LONG, [8]), 514: (LONG, [len(stream)])}
    (folder / "codec-old-jpeg.tif").write_bytes(tiff(WIDTH, HEIGHT // 2, OLD_JPEG, stream, more))


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "seeds"
    lib = library()
    with tempfile.TemporaryDirectory() as temporary:
        for name, *what in WRITTEN:
            path = Path(temporary) / f"codec-{name}.tif"
            if write(lib, path, *what):
                (folder / path.name).write_bytes(path.read_bytes())
            else:
                print(f"not written: {name}")
    only_read(folder, lib)


if __name__ == "__main__":
    main()
