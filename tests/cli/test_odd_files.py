#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that are valid but rare, or damaged where decoders pass over it, through whole commands.

usage: test_odd_files.py IMGSTAT
"""

import json
import math
import random
import re
import struct
import sys
import zlib

import harness
from harness import TESTDATA, check, is_run, png_chunk, run, tiff_file

sys.path.insert(0, str(TESTDATA))
import encode  # noqa: E402


def stats(program, *words):
    return [json.loads(line) for line in run(program, "stats", "--json", *words).stdout.splitlines()]


def channels(program, *words):
    return stats(program, *words)[0]["channels"]


# ---- PNG -------------------------------------------------------------------------------------------


def chunks(data):
    """Types and bodies; a wrong checksum fails."""
    at, out = 8, []
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        assert png_chunk(kind, body) == data[at:at + 12 + n]
        out.append((kind, body))
        at += 12 + n
    return out


def palette_png(rows, *between, depth=8, behind=b""):
    """rows: bytes of each; between: chunks, PLTE among them, in front of the pixels."""
    head = struct.pack(">IIBBBBB", 8 * len(rows[0]) // depth, len(rows), depth, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + b"".join(png_chunk(*chunk) for chunk in between) +
            png_chunk(b"IDAT", pixels) + behind + png_chunk(b"IEND", b""))


GAMMA = ("normalize", "--method", "gamma", "--gamma", "0.5")


def test_palette_longer_than_its_indices(program, folder):
    """PLTE may hold more colours than indices of few bits can name. Memory behind the new ones was read."""
    name, out = folder / "in.png", folder / "out.png"
    colours = bytes(i * 37 % 256 for i in range(768))
    name.write_bytes(palette_png([b"\x5a\x11"] * 4, (b"PLTE", colours), depth=1))
    for method in (GAMMA, ("normalize",), ("equalize",)):
        run(program, *method, "--force", name, "-o", out)
        written = dict(chunks(out.read_bytes()))
        check(len(written[b"PLTE"]) == 6, f"{method}: {len(written[b'PLTE'])} bytes of colours for 2 indices")
        check(stats(program, "--indices", name)[0]["channels"] == stats(program, "--indices", out)[0]["channels"],
              f"{method}: the indices stay")


def test_index_without_colour(program, folder):
    """Methods that do not measure wrote such files, and said that all is well."""
    name, out = folder / "in.png", folder / "out.png"
    transfer = folder / "t.json"
    name.write_bytes(palette_png([b"\0\1\2", b"\2\3\0"], (b"PLTE", bytes(range(0, 120, 10)))))
    run(program, "normalize", "--save-transfer", transfer, name, "-o", out)
    name.write_bytes(palette_png([b"\0\1\2", b"\2\4\0"], (b"PLTE", bytes(range(0, 120, 10)))))
    expected = f"{name}: row 1 has index 4 where the palette has 4 colours"
    out.unlink()
    for command in (("stats",), ("normalize", "-o", out), (*GAMMA, "-o", out), ("apply", transfer, "-o", out)):
        done = run(program, *command, name, status=1)
        check(expected in done.stderr.decode(), f"{command}: {done.stderr!r}")
        check(not out.exists(), f"{command}: nothing is written")


def test_alpha_that_libpng_passes_over(program, folder):
    """A tRNS in front of PLTE, one that is too long, and a second one came into force in the output."""
    name, out = folder / "in.png", folder / "out.png"
    palette, rows = (b"PLTE", bytes([10, 20, 30, 200, 100, 50, 90, 80, 70])), [b"\0\1\2"]
    right, other, long = (b"tRNS", b"\7\200"), (b"tRNS", b"\1\2\3"), (b"tRNS", b"\1\2\3\4")
    for between, kept in (((right, palette), None), ((palette, long), None), ((palette, right), right),
                          ((palette, right, other), right), ((palette, long, other), other)):
        name.write_bytes(palette_png(rows, *between))
        run(program, *GAMMA, "--force", name, "-o", out)
        names = [channel["name"] for channel in channels(program, name)]
        check(names == ["red", "green", "blue"] + ["alpha"] * bool(kept), f"{between}: read as {names}")
        found = [chunk for chunk in chunks(out.read_bytes()) if chunk[0] == b"tRNS"]
        check(found == ([kept] if kept else []), f"{between}: wrote {found}")


def test_palette_again(program, folder):
    """A second palette behind the pixels, where it is passed over, became one of the output, which no reader took."""
    name, out = folder / "in.png", folder / "out.png"
    palette = (b"PLTE", bytes([10, 20, 30, 200, 100, 50]))
    name.write_bytes(palette_png([b"\0\1"], palette, behind=png_chunk(b"PLTE", palette[1][::-1])))
    run(program, *GAMMA, "--force", name, "-o", out)
    kinds = [chunk[0] for chunk in chunks(out.read_bytes())]
    check(kinds == [b"IHDR", b"PLTE", b"IDAT", b"IEND"], f"{kinds}")
    check(stats(program, "--indices", name)[0]["channels"] == stats(program, "--indices", out)[0]["channels"], "the indices stay")


def test_no_name_of_a_chunk(program, folder):
    """Behind the pixels, where libpng stops at such a chunk: it was copied, and damaged the output."""
    name, out = folder / "in.png", folder / "out.png"
    text = png_chunk(b"tEXt", b"Title\0a")
    for kind in (b"a\1\1a", b"a[[a", b"a\x1b[m"):
        behind = text + png_chunk(kind, b"hello") + png_chunk(b"tEXt", b"Author\0b")
        name.write_bytes(palette_png([b"\0\1"], (b"PLTE", bytes(6)), behind=behind))
        done = run(program, "normalize", "--force", name, "-o", out)
        check(b"damaged after its pixels" in done.stderr, f"{kind}: {done.stderr!r}")
        kinds = [chunk[0] for chunk in chunks(out.read_bytes())]
        check(kinds == [b"IHDR", b"PLTE", b"IDAT", b"tEXt", b"IEND"], f"{kind}: {kinds}")
        check(run(program, "stats", out).stderr == b"", f"{kind}: the output is whole")


def test_text_with_a_nul(program, folder):
    """It became two texts, of which libtiff warns in an output that is made of the input."""
    name, out = folder / "in.png", folder / "out.tif"
    for chunk in ((b"tEXt", b"Title\0one\0two"), (b"zTXt", b"Title\0\0" + zlib.compress(b"one\0two"))):
        name.write_bytes(palette_png([b"\0\1"], (b"PLTE", bytes(6)), chunk))
        run(program, "normalize", "--force", name, "-o", out)
        check(run(program, "stats", out).stderr == b"", f"{chunk}: the output is read without a warning")
        check(b"one\0" in out.read_bytes() and b"two" not in out.read_bytes(), f"{chunk}: the text ends at the NUL")


def test_chunks_that_contradict(program, folder):
    """A tIME that is no time, sRGB beside a colour profile, which the standard forbids, were copied; bytes behind IEND
    were lost without a word."""
    name, png, tif = folder / "in.png", folder / "out.png", folder / "out.tif"
    profile = (b"iCCP", b"p\0\0" + zlib.compress(bytes(16) + b"RGB " + bytes(200)))
    said = ((struct.pack(">H5B", 2026, 2, 28, 23, 59, 60), True), (bytes(7), False), (b"\7\xea\0\1\0\0\0", False),
            (b"\7\xea\x0d\1\0\0\0", False), (b"\7\xea\1\0\0\0\0", False), (b"\7\xea\1\x20\0\0\0", False),
            (b"\7\xea\1\1\x18\0\0", False), (b"\7\xea\1\1\0\x3c\0", False), (b"\7\xea\1\1\0\0\x3d", False))
    for time, good in said:
        name.write_bytes(palette_png([b"\0\1"], (b"PLTE", bytes(6)), (b"tIME", time)))
        for out, words in ((png, "its tIME chunk is damaged or very large, and left out"), (tif, "its tIME chunk is damaged, and left out")):
            warned = run(program, *GAMMA, "--force", name, "-o", out).stderr.decode()
            check((f"{out}: warning: {words}\n" in warned) != good, f"{time}: {warned}")
        check(((b"tIME", time) in [chunk[:2] for chunk in chunks(png.read_bytes())]) == good, f"{time}: in PNG")
        check((b"2026:02:28 23:59:60" in tif.read_bytes()) == good, f"{time}: in TIFF")
    for order in ((profile, (b"sRGB", b"\0")), ((b"sRGB", b"\0"), profile), ((b"iCCP", b"p\0\0damaged"), (b"sRGB", b"\0"))):
        name.write_bytes(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)) +
                         b"".join(png_chunk(*one) for one in order) + png_chunk(b"IDAT", zlib.compress(b"\0abcdef")) +
                         png_chunk(b"IEND", b""))
        warned = run(program, *GAMMA, "--force", name, "-o", png).stderr.decode()
        found = [chunk[0] for chunk in chunks(png.read_bytes())]
        both = profile in order
        check((b"sRGB" in found) != both and b"iCCP" in found, f"{order}: {found}")
        check((f"{png}: warning: its sRGB chunk is left out: it has a colour profile\n" in warned) == both, f"{order}: {warned}")
    for behind, words in ((b"", None), (b"x", "1 byte is behind its end"), (b"xyz" * 5000, "15000 bytes are behind its end")):
        name.write_bytes((TESTDATA / "good-rgb.png").read_bytes() + behind)
        for out in (png, tif):
            warned = run(program, *GAMMA, "--force", name, "-o", out).stderr.decode()
            check(warned == (f"{out}: warning: {words}, and left out\n" if words else ""), f"{behind[:3]}: {warned}")
        check(run(program, "stats", name).stderr == b"", "nothing is lost where nothing is written")


# ---- TIFF ------------------------------------------------------------------------------------------


def test_chunks_that_tiff_lacks(program, folder):
    """Texts and resolution with a wrong checksum were written into TIFF, where PNG leaves them out. Second texts of a
    name, damaged ones, and those with a name that is too long or has no end were lost without a word; so was the
    palette of an RGB image, in PNG as well."""
    name, out = folder / "in.png", folder / "out.tif"

    def wrong(kind, body):
        return png_chunk(kind, body)[:-1] + bytes([png_chunk(kind, body)[-1] ^ 1])

    def write(*between, colours=1):
        rows = b"".join(b"\0" + bytes(range(8 * colours)) for _ in range(8))
        name.write_bytes(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, colours - 1, 0, 0, 0)) +
                         b"".join(between) + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b""))

    def warnings(to):
        return run(program, "normalize", "--force", name, "-o", to).stderr.decode().splitlines()

    resolution = struct.pack(">IIB", 2835, 2835, 1)
    write(wrong(b"tEXt", b"Title\0x"), wrong(b"pHYs", resolution))
    said = warnings(out)
    check([line for line in said if line.startswith(str(out))] ==
          [f"{out}: warning: its {kind} chunk is damaged, and left out" for kind in ("tEXt", "pHYs")], f"{said}")
    found = json.loads(run(program, "info", "--json", out).stdout)["metadata"]
    check(found == [], f"damaged chunks are written: {found}")
    write(png_chunk(b"tEXt", b"Title\0a"), png_chunk(b"pHYs", resolution))
    check(warnings(out) == [], "whole chunks")
    found = json.loads(run(program, "info", "--json", out).stdout)["metadata"]
    check(sorted(found) == ["resolution", "text"], f"whole chunks are written: {found}")
    for kinds, lost in (((b"tEXt", b"Title\0a"), (b"tEXt", b"Title\0b")), "Title"), (((b"zTXt", b"Author\0\0no"),), "Author"), \
            (((b"tEXt", b"k" * 80 + b"\0v"),), "tEXt"), (((b"tEXt", b"no end"),), "tEXt"), \
            (((b"pHYs", b"abc"), (b"tIME", b"a")), "pHYs, tIME"):
        write(*(png_chunk(*kind) for kind in kinds))
        said = warnings(out)
        check(said[-1:] == [f"{out}: warning: only PNG has a place for these of its chunks and texts, left out: {lost}"],
              f"{kinds}: {said}")
    write(png_chunk(b"PLTE", bytes(range(12))), colours=3)
    for to, words in ((out, "only PNG has a place for these of its chunks and texts, left out: PLTE"),
                      (folder / "out.png", "its PLTE chunk is left out: it suggests colours to show the old samples with")):
        check(warnings(to) == [f"{to}: warning: {words}"], f"{warnings(to)}")
    # The animation was lost without a word in TIFF, and in both an unknown critical chunk behind the pixels.
    frame = struct.pack(">IIIIHHBB", 8, 8, 0, 0, 1, 10, 0, 0)
    write(png_chunk(b"acTL", struct.pack(">II", 2, 0)), png_chunk(b"fcTL", bytes(4) + frame))
    still = name.read_bytes()[:-12]
    second = png_chunk(b"fcTL", b"\0\0\0\1" + frame) + png_chunk(b"fdAT", b"\0\0\0\2" + zlib.compress(bytes(72)))
    name.write_bytes(still + second + png_chunk(b"IEND", b""))
    for to in (out, folder / "out.png"):
        check(warnings(to) == [f"{to}: warning: its animation is left out; the first image is kept"], f"{warnings(to)}")
    write()
    name.write_bytes(name.read_bytes()[:-12] + png_chunk(b"ABCD", b"?") + png_chunk(b"IEND", b""))
    for to, words in ((out, "only PNG has a place for these of its chunks and texts, left out: ABCD"),
                      (folder / "out.png", "its ABCD chunk is left out: it may not hold for other samples, or is damaged, misplaced or doubled")):
        check(warnings(to) == [f"{to}: warning: {words}"], f"{warnings(to)}")


def test_long_names(program, folder):
    """A sentence about a file with a very long name was cut before the cause; so was what libtiff said of one."""
    deep = folder
    for letter in "abcdefgh":
        deep = deep / (200 * letter)
    deep.mkdir(parents=True)
    causes = {"bad-truncated.png": "ends early, after 337 bytes", "bad-strip-offset.tif": None,
              "warned-ifd-loop.tif": None, "good-pages.tif": "page 0: strip 1 of 1 ends early"}
    for name in causes:
        data = (TESTDATA / name).read_bytes()
        if name == "good-pages.tif":  # the bytes of its first strip, so that one page cannot be read
            data = data[:25] + b"\xff" + data[26:]
        for place in (folder, deep):
            (place / name).write_bytes(data)
    for name, cause in causes.items():
        short, long = (run(program, "stats", "--json", place / name, status=None) for place in (folder, deep))
        said = [done.stderr.decode().splitlines() for done in (short, long)]
        check(short.returncode == long.returncode and len(said[0]) == len(said[1]) > 0, f"{name}: {said}")
        for one, two in zip(*said):
            want = one.removeprefix(f"{folder}/{name}")
            check(cause is None or want == f": {cause}" or "warning" in want, f"{name}: {want}")
            check(two.endswith(f"/{name}{want}") and two.startswith(f"{folder}/aaa"), f"{name}: {two[-100:]} for {want}")
            check(two.isprintable(), f"{name}: {two}")
        messages = [[json.loads(line).get("message", "") for line in done.stdout.splitlines()] for done in (short, long)]
        for one, two in zip(*messages):
            check(two.endswith(one.removeprefix(f"{folder}/{name}")) and len(two.encode()) < 1100, f"{name}: {two[-100:]}")


def test_few_bits_with_alpha(program, folder):
    """Gray of 1, 2 or 4 bits with a transparent value became a TIFF of as many bits with alpha, which readers refuse."""
    for depth in (1, 2, 4):
        values = [i % (1 << depth) for i in range(16)]
        packed = sum(v << depth * (15 - i) for i, v in enumerate(values)).to_bytes(2 * depth, "big")
        for key in (0, (1 << depth) - 1):
            data = harness.png(16, 1, depth, packed)
            at = data.index(b"IDAT") - 4
            (folder / "a.png").write_bytes(data[:at] + png_chunk(b"tRNS", struct.pack(">H", key)) + data[at:])
            for compression in ("none", "deflate", "packbits"):
                name = folder / f"{depth}-{key}-{compression}.tif"
                run(program, "normalize", "--compression", compression, folder / "a.png", "-o", name)
                page = stats(program, name)[0]
                check((page["bits"], page["sample"], len(page["channels"])) == (8, "u8", 2), f"{name.name}: {page}")
                # Full range as it is: stretching changes nothing.
                scale = 255 // ((1 << depth) - 1)
                want = bytes(b for v in values for b in (v * scale, 0 if v == key else 255))
                if compression == "none":
                    check(want in name.read_bytes(), f"{name.name}: samples")
                sums = [channel["sum"] for channel in page["channels"]]
                check(sums == [sum(want[0::2]), sum(want[1::2])], f"{name.name}: sums {sums}")
            run(program, "normalize", "--force", name, "-o", folder / "again.tif")
            check(stats(program, folder / "again.tif")[0]["channels"] == page["channels"], f"{name.name}: again")


def palette_tiff(width, height, planes, separate, tile=None, absent=()):
    """8-bit planes, the first of indices, unassociated alpha behind them; uncompressed."""
    samples = len(planes)

    def cut(rows, at, size):
        return b"".join(rows[y * width + at[0]:y * width + min(at[0] + size, width)].ljust(size, b"\0")
                        for y in range(at[1], min(at[1] + size, height))).ljust(size * size, b"\0")

    pieces = planes if separate else [bytes(v for pixel in zip(*planes) for v in pixel)]
    if tile:
        pieces = [cut(plane, (x, y), tile) for plane in planes for y in range(0, height, tile)
                  for x in range(0, width, tile)]
    body, offsets = b"", []
    for i, piece in enumerate(pieces):
        offsets.append(0 if i in absent else 8 + len(body))
        body += b"" if i in absent else piece
    counts = [0 if i in absent else len(piece) for i, piece in enumerate(pieces)]
    colours = [((255 - i) * 257 * k) & 0xFFFF for k in (1, 3, 5) for i in range(256)]
    colours = [v >> 8 << 8 for v in colours]  # 8-bit ones
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8] * samples), (259, 3, [1]), (262, 3, [3]),
            (277, 3, [samples]), (284, 3, [2 if separate else 1]), (320, 3, colours),
            (338, 3, [2] + [0] * (samples - 2))]
    tags += [(322, 3, [tile]), (323, 3, [tile]), (324, 4, offsets), (325, 4, counts)] if tile else [
        (273, 4, offsets), (278, 4, [height]), (279, 4, counts)]
    if samples == 1:
        tags = [tag for tag in tags if tag[0] != 338]
    return tiff_file(body, tags)


def test_palette_with_separate_planes(program, folder):
    """Planes lay as if there were no colours: red had indices, and the last two channels what memory held."""
    width, height = 37, 21
    planes = [bytes((x * k + y * 5) % 251 for y in range(height) for x in range(width)) for k in (3, 7, 11)]
    together, apart = folder / "together.tif", folder / "apart.tif"
    for n in (2, 3):
        together.write_bytes(palette_tiff(width, height, planes[:n], False))
        want = channels(program, "--percentiles", "5,95", together)
        names = [channel["name"] for channel in want]
        check(names == ["red", "green", "blue", "alpha", "extra2"][:n + 2], f"channels {names}")
        for tile in (None, 16):
            apart.write_bytes(palette_tiff(width, height, planes[:n], True, tile))
            for jobs in (1, 4):
                check(channels(program, "-j", jobs, "--percentiles", "5,95", apart) == want,
                      f"{n} planes, tiles of {tile}, {jobs} threads")
            outs = [folder / "1.tif", folder / "2.tif"]
            for source, out in zip((together, apart), outs):
                run(program, "equalize", "--force", source, "-o", out)
            check(channels(program, outs[0]) == channels(program, outs[1]), f"{n} planes, equalized")
    apart.write_bytes(palette_tiff(width, height, planes[:2], True, absent=(1,)))
    alpha = channels(program, apart)[3]
    check((alpha["name"], alpha["min"], alpha["max"]) == ("alpha", 0, 0), f"an absent plane: {alpha}")


def test_palette_with_narrow_alpha(program, folder):
    """Alpha of 1 to 4 bits stayed as it was beside colours of 8: what was opaque was all but transparent in the output."""
    name, out = folder / "in.tif", folder / "out.tif"
    for bits in (1, 2, 4):
        top, width = (1 << bits) - 1, 8
        alpha = [x * top // (width - 1) for x in range(width)]
        indices = [x & top for x in range(width)]

        def packed(values):
            number = 0
            for value in values:
                number = number << bits | value
            return number.to_bytes(len(values) * bits // 8, "big")

        for separate in (False, True):
            pieces = [packed(indices), packed(alpha)] if separate else [packed([v for pair in zip(indices, alpha) for v in pair])]
            offsets = [8 + sum(len(piece) for piece in pieces[:i]) for i in range(len(pieces))]
            colours = [v * 256 for k in (1, 3, 5) for v in range(10 * k, 10 * k + top + 1)]
            name.write_bytes(tiff_file(b"".join(pieces), [
                (256, 4, [width]), (257, 4, [1]), (258, 3, [bits] * 2), (259, 3, [1]), (262, 3, [3]), (273, 4, offsets),
                (277, 3, [2]), (278, 4, [1]), (279, 4, [len(piece) for piece in pieces]), (284, 3, [2 if separate else 1]),
                (320, 3, colours), (338, 3, [2])]))
            run(program, "normalize", "--force", name, "-o", out)
            for path in (name, out):
                got = channels(program, path)[3]
                want = [math.floor(v * 255 / top + 0.5) for v in alpha]
                check((got["name"], got["max"], got["sum"]) == ("alpha", 255, sum(want)), f"{bits} bits, {path.name}: {got}")
            (line,) = channels(program, "--indices", name)[1:]
            check(line["sum"] == sum(alpha), f"{bits} bits: --indices has alpha as stored: {line}")


def test_palette_with_most_samples(program, folder):
    """Colours in place of an index make two channels more than can be counted: memory was overwritten."""
    name = folder / "in.tif"
    for samples in (65533, 65534, 65535):
        name.write_bytes(palette_tiff(2, 1, [b"\1\2"] * samples, False))
        fits = samples + 2 <= 65535
        done = run(program, "stats", "--json", name, status=0 if fits else 1)
        line = json.loads(done.stdout or b"{}")
        check(len(line.get("channels", [])) == (samples + 2 if fits else 0), f"{samples}: {len(done.stdout)} bytes")
        check(line.get("error") == (None if fits else "unsupported"), f"{samples}: {line.get('message')}")
    check(len(channels(program, "--indices", name)) == samples, f"{samples}: indices")


def damaged_planes(draw, compressed, tile):
    """Separate planes of zlib's or PackBits' strips or tiles; two or more are cut short or have a wrong byte."""
    width, height, planes = draw.randint(20, 90), draw.randint(20, 90), draw.choice((2, 3, 4, 20))
    across, down = (-(-width // tile), -(-height // tile)) if tile else (1, draw.choice((1, 2, 5)))
    rows = tile or -(-height // down)
    down = -(-height // rows)
    body, offsets, counts = b"", [], []
    bad = draw.sample(range(planes * across * down), draw.randint(2, min(5, planes * across * down)))
    for k in range(planes * across * down):
        pixels = bytes(draw.randrange(200) for _ in range((tile or width) * rows))
        if compressed == 8:
            data = zlib.compress(pixels)
        else:
            data = b"".join(bytes([len(part) - 1]) + part
                            for part in (pixels[i:i + 128] for i in range(0, len(pixels), 128)))
        middle = len(data) // 2
        if k in bad:
            behind = b"" if draw.random() < 0.5 else bytes([data[middle] ^ 0x5A]) + data[middle + 1:]
            data = data[:middle] + behind
        offsets.append(8 + len(body))
        counts.append(len(data))
        body += data + b"\0" * (len(data) % 2)
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8] * planes), (259, 3, [compressed]), (262, 3, [1]),
            (277, 3, [planes]), (284, 3, [2]), (338, 3, [0] * (planes - 1))]
    tags += [(322, 3, [tile]), (323, 3, [tile]), (324, 4, offsets), (325, 4, counts)] if tile else [
        (273, 4, offsets), (278, 4, [rows]), (279, 4, counts)]
    return tiff_file(body, tags)


def test_faults_of_several_planes(program, folder):
    """Of several faults the first in the order of rows is reported, for any number of threads."""
    draw, name, out = random.Random(4), folder / "in.tif", folder / "out.tif"
    failed = 0
    for compressed in (8, 32773):
        for tile in (None, 16, 48):
            for _ in range(sum(is_run(i, 4) for i in range(8))):
                name.write_bytes(damaged_planes(draw, compressed, tile))
                told = []
                for jobs in (1, 2, 3, 8, 64):
                    done = run(program, "--jobs", jobs, "--json", "--quiet", name, status=None)
                    told.append(json.loads(done.stdout).get("message"))
                for way in ("plain", "threads"):
                    done = run(program, "--json", "--quiet", name, status=None, variables={"IMGSTAT_DECODE": way})
                    told.append(json.loads(done.stdout).get("message"))
                done = run(program, "normalize", "--quiet", "--force", name, "-o", out, status=None)
                told.append(done.stderr.decode().removesuffix("\n") or None)
                check(told.count(told[0]) == len(told), f"the first fault: {told}")
                check(all(not message or re.search(r"(strip|tile) \d+ of \d+ (ends early|cannot be decoded)", message)
                          for message in told), f"a fault that is not named: {told}")
                check(not (told[0] or "").endswith((":", " ")), f"a sentence ends with a word: {told[0]!r}")
                failed += told[0] is not None
    check(failed > 5, f"{failed} files are damaged")


def test_classes_of_library_messages(program, folder):
    """libtiff and libpng say only in English why they failed: a version with other words must show here."""
    pixels, name = bytes(range(256)), folder / "in"

    def strip(data, compression):
        return tiff_file(data, [(256, 4, [16]), (257, 4, [16]), (258, 3, [8]), (259, 3, [compression]), (262, 3, [1]),
                                (273, 4, [8]), (277, 3, [1]), (278, 4, [16]), (279, 4, [len(data)])])

    def png(data):
        return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)) +
                png_chunk(b"IDAT", data) + png_chunk(b"IEND", b""))

    deflated, rows = zlib.compress(pixels), b"".join(b"\0" + pixels[i:i + 16] for i in range(0, 256, 16))
    wrong = zlib.compress(rows)[:20] + b"\xff" * 20 + zlib.compress(rows)[40:]
    cases = {
        "deflate that ends": (strip(zlib.compress(pixels[:200]), 8), "truncated"),
        "PackBits that end": (strip(b"\x0f" + pixels[:16], 32773), "truncated"),
        "LZW that ends": (strip(b"\x80" + b"\xff" * 60, 5), "truncated"),
        "PNG that ends": (png(zlib.compress(rows[:100])), "truncated"),
        "wrong deflate": (strip(deflated[:20] + b"\xff" * 20 + deflated[40:], 8), "format"),
        "no LZW": (strip(b"\x80\x00\x20\x10", 5), "format"),
        "no JPEG": (strip(deflated, 7), "format"),
        "wrong PNG data": (png(wrong), "format"),
        "no codec": (strip(deflated, 34712), "unsupported"),
    }
    for what, (data, expected) in cases.items():
        name.write_bytes(data)
        for way in ("", "plain", "threads"):
            done = run(program, "stats", "--json", name, status=1, variables={"IMGSTAT_DECODE": way})
            found = json.loads(done.stdout)
            check(found.get("error") == expected, f"{what}, {way}: {found.get('error')}, {found.get('message')}")


def webp_tiff(width, height, stream):
    """RGBA, one strip."""
    return tiff_file(stream, [(256, 4, [width]), (257, 4, [height]), (258, 3, [8] * 4), (259, 3, [50001]),
                              (262, 3, [2]), (273, 4, [8]), (277, 3, [4]), (278, 4, [height]),
                              (279, 4, [len(stream)]), (338, 3, [2])])


def test_webp_narrower_than_its_strip(program, folder):
    """libtiff 4.5 gave memory that nobody had written for the pixels that are missing."""
    name = folder / "in.tif"
    stream = bytes.fromhex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700")  # 1 x 1
    name.write_bytes(webp_tiff(1, 1, stream))
    said = run(program, "stats", "--json", name, status=None)
    if said.returncode == 1 and b'"unsupported"' in said.stdout:
        harness.skip("this libtiff reads no WebP")
        return
    check(said.returncode == 0, f"one pixel: {said.stdout}")
    for width in (2, 562):
        name.write_bytes(webp_tiff(width, 1, stream))
        said = run(program, "stats", "--json", name, status=1)
        check(f"strip 1 of 1 is {width} pixels wide, but its WebP data are 1".encode() in said.stdout,
              f"{width} pixels: {said.stdout}")


# ---- EXIF data -------------------------------------------------------------------------------------

EXIF, GPS = 0x8769, 0x8825


def exif_block(fields):
    """Little-endian; fields: tag, type, count and bytes, or a list of such where the tag names a directory."""
    out = bytearray(b"II*\0\x08\0\0\0")

    def directory(entries):
        start = len(out)
        out.extend(bytes(2 + 12 * len(entries) + 4))
        struct.pack_into("<H", out, start, len(entries))
        for i, (tag, kind, count, value) in enumerate(entries):
            if isinstance(value, list):
                value = struct.pack("<I", directory(value))
            elif len(value) > 4:
                out.extend(value + bytes(len(value) % 2))
                value = struct.pack("<I", len(out) - len(value) - len(value) % 2)
            struct.pack_into("<HHI4s", out, start + 2 + 12 * i, tag, kind, count, value.ljust(4, b"\0"))
        return start

    directory(fields)
    return bytes(out)


def exif_fields(block, at=None):
    """The same, read."""
    at = struct.unpack_from("<I", block, 4)[0] if at is None else at
    fields = []
    for i in range(struct.unpack_from("<H", block, at)[0]):
        tag, kind, count, value = struct.unpack_from("<HHI4s", block, at + 2 + 12 * i)
        size, place = count * {2: 1, 3: 2, 4: 4, 5: 8, 7: 1}[kind], struct.unpack("<I", value)[0]
        if tag in (EXIF, GPS):
            value = exif_fields(block, place)
        fields.append((tag, kind, count, value if tag in (EXIF, GPS) else (value if size <= 4 else block[place:])[:size]))
    return fields


def exif_png(block):
    whole = encode.png(RAMP, encode.GRAY, 8)
    return whole[:33] + png_chunk(b"eXIf", block) + whole[33:]


def test_exif(program, folder):
    """From TIFF to PNG, nothing but the orientation was kept."""
    fields = [(0x10F, 2, 6, b"Maker\0"), (0x112, 3, 1, b"\6\0"), (0x132, 2, 20, b"2021:01:02 03:04:05\0"),
              (EXIF, 4, 1, [(0x829A, 5, 1, struct.pack("<II", 1, 125)), (0x9003, 2, 20, b"2020:01:02 03:04:05\0"),
                            (0x927C, 7, 9, b"makernote")]),
              (GPS, 4, 1, [(1, 2, 2, b"N\0"), (2, 5, 3, struct.pack("<6I", 48, 1, 12, 1, 0, 1))])]
    upright = [(0x112, 3, 1, b"\1\0")]
    large = fields[:1] + [(EXIF, 4, 1, [(0x927C, 7, 17 << 20, bytes(17 << 20))])]
    for given, kept in ((fields, fields), (fields[1:2], fields[1:2]), (upright, None), (large, None)):
        names = [folder / name for name in ("in.png", "out.tif", "out.png")]
        names[0].write_bytes(exif_png(exif_block(given)))
        read = run(program, "normalize", "--force", names[0], "-o", names[1])
        run(program, "normalize", "--force", names[1], "-o", names[2])
        written = dict(chunks(names[2].read_bytes())).get(b"eXIf")
        check((exif_fields(written) if written else None) == kept, f"{given[0]}: {written!r:.200}")
        check((b"its eXIf chunk is very large and is left out" in read.stderr) == (given is large),
              f"{given[0]}: {read.stderr!r}")
    names[1].write_bytes(encode.tiff([encode.Page(RAMP, 8, tags={270: (encode.ASCII, b"long " * (2 << 20))})]))
    done = run(program, "normalize", "--force", names[1], "-o", names[2])
    check(b"its metadata are more than 8 MiB: some are left out" in done.stderr and b"tEXt" not in names[2].read_bytes(),
          f"{done.stderr!r}")


def test_resolution_of_exif(program, folder):
    """Into TIFF went no resolution of EXIF data, nor fields that are rare there."""
    name, out = folder / "in.png", folder / "out.tif"
    block = exif_block([(0x100, 4, 1, struct.pack("<I", 999)), (0x11A, 5, 1, struct.pack("<II", 300, 1)),
                        (0x11B, 5, 1, struct.pack("<II", 200, 1)), (0x128, 3, 1, b"\2\0"), (0x13C, 2, 5, b"host\0"),
                        (0x4746, 3, 1, b"\5\0")])
    inches, metres, ratio = (300, 1, 2), (2835, 100, 3), (300, 1, 2)
    for chunk, expected in ((b"", inches), (png_chunk(b"pHYs", struct.pack(">IIB", 2835, 2835, 1)), metres),
                            (png_chunk(b"pHYs", struct.pack(">IIB", 3, 2, 0)), ratio)):
        whole = exif_png(block)
        for data in (whole[:33] + chunk + whole[33:], whole[:45 + len(block)] + chunk + whole[45 + len(block):]):
            name.write_bytes(data)
            done = run(program, "normalize", "--force", name, "-o", out)
            tiff = out.read_bytes()
            at = struct.unpack_from("<I", tiff, 4)[0]
            fields = {tag: value for tag, _, _, value in exif_fields(tiff, at) if tag in (0x100, 0x11A, 0x128, 0x13C, 0x4746)}
            found = (*struct.unpack("<II", fields[0x11A][:8]), fields[0x128][0])
            check(found == expected and done.stderr == b"", f"{chunk}: {found} {done.stderr!r}")
            check(fields[0x13C] == b"host\0" and fields[0x4746] == b"\5\0", f"{chunk}: {fields}")
            check(struct.unpack("<I", fields[0x100].ljust(4, b"\0"))[0] == len(RAMP[0]), f"{chunk}: the width {fields[0x100]}")


def test_text_that_is_not_utf8(program, folder):
    """Latin-1 in a TIFF file became an iTXt, in which readers do not find it."""
    for text, kind in (("caf\u00e9 \u2713 \U0001f600".encode(), b"iTXt"), ("caf\u00e9".encode("latin-1"), b"tEXt"),
                       (b"\xed\xa0\x80", b"tEXt"), (b"\xc0\xaf", b"tEXt"), (b"cut \xe2\x9c", b"tEXt")):
        (folder / "in.tif").write_bytes(encode.tiff([encode.Page(RAMP, 8, tags={270: (encode.ASCII, text)})]))
        run(program, "normalize", "--force", folder / "in.tif", "-o", folder / "out.png")
        found = [(k, body) for k, body in chunks((folder / "out.png").read_bytes()) if k in (b"iTXt", b"tEXt")]
        check(found == [(kind, b"Description\0" + (b"" if kind == b"tEXt" else bytes(4)) + text)], f"{text}: {found}")


# ---- Masks -----------------------------------------------------------------------------------------

RAMP = [[(20 + 7 * x + 3 * y,) for x in range(12)] for y in range(10)]
MASKS = {1: [[(int((x + y) % 3 > 0),) for x in range(12)] for y in range(10)]}
MASKS[3] = [row[::2] for row in MASKS[1][::2]]


def masked_file(order):
    """Pages: 0 a ramp, 1 its mask, 2 the ramp at half its size, 3 the mask of that."""
    pages = [encode.Page(RAMP, 8), encode.Page(MASKS[1], 1, photometric=4, tags={254: (encode.LONG, [4])}),
             encode.Page([row[::2] for row in RAMP[::2]], 8, tags={254: (encode.LONG, [1])}),
             encode.Page(MASKS[3], 1, photometric=4, deflate=True, tags={254: (encode.LONG, [5])})]
    return encode.tiff([pages[i] for i in order])


def test_transparency_masks(program, folder):
    """They were taken for images: a mean or --clahe changed them, --depth made them wider than TIFF allows, and
    neither --out-range nor --together could be had with them."""
    name, out, transfer = folder / "in.tif", folder / "out.tif", folder / "t.json"
    other = folder / "other.tif"
    methods = (("normalize",), ("normalize", "--method", "meanstd=128,40"), ("normalize", "--out-range", "10,200"),
               ("normalize", "--depth", "16"), ("normalize", "--depth", "float"), ("normalize", "--together"),
               ("equalize", "--clahe", "--grid", "2"), ("normalize", "--gamma", "2"))
    for k, order in enumerate(((0, 1), (0, 1, 2, 3), (1, 0), (1, 3, 2), (1,))):
        name.write_bytes(masked_file(order))
        all_pages = f"[0-{len(order) - 1}]"
        before = stats(program, f"{name}{all_pages}")
        for method in [method for i, method in enumerate(methods) if is_run(k + i, 3)]:
            run(program, *method, "--force", name, "-o", out)
            check(len(stats(program, f"{out}{all_pages}")) == len(order), f"{order} {method}: all pages")
            for page, kind in enumerate(order):
                if kind in (0, 2):
                    check(stats(program, f"{out}[{page}]")[0]["channels"] != before[page]["channels"],
                          f"{order} {method}: page {page} is changed")
                    continue
                run(program, "normalize", "--force", f"{out}[{page}]", "-o", folder / "mask.png")
                written = dict(chunks((folder / "mask.png").read_bytes()))
                rows = b"".join(b"\0" + encode.pack_bits([s for s, in row], 1) for row in MASKS[kind])
                check(zlib.decompress(written[b"IDAT"]) == rows, f"{order} {method}: page {page} stays")
    for order, status in (((0, 1), 0), ((1, 0), 0), ((0, 1, 2), 0), ((1,), 1)):
        name.write_bytes(masked_file(order))
        run(program, "equalize", "--force", name, "-o", out, "--save-transfer", transfer, status=status)
        if status == 0:
            run(program, "apply", transfer, "--force", name, "-o", other)
            check(out.read_bytes() == other.read_bytes(), f"{order}: the transfer of the image, without the mask")
    (folder / "in").mkdir()
    for file, order in (("a.tif", (1, 0)), ("b.tif", (0, 1)), ("c.tif", (1,))):
        (folder / "in" / file).write_bytes(masked_file(order))
    run(program, "normalize", "--together", folder / "in", "-o", folder / "o")
    run(program, "normalize", folder / "in", "-o", folder / "alone")
    for file in ("a.tif", "b.tif", "c.tif"):
        check((folder / "o" / file).read_bytes() == (folder / "alone" / file).read_bytes(), f"{file}: together")


def test_masks_that_are_not_used(program, folder):
    """Not a word was said about them."""
    name = folder / "in.tif"

    def mask(step):
        return encode.Page([row[::step] for row in MASKS[1][::step]], 1, photometric=4, tags={254: (encode.LONG, [4])})

    image = encode.Page(RAMP, 8)
    for pages, said in (([image, mask(1)], []), ([image, mask(3)], ["page 1 is a mask that is not used: no image has its size"]),
                        ([image, mask(1), mask(1)], ["page 2 is a mask that is not used: its image has another one"]),
                        ([mask(1)], [])):
        name.write_bytes(encode.tiff(pages))
        for words in ((), ("--mask", "none")):
            line = stats(program, *words, name)[0]
            check(line.get("warnings", []) == ([] if words else [f"{name}: {sentence}" for sentence in said]), f"{line}")


def pixels(data, page=0):
    """The bytes of a page's first strip, and what follows, of a little-endian TIFF file."""
    at = struct.unpack_from("<I", data, 4)[0]
    for _ in range(page):
        at = struct.unpack_from("<I", data, at + 2 + 12 * struct.unpack_from("<H", data, at)[0])[0]
    entries = [struct.unpack_from("<HHII", data, at + 2 + 12 * i) for i in range(struct.unpack_from("<H", data, at)[0])]
    return data[next(value for tag, _, _, value in entries if tag == 273):]


