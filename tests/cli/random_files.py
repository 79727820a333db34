# SPDX-License-Identifier: MIT
"""Draws images at random, and writes each as files of several kinds: by GDAL, by tifffile, by Pillow, and by writers of this
file's own, for what those cannot write."""

import itertools
import lzma
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np
import tifffile
from harness import PNG_PASSES, png_chunk
from osgeo import gdal
from PIL import Image as Pillow

gdal.UseExceptions()
gdal.PushErrorHandler("CPLQuietErrorHandler")
gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "YES")
GDAL_TYPES = {"u1": gdal.GDT_Byte, "i1": gdal.GDT_Byte, "u2": gdal.GDT_UInt16, "i2": gdal.GDT_Int16, "u4": gdal.GDT_UInt32,
              "i4": gdal.GDT_Int32, "u8": gdal.GDT_UInt64, "i8": gdal.GDT_Int64, "f4": gdal.GDT_Float32, "f8": gdal.GDT_Float64}
PHOTOMETRIC = {"min-is-white": 0, "gray": 1, "rgb": 2, "palette": 3, "cmyk": 5}
COLOURS = {"rgb": 3, "cmyk": 4}
NONE, LZW, DEFLATE, PACKBITS, LZMA = 1, 5, 8, 32773, 34925


@dataclass
class Image:
    """pages: of (height, width, channels), as a file has them; a palette's are indices. alpha: a value of ExtraSamples."""
    pages: list
    bits: int
    colours: str = "gray"
    alpha: int = 0
    key: list = None  # the colour that a PNG may call transparent
    palette: np.ndarray = None
    nodata: float = None
    mask: np.ndarray = None
    levels: bool = False
    tags: dict = field(default_factory=dict)

    def held(self):
        """The samples as imgstat holds them."""
        return self.pages if self.palette is None else [self.palette[page[..., 0]] for page in self.pages]

    def alpha_at(self):
        """The channel of held() that is alpha."""
        return (3 if self.palette is not None else COLOURS.get(self.colours, 1)) if self.alpha else None

    def __str__(self):
        page = self.pages[0]
        return (f"{self.bits} bits in {page.dtype} {page.shape} x {len(self.pages)} {self.colours} alpha {self.alpha} key {self.key} "
                f"nodata {self.nodata} mask {self.mask is not None} levels {self.levels}")


