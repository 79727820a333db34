#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Photographs with EXIF, GPS, XMP, IPTC, a colour profile and thumbnails, as exiftool writes them; and what exiftool reads
in the outputs. usage: test_photographs.py IMGSTAT"""

import json
import struct
import subprocess
import zlib

import harness
from harness import check, has, png, run, tiff
from tiff_tree import LONG, RATIONAL, SHORT, UNDEFINED, differences, gray, read, write

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
        for name, old in before.items():
            new, where = after[name], f"{words} {name}"
            warned = f"/{name}: warning: its " in done.stderr.decode()
            thumbnail = [key for key in old if key.startswith(OLD_CONTRAST)]
            check(warned == bool(thumbnail), f"{where}: {done.stderr.decode()}")
            check(not [key for key in new if key.startswith(OLD_CONTRAST)], f"{where}: a thumbnail stays")
            for key in {*old, *new} - {*thumbnail}:
                explained = key in EXPLAINED or key.split(":")[0] in EXPLAINED or ("8" in words and key in NARROW)
                check(explained or old.get(key) == new.get(key), f"{where}: {key} {old.get(key)} becomes {new.get(key)}")
            if name.endswith(".tif"):
                tree, got = read(inputs[name]), read(out / name)
                chain = [page for page in tree.chain if page.first(254) == 0]
                found = differences(chain, got.chain, {34377, *({258} if "8" in words else ())})
                check(not found and got.order == tree.order, f"{where}: {found}")


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


def test_only_thumbnail(program, folder):
    """Texts of Photoshop's resources as others write them: "8bim", not deflated; one with nothing but a thumbnail goes."""
    thumbnail = b"8BIM\x04\x0c\0\0" + struct.pack(">I", 4) + b"abcd"
    caption = b"8BIM\x04\x0b\0\0" + struct.pack(">I", 3) + b"url\0"
    image = png(WIDTH, HEIGHT, 8, bytes(i % 90 for i in range(WIDTH * HEIGHT)))
    for keyword, kind in ((b"8bim", b"tEXt"), (b"iptc", b"zTXt"), (b"8bim", b"zTXt")):
        for resources, left in ((thumbnail, None), (caption + thumbnail, caption), (thumbnail + caption, caption),
                                (caption, caption)):
            text = b"\n" + keyword + b"\n%8d\n" % len(resources) + resources.hex().encode() + b"\n"
            data = b"Raw profile type " + keyword + b"\0" + (text if kind == b"tEXt" else b"\0" + zlib.compress(text))
            (folder / "a.png").write_bytes(image[:33] + harness.png_chunk(kind, data) + image[33:])
            done = run(program, "normalize", "--clip", "1,1", "--force", folder / "a.png", "-o", folder / "b.png")
            where = f"{keyword} {kind} {resources}"
            check((b"its Photoshop thumbnail is left out" in done.stderr) == (left != resources), f"{where}: {done.stderr}")
            found = raw_profiles((folder / "b.png").read_bytes())
            check(found == ([(keyword, left)] if left else []), f"{where}: {found}")


def raw_profiles(data):
    at, found = 8, []
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body, at = data[at + 8:at + 8 + n], at + 12 + n
        if kind in (b"tEXt", b"zTXt") and body.startswith(b"Raw profile type "):
            keyword, text = body[17:].split(b"\0", 1)
            text = text if kind == b"tEXt" else zlib.decompress(text[1:])
            found.append((keyword, bytes.fromhex("".join(text.decode().split("\n")[3:]))))
    return found


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


if __name__ == "__main__":
    harness.main(globals())