def test_nodata_of_another_image(program, folder):
    """A saved transfer mapped the nodata values of images that have others than the one that it was made from."""
    transfer, out = folder / "t.json", folder / "out.tif"
    kinds = {"u8": ("B", encode.UINT), "i16": ("h", encode.INT), "u32": ("I", encode.UINT), "f32": ("f", encode.FLOAT)}
    methods = (("normalize",), ("equalize",), ("normalize", "--method", "meanstd=40,9"), ("normalize", "--gamma", "2"),
               ("normalize", "--clip", "20,20"), ("normalize", "--out-range", "28,31"))
    for k, (sample, (letter, kind)) in enumerate(kinds.items()):
        size = struct.calcsize(letter)

        def image(nodata, values):
            tags = {42113: (encode.ASCII, str(nodata).encode())} if nodata is not None else {}
            return encode.tiff([encode.Page([[(v,) for v in values]], 8 * size, kind, tags=tags)])

        def apply(nodata, values):
            (folder / "in.tif").write_bytes(image(nodata, values))
            run(program, "apply", "--force", transfer, "--compression", "none", folder / "in.tif", "-o", out)
            return struct.unpack_from(f"<{len(values)}{letter}", pixels(out.read_bytes()))

        for method in [method for i, method in enumerate(methods) if is_run(k + i, 3)]:
            for first in (None, 200):
                (folder / "first.tif").write_bytes(image(first, [10, 20, 30, 40, 50, 60]))
                run(program, *method, "--force", folder / "first.tif", "-o", out, "--save-transfer", transfer)
                plain, kept = apply(None, [10, 20, 40, 50, 60]), apply(30, [10, 20, 30, 40, 50, 60])
                what = f"{sample} {method} nodata {first}, then 30: {plain} {kept}"
                check(kept[2] == 30, what)
                others = kept[:2] + kept[3:]
                check(30 not in others, what)
                check(all(a == b or a == 30 or "--out-range" in method for a, b in zip(plain, others)), what)


