#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Photographs with EXIF, GPS, XMP, IPTC, a colour profile and thumbnails, as exiftool writes them; and what exiftool reads
in the outputs. usage: test_photographs.py IMGSTAT"""

import json
import shutil
import struct
import subprocess
import zlib

import harness
from harness import check, has, png, run, skip, tiff
from tiff_tree import ASCII, BYTE, LONG, LONG8, RATIONAL, SHORT, UNDEFINED, differences, gray, read, write

WIDTH, HEIGHT = 64, 48
TAGS = ["EXIF:Make=A maker", "EXIF:Model=M 1", "EXIF:Orientation#=6", "EXIF:ExposureTime=1/250", "EXIF:Artist=Ä. Mé",
        "EXIF:DateTimeOriginal=2026:01:02 03:04:05", "EXIF:UserComment=ä ß", "EXIF:ISO=200", "GPSLatitude=48.2",
        "GPSLatitudeRef=N", "GPSLongitude=16.3", "GPSLongitudeRef=E", "XMP-dc:Title=A title é", "XMP:Rating=4",
        "XMP-dc:Subject=a", "XMP-dc:Subject=b", "IPTC:Keywords=k1", "IPTC:Keywords=k2", "IPTC:City=Wien",
        "IPTC:CodedCharacterSet=UTF8"]


def jpeg(width, height):
    """The beginning and the end of one, for a thumbnail."""
    frame = struct.pack(">HHBHHB", 0xffc0, 17, 8, height, width, 3) + bytes([1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])
    return b"\xff\xd8" + b"\xff\xdb\0\x43\0" + bytes(range(1, 65)) + frame + b"\xff\xd9"


def profile(colours):
    """An ICC profile of "GRAY" or "RGB ": a header, a table of one tag, a curve."""
    curve = b"curv\0\0\0\0" + struct.pack(">IHH", 1, 0x0233, 0)
    body = struct.pack(">I4sII", 1, b"kTRC", 144, len(curve)) + curve
    head = struct.pack(">I4sI4s4s4s", 128 + len(body), b"lcms", 0x04300000, b"mntr", colours, b"XYZ ")
    return (head + struct.pack(">6H", 2026, 1, 2, 3, 4, 5) + b"acsp").ljust(128, b"\0") + body


def make_inputs(folder):
    folder.mkdir()
    values = [60 + (x * k + y) % 90 for y in range(HEIGHT) for x in range(WIDTH) for k in (1, 2, 3)]
    (folder / "p8.tif").write_bytes(tiff("u8", WIDTH, HEIGHT, values, 3))
    (folder / "p16.tif").write_bytes(tiff("u16", WIDTH, HEIGHT, [300 * v for v in values], 3))
    rows = [[300 * v for v in values[3 * WIDTH * y:3 * WIDTH * (y + 1):3]] for y in range(HEIGHT)]
    (folder / "be.tif").write_bytes(write([gray(rows, order=">", rows_per_strip=9)], ">"))
    (folder / "p8.png").write_bytes(png(WIDTH, HEIGHT, 8, bytes(values[::3])))
    (folder / "p16.png").write_bytes(png(WIDTH, HEIGHT, 16, struct.pack(f">{WIDTH * HEIGHT}H", *[250 * v for v in values[::3]])))
    thumbnail, icc = folder.parent / "thumbnail.jpg", folder.parent / "profile.icc"
    thumbnail.write_bytes(jpeg(40, 30))
    for colours, names, words in ((b"RGB ", ("p8.tif", "p16.tif"), [f"-PhotoshopThumbnail<={thumbnail}"]),
                                  (b"GRAY", ("be.tif",), [f"-PhotoshopThumbnail<={thumbnail}"]),
                                  (b"GRAY", ("p8.png", "p16.png"), [f"-IFD1:ThumbnailImage<={thumbnail}",
                                                                    f"-PhotoshopThumbnail<={thumbnail}"])):
        icc.write_bytes(profile(colours))
        subprocess.run(["exiftool", "-q", "-m", "-overwrite_original", *[f"-{tag}" for tag in TAGS], f"-ICC_Profile<={icc}",
                        *words, *[folder / name for name in names]], check=True)
    # A page that other programs add as thumbnail.
    small = [[v // 2 for v in row[::2]] for row in rows[:24:3]]
    (folder / "page.tif").write_bytes(write([gray(rows), gray(small, fields={254: (LONG, [1])})]))
    return {path.name: path for path in sorted(folder.iterdir())}


def tags(paths):
    """For each file: group, name and value of all that exiftool finds in it."""
    done = subprocess.run(["exiftool", "-j", "-a", "-u", "-e", "-n", "-G1", *paths], capture_output=True, check=True)
    return {path.name: found for path, found in zip(paths, json.loads(done.stdout))}


# What exiftool may show otherwise, and why.
EXPLAINED = {"SourceFile": "the name", "System": "name, size and dates of the file",
             "IFD0:StripOffsets": "where pixels lie", "IFD0:StripByteCounts": "strips are divided otherwise",
             "IFD0:RowsPerStrip": "strips are divided otherwise", "IFD0:PlanarConfiguration": "is always written",
             "IFD0:SampleFormat": "is always written"}
OLD_CONTRAST = ("IFD1:", "Photoshop:PhotoshopThumbnail")  # thumbnails: they go, and warnings name them
NARROW = {"IFD0:BitsPerSample", "PNG:BitDepth"}


def check_output(where, before, after, warned, narrow=False):
    """before, after: a path, and what exiftool finds in it. warned: of a thumbnail."""
    (source, old), (path, new) = before, after
    thumbnail = [key for key in old if key.startswith(OLD_CONTRAST)]
    check(warned == bool(thumbnail), f"{where}: a warning: {warned}")
    check(not [key for key in new if key.startswith(OLD_CONTRAST)], f"{where}: a thumbnail stays")
    for key in {*old, *new} - {*thumbnail}:
        explained = key in EXPLAINED or key.split(":")[0] in EXPLAINED or (narrow and key in NARROW)
        check(explained or old.get(key) == new.get(key), f"{where}: {key} {old.get(key)} becomes {new.get(key)}")
    if source.suffix == ".tif":
        tree, got = read(source), read(path)
        chain = [page for page in tree.chain if page.first(254) == 0]
        found = differences(chain, got.chain, {34377, *({258} if narrow else ())})
        check(not found and got.order == tree.order, f"{where}: {found}")


def test_round_trip(program, folder):
    """Thumbnails kept the old contrast, and were measured. All else stays."""
    if not has("exiftool"):
        return
    inputs = make_inputs(folder / "in")
    before = tags(list(inputs.values()))
    for name in ("p8.png", "p16.png"):
        check("IFD1:ThumbnailLength" in before[name] and "Photoshop:PhotoshopThumbnail" in before[name] and
              "GPS:GPSLatitude" in before[name] and "IPTC:City" in before[name],
              f"{name}: {sorted(before[name])}")
    for name in ("p8.tif", "p16.tif", "be.tif"):
        check("Photoshop:PhotoshopThumbnail" in before[name] and "ICC-header:ColorSpaceData" in before[name] and
              "ExifIFD:ISO" in before[name] and "XMP-dc:Subject" in before[name], f"{name}: {sorted(before[name])}")
    for words in ("normalize --clip 0.5,0.5", "normalize --depth 8", "equalize", "equalize --clahe"):
        out = folder / words.replace(" ", "")
        done = run(program, *words.split(), folder / "in", "-o", out)
        after = tags([out / name for name in inputs])
        for name in before:
            warned = f"/{name}: warning: its " in done.stderr.decode()
            check_output(f"{words} {name}", (inputs[name], before[name]), (out / name, after[name]), warned, "8" in words)


def test_other_formats(program, folder):
    """From TIFF to PNG and back: all that both can hold."""
    if not has("exiftool"):
        return
    inputs = make_inputs(folder / "in")
    for name, other in (("p8.tif", "a.png"), ("p16.tif", "b.png"), ("be.tif", "c.png"), ("p8.png", "d.tif"), ("p16.png", "e.tif")):
        run(program, "normalize", inputs[name], "-o", folder / other)
    before = tags([inputs[name] for name in ("p8.tif", "p16.tif", "be.tif", "p8.png", "p16.png")])
    after = tags([folder / name for name in ("a.png", "b.png", "c.png", "d.tif", "e.tif")])
    for old, new in zip(before.values(), after.values()):
        crossing = [key for key in old if key.split(":")[0] in ("ExifIFD", "GPS", "ICC-header", "ICC_Profile", "IPTC") or
                    key.startswith("XMP-") or key in ("IFD0:Make", "IFD0:Model", "IFD0:Orientation")]
        check(len(crossing) > 25, f"{crossing}")
        for key in crossing:
            check(old[key] == new.get(key), f"{old['SourceFile']} to {new['SourceFile']}: {key} {old[key]} becomes {new.get(key)}")
        artist = new.get("PNG:Author", new.get("IFD0:Artist"))
        check(artist == old["IFD0:Artist"], f"{new['SourceFile']}: artist {artist}")


THUMBNAIL = b"8BIM\x04\x0c\0\0" + struct.pack(">I", 4) + b"abcd"
THUMBNAIL_BGR = b"8BIM\x04\x09\0\0" + struct.pack(">I", 3) + b"abc\0"
URL = b"8BIM\x04\x0b\0\0" + struct.pack(">I", 3) + b"url\0"
CITY = b"\x1c\x02\x5a" + struct.pack(">H", 4) + b"Wien"
IPTC = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(CITY)) + CITY + b"\0"
TEXTS = {"tEXt": (b"tEXt", b"", False), "zTXt": (b"zTXt", b"\0", True), "iTXt": (b"iTXt", b"\0\0en\0a name\0", False),
         "deflated iTXt": (b"iTXt", b"\1\0\0\0", True)}
OLD = b"is left out: it shows the old contrast"


def with_profile(image, keyword, kind, data):
    """A PNG with a raw profile behind its header."""
    chunk, flags, deflated = TEXTS[kind]
    text = b"\n" + keyword + b"\n%8d\n" % len(data) + data.hex().encode() + b"\n"
    body = b"Raw profile type " + keyword + b"\0" + flags + (zlib.compress(text) if deflated else text)
    return image[:33] + harness.png_chunk(chunk, body) + image[33:]


def raw_profiles(data):
    at, found = 8, []
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body, at = data[at + 8:at + 8 + n], at + 12 + n
        if kind in (b"tEXt", b"zTXt", b"iTXt") and body.startswith(b"Raw profile type "):
            keyword, text = body[17:].split(b"\0", 1)
            deflated = kind == b"zTXt" or (kind == b"iTXt" and text[0] == 1)
            text = text[2:].split(b"\0", 2)[2] if kind == b"iTXt" else text[1:] if deflated else text
            text = zlib.decompress(text) if deflated else text
            found.append((keyword, bytes.fromhex("".join(text.decode().split("\n")[3:]))))
    return found


def test_only_thumbnail(program, folder):
    """Texts of Photoshop's resources as others write them: "8bim", deflated or not, iTXt, which kept the old contrast in
    silence; one with nothing but a thumbnail goes."""
    image = png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    for keyword in (b"8bim", b"iptc"):
        for kind in TEXTS:
            for resources, left in ((THUMBNAIL, None), (URL + THUMBNAIL, URL), (THUMBNAIL + URL, URL), (URL, URL),
                                    (THUMBNAIL_BGR + URL + THUMBNAIL, URL)):
                (folder / "a.png").write_bytes(with_profile(image, keyword, kind, resources))
                done = run(program, "normalize", "--clip", "1,1", "--force", folder / "a.png", "-o", folder / "b.png")
                where = f"{keyword} {kind} {resources}"
                check((b"its Photoshop thumbnail " + OLD in done.stderr) == (left != resources), f"{where}: {done.stderr}")
                found = raw_profiles((folder / "b.png").read_bytes())
                check(found == ([(keyword, left)] if left else []), f"{where}: {found}")


def exif(big_endian, thumbnail):
    """EXIF data as in a raw profile: the maker, and a directory with a JPEG."""
    order = ">" if big_endian else "<"
    second = struct.pack(order + "HHHIIHHIII", 2, 513, 4, 1, 56, 514, 4, 1, len(thumbnail), 0) if thumbnail else b""
    first = struct.pack(order + "HHHI4sI", 1, 271, 2, 3, b"Me\0\0", 26 if thumbnail else 0)
    return b"Exif\0\0" + struct.pack(order + "2sHI", b"MM" if big_endian else b"II", 42, 8) + first + second + thumbnail


def test_exif_in_texts(program, folder):
    """EXIF data in a text, as ImageMagick wrote them, kept their thumbnail, and went from PNG to TIFF in silence."""
    image = png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    for keyword, kind, big_endian in ((b"exif", "zTXt", True), (b"APP1", "tEXt", False), (b"exif", "iTXt", False)):
        for thumbnail in (b"", jpeg(40, 30)):
            data, where = exif(big_endian, thumbnail), f"{keyword} {kind} {len(thumbnail)}"
            (folder / "a.png").write_bytes(with_profile(image, keyword, kind, data))
            done = run(program, "normalize", "--clip", "1,1", "--force", folder / "a.png", "-o", folder / "b.png")
            check((b"its EXIF thumbnail " + OLD in done.stderr) == bool(thumbnail), f"{where}: {done.stderr}")
            [(got, left)] = raw_profiles((folder / "b.png").read_bytes())
            check(got == keyword and left == exif(big_endian, b""), f"{where}: {left}")
            done = run(program, "normalize", "--clip", "1,1", "--force", folder / "a.png", "-o", folder / "b.tif")
            check((b"its EXIF thumbnail " + OLD in done.stderr) == bool(thumbnail), f"{where} to TIFF: {done.stderr}")
            [page] = read(folder / "b.tif").chain
            check(page.fields.get(271) == (b"Me\0",), f"{where} to TIFF: {page.fields.get(271)}")


def test_resources(program, folder):
    """Photoshop's resources went between PNG and TIFF in silence, thumbnails and all."""
    image = png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    rows = [[x * y for x in range(9)] for y in range(9)]
    for resources in (IPTC + URL + THUMBNAIL, THUMBNAIL_BGR + URL, URL + IPTC, THUMBNAIL, IPTC):
        others, iptc = (URL,) if URL in resources else None, (CITY,) if IPTC in resources else None
        warned = THUMBNAIL in resources or THUMBNAIL_BGR in resources
        for keyword in (b"8bim", b"iptc"):
            (folder / "a.png").write_bytes(with_profile(image, keyword, "zTXt", resources))
            done = run(program, "normalize", "--force", folder / "a.png", "-o", folder / "b.tif")
            [page] = read(folder / "b.tif").chain
            got = page.fields.get(34377), page.fields.get(33723)
            want = others and tuple(URL), iptc
            check(got == want, f"{keyword} {resources} to TIFF: {got}")
            check((done.stderr.count(b"thumbnail " + OLD) == 1) == warned, f"{keyword} {resources}: {done.stderr}")
        (folder / "a.tif").write_bytes(write([gray(rows, fields={34377: (BYTE, list(resources))})]))
        done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "b.png")
        found = dict(raw_profiles((folder / "b.png").read_bytes()))
        want = {**({b"iptc": IPTC} if iptc else {}), **({b"8bim": URL} if others else {})}
        check(found == want, f"{resources} to PNG: {found}")
        check((b"thumbnail " + OLD in done.stderr) == warned, f"{resources} to PNG: {done.stderr}")
    two = with_profile(with_profile(image, b"8bim", "zTXt", URL), b"iptc", "tEXt", URL.replace(b"url", b"lru"))
    (folder / "a.png").write_bytes(two)
    done = run(program, "normalize", "--force", folder / "a.png", "-o", folder / "b.tif")
    check(b"has two lists of Photoshop's image resources; one is left out" in done.stderr, f"{done.stderr}")
    (folder / "a.png").write_bytes(with_profile(image, b"8bim", "zTXt", URL + URL[:9]))
    done = run(program, "normalize", "--force", folder / "a.png", "-o", folder / "b.tif")
    check(b"image resources are damaged and left out from byte 16 of 25 on" in done.stderr, f"{done.stderr}")


