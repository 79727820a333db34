#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of GDAL, and what GDAL reads in the outputs: bands, masks, overviews, metadata, the layout of a COG; pixels as
numpy computes them. usage: test_gdal.py IMGSTAT"""

import copy
import json
import subprocess

import harness
from harness import check, modules, run
from tiff_tree import differences, read

gdal, gdal_array, osr, np, validator = modules("osgeo.gdal", "osgeo.gdal_array", "osgeo.osr", "numpy",
                                               "osgeo_utils.samples.validate_cloud_optimized_geotiff")
if gdal:
    gdal.UseExceptions()
    gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "YES")
    gdal.SetConfigOption("GDAL_PAM_ENABLED", "NO")
HEIGHT, WIDTH = 400, 460
COG = ["BLOCKSIZE=128", "COMPRESS=DEFLATE"]  # overviews of 230 x 200, 115 x 100
GDAL_METADATA, GDAL_NODATA, PREDICTOR, COMPRESSION, PHOTOMETRIC = 42112, 42113, 317, 259, 262
BITS, SUBSAMPLING, REFERENCE, TABLES, COLOUR_MAP = 258, 530, 532, 347, 320


def raster(array, colours=(), mask=None, nodata=None, scale=None):
    """A georeferenced dataset in memory; every band has a description, a key of its own and statistics."""
    out = gdal.GetDriverByName("MEM").CreateCopy("", gdal_array.OpenArray(array if array.ndim == 3 else array[None]))
    out.SetGeoTransform([500000, 10, 0, 4500000, 0, -10])
    place = osr.SpatialReference()
    place.ImportFromEPSG(32633)
    out.SetProjection(place.ExportToWkt())
    out.SetMetadata({"AREA_OR_POINT": "Area", "SENSOR": "a <b> & c", "TIFFTAG_DATETIME": "2026:01:02 03:04:05"})
    if mask is not None:
        out.CreateMaskBand(gdal.GMF_PER_DATASET)
        out.GetRasterBand(1).GetMaskBand().WriteArray(mask)
    for i in range(1, out.RasterCount + 1):
        band = out.GetRasterBand(i)
        band.SetDescription(f"near infrared {i}")
        band.SetMetadataItem("WAVELENGTH", str(400 + i))
        if i <= len(colours):
            band.SetColorInterpretation(colours[i - 1])
        if nodata is not None:
            band.SetNoDataValue(nodata)
        if scale:
            band.SetScale(scale)
            band.SetOffset(1000)
        band.ComputeStatistics(False)
    return out


def create(path, source, driver="GTiff", options=()):
    gdal.GetDriverByName(driver).CreateCopy(str(path), source, options=list(options))


def make_inputs(folder):
    """COGs with levels, with a mask, with alpha, of floats with NaN; files with overviews, in strips, of bytes in a
    palette."""
    folder.mkdir()
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    base = (600 + x * y % 777).astype("u2")
    mask = (255 * ((x - 200) ** 2 + (y - 200) ** 2 < 30000)).astype("u1")
    rgb = np.stack([np.where(mask > 0, 90 + (x + k * y) % 25, 0) for k in (1, 2, 3)]).astype("u1")
    floats = np.rint(np.random.default_rng(3).normal(200, 20, (8, HEIGHT, WIDTH))).astype("f4") / 2
    floats[:, :50], floats[::3, 60:80] = np.nan, np.inf
    red, green, blue, alpha = gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand, gdal.GCI_AlphaBand
    create(folder / "cog16.tif", raster(base), "COG", COG)
    create(folder / "cogscale.tif", raster(base.astype("i2") - 900, nodata=-300, scale=0.0001), "COG", COG)
    create(folder / "cogmask.tif", raster(rgb, (red, green, blue), mask), "COG", COG)
    create(folder / "cogbig.tif", raster(rgb, (red, green, blue), mask), "COG", [*COG, "BIGTIFF=YES"])
    create(folder / "cogalpha.tif", raster(np.concatenate([rgb, mask[None]]), (red, green, blue, alpha)), "COG", COG)
    create(folder / "cogjpeg.tif", raster(rgb, (red, green, blue), mask), "COG", ["BLOCKSIZE=128", "COMPRESS=JPEG"])
    create(folder / "cogfloat.tif", raster(floats, nodata=float("nan")), "COG", [*COG, "PREDICTOR=YES", "RESAMPLING=NEAREST"])
    two = raster(np.stack([base, base // 2]), nodata=600)
    create(folder / "strips.tif", two, options=["ENDIANNESS=BIG", "INTERLEAVE=BAND", "COMPRESS=LZW", "PREDICTOR=2"])
    create(folder / "bigtiff.tif", two, options=["BIGTIFF=YES", "TILED=YES", "BLOCKXSIZE=64", "BLOCKYSIZE=128"])
    create(folder / "bits12.tif", raster(base * 2), options=["NBITS=12"])
    for name, source, options in (("overviews.tif", two, ["TILED=YES", "COMPRESS=DEFLATE"]),
                                  ("masked.tif", raster(rgb, (red, green, blue), mask), ["TILED=YES"])):
        create(folder / name, source, options=options)
        file = gdal.Open(str(folder / name), gdal.GA_Update)
        file.BuildOverviews("AVERAGE", [2, 4])
        del file
    palette, colours = raster((x % 200).astype("u1"), (gdal.GCI_PaletteIndex,)), gdal.ColorTable()
    for i in range(256):
        colours.SetColorEntry(i, (40 + i // 2, 200 - i // 2, 60, 255))
    palette.GetRasterBand(1).SetColorTable(colours)
    create(folder / "palette.tif", palette)
    return {path.name: path for path in sorted(folder.iterdir())}


def information(path):
    out = gdal.Info(str(path), format="json")
    for key in ("description", "files", "stac"):
        out.pop(key, None)
    return out


def without_values(info):
    """What gdalinfo must say of an output: the input's words but for statistics, scales and offsets."""
    out = copy.deepcopy(info)
    for band in out["bands"]:
        for key in ("min", "max", "minimum", "maximum", "mean", "stdDev", "scale", "offset"):
            band.pop(key, None)
        keys = band.get("metadata", {}).get("", {})
        for key in [key for key in keys if key.startswith("STATISTICS_")]:
            del keys[key]
    return out