def test_nodata_of_page_after_page(program, folder):
    """A transfer that was made for the nodata value of one page is used for others with the same, and for no other."""
    transfer, out, values = folder / "t.json", folder / "out.tif", [(v,) for v in (10, 20, 30, 40, 50, 60)]

    def page(nodata, bits):
        tags = {42113: (encode.ASCII, str(nodata).encode())} if nodata is not None else {}
        return encode.Page([values], bits, tags=tags)

    def apply(name, pages):
        (folder / name).write_bytes(encode.tiff(pages))
        run(program, "apply", "--force", transfer, "--compression", "none", folder / name, "-o", out)
        data = out.read_bytes()
        size = pages[0].bits // 8 * len(values)
        return [pixels(data, i)[:size] for i in range(len(pages))]

    nodata = (None, 30, 30, 40, 30, None, 40, 40, 200, 30)
    for bits in (8, 16):
        for first in (None, 200):
            (folder / "first.tif").write_bytes(encode.tiff([page(first, bits)]))
            run(program, "normalize", "--force", folder / "first.tif", "-o", out, "--save-transfer", transfer)
            alone = {n: apply("one.tif", [page(n, bits)])[0] for n in set(nodata)}
            check(alone[30] != alone[40], f"{bits} bits: the nodata value makes no difference")
            together = apply("all.tif", [page(n, bits) for n in nodata])
            check(together == [alone[n] for n in nodata], f"{bits} bits, nodata {first}: {together}")
            files = [folder / f"page{i}.tif" for i in range(len(nodata))]
            for name, n in zip(files, nodata):
                name.write_bytes(encode.tiff([page(n, bits)]))
            run(program, "apply", "--force", "--jobs", "2", transfer, "--compression", "none", *files, "-o",
                folder / "many")
            for name, n in zip(files, nodata):
                made = pixels((folder / "many" / name.name).read_bytes())[:len(alone[n])]
                check(made == alone[n], f"{bits} bits, {name.name}")


