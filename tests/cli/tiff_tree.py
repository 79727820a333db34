# SPDX-License-Identifier: MIT
"""The directories of a TIFF file with all their fields, read without any library."""

import struct

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
LETTERS = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I", 16: "Q", 17: "q", 18: "Q"}
SUB_IFDS, EXIF, GPS = 330, 34665, 34853


class Directory:
    """fields: number -> values; kinds: number -> type; sub: number of the field -> directories that it points to."""

    def __init__(self, at):
        self.at, self.fields, self.kinds, self.sub = at, {}, {}, {}

    def first(self, number, default=0):
        return self.fields[number][0] if number in self.fields else default

    @property
    def size(self):
        return self.first(256), self.first(257)

    @property
    def subs(self):
        return self.sub.get(SUB_IFDS, [])


class Tiff:
    """chain: the directories of the chain."""

    def __init__(self, data):
        self.data = data
        self.order = "<" if data[:2] == b"II" else ">"
        self.big = self.number("H", 2) == 43
        self.chain = self.chain_from(self.number("Q" if self.big else "I", 8 if self.big else 4))

    def number(self, letter, at):
        return struct.unpack_from(self.order + letter, self.data, at)[0]

    def chain_from(self, at):
        found = []
        while at and at not in [directory.at for directory in found]:
            directory, at = self.directory(at)
            found.append(directory)
        return found

    def directory(self, at):
        out = Directory(at)
        count, entry, offset = ("Q", 20, "Q") if self.big else ("H", 12, "I")
        n, at = self.number(count, at), at + struct.calcsize(count)
        for i in range(n):
            place = at + i * entry
            tag, kind = self.number("H", place), self.number("H", place + 2)
            values = self.number(offset, place + 4)
            inside = place + 4 + struct.calcsize(offset)
            size = SIZES.get(kind, 1) * values
            where = inside if size <= struct.calcsize(offset) else self.number(offset, inside)
            out.fields[tag], out.kinds[tag] = self.values(kind, values, where), kind
            if tag in (SUB_IFDS, EXIF, GPS):
                out.sub[tag] = [self.directory(sub)[0] for sub in out.fields[tag]]
        return out, self.number(offset, at + n * entry)

    def values(self, kind, n, at):
        if kind in (2, 7):
            return (self.data[at:at + n],)
        if kind in (5, 10):
            return struct.unpack_from(f"{self.order}{2 * n}{'I' if kind == 5 else 'i'}", self.data, at)
        return struct.unpack_from(f"{self.order}{n}{LETTERS[kind]}", self.data, at)


def shape(directories):
    """Sizes and NewSubfileType, as they lie in each other."""
    return [(*directory.size, directory.first(254), shape(directory.subs)) for directory in directories]


def read(path):
    with open(path, "rb") as file:
        return Tiff(file.read())


# ---- Comparing -------------------------------------------------------------------------------------

# Fields that an output has for itself: places and sizes of its parts, the height of strips, two that it always has.
ALWAYS = {284, 339}
LAYOUT = {273, 279, 324, 325, SUB_IFDS, EXIF, GPS, 278, *ALWAYS}
EXTREMA = {280, 281, 340, 341}  # smallest and largest samples of the input
PREDICTOR, NO_PREDICTOR = 317, (1,)  # as good as none


def differences(before, after, explained=()):
    """Where two lists of directories, and those below them, differ in other fields than LAYOUT, EXTREMA and `explained`."""
    found = []

    def fields(directory):
        return {tag: values for tag, values in directory.fields.items() if (tag, values) != (PREDICTOR, NO_PREDICTOR)}

    def pairs(old, new, where):
        if len(old) != len(new):
            found.append(f"{where}: {len(old)} directories become {len(new)}")
        for i, (a, b) in enumerate(zip(old, new)):
            here, was, became = f"{where}.{i}", fields(a), fields(b)
            for tag in sorted({*was, *became} - {*LAYOUT, *EXTREMA, *explained}):
                if was.get(tag) != became.get(tag):
                    found.append(f"{here}: field {tag} {was.get(tag)} becomes {became.get(tag)}")
            gone, added = LAYOUT & {*was} - {*became}, LAYOUT & {*became} - {*was} - ALWAYS
            if gone or added:
                found.append(f"{here}: {gone} are gone, {added} are new")
            for tag in {*a.sub, *b.sub}:
                pairs(a.sub.get(tag, []), b.sub.get(tag, []), f"{here}/{tag}")

    pairs(before, after, "")
    return found


