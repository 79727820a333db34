#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of normalize, equalize and apply as programs: usage: test_transform.py IMGSTAT"""

import contextlib
import hashlib
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import threading
import zlib

import harness
from harness import LIMIT, TESTDATA, check, environment, png, run, skip

EXAMPLE = [
    0, 12, 53, 93, 146, 53, 73, 166, 65, 32, 12, 215, 235, 202, 130, 158, 57, 32, 117, 239, 251, 227, 93, 166,
    65, 20, 154, 243, 255, 231, 146, 130, 97, 53, 117, 227, 247, 210, 117, 146, 190, 85, 36, 146, 178, 117, 20, 170,
    202, 154, 73, 32, 12, 53, 85, 194, 206, 190, 130, 117, 85, 174, 182, 219]


def stats(program, *words):
    done = run(program, "stats", "--json", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- Files made and read here ----------------------------------------------------------------------


def png_pixels(data):
    """Bytes of the rows of a PNG of whole-byte samples that is not interlaced."""
    at, idat, head = 8, b"", None
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
        idat += body if kind == b"IDAT" else b""
        at += 12 + n
    width, height, depth, colour = head[:4]
    bpp = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth // 8
    pitch, raw, above, out = width * bpp, zlib.decompress(idat), bytes(width * bpp), []
    for y in range(height):
        kind, row = raw[y * (pitch + 1)], bytearray(raw[y * (pitch + 1) + 1:(y + 1) * (pitch + 1)])
        for x in range(pitch):
            a = row[x - bpp] if x >= bpp else 0
            b, c = above[x], above[x - bpp] if x >= bpp else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[x] = (row[x] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        out.append(bytes(row))
        above = row
    return b"".join(out)


def tiff(width, height, bits, samples, kind=1, nodata=None):
    """Gray, one strip, little-endian; kind: SampleFormat."""
    text = nodata.encode() + b"\0" if nodata is not None else b""
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, len(samples)), (339, 3, 1, kind)]
    if text:  # at most 4 bytes lie in the entry
        place = 8 + len(samples) if len(text) > 4 else int.from_bytes(text, "little")
        tags.append((42113, 2, len(text), place))
    body = samples + text + b"\0" * (len(samples + text) % 2)
    ifd = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", 0)
    return struct.pack("<2sHI", b"II", 42, 8 + len(body)) + body + ifd


# ---- What is computed ------------------------------------------------------------------------------


def test_example(program, folder):
    out = folder / "e.png"
    run(program, "equalize", TESTDATA / "good-example.png", "-o", out)
    check(list(png_pixels(out.read_bytes())) == EXAMPLE, "the worked example through a file")
    run(program, "equalize", "--like", "opencv", TESTDATA / "good-example.png", "-o", folder / "o.png")
    check(list(png_pixels((folder / "o.png").read_bytes())) == EXAMPLE, "and like OpenCV")
    with open(TESTDATA / "good-example.png", "rb") as stdin:
        done = run(program, "equalize", "-", "-o", "-", stdin=stdin)
    check(done.stdout == out.read_bytes() and done.stderr == b"", "and through a pipe: the same bytes, and nothing else")
    done = run(program, "equalize", TESTDATA / "good-example.tif", "-o", "-", "--format", "png")
    check(list(png_pixels(done.stdout)) == EXAMPLE, "and from TIFF to PNG")


def test_like_of_fewer_bits(program, folder):
    """Other programs bring 4 bits to 8 when they read them."""
    levels = [x * y % 11 + 2 for y in range(30) for x in range(40)]
    pairs = bytes(16 * a + b for a, b in zip(levels[::2], levels[1::2]))
    (folder / "four.png").write_bytes(png(40, 30, 4, pairs))
    (folder / "eight.png").write_bytes(png(40, 30, 8, bytes(17 * v for v in levels)))
    for words in (["--like", "opencv"], ["--like", "pillow"], ["--clahe", "--like", "opencv"], ["--clahe", "--like", "skimage"]):
        for name in ("four", "eight"):
            run(program, "equalize", *words, "--force", folder / f"{name}.png", "-o", folder / f"{name}-out.png")
        pixels = [png_pixels((folder / f"{name}-out.png").read_bytes()) for name in ("four", "eight")]
        check(pixels[0] == pixels[1] and len(pixels[0]) == 1200, f"{words}: what comes of 4 bits and of 8")


def test_full_range(program, folder):
    """libvips leaves both of these dark."""
    scan = [700 + (x * 37 + y * 91) % 3000 for y in range(64) for x in range(64)]
    (folder / "scan.tif").write_bytes(tiff(64, 64, 16, struct.pack(f"<{len(scan)}H", *scan)))
    for name in (folder / "scan.tif", TESTDATA / "good-dark16.tif"):
        for method in ("normalize", "equalize"):
            out = folder / f"{method}.tif"
            run(program, method, "--force", name, "-o", out)
            channels = stats(program, out)[0]["channels"]
            check(min(c["min"] for c in channels) == 0 and max(c["max"] for c in channels) == 65535,
                  f"{method} of {name.name}: {channels}")
    low, high = min(scan), max(scan)
    run(program, "normalize", folder / "scan.tif", "-o", folder / "exact.png")
    got = struct.unpack(f">{len(scan)}H", png_pixels((folder / "exact.png").read_bytes()))
    want = tuple(round_even((v - low) * 65535, high - low) for v in scan)
    check(got == want, "stretch is the exact quotient, rounded half to even")


def round_even(a, b):
    q, r = divmod(a, b)
    return q + (2 * r > b or (2 * r == b and q % 2 == 1))


