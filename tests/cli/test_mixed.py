#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One folder with stacks of ImageJ, OME-TIFF with levels, cloud optimized GeoTIFF, photographs and a raw photograph: what
GDAL, tifffile and exiftool read in the outputs. usage: test_mixed.py IMGSTAT"""

import harness
from harness import check, has, modules, run

FOUND = modules("osgeo.gdal", "osgeo_utils.samples.validate_cloud_optimized_geotiff", "numpy", "tifffile")
if all(FOUND):
    import test_gdal as rasters
    import test_photographs as pictures
    import test_tifffile as stacks
    from test_levels import check_raw_photograph, raw_photograph


def make_inputs(folder):
    """The files of each kind, by name; all of them in `folder`."""
    kinds = {}
    for kind in (rasters, stacks, pictures):
        made = kind.make_inputs(folder.parent / kind.__name__)
        folder.mkdir(exist_ok=True)
        kinds[kind] = {name: path.rename(folder / name) for name, path in made.items()}
    (folder / "camera.tif").write_bytes(raw_photograph())
    return kinds


def unexplained(line, photographs):
    """Whether a warning is none of those that such files must give."""
    name, _, sentence = line.rsplit("/", 1)[1].partition(": warning: ")
    return not (rasters.WARNINGS.get(name) == sentence or name in ("camera.tif", *photographs) and "thumbnail" in sentence or
                "transfer of its own" in sentence)


def test_round_trip(program, folder):
    """A folder went through with exit status 0, and came out with planes, levels and masks lost and texts that were no
    longer true."""
    if not has("exiftool"):
        return
    kinds = make_inputs(folder / "in")
    names = {name for inputs in kinds.values() for name in inputs} | {"camera.tif"}
    check(len(names) == sum(map(len, kinds.values())) + 1 and len(names) > 30, f"{sorted(names)}")
    photographs = kinds[pictures]
    before = pictures.tags(list(photographs.values()))
    for words in ("normalize --clip 1,1", "equalize"):
        out = folder / words.replace(" ", "")
        done = run(program, *words.split(), folder / "in", "-o", out)
        check({path.name for path in out.iterdir()} == names, f"{words}: {sorted(out.iterdir())}")
        lines = done.stderr.decode().splitlines()
        wrong = [line for line in lines[:-1] if unexplained(line, photographs)]
        check(not wrong and f"{len(names)} written" in lines[-1], f"{words}: {wrong} {lines[-1]}")
        for name, path in kinds[rasters].items():
            rasters.check_output(f"{words}, {name}", path, out / name)
        for name, path in kinds[stacks].items():
            stacks.check_output(f"{words}, {name}", path, out / name)
        after = pictures.tags([out / name for name in photographs])
        for name, path in photographs.items():
            warned = any(f"/{name}: warning: its " in line for line in lines)
            pictures.check_output(f"{words}, {name}", (path, before[name]), (out / name, after[name]), warned)
        check_raw_photograph(out / "camera.tif", done.stderr)


if __name__ == "__main__":
    harness.main(globals() if all(FOUND) else {})
