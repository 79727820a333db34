#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""IPTC data between TIFF and PNG, which lost them without a word. Where ExifTool is installed, it reads both.

usage: test_iptc.py IMGSTAT
"""

import shutil
import struct
import subprocess
import zlib

import harness
from harness import check, png, png_chunk, run, skip
from tiff_tree import BYTE, LONG, UNDEFINED, gray, read, write

IPTC = b"".join(b"\x1c\x02" + bytes([kind]) + struct.pack(">H", len(text)) + text
                for kind, text in ((25, b"alpha"), (25, b"beta"), (120, "Zürich".encode())))
TAG, PHOTOSHOP = 33723, 34377
METHOD = ("normalize", "--method", "gamma=1")
BIM = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(IPTC)) + IPTC + b"\0" * (len(IPTC) % 2)
OTHER = b"8BIM\x03\xed\x03abc" + struct.pack(">I", 3) + b"xyz\0"


def words(data, order):
    """As numbers of 32 bits in the order of the file, which is how some programs write bytes."""
    padded = data + b"\0" * (-len(data) % 4)
    return struct.unpack(f"{order}{len(padded) // 4}I", padded)


def profiles(path):
    """The texts of raw profiles in a PNG."""
    data, at, out = path.read_bytes(), 8, []
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        at += 12 + size
        if kind == b"zTXt" and body.startswith(b"Raw profile type iptc\0"):
            out.append(zlib.decompress(body.split(b"\0", 1)[1][1:]))
    return out


def bytes_of(text):
    """The bytes that the text of a raw profile stands for."""
    empty, kind, size, *digits = text.decode().split("\n")
    data = bytes.fromhex("".join(digits))
    check(empty == "" and kind == "IPTC profile" and int(size) == len(data), f"{text!r}")
    return data


def raw_profile(data, kind="iptc"):
    return f"\n{kind}\n{len(data):8}\n{data.hex()}\n".encode()


def of_exiftool(path):
    done = subprocess.run(["exiftool", "-j", "-IPTC:all", "-charset", "iptc=utf8", path], capture_output=True, check=False)
    return b'"Keywords": ["alpha","beta"]' in done.stdout and "Zürich".encode() in done.stdout


def test_tiff_to_png(program, folder):
    rows = [[7, 9], [3, 1]]
    cases = {"undefined": ("<", {TAG: (UNDEFINED, IPTC)}), "bytes": (">", {TAG: (BYTE, IPTC)}),
             "numbers": ("<", {TAG: (LONG, words(IPTC, "<"))}), "big-endian numbers": (">", {TAG: (LONG, words(IPTC, ">"))}),
             "numbers in another order": ("<", {TAG: (LONG, words(IPTC, ">"))}),
             "Photoshop": ("<", {PHOTOSHOP: (BYTE, OTHER + BIM)})}
    for name, (order, fields) in cases.items():
        source = folder / "in.tif"
        source.write_bytes(write([gray(rows, "B", order, fields={tag: (kind, list(values)) for tag, (kind, values)
                                                                 in fields.items()})], order))
        done = run(program, *METHOD, "--force", source, "-o", folder / "out.png")
        check(done.stderr == b"", f"{name}: {done.stderr!r}")
        found = profiles(folder / "out.png")
        check(len(found) == 1 and bytes_of(found[0]) == BIM, f"{name}: {found}")
        if shutil.which("exiftool"):
            check(of_exiftool(folder / "out.png"), f"{name}: ExifTool reads them")
        run(program, *METHOD, "--force", folder / "out.png", "-o", folder / "back.tif")
        [page] = read(folder / "back.tif").chain
        check(page.fields.get(TAG) == (IPTC,), f"{name}: and back: {page.fields.get(TAG)}")
        run(program, *METHOD, "--force", folder / "out.png", "-o", folder / "again.png")
        check(profiles(folder / "again.png") == found, f"{name}: PNG to PNG")
        info = run(program, "info", "--json", source).stdout
        check(info.count(b'"iptc"') == 1 and b'"iptc"' in run(program, "info", "--json", folder / "out.png").stdout, f"{name}: {info}")
    if not shutil.which("exiftool"):
        skip("what ExifTool reads: it is not installed")


def test_two_lists(program, folder):
    """IPTC's own field and Photoshop's: PNG has a place for one list, TIFF for both."""
    last = IPTC[:-1] + b"x"
    other = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(last)) + last + b"\0" * (len(last) % 2)
    for second, warned in ((BIM, b""), (other, b"out.png: warning: has two lists of IPTC's data sets; one is left out\n")):
        fields = {TAG: (LONG, list(words(IPTC, "<"))), PHOTOSHOP: (BYTE, list(second))}
        (folder / "in.tif").write_bytes(write([gray([[7, 9], [3, 1]], "B", "<", fields=fields)], "<"))
        done = run(program, *METHOD, "--force", "in.tif", "-o", "out.png", cwd=folder)
        check(done.stderr == warned and len(profiles(folder / "out.png")) == 1, f"{done.stderr}")
        done = run(program, *METHOD, "--force", "in.tif", "-o", "out.tif", cwd=folder)
        check(done.stderr == b"", f"TIFF to TIFF: {done.stderr}")
        before, after = (read(folder / name).chain[0].fields for name in ("in.tif", "out.tif"))
        check(all(before[tag] == after[tag] for tag in (TAG, PHOTOSHOP)), "TIFF to TIFF keeps both")


def test_png_to_tiff(program, folder):
    """As IPTC data themselves (ImageMagick) and as a resource of Photoshop (ExifTool, exiv2)."""
    plain = png(2, 2, 8, bytes([1, 2, 3, 4]))
    at = plain.index(b"IDAT") - 4
    for data in (IPTC, BIM, OTHER + BIM, IPTC + b"\0\0"):
        for kind, chunk in (("zTXt", b"\0" + zlib.compress(raw_profile(data))), ("tEXt", raw_profile(data))):
            (folder / "in.png").write_bytes(plain[:at] + png_chunk(kind.encode(), b"Raw profile type iptc\0" + chunk) + plain[at:])
            done = run(program, *METHOD, "--force", folder / "in.png", "-o", folder / "out.tif")
            [page] = read(folder / "out.tif").chain
            check(done.stderr == b"" and page.fields.get(TAG) == (IPTC,), f"{kind}, {data[:4]}: {page.fields.get(TAG)}")
    for text in (b"", b"\n", b"\niptc\n", b"\niptc\n  99999999999999\n00\n", b"\niptc\n 3\n1c0\n", b"\niptc\n 2\n1cxx\n",
                 b"\niptc\n 4\n1c1c\n", raw_profile(b"8BIM\x04\x04\xff"), raw_profile(b"8BIM\x04\x04\0\0\xff\xff\xff\xff\x1c"),
                 raw_profile(b"")):
        (folder / "in.png").write_bytes(plain[:at] + png_chunk(b"tEXt", b"Raw profile type iptc\0" + text) + plain[at:])
        run(program, *METHOD, "--force", folder / "in.png", "-o", folder / "out.tif")
        [page] = read(folder / "out.tif").chain
        check(TAG not in page.fields, f"{text!r}: damaged ones are left out: {page.fields.get(TAG)}")


if __name__ == "__main__":
    harness.main(globals())