def pixels_of(program, path):
    """Everything that statistics can tell apart; file name and format left out."""
    pages = stats(program, path)
    for page in pages:
        for key in ("file", "format", "device"):
            page.pop(key)
    return pages


def test_twice(program, folder):
    for name in sorted(TESTDATA.glob("good-*")):
        once, twice = folder / f"1{name.name}", folder / f"2{name.name}"
        run(program, "normalize", name, "-o", once)
        run(program, "normalize", once, "-o", twice)
        check(pixels_of(program, once) == pixels_of(program, twice), f"stretching {name.name} twice changes nothing")


def test_methods(program, folder):
    name = folder / "m.png"
    values = bytes((x * x) % 200 + 20 for x in range(1024))
    name.write_bytes(png(32, 32, 8, values))
    n = len(values)

    def transformed(*words):
        run(program, "normalize", *words, name, "-o", folder / "out.png", "--force")
        return png_pixels((folder / "out.png").read_bytes())

    mean = sum(values) / n
    deviation = (sum((v - mean) ** 2 for v in values) / n) ** 0.5
    want = bytes(min(255, max(0, round((v - mean) / deviation * 30 + 100))) for v in values)
    for words in (["--method", "meanstd", "--mean", "100", "--stddev", "30"], ["--method", "meanstd=100,30"],
                  ["--mean", "100", "--stddev", "30"]):
        check(transformed(*words) == want, f"{words}")
    want = bytes(round((v / 255) ** 2.2 * 255) for v in values)
    check(transformed("--method", "gamma", "--gamma", "2.2") == want, "gamma")
    ordered = sorted(values)
    black, white = ordered[n * 5 // 100], ordered[n - 1 - n * 10 // 100]
    want = bytes(round_even(min(max(v - black, 0), white - black) * 255, white - black) for v in values)
    check(transformed("--method", "percentile", "--clip", "5,10") == want, "percentile")
    check(transformed("--clip", "5,10") == want, "--clip means percentile")
    want = bytes(10 + round_even((v - min(values)) * 90, max(values) - min(values)) for v in values)
    check(transformed("--out-range", "10,100") == want, "--out-range")
    reference = folder / "r.png"
    reference.write_bytes(png(32, 32, 8, bytes(v // 2 for v in values)))
    matched = transformed("--method", "match", "--match", reference)
    check(matched == bytes(v // 2 for v in values), "matching a halved image halves it")


def test_grid_of_a_small_image(program, folder):
    """A tile is a pixel at least: memory for more was asked for, and the image refused."""
    name = folder / "small.png"
    name.write_bytes(png(5, 4, 8, bytes(range(20))))
    for grid in ("5,4", "60000,60000"):
        run(program, "equalize", "--clahe", "--grid", grid, name, "-o", folder / f"{grid}.png")
    check((folder / "5,4.png").read_bytes() == (folder / "60000,60000.png").read_bytes(), "at most a tile a pixel")


def test_page_to_match(program, folder):
    # The reference was the first page of a file, and another could not be named.
    pages, image = TESTDATA / "good-pages.tif", TESTDATA / "good-rgb.png"
    outs = []
    for page in (0, 1):
        run(program, "normalize", "--gamma", "1", "--force", f"{pages}[{page}]", "-o", folder / "one.tif")
        wanted = run(program, "equalize", "--match", folder / "one.tif", "--depth", "16", image, "-o", "-").stdout
        for command in (["normalize"], ["equalize"]):
            got = run(program, *command, "--match", f"{pages}[{page}]", "--depth", "16", image, "-o", "-").stdout
            check(wanted and got == wanted, f"{command} to page {page}")
        with open(pages, "rb") as stdin:
            got = run(program, "equalize", "--match", f"-[{page}]", "--depth", "16", image, "-o", "-", stdin=stdin)
        check(got.stdout == wanted, f"to page {page} of standard input: {got.stderr!r}")
        outs.append(wanted)
    check(outs[0] != outs[1], "the pages differ")
    done = run(program, "equalize", "--match", f"{pages}[3]", image, "-o", "-", status=None)
    check(done.returncode != 0 and b"has no page 3" in done.stderr, f"page 3: {done.stderr!r}")


def test_transfer_of_standard_input(program, folder):
    # It was looked for in a file called "-".
    make_folder(folder)
    name, other = folder / "in" / "a.png", folder / "in" / "b.png"
    run(program, "normalize", "--clip", "5,5", "--save-transfer", folder / "t.json", name, "-o", folder / "a.png")
    run(program, "apply", folder / "t.json", other, "-o", folder / "want.png")
    with open(folder / "t.json", "rb") as stdin:
        run(program, "apply", "-", other, "-o", folder / "got.png", stdin=stdin)
    check((folder / "got.png").read_bytes() == (folder / "want.png").read_bytes(), "from a file")
    saved = run(program, "normalize", "--clip", "5,5", "--save-transfer", "-", "--force", name, "-o", folder / "a.png")
    with subprocess.Popen([program, "apply", "-", other, "-o", folder / "piped.png"], stdin=subprocess.PIPE) as child:
        child.communicate(saved.stdout, LIMIT)
    check((folder / "piped.png").read_bytes() == (folder / "want.png").read_bytes(), "from a pipe")
    done = run(program, "apply", "-", other, "-o", folder / "none.png", status=1)
    check(done.stderr.startswith(b"-: ") and not (folder / "none.png").exists(), f"of nothing: {done.stderr!r}")


def test_any_clip_limit(program, folder):
    # 1e308 was refused with "a number of at least 0 is expected".
    source, out = TESTDATA / "photo.tif", folder / "o.tif"
    for like in ([], ["--like", "opencv"], ["--like", "skimage"]):
        for limits in (("256", "1e9", "1e20", "1e308"), ("1e-12", "1e-300", "1e-320")):
            files = []
            for limit in limits:
                run(program, "equalize", "--clahe", "--clip-limit", limit, *like, "--channels", "each", "--force", source,
                    "-o", out)
                files.append(out.read_bytes())
            check(files.count(files[0]) == len(limits), f"{like}: the clip limits {limits} give the same")


def test_match_in_threads(program, folder):
    # One thread asked for the reference's shape while another read it, and crashed.
    images = folder / "many"
    images.mkdir()
    for i in range(12):
        (images / f"{i}.png").write_bytes(png(16, 16, 8, bytes(range(256))))
    for turn in range(6):
        run(program, "equalize", "--match", TESTDATA / "photo.tif", "-j", "4", images, "-o", folder / f"out{turn}")
        outs = {path.read_bytes() for path in (folder / f"out{turn}").iterdir()}
        check(len(outs) == 1, f"{len(outs)} different outputs of equal images")


def test_match_of_other_depth(program, folder):
    """4 and 8 bits are one type, but not one scale: all that lay above 15 became white."""
    shallow, deep, out = folder / "4.png", folder / "8.png", folder / "out.png"
    values = [15, 3, 9, 0]
    shallow.write_bytes(png(4, 1, 4, bytes([0xF3, 0x90])))
    deep.write_bytes(png(4, 1, 8, bytes((20, 255, 130, 60))))
    run(program, "equalize", "--match", deep, shallow, "-o", out)
    ranked = [20, 60, 130, 255]
    want = [round_even(ranked[sorted(values).index(v)] * 15, 255) for v in values]
    got = list(png_pixels_of_4_bits(out.read_bytes(), 4))
    check(got == want, f"4 bits matched to 8: {got}, expected {want}")
    run(program, "equalize", "--match", shallow, deep, "-o", out, "--force")
    check(list(png_pixels(out.read_bytes())) == [0, 255, 153, 51], "8 bits matched to 4")


def png_pixels_of_4_bits(data, width):
    """Of a PNG of one row, which no filter but None and Sub changes in ways that matter here."""
    at = data.index(b"IDAT")
    raw = zlib.decompress(data[at + 4:at + 4 + struct.unpack(">I", data[at - 4:at])[0]])
    row = bytearray(raw[1:])
    for x in range(1, len(row) if raw[0] in (1, 4) else 0):
        row[x] = (row[x] + row[x - 1]) & 255
    return [row[x // 2] >> (4 if x % 2 == 0 else 0) & 15 for x in range(width)]


def test_wide(program, folder):
    """Floats: NaN, infinities and nodata stay; equalization is exact for few samples."""
    import random
    draw = random.Random(7)
    values = [draw.gauss(1e7, 4) for _ in range(900)]
    values[3], values[50], values[77], values[800] = float("nan"), float("inf"), -9999.0, float("-inf")
    data = struct.pack("<900f", *values)
    name = folder / "f.tif"
    name.write_bytes(tiff(30, 30, 32, data, kind=3, nodata="-9999"))
    values = list(struct.unpack("<900f", data))
    valid = sorted(v for v in values if abs(v) < 1e9 and v != -9999)
    for command in (["normalize"], ["normalize", "--clip", "1,1"], ["equalize"]):
        run(program, *command, "--force", "--compression", "none", name, "-o", folder / "out.tif")
        channel = stats(program, folder / "out.tif")[0]["channels"][0]
        check((channel["nan"], channel["inf"], channel["nodata"], channel["min"], channel["max"]) == (1, 2, 1, 0, 1),
              f"{command}: {channel}")
    run(program, "equalize", "--depth", "16", "--format", "png", "--force", name, "-o", folder / "out.png")
    got = struct.unpack(">900H", png_pixels((folder / "out.png").read_bytes()))
    first = valid.count(valid[0])
    for i, v in enumerate(values):
        if v in valid:
            upto = sum(w <= v for w in valid)
            want = 1 + round_even((upto - first) * 65534, len(valid) - first)  # 0 is for undefined samples
            check(got[i] == want, f"equalized float {i}: {got[i]}, expected {want}")


def test_palette(program, folder):
    for name in ("good-palette.png", "good-palette.tif", "good-palette-alpha.png"):
        out = folder / name
        run(program, "normalize", TESTDATA / name, "-o", out)
        before, after = stats(program, "--indices", TESTDATA / name)[0], stats(program, "--indices", out)[0]
        for page in (before, after):
            page.pop("file")
        check(before == after, f"{name}: the indices stay")
        colours = stats(program, out)[0]["channels"]
        check(min(c["min"] for c in colours[:3]) == 0 and max(c["max"] for c in colours[:3]) == 255,
              f"{name}: the colours are stretched")


# ---- One transfer for many -------------------------------------------------------------------------


def make_folder(folder):
    (folder / "in" / "sub").mkdir(parents=True)
    for i, name in enumerate(("a.png", "b.png", "sub/c.png", "sub/d.png")):
        (folder / "in" / name).write_bytes(png(40, 10, 8, bytes(60 + i * 20 + (x * 7) % 31 for x in range(400))))


def test_together(program, folder):
    make_folder(folder)
    words = ["-r", folder / "in", "-o"]
    run(program, "equalize", "--together", "--save-transfer", folder / "t.json", *words, folder / "one")
    run(program, "apply", folder / "t.json", *words, folder / "two")
    values = [png_pixels(p.read_bytes()) for p in sorted((folder / "in").rglob("*.png"))]
    every = sorted(b"".join(values))
    first = every.count(every[0])
    table = {v: round_even((sum(w <= v for w in every) - first) * 255, len(every) - first) for v in set(every)}
    for source in sorted((folder / "in").rglob("*.png")):
        below = source.relative_to(folder / "in")
        got = (folder / "one" / below).read_bytes()
        want = bytes(table[v] for v in png_pixels(source.read_bytes()))
        check(png_pixels(got) == want, f"{below}: the histogram of all files")
        check(got == (folder / "two" / below).read_bytes(), f"{below}: apply gives the same bytes")
    done = run(program, "normalize", "--together", folder / "in" / "a.png", TESTDATA / "good-float32.tif", "-o",
               folder / "mixed", status=2)
    check(b"f32 samples, the first image u8" in done.stderr and not list((folder / "mixed").glob("*")),
          f"types cannot be mixed: {done.stderr!r}")
    run(program, "equalize", "--together", TESTDATA / "good-float32.tif", TESTDATA / "good-float32-offset.tif", "-o",
        folder / "floats", "--save-transfer", folder / "f.json")
    run(program, "apply", folder / "f.json", TESTDATA / "good-float32.tif", "-o", folder / "f.tif")
    check((folder / "f.tif").read_bytes() == (folder / "floats" / "good-float32.tif").read_bytes(),
          "a saved float transfer is the same")
    run(program, "apply", TESTDATA / "good-1x1.png", TESTDATA / "good-1x1.png", "-o", folder / "x.png", status=1)
    run(program, "apply", folder / "f.json", TESTDATA / "good-1x1.png", "-o", folder / "x.png", status=1)
    check(not (folder / "x.png").exists(), "a transfer for floats does not touch bytes")


def test_jobs(program, folder):
    names = sorted(TESTDATA.glob("good-*")) + [TESTDATA / "photo.tif"]
    for words in (["normalize"], ["equalize"], ["equalize", "--clahe"], ["equalize", "--clahe", "--like", "skimage"],
                  ["normalize", "--clip", "1,2", "--channels", "each"]):
        seen = set()
        for jobs in (1, 2, 7):
            out = folder / f"{len(words)}{words[-1]}{jobs}"
            done = subprocess.run([program, *words, "--jobs", str(jobs), *names, "-o", out], capture_output=True,
                                  check=False, timeout=LIMIT, env=environment())
            digest = hashlib.sha256()
            for path in sorted(out.iterdir()):
                digest.update(path.name.encode() + path.read_bytes())
            sentences = done.stderr.replace(str(out).encode(), b"OUT")
            seen.add((digest.hexdigest(), sentences, done.returncode, len(list(out.iterdir()))))
        check(len(seen) == 1 and min(seen)[3] > 20, f"{words}: 1, 2 and 7 threads give the same bytes and sentences")


# ---- Names -----------------------------------------------------------------------------------------


def test_folders(program, folder):
    make_folder(folder)
    source, out = folder / "in", folder / "in" / "out"
    done = run(program, "normalize", "-r", "--dry-run", source, "-o", out)
    check(done.stdout.count(b" -> ") == 4 and not out.exists(), "--dry-run lists and writes nothing")
    for _ in range(2):
        done = run(program, "normalize", "-r", "--force", source, "-o", out)
        check(done.stderr == b"4 written, 0 failed\n", f"the output folder inside is not walked: {done.stderr!r}")
    check(sorted(str(p.relative_to(out)) for p in out.rglob("*.png")) == ["a.png", "b.png", "sub/c.png", "sub/d.png"],
          "the tree is mirrored")
    done = run(program, "normalize", "-r", source, "-o", out, status=1)
    check(done.stderr.count(b"exists already; --force replaces it\n") == 4 and b"0 written, 4 failed" in done.stderr, f"{done.stderr!r}")
    (out / "b.png").unlink()
    done = run(program, "normalize", "-r", "--skip-existing", source, "-o", out)
    check(done.stderr == b"1 written, 0 failed, 3 skipped\n", f"--skip-existing: {done.stderr!r}")
    done = run(program, "normalize", "-r", "--format", "tiff", source, "-o", folder / "tif")
    check((folder / "tif" / "sub" / "c.tif").exists(), "--format changes the ending")
    shutil.rmtree(out)
    (source / "loop").symlink_to(source)
    (source / "sub" / "up").symlink_to("..")
    (source / "self.png").symlink_to("self.png")  # no folder, and nothing behind it
    done = run(program, "normalize", "-r", source, "-o", folder / "loop", status=1)
    said = done.stderr.decode().splitlines()
    again = "again, which is entered once"
    check(len(said) == 4 and said[0] == f"{source}/loop: warning: leads to {source} {again}" and
          said[1] == f"{source}/sub/up: warning: leads to {source} {again}" and "self.png: " in said[2] and
          said[3] == "4 written, 1 failed", f"symbolic links that lead back are not followed: {said}")
    check(len(list((folder / "loop").rglob("*.png"))) == 4, "and every image is written once")


def test_links_to_folders(program, folder):
    """Folders were entered by every way of links that led to them: a link to one above the input took its own images
    twice where there were two of them, and a dozen folders with links to each other never came to an end."""
    source = folder / "above" / "in"
    (source / "sub").mkdir(parents=True)
    for name in (source / "a.png", source / "sub" / "b.png", folder / "above" / "c.png"):
        name.write_bytes(png(4, 4, 8, bytes(range(16))))
    (source / "again").symlink_to("sub")  # sorted before the folder itself
    (source / "up").symlink_to("..")
    (source / "up2").symlink_to(folder / "above")
    (source / "z").symlink_to(source / "up" / "in" / "sub")
    done = run(program, "normalize", "-r", source, "-o", folder / "out")
    check(sorted(str(p.relative_to(folder / "out")) for p in (folder / "out").rglob("*.png"))
          == ["a.png", "sub/b.png", "up/c.png"], f"every image once: {list((folder / 'out').rglob('*'))}")
    said = [line.split(": warning: leads to ") for line in done.stderr.decode().splitlines()[:-1]]
    end = " again, which is entered once"
    check(said == [[f"{source}/again", f"{source}/sub{end}"], [f"{source}/up/in", f"{source}{end}"],
                   [f"{source}/up2", f"{source}/up{end}"], [f"{source}/z", f"{source}/sub{end}"]], f"{said}")
    run(program, "stats", "-r", "--quiet", source)
    done = run(program, "stats", "-r", "--quiet", "--json", source, source)
    names = [json.loads(line)["file"] for line in done.stdout.splitlines()]
    check(names == 2 * [f"{source}/{name}" for name in ("a.png", "sub/b.png", "up/c.png")] and done.stderr == b"",
          f"in order, and again where a name is given again: {names}")
    for i in range(12):
        (folder / "many" / f"{i}").mkdir(parents=True)
        (folder / "many" / f"{i}" / "a.png").write_bytes(png(1, 1, 8, bytes([i])))
        for k in range(12):
            (folder / "many" / f"{i}" / f"to{k}").symlink_to(f"../{k}")
    done = run(program, "stats", "-r", "--quiet", "--json", folder / "many")
    check(done.stdout.count(b"\n") == 12, f"{done.stdout.count(bytes([10]))} images instead of 12")


def test_refused(program, folder):
    make_folder(folder)
    a, b = folder / "in" / "a.png", folder / "in" / "b.png"
    (folder / "other").mkdir()
    (folder / "other" / "a.png").write_bytes(a.read_bytes())
    before = a.read_bytes()
    cases = [(["normalize", a, folder / "other" / "a.png", "-o", folder / "o"], b"would both become"),
             (["normalize", a, "-o", a], b"is the input itself"),
             (["normalize", folder / "in", "-o", folder / "in"], b"is the input itself"),
             (["normalize", "--force", a, folder / "other" / "a.png", "-o", folder / "in"], b"would both become"),
             (["normalize", a], b"-o names the output"),
             (["normalize", "-", "-o", folder / "in"], b"standard input has no name"),
             (["normalize", a, b, "-o", "-"], b"takes one image"),
             (["normalize", "--method", "sharpen", a, "-o", "x"], b"--method is stretch"),
             (["normalize", "--method", "gamma", a, "-o", "x"], b"gamma needs its exponent"),
             (["normalize", "--method", "meanstd", a, "-o", "x"], b"meanstd needs"),
             (["normalize", "--method", "match", a, "-o", "x"], b"match needs"),
             (["normalize", "--clip", "60,40", a, "-o", "x"], b"leave something"),
             (["normalize", "--gamma", "2", "--clip", "1,1", a, "-o", "x"], b"exclude each other"),
             (["normalize", "--out-range", "9,3", a, "-o", "x"], b"LO below HI"),
             (["normalize", "--mean", "nan", "--stddev", "1", a, "-o", "x"], b"--mean takes a number, such as 128, not"),
             (["normalize", "--mean", "1", "--stddev=-1", a, "-o", "x"], b"--stddev takes a number not below 0, such"),
             (["normalize", "--memory", "18446744073709551616", a, "-o", "x"], b"from 32M to 2^64 - 1, or one with K"),
             (["equalize", "--clahe", "--clip-limit", "inf", a, "-o", "x"], b"--clip-limit takes a number above 0, not"),
             (["equalize", "--clahe", "--clip-limit=-1", a, "-o", "x"], b"--clip-limit takes a number above 0, not"),
             (["equalize", "--clahe", "--together", a, b, "-o", "x"], b"depends on the place"),
             (["equalize", "--grid", "4,4", a, "-o", "x"], b"belong to --clahe"),
             (["equalize", "--save-transfer", "t", a, b, "-o", "x"], b"--together makes one"),
             (["normalize", a, "-o", "t.png", "--save-transfer", "t.png"], b"would both become t.png"),
             (["normalize", a, "-o", "t.png", "--save-transfer", "in/../t.png"], b"would both become /"),
             (["normalize", a, "-o", "-", "--save-transfer", "-"], b"would both become -"),
             (["normalize", "--force", a, "-o", "t.png", "--save-transfer", a], b"would replace"),
             (["normalize", "--skip-existing", "--force", a, "-o", "x"], b"exclude each other"),
             (["normalize", a, "-o", "x.jpg"], b"outputs are PNG or TIFF"),
             (["apply", "-", "-", "-o", "x"], b"standard input is the transfer already: - cannot be read as well"),
             (["apply", "-", a, "-[0]", "-o", "x"], b"standard input is the transfer already: -[0] cannot be read as well"),
             (["equalize", "--match", "-", a, "-", "-o", "x"], b"standard input is the reference already: - cannot be read"),
             (["normalize", a, "-o", ""], b"an empty name is none"),
             (["normalize", a, "-o", "x", "--save-transfer", ""], b"an empty name is none"),
             (["apply", "-o", "x"], b"name the transfer")]
    for words, sentence in cases:
        done = run(program, *words, status=2, cwd=folder)
        check(sentence in done.stderr, f"{words}: {done.stderr!r}")
        check(not (folder / "x").exists() and not (folder / "o").exists() and a.read_bytes() == before,
              f"{words}: nothing is written")
    check(not (folder / "x.jpg").exists(), "and nothing under another format's name")
    run(program, "normalize", "--format", "png", a, "-o", folder / "x.jpg")
    other = folder / "other" / "b.png"
    other.write_bytes(b.read_bytes())
    done = run(program, "normalize", "--force", folder / "in" / "b.png", other, "-o", folder / "in", status=2)
    (folder / "link.png").symlink_to(b)
    done = run(program, "normalize", "--force", a, b, "-o", folder / "in", status=0)
    check(a.read_bytes() != before and done.stderr == b"2 written, 0 failed\n", "in place with --force")
    (folder / "swap").mkdir()
    (folder / "swap" / "a.png").symlink_to(b)
    done = run(program, "normalize", "--force", a, b, "-o", folder / "swap", status=2)
    check(b"is an input as well" in done.stderr, f"an output that is another input: {done.stderr!r}")


def test_one_place(program, folder):
    """Symbolic links lead two outputs to one file: the first was lost with --force."""
    make_folder(folder)
    out = folder / "out"
    (out / "sub").mkdir(parents=True)
    (out / "b.png").symlink_to("a.png")
    (out / "a.png").write_bytes(b"old")
    done = run(program, "normalize", "--force", folder / "in", "-o", out, status=2)
    check(b"would both become " in done.stderr and (out / "a.png").read_bytes() == b"old", f"files: {done.stderr!r}")
    (out / "b.png").unlink()
    (out / "other").symlink_to("sub")
    shutil.copytree(folder / "in" / "sub", folder / "in" / "other")
    done = run(program, "normalize", "--force", "-r", folder / "in", "-o", out, status=2)
    check(b"would both become " in done.stderr and os.listdir(out / "sub") == [], f"folders: {done.stderr!r}")


def test_dry_run_of_what_cannot_be_opened(program, folder):
    """A missing input was listed as if it would be written, with status 0."""
    (folder / "in").mkdir()
    for name in ("good-rgb.png", "bad-text.tif"):
        shutil.copy(TESTDATA / name, folder / "in")
    for command in ("normalize", "equalize"):
        words = [command, folder / "in" / "none.png", folder / "in", "-o", folder / "out"]
        dry = run(program, *words, "--dry-run", status=1)
        check(not (folder / "out").exists(), "--dry-run writes nothing")
        real = run(program, *words, "--force", status=1)
        check(dry.stderr.splitlines() == real.stderr.splitlines()[:-1] and dry.stderr.count(b"\n") == 2, f"{dry}, {real}")
        check(b"none.png: No such file or directory\n" in dry.stderr, f"{dry.stderr!r}")
        check(dry.stdout == b"%b -> %b\n" % (bytes(folder / "in" / "good-rgb.png"), bytes(folder / "out" / "good-rgb.png")),
              f"{dry.stdout!r}")
        shutil.rmtree(folder / "out")
        line = run(program, *words[:2], "--json", "--dry-run", "-o", folder / "x.png", status=1).stdout
        check(b'"error":"io"' in line and line.count(b"\n") == 1, f"{line!r}")


def test_dry_run_of_apply(program, folder):
    """The transfer was not looked at: what failed then was listed as if it would be written."""
    transfer, broken, missing = folder / "t.json", folder / "broken.json", folder / "missing.json"
    inputs = folder / "in"
    inputs.mkdir()
    for name in ("good-example.png", "good-gray16.png", "good-rgb.png", "good-pages.tif", "bad-truncated.tif"):
        shutil.copy(TESTDATA / name, inputs)
    damaged = bytearray((TESTDATA / "good-rgb.png").read_bytes())
    damaged[-100] ^= 1
    (inputs / "damaged.png").write_bytes(damaged)
    (inputs / "none.png").write_bytes(b"")
    run(program, "equalize", TESTDATA / "good-rgb.png", "-o", folder / "rgb.png", "--channels", "each",
        "--save-transfer", transfer)
    broken.write_text(transfer.read_text()[:-9])
    for name in (broken, missing, TESTDATA / "good-example.png"):
        words = ["apply", name, inputs, "-o", folder / "out"]
        real, dry = run(program, *words, status=1), run(program, *words, "--dry-run", status=1)
        check(real.stderr == dry.stderr != b"" and dry.stdout == b"", f"{name.name}: {dry.stderr!r}, {real.stderr!r}")
    words = ["apply", transfer, inputs, "-o", folder / "out"]
    dry = run(program, *words, "--dry-run", status=1)
    check(not (folder / "out").exists(), "--dry-run writes nothing")
    real = run(program, *words, status=1)
    told = [line for line in real.stderr.splitlines() if b": warning: " not in line][:-1]
    told = [line for line in told if b"damaged.png" not in line]  # that is found out by reading the pixels
    check(dry.stderr.splitlines() == told and len(told) == 5, f"{dry.stderr!r} instead of {told}")
    check([line.split(b" -> ")[0] for line in dry.stdout.splitlines()]
          == [bytes(inputs / name) for name in ("damaged.png", "good-rgb.png")], f"{dry.stdout!r}")
    run(program, *words[:2], inputs / "good-rgb.png", "-o", folder / "other.png", "--dry-run")
    with open(TESTDATA / "good-gray16.png", "rb") as stdin:
        run(program, *words[:2], "-", "-o", folder / "other.png", "--dry-run", stdin=stdin)


def test_folder_in_the_place(program, folder):
    """A folder where the output belongs was taken for an output."""
    make_folder(folder)
    (folder / "out" / "a.png").mkdir(parents=True)
    done = run(program, "normalize", "--skip-existing", folder / "in", "-o", folder / "out", status=1)
    check(done.stderr.endswith(b"a.png: is a directory\n1 written, 1 failed\n"), f"{done.stderr!r}")
    done = run(program, "normalize", "--skip-existing", "--dry-run", folder / "in", "-o", folder / "out")
    check(done.stdout.count(b"(exists already)") == 1, f"{done.stdout!r}")


def test_standard_output(program, folder):
    """/dev/stdout that leads to a file was refused, as the file exists."""
    make_folder(folder)
    name, out = folder / "in" / "a.png", folder / "out.png"
    run(program, "normalize", name, "-o", folder / "want.png")
    with open(out, "wb") as stdout:
        stdout.write(b"before")
        stdout.flush()
        subprocess.run([program, "normalize", name, "-o", "/dev/stdout"], stdout=stdout, check=False,
                       env=environment(), timeout=LIMIT)
    check(out.read_bytes() == b"before" + (folder / "want.png").read_bytes(), f"{out.read_bytes()[:20]!r}")


def test_closed_streams(program, folder):
    """Files took the places of standard streams that were closed: what is said was written into outputs, and a
    transfer for standard output was copied to itself without end."""
    (folder / "in").mkdir()
    for i in range(20):
        (folder / "in" / f"{i}.png").write_bytes(png(300, 200, 8, os.urandom(60000)))
    run(program, "normalize", folder / "in", "-o", folder / "want")
    want = {path.name: path.read_bytes() for path in (folder / "want").iterdir()}
    for closed in ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)):

        def close(closed=closed):
            for stream in closed:
                os.close(stream)

        for _ in range(3):
            run(program, "normalize", "--verbose", "--force", "--jobs", "4", folder / "in", "-o", folder / "out",
                preexec_fn=close)
            got = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
            check(got == want, f"without {closed}: the outputs are whole")
        for words in (["--save-transfer", "-", "-o", folder / "one.png"], ["-o", "-"]):
            done = run(program, "normalize", "--force", *words, folder / "in" / "1.png", status=int(1 in closed),
                       preexec_fn=close)
            check(1 not in closed or 2 in closed or b"Bad file descriptor" in done.stderr, f"{closed}: {done.stderr!r}")


def test_streams_are_no_files(program, folder):
    """A transfer was refused where a FIFO or a device was to take it, and images were taken for done."""
    make_folder(folder)
    name, fifo = folder / "in" / "a.png", folder / "fifo"
    run(program, "normalize", name, "-o", folder / "a.png", "--save-transfer", folder / "t.json")
    run(program, "normalize", "--force", name, "-o", folder / "a.png", "--save-transfer", "/dev/null")
    run(program, "normalize", name, "-o", folder / "b.png", "--save-transfer", "/dev/null")
    done = run(program, "normalize", "--dry-run", name, "-o", "/dev/null")
    check(b"exists" not in done.stdout, f"--dry-run: {done.stdout!r}")
    os.mkfifo(fifo)
    for words, want in ((["-o", folder / "c.png", "--save-transfer", fifo], folder / "t.json"),
                        (["--skip-existing", "-o", fifo], folder / "a.png")):
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        run(program, "normalize", name, *words)
        check(os.read(reader, 1 << 16) == want.read_bytes(), f"{words}")
        os.close(reader)
    odd = folder / "t\n.json"
    run(program, "normalize", name, "-o", folder / "d.png", "--save-transfer", odd)
    done = run(program, "normalize", name, "-o", folder / "e.png", "--save-transfer", odd, status=1)
    check(done.stderr.endswith(b"t?.json: exists already; --force replaces it\n"), f"{done.stderr!r}")
    long = "n" * 200 + "/" + "m" * 200
    done = run(program, "normalize", f"in/../{long}/a.png", f"in/{long}/a.png", "-o", "x", status=2, cwd=folder)
    check(b"would both become x/a.png" in done.stderr, f"a sentence is whole, however long: {done.stderr!r}")


def test_what_else_is_read_stays(program, folder):
    """A reference and a saved transfer were replaced by the image that was made with them."""
    make_folder(folder)
    a, b, saved = folder / "in" / "a.png", folder / "in" / "b.png", folder / "t.json"
    run(program, "normalize", a, "-o", folder / "o.png", "--save-transfer", saved)
    before = b.read_bytes(), saved.read_bytes()
    for words in (["normalize", "--match", b, a, "-o", b], ["normalize", "--match", f"{b}[0]", a, "-o", b],
                  ["apply", saved, a, "-o", saved, "--format", "png"],
                  ["equalize", a, "-o", "x", "--match", b, "--save-transfer", b]):
        done = run(program, *words, "--force", status=2, cwd=folder)
        check(b"would replace" in done.stderr and (b.read_bytes(), saved.read_bytes()) == before,
              f"{words}: {done.stderr!r}")
    done = run(program, "normalize", "--match", f"{b}[3]", a, "-o", "x.png", status=1, cwd=folder)
    check(b"b.png: has no page 3" in done.stderr, f"a page that is not there is no wrong usage: {done.stderr!r}")


def test_names_in_sentences(program, folder):
    """A name with ": " in it was cut there, and one that turns direction was shown as it is, or said twice."""
    loop = (TESTDATA / "warned-ifd-loop.tif").read_bytes()
    for name, shown in (("w: loop.tif", "w: loop.tif"), ("right\u202eleft.tif", "right?left.tif")):
        (folder / name).write_bytes(loop)
        for words in (["normalize", name, "-o", "o.tif", "--force"], ["stats", name]):
            done = run(program, *words, cwd=folder)
            check(done.stderr.startswith(f"{shown}: warning: its directories".encode()), f"{words}: {done.stderr!r}")
    pages = bytearray((TESTDATA / "good-pages.tif").read_bytes())
    order = "<" if pages[:2] == b"II" else ">"
    at = struct.unpack_from(order + "I", pages, 4)[0]
    at = struct.unpack_from(order + "I", pages, at + 2 + 12 * struct.unpack_from(order + "H", pages, at)[0])[0]
    for entry in range(at + 2, at + 2 + 12 * struct.unpack_from(order + "H", pages, at)[0], 12):
        if struct.unpack_from(order + "H", pages, entry)[0] == 259:
            struct.pack_into(order + "H", pages, entry + 8, 4242)
    (folder / "second.tif").write_bytes(pages)
    done = run(program, "normalize", "second.tif", "-o", "x.tif", status=1, cwd=folder)
    check(done.stderr.startswith(b"second.tif: page 1: "), f"the page that fails is told: {done.stderr!r}")


def test_pipes_have_no_permissions_to_keep(program, folder):
    """What came from a FIFO got 0600, as the file has that pixels are kept in meanwhile."""
    make_folder(folder)
    old = os.umask(0o022)
    os.mkfifo(folder / "fifo", 0o644)
    with subprocess.Popen([program, "normalize", "fifo", "-o", "o.png"], cwd=folder, env=environment()) as child:
        (folder / "fifo").write_bytes((folder / "in" / "a.png").read_bytes())
        check(child.wait(LIMIT) == 0, "from a FIFO")
    os.umask(old)
    check((folder / "o.png").stat().st_mode & 0o777 == 0o644, f"{(folder / 'o.png').stat().st_mode:o}")


def test_transfers_of_what_is_skipped(program, folder):
    """A run that was resumed failed at its end, or before it began, for the transfer of an image that is done."""
    make_folder(folder)
    words = ["normalize", "in/a.png", "-o", "o.png", "--skip-existing", "--save-transfer", "t.json"]
    run(program, *words, cwd=folder)
    before = (folder / "t.json").read_bytes()
    run(program, *words, cwd=folder)
    check((folder / "t.json").read_bytes() == before, "all is there")
    (folder / "t.json").unlink()
    done = run(program, *words, status=1, cwd=folder)
    check(done.stderr == b"imgstat normalize: t.json: not written: no image was transformed\n", f"{done.stderr!r}")


def on_terminal(*command):
    """What a command says on standard error where that is a terminal."""
    end = b"\0end"
    master, slave = pty.openpty()
    with subprocess.Popen(command, stderr=slave, stdout=subprocess.DEVNULL, env=environment()) as child:

        def finish():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LIMIT)
            os.write(slave, end)

        # A terminal whose last writer is gone may drop what was not read yet: it stays open here.
        finisher = threading.Thread(target=finish)
        finisher.start()
        said = b""
        while not said.endswith(end):
            said += os.read(master, 4096)
        finisher.join()
        check(child.poll() == 0, f"exit status {child.poll()}: {command[:4]}")
        child.kill()
    os.close(slave)
    os.close(master)
    return said.removesuffix(end)


def test_terminal(program, folder):
    """Progress and the terminal as standard output."""
    make_folder(folder)
    try:
        master, slave = pty.openpty()
    except OSError as error:
        skip(f"no terminal is to be had here: {error}")
        return
    with subprocess.Popen([program, "normalize", folder / "in" / "a.png", "-o", "-"], stdout=slave,
                          stderr=subprocess.PIPE, env=environment()) as child:
        said = child.communicate(timeout=LIMIT)[1]
        check(child.returncode == 2 and b"is a terminal" in said, f"no image onto a terminal: {said!r}")
    os.close(master)
    os.close(slave)
    names = []
    for i in range(400):
        names.append(folder / f"{i}.png")
        names[-1].write_bytes((folder / "in" / "a.png").read_bytes())
    big = folder / "big.png"
    big.write_bytes(png(3000, 2000, 8, os.urandom(6000000)))
    said = on_terminal(program, "equalize", "--jobs", "1", *names, big, *(folder / "in" / n for n in ("a.png",)), "-o",
                       folder / "out")
    check(re.search(rb"\d+ of 402, .* a second, \d+ s left", said) is not None, f"progress: {said[-300:]!r}")
    check(b"402 written, 0 failed" in said, f"summary: {said[-300:]!r}")
    for jobs in ("1", "2"):
        said = on_terminal(program, "equalize", "--together", "--jobs", jobs, *names, "-o", folder / f"together{jobs}")
        check(re.search(rb"measured \d+ of 400, .* a second, \d+ s left", said) is not None, f"first pass: {said!r}")
        check(re.search(rb"\r\d+ of 400, ", said.split(b"measured")[-1]) is not None, f"second pass: {said!r}")
    said = on_terminal(program, "equalize", "--together", "--quiet", *names, "-o", folder / "quiet")
    check(said == b"", f"--quiet: {said!r}")


def test_broken_pipe(program, folder):
    name = folder / "big.png"
    name.write_bytes(png(2000, 2000, 8, os.urandom(4000000)))
    with subprocess.Popen([program, "equalize", name, "-o", "-"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment()) as child:
        child.stdout.read(10)
        child.stdout.close()
        check(child.wait(LIMIT) != 0, "a closed pipe is no success")
        check(child.stderr.read().count(b"\n") <= 1, "and at most one line")


if __name__ == "__main__":
    harness.main(globals())