# ---- Writing ---------------------------------------------------------------------------------------

BYTE, ASCII, SHORT, LONG, RATIONAL, UNDEFINED, IFD, LONG8, IFD8 = 1, 2, 3, 4, 5, 7, 13, 16, 18


class Page:
    """A directory to write. fields: number -> (type, values); strips: bytes; tile: its sides, for tiles in `strips`;
    behind: bytes right behind the strips; jpeg: in place of strips, as in EXIF."""

    def __init__(self, fields, strips, subs=(), tile=None, behind=b"", jpeg=None):
        self.fields, self.strips, self.subs, self.tile, self.behind = dict(fields), strips, subs, tile, behind
        self.jpeg = jpeg


def gray(rows, kind="H", order="<", rows_per_strip=None, tile=None, **more):
    """A page of unsigned gray samples. more: of Page; fields: further ones."""
    width, height, size = len(rows[0]), len(rows), struct.calcsize(kind)
    fields = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8 * size]), 259: (SHORT, [1]),
              262: (SHORT, [1]), 277: (SHORT, [1]), 339: (SHORT, [1]), **more.pop("fields", {})}
    if tile:
        padded = [list(row) + [0] * (-width % tile) for row in rows] + [[0] * (width + -width % tile)] * (-height % tile)
        strips = [b"".join(struct.pack(f"{order}{tile}{kind}", *row[x:x + tile]) for row in padded[y:y + tile])
                  for y in range(0, height, tile) for x in range(0, width, tile)]
        fields.update({322: (LONG, [tile]), 323: (LONG, [tile])})
    else:
        step = rows_per_strip or height
        strips = [b"".join(struct.pack(f"{order}{width}{kind}", *row) for row in rows[y:y + step])
                  for y in range(0, height, step)]
        fields[278] = (LONG, [step])
    return Page(fields, strips, tile=tile, **more)


class Writer:
    def __init__(self, order, big):
        self.order, self.big = order, big
        self.data = bytearray(16 if big else 8)

    def add(self, data):
        self.data += b"\0" * (len(self.data) % 2)
        at = len(self.data)
        self.data += data
        return at

    def pack(self, kind, values):
        letter = "I" if kind == RATIONAL else LETTERS.get(kind)
        return bytes(values) if kind in (ASCII, UNDEFINED) else struct.pack(f"{self.order}{len(values)}{letter}", *values)

    def directory(self, page):
        """Returns its place, and that of the link to the next one."""
        fields, wide = dict(page.fields), LONG8 if self.big else LONG
        self.data += b"\0" * (len(self.data) % 2)
        places = []
        for strip in page.strips:
            places.append(len(self.data))
            self.data += strip
        self.data += page.behind
        if page.jpeg:
            fields.update({513: (wide, [self.add(page.jpeg)]), 514: (LONG, [len(page.jpeg)])})
        else:
            fields[324 if page.tile else 273] = (wide, places)
            fields[325 if page.tile else 279] = (LONG, [len(strip) for strip in page.strips])
        if page.subs:
            fields[SUB_IFDS] = (IFD8 if self.big else IFD, [self.directory(sub)[0] for sub in page.subs])
        return self.fields(fields)

    def fields(self, fields):
        """The same of a directory whose samples lie where its fields say."""
        count, offset = ("Q", "Q") if self.big else ("H", "I")
        room, table = struct.calcsize(offset), struct.pack(self.order + count, len(fields))
        for tag, (kind, values) in sorted(fields.items()):
            data = self.pack(kind, values)
            inside = data.ljust(room, b"\0") if len(data) <= room else struct.pack(self.order + offset, self.add(data))
            table += struct.pack(self.order + "HH" + offset, tag, kind, len(values) // (2 if kind == RATIONAL else 1)) + inside
        at = self.add(table + bytes(room))
        return at, at + len(table)


def write(pages, order="<", big=False):
    """Bytes of a TIFF file."""
    out = Writer(order, big)
    offset = "Q" if big else "I"
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "H", 43 if big else 42)
    head += struct.pack(order + "HH", 8, 0) if big else b""
    out.data[:len(head)] = head
    link = len(head)
    for page in pages:
        at, behind = out.directory(page)
        struct.pack_into(order + offset, out.data, link, at)
        link = behind
    return bytes(out.data)
