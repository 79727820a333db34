#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data sets: what is merged over folders is what numpy says of all their pixels, and saved records depend on neither
order, threads nor partition. usage: test_datasets.py IMGSTAT [TEST...]"""

import csv
import io
import itertools
import json
import os
import random
import time
from pathlib import Path

from harness import TESTDATA, check, main, modules, png, run, skip

np, tifffile = modules("numpy", "tifffile")
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or TESTDATA.parent.parent / "shared" / "corpus")
TYPES = ("u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8")
NAMES = {"u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "f2": "f16", "u4": "u32", "i4": "i32", "f4": "f32", "u8": "u64",
         "i8": "i64", "f8": "f64"}
PERCENTILES = (0, 1, 12.5, 50, 99, 100)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def pixels(rng, kind, shape):
    if kind[0] == "f":
        out = rng.normal(3, 20, shape).astype(kind)
        out.ravel()[0::97] = np.nan
        out.ravel()[5::211] = np.inf
        return out
    info = np.iinfo(kind)
    wide = rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    few = rng.integers(0, 100, shape).astype(kind)
    return np.where(rng.integers(0, 3, shape) > 0, few, wide)


def folder_of(folder, kind, n=7, channels=2):
    """Images of different sizes, one of several pages; the arrays by name and page."""
    rng = np.random.default_rng(TYPES.index(kind))
    folder.mkdir()
    arrays = {}
    for i in range(n):
        pages = [pixels(rng, kind, (9 + 5 * i, 7 + 3 * (i % 4), channels)[:2 + (channels > 1)]) for _ in range(3 if i == 2 else 1)]
        path = folder / f"{i}.tif"
        with tifffile.TiffWriter(path) as out:
            for page in pages:
                out.write(page, photometric="minisblack", metadata=None, **({"planarconfig": "contig"} if channels > 1 else {}))
        arrays.update({(str(path), k): page for k, page in enumerate(pages)})
    return arrays


def close(got, wanted):
    return abs(got - wanted) <= 1e-9 * max(1.0, abs(wanted))


def check_places(what, channel, arrays, c, pick, key):
    """The first place of an extremum, by name, page and raster index."""
    wanted = None
    value = pick([pick(a[..., c][np.isfinite(a[..., c])]) for a in arrays.values()])
    for (name, page), a in sorted(arrays.items()):
        ys, xs = np.nonzero(a[..., c] == value)
        if len(ys):
            wanted = {"file": name, "page": page, "at": [int(xs[0]), int(ys[0])]}
            break
    check(channel[key] == wanted, f"{what}: {key} {channel[key]}, not {wanted}")


def check_channel(what, channel, arrays, c, kind):
    every = np.concatenate([a[..., c].ravel() for a in arrays.values()])
    valid = every[np.isfinite(every)]
    exact = valid.astype("f8") if kind[0] == "f" else valid.astype(object)
    check(channel["count"] == len(valid), f"{what}: count")
    check(channel["nan"] == int(np.isnan(every.astype("f8")).sum()), f"{what}: nan")
    check(channel["min"] == valid.min() and channel["max"] == valid.max(), f"{what}: extrema")
    check_places(what, channel, arrays, c, min, "min_at")
    check_places(what, channel, arrays, c, max, "max_at")
    if kind[0] == "f":
        check(close(channel["sum"], float(exact.sum())), f"{what}: sum {channel['sum']}")
    else:
        check(channel["sum"] == int(exact.sum()), f"{what}: sum {channel['sum']}, not {exact.sum()}")
    mean = float(exact.sum()) / len(exact) if kind[0] == "f" else int(exact.sum()) / len(exact)
    squares = sum((float(x) - mean) ** 2 for x in exact) / len(exact)
    check(close(channel["mean"], mean), f"{what}: mean {channel['mean']}, not {mean}")
    check(abs(channel["stddev"] - squares**0.5) <= 1e-6 * squares**0.5, f"{what}: stddev {channel['stddev']}")
    ordered = np.sort(valid)
    for p in PERCENTILES:  # nearest rank: exact for every type
        rank = max(-(-int(len(ordered) * p * 10) // 1000), 1) - 1
        got = channel["percentiles"][f"{p:g}"]
        check(got == ordered[rank], f"{what}: percentile {p}: {got}, not {ordered[rank]}")
    values, counts = np.unique(valid, return_counts=True)
    check(channel["mode"] == values[np.argmax(counts)], f"{what}: mode {channel['mode']}")
    histogram = channel["histogram"]
    check(sum(histogram["counts"]) == ((valid >= 0) & (valid <= 64)).sum(), f"{what}: histogram")
    wanted, _ = np.histogram(valid.astype("f8"), bins=8, range=(0, 64))
    check(histogram["counts"] == wanted.tolist(), f"{what}: {histogram['counts']}, not {wanted.tolist()}")
    p = wanted[wanted > 0] / wanted.sum()
    check(close(channel["entropy"], float(-(p * np.log2(p)).sum())), f"{what}: entropy {channel['entropy']}")
    z = (exact - mean).astype("f8") / squares**0.5
    check(abs(channel["kurtosis"] - ((z**4).mean() - 3)) < 1e-6, f"{what}: kurtosis {channel['kurtosis']}")


def test_every_type_agrees_with_numpy(program, folder):
    if np is None:
        return
    words = ("stats", "--json", "--by", "all", "--interpolation", "nearest", "--mode", "--shape", "--histogram",
             "--bins", "8", "--range", "0,64", "--percentiles", ",".join(f"{p:g}" for p in PERCENTILES))
    for kind in TYPES:
        arrays = folder_of(folder / kind, kind)
        outputs = [run(program, *words, "--jobs", jobs, folder / kind) for jobs in (1, 3)]
        check(outputs[0].stdout == outputs[1].stdout, f"{kind}: 1 and 3 threads")
        found = lines(outputs[0])
        check(len(found) == 1, f"{kind}: {len(found)} lines")
        head = {key: found[0][key] for key in ("file", "files", "pages", "group", "failed", "sample")}
        check(head == {"file": "", "files": 7, "pages": 9, "group": "", "failed": 0, "sample": NAMES[kind]}, f"{head}")
        check(list(found[0])[:7] == ["file", "files", "pages", "group", "failed", "sample", "bits"], f"{list(found[0])}")
        for c, channel in enumerate(found[0]["channels"]):
            check_channel(f"{kind}[{c}]", channel, arrays, c, kind)


def test_linear_percentiles(program, folder):
    if np is None:
        return
    for kind in ("u2", "i4", "f4", "f8"):
        arrays = folder_of(folder / kind, kind, channels=1)
        every = np.concatenate([a.ravel() for a in arrays.values()]).astype("f8")
        wanted = np.percentile(every[np.isfinite(every)], [5, 37.5, 95])
        done = run(program, "stats", "--json", "--by", "all", "--percentiles", "5,37.5,95", folder / kind)
        got = list(lines(done)[0]["channels"][0]["percentiles"].values())
        check(np.allclose(got, wanted, rtol=1e-12), f"{kind}: {got}, not {wanted}")


def make_plates(folder):
    for plate in range(3):
        for well in range(4):
            data = random.Random(10 * plate + well).randbytes(48)
            (folder / f"plate{plate}_{well}.png").write_bytes(png(8, 6, 8, data))
    (folder / "other.png").write_bytes(png(2, 2, 8, bytes(4)))


def test_groups(program, folder):
    make_plates(folder)
    done = run(program, "stats", "--json", "--by", "group=(plate[0-9])_", ".", cwd=folder)
    found = lines(done)
    check([(x["file"], x["group"], x["files"]) for x in found] ==
          [("", "", 1), ("plate0", "plate0", 4), ("plate1", "plate1", 4), ("plate2", "plate2", 4)], f"{found}")
    check(b"1 of 13 names do not match" in done.stderr and b"other.png" in done.stderr, f"{done.stderr}")
    said = done.stderr
    for shards in (1, 4, 20):
        words = ("stats", "--json", "--by", "group=(plate[0-9])_", "--state", f"state{shards}", "--shards", shards)
        done = run(program, *words, "--include", "*.png", ".", cwd=folder)
        check(lines(done) == found and done.stderr == said, f"{shards} shards: {done.stderr}")
        done = run(program, *words, "--include", "*.png", "--quiet", ".", cwd=folder)
        check(lines(done) == found and not done.stderr, f"{shards} shards, quiet: {done.stderr}")
    alone = [run(program, "stats", "--by", "group=(plate[0-9])_", "--state", "alone", "--shard", f"{k}/3", ".", cwd=folder)
             for k in (1, 2, 3)]
    check([b"names do not match" in done.stderr for done in alone] == [True, False, False], f"{alone}")
    done = run(program, "stats", "--by", "group=(plate[0-9])_", "--state", "alone", "--shards", "3", ".", cwd=folder)
    check(done.stderr == said, f"all of these shards: {done.stderr}")
    whole = lines(run(program, "stats", "--json", "--by", "group=plate[0-9]", "--quiet", ".", cwd=folder))
    check(whole == found, "the whole match")
    for plate in range(3):
        alone = lines(run(program, "stats", "--json", "--by", "all", "--include", f"plate{plate}*", ".", cwd=folder))
        check(alone[0]["channels"] == found[plate + 1]["channels"], f"plate {plate} by itself")
    for bad in ("group=(", "group=", "groups=a"):
        done = run(program, "stats", "--by", bad, ".", cwd=folder, status=2)
        check(b"--by" in done.stderr and not done.stdout, f"{bad}: {done.stderr}")


def test_kinds_are_lines(program, folder):
    (folder / "a.png").write_bytes(png(4, 3, 8, bytes(range(12))))
    (folder / "b.png").write_bytes(png(4, 3, 16, bytes(24)))
    (folder / "c.png").write_bytes(png(4, 3, 8, bytes(range(12))))
    (folder / "bad.png").write_bytes(png(4, 3, 8, bytes(range(12)))[:50])
    done = run(program, "stats", "--json", "--by", "all", ".", cwd=folder, status=1)
    found = [x for x in lines(done) if "error" not in x]
    check([(x["sample"], x["files"], x["failed"]) for x in found] == [("u8", 2, 1), ("u16", 1, 1)], f"{found}")
    check(done.stderr.decode().endswith("3 measured, 1 failed\n"), f"{done.stderr}")
    table = run(program, "--by", "all", ".", cwd=folder, status=1).stdout.decode()
    check(table.startswith("3 images, 1 of 4 files failed\n"), table)
    rows = list(csv.DictReader(io.StringIO(run(program, "--csv", "--by", "all", ".", cwd=folder,
                                               status=1).stdout.decode())))
    check([(r["files"], r["failed"], r["page"], r["min_file"]) for r in rows] ==
          [("2", "1", "null", "./a.png"), ("1", "1", "null", "./b.png")], f"{rows}")


def test_record_bytes(program, folder):
    """Any order, number of threads and partition, merged in any tree."""
    make_plates(folder)
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    if tifffile is not None:
        folder_of(folder / "wide", "f4", n=5)
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*.[pt][ni][gf]"))
    words = ("stats", "--by", "group=(plate.|wide)", "--quiet")

    def record(out, some, *more):
        run(program, *words, *more, "--save-record", out, *some, cwd=folder, status=None)
        return (folder / out).read_bytes()

    whole = record("whole.rec", names)
    shuffled = names[:]
    for seed in range(4):
        random.Random(seed).shuffle(shuffled)
        check(record(f"order{seed}.rec", shuffled, "--jobs", seed + 1) == whole, f"order {seed}")
    for n in (2, 3, 5):
        parts = [names[k::n] for k in range(n)]
        for k, part in enumerate(parts):
            record(f"part{n}-{k}.rec", part)
        files = [f"part{n}-{k}.rec" for k in range(n)]
        random.Random(n).shuffle(files)
        done = run(program, "merge", *files, "-o", f"merged{n}.rec", cwd=folder, status=None)
        if done.returncode == 0:
            check((folder / f"merged{n}.rec").read_bytes() == whole, f"{n} parts")
        else:  # a part lacks one of several kinds in the group ""
            check(b"holds" in done.stderr, f"{done.stderr}")
    direct = lines(run(program, *words, "--json", *names, cwd=folder, status=1))
    saved = lines(run(program, "stats", "--json", "whole.rec", cwd=folder))
    for a, b in zip([x for x in direct if "error" not in x], saved):
        if a["sample"] != "f32":
            check(a == b, f"measured {a}, saved {b}")
        else:
            lo, hi = b["channels"][0]["bounds"]["median"]
            check(lo <= a["channels"][0]["median"] <= hi and b["channels"][0]["median"] is None, f"bounds {lo} {hi}")
    again = record("whole.rec.2", names)
    check(again == whole, "twice")
    done = run(program, *words, "--save-record", "whole.rec", *names, cwd=folder, status=1)
    check(b"exists already" in done.stderr, f"{done.stderr}")


def test_merge_refuses(program, folder):
    (folder / "a.png").write_bytes(png(4, 3, 8, bytes(range(12))))
    (folder / "b.png").write_bytes(png(4, 3, 16, bytes(24)))

    def record(out, *more):
        run(program, "stats", "--quiet", "--by", "all", "--save-record", out, *more, cwd=folder)

    record("a.rec", "a.png")
    record("b.rec", "b.png")
    record("nodata.rec", "--nodata", "3", "a.png")
    record("region.rec", "--region", "0,0,2,2", "a.png")
    data = (folder / "a.rec").read_bytes()
    (folder / "flipped.rec").write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    (folder / "short.rec").write_bytes(data[:-3])
    (folder / "newer.rec").write_bytes(data[:8] + b"\xff\0" + data[10:])
    for other, cause in (("b.rec", b"holds u16"), ("nodata.rec", b"nodata"), ("region.rec", b"region"),
                         ("flipped.rec", b"flipped.rec"), ("short.rec", b"short.rec"), ("newer.rec", b"newer.rec"),
                         ("a.png", b"not mixed"), ("absent.rec", b"absent.rec")):
        for words in (("merge", "a.rec", other, "-o", "out.rec"), ("merge", "a.rec", other), ("stats", "a.rec", other)):
            done = run(program, *words, cwd=folder, status=2 if other == "a.png" else 1)
            check(cause in done.stderr and done.stderr.count(b"\n") == 1, f"{words}: {done.stderr}")
            check(not done.stdout and not (folder / "out.rec").exists(), f"{words}: an output")
    for words in (("stats", "--region", "0,0,1,1", "a.rec"), ("stats", "--by", "file", "a.rec"), ("stats", "a.png", "a.rec"),
                  ("hist", "--nodata", "2", "a.rec"), ("stats", "--save-record", "x.rec", "a.png")):
        done = run(program, *words, cwd=folder, status=2)
        check(not done.stdout, f"{words}: {done.stderr}")
    (folder / "parts").mkdir()
    done = run(program, "merge", "parts", cwd=folder, status=1)
    check(b"no .rec file" in done.stderr, f"{done.stderr}")
    (folder / "parts/1.rec").write_bytes(data)
    (folder / "parts/2.rec").write_bytes(data)
    found = lines(run(program, "merge", "--json", "parts", cwd=folder))
    check(found[0]["files"] == 2 and found[0]["channels"][0]["count"] == 24, f"{found}")
    listed = run(program, "merge", "--json", "--files0-from", "-", cwd=folder, stdin=None, input=b"parts/1.rec\0parts/2.rec\0")
    check(lines(listed) == found, "a list")
    for words in (("stats",), ("stats", "--json"), ("stats", "--csv"), ("hist", "--json")):  # once they printed nothing
        printed = run(program, *words, "a.rec", cwd=folder).stdout
        saved = run(program, *words, "--save-record", "copy.rec", "--force", "a.rec", cwd=folder)
        check(printed and saved.stdout == printed, f"{words}: {saved.stdout}")
        check((folder / "copy.rec").read_bytes() == data, f"{words}: the record that is saved")
    check(run(program, "stats", "--save-record", "-", "a.rec", cwd=folder).stdout == data, "a record on standard output")
    check(not run(program, "merge", "--json", "a.rec", "-o", "quiet.rec", cwd=folder).stdout, "merge -o prints nothing")


def test_shards(program, folder):
    make_plates(folder)
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    if tifffile is not None:
        folder_of(folder / "wide", "f4", n=5)
    words = ("--recursive", "--include", "*.png", "--include", "*.tif", ".")
    command = ("stats", "--quiet", "--json", "--by", "all", "--percentiles", "5,95")
    one = run(program, *command, "--save-record", "one.rec", *words, cwd=folder, status=1)
    whole = (folder / "one.rec").read_bytes()
    for n in (1, 2, 3, 40):
        for k in range(1, n + 1):
            run(program, *command, "--save-record", f"s{n}-{k}.rec", "--shard", f"{k}/{n}", *words, cwd=folder, status=None)
        parts = [f"s{n}-{k}.rec" for k in range(1, n + 1)]
        random.Random(n).shuffle(parts)
        run(program, "merge", *parts, "-o", f"m{n}.rec", cwd=folder)
        check((folder / f"m{n}.rec").read_bytes() == whole, f"{n} shards")
        if n > 1:
            done = run(program, "merge", *parts, parts[0], cwd=folder, status=1)
            check(done.stderr == f"{parts[0]}: is a shard of a set that is complete without it\n".encode(), f"{done.stderr}")
            done = run(program, "merge", *parts[1:], "-o", "no.rec", cwd=folder, status=1)
            check(b"missing" in done.stderr and not (folder / "no.rec").exists(), f"{done.stderr}")
            done = run(program, "stats", parts[0], cwd=folder, status=1)
            check(b"missing" in done.stderr and not done.stdout, f"{done.stderr}")
            done = run(program, "merge", parts[0], parts[0], cwd=folder, status=1)
            check(b"has it too" in done.stderr, f"{done.stderr}")
            run(program, "merge", "--partial", *parts[1:], "-o", f"p{n}.rec", cwd=folder)
        kept = ("--state", f"state{n}", "--shards", n)
        first = run(program, *command, "--save-record", f"k{n}.rec", *kept, *words, cwd=folder, status=1)
        check((folder / f"k{n}.rec").read_bytes() == whole, f"{n} shards that are kept")
        check(sorted(first.stdout.splitlines()) == sorted(one.stdout.splitlines()), f"{n} shards: {first.stdout}")
        check(first.stderr.endswith(b"measured, 1 failed\n"), f"{first.stderr}")
        alone = run(program, *command, "--save-record", "alone.rec", "--force", "--state", f"alone{n}", "--shard", f"1/{n}", *words,
                    cwd=folder, status=None)  # was not saved
        check((folder / "alone.rec").read_bytes() == (folder / f"s{n}-1.rec").read_bytes(), f"1/{n}: {alone.stderr}")
        files = sorted((folder / f"state{n}").glob("*.rec"))
        check(len(files) == n, f"{len(files)} records of {n}")
        files[0].unlink()
        files[-1].write_bytes(b"damaged")
        times = [path.stat().st_mtime_ns for path in files[1:-1]]
        again = run(program, *command, *kept, *words, cwd=folder, status=1)
        check(again.stdout == first.stdout and again.stderr == first.stderr, f"{n} shards, some of them again")
        check(times == [path.stat().st_mtime_ns for path in files[1:-1]], "what is done stays")


def test_order_of_shards(program, folder):
    """Shards of two sets and a record that is none, in every order, are what all images at once are."""
    make_plates(folder)
    names = sorted(path.name for path in folder.glob("*.png"))
    save = ("stats", "--quiet", "--by", "all", "--save-record")
    run(program, *save, "whole.rec", *names, cwd=folder)
    run(program, *save, "c.rec", *names[:1], cwd=folder)
    for name, files in (("a", names[1:4]), ("b", names[4:])):
        for k in (1, 2):
            run(program, *save, f"{name}{k}.rec", "--shard", f"{k}/2", *files, cwd=folder)
    orders = list(itertools.permutations(["a1.rec", "a2.rec", "b1.rec", "b2.rec", "c.rec"]))
    for order in orders[::7]:
        run(program, "merge", "--force", *order, "-o", "m.rec", cwd=folder)
        check((folder / "m.rec").read_bytes() == (folder / "whole.rec").read_bytes(), f"{order}")
        done = run(program, "merge", *order[1:], cwd=folder, status=0 if order[0] == "c.rec" else 1)
        check((b"missing" in done.stderr) == (order[0] != "c.rec"), f"{order[1:]}: {done.stderr}")
        piped = ["-" if name == "b2.rec" else name for name in order]  # it can be read once
        run(program, "merge", "--force", *piped, "-o", "m.rec", cwd=folder, stdin=None, input=(folder / "b2.rec").read_bytes())
        check((folder / "m.rec").read_bytes() == (folder / "whole.rec").read_bytes(), f"{piped}")


def test_transfers_from_records(program, folder):
    make_plates(folder)
    (folder / "in").mkdir()
    for path in folder.glob("plate*.png"):
        path.rename(folder / "in" / path.name)
    run(program, "stats", "--by", "all", "--save-record", "all.rec", "in", cwd=folder)
    for words in (("normalize",), ("normalize", "--clip", "2,3"), ("normalize", "--mean", "100", "--stddev", "20"),
                  ("equalize",)):
        run(program, *words, "--together", "in", "-o", "together", "--force", "--save-transfer", "t.json", cwd=folder)
        run(program, *words, "--from", "all.rec", "in", "-o", "from", "--force", "--save-transfer", "f.json", cwd=folder)
        for path in sorted((folder / "together").iterdir()):
            check(path.read_bytes() == (folder / "from" / path.name).read_bytes(), f"{words}: {path.name}")
        check((folder / "t.json").read_bytes() == (folder / "f.json").read_bytes(), f"{words}: saved transfers")
    run(program, "stats", "--by", "group=plate.", "--save-record", "plates.rec", "in", cwd=folder)
    run(program, "stats", "--by", "all", "--save-record", "rgb.rec", TESTDATA / "good-interlaced.png", cwd=folder)
    for words, cause in ((("--from", "plates.rec"), b"several groups"), (("--from", "all.rec", "--together"), b"--together"),
                         (("--from", "plates.rec", "--together=group=plate.", "--save-transfer", "x.json"), b"--save-transfer"),
                         (("--from", "all.rec", "--only", "list"), b"--only"),
                         (("--from", "rgb.rec", "--channels", "luma"), b"luma")):
        done = run(program, "normalize", *words, "in/plate0_0.png", "-o", "none.png", cwd=folder, status=None)
        check(done.returncode in (1, 2) and not (folder / "none.png").exists(), f"{words}: {done.stderr}")
        check(cause in done.stderr, f"{words}: {done.stderr}")


def test_transfers_from_several_records(program, folder):
    """Each image takes the record of its group and kind; expected bytes come from runs over these files alone."""
    if tifffile is None:
        return

    def write(path, data):
        tifffile.imwrite(path, data, photometric="rgb" if data.ndim == 3 else "minisblack", metadata=None,
                         **({"extrasamples": ["unassalpha"]} if data.shape[2:] == (4,) else {}))
    rng = np.random.default_rng(11)
    kinds = {"g8": ("u1", 1), "g16": ("u2", 1), "rgb": ("u1", 3)}
    for where, groups in (("in", ("a", "b")), ("more", ("a", "b", "c"))):
        (folder / where).mkdir()
        for group in groups:
            for kind, (dtype, channels) in kinds.items():
                for i in range(2):
                    shape = (8 + i, 6, channels) if channels > 1 else (8 + i, 6)
                    data = rng.integers(10 * len(kind) + 3 * i, 150 + 20 * ord(group) % 90, shape).astype(dtype)
                    write(folder / where / f"{group}_{kind}_{i}.tif", data)
    for words in (("normalize",), ("normalize", "--clip", "3,4", "--channels", "each"), ("equalize", "--channels", "joint")):
        for group in "ab":
            for kind in kinds:
                files = sorted(path.name for path in (folder / "in").glob(f"{group}_{kind}_*"))
                run(program, *words, "--together", *files, "-o", folder / "want/", "--force", cwd=folder / "in")
        run(program, "stats", "--by", "group=[ab]_", "--save-record", "groups.rec", "--force", "in", cwd=folder)
        for jobs in ("1", "3"):
            run(program, *words, "--from", "groups.rec", "--together", "group=[ab]_", "--jobs", jobs, "in", "-o", "got",
                "--force", cwd=folder)
            for path in sorted((folder / "want").iterdir()):
                check(path.read_bytes() == (folder / "got" / path.name).read_bytes(), f"{words}, {jobs} threads: {path.name}")
    # One group of several kinds is for all inputs.
    run(program, "stats", "--by", "group=a_", "--save-record", "a.rec", *sorted((folder / "in").glob("a_*")), cwd=folder)
    run(program, "equalize", "--channels", "joint", "--from", "a.rec", *sorted((folder / "in").glob("a_*")), "-o", "one/",
        cwd=folder)
    for path in sorted((folder / "one").iterdir()):
        check(path.read_bytes() == (folder / "want" / path.name).read_bytes(), f"one group: {path.name}")
    # An image without a record fails by itself, with a sentence that names it: another group, depth, colours.
    write(folder / "more" / "a_rgba_0.tif", rng.integers(0, 99, (5, 5, 4)).astype("u1"))
    done = run(program, "normalize", "--from", "groups.rec", "--together", "group=[abc]_", "more", "-o", "more-out",
               cwd=folder, status=1)
    failed = [line for line in done.stderr.decode().splitlines() if line.startswith("more/")]
    check([line.split(":")[0] for line in failed] == ["more/a_rgba_0.tif"] + [
        f"more/c_{kind}_{i}.tif" for kind in sorted(kinds) for i in range(2)], f"{failed}")
    check('the group "a_"' in failed[0] and "4 channels, one of them alpha" in failed[0], failed[0])
    check(all('the group "c_"' in line for line in failed[1:]), f"{failed}")
    check(len(list((folder / "more-out").iterdir())) == 12, "the others are written")
    done = run(program, "normalize", "--from", "groups.rec", "in", "-o", "none", cwd=folder, status=2)
    check(b"several groups" in done.stderr and not (folder / "none").exists(), f"{done.stderr}")


def test_records_among_images(program, folder):
    """Records in lists were "neither PNG nor TIFF"."""
    make_plates(folder)
    run(program, "stats", "--by", "all", "--save-record", "all.rec", ".", cwd=folder)
    for words in (("stats",), ("stats", "--by", "all"), ("hist", "--csv"), ("normalize", "-o", "out/"), ("info",)):
        done = run(program, *words, "--files0-from", "-", cwd=folder, input=b"plate0_0.png\0all.rec", stdin=None, status=1)
        check(b"all.rec: holds records, which are not mixed with images" in done.stderr, f"{words}: {done.stderr}")
    done = run(program, "stats", "--json", "--by", "all", ".", cwd=folder)
    check(lines(done)[0]["failed"] == 0 and not done.stderr, "a directory's records are no images")
    done = run(program, "merge", "all.rec", "plate0_0.png", cwd=folder, status=2)
    check(done.stderr == b"plate0_0.png: is an image and no record; images and records are not mixed\n" and
          not done.stdout, f"an image among records: {done}")
    (folder / "fake.rec").write_bytes((folder / "plate0_0.png").read_bytes())
    run(program, "stats", "--files0-from", "-", cwd=folder, input=b"fake.rec", stdin=None)


def test_files_that_change(program, folder):
    if tifffile is None:
        return
    folder_of(folder / "in", "f4")
    os.mkfifo(folder / "in/pipe.tif")
    done = run(program, "stats", "--by", "all", "-", stdin=open(folder / "in/0.tif", "rb"), status=2)
    check(b"read again" in done.stderr, f"{done.stderr}")


def test_histograms(program, folder):
    make_plates(folder)
    rows = list(csv.DictReader(io.StringIO(run(program, "hist", "--csv", "--by", "all", ".", cwd=folder).stdout.decode())))
    check(sum(int(row["count"]) for row in rows) == 12 * 48 + 4 and rows[-1]["cdf"] == str(12 * 48 + 4), "counts of all")
    check(run(program, "hist", "--by", "all", "--ascii", ".", cwd=folder).stdout.startswith(b"13 images, gray, u8\n"), "plot")
    svg = run(program, "hist", "--by", "all", "--plot", "-", ".", cwd=folder).stdout
    check(b"13 images, gray, u8" in svg, "title")
    done = run(program, "hist", "--by", "group=plate.", "-q", "--plot", "x.svg", ".", cwd=folder, status=1)
    check(b"draws one histogram" in done.stderr and not (folder / "x.svg").exists(), f"{done.stderr}")


def test_corpus_as_one(program, folder):
    if not CORPUS.is_dir():
        skip(f"no corpus at {CORPUS}")
        return
    images = [p for p in sorted(CORPUS.rglob("*")) if p.suffix in (".png", ".tif", ".tiff") and p.stat().st_size < 4 << 20]
    images = images[::max(1, len(images) // 150)]
    alone = [x for x in lines(run(program, "stats", "--json", "--quiet", *images, status=None))]
    merged = [x for x in lines(run(program, "stats", "--json", "--quiet", "--by", "all", *images, status=None))]
    for sample in {x["sample"] for x in alone if "error" not in x}:
        def total(some, key):
            return sum(c[key] for x in some if x.get("sample") == sample for c in x["channels"])
        check(total(alone, "count") == total(merged, "count"), f"{sample}: counts")
        if sample[0] != "f":
            check(sum(c["sum"] or 0 for x in alone if x.get("sample") == sample for c in x["channels"]) ==
                  sum(c["sum"] or 0 for x in merged if x.get("sample") == sample for c in x["channels"]), f"{sample}: sums")
    check(sum("error" in x for x in alone) == sum("error" in x for x in merged), "failures")


def test_ten_thousand(program, folder):
    contents = [png(16, 16, 8, random.Random(i).randbytes(256)) for i in range(50)]
    (folder / "in").mkdir()
    for i in range(10000):
        (folder / f"in/{i:05}.png").write_bytes(contents[i % 50])
    begin = time.monotonic()
    found = lines(run(program, "stats", "--json", "--by", "all", "in", cwd=folder))
    print(f"10,000 PNG files: {time.monotonic() - begin:.1f} s")
    wanted = sum(sum(random.Random(i).randbytes(256)) for i in range(50)) * 200
    check(found[0]["files"] == 10000 and found[0]["channels"][0]["sum"] == wanted, f"{found}")
    each = lines(run(program, "stats", "--json", "--jobs", 64, "in", cwd=folder))
    sums = [sum(random.Random(i).randbytes(256)) for i in range(50)] * 200
    check([x["file"] for x in each] == [f"in/{i:05}.png" for i in range(10000)], "one after another")
    check([x["channels"][0]["sum"] for x in each] == sums, "each file's sum")


if __name__ == "__main__":
    main(globals())