def parts(path):
    """Pixels and masks of all bands: of the image, and of each overview."""
    file = gdal.Open(str(path))
    every = [file.GetRasterBand(i) for i in range(1, file.RasterCount + 1)]
    levels = [every, *([band.GetOverview(k) for band in every] for k in range(every[0].GetOverviewCount()))]
    return [tuple(np.stack([part.ReadAsArray() for part in level]) for level in (bands, map(gdal.Band.GetMaskBand, bands)))
            for bands in levels]


def bits(array):
    return array.view(f"u{array.itemsize}").astype("u8")


def check_one_map(before, after, colour, where):
    """One map takes the pixels of the image and of its levels to those of the output; of colours, as a whole."""
    old = np.concatenate([bits(pixels).reshape(len(pixels), -1) for pixels, _ in before], axis=1)
    new = np.concatenate([bits(pixels).reshape(len(pixels), -1) for pixels, _ in after], axis=1)
    if colour:
        masks = np.concatenate([mask[0].ravel() for _, mask in before])
        old, new = ([sum(band << np.uint64(8 * i) for i, band in enumerate(image))] for image in (old, new))
        old[0] += masks.astype("u8") << np.uint64(32)
    for a, b in zip(old, new):
        order = np.lexsort((b, a))
        a, b = a[order], b[order]
        split = (a[1:] == a[:-1]) & (b[1:] != b[:-1])
        check(not split.any() and len(np.unique(b)) > 10, f"{where}: {split.sum()} pixels are mapped otherwise")


