#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of images with levels, masks, thumbnails and planes as programs: usage: test_levels.py IMGSTAT"""

import json
import struct

import harness
from harness import check, run
from tiff_tree import ASCII, LONG, SHORT, Page, differences, gray, read, shape, write

WIDTH, HEIGHT = 96, 64
BASE = [[300 + (x * 7 + y * 13) % 901 for x in range(WIDTH)] for y in range(HEIGHT)]


def halved(rows):
    return [row[::2] for row in rows[::2]]


LEVELS = [halved(BASE), halved(halved(BASE))]
REDUCED, MASK = {254: (LONG, [1])}, {254: (LONG, [4])}


def statistics(program, *words):
    """What stats says of pixels, and not of the file that they are in."""
    pages = [json.loads(line) for line in run(program, "stats", "--json", *words).stdout.splitlines()]
    for page in pages:
        for key in ("file", "page", "page_name", "pages", "device", "warnings"):
            page.pop(key, None)
    return pages


def samples(tiff, directory, kind="H"):
    """Rows of an uncompressed gray page."""
    (width, height), size = directory.size, struct.calcsize(kind)
    if 322 not in directory.fields:
        data = b"".join(tiff.data[at:at + n] for at, n in zip(directory.fields[273], directory.fields[279]))
        flat = struct.unpack(f"{tiff.order}{width * height}{kind}", data)
        return [flat[y * width:(y + 1) * width] for y in range(height)]
    tile = directory.first(322)
    rows, across = [[0] * (width + -width % tile) for _ in range(height + -height % tile)], -(-width // tile)
    for i, (at, n) in enumerate(zip(directory.fields[324], directory.fields[325])):
        flat = struct.unpack(f"{tiff.order}{n // size}{kind}", tiff.data[at:at + n])
        for y in range(tile):
            x = i % across * tile
            rows[i // across * tile + y][x:x + tile] = flat[y * tile:(y + 1) * tile]
    return [row[:width] for row in rows[:height]]


def check_one_map(before, after, where):
    """before, after: rows of an image and its levels; one map takes all of the former to the latter."""
    pairs = {(a, b) for old, new in zip(before, after) for row, mapped in zip(old, new) for a, b in zip(row, mapped)}
    table = dict(pairs)
    check(len(table) == len(pairs), f"{where}: {len(table)} values become {len(pairs)}")
    check(len(set(table.values())) > 10, f"{where}: {len(table)} values")


# ---- Levels ----------------------------------------------------------------------------------------


def test_levels_in_the_chain(program, folder):
    """Each level had a contrast of its own, and counted in --together."""
    name, out = folder / "in.tif", folder / "out.tif"
    pages = [gray(BASE, tile=16)] + [gray(rows, tile=16, fields=REDUCED) for rows in LEVELS]
    pages[1].strips[0] = struct.pack("<256H", *[9999] * 256)  # what no image has must not count
    name.write_bytes(write(pages))
    plain = folder / "plain.tif"
    plain.write_bytes(write(pages[:1]))
    check(statistics(program, name) == statistics(program, plain), "a level is no image")
    for words in (("normalize",), ("normalize", "--together"), ("equalize",), ("normalize", "--clip", "2,2"),
                  ("normalize", "--depth", "8")):
        run(program, *words, "--force", name, "-o", out)
        run(program, *words, "--force", plain, "-o", folder / "alone.tif")
        got, alone = read(out), read(folder / "alone.tif")
        kind = "B" if "8" in words else "H"
        check(shape(got.chain) == [(96, 64, 0, []), (48, 32, 1, []), (24, 16, 1, [])], f"{words}: {shape(got.chain)}")
        images = [samples(got, page, kind) for page in got.chain]
        check(images[0] == samples(alone, alone.chain[0], kind), f"{words}: the image as without levels")
        before = read(name)
        check_one_map([samples(before, page) for page in before.chain], images, words)
    run(program, "normalize", "--force", "--levels", "drop", name, "-o", out)
    check(shape(read(out).chain) == [(96, 64, 0, [])], "--levels drop")
    roles = [json.loads(line)["role"] for line in run(program, "stats", "--json", "--levels", name).stdout.splitlines()]
    check(roles == ["image", "level", "level"], f"stats --levels: {roles}")
    transfer = folder / "t.json"
    run(program, "normalize", "--force", name, "-o", out, "--save-transfer", transfer)
    run(program, "apply", transfer, name, "-o", folder / "applied.tif")
    check(out.read_bytes() == (folder / "applied.tif").read_bytes(), "one transfer, for all levels")


def test_levels_in_subifds(program, folder):
    """They were left out: a slide without levels cannot be viewed."""
    name, out = folder / "in.tif", folder / "out.tif"
    other = [[row[x] // 2 + 5 for x in range(WIDTH)] for row in BASE]
    for order, big in (("<", False), (">", False), ("<", True), (">", True)):
        pages = [gray(rows, order=order, rows_per_strip=16,
                      subs=[gray(level, order=order, fields=REDUCED) for level in (halved(rows), halved(halved(rows)))])
                 for rows in (BASE, other)]
        name.write_bytes(write(pages, order, big))
        run(program, "normalize", "--force", name, "-o", out)
        before, got = read(name), read(out)
        check((got.order, got.big) == (order, big), f"{order} {big}: {got.order} {got.big}")
        check(shape(got.chain) == shape(before.chain), f"{order} {big}: {shape(got.chain)}")
        for page, (old, new) in enumerate(zip(before.chain, got.chain)):
            check_one_map([samples(before, d) for d in [old, *old.subs]], [samples(got, d) for d in [new, *new.subs]],
                          f"{order} {big} page {page}")
        run(program, "normalize", "--force", f"{name}[1]", "-o", out)
        check(shape(read(out).chain) == shape(before.chain[1:]), f"a page alone: {shape(read(out).chain)}")
        run(program, "normalize", "--force", f"{name}[1.0]", "-o", out)
        check(shape(read(out).chain) == [(48, 32, 0, [])], f"a level alone is an image: {shape(read(out).chain)}")
    flat = folder / "out.png"
    told = run(program, "normalize", f"{name}[1]", "-o", flat, status=1).stderr
    check(b"no levels" in told and not flat.exists(), f"PNG has no levels: {told}")
    run(program, "normalize", "--levels", "drop", f"{name}[1]", "-o", flat)


def test_channels_and_their_levels(program, folder):
    """k images, then k levels of one size: level k belongs to image k."""
    name, out = folder / "in.tif", folder / "out.tif"
    images = [[[v + 2000 * c for v in row] for row in BASE] for c in range(3)]
    name.write_bytes(write([gray(rows) for rows in images] + [gray(halved(rows), fields=REDUCED) for rows in images]))
    run(program, "normalize", name, "-o", out)
    before, got = read(name), read(out)
    for c in range(3):
        check_one_map([samples(before, before.chain[i]) for i in (c, c + 3)],
                      [samples(got, got.chain[i]) for i in (c, c + 3)], f"channel {c}")
    owners = [json.loads(line)["owner"] for line in run(program, "info", "--json", name).stdout.splitlines()]
    check(owners == [0, 1, 2, 0, 1, 2], f"owners: {owners}")


def test_levels_made_anew(program, folder):
    """Adaptive equalization depends on the place: a level is the mean of what it covers of the result."""
    name, out = folder / "in.tif", folder / "out.tif"
    odd = [row[:91] for row in BASE[:61]]
    for base, sizes in ((BASE, ((48, 32), (24, 16))), (odd, ((46, 31), (23, 16), (1, 1)))):
        levels = [[[0] * w for _ in range(h)] for w, h in sizes]
        name.write_bytes(write([gray(base)] + [gray(rows, fields=REDUCED) for rows in levels]))
        run(program, "equalize", "--clahe", "--grid", "2", "--force", name, "-o", out)
        got = read(out)
        full = samples(got, got.chain[0])
        w0, h0 = len(full[0]), len(full)
        for page, (w, h) in zip(got.chain[1:], sizes):
            want = []
            for j in range(h):
                rows = range(j * h0 // h, (j + 1) * h0 // h)
                areas = [[full[y][x] for y in rows for x in range(i * w0 // w, (i + 1) * w0 // w)] for i in range(w)]
                want.append(tuple((2 * sum(area) + len(area)) // (2 * len(area)) for area in areas))
            check([tuple(row) for row in samples(got, page)] == want, f"{w} x {h} of {w0} x {h0}")


def test_levels_made_anew_of_masked(program, folder):
    """Pixels that the mask excludes were averaged into the level, so that its edges were dark."""
    name, out = folder / "in.tif", folder / "out.tif"
    mask = [[255 if (x + 2 * y) % 5 and x > 9 else 0 for x in range(WIDTH)] for y in range(HEIGHT)]
    base = [[v if on else 60000 for v, on in zip(*rows)] for rows in zip(BASE, mask)]
    level = [[0] * (WIDTH // 4) for _ in range(HEIGHT // 4)]
    name.write_bytes(write([gray(base), gray(mask, "B", fields={**MASK, 262: (SHORT, [4])}), gray(level, fields=REDUCED)]))
    for words in ([], ["--out-nodata", "7"]):
        run(program, "equalize", "--clahe", "--grid", "2", "--force", *words, name, "-o", out)
        got = read(out)
        full, made = samples(got, got.chain[0]), samples(got, got.chain[2])
        want = []
        for j in range(HEIGHT // 4):
            want.append([])
            for i in range(WIDTH // 4):
                area = [(full[y][x], mask[y][x]) for y in range(4 * j, 4 * j + 4) for x in range(4 * i, 4 * i + 4)]
                kept = [v for v, on in area if on] or [v for v, _ in area]
                want[j].append((2 * sum(kept) + len(kept)) // (2 * len(kept)))
        check([list(row) for row in made] == want, f"{words}: {made[0]} instead of {want[0]}")
        check(made[0][0] == (7 if words else 60000), f"{words}: where all is masked: {made[0][0]}")


def test_lines_of_levels(program, folder):
    """A level that is made anew had no line of --json, and one that is mapped had."""
    name, out = folder / "in.tif", folder / "out.tif"
    name.write_bytes(write([gray(BASE)] + [gray(rows, fields=REDUCED) for rows in LEVELS]))
    for words in (["normalize"], ["equalize", "--clahe"]):
        lines = run(program, *words, "--json", "--force", name, "-o", out).stdout.splitlines()
        pages = [(line["page"], line["pages"], line["transfer"]["method"]) for line in map(json.loads, lines)]
        method = "clahe" if "--clahe" in words else "stretch"
        check(pages == [(page, 3, method) for page in range(3)], f"{words}: {pages}")


# ---- Thumbnails ------------------------------------------------------------------------------------


def test_thumbnails(program, folder):
    """They were measured, and kept the contrast of their own or of old."""
    name, out = folder / "in.tif", folder / "out.tif"
    small = gray([[7 * (x + y) % 256 for x in range(20)] for y in range(15)], "B", fields=REDUCED)
    name.write_bytes(write([gray(BASE), small]))
    done = run(program, "normalize", name, "-o", out)
    check(shape(read(out).chain) == [(96, 64, 0, [])], "the thumbnail is left out")
    check(b"warning: its thumbnail (page 1, 20 x 15) is left out: it would show the old contrast" in done.stderr,
          f"and named: {done.stderr}")
    done = run(program, "normalize", "--force", f"{name}[0]", "-o", out)
    check(done.stderr == b"", "who names pages needs no warning")
    run(program, "normalize", "--force", f"{name}[1]", "-o", out)
    check(shape(read(out).chain) == [(20, 15, 0, [])], "a thumbnail that is named is an image")


def test_plot_shows_the_first_image(program, folder):
    # It was page 0, a thumbnail in DNG.
    small = [[7 * (x + y) % 256 for x in range(20)] for y in range(15)]
    for name, pages, title in (("dng.tif", [gray(small, "B", fields=REDUCED, subs=[gray(BASE)])], "dng.tif [0.0], 96 x 64, u16"),
                               ("mask.tif", [gray(small, "B", fields=MASK), gray(BASE)], "mask.tif [1], 96 x 64, u16"),
                               ("two.tif", [gray(small, "B"), gray(BASE)], "two.tif [0], 20 x 15, u8"),
                               ("one.tif", [gray(BASE)], "one.tif, 96 x 64, u16")):
        (folder / name).write_bytes(write(pages))
        svg = run(program, "hist", "--plot", "-", name, cwd=folder).stdout.decode()
        check(f">{title}<" in svg and svg.count("<svg") == 1, f"{name}: {svg[400:600]}")
        with open(folder / name, "rb") as image:
            svg = run(program, "hist", "--plot", "-", "-", stdin=image).stdout.decode()
        check(f">{title.replace(name, '-')}<" in svg and svg.count("<svg") == 1, f"standard input, {name}: {svg[400:600]}")
    svg = run(program, "hist", "--plot", "-", "dng.tif[0]", cwd=folder).stdout.decode()
    check(">dng.tif, 20 x 15, u8<" in svg or ">dng.tif [0], 20 x 15, u8<" in svg, "the thumbnail, if it is named")


def test_thumbnail_of_exif(program, folder):
    """JPEG data without a size behind the image: the file was refused."""
    name, out, plain = folder / "in.tif", folder / "out.tif", folder / "plain.tif"
    plain.write_bytes(write([gray(BASE)]))
    for order, big in (("<", False), (">", False), (">", True)):
        thumbnail = Page({259: (SHORT, [6])}, [], jpeg=b"\xff\xd8\xff\xd9")
        name.write_bytes(write([gray(BASE, order=order), thumbnail], order, big))
        check(statistics(program, name) == statistics(program, plain), f"{order} {big}: the image is measured")
        done = run(program, "normalize", "--force", name, "-o", out)
        check(shape(read(out).chain) == [(96, 64, 0, [])], f"{order} {big}: {shape(read(out).chain)}")
        check(done.stderr.endswith(b"warning: its thumbnail (page 1) is left out: it would show the old contrast\n"),
              f"{order} {big}: {done.stderr}")
        roles = [json.loads(line).get("role") for line in run(program, "info", "--json", name, status=None).stdout.splitlines()]
        check(roles[:1] == ["image"], f"{order} {big}: {roles}")
    damaged = Page({259: (SHORT, [6])}, [b""])
    name.write_bytes(write([gray(BASE), damaged]))
    run(program, "normalize", "--force", name, "-o", out, status=1)


def raw_photograph():
    """A file as raw converters write it: a preview, and the image in its SubIFD."""
    preview = gray([[x % 256 for x in range(30)] for _ in range(20)], "B",
                   fields={**REDUCED, 271: (ASCII, b"Maker\0"), 50706: (1, [1, 4, 0, 0]), 306: (ASCII, b"now\0")},
                   subs=[gray(BASE, fields={254: (LONG, [0])})])
    return write([preview])


def check_raw_photograph(path, stderr):
    """path: an output."""
    got = read(path)
    check(shape(got.chain) == [(96, 64, 0, [])], f"the image is written: {shape(got.chain)}")
    check(b"its thumbnail (page 0, 30 x 20) is left out" in stderr, f"the preview is named: {stderr}")
    fields = got.chain[0].fields
    check(fields.get(271) == (b"Maker\0",) and fields.get(50706) == (1, 4, 0, 0) and 306 in fields,
          f"fields of the file come along: {fields.keys()}")


def test_main_image_in_a_subifd(program, folder):
    """Of a raw file of a camera the preview was measured and written, and the image was lost."""
    name, out = folder / "cam.dng", folder / "out.tif"
    name.write_bytes(raw_photograph())
    plain = folder / "plain.tif"
    plain.write_bytes(write([gray(BASE)]))
    check(statistics(program, name) == statistics(program, plain), "the image is measured")
    done = run(program, "normalize", name, "-o", out)
    check_raw_photograph(out, done.stderr)
    run(program, "normalize", "--force", name, "-o", name)
    check(name.read_bytes() == out.read_bytes(), "in place as well")


# ---- Planes in one directory -----------------------------------------------------------------------


def stack(n=5, order="<", rows_per_strip=None, text=None, big=False):
    planes = [[[v // (k + 1) + k for v in row] for row in BASE] for k in range(n)]
    first, *others = [gray(rows, order=order, rows_per_strip=rows_per_strip) for rows in planes]
    text = text or f"ImageJ=1.53t\nimages={n}\nslices={n}\n"
    first.fields[270] = (ASCII, text.encode() + b"\0")
    first.behind = b"".join(b"".join(page.strips) for page in others)
    return planes, write([first], order, big)


def planes_of(tiff, n):
    directory = tiff.chain[0]
    (width, height), first = directory.size, directory.fields[273][0]
    out = []
    for k in range(n):
        at = first + 2 * k * width * height
        flat = struct.unpack(f"{tiff.order}{width * height}H", tiff.data[at:at + 2 * width * height])
        out.append([flat[y * width:(y + 1) * width] for y in range(height)])
    return out


def test_planes_in_one_directory(program, folder):
    """ImageJ writes stacks above 4 GiB so: all planes but the first were lost, in place as well."""
    name, out, apart = folder / "in.tif", folder / "out.tif", folder / "apart.tif"
    for order, rows, text, big in (("<", None, None, False), (">", None, None, False), ("<", 10, None, True),
                                   (">", None, '{"shape": [5, 64, 96], "truncated": true}', False)):
        where = f"{order} {rows} {text} {big}"
        planes, data = stack(order=order, rows_per_strip=rows, text=text, big=big)
        name.write_bytes(data)
        apart.write_bytes(write([gray(rows) for rows in planes]))
        check(statistics(program, name) == statistics(program, apart), f"{where}: every plane is a page")
        for words in (("normalize", "--together=page"), ("normalize", "--together"), ("equalize", "--clahe", "--grid", "2")):
            run(program, *words, "--force", name, "-o", out)
            run(program, *words, "--force", apart, "-o", folder / "want.tif")
            got, want = read(out), read(folder / "want.tif")
            check(len(got.chain) == 1 and (got.order, got.big) == (order, big), f"{where} {words}: one directory")
            check(got.chain[0].at < got.chain[0].fields[273][0], f"{where} {words}: in front of the pixels")
            check(planes_of(got, 5) == [samples(want, page) for page in want.chain], f"{where} {words}: the same planes")
            check(statistics(program, out) == statistics(program, folder / "want.tif"), f"{where} {words}: read again")
        run(program, "normalize", "--force", name, "-o", name)
        run(program, "normalize", "--force", *([] if text else ["--together=file"]), apart, "-o", apart)
        check(statistics(program, name) == statistics(program, apart), f"{where}: in place")
        name.write_bytes(data)
        run(program, "normalize", "--force", "--compression", "deflate", name, "-o", out)
        check(len(read(out).chain) == 5, f"{where}: compressed planes have a directory each")


def test_planes_that_are_not_there(program, folder):
    name, out = folder / "in.tif", folder / "out.tif"
    _, data = stack(n=2, text="ImageJ=1.53t\nimages=9\n")
    name.write_bytes(data)
    done = run(program, "normalize", "--force", name, "-o", out, status=1)
    check(b"plane 3 of 9 ends early" in done.stderr and not out.exists(), f"a cut stack: {done.stderr}")
    _, data = stack(n=2, text="ImageJ=1.53t\nimages=3\n")
    name.write_bytes(data + bytes(2 * WIDTH * HEIGHT))
    done = run(program, "stats", name, status=1)
    check(b"plane 3 of 3 ends early" in done.stderr, f"a directory is no plane: {done.stderr}")
    one = gray(BASE, fields={270: (ASCII, b"ImageJ=1.53t\nimages=9\n\0")})
    name.write_bytes(write([one]))
    done = run(program, "normalize", "--force", name, "-o", out)
    check(b"its description counts 9 images, but it holds one" in done.stderr, f"one plane: {done.stderr}")
    check(samples(read(out), read(out).chain[0]) != BASE and len(read(out).chain) == 1, "it is written")
    name.write_bytes(write([gray(BASE, fields={270: (ASCII, b"ImageJ=1.53t\nimages=70000\n\0")}, behind=bytes(99999))]))
    done = run(program, "stats", name, status=1)
    check(b"more pages than the limit of 65535" in done.stderr, f"more planes than pages: {done.stderr}")


# ---- Names of pages ----------------------------------------------------------------------------------


def test_names_of_pages(program, folder):
    """A page in a SubIFD had a number alone, which --page does not take."""
    name = folder / "in.tif"
    name.write_bytes(write([gray([[5] * 4] * 3), gray([[9] * 4] * 3, subs=[gray([[2] * 4] * 3, fields={254: (LONG, [0])}),
                                                                          gray([[99] * 4] * 3, fields={254: (LONG, [0])})])]))
    found = [json.loads(line) for line in run(program, "stats", "--json", name).stdout.splitlines()]
    check([(line["page"], line.get("page_name")) for line in found] == [(0, None), (1, None), (2, "1.0"), (3, "1.1")], f"{found}")
    for line in found:
        named = f"{name}[{line.get('page_name', line['page'])}]"
        [one] = [json.loads(text) for text in run(program, "stats", "--json", named).stdout.splitlines()]
        check(one == line, f"{named}: {one}")
    [line] = [json.loads(text) for text in run(program, "stats", "--json", "--by", "file", name).stdout.splitlines()]
    place = line["channels"][0]
    check((place["min_page"], place["min_page_name"], place["max_page"], place["max_page_name"]) == (2, "1.0", 3, "1.1"), f"{line}")
    check(line["page_list"] == "0-1,1.0,1.1", f"{line}")
    rows = [row.split(",") for row in run(program, "stats", "--csv", name).stdout.decode().splitlines()]
    check([row[1] for row in rows] == ["page", "0", "1", "1.0", "1.1"], f"{rows}")
    rows = run(program, "stats", "--csv", "--by", "file", name).stdout.decode().splitlines()
    columns = rows[0].split(",")
    row = dict(zip(columns, rows[1].replace('"0-1,1.0,1.1"', "-").split(",")))
    check((row["min_page"], row["max_page"]) == ("1.0", "1.1"), f"{rows}")
    rows = run(program, "hist", "--csv", "--bins", "1", name).stdout.decode().splitlines()
    check([row.split(",")[1] for row in rows] == ["page", "0", "1", "1.0", "1.1"], f"{rows}")
    out = [json.loads(line) for line in run(program, "normalize", "--json", name, "-o", folder / "o.tif").stdout.splitlines()]
    check(sorted((line["page"], line.get("page_name")) for line in out) == [(0, None), (1, None), (2, "1.0"), (3, "1.1")], f"{out}")


# ---- Whole structures ------------------------------------------------------------------------------

def test_structures(program, folder):
    name, out = folder / "in.tif", folder / "out.tif"
    texts = {270: (ASCII, b"an image\0"), 305: (ASCII, b"program\0"), 274: (SHORT, [6]), 65000: (LONG, [1, 2, 3]),
             282: (5, [72, 1]), 283: (5, [72, 1]), 296: (SHORT, [2])}
    mask = gray([[255] * WIDTH for _ in range(HEIGHT)], "B", fields={**MASK, 262: (SHORT, [4]), 65001: (SHORT, [9])})
    deep = gray(LEVELS[0], fields={**REDUCED, **texts}, subs=[gray(LEVELS[1], fields={**REDUCED, 65002: (SHORT, [1])})])
    other = gray([[3 * v % 1000 for v in row[:40]] for row in BASE[:30]], fields={254: (LONG, [2]), 297: (SHORT, [1, 2])})
    for order in "<>":
        for big in (False, True):
            if order == ">":
                pages = [gray(BASE, order=order, fields=texts, subs=[gray(LEVELS[0], order=order, fields=REDUCED)])]
            else:
                pages = [gray(BASE, tile=16, fields=texts, subs=[deep]), mask, other]
            name.write_bytes(write(pages, order, big))
            for words in (("normalize",), ("equalize",), ("equalize", "--clahe"), ("normalize", "--together")):
                run(program, *words, "--force", name, "-o", out)
                found = differences(read(name).chain, read(out).chain)
                check(not found, f"{order} {big} {words}: {found}")


if __name__ == "__main__":
    harness.main(globals())