def test_absent_strips_of_nan(program, folder):
    """They held 0, and counted, where the nodata value is NaN."""
    name = folder / "in.tif"
    for bits, letter in ((16, "e"), (32, "f"), (64, "d")):
        strip = struct.pack(f"<8{letter}", *range(8))
        for nodata, count, key in (("nan", 8, "nan"), ("-inf", 8, "nodata"), (None, 24, "nan")):
            text = [(42113, 2, nodata.encode() + b"\0")] if nodata else []
            name.write_bytes(tiff_file(strip, [(256, 4, [8]), (257, 4, [3]), (258, 3, [bits]), (259, 3, [1]), (262, 3, [1]),
                                               (273, 4, [0, 8, 0]), (277, 3, [1]), (278, 4, [1]), (279, 4, [0, len(strip), 0]),
                                               (339, 3, [3]), *text]))
            line = stats(program, name)[0]
            check((line["channels"][0]["count"], line["channels"][0]["sum"]) == (count, 28.0), f"{bits} {nodata}: {line}")
            check(("nodata" if nodata else "count as 0") in line["warnings"][0], f"{bits} {nodata}: {line['warnings']}")
            run(program, "normalize", "--force", name, "-o", folder / "out.tif")
            made = channels(program, folder / "out.tif")[0]
            check((made["count"], made[key]) == (count, 24 - count), f"{bits} {nodata}: {made} is written")


