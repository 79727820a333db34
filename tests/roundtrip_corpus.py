#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes every image of the corpus again, unchanged, and compares what was written with the input.

    roundtrip_corpus.py COPY_IMAGE DUMP_PIXELS [CORPUS [PART_OF_PATH]]

Samples, geometry, type, alpha, channel names and pages must be equal; so must the chunks of a PNG and
the fields of a TIFF directory, which this script reads from the bytes itself. Where pngcheck is
installed it must accept the PNGs. Differences that the libtiff here cannot take are another predictor, and
said. Exit status 77 without a corpus.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from libraries import Libraries
from serve import Server, end_all

NOT_OK = ("malformed", "unsupported_codec", "declares_huge_size", "not_png_or_tiff")
CHANGING = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"sPLT", b"pCAL"}
BEFORE_PALETTE = {b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"sBIT"}
LENGTHS = {b"cHRM": 32, b"gAMA": 4, b"sRGB": 1, b"pHYs": 9, b"oFFs": 9, b"tIME": 7, b"sTER": 1, b"cICP": 4}
SAME_FORM = {b"sBIT", b"bKGD"}
MANY = {b"tEXt", b"zTXt", b"iTXt"}
# Fields that say how pixels are stored; they are compared through what is decoded.
LAYOUT = {256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 280, 281, 284, 288, 289, 292, 293, 317, 320, 322, 323, 324,
          325, 326, 327, 328, 330, 339, 340, 341, 347, *range(512, 522), 529, 530, 531, 532, 32996, 50674}
OF_VALUES = {37439, 37724, *range(50712, 50718), 50972, 51041, 51111}  # StoNits, Photoshop's layers, levels and sums of DNG
POINTERS = {34665, 34853, 40965, 400}
WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
WORDS = {**WIDTHS, 5: 4, 10: 4}
KEPT_COMPRESSIONS = {1, 2, 3, 4, 5, 8, 32773, 32946, 34925, 50000}


def run(*command):
    return subprocess.run(command, capture_output=True, check=False)


def chunks(path):
    """Chunks with valid checksums: (type, data, whether behind PLTE, behind IDAT)."""
    with open(path, "rb") as file:
        data = file.read()
    at, out, palette, pixels = 8, [], False, False
    while at + 12 <= len(data):
        n = struct.unpack(">I", data[at:at + 4])[0]
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + n]
        if zlib.crc32(kind + body) == struct.unpack(">I", (data[at + 8 + n:at + 12 + n] + b"\0\0\0\0")[:4])[0]:
            out.append((kind, body, palette, pixels))
        palette, pixels = palette or kind == b"PLTE", pixels or kind == b"IDAT"
        at += 12 + n
    return out


def kept_chunks(path, same_form, palette):
    """What must be found again, in any order."""
    out, seen = [], set()
    for kind, body, behind_palette, behind_pixels in chunks(path):
        known = kind in LENGTHS or kind in BEFORE_PALETTE or kind in MANY or kind in (b"eXIf", b"hIST", b"bKGD",
                                                                                      b"sCAL", b"sTER", b"cICP")
        if kind in CHANGING or (not known and (kind[0] < 97 or kind[3] < 97)):
            continue
        if kind in LENGTHS and len(body) != LENGTHS[kind] or kind in BEFORE_PALETTE and behind_palette:
            continue
        if kind in SAME_FORM and not same_form or kind == b"hIST" and not palette:
            continue
        if known and behind_pixels and kind not in MANY and kind not in (b"tIME", b"eXIf"):
            continue
        if known and kind not in MANY and kind in seen:
            continue
        if kind == b"sRGB" and any(other == b"iCCP" for other, *_ in chunks(path)):
            continue
        seen.add(kind)
        out.append((kind, body))
    return sorted(out)