def imagemagick():
    """Its program; None, said aloud: there is none."""
    for name in ("magick", "convert-im7.q16", "convert-im6.q16", "convert"):
        path = shutil.which(name)
        if path and b"Version: ImageMagick" in subprocess.run([path, "-version"], capture_output=True, check=False).stdout:
            return path
    skip("ImageMagick is not installed")
    return None


def test_imagemagick(program, folder):
    """Resources of a JPEG file in what ImageMagick makes of it: between PNG and TIFF all but thumbnails stays."""
    convert = imagemagick()
    if not convert or not has("exiftool"):
        return
    thumbnail, source = folder / "thumbnail.jpg", folder / "a.jpg"
    thumbnail.write_bytes(jpeg(40, 30))
    subprocess.run([convert, "-size", "64x48", "gradient:", source], check=True)
    subprocess.run(["exiftool", "-q", "-overwrite_original", f"-IFD1:ThumbnailImage<={thumbnail}",
                    f"-PhotoshopThumbnail<={thumbnail}", "-IPTC:City=Wien", "-Photoshop:URL=http://a.b", "-EXIF:Make=M",
                    source], check=True)
    for first, second in (("a.png", "b.png"), ("a.png", "b.tif"), ("a.tif", "b.tif"), ("a.tif", "b.png")):
        subprocess.run([convert, source, folder / first], check=True)
        [old] = tags([folder / first]).values()
        check("Photoshop:PhotoshopThumbnail" in old and "Photoshop:URL" in old, f"{first}: {sorted(old)}")
        done = run(program, "equalize", "--force", folder / first, "-o", folder / second)
        [new] = tags([folder / second]).values()
        where = f"{first} to {second}"
        check(b"its Photoshop thumbnail " + OLD in done.stderr, f"{where}: {done.stderr}")
        check(not [key for key in new if "humbnail" in key], f"{where}: {sorted(new)}")
        city = [value for key, value in new.items() if key.split(":")[0].startswith("IPTC") and key.endswith(":City")]
        check(new.get("Photoshop:URL") == "http://a.b" and city and {*city} == {"Wien"}, f"{where}: {new}")