def test_nodata_that_marks_nothing(program, folder):
    """A nodata value beyond the type of the input, or an index of its palette, was written into outputs of other
    samples, where valid ones have that value."""
    name, out = folder / "in.tif", folder / "out.tif"
    gray = [(256, 4, [16]), (257, 4, [16]), (258, 3, [8]), (259, 3, [1]), (262, 3, [1]), (273, 4, [8]), (277, 3, [1]),
            (278, 4, [16]), (279, 4, [256])]
    palette = [*gray[:4], (262, 3, [3]), *gray[5:], (320, 3, [257 * v for v in range(256)] * 3)]
    for what, tags, nodata, words, goes in (
            ("beyond u8", gray, "65535", ("--depth", "16"), True), ("beyond u8", gray, "-1", ("--depth", "float"), True),
            ("beyond u8", gray, "300", (), False), ("in u8", gray, "255", ("--depth", "16"), False),
            ("index", palette, "3", ("--depth", "16"), True), ("index", palette, "3", ("--out-nodata", "9"), False),
            ("index", palette, "3", (), False)):
        name.write_bytes(tiff_file(bytes(range(256)), [*tags, (42113, 2, nodata.encode() + b"\0")]))
        done = run(program, "normalize", "--force", *words, name, "-o", out)
        check((b"marks no sample" in done.stderr) == goes, f"{what} {words}: {done.stderr!r}")
        info = json.loads(run(program, "info", "--json", out).stdout)
        check((b"nodata" in run(program, "info", out).stdout.splitlines()[-1]) == (nodata == "255" or "9" in words),
              f"{what} {words}: {info}")
        count = [channel["count"] for channel in channels(program, out)]
        check(count == [255 if nodata == "255" else 256] * len(count), f"{what} {words}: {count} valid samples")
    name.write_bytes(tiff_file(bytes(range(256)), [*palette, (42113, 2, b"3\0")]))
    run(program, "equalize", "--clahe", "--force", name, "-o", out)
    count = [channel["count"] for channel in channels(program, out)]
    check(count == [256] * 3, f"CLAHE of a palette: {count} valid samples")


