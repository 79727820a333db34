#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Statistics depend on pixels, not on the structure of the file that holds them: strips, tiles, levels, masks, planes
in directories, in SubIFDs or in one directory, BigTIFF, byte order; GDAL's COGs and tifffile's stacks where there are
such programs. usage: test_containers.py IMGSTAT"""

import json

import harness
from harness import check, modules, run
from test_levels import BASE, HEIGHT, LEVELS, MASK, REDUCED, WIDTH, stack, statistics
from tiff_tree import SHORT, gray, read, write

gdal, gdal_array, np, tifffile = modules("osgeo.gdal", "osgeo.gdal_array", "numpy", "tifffile")
ALL = ("--percentiles", "1,50,99", "--histogram", "--shape", "--mode")


def test_image(program, folder):
    """Levels and what masks exclude were measured."""
    plain, name = folder / "plain.tif", folder / "in.tif"
    plain.write_bytes(write([gray(BASE)]))
    want = statistics(program, *ALL, plain)
    mask = gray([[255] * WIDTH for _ in range(HEIGHT)], "B", fields={**MASK, 262: (SHORT, [4])})
    for order in "<>":
        for big in (False, True):
            levels = [gray(rows, order=order, fields=REDUCED) for rows in LEVELS]
            preview = gray([[1] * 8] * 5, order=order, fields=REDUCED, subs=[gray(BASE, order=order)])
            for where, pages in {"strips": [gray(BASE, order=order, rows_per_strip=7)],
                                 "tiles": [gray(BASE, order=order, tile=32)],
                                 "levels": [gray(BASE, order=order, tile=16), *levels],
                                 "mask": [gray(BASE, order=order, tile=16), mask, *levels],
                                 "levels in SubIFDs": [gray(BASE, order=order, subs=levels)],
                                 "below a preview": [preview]}.items():
                name.write_bytes(write(pages, order, big))
                check(statistics(program, *ALL, name) == want, f"{where} {order} {big}: other statistics")
    if not gdal:
        return
    gdal.UseExceptions()
    pixels = gdal_array.OpenArray(np.array(BASE, "u2")[None])
    for driver, options in (("GTiff", []), ("GTiff", ["TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=16"]),
                            ("GTiff", ["COMPRESS=LZW", "PREDICTOR=2", "ENDIANNESS=BIG"]),
                            ("GTiff", ["BIGTIFF=YES", "COMPRESS=DEFLATE"]), ("COG", ["BLOCKSIZE=128"]),
                            ("COG", ["BLOCKSIZE=128", "COMPRESS=DEFLATE", "OVERVIEW_COUNT=3", "BIGTIFF=YES"])):
        gdal.GetDriverByName(driver).CreateCopy(str(name), pixels, options=options)
        levels = 3 if "OVERVIEW_COUNT=3" in options else 0
        check(len(read(name).chain) == 1 + levels, f"GDAL's {driver} {options}: {len(read(name).chain)} directories")
        check(statistics(program, *ALL, name) == want, f"GDAL's {driver} {options}: other statistics")


def test_planes(program, folder):
    """Of planes in one directory the first was measured."""
    planes, data = stack(4)
    plain, name = folder / "plain.tif", folder / "in.tif"
    files = {"in directories": write([gray(rows) for rows in planes]), "in one": data,
             "in one, big-endian BigTIFF": stack(4, order=">", big=True)[1],
             "big-endian BigTIFF": write([gray(rows, order=">") for rows in planes], ">", True),
             "in SubIFDs": write([gray(planes[0], subs=[gray(rows, fields={254: (3, [0])}) for rows in planes[1:]])])}
    want = []
    for rows in planes:
        plain.write_bytes(write([gray(rows)]))
        want += statistics(program, *ALL, plain)
    for where, content in files.items():
        name.write_bytes(content)
        check(statistics(program, *ALL, name) == want, f"planes {where}: other statistics")
    if not tifffile:
        return
    array = np.array(planes, "u2")
    half = [array[:, ::2, ::2], array[:, ::4, ::4]]
    for where, more in {"ImageJ": {"imagej": True}, "ImageJ, in one": {"imagej": True, "truncate": True},
                        "shaped": {}, "shaped, in one": {"truncate": True}, "OME": {"ome": True},
                        "OME BigTIFF": {"ome": True, "bigtiff": True, "byteorder": ">"},
                        "pyramid": {"ome": True, "subifds": 2, "tile": (16, 16)}}.items():
        opening = {key: more.pop(key) for key in ("imagej", "ome", "bigtiff", "byteorder") if key in more}
        with tifffile.TiffWriter(name, **opening) as file:
            file.write(array, photometric="minisblack", metadata={"axes": "ZYX"}, **more)
            for level in half if "subifds" in more else []:
                file.write(level, photometric="minisblack", subfiletype=1, tile=(16, 16))
        check(statistics(program, *ALL, name) == want, f"tifffile's {where}: other statistics")


def test_masks(program, folder):
    """The same valid pixels: a mask of the file, of another file, and of GDAL's COG with three levels of both."""
    name, out = folder / "in.tif", folder / "m.tif"
    counts = [[255 * ((x - 40) ** 2 + (y - 30) ** 2 < 700) for x in range(WIDTH)] for y in range(HEIGHT)]
    mask = gray(counts, "B", fields={**MASK, 262: (SHORT, [4])})
    name.write_bytes(write([gray(BASE)]))
    out.write_bytes(write([gray(counts, "B")]))
    want = statistics(program, *ALL, "--mask", out, name)
    valid = [v for row, on in zip(BASE, counts) for v, counted in zip(row, on) if counted]
    [channel] = want[0]["channels"]
    check((channel["count"], channel["masked"], channel["sum"], channel["min"], channel["max"]) ==
          (len(valid), WIDTH * HEIGHT - len(valid), sum(valid), min(valid), max(valid)), f"{channel}")
    for order, big in (("<", False), (">", True)):
        name.write_bytes(write([gray(BASE, order=order), mask, *[gray(rows, order=order, fields=REDUCED) for rows in
                                                                 LEVELS]], order, big))
        check(statistics(program, *ALL, name) == want, f"{order} {big}: other statistics")
    if not gdal:
        return
    gdal.UseExceptions()
    gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "YES")
    pixels = gdal.GetDriverByName("MEM").CreateCopy("", gdal_array.OpenArray(np.array(BASE, "u2")[None]))
    pixels.CreateMaskBand(gdal.GMF_PER_DATASET)
    pixels.GetRasterBand(1).GetMaskBand().WriteArray(np.array(counts, "u1"))
    for driver, options, directories in (("GTiff", ["COMPRESS=DEFLATE"], 2),
                                         ("COG", ["BLOCKSIZE=128", "OVERVIEW_COUNT=3", "COMPRESS=LZW"], 8)):
        gdal.GetDriverByName(driver).CreateCopy(str(name), pixels, options=options)
        check(len(read(name).chain) == directories, f"GDAL's {driver} {options}: {len(read(name).chain)} directories")
        check(statistics(program, *ALL, name) == want, f"GDAL's {driver} with a mask: other statistics")
    quartiles = json.loads(run(program, "--json", "--percentiles", "25,75", name).stdout)["channels"][0]["percentiles"]
    masked = np.ma.masked_array(np.array(BASE), np.array(counts) == 0).compressed()
    check(np.allclose(list(quartiles.values()), np.percentile(masked, [25, 75]), rtol=1e-12), f"numpy: {quartiles}")


if __name__ == "__main__":
    harness.main(globals())
