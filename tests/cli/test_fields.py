#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stats --fields: every field has in CSV the value of its column among all, and JSON the same values.

usage: test_fields.py IMGSTAT"""

import csv
import json

import harness
from harness import TESTDATA, check, run

IMAGES = ["good-example.tif", "good-rgb.png"]
# What sets of columns are asked for with, beside the common ones.
MORE = [["--shape", "--hash", "--percentiles", "1,99.5"], ["--by", "file"], ["--by", "all"]]
# JSON of the columns that are not named alike, or whose value is another there.
KEYS = {"channel": "name", "min_x": "min_at", "min_y": "min_at", "max_x": "max_at", "max_y": "max_at"}


def rows_of(program, *words):
    return list(csv.reader(run(program, "stats", "--csv", *words).stdout.decode().splitlines()))


def test_columns(program, _):
    images = [TESTDATA / name for name in IMAGES]
    for more in MORE:
        whole = rows_of(program, *images, *more)
        names = [name for name in whole[0] if name not in ("p1", "p99.5")]
        for i, name in enumerate(names):
            of_images = name in ("file", "page", "pages", "format", "width", "height", "sample", "bits", "photometric", "device",
                                 "hash", "files", "failed")
            rows = rows_of(program, *images, *more, "--fields", name)
            want = [row[whole[0].index(name)] for row in whole]
            if of_images:  # a row an image
                want = want[:1] + [row[whole[0].index(name)] for k, row in enumerate(whole[1:])
                                   if k == 0 or row[:9] != whole[k][:9]]
            check([",".join(row) for row in rows] == want, f"{more} {name}: {rows}, expected {want}")
        order = names[::-1]
        rows = rows_of(program, *images, *more, "--fields", ",".join(order))
        check(rows == [[row[whole[0].index(name)] for name in order] for row in whole], f"{more}: the order")


def test_json(program, _):
    image = TESTDATA / "good-rgb.png"
    words = ["stats", "--json", "--percentiles", "1,99.5", image]
    whole = json.loads(run(program, *words).stdout)
    for name in ["file", "width", "channel", "mean", "min_x", "median", "percentiles"]:
        key = KEYS.get(name, name)
        got = json.loads(run(program, *words, "--fields", name).stdout)
        want = {key: whole[key]} if key in whole else {"channels": [{key: channel[key]} for channel in whole["channels"]]}
        check(got == want, f"{name}: {got}, expected {want}")
    got = json.loads(run(program, *words, "--fields", "file", "--histogram").stdout)
    check(list(got) == ["file", "channels"] and list(got["channels"][0]) == ["histogram"], f"--histogram: {got}")
    both = json.loads(run(program, *words, "--fields", "mean,file").stdout)
    check(list(both) == ["file", "channels"], "keys stay in order")


def test_table(program, _):
    image = TESTDATA / "good-example.tif"
    table = run(program, "stats", "--fields", "channel,count,stddev,entropy,skewness", image).stdout.decode().splitlines()
    check([line.split() for line in table] == [["channel", "count", "stddev", "entropy", "skewness"],
                                               ["gray", "64", "20.9167", "4.99017", "1.82353"]], f"{table}")
    check(run(program, "stats", "--fields", "mean", image).stdout.decode().split() == ["mean", "76.0781"], "one column")


def test_ends(program, _):
    """64 samples from 52 to 154 reach no end of 8 bits; those of a bit are all at one."""
    words = ("stats", "--fields", "low,high", "--csv")
    check(run(program, *words, TESTDATA / "good-example.tif").stdout.decode().split() == ["low,high", "0,0"], "no end")
    page = json.loads(run(program, "stats", "--json", "--histogram", TESTDATA / "good-bilevel.tif").stdout)["channels"][0]
    check([page["low"], page["high"]] == page["histogram"]["counts"], f"{page}")
    page = json.loads(run(program, "stats", "--json", TESTDATA / "good-float32.tif").stdout)["channels"][0]
    check(page["low"] is None and page["high"] is None, "floats have no ends")


def test_wide_ends(program, folder):
    """Beyond 16 bits they were null if a sample lies there."""
    for sample, low, high in (("u32", 0, 2**32 - 1), ("i32", -2**31, 2**31 - 1), ("u64", 0, 2**64 - 1),
                              ("i64", -2**63, 2**63 - 1)):
        values = [low] * 3 + [high] * 2 + [1, low + 1, high - 1]
        for name, some in (("a", values * 50), ("b", [high] * 400), ("c", [5, low] * 200)):
            (folder / f"{name}.tif").write_bytes(harness.tiff(sample, 20, 20, some))
            for words in ([], ["--histogram"], ["--by", "file"]):
                page = json.loads(run(program, "stats", "--json", *words, folder / f"{name}.tif").stdout)["channels"][0]
                check([page["low"], page["high"]] == [some.count(low), some.count(high)], f"{sample} {name} {words}: {page}")
        words = ["stats", "--fields", "low,high", "--csv", "--by", "all", "--save-record", folder / "set.rec", "--force"]
        images = [folder / f"{name}.tif" for name in "abc"]
        done = run(program, *words, *images)
        check(done.stdout.split() == [b"low,high", b"350,500"], f"{sample} together: {done}")
        done = run(program, "merge", folder / "set.rec", "--fields", "low,high", "--csv")
        check(done.stdout.split() == [b"low,high", b"null,null"], f"{sample} from a record: {done}")


def test_wrong(program, _):
    image = TESTDATA / "good-example.tif"
    for fields in ("means", "", "mean,,file", "mean,"):
        done = run(program, "stats", "--fields", fields, image, status=2)
        check(b"there is no field" in done.stderr and b"file, page, pages, format" in done.stderr, done.stderr)
    done = run(program, "stats", "--fields", "percentiles", image, status=2)
    check(b"--percentiles" in done.stderr, done.stderr)


if __name__ == "__main__":
    harness.main(globals())
