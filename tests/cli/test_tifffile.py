#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of microscopes as tifffile writes them: ImageJ's hyperstacks, OME-TIFF with and without levels in SubIFDs, stacks
with a shape; and what tifffile reads in the outputs. usage: test_tifffile.py IMGSTAT"""

import json
import re

import harness
from harness import check, modules, run
from tiff_tree import differences, read

np, tifffile = modules("numpy", "tifffile")
SIZES = (2, 5, 3, 48, 64)  # T, Z, C, Y, X
NAMES = ["DAPI", "GFP", "Cy5"]
DESCRIPTION, IJ_DATA, BITS, COMPRESSION = 270, 50839, 258, 259


def hyperstack():
    """Channels of different brightness, darker with Z."""
    level = np.array([600, 4000, 90])[None, None, :, None, None]
    fade = (1 - 0.1 * np.arange(SIZES[1]))[None, :, None, None, None]
    return (level * (fade + np.random.default_rng(1).normal(0, 0.05, SIZES))).astype("u2")


def make_inputs(folder):
    """Path and array of each file; the pixels of each channel, all planes of it."""
    folder.mkdir()
    a, axes = hyperstack(), {"axes": "TZCYX"}
    ome = {**axes, "Channel": {"Name": NAMES}, "PhysicalSizeX": 0.1, "SignificantBits": 12}
    tables = [np.tile(np.arange(256, dtype="u1"), (3, 1))] * 3
    display = {**axes, "min": 80.0, "max": 1010.0, "Ranges": (80.0, 1010.0, 0.0, 5000.0, 1.0, 2.0), "LUTs": tables,
               "Labels": [f"plane {i}" for i in range(30)], "unit": "um", "spacing": 2.0}
    gray = {"photometric": "minisblack"}
    for name, opening, words in (
            ("imagej.tif", {"imagej": True}, {"metadata": display, "resolution": (10, 10)}),
            ("imagej-be.tif", {"imagej": True, "byteorder": ">"}, {"metadata": display}),
            ("imagej-one.tif", {"imagej": True}, {"metadata": {**axes, "min": 80.0, "max": 1010.0}, "truncate": True}),
            ("imagej-one-be.tif", {"imagej": True, "byteorder": ">"}, {"metadata": axes, "truncate": True}),
            ("shaped.tif", {}, {"metadata": axes, **gray}),
            ("shaped-one.tif", {"byteorder": ">"}, {"metadata": axes, "truncate": True, **gray}),
            ("shaped-big.tif", {"bigtiff": True, "byteorder": ">"}, {"metadata": axes, "compression": "zlib", **gray}),
            ("five.ome.tif", {"ome": True}, {"metadata": ome, **gray}),
            ("five-be.ome.tif", {"ome": True, "bigtiff": True, "byteorder": ">"}, {"metadata": ome, "compression": "zlib",
                                                                                   "tile": (16, 32), **gray})):
        with tifffile.TiffWriter(folder / name, **opening) as file:
            file.write(a, **words)
    with tifffile.TiffWriter(folder / "levels.ome.tif", bigtiff=True, ome=True) as file:
        wide = a[0, 0].repeat(4, 1).repeat(4, 2)
        file.write(wide, subifds=2, tile=(64, 64), metadata={"axes": "CYX", "Channel": {"Name": NAMES}}, **gray)
        for step in (2, 4):
            file.write(wide[:, ::step, ::step], subfiletype=1, tile=(64, 64), **gray)
    with tifffile.TiffWriter(folder / "two.ome.tif", ome=True) as file:
        file.write(a[0, 0], metadata={"axes": "CYX", "Name": "first"}, **gray)
        file.write(a[1, :, 0] // 2, metadata={"axes": "ZYX", "Name": "second"}, **gray)
    colours = (np.stack([a[0, :, 0]] * 3, -1) // 4).astype("u1")
    tifffile.imwrite(folder / "imagej-rgb.tif", colours, imagej=True, metadata={"axes": "ZYXS"})
    tifffile.imwrite(folder / "rgb.ome.tif", colours, ome=True, photometric="rgb", metadata={"axes": "ZYXS"})
    tifffile.imwrite(folder / "planar.tif", a[0, 0], planarconfig="separate", metadata={"axes": "CYX"}, **gray)
    return {path.name: path for path in sorted(folder.iterdir())}


OME_TYPES = {"float32": "float", "float64": "double"}  # the others have numpy's names


def check_texts(where, before, after):
    """What tifffile understands of both files."""
    with tifffile.TiffFile(before) as old, tifffile.TiffFile(after) as new:
        check(len(old.series) == len(new.series), f"{where}: {len(new.series)} series")
        for a, b in zip(old.series, new.series):
            check((a.kind, a.axes, a.shape, [level.shape for level in a.levels]) ==
                  (b.kind, b.axes, b.shape, [level.shape for level in b.levels]), f"{where}: {a} becomes {b}")
            check("8" not in where or b.dtype == "u1", f"{where}: {b.dtype}")
            top = np.iinfo(b.dtype).max
            pixels = b.asarray()
            check(0 <= pixels.min() and pixels.max() <= top and pixels.max() > top // 2, f"{where}: {pixels.max()}")
        if old.imagej_metadata:
            want, got = dict(old.imagej_metadata), dict(new.imagej_metadata)
            want.update({"min": 0.0, "max": float(top)} if "min" in want else {})
            want.update({"Ranges": (0.0, float(top)) * 3} if "Ranges" in want else {})
            tables = [metadata.pop("LUTs", []) for metadata in (want, got)]
            check(want == got, f"{where}: {want} becomes {got}")
            check(np.array_equal(*tables), f"{where}: colour tables")
        if old.ome_metadata:
            want, got = (re.sub(' UUID="[^"]*"', "", file.ome_metadata) for file in (old, new))
            for series in new.series:
                want = re.sub('Type="[a-z]*1?6?"', f'Type="{series.dtype}"', want)
            want = re.sub('SignificantBits="12"', f'SignificantBits="{8 * new.series[0].dtype.itemsize}"', want)
            check(re.sub(" +", " ", want) == re.sub(" +", " ", got), f"{where}: {want} becomes {got}")


def check_output(where, path, after):
    check_texts(where, path, after)
    old, new = read(path), read(after)
    texts = {DESCRIPTION, IJ_DATA, *({BITS} if "8" in where else ())}
    found = differences(old.chain, new.chain, texts)
    check(not found and (old.order, old.big) == (new.order, new.big), f"{where}: {found}")


def test_round_trip(program, folder):
    """Planes were lost, levels as well; texts promised other types, and display ranges of old values stayed."""
    inputs = make_inputs(folder / "in")
    for words in ("normalize --clip 1,1", "normalize --depth 8", "equalize", "equalize --clahe --grid 2"):
        out = folder / words.replace(" ", "")
        done = run(program, *words.split(), folder / "in", "-o", out)
        check(done.stderr.splitlines()[:-1] == [] or b"transfer of its own" in done.stderr, f"{words}: {done.stderr}")
        check({path.name for path in out.iterdir()} == {*inputs}, f"{words}: {sorted(out.iterdir())}")
        for name, path in inputs.items():
            check_output(f"{words} {name}", path, out / name)


def test_types(program, folder):
    """Images of one file have types of their own; the text gave all of them the first one's."""
    path, out, a = folder / "in.ome.tif", folder / "out.ome.tif", hyperstack()[0, :, 0]
    for types in (("u2", "f4"), ("f4", "u1"), ("u1", "u2"), ("f8", "f4"), ("f4", "f8"), ("i2", "i2")):
        with tifffile.TiffWriter(path, ome=True) as file:
            for kind in types:
                file.write((a // 4).astype(kind), photometric="minisblack", metadata={"axes": "ZYX", "SignificantBits": 8})
        for words in ((), ("--depth", "8"), ("--depth", "16"), ("--depth", "float")):
            run(program, "normalize", "--force", "--together=page", *words, path, "-o", out)
            with tifffile.TiffFile(out) as file:
                kinds = [str(series.dtype) for series in file.series]
                told = re.findall(' Type="([a-z0-9]*)"', file.ome_metadata)
                bits = re.findall('SignificantBits="([0-9]*)"', file.ome_metadata)
            check(told == [OME_TYPES.get(kind, kind) for kind in kinds], f"{types} {words}: {kinds}, told {told}")
            check(words[1:] == ("8",) or "8" not in bits or kinds[0] == "uint8", f"{types} {words}: {bits} bits")
            check(not words[1:] == ("8",) or kinds == ["uint8"] * 2, f"{types} {words}: {kinds}")


def stretched(pixels, black, white, top):
    """Rounded as the program does it: half to even of the exact value."""
    return np.rint(np.clip((pixels.astype("f8") - black) / (white - black), 0, 1) * top)


def ends(pixels, share):
    """Black and white where `share` per cent are cut at each end."""
    ordered = np.sort(pixels, axis=None)
    return ordered[ordered.size * share // 100], ordered[ordered.size - 1 - ordered.size * share // 100]


def test_channels(program, folder):
    """One stretch of 1 to 99 % for each channel over all planes; statistics of channels. Each plane had its own."""
    inputs, a = make_inputs(folder / "in"), hyperstack()
    black_white = [ends(a[:, :, c], 1) for c in range(3)]
    for name in ("imagej.tif", "imagej-one.tif", "imagej-one-be.tif", "shaped.tif", "shaped-one.tif", "five.ome.tif",
                 "five-be.ome.tif"):
        lines = [json.loads(line) for line in run(program, "stats", "--json", "--by", "channel", "--percentiles", "1,50,99",
                                                  inputs[name]).stdout.splitlines()]
        check(len(lines) == 3, f"{name}: {lines}")
        for c, line in enumerate(lines):
            pixels, [found] = a[:, :, c], line["channels"]
            check((found["count"], found["sum"], found["min"], found["max"]) ==
                  (pixels.size, pixels.sum(), pixels.min(), pixels.max()), f"{name} channel {c}: {found}")
            got = [found["mean"], found["stddev"], *found["percentiles"].values()]
            want = [pixels.mean(), pixels.std(), *np.percentile(pixels, [1, 50, 99])]
            check(np.allclose(got, want, rtol=1e-12), f"{name} channel {c}: {got}, expected {want}")
            check("ome" not in name or line["channel"] == NAMES[c], f"{name}: {line['channel']}")
        for depth, top in (("8", 255), ("16", 65535)):
            run(program, "normalize", "--force", "--clip", "1,1", "--depth", depth, inputs[name], "-o", folder / "out.tif")
            got = tifffile.imread(folder / "out.tif")
            check(got.shape == SIZES, f"{name}: {got.shape}")
            for c, (black, white) in enumerate(black_white):
                want = stretched(a[:, :, c], black, white, top)
                check((got[:, :, c] == want).all(), f"{name} {depth} bits, channel {c}: {np.abs(got[:, :, c] - want).max()}")


def test_levels(program, folder):
    """Levels in SubIFDs were left out; they have the map of their channel."""
    path, out = make_inputs(folder / "in")["levels.ome.tif"], folder / "out.ome.tif"
    run(program, "normalize", "--clip", "1,1", path, "-o", out)
    with tifffile.TiffFile(path) as old, tifffile.TiffFile(out) as new:
        before, after = ([level.asarray() for level in file.series[0].levels] for file in (old, new))
    check([level.shape for level in before] == [level.shape for level in after], f"{[level.shape for level in after]}")
    for c in range(3):
        black, white = ends(before[0][c], 1)
        for a, b in zip(before, after):
            check((stretched(a[c], black, white, 65535) == b[c]).all(), f"channel {c}, {b.shape}: another map")


def test_pages(program, folder):
    """The text of one page promised all others."""
    inputs, out = make_inputs(folder / "in"), folder / "out.tif"
    for name in ("imagej.tif", "imagej-be.tif", "five.ome.tif", "shaped-big.tif", "imagej-one.tif"):
        for pages, axes, shape in (("0,3,6,9,12", "ZYX", (5, 48, 64)), ("7", "YX", (48, 64)), ("15-29", None, SIZES[1:])):
            done = run(program, "normalize", "--force", f"{inputs[name]}[{pages}]", "-o", out)
            with tifffile.TiffFile(out) as file:
                series, n = file.series[0], len(file.pages)
                good = axes is None or series.axes == axes or "shaped" in name
                check(len(file.series) == 1 and good and np.prod(series.shape) == np.prod(shape), f"{name}[{pages}]: {series}")
                check("shaped" in name or np.squeeze(series.asarray()).shape == shape, f"{name}[{pages}]: {series} {n}")
            check(b"transfer of its own" in done.stderr or b"shape in JSON" in done.stderr or done.stderr == b"",
                  f"{name}[{pages}]: {done.stderr}")


if __name__ == "__main__":
    harness.main(globals() if tifffile else {})