def test_left_out(program, folder):
    """What PNG cannot hold went without a word."""
    for name, fields, words in (("icc", {34675: (UNDEFINED, profile(b"RGB "))}, b"its colour profile is not for gray samples"),
                                ("short", {34675: (UNDEFINED, b"short")}, b"its colour profile is damaged"),
                                ("dpi", {282: (RATIONAL, [4000000000, 1]), 283: (RATIONAL, [4000000000, 1]),
                                         296: (SHORT, [2])}, b"its resolution of")):
        path = folder / f"{name}.tif"
        path.write_bytes(write([gray([[x * y for x in range(9)] for y in range(9)], fields=fields)]))
        done = run(program, "normalize", "--force", path, "-o", folder / "o.png")
        check(words in done.stderr and b"is left out" in done.stderr, f"{name}: {done.stderr}")


def test_shape_of_pixels(program, folder):
    """A resolution without a unit is the shape of a pixel: 1.2 by 1.4 became 1 by 1."""
    rows = [[x * y for x in range(9)] for y in range(9)]
    for x, y, wanted in (([6, 5], [7, 5], (1200, 1400)), ([3, 1], [2, 1], (3, 2)), ([1, 4], [1, 2], (2500, 5000))):
        fields = {282: (RATIONAL, x), 283: (RATIONAL, y), 296: (SHORT, [1])}
        (folder / "a.tif").write_bytes(write([gray(rows, fields=fields)]))
        done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "a.png")
        data = (folder / "a.png").read_bytes()
        at = data.find(b"pHYs") + 4
        got = struct.unpack(">IIB", data[at:at + 9])
        check(got == (*wanted, 0) and done.stderr == b"", f"{x} {y}: {got} {done.stderr}")
    image = png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    (folder / "b.png").write_bytes(image[:33] + harness.png_chunk(b"pHYs", struct.pack(">IIB", 0, 0, 1)) + image[33:])
    done = run(program, "normalize", "--force", folder / "b.png", "-o", folder / "b.tif")
    check(282 not in read(folder / "b.tif").chain[0].fields and b"its resolution of 0 x 0" in done.stderr, f"{done.stderr}")


