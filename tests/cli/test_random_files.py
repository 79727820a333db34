#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files drawn at random: statistics are what numpy and fractions say; all files of an image, and all ways to run, give the
same; outputs hold for other programs what the definitions say.

    test_random_files.py IMGSTAT
    test_random_files.py IMGSTAT --first SEED --cases N [--most PIXELS] [--ways N]

Cases run in batches of 24, each with options of its own; a batch begins at a multiple of 24.
"""

import argparse
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path

import harness
import tiff_tree
from harness import check, run

np, gdal, tifffile, pillow = harness.modules("numpy", "osgeo.gdal", "tifffile", "PIL.Image")
if np:
    import random_files
    from random_expected import compare_with_numpy, expected_output, is_png, read_gdal, read_tiff, same_pixels

BATCH, FILES = 24, 3
WAYS = {"jobs 1": (["--jobs=1"], {}), "jobs 4": (["--jobs=4"], {}), "portable": ([], {"IMGSTAT_CPU": "portable"}),
        "avx2": ([], {"IMGSTAT_CPU": "avx2"}), "avx512": ([], {"IMGSTAT_CPU": "avx512"}), "plain": ([], {"IMGSTAT_DECODE": "plain"}),
        "threads": ([], {"IMGSTAT_DECODE": "threads"}), "memory": (["--memory=32M"], {}), "max-tile": (["--max-tile=3000"], {}),
        "gpu": (["--device=cuda"], {"IMGSTAT_DECODE": "threads", "IMGSTAT_REQUIRE_CUDA": "1",
                                    "IMGSTAT_CUDA_MODULE": os.environ.get("IMGSTAT_STAND_IN", ""),
                                    "LD_LIBRARY_PATH": os.environ.get("IMGSTAT_STAND_IN_DRIVER", "")})}
METHODS = [["normalize"], ["normalize", "--method=percentile", "--clip=1,2"], ["normalize", "--method=gamma=0.5"],
           ["normalize", "--method=meanstd=40%,20%"], ["normalize", "--in-range=10%,90%"], ["equalize"], ["equalize", "--clahe"]]
COMPRESSIONS = ["none", "deflate", "lzma", "lzw", "packbits", "zstd"]


def ways_here(program):
    """The names of WAYS, but for instructions that this processor lacks, and a GPU that no build has made."""
    image = harness.TESTDATA / "good-rgb.png"
    return [name for name, (words, variables) in WAYS.items() if ("avx" not in name or not run(
        program, image, "--device=cpu", variables=variables, status=None).returncode) and (name != "gpu" or "IMGSTAT_STAND_IN" in os.environ)]


def lines(done):
    """The objects that were printed, by name of file, without what depends on how it was run."""
    out = {}
    for line in map(json.loads, done.stdout.splitlines()):
        kept = {key: value for key, value in line.items() if key not in ("file", "device", "message", "output")}
        kept["warnings"] = [text.partition(": ")[2] for text in line.get("warnings", [])]
        out.setdefault(Path(line["file"]).name, []).append(kept)
    return out


def first_difference(a, b, at=""):
    if isinstance(a, dict) and isinstance(b, dict):
        return next(first_difference(a.get(k), b.get(k), f"{at}.{k}") for k in {**a, **b} if a.get(k) != b.get(k))
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(first_difference(x, y, f"{at}[{i}]") for i, (x, y) in enumerate(zip(a, b)) if x != y)
    return f"{at} is {str(a)[:150]}, not {str(b)[:150]}"


class Batch:
    """Images drawn at random in files 0/NAME, 1/NAME and 2/NAME of `folder`."""

    def __init__(self, program, folder, first, cases, most, ways):
        self.program, self.folder, self.first, self.rng = program, folder, first, np.random.default_rng(first)
        self.images, self.writers = {}, {}
        self.rules = [word for word in ("--alpha=mask", "--nodata=0", "--mask=none") if self.rng.random() < 0.25]
        self.ways = [str(way) for way in self.rng.permutation(ways_here(program))[:ways]]
        for seed in range(first, first + cases):
            rng = np.random.default_rng([seed, 1])
            image, name = random_files.draw_image(rng, most), f"{seed:06}.dat"
            able = list(random_files.writers(image))
            self.images[name] = image
            for k in range(FILES):
                (folder / str(k)).mkdir(exist_ok=True)
                writer = able[int(rng.integers(len(able)))]
                writer(folder / str(k) / name, image, rng, "--nodata=0" not in self.rules)  # of which absent samples would be
                self.writers[name, k] = writer.__name__

    def check(self, good, words, sentence, name="", k=0):
        what = f"{name}, {self.images[name]}, {k}: {self.writers[name, k]}: " if name else ""
        check(good, f"--first {self.first} --cases {BATCH}: {what}{' '.join(words)}: {sentence}")

    def run(self, k, words, way=None, **more):
        extra, variables = WAYS[way] if way else (["--jobs=2"], {})
        extra = extra if "--device=cuda" in extra else [*extra, "--device=cpu"]
        return run(self.program, *words, *extra, "--include=*", variables=variables, cwd=self.folder / str(k), **{"status": None, **more})

    def compare(self, k, words, how, got, wanted):
        for name in self.images:
            if how not in ("max-tile", "memory") or "limit" not in [line.get("error") for line in got.get(name, [])]:
                self.check(got.get(name) == wanted.get(name), words, f"{how}: " + (
                    "" if got.get(name) == wanted.get(name) else first_difference(got.get(name), wanted.get(name))), name, k)

    def statistics(self):
        words = ["stats", "--json", "--shape", "--mode", "--hash", "--histogram", "--percentiles=0,0.1,2.5,50,99.9,100", *self.rules,
                 str(self.rng.choice(["--interpolation=nearest", "--interpolation=linear"]))]
        first, record = None, None
        for k in range(FILES):
            done = self.run(k, [*words, "."])
            said = lines(done)
            for name, image in self.images.items():
                good = "error" not in said.get(name, [{"error": ""}])[0]
                wrong = [done.stderr.decode()[-300:]] if not good else compare_with_numpy(image, said[name], words) if k == 0 else []
                self.check(not wrong, words, wrong[:3], name, k)
            alike = {name: [{key: value for key, value in page.items() if key not in ("format", "pages", "warnings")} for page in pages]
                     for name, pages in said.items()}
            first = first or alike
            self.compare(k, words, "file 0", alike, first)
            for way in self.ways:
                self.compare(k, words, way, lines(self.run(k, [*words, "."], way)), said)
            with tarfile.open(self.folder / "a.tar", "w") as tar:
                for name in self.images:
                    tar.add(self.folder / str(k) / name, name)
            self.compare(k, words, "in an archive", lines(self.run(k, [*words, "../a.tar"])), said)
            name = str(self.rng.choice(list(self.images)))
            with open(self.folder / str(k) / name, "rb") as file:
                got = lines(self.run(k, [*words, "-"], stdin=file))
            self.check([*got.values()] == [said[name]], words, "from standard input", name, k)
            for way in [None] + [way for way in self.ways if way not in ("max-tile", "memory")][:1]:
                self.run(k, ["stats", *self.rules, "--by=group=[^/]*$", "--save-record=../record", "--force", "--quiet", "."], way, status=0)
                data = (self.folder / "record").read_bytes()
                record = record or data
                self.check(data == record, words, f"other bytes of a record: {k}, {way}")

    def draw_transform(self):
        rng = self.rng
        match = ["equalize", "--match=../0/" + str(rng.choice(list(self.images)))]
        words = list([*METHODS, match][rng.integers(len(METHODS) + 1)])
        words += ["--channels=" + str(rng.choice(["each", "joint"]))] if rng.random() < 0.5 else []
        words += ["--depth=" + str(rng.choice(["8", "16", "float"]))] if rng.random() < 0.3 else []
        words += self.rules if rng.random() < 0.5 else []
        words += ["--out-nodata=3"] if rng.random() < 0.15 else []
        output = ["--fast"] if rng.random() < 0.3 else []
        output += ["--format=tiff", "--compression=" + str(rng.choice(COMPRESSIONS))] if rng.random() < 0.7 else \
            ["--format=png"] if rng.random() < 0.3 else []
        return words, output

    def unscaled(self, pixels, name, k, words):
        """Gray of 1, 2 and 4 bits that had tRNS comes out with 8 bits."""
        bits = self.images[name].bits
        if pixels and self.images[name].key and bits < 8 and "png" in self.writers[name, k] and "--depth" not in str(words):
            self.check((pixels[0] % (255 // (2 ** bits - 1)) == 0).all(), words, "samples that are no multiples", name, k)
            return [pixels[0] // (255 // (2 ** bits - 1))]
        return pixels

    def decoded(self, path, name, k, words):
        """What an output holds: by GDAL and by read_tiff, which must agree; None where neither can. (GDAL turns CMYK into RGB.)"""
        image = self.images[name]
        if is_png(path):
            return self.unscaled(read_gdal(path, 1, True), name, k, words)
        first = tiff_tree.Tiff(path.read_bytes()).chain[0]
        bits, kind, other = first.first(258, 1), first.first(339, 1), None
        own, levels = read_tiff(path) or (None, None)
        if image.mask is None and image.colours != "cmyk" and (bits in (8, 16, 32, 64) or kind == 1 and bits < 32 and bits != 24):
            other = read_gdal(path, len(image.pages), first.first(262) == 3)
        self.check(not (own and other) or same_pixels(own, other), words, "GDAL reads other samples", name, k)
        pixels, wanted = self.unscaled(own or other, name, k, words), expected_output(image, words)
        self.check(not (pixels and wanted) or same_pixels(pixels, wanted), words, "other pixels than by definition", name, k)
        if self.writers[name, k] == "write_own_tiff":
            if levels and image.mask is None and "--clahe" not in words:
                self.check(same_pixels(levels, [own[0][::2, ::2]]), words, "the level is not that of the image", name, k)
            before = tiff_tree.Tiff((self.folder / str(k) / name).read_bytes()).chain[0]
            lost = [tag for tag in (274, 305, 65000, 284, 322, 323, 338) if first.fields.get(tag) != before.fields.get(tag)]
            self.check(not lost, words, f"fields {lost} differ", name, k)
            if image.nodata is not None and not {"--depth", "--nodata", "--out-nodata"} & {word.partition("=")[0] for word in words}:
                self.check(first.fields[42113][0] == repr(image.nodata).encode() + b"\0", words, "another nodata value", name, k)
        return pixels

    def transforms(self):
        method, output = self.draw_transform()
        words, first = [*method, *output, "--json"], None
        for k in range(FILES):
            out, way_out = self.folder / f"out{k}", self.folder / "way"
            said = lines(self.run(k, [*words, ".", "-o", out]))
            for way in self.ways:
                self.compare(k, words, way, lines(self.run(k, [*words, ".", "-o", way_out, "--force"], way)), said)
                for name in self.images:
                    kept, made = (path.read_bytes() if path.exists() else None for path in (out / name, way_out / name))
                    same = made == kept or way in ("max-tile", "memory") and made is None
                    if not same and way == "memory" and made and kept:  # compressors take less of it
                        same = same_pixels(self.decoded(way_out / name, name, k, words), self.decoded(out / name, name, k, words))
                    self.check(same, words, f"{way}: other bytes", name, k)
                    (way_out / name).unlink(missing_ok=True)
            pixels = {name: self.decoded(out / name, name, k, words) for name in self.images if (out / name).exists()}
            first = pixels if first is None else first
            for name in self.images:
                png = {self.writers[name, k], self.writers[name, 0]} & {"write_own_png", "write_pillow"}  # it holds fewer types
                if not png or name in pixels.keys() & first.keys():
                    self.check((name in pixels) == (name in first) and same_pixels(pixels.get(name), first.get(name)), words,
                               f"not the pixels of file 0: {said.get(name)}"[:900], name, k)
            self.apply(k, method, output, str(self.rng.choice(list(self.images))))

    def apply(self, k, method, output, name):
        """A saved transfer, and pipes, give what the method gives."""
        kept = self.folder / f"out{k}" / name
        if not kept.exists() or len(self.images[name].pages) > 1:
            return
        with open(self.folder / str(k) / name, "rb") as file:
            piped = self.run(k, [*method, *output, "-", "-o", "-"], stdin=file)
        self.check(piped.stdout == kept.read_bytes(), method + output, "from and to pipes", name, k)
        if "--clahe" not in method:
            saved, applied = self.folder / "t.json", self.folder / "applied"
            self.run(k, [*method, name, "-o", applied, "--save-transfer", saved, "--force"], status=0)
            self.run(k, ["apply", saved, *output, *[word for word in method if word[:3] in ("--n", "--a", "--o") or word == "--mask=none"], name, "-o", applied, "--force"], status=0)
            self.check(applied.read_bytes() == kept.read_bytes(), method + output, "a saved transfer is another", name, k)


def run_cases(program, first, cases, most, ways):
    for start in range(first, first + cases, BATCH):
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(program, Path(folder), start, min(BATCH, first + cases - start), most, ways)
            batch.statistics()
            batch.transforms()
            yield batch.first


def test_files(program, _):
    if np:
        list(run_cases(program, 0, BATCH * (4 if harness.all_run() else 1), 2000, 3))


if __name__ == "__main__":
    if "--cases" not in sys.argv:
        harness.main(globals())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--most", type=int, default=2000, metavar="PIXELS")
    parser.add_argument("--ways", type=int, default=len(WAYS), help="of each batch, drawn from all")
    args = parser.parse_args()
    printed = 0
    for _ in run_cases(str(args.program.resolve()), args.first, args.cases, args.most, args.ways):
        print("\n".join(harness.wrong[printed:]), end="\n" * (len(harness.wrong) > printed), flush=True)
        printed = len(harness.wrong)
    print(f"{args.cases} images in {args.cases * FILES} files, {harness.checks} checks, {len(harness.wrong)} wrong")
    sys.exit(bool(harness.wrong))