def averaged(full, valid, shape):
    """The level of that shape: each sample the mean of the valid ones that it covers, half upwards; and how many these
    are."""
    ys, xs = ([i * n // m for i in range(m)] for n, m in zip(full.shape, shape))
    sums, n = (np.add.reduceat(np.add.reduceat(part.astype("i8"), ys, 0), xs, 1) for part in (full * valid, valid))
    return np.where(n > 0, (2 * sums + n) // np.maximum(2 * n, 1), 0), n


COLOUR = ("cogmask.tif", "cogbig.tif", "cogjpeg.tif", "cogalpha.tif", "masked.tif")
REDRAWN = ("palette.tif",)  # the palette is what changes
LOSSY = ("cogjpeg.tif",)  # JPEG loses detail: written with deflate, as RGB
LOSSY_FIELDS = {COMPRESSION, PHOTOMETRIC, SUBSAMPLING, REFERENCE, TABLES, PREDICTOR}
NARROW_FIELDS = {BITS, GDAL_NODATA, PREDICTOR}  # they follow the samples
WARNINGS = {"cogscale.tif": "scale and offset of its bands are left out: they are true of the old values only",
            "cogjpeg.tif": "is compressed with JPEG, which can lose detail; written with deflate"}
NO_ROOM = "u8 samples cannot hold the nodata value: undefined samples become 0, and no others"


def check_information(where, path, out, narrow):
    """gdalinfo shows the same, but for what depends on values, and what a warning names."""
    before, after = information(path), information(out)
    stale = [key for band in after["bands"] for key in band.get("metadata", {}).get("", {}) if key.startswith("STAT")]
    check(not stale and not any("mean" in band or "scale" in band for band in after["bands"]), f"{where}: {stale}")
    before = without_values(before)
    for info in (before, after):
        structure = info["metadata"]["IMAGE_STRUCTURE"]
        for key in ("COMPRESSION", "SOURCE_COLOR_SPACE", "JPEG_QUALITY", "JPEGTABLESMODE", "PREDICTOR"):
            if key == "PREDICTOR" and narrow or path.name in LOSSY:
                structure.pop(key, None)
        for band in info["bands"]:
            if narrow:
                check(info is before or band["type"] == "Byte", f"{where}: a band of {band['type']}")
                band["type"] = "Byte"
                band.pop("noDataValue", None)
                band["metadata"].pop("IMAGE_STRUCTURE", None)  # NBITS
            if path.name in REDRAWN:
                band.pop("colorTable", None)
    for key in {*before, *after}:
        check(before.get(key) == after.get(key), f"{where}: gdalinfo's {key}: {before.get(key)} becomes {after.get(key)}")


def check_structure(where, path, out, narrow):
    """All directories with all fields, but for those that change with the samples."""
    old, new = read(path), read(out)
    explained = {GDAL_METADATA} | (NARROW_FIELDS if narrow else set())
    explained |= LOSSY_FIELDS if path.name in LOSSY else {COLOUR_MAP} if path.name in REDRAWN else set()
    found = differences(old.chain, new.chain, explained)
    check(not found and (old.order, old.big) == (new.order, new.big), f"{where}: {found}")


def check_pixels(where, path, out, narrow, adaptive):
    before, after = parts(path), parts(out)
    if adaptive and path.name == "cogalpha.tif":
        before, after = before[:1], after[:1]  # alpha of levels is made anew as well
    if not narrow:
        check(all((a == b).all() for (_, a), (_, b) in zip(before, after)), f"{where}: the mask changes")
    if path.name == "cogalpha.tif":
        check(all((a[3] == b[3]).all() for (a, _), (b, _) in zip(before, after)), f"{where}: alpha changes")
    if not adaptive:
        check_one_map(before, after, path.name in COLOUR, where)
        return
    full, mask = after[0]
    for level, _ in after[1:]:
        for old, valid, new in zip(full, mask > 0, level):
            mean, n = averaged(old, valid, new.shape)
            check((mean == new)[n > 0].all(), f"{where}: {(mean != new)[n > 0].sum()} samples of a level are no mean")


def check_output(where, source, path, narrow=False, adaptive=False):
    check_information(where, source, path, narrow)
    check_structure(where, source, path, narrow)
    if path.name not in REDRAWN:
        check_pixels(where, source, path, narrow, adaptive)
    if path.name.startswith("cog"):
        warnings, errors, _ = validator.validate(str(path), full_check=True)
        check(not warnings and not errors, f"{where}: {warnings} {errors}")


def test_round_trip(program, folder):
    """Levels had contrasts of their own, masks did not mask, statistics and scales of old values stayed, and a COG
    became something else."""
    inputs = make_inputs(folder / "in")
    for words in ("normalize --clip 2,2", "equalize", "normalize --depth 8", "equalize --clahe"):
        out, narrow, adaptive = folder / words.replace(" ", ""), "8" in words, "clahe" in words
        # Adaptive equalization takes no floats, and makes colours of a palette.
        left_out = ("cogfloat.tif", "palette.tif") if adaptive else ()
        done = run(program, *words.split(), *[f"--exclude={name}" for name in left_out], folder / "in", "-o", out)
        said = {tuple(line.rsplit("/", 1)[1].split(": warning: ")) for line in done.stderr.decode().splitlines()[:-1]}
        expected = set(WARNINGS.items())
        if narrow:
            expected |= {(name, NO_ROOM) for name in ("cogscale.tif", "cogfloat.tif", "strips.tif", "bigtiff.tif",
                                                      "overviews.tif")}
        check(said == expected, f"{words}: warnings {said ^ expected}")
        check({path.name for path in out.iterdir()} == {*inputs} - {*left_out}, f"{words}: {sorted(out.iterdir())}")
        for path in sorted(out.iterdir()):
            check_output(f"{words} {path.name}", inputs[path.name], path, narrow, adaptive)


def test_layout_of_cogs(program, folder):
    """In place, through a pipe and without levels, a COG stays one."""
    inputs, out = make_inputs(folder / "in"), folder / "out.tif"
    for name in ("cog16.tif", "cogmask.tif"):
        run(program, "normalize", inputs[name], "-o", out, "--force")
        with open(folder / "pipe.tif", "wb") as pipe:
            subprocess.run([program, "normalize", inputs[name], "-o", "-"], stdout=pipe, check=True,
                           env=harness.environment())
        check((folder / "pipe.tif").read_bytes() == out.read_bytes(), f"{name}: through a pipe")
        run(program, "normalize", "--force", "--levels", "drop", inputs[name], "-o", out)
        check(parts(out)[0][0].shape == parts(inputs[name])[0][0].shape and len(parts(out)) == 1, f"{name}: levels drop")
        warnings, errors, _ = validator.validate(str(out), full_check=True)
        check(not errors and not warnings, f"{name} without levels: {warnings} {errors}")
        run(program, "normalize", "--force", inputs[name], "-o", inputs[name])
        check(inputs[name].read_bytes() == (folder / "pipe.tif").read_bytes(), f"{name}: in place")


def test_numpy(program, folder):
    """Masked percentiles, names and a stretch of 2 to 98 % of bands with NaN, infinities and a mask, as numpy has them."""
    inputs, out = make_inputs(folder / "in"), folder / "out.tif"
    for name in ("cogfloat.tif", "cogmask.tif", "overviews.tif", "masked.tif", "cogscale.tif"):
        pixels, masks = parts(inputs[name])[0]
        valid = (masks > 0) & np.isfinite(pixels)
        run(program, "normalize", "--force", "--clip", "2,2", "--channels", "each", "--depth", "float", inputs[name], "-o", out)
        mapped = parts(out)[0][0]
        line = json.loads(run(program, "--json", "--percentiles", "2,50,98", inputs[name]).stdout)
        check(len(line["channels"]) == len(pixels), f"{name}: {len(line['channels'])} channels")
        for c, (channel, band, counts) in enumerate(zip(line["channels"], pixels, valid)):
            masked, where = np.ma.masked_array(band.astype("f8"), ~counts), f"{name} band {c}"
            kept = np.sort(masked.compressed())
            n = len(kept)
            check(0 < n < band.size and (channel["count"], channel["min"], channel["max"]) == (n, kept[0], kept[-1]),
                  f"{where}: {channel}")
            got = [channel["mean"], channel["stddev"], *channel["percentiles"].values()]
            want = [masked.mean(), masked.std(), *np.percentile(kept, [2, 50, 98])]
            check(np.allclose(got, want, rtol=1e-12), f"{where}: {got}, expected {want}")
            black, white = kept[n * 2 // 100], kept[n - 1 - n * 2 // 100]
            want = np.clip((band[counts].astype("f8") - black) / (white - black), 0, 1)
            check(np.abs(mapped[c][counts] - want).max() < 1e-7, f"{where}: {np.abs(mapped[c][counts] - want).max()}")


def test_names(program, folder):
    """Bands were gray, extra1, extra2. Colours keep their names."""
    inputs = make_inputs(folder / "in")
    image = np.zeros((5, 4, 4), "u1")
    colours = (gdal.GCI_RedBand, gdal.GCI_GreenBand, gdal.GCI_BlueBand, gdal.GCI_AlphaBand)
    create(folder / "rgb5.tif", raster(image, colours), options=["PHOTOMETRIC=RGB", "ALPHA=YES"])
    for path, want in ((inputs["cogfloat.tif"], [f"near infrared {i}" for i in range(1, 9)]),
                       (inputs["cogmask.tif"], ["red", "green", "blue"]),
                       (folder / "rgb5.tif", ["red", "green", "blue", "alpha", "near infrared 5"])):
        pages = [json.loads(line) for line in run(program, "--json", "--levels", path).stdout.splitlines()]
        names = [[channel["name"] for channel in page["channels"]] for page in pages]
        check(names == [want] * len(pages), f"{path.name}: {names}")
        check(len(pages) > 1 or path.name == "rgb5.tif", f"{path.name} has levels")


if __name__ == "__main__":
    harness.main(globals() if gdal else {})
