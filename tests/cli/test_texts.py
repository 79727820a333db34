#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fields of TIFF files that describe values or pages must be true of outputs. usage: test_texts.py IMGSTAT"""

import json
import struct
import zlib

import harness
from harness import check, png_chunk, run
from tiff_tree import ASCII, BYTE, IFD, LONG, RATIONAL, SHORT, UNDEFINED, Page, gray, read, write

DESCRIPTION, PHOTOSHOP, LAYERS, GDAL, IJ_COUNTS, IJ_DATA = 270, 34377, 37724, 42112, 50838, 50839
WIDTH, HEIGHT = 8, 6


def pages_file(pages, order="<"):
    """16-bit gray pages; pages: extra fields for each: number -> text, bytes or numbers; samples: of a pixel."""
    out = []
    for number, extra in enumerate(pages):
        samples = extra.get("samples", 1)
        values = [200 + 10 * number + (i * 37) % 300 for i in range(WIDTH * HEIGHT * samples)]
        fields = {256: (LONG, [WIDTH]), 257: (LONG, [HEIGHT]), 258: (SHORT, [16] * samples), 259: (SHORT, [1]),
                  262: (SHORT, [1]), 277: (SHORT, [samples]), 278: (LONG, [HEIGHT])}
        if samples > 1:
            fields[338] = (SHORT, [0] * (samples - 1))
        fields.update({tag: (ASCII, value.encode() + b"\0") if isinstance(value, str) else
                       (BYTE, list(value)) if isinstance(value, bytes) else (LONG, value)
                       for tag, value in extra.items() if tag != "samples"})
        out.append(Page(fields, [struct.pack(f"{order}{len(values)}H", *values)]))
    return write(out, order)


def read_pages(path):
    """A dictionary of fields for each page: texts without their NUL, bytes, or lists of numbers."""
    shown = {ASCII: lambda values: values[0][:-1].decode(), UNDEFINED: lambda values: values[0], BYTE: bytes, SHORT: list,
             LONG: list}
    return [{tag: shown[page.kinds[tag]](values) for tag, values in page.fields.items() if page.kinds[tag] in shown}
            for page in read(path).chain]


def transform(program, folder, content, *words, pages="", command=("normalize",)):
    """Fields of the output, and what stderr has."""
    name, out = folder / "in.tif", folder / "out.tif"
    name.write_bytes(content)
    done = run(program, *command, "--force", *words, f"{name}[{pages}]" if pages else name, "-o", out)
    return read_pages(out), done.stderr.decode()


def test_page_numbers(program, folder):
    """Pages that were chosen kept the numbers that they had among all."""
    content = pages_file([{297: [page, 4]} for page in range(3)] + [{}])
    for chosen, numbers in ("", [[0, 4], [1, 4], [2, 4], None]), ("1-3", [[0, 3], [1, 3], None]), ("2", [[0, 1]]):
        pages, _ = transform(program, folder, content, pages=chosen)
        check([page.get(297) for page in pages] == numbers, f"pages {chosen or 'all'}: {[page.get(297) for page in pages]}")


# ---- ImageJ ----------------------------------------------------------------------------------------

HYPERSTACK = ("ImageJ=1.53t\nimages=12\nchannels=3\nslices=2\nframes=2\nhyperstack=true\nmode=composite\n"
              "unit=micron\nmin=80.0\nmax=1010.0\n")


def imagej_metadata(order):
    """Ranges and tables of 3 channels, a label for each of 12 planes, and an overlay."""
    name = (lambda text: text) if order == ">" else (lambda text: text[::-1])
    pieces = [struct.pack(order + "6d", *[80.0, 1010.0] * 3), b"LUT0", b"LUT1", b"LUT2"]
    pieces += [f"{i:02}".encode("utf-16-be" if order == ">" else "utf-16-le") for i in range(12)] + [b"overlay"]
    head = name(b"IJIJ") + b"".join(name(kind) + struct.pack(order + "I", n) for kind, n in
                                    ((b"rang", 1), (b"luts", 3), (b"labl", 12), (b"over", 1)))
    return {IJ_COUNTS: [len(head)] + [len(piece) for piece in pieces], IJ_DATA: head + b"".join(pieces)}