def draw_samples(rng, dtype, bits, shape):
    kind = rng.choice(["even", "dark", "smooth", "few", "ends", "normal"])
    n = int(np.prod(shape))
    if kind == "smooth":
        x = np.cumsum(rng.random(n)) / n
    elif kind == "few":
        x = rng.choice(rng.random(int(rng.integers(1, 5))), n)  # or one
    elif kind == "ends":
        x = rng.choice([0.0, 1.0], n, p=[0.3, 0.7])
    elif kind == "normal":
        x = np.clip(rng.normal(0.5, 0.02, n), 0, 1)
    else:
        x = rng.random(n) ** (1 if kind == "even" else 8)
    if dtype[0] == "f":
        x = (x * 10.0 ** rng.integers(-4, 5) + rng.choice([0, -0.5, 1000])).astype(dtype)
        for value in (np.nan, np.inf, -np.inf, -0.0):
            if rng.random() < 0.15:
                x[rng.integers(0, n, int(rng.integers(1, max(2, n // 10))))] = value
        return x.reshape(shape)
    low, top = (-2 ** (bits - 1) if dtype[0] == "i" else 0), 2 ** bits - 1
    above = np.minimum(np.minimum(np.floor(x * float(top)), np.nextafter(2.0 ** 64, 0)).astype("u8"), np.uint64(top))
    return (above + np.uint64(low % 2 ** 64)).astype(dtype).reshape(shape)


def draw_image(rng, most):
    kind = str(rng.choice(["u", "u", "u", "i", "f"]))
    usual = {"u": [1, 2, 4, 8, 8, 8, 10, 12, 14, 16, 16, 16, 24, 32, 64], "i": [8, 16, 32, 64], "f": [16, 32, 64]}[kind]
    bits = int(rng.integers(1, 65)) if kind != "f" and rng.random() < 0.1 else int(rng.choice(usual))
    dtype = kind + str(next(size for size in (1, 2, 4, 8) if 8 * size >= bits))
    pixels = int(np.exp(rng.uniform(0, np.log(most))))
    width = int(np.clip(np.exp(rng.uniform(0, np.log(pixels + 1))), 1, pixels))
    size = (max(1, pixels // width), width)
    colours = str(rng.choice(["gray", "gray", "gray", "rgb", "rgb", "min-is-white", "cmyk", "palette"]))
    if colours == "palette" and (kind != "u" or bits not in (1, 2, 4, 8)) or kind != "u" and colours in ("cmyk", "min-is-white"):
        colours = "gray"
    image = Image([], bits, colours)
    more = int(rng.choice([0, 0, 0, 1, 1, 2])) if colours != "palette" else 0
    image.alpha = int(rng.choice([0, 1, 2, 2])) if more else 0
    shape = size + (COLOURS.get(colours, 1) + more,)
    pages = int(rng.integers(2, 5)) if rng.random() < 0.15 else 1
    image.pages = [draw_samples(rng, dtype, bits, shape) for _ in range(pages)]
    if colours == "palette":
        image.alpha = 2 * int(pages == 1 and rng.random() < 0.3)  # PNG's alone
        image.palette = rng.integers(0, 256, (2 ** bits, 4 if image.alpha else 3)).astype("u1")
    elif kind == "u" and bits in (1, 2, 4, 8, 16) and colours in ("gray", "rgb") and pages == 1 and rng.random() < 0.2:
        x = image.pages[0][..., :COLOURS.get(colours, 1)]
        image.alpha, image.key = 2, x[rng.integers(size[0]), rng.integers(width)].tolist()
        opaque = (x != np.array(image.key, x.dtype)).any(axis=2, keepdims=True)
        image.pages = [np.concatenate([x, opaque * x.dtype.type(2 ** bits - 1)], axis=2)]
    elif rng.random() < 0.3:
        value = image.pages[0].reshape(-1)[rng.integers(image.pages[0].size)].item()
        image.nodata = value if -2 ** 53 < value < 2 ** 53 or value != value else None
    png = image.key is not None or image.palette is not None and image.alpha
    if not png and pages == 1 and rng.random() < 0.15:
        image.mask = rng.random(size) < rng.choice([0.02, 0.5, 0.97])
    image.levels = not png and pages == 1 and min(size) >= 8 and rng.random() < 0.15
    image.tags = {274: (3, [int(rng.integers(1, 9))]), 305: (2, b"drawn\0"), 65000: (4, [int(v) for v in rng.integers(0, 2 ** 32, 3)])}
    return image


# ---- TIFF, by itself

def pack(x, bits, order):
    """Rows of samples as bytes, for each row of an array."""
    if bits in (8, 16, 32, 64):
        return [row.tobytes() for row in np.ascontiguousarray(x).astype(order + x.dtype.str[1:])]
    stream = np.unpackbits(x.astype(">u8").view("u1").reshape(len(x), -1, 8), axis=2)[..., 64 - bits:]
    return [row.tobytes() for row in np.packbits(stream.reshape(len(x), -1), axis=1)]


def predict(tile, predictor, order):
    """Rows of bytes of a tile of whole samples, as differences."""
    height, _, channels = tile.shape
    if predictor == 2:
        words = tile.view(f"u{tile.itemsize}")
        words = np.concatenate([words[:, :1], words[:, 1:] - words[:, :-1]], axis=1)
        return pack(words.reshape(height, -1), 8 * tile.itemsize, order)
    planes = tile.astype(f">f{tile.itemsize}").view("u1").reshape(height, -1, tile.itemsize).transpose(0, 2, 1).reshape(height, -1)
    planes[:, channels:] = planes[:, channels:] - planes[:, :-channels]
    return [row.tobytes() for row in planes]


def packbits(row):
    """Runs and single bytes; GDAL's have more."""
    runs = [(value, len(list(run))) for value, run in itertools.groupby(row)]
    pieces = [(value, min(128, n - at)) for value, n in runs for at in range(0, n, 128)]
    return b"".join(bytes([(257 - n) % 256, value]) for value, n in pieces)


def compress(rows, compression):
    data = b"".join(rows)
    if compression == DEFLATE:
        return zlib.compress(data, 1 + len(data) % 9)
    if compression == LZMA:
        return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_NONE, preset=1)
    if compression == PACKBITS:
        return b"".join(map(packbits, rows))
    if compression == LZW:  # all codes are literal: the table is cleared before they have 10 bits
        codes = sum(([256, *data[i:i + 200]] for i in range(0, len(data), 200)), []) + [257]
        return np.packbits(np.unpackbits(np.array(codes, ">u2").view("u1").reshape(-1, 2), axis=1)[:, 7:].reshape(-1)).tobytes()
    return data


class TiffWriter:
    """sparse: the value of samples whose tiles are left out, or None."""

    def __init__(self, rng, sparse):
        self.rng, self.order, self.big, self.sparse = rng, str(rng.choice(["<", ">"])), rng.random() < 0.3, sparse
        self.word, self.room = ("Q", 8) if self.big else ("I", 4)
        head = (43, 8, 0) if self.big else (42,)
        self.out = bytearray((b"II" if self.order == "<" else b"MM") + struct.pack(f"{self.order}{len(head)}H", *head) + bytes(self.room))
        self.link = len(self.out) - self.room  # where the offset of the next directory belongs

    def add(self, data):
        self.out += b"\0" * (len(self.out) % 2) + data
        return len(self.out) - len(data)

    def directory(self, tags, chained):
        kinds, entries = {2: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}, b""
        for tag, (kind, values) in sorted(tags.items()):
            data = struct.pack(f"{self.order}{len(values)}{kinds[kind]}", *values)
            place = data.ljust(self.room, b"\0") if len(data) <= self.room else struct.pack(self.order + self.word, self.add(data))
            entries += struct.pack(f"{self.order}HH{self.word}", tag, kind, len(values)) + place
        at = self.add(struct.pack(self.order + ("Q" if self.big else "H"), len(tags)) + entries + bytes(self.room))
        if chained:
            struct.pack_into(self.order + self.word, self.out, self.link, at)
            self.link = len(self.out) - self.room
        return at

    def piece(self, x, bits, compression, predictor, reverse):
        """The bytes of a strip or tile."""
        data = compress(predict(x, predictor, self.order) if predictor > 1 else pack(x.reshape(len(x), -1), bits, self.order), compression)
        if reverse:
            data = np.packbits(np.unpackbits(np.frombuffer(data, "u1").reshape(-1, 1), axis=1)[:, ::-1]).tobytes()
        return data

    def page(self, x, bits, tags, subs=(), chained=True):
        """Of any layout, drawn anew."""
        rng, (height, width, channels) = self.rng, x.shape
        compression = int(rng.choice([NONE, LZW, DEFLATE, PACKBITS, LZMA]))
        predicted = compression in (LZW, DEFLATE, LZMA) and bits == 8 * x.itemsize
        predictor = int(rng.integers(1, 4 if x.dtype.kind == "f" else 3)) if predicted else 1
        planar, reverse, tiled = channels > 1 and rng.random() < 0.4, rng.random() < 0.2, rng.random() < 0.5
        tile = [int(v) * 16 for v in rng.integers(1, 9, 2)] if tiled else [int(rng.choice([1, rng.integers(1, height + 1), height])), width]
        offsets, sizes = [], []
        for part in ([x[..., i:i + 1] for i in range(channels)] if planar else [x]):
            for top, left in ((top, left) for top in range(0, height, tile[0]) for left in range(0, width, tile[1])):
                piece = np.ascontiguousarray(part[top:top + tile[0], left:left + tile[1]])
                if self.sparse is not None and piece.tobytes() == np.full_like(piece, self.sparse).tobytes():
                    offsets, sizes = offsets + [0], sizes + [0]
                    continue
                if tiled:
                    more = [tile[0] - piece.shape[0], tile[1] - piece.shape[1]]
                    piece = np.pad(piece, ((0, more[0]), (0, more[1]), (0, 0)), "edge" if rng.random() < 0.5 else "constant")
                data = self.piece(piece, bits, compression, predictor, reverse)
                offsets, sizes = offsets + [self.add(data)], sizes + [len(data)]
        word = 16 if self.big else 4
        made = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * channels), 259: (3, [compression]), 266: (3, [1 + reverse]),
                277: (3, [channels]), 284: (3, [1 + planar]), 339: (3, [{"u": 1, "i": 2, "f": 3}[x.dtype.kind]] * channels)}
        made |= {322: (4, [tile[1]]), 323: (4, [tile[0]]), 324: (word, offsets), 325: (word, sizes)} if tiled else \
            {273: (word, offsets), 278: (4, [tile[0]]), 279: (word, sizes)}
        made |= {317: (3, [predictor])} if predictor > 1 else {}
        made |= {330: (18 if self.big else 13, [self.page(*sub, chained=False) for sub in subs])} if subs else {}
        return self.directory(made | tags, chained)


def write_own_tiff(path, image, rng, sparse=True):
    writer = TiffWriter(rng, (0 if image.nodata is None else image.nodata) if sparse and rng.random() < 0.3 else None)
    more = image.pages[0].shape[2] - COLOURS.get(image.colours, 1)
    tags = {262: (3, [PHOTOMETRIC[image.colours]])} | ({338: (3, [image.alpha] + [0] * (more - 1))} if more else {})
    if image.palette is not None:
        tags[320] = (3, (image.palette.T.astype(int) * 257).reshape(-1).tolist())
    if image.nodata is not None:
        tags[42113] = (2, repr(image.nodata).encode() + b"\0")
    for page in image.pages:
        levels = [(page[::2, ::2], image.bits, tags | {254: (4, [1])})] if image.levels else []
        inside = rng.random() < 0.5
        writer.page(page, image.bits, tags | image.tags | {254: (4, [0])}, levels if inside else ())
        for level in () if inside else levels:
            writer.page(*level)
    if image.mask is not None:
        writer.sparse = None
        writer.page(image.mask[..., None].astype("u1"), 1, {254: (4, [4]), 262: (3, [4])})
    path.write_bytes(writer.out)


# ---- PNG, by itself

def png_rows(x, bits, rng):
    """Each with a filter drawn at random."""
    step, above, out = max(1, x.shape[2] * bits // 8), None, b""
    for packed in pack(x.reshape(len(x), -1), bits, ">"):
        row = np.frombuffer(packed, "u1").astype(int)
        up = np.zeros_like(row) if above is None else above
        left, corner = (np.concatenate([np.zeros(step, int), line])[:len(row)] for line in (row, up))
        pa, pb, pc = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        paeth = np.where((pa <= pb) & (pa <= pc), left, np.where(pb <= pc, up, corner))
        kind = int(rng.integers(0, 5))
        out += bytes([kind]) + ((row - [0, left, up, (left + up) // 2, paeth][kind]) % 256).astype("u1").tobytes()
        above = row
    return out


def write_own_png(path, image, rng, _sparse=True):
    x, interlaced = image.pages[0], rng.random() < 0.3
    colours = COLOURS.get(image.colours, 1)
    keyed = image.key is not None and (image.bits < 8 or rng.random() < 0.7)
    x = x[..., :colours] if keyed else x
    kind = 3 if image.palette is not None else {1: 0, 2: 4, 3: 2, 4: 6}[x.shape[2]]
    parts = [x[top::down, left::right] for left, top, right, down in PNG_PASSES] if interlaced else [x]
    data = b"".join(png_rows(part, image.bits, rng) for part in parts if part.size)
    coder = zlib.compressobj(int(rng.integers(0, 10)), zlib.DEFLATED, 15, 9, int(rng.integers(0, 5)))
    data = coder.compress(data) + coder.flush()
    cuts = [0, *sorted(rng.integers(0, len(data) + 1, int(rng.integers(0, 6))).tolist()), len(data)]
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", x.shape[1], x.shape[0], image.bits, kind, 0, 0, interlaced)),
              (b"pHYs", struct.pack(">IIB", 100, 200, 1)), (b"tEXt", b"Comment\0drawn")]
    if image.palette is not None:
        chunks += [(b"PLTE", image.palette[:, :3].tobytes())] + ([(b"tRNS", image.palette[:, 3].tobytes())] if image.alpha else [])
    chunks += [(b"tRNS", struct.pack(f">{colours}H", *image.key))] if keyed else []
    chunks += [(b"IDAT", data[a:b]) for a, b in zip(cuts, cuts[1:])] + [(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks))


# ---- Other programs

def write_gdal(path, image, rng, sparse=True):
    x = image.pages[0]
    options = ["COMPRESS=" + str(rng.choice(["NONE", "LZW", "DEFLATE", "PACKBITS", "ZSTD", "LZMA"])),
               "INTERLEAVE=" + str(rng.choice(["PIXEL", "BAND"])), "ENDIANNESS=" + str(rng.choice(["LITTLE", "BIG"])),
               "PHOTOMETRIC=" + {"gray": "MINISBLACK", "min-is-white": "MINISWHITE"}.get(image.colours, image.colours.upper()),
               "ALPHA=" + ["NO", "PREMULTIPLIED", "NON-PREMULTIPLIED"][image.alpha], "BIGTIFF=" + str(rng.choice(["YES", "NO"]))]
    if sparse and x.dtype.kind != "f" and image.bits == 8 * x.itemsize and image.colours != "min-is-white":  # GDAL loses -0 and others
        options.append("SPARSE_OK=" + str(rng.choice(["TRUE", "FALSE"])))
    if options[0][9:] in ("LZW", "DEFLATE", "ZSTD") and image.bits in (8, 16, 32, 64):
        most = 3 if x.dtype.kind == "f" and "ENDIANNESS=LITTLE" in options else 2  # GDAL swaps bytes before predictor 3
        options.append(f"PREDICTOR={rng.integers(1, most + 1)}")
    options += ["TILED=YES"] + [f"BLOCK{axis}SIZE={rng.integers(1, 9) * 16}" for axis in "XY"] if rng.random() < 0.5 else \
        [f"BLOCKYSIZE={rng.integers(1, len(x) + 1)}"]
    options += ["PIXELTYPE=SIGNEDBYTE"] if x.dtype == "i1" else [f"NBITS={image.bits}"] if image.bits != 8 * x.itemsize else []
    file = gdal.GetDriverByName("GTiff").Create(str(path), x.shape[1], x.shape[0], x.shape[2], GDAL_TYPES[x.dtype.str[1:]], options)
    for i in range(x.shape[2]):
        band = file.GetRasterBand(i + 1)
        if image.nodata is not None:
            band.SetNoDataValue(image.nodata)
        if image.palette is not None:
            table = gdal.ColorTable()
            for index, colour in enumerate(image.palette.tolist()):
                table.SetColorEntry(index, (*colour, 255))
            band.SetColorTable(table)
        band.WriteArray(np.ascontiguousarray(x[..., i]).view("u1" if x.dtype == "i1" else x.dtype))
    if image.mask is not None:
        file.CreateMaskBand(gdal.GMF_PER_DATASET)
        file.GetRasterBand(1).GetMaskBand().WriteArray(image.mask.astype("u1") * 255)
    if image.levels:
        file.BuildOverviews("NEAREST", [2])


def write_tifffile(path, image, rng, _sparse=True):
    words = {"metadata": None, "photometric": PHOTOMETRIC[image.colours], "compression": str(rng.choice(["none", "zlib"]))}
    words |= {"tile": tuple(int(v) * 16 for v in rng.integers(1, 9, 2))} if rng.random() < 0.5 else {}
    planar = rng.random() < 0.4 and image.pages[0].shape[2] > 1
    more = image.pages[0].shape[2] - COLOURS.get(image.colours, 1)
    with tifffile.TiffWriter(path, bigtiff=rng.random() < 0.3, byteorder=str(rng.choice(["<", ">"]))) as file:
        for page in image.pages:
            x = page.transpose(2, 0, 1) if planar else page
            x = np.ascontiguousarray(x[..., 0] if page.shape[2] == 1 else x)
            file.write(x, planarconfig=None if page.shape[2] == 1 else "separate" if planar else "contig", **words,
                       extrasamples=[image.alpha] + [0] * (more - 1) if more else None,
                       extratags=[] if image.nodata is None else [(42113, "s", 0, repr(image.nodata), True)])


def write_pillow(path, image, rng, _sparse=True):
    x, mode = image.pages[0], "P" if image.palette is not None else {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[image.pages[0].shape[2]]
    made = Pillow.fromarray(x[..., 0] if x.shape[2] == 1 else x, None if mode == "P" else mode)
    if mode == "P":
        made.putpalette(image.palette[:, :3].tobytes())
    made.save(path, "PNG", bits=8, compress_level=int(rng.integers(0, 10)),
              **{"transparency": image.palette[:, 3].tobytes()} if mode == "P" and image.alpha else {})


def writers(image):
    """Those that can write an image."""
    x, more = image.pages[0], image.pages[0].shape[2] - COLOURS.get(image.colours, 1)
    single, whole = len(image.pages) == 1, image.bits == 8 * image.pages[0].itemsize
    if image.palette is None or not image.alpha:
        yield write_own_tiff
        if single and x.dtype.str[1:] in GDAL_TYPES and more < 2 and (whole or x.dtype.kind == "u" and image.bits != 24 and image.bits < 32):
            yield write_gdal
    if whole and image.palette is None and image.mask is None and not image.levels:
        yield write_tifffile
    if single and x.dtype.kind == "u" and image.bits in (1, 2, 4, 8, 16) and image.nodata is None and image.mask is None and \
            (image.colours in ("gray", "palette") or image.colours == "rgb" and image.bits >= 8) and not image.levels and \
            (more == 0 or image.key is not None or more == 1 and image.alpha == 2 and image.bits >= 8):
        yield write_own_png
        if image.bits == 8:
            yield write_pillow