def test_texts_of_parts(program, folder):
    """A photographer and an editor lost the editor, as all texts behind a NUL did; XMP in UTF-16 became one letter."""
    rows = [[x * y for x in range(9)] for y in range(9)]
    xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>'
    for order, data, kept in (("utf-8", b"\0", True), ("utf-16-le", b"", False), ("utf-16-be", b"", False)):
        fields = {33432: (ASCII, b"A photographer\0An editor\0"), 700: (BYTE, list(xmp.encode(order) + data))}
        (folder / "a.tif").write_bytes(write([gray(rows, fields=fields)]))
        done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "a.png")
        out = (folder / "a.png").read_bytes()
        check(b"Copyright\0\0\0\0\0A photographer\nAn editor" in out, f"{order}: {out}")
        check((b"XML:com.adobe.xmp\0\0\0\0\0" + xmp.encode() in out) == kept, f"{order}: {out}")
        check((done.stderr == b"") == kept and (b"its XMP is not UTF-8 and is left out" in done.stderr) != kept, f"{done.stderr}")
        done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "b.tif")
        [page] = read(folder / "b.tif").chain
        check(page.fields[33432] == (fields[33432][1],) and done.stderr == b"", f"{order}: {done.stderr}")


def test_order_of_exif(program, folder):
    """Bytes that no type describes, as of a comment in UTF-16, are in the order of the EXIF data; from PNG to TIFF the order
    changed around them."""
    image = png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    for order, head in ((">", b"MM"), ("<", b"II")):
        comment = b"UNICODE\0" + "Größe".encode("utf-16-be" if order == ">" else "utf-16-le")
        first = struct.pack(order + "HHHII", 1, 34665, 4, 1, 26) + bytes(4)
        second = struct.pack(order + "HHHII", 1, 37510, 7, len(comment), 44) + bytes(4) + comment
        data = head + struct.pack(order + "HI", 42, 8) + first + second
        (folder / "a.png").write_bytes(image[:33] + harness.png_chunk(b"eXIf", data) + image[33:])
        run(program, "normalize", "--clip", "1,1", "--force", folder / "a.png", "-o", folder / "a.tif")
        tree = read(folder / "a.tif")
        [exif_data] = tree.chain[0].sub[34665]
        check(tree.order == order and exif_data.fields[37510] == (comment,), f"{head}: {tree.order} {exif_data.fields}")
        run(program, "normalize", "--clip", "1,1", "--force", folder / "a.png", "-o", folder / "b.png")
        was, became = (json.loads(run(program, "--json", folder / name).stdout) for name in ("b.png", "a.tif"))
        check(was["channels"] == became["channels"], f"{head}: {became}")


