# SPDX-License-Identifier: MIT
"""The directories of a TIFF file with all their fields, read without any library."""

import struct

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
LETTERS = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I", 16: "Q", 17: "q", 18: "Q"}
SUB_IFDS, EXIF, GPS = 330, 34665, 34853


class Directory:
    """fields: number -> values; sub: number of the field -> directories that it points to."""

    def __init__(self, at):
        self.at, self.fields, self.sub = at, {}, {}

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
            out.fields[tag] = self.values(kind, values, where)
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
