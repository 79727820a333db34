#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes seeds/page-*.tif: one small file for each structure that pages of TIFF files can have.

The last two bytes choose what fuzz_tiff_transform does with a file: CHOICES.

usage: make_seeds.py [DIR]      (default: seeds beside this script)
"""

import struct
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import tiff_tree  # noqa: E402
from tiff_tree import ASCII, BYTE, LONG, SHORT, UNDEFINED, Writer, write  # noqa: E402

WIDTH, HEIGHT, TILE = 32, 24, 16
BASE = [[5 + (x * 7 + y * 13) % 241 for x in range(WIDTH)] for y in range(HEIGHT)]
WORDS = [[300 + 3 * v for v in row] for row in BASE]  # slower by ten times
HALF = [row[::2] for row in BASE[::2]]
QUARTER = [row[::2] for row in HALF[::2]]
DISC = [[255 * ((2 * x - WIDTH) ** 2 + (2 * y - HEIGHT) ** 2 < 500) for x in range(WIDTH)] for y in range(HEIGHT)]
REDUCED, MASK, FULL = {254: (LONG, [1])}, {254: (LONG, [4]), 262: (SHORT, [4])}, {254: (LONG, [0])}
DESCRIPTION, PHOTOSHOP, LAYERS, GDAL, NODATA, IJ_COUNTS, IJ_DATA = 270, 34377, 37724, 42112, 42113, 50838, 50839

# Methods are the lowest three bits: 0 changes nothing, so that samples are compared.
IDENTITY, PERCENTILE, CLAHE, EQUALIZE, MEANSTD, GAMMA, TO_8, TO_16 = range(8)
BY_CHANNEL, BY_FILE, DROP_LEVELS, SALVAGE, NO_MASKS = 2 << 3, 3 << 3, 1 << 5, 1 << 6, 1 << 7
DEFLATE, OUT_NODATA, NODATA_0, INDICES, BY_ALL = 2 << 8, 1 << 11, 1 << 12, 1 << 14, 1 << 15


def gray(rows, kind="B", **more):
    return tiff_tree.gray(rows, kind, **more)


def text(value):
    return {DESCRIPTION: (ASCII, value.encode() + b"\0")}


def ome(planes, order="XYZCT", c=2, z=2, t=1, more="", kind="uint8"):
    return text(f'<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
                f'<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="{order}" Type="{kind}" SizeX="8" '
                f'SizeY="6" SizeZ="{z}" SizeC="{c}" SizeT="{t}"><Channel ID="Channel:0:0" Name="DAPI"/>'
                f'<Channel ID="Channel:0:1" Name="GFP"/>{planes}</Pixels></Image>{more}</OME>')


def imagej(n, more):
    return text(f"ImageJ=1.53t\nimages={n}\n{more}min=80.0\nmax=1010.0\n")


def imagej_metadata(channels, planes):
    pieces = [struct.pack(f"<{2 * channels}d", *[80.0, 1010.0] * channels), *[b"LUT%d" % c for c in range(channels)]]
    pieces += [f"{i:02}".encode("utf-16-le") for i in range(planes)]
    head = b"JIJI" + b"".join(kind[::-1] + struct.pack("<I", n)
                              for kind, n in ((b"rang", 1), (b"luts", channels), (b"labl", planes)))
    return {IJ_COUNTS: (LONG, [len(head)] + [len(piece) for piece in pieces]),
            IJ_DATA: (BYTE, list(head + b"".join(pieces)))}


def stack(n, fields, planes=None):
    """Planes of one directory, n of them; planes: how many there are."""
    rows = [[[(v * (k + 1)) % 256 for v in row[:8]] for row in BASE[:6]] for k in range(planes or n)]
    first, *others = [gray(plane) for plane in rows]
    first.fields.update(fields)
    first.behind = b"".join(page.strips[0] for page in others)
    return [first]


def cog(pages, interleaved):
    """Tiles between their sizes and their last bytes, and the text behind the header."""
    lines = ("LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\n"
             "BLOCK_TRAILER=LAST_4_BASE_REPEATED\nKNOWN_INCOMPATIBLE_EDITION=NO\n ")
    lines += "MASK_INTERLEAVED_WITH_IMAGERY=YES\n" if interleaved else ""
    out = Writer("<", False)
    out.data[:] = b"II*\0\0\0\0\0" + f"GDAL_STRUCTURAL_METADATA_SIZE={len(lines):06} bytes\n{lines}".encode()
    link = 4
    for page in pages:
        at, behind = out.directory(page)
        struct.pack_into("<I", out.data, link, at)
        link = behind
    return bytes(out.data)


def subifds(data, change):
    """Changes the list of SubIFDs of the first directory."""
    data = bytearray(data)
    at = struct.unpack_from("<I", data, 4)[0]
    for entry in range(at + 2, at + 2 + 12 * struct.unpack_from("<H", data, at)[0], 12):
        if struct.unpack_from("<H", data, entry)[0] == 330:
            change(data, at, entry)
    return bytes(data)


def point_to_parent(data, at, entry):
    n, where = struct.unpack_from("<II", data, entry + 4)
    struct.pack_into("<I", data, entry + 8 if n == 1 else where, at)


def nested(depth):
    page = gray(QUARTER, fields=REDUCED)
    for _ in range(depth):
        page = gray(QUARTER, fields=REDUCED, subs=[page])
    return gray(BASE, subs=[page])


def colour(samples, kinds, photometric, fields, planar=1):
    """An 8-bit page of several samples a pixel."""
    page = gray([[(v + c) % 256 for v in row for c in range(samples)] for row in BASE])
    page.fields.update({256: (LONG, [WIDTH]), 258: (SHORT, [8] * samples), 262: (SHORT, [photometric]),
                        277: (SHORT, [samples]), 284: (SHORT, [planar]), 339: (SHORT, [1] * samples), **fields})
    if kinds:
        page.fields[338] = (SHORT, kinds)
    if planar == 2:
        flat = page.strips[0]
        page.strips = [flat[c::samples] for c in range(samples)]
    return page


def floats():
    page = gray([[0] * WIDTH] * HEIGHT, "I", fields={339: (SHORT, [3]), NODATA: (ASCII, b"-9999\0")})
    values = [(-9999.0, float("nan"), float("inf"))[i % 3] if i % 11 < 3 else i / 7 for i in range(WIDTH * HEIGHT)]
    page.strips = [struct.pack(f"<{len(values)}f", *values)]
    return page


def damaged():
    """The third of six strips is no deflate stream."""
    page = gray(BASE, rows_per_strip=4, fields={259: (SHORT, [8])})
    page.strips = [b"none" if i == 2 else zlib.compress(strip) for i, strip in enumerate(page.strips)]
    return page


def levels(**kinds):
    return [gray(HALF, fields=REDUCED, **kinds), gray(QUARTER, fields=REDUCED, **kinds)]


def mask(rows=None, **kinds):
    return gray(rows or DISC, fields={**MASK, 254: (LONG, [5 if rows else 4])}, **kinds)


def stacks():
    """name -> bytes, choice: images that are planes along axes."""
    tiff_data = '<TiffData IFD="0" PlaneCount="4"/>'
    small = [[v for v in row[:8]] for row in BASE[:6]]
    apart = [gray(small) for _ in range(4)]
    seeds = {}
    for name, fields, choice in (
            ("ome", ome(tiff_data), PERCENTILE | BY_CHANNEL),
            ("ome-planes", ome("".join(f'<TiffData IFD="{i}" FirstC="{i % 2}" FirstZ="{i // 2}"/>' for i in (3, 2, 1, 0))),
             IDENTITY | BY_CHANNEL),
            ("ome-contradicts", ome('<TiffData IFD="7" FirstC="5" PlaneCount="9"/><TiffData IFD="1" PlaneCount="4000000000"/>',
                                    order="XYCCT", c=4000000000, z=4000000000), TO_8),
            ("ome-wrong-size", ome(tiff_data, c=3, z=3, t=7), TO_16),
            ("ome-images", ome('<TiffData IFD="0" PlaneCount="2"/>', z=1, more='<Image ID="Image:1"><Pixels ID="Pixels:1" '
             f'DimensionOrder="XYTZC" Type="uint8" SizeX="8" SizeY="6" SizeZ="1" SizeC="2" SizeT="1">'
             '<TiffData IFD="2" PlaneCount="2"/></Pixels></Image>'), CLAHE),
            ("imagej", {**imagej(4, "channels=2\nslices=2\nhyperstack=true\nmode=composite\n"), **imagej_metadata(2, 4)},
             TO_8 | BY_CHANNEL),
            ("imagej-contradicts", {**imagej(4, "channels=3\nslices=99\nframes=-1\n"), **imagej_metadata(3, 9)}, PERCENTILE),
            ("shaped", text('{"shape": [2, 2, 6, 8], "axes": "CZYX"}'), IDENTITY | BY_CHANNEL),
            ("shaped-contradicts", text('{"shape": [4294967295, 4294967295, 6, 8], "axes": "CCYX"}'), IDENTITY)):
        pages = [gray(small, fields=fields)] + apart[1:]
        seeds[name] = write(pages), choice
    bomb = ('<?xml version="1.0"?><!DOCTYPE OME [<!ENTITY a0 "aaaaaaaaaa">' +
            "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9)) + "]><OME>&a8;<Image/></OME>")
    seeds["ome-bomb"] = write([gray(small, fields=text(bomb))] + apart[1:]), PERCENTILE
    seeds["ome-deep"] = write([gray(small, fields=text("<OME>" + "<Image>" * 400)), *apart[1:]]), PERCENTILE
    for name, n, fields, there, choice in (
            ("planes", 4, imagej(4, "channels=2\nslices=2\n"), 4, PERCENTILE | BY_FILE),
            ("planes-identity", 5, imagej(5, "slices=5\n"), 5, IDENTITY),
            ("planes-missing", 9, imagej(9, "slices=9\n"), 4, SALVAGE),
            ("planes-65535", 65535, imagej(65535, "slices=65535\n"), 3, PERCENTILE),
            ("planes-huge", 4, text('{"shape": [4294967296, 4294967296, 6, 8]}'), 4, PERCENTILE),
            ("planes-shaped", 4, text('{"shape": [2, 2, 6, 8], "truncated": true}'), 4, TO_16 | DEFLATE)):
        seeds[name] = write(stack(n, fields, there)), choice
    return seeds


def families():
    """Levels, masks, thumbnails and SubIFDs."""
    tile = {"tile": TILE}
    below = write([gray(BASE, subs=levels())])
    return {
        "levels": (write([gray(BASE, **tile), *levels(**tile)]), PERCENTILE),
        "levels-clahe": (write([gray(BASE), *levels()]), CLAHE),
        "levels-dropped": (write([gray(BASE), mask(), *levels()]), EQUALIZE | DROP_LEVELS),
        "levels-big": (write([gray(WORDS, "H", order=">"), *levels(kind="H", order=">")], ">", True), IDENTITY),
        "levels-in-subifds": (below, IDENTITY),
        "levels-of-channels": (write([gray(BASE), gray(BASE), gray(HALF, fields=REDUCED), gray(HALF, fields=REDUCED)]),
                               IDENTITY),
        "subifds-to-parent": (subifds(below, point_to_parent), PERCENTILE),
        "subifds-nested": (write([nested(10)]), PERCENTILE),
        "subifds-of-images": (write([gray(BASE, subs=[gray(BASE, fields=FULL), gray(HALF, fields=FULL)])]), IDENTITY),
        "mask": (write([gray(BASE), mask()]), IDENTITY),
        "mask-of-level": (write([gray(BASE, **tile), mask(**tile), gray(HALF, fields=REDUCED, **tile),
                                 mask([row[::2] for row in DISC[::2]], **tile)]), TO_8 | OUT_NODATA),
        "mask-alone": (write([mask()]), IDENTITY),
        "mask-in-front": (write([mask(), gray(BASE)]), MEANSTD),
        "mask-below": (write([gray(BASE, subs=[mask()])]), GAMMA),
        "masks-ignored": (write([gray(BASE), mask()]), PERCENTILE | NO_MASKS),
        "thumbnail": (write([gray(BASE), gray([row[:3] for row in QUARTER], fields=REDUCED)]), IDENTITY),
        "thumbnails-alone": (write([gray(HALF, fields=REDUCED), gray(QUARTER, fields=REDUCED)]), IDENTITY),
        "preview-first": (write([gray([row[:9] for row in BASE], subs=[gray(WORDS, "H", fields=FULL)],
                                      fields={**REDUCED, 50706: (BYTE, [1, 4, 0, 0]), 271: (ASCII, b"Maker\0")})]), IDENTITY),
        "cog": (cog([gray(BASE, **tile), *levels(**tile)], False), IDENTITY | DEFLATE),
        "cog-masks": (cog([gray(BASE, **tile), mask(**tile), gray(HALF, fields=REDUCED, **tile),
                           mask([row[::2] for row in DISC[::2]], **tile)], True), IDENTITY),
        "cog-text-only": (cog([gray(BASE), gray(BASE)], True), CLAHE),
        "mixed-depths": (write([gray(WORDS, "H"), gray(BASE)]), PERCENTILE | BY_FILE),
        "mixed-by-all": (write([gray(WORDS, "H"), gray(BASE), floats()]), PERCENTILE | BY_ALL),
    }


def tags():
    """Fields that are kept, rewritten or left out."""
    gdal = ('<GDALMetadata><Item name="STATISTICS_MAXIMUM" sample="0">9</Item><Item name="SCALE" sample="0" role="scale">2'
            '</Item><Item name="DESCRIPTION" sample="0" role="description">red</Item></GDALMetadata>')
    resource = b"8BIM\4\x0c\0\0" + struct.pack(">I", 8) + b"thumbnail"[:8] + b"8BIM\4\4\0\0" + struct.pack(">I", 2) + b"ip"
    many = {65000 + i: (kind, values) for i, (kind, values) in enumerate((
        (BYTE, [1, 2, 3, 4, 5]), (SHORT, [1, 2, 3]), (LONG, [1]), (5, [1, 0, 7, 3]), (UNDEFINED, b"x" * 9),
        (11, [1.5, 2.5]), (12, [0.1]), (6, [-1]), (9, [-5, 6])))}
    many[65004] = (BYTE, list(b"x" * 9))
    palette = gray([[v % 16 for v in row] for row in BASE], "B",
                   fields={262: (SHORT, [3]), 320: (SHORT, [i * 257 % 65536 for i in range(768)])})
    return {
        "tags": (write([gray(BASE, fields={**many, 274: (SHORT, [6]), 282: (5, [72, 1]), 297: (SHORT, [1, 2]),
                                           280: (SHORT, [3]), 281: (SHORT, [900]), 700: (BYTE, list(b"<x:xmpmeta/>"))})]),
                 PERCENTILE),
        "tags-gdal": (write([gray(BASE, fields={GDAL: (ASCII, gdal.encode() + b"\0"), NODATA: (ASCII, b"99\0")})]), TO_8),
        "tags-photoshop": (write([gray(BASE, fields={PHOTOSHOP: (BYTE, list(resource)), LAYERS: (BYTE, list(resource))})]),
                           IDENTITY),
        "nodata": (write([gray(BASE, fields={NODATA: (ASCII, b"99\0")})]), PERCENTILE | OUT_NODATA),
        "floats": (write([floats()]), TO_8),
        "floats-given": (write([floats()]), GAMMA | NODATA_0),
        "alpha": (write([colour(4, [2], 2, {})]), PERCENTILE | DROP_LEVELS | SALVAGE),
        "planar": (write([colour(3, [], 2, {}, 2)]), EQUALIZE),
        "extra": (write([colour(5, [0, 0], 2, {}, 2)]), IDENTITY | DEFLATE),
        "palette": (write([palette]), IDENTITY),
        "palette-indices": (write([palette]), IDENTITY | INDICES),
        "damaged": (write([damaged()]), SALVAGE | PERCENTILE),
        "damaged-refused": (write([damaged(), gray(BASE)]), IDENTITY),
    }


def streams():
    """zlib streams: small blocks of codes of their own, flush points, stored blocks that hold another stream."""
    draw = 1
    data = bytearray()
    for i in range(9000):
        draw = draw * 1664525 + 1013904223 & 0xFFFFFFFF
        data.append(data[-700] if i > 700 and draw >> 30 else (draw >> 20) % 11)
    made = {}
    for name, level, strategy, flush in (("blocks", 9, zlib.Z_DEFAULT_STRATEGY, zlib.Z_NO_FLUSH),
                                         ("flushed", 6, zlib.Z_DEFAULT_STRATEGY, zlib.Z_FULL_FLUSH),
                                         ("fixed", 6, zlib.Z_FIXED, zlib.Z_SYNC_FLUSH)):
        deflater = zlib.compressobj(level, zlib.DEFLATED, 15, 1, strategy)
        parts = [deflater.compress(data[i:i + 3000]) + (deflater.flush(flush) if flush else b"") for i in range(0, 9000, 3000)]
        made[name] = b"".join(parts) + deflater.flush()
    made["planted"] = zlib.compress(made["flushed"], 0)
    return made


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "seeds"
    for name, (data, choice) in {**families(), **stacks(), **tags()}.items():
        (folder / f"page-{name}.tif").write_bytes(data + struct.pack("<H", choice))
    for name, data in streams().items():
        (folder / f"stream-{name}.z").write_bytes(data)


main()