def test_what_libtiff_passes_over(program, folder):
    """A predictor that libtiff does not undo, as other programs do, and a palette without colours: not a word was said.
    Of volumes the first slice was measured, and written with the depth of all."""
    name, out = folder / "in.tif", folder / "out.tif"

    def tags(compression=1, photometric=1, n=256, more=()):
        return [(256, 4, [16]), (257, 4, [16]), (258, 3, [8]), (259, 3, [compression]), (262, 3, [photometric]),
                (273, 4, [8]), (277, 3, [1]), (278, 4, [16]), (279, 4, [n]), *more]

    packed = b"".join(b"\x0f" + bytes(range(16 * y, 16 * y + 16)) for y in range(16))
    deflated = zlib.compress(bytes(256))
    for data, fields, warning in (
            (bytes(range(256)), tags(more=[(317, 3, [2])]), "its predictor is ignored: samples without compression have none"),
            (packed, tags(32773, n=len(packed), more=[(317, 3, [2])]),
             "its predictor is ignored: samples in PackBits have none"),
            (packed, tags(32773, n=len(packed), more=[(317, 3, [1])]), None),
            (deflated, tags(8, n=len(deflated), more=[(317, 3, [2])]), None),
            (bytes(range(256)), tags(photometric=3), "has a palette image without colours, whose indices are read as gray")):
        name.write_bytes(tiff_file(data, fields))
        line = stats(program, name)[0]
        check(line.get("warnings", []) == ([f"{name}: {warning}"] if warning else []), f"{fields}: {line}")
        check(line["channels"][0]["sum"] == (0 if data == deflated else 32640), f"{fields}: {line}")
    for depth, tile in ((2, 2), (2, 1), (1, 2)):
        name.write_bytes(tiff_file(bytes(512), [*tags()[:5], (277, 3, [1]), (322, 4, [16]), (323, 4, [16]), (324, 4, [8]),
                                                (325, 4, [512]), (32997, 4, [depth]), (32998, 4, [tile])]))
        for command in (("stats",), ("normalize", "-o", out)):
            said = run(program, *command, name, status=1).stderr.decode()
            check(said == f"{name}: holds a volume in one page (ImageDepth {depth}, TileDepth {tile}), which is not "
                  "supported\n", said)


if __name__ == "__main__":
    harness.main(globals())