def hyperstack(order="<", extra=""):
    return pages_file([{DESCRIPTION: HYPERSTACK + extra, **imagej_metadata(order)}] + [{}] * 11, order)


def test_imagej_display_range(program, folder):
    """min=, max= and Ranges stayed: the output opened white."""
    for order in "<>":
        pages, _ = transform(program, folder, hyperstack(order), "--depth", "8", "--together")
        check(pages[0][DESCRIPTION] == HYPERSTACK.replace("80.0", "0.0").replace("1010.0", "255.0"),
              f"description: {pages[0][DESCRIPTION]!r}")
        start = pages[0][IJ_COUNTS][0]
        before = imagej_metadata(order)
        check(struct.unpack_from(order + "6d", pages[0][IJ_DATA], start) == (0.0, 255.0) * 3, "Ranges are 0 to 255")
        check(pages[0][IJ_DATA][start + 48:] == before[IJ_DATA][start + 48:], "tables, labels and overlay stay")
        check(pages[0][IJ_COUNTS] == before[IJ_COUNTS], "byte counts stay")


def test_imagej_given_range(program, folder):
    pages, _ = transform(program, folder, hyperstack(), "--out-range", "100,900")
    check("\nmin=100.0\nmax=900.0\n" in pages[0][DESCRIPTION], pages[0][DESCRIPTION])


def test_imagej_no_range(program, folder):
    """Floats of meanstd have no range: ImageJ got all numbers that there are, which it shows as one gray."""
    for depth in ("float", "16"):
        pages, _ = transform(program, folder, hyperstack(), "--method", "meanstd=50%,10%", "--depth", depth)
        start = pages[0][IJ_COUNTS][0]
        has = ("\nmin=" in pages[0][DESCRIPTION], "\nmax=" in pages[0][DESCRIPTION], b"gnar" in pages[0][IJ_DATA][:start])
        check(has == (depth == "16",) * 3, f"{depth}: {pages[0][DESCRIPTION]}")
    pages, _ = transform(program, folder, hyperstack(), "--method", "meanstd=1,2", "--depth", "float", "--out-range", "0,9")
    check("\nmin=0.0\nmax=9.0\n" in pages[0][DESCRIPTION], pages[0][DESCRIPTION])


def test_imagej_calibration(program, folder):
    """A function from old values to physical ones stayed."""
    pages, words = transform(program, folder, hyperstack(extra="cf=0\nc0=1.5\nc1=0.1\nvunit=OD\nloop=false\n"))
    check("c0=" not in pages[0][DESCRIPTION] and "vunit" not in pages[0][DESCRIPTION] and "cf=" not in
          pages[0][DESCRIPTION] and "loop=false" in pages[0][DESCRIPTION], pages[0][DESCRIPTION])
    check("ImageJ's calibration of values is left out: it is true of the old values only" in words, words)


def test_imagej_pages(program, folder):
    """images=12 stayed with one page."""
    pages, _ = transform(program, folder, hyperstack(), pages="0")
    check(pages[0][DESCRIPTION] == "ImageJ=1.53t\nunit=micron\nmin=0.0\nmax=65535.0\n", pages[0][DESCRIPTION])
    pages, _ = transform(program, folder, hyperstack(), pages="1,4,7,10")
    check(len(pages) == 4 and "images=4\nslices=2\nframes=2\nhyperstack=true\nunit" in pages[0][DESCRIPTION],
          pages[0][DESCRIPTION])
    counts, data = pages[0][IJ_COUNTS], pages[0][IJ_DATA]
    check(counts[1:] == [16, 4, 4, 4, 4, 4, 7], f"byte counts: {counts}")
    check(data[counts[0]:].endswith(b"LUT1" + "01040710".encode("utf-16-le") + b"overlay"), f"{data!r}")


# ---- OME-XML and tifffile --------------------------------------------------------------------------