def compare_png(before, after, indices, colours=True, mapped=False):
    """A problem, or None. colours: whether those of a palette must be equal; its form always is, with indices.
    mapped: samples were transformed, so what tells of values is gone."""
    heads = [next(body for kind, body, _, _ in chunks(path) if kind == b"IHDR") for path in (before, after)]
    if heads[1][12] != 0:
        return "is written interlaced"
    wanted_form = (heads[0][8], heads[0][9])
    if has_key(before):  # a colour that is transparent becomes an alpha channel
        wanted_form = (max(8, heads[0][8]), heads[0][9] | 4)
    elif wanted_form[1] == 3 and not indices:
        wanted_form = tuple(heads[1][8:10])
    if tuple(heads[1][8:10]) != wanted_form:
        return f"depth and colour type {tuple(heads[1][8:10])} instead of {wanted_form}"
    same_form = heads[0][8:10] == heads[1][8:10]
    palette = same_form and heads[0][9] == 3
    wanted, found = kept_chunks(before, same_form, palette), kept_chunks(after, same_form, palette)
    if mapped:
        wanted, found = ([(kind, without_thumbnail(kind, body)) for kind, body in side
                          if kind not in (b"bKGD", b"sBIT", b"hIST")] for side in (wanted, found))
    if wanted != found:
        return f"chunks differ: {[k for k, _ in wanted]} became {[k for k, _ in found]}"
    if palette:
        for kind in (b"PLTE", b"tRNS")[0 if colours else 1:]:
            one, two = [next((b for k, b, _, _ in chunks(p) if k == kind), b"") for p in (before, after)]
            if one != two:
                return f"{kind.decode()} differs"
    if shutil.which("pngcheck"):
        check = run("pngcheck", "-q", after)
        if check.returncode != 0 and run("pngcheck", "-q", before).returncode == 0:
            return "pngcheck: " + check.stdout.decode("utf-8", "replace").strip()
    return None


