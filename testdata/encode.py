# SPDX-License-Identifier: MIT
"""Writes PNG and TIFF files with nothing but struct and zlib, so that no library under test has a part in them."""

import struct
import zlib

# ---- PNG ----------------------------------------------------------------------------------------

GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
PNG_CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pack_bits(samples, bits):
    """Samples of a row, most significant bit first, padded to whole bytes."""
    if bits == 8:
        return bytes(samples)
    if bits == 16:
        return struct.pack(f">{len(samples)}H", *samples)
    number = 0
    for sample in samples:
        number = number << bits | sample
    padding = -len(samples) * bits % 8
    return (number << padding).to_bytes((len(samples) * bits + padding) // 8, "big")


def paeth(a, b, c):
    p = a + b - c
    distances = abs(p - a), abs(p - b), abs(p - c)
    return (a, b, c)[distances.index(min(distances))]


def filter_rows(rows, step):
    """Takes the five filters in turn, so that a decoder meets each of them."""
    out, above = bytearray(), None
    for y, row in enumerate(rows):
        above = above or bytes(len(row))
        kind = y % 5
        out.append(kind)
        for i, x in enumerate(row):
            a = row[i - step] if i >= step else 0
            c = above[i - step] if i >= step else 0
            guess = (0, a, above[i], (a + above[i]) // 2, paeth(a, above[i], c))[kind]
            out.append((x - guess) & 0xFF)
        above = row
    return bytes(out)


def png(image, color, bits, palette=None, trns=None, interlace=False):
    """image: rows of pixels, a pixel being a tuple of raw samples."""
    height, width, channels = len(image), len(image[0]), PNG_CHANNELS[color]
    step = max(channels * bits // 8, 1)
    data = b""
    for x0, y0, dx, dy in ADAM7 if interlace else [(0, 0, 1, 1)]:
        rows = [[s for pixel in row[x0::dx] for s in pixel] for row in image[y0::dy]]
        data += filter_rows([pack_bits(row, bits) for row in rows if row], step)
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, int(interlace))
    out = PNG_SIGNATURE + png_chunk(b"IHDR", header)
    if palette:
        out += png_chunk(b"PLTE", bytes(s for entry in palette for s in entry))
    if trns:
        out += png_chunk(b"tRNS", trns)
    return out + png_chunk(b"IDAT", zlib.compress(data, 9)) + png_chunk(b"IEND", b"")


# ---- TIFF ---------------------------------------------------------------------------------------

UINT, INT, FLOAT, COMPLEX = 1, 2, 3, 6  # SampleFormat
MIN_IS_WHITE, MIN_IS_BLACK, TIFF_RGB, TIFF_PALETTE, CMYK = 0, 1, 2, 3, 5
SHORT, LONG, LONG8, ASCII = 3, 4, 16, 2  # types of tag values
TYPE_LETTER = {SHORT: "H", LONG: "I", LONG8: "Q", ASCII: "s"}
SAMPLE_LETTER = {(UINT, 8): "B", (UINT, 16): "H", (UINT, 32): "I", (UINT, 64): "Q",
                 (INT, 8): "b", (INT, 16): "h", (INT, 32): "i", (INT, 64): "q",
                 (FLOAT, 16): "e", (FLOAT, 32): "f", (FLOAT, 64): "d"}


class Page:
    """One image of a TIFF: rows of pixels and how to lay them out. Further tags override those derived."""

    def __init__(self, image, bits, kind=UINT, photometric=None, deflate=False, predictor=False, planar=False,
                 tile=None, rows_per_strip=None, tags=None):
        self.image, self.bits, self.kind = image, bits, kind
        self.height, self.width, self.channels = len(image), len(image[0]), len(image[0][0])
        self.deflate, self.predictor, self.planar, self.tile = deflate, predictor, planar, tile
        self.rows_per_strip = rows_per_strip or self.height
        self.photometric = photometric
        if photometric is None:
            self.photometric = TIFF_RGB if self.channels >= 3 else MIN_IS_BLACK
        self.tags = tags or {}

    def blocks(self):
        """Rectangles of samples in file order: lists of rows."""
        planes = [self.image]
        if self.planar:
            planes = [[[(pixel[c],) for pixel in row] for row in self.image] for c in range(self.channels)]
        for plane in planes:
            if not self.tile:
                for y in range(0, self.height, self.rows_per_strip):
                    yield plane[y:y + self.rows_per_strip]
                continue
            wide, high = self.tile
            for y in range(0, self.height, high):
                for x in range(0, self.width, wide):
                    block = [row[x:x + wide] for row in plane[y:y + high]]
                    block = [row + [row[-1]] * (wide - len(row)) for row in block]
                    yield block + [block[-1]] * (high - len(block))

    def encode(self, order):
        """The bytes of each strip or tile."""
        for block in self.blocks():
            data = b""
            for row in block:
                samples = [s for pixel in row for s in pixel]
                if self.predictor:
                    step, limit = len(row[0]), 1 << self.bits
                    samples = [(s - samples[i - step]) % limit if i >= step else s for i, s in enumerate(samples)]
                letter = SAMPLE_LETTER.get((self.kind, self.bits))
                if letter:
                    data += struct.pack(f"{order}{len(samples)}{letter}", *samples)
                else:
                    data += pack_bits(samples, self.bits)  # packed samples have no byte order
            yield zlib.compress(data, 9) if self.deflate else data


def page_tags(page, blocks, offsets, big):
    """{tag: (type, values)} of a page whose blocks lie at offsets."""
    place = LONG8 if big else LONG
    tags = {
        256: (LONG, [page.width]),
        257: (LONG, [page.height]),
        258: (SHORT, [page.bits] * page.channels),
        259: (SHORT, [8 if page.deflate else 1]),
        262: (SHORT, [page.photometric]),
        277: (SHORT, [page.channels]),
        284: (SHORT, [2 if page.planar else 1]),
        339: (SHORT, [page.kind] * page.channels),
    }
    if page.predictor:
        tags[317] = (SHORT, [2])
    colors = {TIFF_RGB: 3, CMYK: 4}.get(page.photometric, 1)
    if page.channels > colors:
        tags[338] = (SHORT, [2] + [0] * (page.channels - colors - 1))  # unassociated alpha, then unspecified
    if page.tile:
        tags.update({322: (SHORT, [page.tile[0]]), 323: (SHORT, [page.tile[1]]), 324: (place, offsets),
                     325: (LONG, [len(b) for b in blocks])})
    else:
        tags.update({273: (place, offsets), 278: (LONG, [page.rows_per_strip]), 279: (LONG, [len(b) for b in blocks])})
    tags.update(page.tags)
    return tags


def directory(tags, start, order, big):
    """The bytes of a directory at `start`, and where in them the offset of the next one goes."""
    count, word, inline = ("Q", "Q", 8) if big else ("H", "I", 4)
    size = struct.calcsize(f"{order}{count}") + len(tags) * (12 + 8 * big) + inline
    body, extra = struct.pack(order + count, len(tags)), b""
    for tag in sorted(tags):
        kind, values = tags[tag]
        if kind == ASCII:
            value, n = values + b"\0", len(values) + 1
        else:
            value, n = struct.pack(f"{order}{len(values)}{TYPE_LETTER[kind]}", *values), len(values)
        if len(value) > inline:
            place = start + size + len(extra)
            extra += value + bytes(len(value) % 2)
            value = struct.pack(order + word, place)
        body += struct.pack(order + "HH" + word, tag, kind, n) + value.ljust(inline, b"\0")
    return body + bytes(inline) + extra, len(body)


def tiff(pages, order="<", big=False, loop=False):
    """A file of pages; loop: the last directory names the first one as its successor."""
    mark = b"II" if order == "<" else b"MM"
    out = bytearray(mark + (struct.pack(order + "HHHQ", 43, 8, 0, 0) if big else struct.pack(order + "HI", 42, 0)))
    word = order + ("Q" if big else "I")
    link, first = (8, None) if big else (4, None)
    for page in pages:
        blocks, offsets = list(page.encode(order)), []
        for block in blocks:
            offsets.append(len(out))
            out += block + bytes(len(block) % 2)
        start = len(out)
        first = first or start
        body, next_link = directory(page_tags(page, blocks, offsets, big), start, order, big)
        struct.pack_into(word, out, link, start)
        link = start + next_link
        out += body
    if loop:
        struct.pack_into(word, out, link, first)
    return bytes(out)