OME = ('<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
       'UUID="urn:uuid:1"><Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" '
       'SignificantBits="12" SizeX="8" SizeY="6" SizeZ="2" SizeC="3" SizeT="1"><Channel ID="Channel:0:0" Name="DAPI"/>'
       '<Channel ID="Channel:0:1" Name="GFP"/><Channel ID="Channel:0:2" Name="\xb5"/><TiffData IFD="0" PlaneCount="6">'
       '<UUID FileName="in.tif">urn:uuid:1</UUID></TiffData></Pixels></Image></OME>')
OME_FILE = pages_file([{DESCRIPTION: OME}] + [{}] * 5)


def test_ome_type(program, folder):
    """Type stayed uint16 with --depth 8; the name of the input stayed as well."""
    pages, _ = transform(program, folder, OME_FILE, "--depth", "8", "--together")
    expected = OME.replace("uint16", "uint8").replace('Bits="12"', 'Bits="8"').replace(' UUID="urn:uuid:1"', "")
    check(pages[0][DESCRIPTION] == expected.replace('<UUID FileName="in.tif">urn:uuid:1</UUID>', ""),
          pages[0][DESCRIPTION])
    pages, _ = transform(program, folder, OME_FILE, "--depth", "float")
    check('Type="float" SizeX' in pages[0][DESCRIPTION], pages[0][DESCRIPTION])


def test_ome_pages(program, folder):
    """The text promised 6 planes of a file that has one."""
    pages, _ = transform(program, folder, OME_FILE, pages="3")
    text = pages[0][DESCRIPTION]
    check('SizeZ="1" SizeC="1" SizeT="1"><Channel ID="Channel:0:1" Name="GFP"/><TiffData IFD="0" PlaneCount="1"/>'
          in text and "DAPI" not in text, text)
    again = folder / "out.tif"
    done = run(program, "--json", again)
    check(json.loads(done.stdout)["channels"][0]["name"] == "GFP" and done.stderr == b"", f"{done}")


