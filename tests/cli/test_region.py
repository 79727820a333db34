#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--region: what is measured of a part of a page is what is measured of a file that holds that part alone.
usage: test_region.py IMGSTAT"""

import json
import random

import harness
from harness import SAMPLES, TESTDATA, check, png, run, tiff
from test_methods import draw_values, read, write

WIDTH, HEIGHT = 61, 47
REGIONS = [(0, 0, 61, 47), (0, 0, 1, 1), (60, 46, 1, 1), (7, 11, 20, 30), (0, 20, 61, 3), (30, 0, 5, 47), (3, 46, 58, 1)]


def cut(values, region, channels=1):
    x, y, width, height = region
    return [v for row in range(y, y + height)
            for v in values[(row * WIDTH + x) * channels:(row * WIDTH + x + width) * channels]]


def measured(program, *words):
    page = json.loads(run(program, "--json", "--percentiles", "1,50,99", "--shape", "--histogram", *words).stdout)
    return page["channels"]


def move(channels, x, y):
    for channel in channels:
        for key in ("min_at", "max_at"):
            if channel[key] is not None:
                channel[key] = [channel[key][0] + x, channel[key][1] + y]
    return channels


def text(region):
    return ",".join(map(str, region))


def test_statistics(program, folder):
    # A part of an image could only be measured by cutting it out with another program.
    draw, whole, part = random.Random(4), folder / "a.tif", folder / "p.tif"
    for sample in SAMPLES:
        values = draw_values(draw, sample, WIDTH * HEIGHT)
        write(whole, sample, WIDTH, HEIGHT, values)
        for region in REGIONS:
            write(part, sample, region[2], region[3], cut(values, region))
            got = measured(program, "--region", text(region), whole)
            want = move(measured(program, part), *region[:2])
            check(got == want, f"{sample} {region}: {got} instead of {want}")
    for region, threads in ((region, threads) for region in REGIONS for threads in (1, 4)):
        values = [draw.randrange(65536) for _ in range(WIDTH * HEIGHT * 4)]
        whole.write_bytes(tiff("u16", WIDTH, HEIGHT, values, channels=4))
        part.write_bytes(tiff("u16", region[2], region[3], cut(values, region, 4), channels=4))
        got = measured(program, "-j", threads, "--region", text(region), whole)
        check(got == move(measured(program, part), *region[:2]), f"RGBA {region}")


def test_containers(program, folder):
    """Strips, tiles and PNG, compressed or not: each begins to decode where it can."""
    draw = random.Random(6)
    source = folder / "a.png"
    size = 3000
    source.write_bytes(png(size, size, 8, bytes(draw.randrange(256) for _ in range(size)) * size, 1))
    region = "100,1500,1000,700"
    want = measured(program, "--region", region, source)
    check(want[0]["count"] == 700000, f"{want[0]['count']} samples")
    for name, words in (("none", ["--compression", "none"]), ("deflate", ["--compression", "deflate"]),
                        ("lzw", ["--compression", "lzw"]), ("packbits", ["--compression", "packbits"])):
        path = folder / f"{name}.tif"
        run(program, "normalize", "--in-range", "0,255", *words, source, "-o", path)
        for threads in (1, 4):
            check(measured(program, "-j", threads, "--region", region, path) == want, f"{name}, {threads} threads")
    for path in sorted(TESTDATA.glob("good-*tile*.tif")) + sorted(TESTDATA.glob("good-*planar*.tif")):
        pages = json.loads(run(program, "--json", "--page", "0", path).stdout)
        width, height = pages["width"], pages["height"]
        want = measured(program, "--page", "0", path)
        got = measured(program, "--page", "0", "--region", f"0,0,{width},{height}", path)
        check(got == want, f"{path.name}: all of it")
        halves = [measured(program, "--page", "0", "--region", text(part), path)
                  for part in ((0, 0, width, height // 2), (0, height // 2, width, height - height // 2))]
        for c, channel in enumerate(want):
            check(channel["count"] == sum(half[c]["count"] for half in halves) and
                  channel["min"] == min(half[c]["min"] for half in halves) and
                  channel["max"] == max(half[c]["max"] for half in halves), f"{path.name}: two halves")


def test_transforms(program, folder):
    """The part decides about the transfer, and all is mapped."""
    draw, source, part = random.Random(9), folder / "a.tif", folder / "p.tif"
    region = (7, 11, 20, 30)
    for sample in ("u8", "u16", "f32", "u32"):
        values = draw_values(draw, sample, WIDTH * HEIGHT)
        write(source, sample, WIDTH, HEIGHT, values)
        write(part, sample, 20, 30, cut(values, region))
        for words in (["normalize"], ["normalize", "--clip", "5,5"], ["normalize", "--method", "meanstd=50%,20%"],
                      ["equalize"], ["normalize", "--together"]):
            more = ["--force", "--compression", "none"]
            run(program, *words, *more, "--save-transfer", folder / "want.json", part, "-o", folder / "p.out.tif")
            run(program, *words, *more, "--region", text(region), "--save-transfer", folder / "got.json", source,
                "-o", folder / "got.tif")
            check((folder / "want.json").read_text() == (folder / "got.json").read_text(), f"{sample} {words}: transfer")
            run(program, "apply", *more, folder / "want.json", source, "-o", folder / "want.tif")
            check(read(folder / "want.tif", sample) == read(folder / "got.tif", sample), f"{sample} {words}: pixels")


def test_match_beyond(program, folder):
    # Below the smallest sample measured, 8 and 16 bits got the output of a smaller share than that of the smallest sample.
    draw, source, reference, out = random.Random(11), folder / "a.tif", folder / "r.tif", folder / "o.tif"
    region = (7, 11, 20, 30)
    inside = {y * WIDTH + x for y in range(11, 41) for x in range(7, 27)}
    values = [draw.choice((50, 50, 50, 60, 90)) if i in inside else draw.randrange(120) for i in range(WIDTH * HEIGHT)]
    others = [draw.randrange(100) for _ in values]
    levels = sorted(others)
    part = sorted(cut(values, region))

    def expected(v):
        v = min(max(v, part[0]), part[-1])
        return levels[-(-sum(p <= v for p in part) * len(levels) // len(part)) - 1]

    for sample in ("u8", "i16", "u16", "i32", "u32", "f32", "u64"):
        write(source, sample, WIDTH, HEIGHT, values)
        write(reference, sample, WIDTH, HEIGHT, others)
        more = ["--force", "--compression", "none", "--match", reference]
        run(program, "normalize", *more, "--region", text(region), source, "-o", out)
        got = [(v, g) for v, g in zip(values, read(out, sample)) if v in (50, 60, 90) or not 50 < v < 90]
        wrong = [(v, g, expected(v)) for v, g in got if g != expected(v)]
        check(len(got) > 600 and not wrong, f"{sample}: {wrong[:5]}")


def test_json(program, folder):
    # A line did not say that only a part was measured.
    source = folder / "a.tif"
    write(source, "u8", 10, 8, list(range(80)))
    for words in (["stats"], ["hist"], ["normalize", "--force", "-o", folder / "o.tif"]):
        for region in ((1, 2, 3, 4), None):
            more = ["--region", text(region)] if region else []
            line = json.loads(run(program, *words, "--json", *more, source).stdout)
            keys = list(line)
            before = "pages" if "-o" in words else "height"
            check(line.get("region") == (list(region) if region else None), f"{words}: {line.get('region')}")
            check(not region or keys[keys.index("region") - 1] == before, f"{words}: {keys}")


def test_refusals(program, folder):
    source = folder / "a.tif"
    write(source, "u8", 10, 8, list(range(80)))
    for region in ("0,0,11,1", "0,0,1,9", "10,0,1,1", "0,8,1,1", "4294967295,0,4294967295,1"):
        for words in (["stats"], ["normalize", "-o", folder / "o.tif"]):
            done = run(program, *words, "--region", region, source, status=1)
            check(b"is not within the page of 10x8" in done.stderr, f"{words} {region}: {done.stderr}")
    for region in ("1,2,3", "1,2,3,4,5", "a,b,c,d", "-1,0,1,1", "0,0,0,1", "0,0,1,0", "1.5,0,1,1", "4294967296,0,1,1"):
        done = run(program, "stats", f"--region={region}", source, status=2)
        check(b"--region takes X,Y,W,H" in done.stderr, f"{region}: {done.stderr}")
    for words in (["equalize", "--clahe"], ["normalize", "--in-range", "0,9"], ["normalize", "--gamma", "2"]):
        done = run(program, *words, "--region", "0,0,1,1", source, "-o", folder / "o.tif", status=2)
        check(b"--region is for methods that measure" in done.stderr, f"{words}: {done.stderr}")


if __name__ == "__main__":
    harness.main(globals())