def test_exif_of_bigtiff(program, folder):
    """Numbers of 64 bits, which EXIF data in a BigTIFF may have, went into PNG, where EXIF data have none."""
    rows = [[x * y for x in range(9)] for y in range(9)]
    for order in "<>":
        def content(at):
            return write([gray(rows, order=order, fields={34665: (LONG8, [at])})], order, True)
        at = len(content(0)) + len(content(0)) % 2
        below = struct.pack(order + "Q", 2) + struct.pack(order + "HHQQ", 40962, 16, 1, 9) + struct.pack(
            order + "HHQ3H2x", 41492, 3, 3, 1, 2, 3) + bytes(8)
        (folder / "a.tif").write_bytes(content(at).ljust(at, b"\0") + below)
        done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "a.png")
        data = (folder / "a.png").read_bytes()
        at = data.find(b"eXIf")
        (folder / "exif.tif").write_bytes(data[at + 4:at + 4 + struct.unpack(">I", data[at - 4:at])[0]])
        tree = read(folder / "exif.tif")
        [found] = tree.chain[0].sub[34665]
        check(found.fields == {40962: (9,), 41492: (1, 2, 3)} and found.kinds == {40962: LONG, 41492: SHORT}, f"{order}: {found.kinds}")
        check(tree.order == order and done.stderr == b"", f"{order}: {done.stderr}")