def test_ome_level(program, folder):
    """A level that is written alone took over the text of the images."""
    level = gray([[9 * x + y for x in range(WIDTH // 2)] for y in range(HEIGHT // 2)], fields={254: (LONG, [1])})
    images = [gray([[200 + 30 * x + y + k for x in range(WIDTH)] for y in range(HEIGHT)], subs=[level],
                   fields={} if k else {DESCRIPTION: (ASCII, OME.encode() + b"\0")}) for k in range(6)]
    pages, words = transform(program, folder, write(images), pages="0.0")
    check(len(pages) == 1 and pages[0][256] == [WIDTH // 2] and DESCRIPTION not in pages[0] and words == "", f"{pages} {words}")
    pages, _ = transform(program, folder, write(images), pages="1")
    check('SizeZ="1" SizeC="1"' in pages[0][DESCRIPTION], f"{pages[0]}")


def test_ome_clahe(program, folder):
    pages, _ = transform(program, folder, OME_FILE, "--clahe", "--depth", "8", command=("equalize",))
    check('Type="uint8"' in pages[0][DESCRIPTION] and len(pages) == 6, pages[0][DESCRIPTION])


def test_ome_elsewhere(program, folder):
    """The text is in another file, which finds this one by its UUID: that went. A new sample type contradicted it."""
    text = ('<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:1"><BinaryOnly '
            'MetadataFile="a.companion.ome" UUID="urn:uuid:2"/></OME>')
    content = pages_file([{DESCRIPTION: text}, {}])
    pages, words = transform(program, folder, content, "--together=file")
    check(pages[0].get(DESCRIPTION) == text and words == "", f"{pages[0]} {words}")
    for words, which in ((("--depth", "8"), ""), ((), "0")):
        pages, said = transform(program, folder, content, "--together=file", *words, pages=which)
        check(DESCRIPTION not in pages[0], f"{words}: {pages[0]}")
        check("its OME-XML is left out: " in said, f"{words}: {said}")


def test_channel_names(program, folder):
    name = folder / "in.tif"
    name.write_bytes(OME_FILE)
    lines = run(program, "--json", name).stdout.splitlines()
    check([json.loads(line)["channels"][0]["name"] for line in lines] == ["DAPI", "DAPI", "GFP", "GFP", "\xb5", "\xb5"],
          f"{lines}")


def test_channel_names_on_a_terminal(program, folder):
    """Some characters beyond ASCII control a terminal, too; compare and hist printed them."""
    name, odd = folder / "in.tif", OME.replace('Name="DAPI"', 'Name="\x9b31mDAPI\u202e"')
    name.write_bytes(pages_file([{DESCRIPTION: odd}] + [{}] * 5))
    for words in (["stats", f"{name}[0]"], ["hist", f"{name}[0]"], ["hist", "--plot", "-", f"{name}[0]"],
                  ["info", name], ["compare", f"{name}[0]", f"{name}[2]"]):
        shown = run(program, *words).stdout.decode()
        check("?31mDAPI" in shown and "\x9b" not in shown and "\u202e" not in shown, f"{words}: {shown!r}")


def test_contradictions(program, folder):
    """A text that the pages contradict has no effect, and is named."""
    name = folder / "in.tif"
    for text, words in ((OME.replace('SizeZ="2"', 'SizeZ="2147483647"').replace('PlaneCount="6"', 'PlaneCount="7"'),
                         "its OME-XML contradicts its 6 pages; its axes are not used"),
                        (OME.replace("</Image>", ""), "its OME-XML is damaged or too large; its axes are not used"),
                        ('<!DOCTYPE OME [<!ENTITY a "b">]><OME>&a;</OME>',
                         "its OME-XML is damaged or too large; its axes are not used"),
                        ("ImageJ=1\nimages=99\n", "its ImageJ description contradicts its 6 pages; its axes are not used"),
                        ('{"shape": [7, 6, 8], "axes": "ZYX"}',
                         "its shape in JSON contradicts its 6 pages; its axes are not used")):
        name.write_bytes(pages_file([{DESCRIPTION: text}] + [{}] * 5))
        done = run(program, "--json", name)
        check(done.stderr.decode() == f"{name}: warning: {words}\n", f"{text}: {done.stderr!r}")
        check(len(done.stdout.splitlines()) == 6, f"{text}: all pages are measured")


def test_shaped(program, folder):
    text = '{"shape": [2, 3, 6, 8], "axes": "TZYX"}'
    pages, _ = transform(program, folder, pages_file([{DESCRIPTION: text}] + [{}] * 5))
    check(pages[0][DESCRIPTION] == text, pages[0][DESCRIPTION])
    pages, _ = transform(program, folder, pages_file([{DESCRIPTION: text}] + [{}] * 5), pages="3-5")
    check(json.loads(pages[0][DESCRIPTION]) == {"shape": [1, 3, 6, 8], "axes": "TZYX"}, pages[0][DESCRIPTION])
    pages, words = transform(program, folder, pages_file([{DESCRIPTION: text}] + [{}] * 5), pages="0,4")
    check(DESCRIPTION not in pages[0] and "its shape in JSON is left out: the output has another one" in words, words)


# ---- GDAL, Photoshop -------------------------------------------------------------------------------

GDAL_TEXT = ('<GDALMetadata>\n  <Item name="A">x &quot;y&quot;</Item>\n'
             '  <Item name="STATISTICS_MAXIMUM" sample="0">886</Item>\n'
             '  <Item name="STATISTICS_MEAN" sample="1">681.09</Item>\n'
             '  <Item name="OFFSET" sample="0" role="offset">1000</Item>\n'
             '  <Item name="SCALE" sample="0" role="scale">0.0001</Item>\n'
             '  <Item name="DESCRIPTION" sample="1" role="description">near infrared</Item>\n</GDALMetadata>\n')
GDAL_FILE = pages_file([{"samples": 2, GDAL: GDAL_TEXT}])


def test_gdal_statistics(program, folder):
    """STATISTICS_, SCALE and OFFSET of the old values stayed, and GDAL believed them."""
    pages, words = transform(program, folder, GDAL_FILE, "--depth", "8")
    kept = [line for line in GDAL_TEXT.splitlines(True) if not any(name in line for name in ("STATI", "OFFS", "SCALE"))]
    check(pages[0][GDAL] == "".join(kept), pages[0][GDAL])
    check("scale and offset of its bands are left out: they are true of the old values only" in words, words)


def test_gdal_units(program, folder):
    """Metres of the old values stayed those of the new ones. Bands that the output has instead of a palette had its names."""
    item, text = '<Item name="%s" sample="0" role="%s">%s</Item>', "<GDALMetadata>%s</GDALMetadata>"
    unit, name, own = item % ("UNITTYPE", "unittype", "m"), item % ("DESCRIPTION", "description", "height"), '<Item name="A">b</Item>'
    pages, words = transform(program, folder, pages_file([{GDAL: text % (own + unit + name)}]))
    check(pages[0][GDAL] == text % (own + name), pages[0][GDAL])
    check("units of its bands are left out: they are true of the old values only" in words, words)
    pages, words = transform(program, folder, pages_file([{GDAL: text % (own + name)}]))
    check(pages[0][GDAL] == text % (own + name) and words == "", f"{pages[0][GDAL]} {words}")
    for words, kept in (((), True), (("--depth", "16"), False), (("--out-nodata", "0"), False)):
        pages, said = transform(program, folder, palette_file({GDAL: (ASCII, (text % (own + name)).encode() + b"\0")}), *words)
        check(pages[0][GDAL] == text % (own + name if kept else own), f"{words}: {pages[0][GDAL]}")
        check(("the output has other bands" in said) != kept, f"{words}: {said}")


def palette_file(fields):
    """Indices of a palette of grays."""
    return write([gray([[(x + y) % 16 for x in range(WIDTH)] for y in range(HEIGHT)], "B",
                       fields={262: (SHORT, [3]), 320: (SHORT, [257 * (i % 256) for i in range(768)]), **fields})])


def test_palette_goes(program, folder):
    """Where colours take the place of indices, nothing speaks of indices any more."""
    ome = ('<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels DimensionOrder="XYCZT" '
           f'ID="Pixels:0" SizeC="1" SizeT="1" SizeX="{WIDTH}" SizeY="{HEIGHT}" SizeZ="1" Type="uint8"><TiffData/></Pixels>'
           '</Image></OME>')
    content = palette_file({INDEXED: (SHORT, [1]), DESCRIPTION: (ASCII, ome.encode() + b"\0")})
    pages, words = transform(program, folder, content)
    check(pages[0][262] == [3] and pages[0][INDEXED] == [1] and DESCRIPTION in pages[0] and words == "", f"{pages} {words}")
    pages, words = transform(program, folder, content, "--clahe", command=("equalize",))
    check(pages[0][262] == [2] and INDEXED not in pages[0] and DESCRIPTION not in pages[0], f"{pages}")
    check("its OME-XML is left out: pixels have another number of samples" in words, words)


# ---- Other fields ----------------------------------------------------------------------------------

INDEXED, DATA_TYPE, STONITS, LSM, PRIVATE = 346, 32996, 37439, 34412, 50000
UIC1, UIC2, UIC3, UIC4 = 33628, 33629, 33630, 33631
CFA, LINEARIZATION, BLACK, WHITE, DIGEST, MODEL = 32803, 50712, 50714, 50717, 50972, 50708


def test_old_sample_format(program, folder):
    """A field from before SampleFormat said of bytes that they are floats, and libtiff believed it."""
    floats = gray([[x / 7 + y for x in range(WIDTH)] for y in range(HEIGHT)], "f", fields={339: (SHORT, [3]), DATA_TYPE: (SHORT, [3])})
    for depth, wanted in (("8", [1]), ("float", [3])):
        pages, _ = transform(program, folder, write([floats]), "--depth", depth)
        check(pages[0][339] == wanted and DATA_TYPE not in pages[0], f"{depth}: {pages[0]}")
    done = run(program, "--json", folder / "out.tif")
    check(json.loads(done.stdout)["sample"] == "f32", f"{done.stdout}")


def test_depth_goes(program, folder):
    """What has a number for each value of a sample went without a word where the depth changes."""
    fields = {301: (SHORT, [i * i for i in range(256)]), 321: (SHORT, [10, 200])}
    content = write([gray([[x * y for x in range(WIDTH)] for y in range(HEIGHT)], "B", fields=fields)])
    pages, words = transform(program, folder, content)
    check(pages[0][301] == fields[301][1] and pages[0][321] == [10, 200] and words == "", f"{pages[0]} {words}")
    pages, words = transform(program, folder, content, "--depth", "16")
    check(not {301, 321} & {*pages[0]}, f"{pages[0]}")
    check(all(f"its field {tag} is left out: it is about values of the old depth" in words for tag in fields), words)


def test_levels_of_raw(program, folder):
    """Black and white of a raw image, which every converter applies, and a scale to nits were those of the old values."""
    rows = [[300 + (x * 37 + y * 11) % 700 for x in range(WIDTH)] for y in range(HEIGHT)]
    fields = {262: (SHORT, [CFA]), 33421: (SHORT, [2, 2]), 33422: (BYTE, [0, 1, 1, 2]), MODEL: (ASCII, b"a camera\0"),
              LINEARIZATION: (SHORT, [0, 1, 2]), BLACK: (SHORT, [256]), WHITE: (SHORT, [1023]), DIGEST: (BYTE, [7] * 16)}
    pages, words = transform(program, folder, write([gray(rows, fields=fields)]))
    left = {LINEARIZATION, BLACK, WHITE, DIGEST} & {*pages[0]}
    check(not left and pages[0][MODEL] == "a camera" and pages[0][33422] == bytes([0, 1, 1, 2]), f"{pages[0]}")
    check(words.count("warning") == 1 and "black and white level of its raw samples" in words, words)
    pages, words = transform(program, folder, write([gray(rows, fields={STONITS: (LONG, [179])})]))
    check(STONITS not in pages[0] and "its scale to nits is left out" in words, f"{pages[0]} {words}")


def test_types_of_fields(program, folder):
    """A field of a type that does not exist went without a word."""
    rows = [[300 + (x * 37 + y * 11) % 700 for x in range(WIDTH)] for y in range(HEIGHT)]
    content = write([gray(rows, fields={PRIVATE: (BYTE, [1])})])
    pages, words = transform(program, folder, content.replace(struct.pack("<HH", PRIVATE, 1), struct.pack("<HH", PRIVATE, 99)))
    check(PRIVATE not in pages[0] and f"its field {PRIVATE} is damaged and left out" in words, f"{pages[0]} {words}")


def test_places(program, folder):
    """Fields with places of the old file pointed into pixels of the new one; LSM's made readers skip every second page."""
    rows = [[300 + (x * 37 + y * 11) % 700 for x in range(WIDTH)] for y in range(HEIGHT)]
    pages, words = transform(program, folder, write([gray(rows, fields={LSM: (BYTE, [0x4c, 0x49, 0, 3] + [1] * 60)})]))
    check(LSM not in pages[0] and "Zeiss' LSM information is left out" in words, f"{pages[0]} {words}")
    for order in "<>":
        def content(at):
            return write([gray(rows, order=order, fields={PRIVATE: (IFD, [at]), PRIVATE + 1: (IFD, [at, at])})], order)
        at = len(content(0)) + len(content(0)) % 2
        below = struct.pack(order + "HHHI4sHHI2sHI", 2, 271, 2, 3, b"Me\0\0", 60000, 3, 1, struct.pack(order + "H", 7), 0, 0)
        pages, words = transform(program, folder, content(at).ljust(at, b"\0") + below)
        tree = read(folder / "out.tif")
        directory, _ = tree.directory(tree.chain[0].first(PRIVATE))
        check(directory.fields == {271: (b"Me\0",), 60000: (7,)}, f"{order}: {directory.fields}")
        check(f"its field {PRIVATE + 1}, which points to places of the old file, is left out" in words, words)
        pages, words = transform(program, folder, content(at).ljust(at, b"\0") + below[:16])
        check("lies outside the file in part; the rest is left out" in words, words)


def test_metamorph(program, folder):
    """Stacks of MetaMorph have one directory, and a field with values for each plane: but for the first all planes were lost
    without a word."""
    planes = [[[300 + 50 * k + (x * 37 + y * 11) % 700 for x in range(WIDTH)] for y in range(HEIGHT)] for k in range(3)]
    for order, strip, text in (("<", HEIGHT, None), (">", 4, b"Exposure: 3 ms\0" * 3)):
        page = gray(planes[0], order=order, rows_per_strip=strip,
                    behind=b"".join(struct.pack(f"{order}{WIDTH}H", *row) for plane in planes[1:] for row in plane),
                    fields={UIC1: (LONG, [1, 0]), UIC2: (RATIONAL, [0, 1] * 3), UIC3: (RATIONAL, [520, 1] * 3),
                            UIC4: (LONG, [4]), **({DESCRIPTION: (ASCII, text)} if text else {})})
        name, out = folder / "in.stk", folder / "out.tif"
        name.write_bytes(write([page], order))
        lines = [json.loads(line) for line in run(program, "--json", name).stdout.splitlines()]
        sums = [line["channels"][0]["sum"] for line in lines]
        check(sums == [sum(map(sum, plane)) for plane in planes], f"{order}: {sums}")
        done = run(program, "normalize", "--force", "--in-range", "0,65535", name, "-o", out)
        tree = read(out)
        found = [[list(struct.unpack_from(f"{order}{WIDTH}H", tree.data, at + row))
                  for at, n in zip(directory.fields[273], directory.fields[279]) for row in range(0, n, 2 * WIDTH)]
                 for directory in tree.chain]
        check(found == planes, f"{order}: {len(found)} pages")
        check(not {UIC1, UIC2, UIC3, UIC4} & {*tree.chain[0].fields} and
              tree.chain[0].fields.get(DESCRIPTION) == ((text,) if text else None), f"{order}: {tree.chain[0].fields}")
        check(done.stderr.count(b"warning") == 1 and b"MetaMorph's fields of its planes are left out" in done.stderr, f"{done.stderr}")
        done = run(program, "normalize", "--force", f"{name}[2]", "-o", out)
        check(len(read(out).chain) == 1, f"{order}: {done.stderr}")


def test_gdal_band_names(program, folder):
    name = folder / "in.tif"
    name.write_bytes(GDAL_FILE)
    page = json.loads(run(program, "--json", name).stdout)
    check([channel["name"] for channel in page["channels"]] == ["gray", "near infrared"], f"{page}")


def test_photoshop(program, folder):
    """Thumbnails and layers showed the old contrast, without a word."""
    resource = b"8BIM\x03\xed\0\0\0\0\0\x04abcd"
    thumbnail = b"8BIM\x04\x0c\0\0\0\0\0\x05thumb\0"
    pages, words = transform(program, folder, pages_file([{PHOTOSHOP: resource + thumbnail, LAYERS: b"layers" * 9}]))
    check(pages[0].get(PHOTOSHOP) == resource and LAYERS not in pages[0], f"{pages[0]}")
    check("its Photoshop thumbnail is left out: it shows the old contrast" in words, words)
    check("its Photoshop layers are left out: they show the old contrast" in words, words)


    bgr = b"8BIM\x04\x09\0\0\0\0\0\x03old\0"  # of Photoshop 4
    pages, words = transform(program, folder, pages_file([{PHOTOSHOP: bgr + resource}]))
    check(pages[0].get(PHOTOSHOP) == resource, f"{pages[0]}")
    check("its Photoshop thumbnail is left out" in words, words)


# ---- Fields ----------------------------------------------------------------------------------------


def test_extrema(program, folder):
    """Smallest and largest samples were those of the input."""
    name, out = folder / "in.tif", folder / "out.tif"
    for order, big in (("<", False), (">", True)):
        fields = {280: (SHORT, [40]), 281: (SHORT, [55]), 340: (SHORT, [40]), 341: (SHORT, [55]), 65000: (SHORT, [40])}
        name.write_bytes(write([gray([[40 + x for x in range(16)]], order=order, fields=fields)], order, big))
        for words in (("normalize",), ("normalize", "--depth", "8"), ("equalize",)):
            run(program, *words, "--force", name, "-o", out)
            [page] = read(out).chain
            gone = {280, 281, 340, 341} & {*page.fields}
            check(not gone and page.fields[65000] == (40,), f"{order} {words}: {gone} {page.fields}")


# ---- PNG -------------------------------------------------------------------------------------------


def exif(order):
    """Orientation, an EXIF directory, a thumbnail of 32 bytes behind all else; and the same without it."""
    def directory(entries, follower):
        return (struct.pack(order + "H", len(entries)) +
                b"".join(struct.pack(order + "HHI", tag, kind, 1) +
                         struct.pack(order + ("HH" if kind == SHORT else "I"), *([value, 0] if kind == SHORT else [value]))
                         for tag, kind, value in entries) + struct.pack(order + "I", follower))
    head = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, 8)
    first = [(274, SHORT, 6), (34665, LONG, 38)]
    below = directory([(41486, SHORT, 7)], 0)
    second = directory([(513, LONG, 86), (514, LONG, 32)], 0)
    return (head + directory(first, 56) + below + second + b"\xff\xd8" + b"thumbnail of 30 bytes, or more"[:30],
            head + directory(first, 0) + below)


def png_file(*extra):
    head = struct.pack(">IIBBBBB", 16, 1, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + b"".join(png_chunk(*chunk) for chunk in extra) +
            png_chunk(b"IDAT", zlib.compress(b"\0" + bytes(range(40, 56)))) + png_chunk(b"IEND", b""))


def png_chunks(path):
    data, at, out = path.read_bytes(), 8, {}
    while at < len(data):
        n, kind = struct.unpack_from(">I4s", data, at)
        out[kind] = data[at + 8:at + 8 + n]
        check(png_chunk(kind, out[kind]) == data[at:at + 12 + n], f"{path}: checksum of {kind}")
        at += 12 + n
    return out


def test_png(program, folder):
    """The EXIF thumbnail showed the old contrast; sBIT and bKGD told of old values."""
    name, out = folder / "in.png", folder / "out.png"
    for order in "<>":
        whole, without = exif(order)
        name.write_bytes(png_file((b"sBIT", b"\5"), (b"bKGD", b"\0\x2a"), (b"eXIf", whole)))
        done = run(program, "normalize", "--force", name, "-o", out)
        chunks = png_chunks(out)
        check(chunks[b"eXIf"] == without, f"{order} {chunks[b'eXIf']!r}, not {without!r}")
        check(b"sBIT" not in chunks and b"bKGD" not in chunks, f"{list(chunks)}")
        check("its EXIF thumbnail is left out: it shows the old contrast" in done.stderr.decode(), f"{done.stderr}")
        done = run(program, "normalize", "--force", name, "-o", folder / "out.tif")
        check("its EXIF thumbnail is left out: it shows the old contrast" in done.stderr.decode(), f"{done.stderr}")
        name.write_bytes(png_file((b"eXIf", without)))
        done = run(program, "normalize", "--force", name, "-o", out)
        check(png_chunks(out)[b"eXIf"] == without and done.stderr == b"", f"{done.stderr}")


def test_png_histogram(program, folder):
    """How often colours of the palette are used stays true where the palette alone changes, and goes where it goes."""
    name, out = folder / "in.png", folder / "out.png"
    head = struct.pack(">IIBBBBB", 16, 1, 8, 3, 0, 0, 0)
    palette = bytes(v for i in range(16) for v in (40 + i, 50 + i, 60 + i))
    often = struct.pack(">16H", *range(1, 17))
    name.write_bytes(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + png_chunk(b"PLTE", palette) + png_chunk(b"hIST", often) +
                     png_chunk(b"IDAT", zlib.compress(b"\0" + bytes(range(16)))) + png_chunk(b"IEND", b""))
    run(program, "normalize", "--force", name, "-o", out)
    chunks = png_chunks(out)
    check(chunks[b"hIST"] == often and chunks[b"PLTE"] != palette, f"{chunks}")
    run(program, "equalize", "--clahe", "--grid", "2", "--force", name, "-o", out)
    chunks = png_chunks(out)
    check(b"hIST" not in chunks and chunks[b"IHDR"][9] == 2, f"as colours: {chunks}")


if __name__ == "__main__":
    harness.main(globals())