class Tiff:
    """Directories as {tag: (type, count, payload in big-endian order)}; pointed-to ones as dicts."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.order = ">" if self.data[:1] == b"M" else "<"
        self.big = self.number(2, 2) == 43
        self.pages, at, seen = [], self.number(8, 8) if self.big else self.number(4, 4), set()
        while at and at not in seen:
            seen.add(at)
            entries, next_at = self.directory(at)
            if not entries:
                break
            self.pages.append(entries)
            at = next_at

    def number(self, at, n):
        return int.from_bytes(self.data[at:at + n], "big" if self.order == ">" else "little")

    def directory(self, at, depth=0):
        width, entry = (8, 20) if self.big else (4, 12)
        head = 8 if self.big else 2
        n, out = self.number(at, head), {}
        if at + head > len(self.data) or at + head + n * entry > len(self.data):
            return {}, 0
        for i in range(n):
            here = at + head + i * entry
            tag, kind, count = self.number(here, 2), self.number(here + 2, 2), self.number(here + 4, width)
            size = WIDTHS.get(kind, 0) * count
            where = here + 4 + width if size <= width else self.number(here + 4 + width, width)
            if size == 0 or where + size > len(self.data) or tag in out:
                continue
            if tag in POINTERS:
                if depth < 3 and count == 1 and size >= 4:
                    sub = self.directory(self.number(here + 4 + width, size), depth + 1)[0]
                    if sub:
                        out[tag] = {k: v for k, v in sub.items() if k not in (273, 324, 330, 513, 514)}
                continue
            payload = self.data[where:where + size]
            if self.order == "<":
                word = WORDS[kind]
                payload = b"".join(payload[j:j + word][::-1] for j in range(0, size, word))
            out[tag] = (kind, count, payload)
        return out, self.number(at + head + n * entry, width)

    def value(self, page, tag, default=None):
        if tag not in self.pages[page]:
            return default
        kind, _, payload = self.pages[page][tag]
        return int.from_bytes(payload[:WIDTHS[kind]], "big")


def without_thumbnails(resources):
    """Image resources of Photoshop, in order: number and the whole of each but for thumbnails, 1033 and 1036."""
    out, at = [], 0
    while resources[at:at + 4] == b"8BIM":
        name = (resources[at + 6] + 2) & ~1
        size = int.from_bytes(resources[at + 6 + name:at + 10 + name], "big")
        end = at + 10 + name + ((size + 1) & ~1)
        number = int.from_bytes(resources[at + 4:at + 6], "big")
        if number not in (1033, 1036):
            out.append((number, resources[at:end]))
        at = end
    return out


def exif_tags(body):
    """The tags of its first directory: the second describes a thumbnail."""
    order = "big" if body[:2] == b"MM" else "little"
    at = int.from_bytes(body[4:8], order)
    n = int.from_bytes(body[at:at + 2], order)
    return [int.from_bytes(body[at + 2 + 12 * i:at + 4 + 12 * i], order) for i in range(n)]


def without_thumbnail(kind, body):
    """What a transform keeps of a chunk of PNG: EXIF, which ImageMagick writes as a text, loses its thumbnail."""
    if kind == b"eXIf":
        return exif_tags(body)
    if kind == b"zTXt" and body.startswith(b"Raw profile type exif\0"):
        lines = zlib.decompress(body[body.index(b"\0") + 2:]).split(b"\n")
        return exif_tags(bytes.fromhex(b"".join(lines[3:]).decode()).removeprefix(b"Exif\0\0"))
    return body


def true_still(fields):
    """Fields without what tells of values, which a transform changes: docs/formats.md lists it."""
    out = {tag: value for tag, value in fields.items() if tag not in OF_VALUES}
    if 34377 in out:
        out[34377] = without_thumbnails(out[34377][2])
    if 42112 in out:
        text = re.sub(rb'<Item name="STATISTICS_[^>]*>[^<]*</Item>|<Item [^>]*role="(?:scale|offset|unittype)"[^>]*>[^<]*</Item>',
                      b"", out[42112][2])
        out[42112] = re.sub(rb"\s+", b"", text)
    if 270 in out and out[270][2].startswith(b"ImageJ="):
        out[270] = [line for line in out[270][2].split(b"\n") if not re.match(rb"(min|max|c\d|cf|vunit)=", line)]
    return {tag: value for tag, value in out.items() if value not in ([], b"<GDALMetadata></GDALMetadata>\0")}


def compare_tiff(before, after, indices, colours=True, libraries=None, mapped=False, left_out=()):
    """As compare_png; libraries: they may have no differences of 64-bit samples. left_out: pages of the chain."""
    old, new = Tiff(before), Tiff(after)
    old.pages = [page for number, page in enumerate(old.pages) if number not in left_out]
    if len(old.pages) != len(new.pages):
        return f"{len(new.pages)} pages instead of {len(old.pages)}"
    if old.order != new.order or old.big != new.big:
        return "byte order or kind differs"
    for number, (wanted, found) in enumerate(zip(old.pages, new.pages)):
        converted = old.value(number, 262) in (6, 32844, 32845) or old.value(number, 262) == 3 and not indices
        keep = {k: v for k, v in wanted.items() if k not in LAYOUT}
        other = {k: v for k, v in found.items() if k not in LAYOUT}
        if converted:  # the depth may have changed, and what depends on it goes
            for tag in (290, 291, 301, 336, 333, 332, 334):
                keep.pop(tag, None)
                other.pop(tag, None)
        if old.value(number, 262) in (32844, 32845):  # LogL, LogLuv: gray and extra samples
            other.pop(338, None)
        if old.value(number, 262) == 3 and new.value(number, 262) == 2:
            keep.pop(42113, None)  # an index
        if mapped:
            if 37724 in other:
                return f"page {number}: Photoshop's layers are not those of the output"
            keep, other = true_still(keep), true_still(other)
        if keep != other:
            return f"page {number}: fields differ: {sorted(k for k in {*keep, *other} if keep.get(k) != other.get(k))}"
        problem = compare_layout(old, new, number, converted, indices, colours)
        if problem == "predictor differs" and libraries and replaced_predictor(old, new, number, libraries):
            libraries.skip(before, "this libtiff has no differences of 64-bit samples, written with another predictor")
            problem = None
        if problem:
            return f"page {number}: {problem}"
    return None


def replaced_predictor(old, new, page, libraries):
    usual = 3 if old.value(page, 339, 1) == 3 else 1
    return (not libraries.wide_differences and old.value(page, 258, 1) == 64 and
            (old.value(page, 317, 1), new.value(page, 317, 1)) == (2, usual))


def compare_layout(old, new, page, converted, indices, colours):
    map_entry = old.pages[page].get(320)
    # A palette of a wrong length: libtiff takes the samples for gray, and so they are written.
    broken_palette = old.value(page, 262) == 3 and map_entry and map_entry[1] != 3 << old.value(page, 258, 1)
    for tag in (256, 257, 322, 323):
        if old.value(page, tag) != new.value(page, tag):
            return f"field {tag}: {new.value(page, tag)} instead of {old.value(page, tag)}"
    height = old.value(page, 257)
    strip = [min(t.value(page, 278, height), height) for t in (old, new)]
    if old.value(page, 322) is None and strip[0] != strip[1]:
        return f"{strip[1]} rows a strip instead of {strip[0]}"
    before, after = old.value(page, 259, 1), new.value(page, 259, 1)
    fax = before in (2, 3, 4, 32771)
    if before in KEPT_COMPRESSIONS and after != before and not (fax and after == 8):
        return f"compression {after} instead of {before}"
    if before not in KEPT_COMPRESSIONS and after != 8:
        return f"compression {before} became {after}"
    if converted:
        return None
    if old.value(page, 284, 1) != new.value(page, 284, 1) and old.value(page, 277, 1) > 1:
        return "planes differ"
    if before == after and before in (5, 8, 32946, 34925, 50000) and old.value(page, 317, 1) != new.value(page, 317, 1):
        return "predictor differs"
    meaning = 1 if old.value(page, 262) in (32844, 32845) else old.value(page, 262, 1)
    if meaning != new.value(page, 262) and not broken_palette:
        return "photometric interpretation differs"
    if old.value(page, 258, 1) != new.value(page, 258) and old.value(page, 339, 1) != 3:
        return f"{new.value(page, 258)} bits instead of {old.value(page, 258, 1)}"
    if indices and colours and not broken_palette and old.pages[page].get(320) != new.pages[page].get(320) and (
            old.value(page, 262) == 3):
        return "palette differs"
    return None


def has_key(path):
    head = next(body for kind, body, _, _ in chunks(path) if kind == b"IHDR")
    keys = [body for kind, body, _, pixels in chunks(path) if kind == b"tRNS" and not pixels]
    return head[9] in (0, 2) and bool(keys) and len(keys[0]) == (2 if head[9] == 0 else 6)


def low_gray_key(path):
    """Gray of 1, 2 or 4 bits with a transparent value becomes 8 bits and alpha: the one case in which samples
    are multiplied, by 255 / (2^bits - 1)."""
    head = next(body for kind, body, _, _ in chunks(path) if kind == b"IHDR")
    return head[8] if head[9] == 0 and head[8] < 8 and has_key(path) else 0


def check(copy, dump, path, target, png, options, libraries):
    """A problem, or None; "refused" where the input is."""
    indices = "--indices" in options
    flags = ["--indices"] if indices else []
    before = dump.run(*flags, path, "chain")
    done = copy.run(*options, path, target)
    if before.returncode != 0:
        if done.returncode == 0:
            return "was written although it cannot be read"
        return "refused" if done.returncode == 1 and not os.path.exists(target) else f"status {done.returncode}"
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-1500:]}"
    after = dump.run(*flags, target, "chain")
    if after.returncode != 0:
        return "output not read: " + after.stderr.decode("utf-8", "replace").strip()
    bits = low_gray_key(path) if png else 0
    if bits:
        head, _, samples = before.stdout.partition(b"\n")
        scale = 255 // ((1 << bits) - 1)
        words = head.split()
        words[6] = b"8"
        if after.stdout != b" ".join(words) + b"\n" + bytes(v * scale for v in samples):
            return "scaled samples differ"
    elif not same_pages(before.stdout, after.stdout):
        return f"samples differ: {before.stdout.split(bytes([10]))[0]} became {after.stdout.split(bytes([10]))[0]}"
    if png:
        return compare_png(path, target, indices)
    return compare_tiff(path, target, indices, libraries=libraries)


def same_pages(before, after):
    """Equal, but for the photometric word of the first line, which says rgb where colours were expanded."""
    if before == after:
        return True
    one, two = before.partition(b"\n"), after.partition(b"\n")
    words, others = one[0].split(), two[0].split()
    if len(words) != len(others) or words[7] not in (b"palette", b"ycbcr", b"log-l", b"log-luv"):
        return False
    if words[1] != b"1":  # several pages: each has its own line; compare lengths of the rest only when equal
        return before.replace(b" palette ", b" rgb ").replace(b" ycbcr ", b" rgb ") == after
    words[7] = others[7]
    if words[7] in (b"gray",) or words[9:] != others[9:]:
        words[9:] = others[9:]
    return words == others and one[2] == two[2]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    copy, dump = map(os.path.abspath, sys.argv[1:3])
    here = os.path.dirname(os.path.abspath(__file__))
    corpus = sys.argv[3] if len(sys.argv) > 3 else os.environ.get(
        "IMGSTAT_CORPUS", os.path.join(here, "..", "..", "shared", "corpus"))
    index = os.path.join(corpus, "expected.jsonl")
    if not os.path.exists(index):
        print(f"no corpus at {corpus}: skipped")
        sys.exit(77)
    with open(index, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    only = sys.argv[4] if len(sys.argv) > 4 else ""
    written = refused = failed = 0
    libraries = Libraries(dump, "--libraries")
    copy, dump = Server(copy), Server(dump)
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries:
            if only not in entry["path"]:
                continue
            path, png = os.path.join(corpus, entry["path"]), entry.get("format") == "png"
            for options in (["--rows", "7"], ["--rows", "100000", "--threads", "2", "--indices"]):
                target = os.path.join(folder, "out")
                problem = check(copy, dump, path, target, png, options, libraries)
                if os.path.exists(target):
                    os.unlink(target)
                if len(os.listdir(folder)) > 0:
                    problem = f"left {os.listdir(folder)} behind"
                if problem == "refused":
                    refused += 1
                elif problem:
                    failed += 1
                    print(f"FAIL {entry['class']} {entry['path']} {' '.join(options)}: {problem}")
                else:
                    written += 1
    libraries.say_skipped()
    failed += end_all(copy, dump)
    print(f"{written} written and equal, {refused} refused as when read, {failed} failed")
    sys.exit(1 if failed or written == 0 else 0)


if __name__ == "__main__":
    main()