def test_only_here(program, folder):
    """What the other format has no place for went without a word; so did chunks that may not hold for other samples."""
    rows = [[x * y for x in range(9)] for y in range(9)]
    fields = {33550: (12, [1.0, 1.0, 0.0]), 42112: (ASCII, b"<GDALMetadata/>\0"), 65000: (SHORT, [7]),
              285: (ASCII, b"a page\0"), 305: (ASCII, b"a program\0"), 280: (SHORT, [3])}
    (folder / "a.tif").write_bytes(write([gray(rows, fields=fields)]))
    done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "b.png")
    check(b"only TIFF has a place for these of its fields, left out: " in done.stderr, f"{done.stderr}")
    named = {*done.stderr.decode().split("left out: ")[-1].splitlines()[0].split(", ")}
    check(named == {"PageName", "33550", "42112", "65000"}, f"to PNG: {named}")
    for text, stays in (("ImageJ=1.53t\nmin=3\nmax=64\n", False), ('{"shape": [9, 9]}', False), ("a view", True)):
        (folder / "a.tif").write_bytes(write([gray(rows, fields={270: (ASCII, text.encode() + b"\0")})]))
        done = run(program, "normalize", "--force", folder / "a.tif", "-o", folder / "b.png")
        named = b"left out: ImageDescription\n" in done.stderr
        check(named != stays and (text.encode() in (folder / "b.png").read_bytes()) == stays, f"{text}: {done.stderr}")
    chunk, image = harness.png_chunk, png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    more = (chunk(b"gAMA", struct.pack(">I", 45455)) + chunk(b"bKGD", b"\0\1") + chunk(b"prVW", bytes(9)) +
            chunk(b"tEXt", b"Title\0of it") + chunk(b"tEXt", b"Comment\0on it") + chunk(b"zTXt", b"my\xff\x1bkey\0\0" + zlib.compress(b"x")))
    (folder / "a.png").write_bytes(image[:33] + more + image[33:])
    done = run(program, "normalize", "--force", folder / "a.png", "-o", folder / "b.tif")
    check("left out: gAMA, prVW, Comment, my\ufffd?key\n" in done.stderr.decode(), f"to TIFF: {done.stderr}")
    done = run(program, "normalize", "--force", folder / "a.png", "-o", folder / "b.png")
    got = (folder / "b.png").read_bytes()
    check(done.stderr.count(b"warning") == 1 and b"its prVW chunk is left out" in done.stderr, f"to PNG: {done.stderr}")
    check(b"prVW" not in got and b"gAMA" in got and b"Comment" in got, "to PNG")
    check(run(program, "info", folder / "a.png", folder / "a.tif").stderr == b"", "info loses nothing")


if __name__ == "__main__":
    harness.main(globals())
