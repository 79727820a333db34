#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Transfers of channels and depths over many files: --together, --save-transfer, apply. Expected values are computed
here with fractions.

usage: test_sets.py IMGSTAT
"""

import itertools
import json
import math
import random
import struct
from fractions import Fraction

import harness
from harness import check, run, tiff
from test_groups import IMAGEJ, OME, lines, planes, stack
from tiff_tree import ASCII, LONG, Page, Tiff, gray, write

WIDTH = 16


def packed(bits, values):
    """A TIFF file of gray samples of 1 to 16 bits, each row on whole bytes."""
    rows = [values[i:i + WIDTH] for i in range(0, len(values), WIDTH)]
    if bits in (8, 16):
        data = struct.pack(f"<{len(values)}{'B' if bits == 8 else 'H'}", *values)
    else:
        bytes_a_row = (WIDTH * bits + 7) // 8
        data = b"".join((sum(v << bits * (WIDTH - 1 - i) for i, v in enumerate(row)) <<
                         (8 * bytes_a_row - WIDTH * bits)).to_bytes(bytes_a_row, "big") for row in rows)
    return harness.tiff_file(data, [(256, 4, [WIDTH]), (257, 4, [len(rows)]), (258, 3, [bits]), (259, 3, [1]),
                                    (262, 3, [1]), (273, 4, [8]), (277, 3, [1]), (278, 4, [len(rows)]),
                                    (279, 4, [len(data)]), (339, 3, [1])])


def samples(path):
    """The samples of a file of one uncompressed page of 1 to 16 bits."""
    file = Tiff(path.read_bytes())
    [page] = file.chain
    bits, width = page.first(258), page.first(256)
    data = b"".join(file.data[at:at + n] for at, n in zip(page.fields[273], page.fields[279]))
    if bits in (8, 16):
        return bits, list(struct.unpack(f"<{len(data) * 8 // bits}{'B' if bits == 8 else 'H'}", data))
    pitch, out = (width * bits + 7) // 8, []
    for at in range(0, len(data), pitch):
        row = int.from_bytes(data[at:at + pitch], "big") >> (8 * pitch - width * bits)
        out += [row >> bits * (width - 1 - i) & (1 << bits) - 1 for i in range(width)]
    return bits, out


def draw(bits, n, seed):
    """Not all of the full scale, so that a stretch has something to do."""
    source, top = random.Random(seed), (1 << bits) - 1
    return [source.randint(top // 8, top - top // 6) for _ in range(n)]


def black_and_white(every, clip):
    every, n = sorted(every), len(every)
    cut = n * clip // 100
    return every[cut], every[n - 1 - cut]


def stretched(v, black, white, top):
    if black == white:
        return v * top
    return min(max((v - black) / (white - black), Fraction(0)), Fraction(1)) * top


DEPTHS = (1, 2, 4, 8, 10, 12, 14, 16)


def test_depths(program, folder):
    """All pairs of depths, and some more of them: what has a common scale of at most 16 bits is merged exactly, the
    rest is refused before anything is written. 8 with 16 bits was all that worked."""
    merged = refused = 0
    cases = [*itertools.combinations(DEPTHS, 2), (1, 2, 4), (1, 4, 8, 16), (1, 2, 7, 14), (3, 6, 12), (4, 6), (2, 3, 4),
             (5, 10), (1, 4, 12), (1, 12, 16), (8, 10, 16)]
    for case in cases:
        there = folder / "-".join(map(str, case))
        there.mkdir()
        images = {bits: draw(bits, 96 + 32 * number, bits) for number, bits in enumerate(case)}
        for bits, values in images.items():
            (there / f"{bits}.tif").write_bytes(packed(bits, values))
        words = ("normalize", "--clip", "2,2", "--together", "--compression", "none", there)
        out = folder / f"out-{there.name}"
        common = math.lcm(*case)
        if common > 16:
            refused += 1
            done = run(program, *words, "-o", out, status=2)
            check(b"together they must have one scale of at most 16 bits" in done.stderr and
                  done.stderr.count(b"\n") == 1, f"{case}: {done.stderr!r}")
            check(not list(out.rglob("*.tif")), f"{case}: nothing is written")
            continue
        merged += 1
        scale = {bits: Fraction((1 << common) - 1, (1 << bits) - 1) for bits in case}
        check(all(factor.denominator == 1 for factor in scale.values()), f"{case}: this test's scale is exact")
        every = [v * scale[bits] for bits, values in images.items() for v in values]
        black, white = black_and_white(every, 2)
        run(program, *words, "-o", out, "--save-transfer", folder / f"{there.name}.json")
        run(program, "equalize", *words[3:], "-o", folder / f"equal-{there.name}")
        for bits, values in images.items():
            got_bits, got = samples(out / f"{bits}.tif")
            check(got_bits == bits and len(got) == len(values), f"{case}: {bits} bits stay")
            top = (1 << bits) - 1
            off = [(v, g) for v, g in zip(values, got)
                   if abs(g - stretched(v * scale[bits], black, white, top)) > Fraction(1, 2)]
            check(not off, f"{case}, {bits} bits: {off[:3]}")
            ordered, n = sorted(every), len(every)
            first = ordered.count(ordered[0])
            expected = [round(Fraction(sum(x <= v * scale[bits] for x in ordered) - first, n - first) * top)
                        for v in range(1 << bits)] if bits <= 4 else None
            if expected:
                _, equal = samples(folder / f"equal-{there.name}" / f"{bits}.tif")
                check(equal == [expected[v] for v in values], f"{case}, {bits} bits: equalized")
        run(program, "apply", folder / f"{there.name}.json", "--compression", "none", there, "-o",
            folder / f"again-{there.name}")
        for bits in case:
            check((out / f"{bits}.tif").read_bytes() == (folder / f"again-{there.name}" / f"{bits}.tif").read_bytes(),
                  f"{case}, {bits} bits: the saved transfer gives the same bytes")
    check(merged >= 20 and refused >= 10, f"{merged} merged, {refused} refused")


def test_parameters_of_depths(program, folder):
    # Images of fewer bits than the scale had no parameters and no clamped samples, and those of a saved gamma were all
    # clamped.
    there, saved = folder / "in", folder / "t.json"
    there.mkdir()
    images = {bits: draw(bits, 96, bits) for bits in (2, 4, 8, 16)}
    for bits, values in images.items():
        (there / f"{bits}.tif").write_bytes(packed(bits, values))
    scale = {bits: 65535 // ((1 << bits) - 1) for bits in images}
    every = [v * scale[bits] for bits, values in images.items() for v in values]
    black, white = black_and_white(every, 10)
    mean = Fraction(sum(every), len(every))
    stddev = math.sqrt(sum((v - mean) ** 2 for v in every) / len(every))
    lo, hi = mean - Fraction(stddev), mean + Fraction(stddev)  # that become 0 and full scale
    cases = {"percentile=10,10": (("black", black), ("white", white), black, white),
             "meanstd=50%,50%": (("mean", mean), ("stddev", stddev), lo, hi),
             "gamma=2": (("gamma", None), ("gamma", None), 0, 65535)}
    for method, (one, other, low, high) in cases.items():
        first = lines(program, "normalize", "--together", "--method", method, "--json", "--save-transfer", saved, "--force",
                      there, "-o", folder / "out")
        again = lines(program, "apply", saved, "--json", "--force", there, "-o", folder / "out")
        kept = {made["from"]["bits"]: made["maps"][0]["parameters"] for made in json.loads(saved.read_text())["transfers"]}
        for line in first + again:
            bits = line["transfer"]["from"]["bits"]
            found, counts = line["transfer"]["maps"][0], line["clamped"]
            check(kept[bits] == found, f"{method}, {bits} bits: {kept[bits]} is saved of {found}")
            for key, value in (one, other):
                want = 2 if value is None else float(Fraction(value) / scale[bits])
                check(math.isclose(found[key], want, rel_tol=1e-12), f"{method}, {bits} bits: {found}, not {key} {want}")
            wide = [v * scale[bits] for v in images[bits]]
            want = (len(wide), sum(v < low for v in wide), sum(v > high for v in wide))
            check((counts["samples"], counts["low"], counts["high"]) == want, f"{method}, {bits} bits: {counts}, not {want}")


def test_depths_without_the_deepest(program, folder):
    """The order of the files does not matter, and neither does whether a file has the common depth."""
    (folder / "in").mkdir()
    values = {"a.tif": (4, draw(4, 64, 1)), "b.tif": (6, draw(6, 64, 2)), "c.tif": (4, draw(4, 64, 3))}
    for name, (bits, of) in values.items():
        (folder / "in" / name).write_bytes(packed(bits, of))
    names = sorted(values)
    for number, order in enumerate(itertools.permutations(names)):
        run(program, "normalize", "--together", *[folder / "in" / name for name in order], "-o", folder / f"o{number}")
        for name in names:
            check((folder / f"o{number}" / name).read_bytes() == (folder / "o0" / name).read_bytes(), f"{order}: {name}")


def test_depth_of_outputs(program, folder):
    """One depth of outputs, from several of inputs."""
    (folder / "in").mkdir()
    images = {2: draw(2, 64, 1), 8: draw(8, 64, 2), 16: draw(16, 64, 3)}
    for bits, values in images.items():
        (folder / "in" / f"{bits}.tif").write_bytes(packed(bits, values))
    scale = {bits: 65535 // ((1 << bits) - 1) for bits in images}
    every = [v * scale[bits] for bits, values in images.items() for v in values]
    black, white = min(every), max(every)
    for depth, letter, top in (("8", "u8", 255), ("16", "u16", 65535)):
        run(program, "normalize", "--together", "--depth", depth, "--compression", "none", folder / "in", "-o", folder / depth)
        for bits, values in images.items():
            [got] = planes(folder / depth / f"{bits}.tif", letter)
            off = [g for v, g in zip(values, got) if abs(g - stretched(Fraction(v * scale[bits]), black, white, top)) > Fraction(1, 2)]
            check(len(got) == len(values) and not off, f"{bits} to {depth} bits: {off[:3]}")


def with_nodata(bits, values, nodata):
    data = packed(bits, values)
    page = Tiff(data).chain[0]
    fields = {tag: (page.kinds[tag], list(of)) for tag, of in page.fields.items() if tag not in (273, 279)}
    fields[42113] = (2, f"{nodata}\0".encode())
    strips = [data[at:at + n] for at, n in zip(page.fields[273], page.fields[279])]
    return write([Page(fields, strips)])


def test_nodata(program, folder):
    """The nodata value 0 is that of every depth; others have no place on a common scale."""
    (folder / "in").mkdir()
    images = {8: [0] * 5 + draw(8, 59, 1), 16: [0] * 9 + draw(16, 55, 2)}
    for bits, values in images.items():
        (folder / "in" / f"{bits}.tif").write_bytes(with_nodata(bits, values, 0))
    run(program, "normalize", "--together", "--compression", "none", folder / "in", "-o", folder / "out", "--save-transfer",
        folder / "t.json")
    every = [v * (257 if bits == 8 else 1) for bits, values in images.items() for v in values if v]
    black, white = min(every), max(every)
    for bits, values in images.items():
        _, got = samples(folder / "out" / f"{bits}.tif")
        top = (1 << bits) - 1
        for v, g in zip(values, got):
            want = 0 if v == 0 else 1 + stretched(Fraction(v * (257 if bits == 8 else 1)), black, white, top - 1)
            check(abs(g - want) <= Fraction(1, 2) and (g == 0) == (v == 0), f"{bits} bits: {v} became {g}, not {want}")
    run(program, "apply", folder / "t.json", "--compression", "none", folder / "in", "-o", folder / "again")
    for name in ("8.tif", "16.tif"):
        check((folder / "out" / name).read_bytes() == (folder / "again" / name).read_bytes(), f"{name}: the same bytes")
    for bits, values in images.items():
        (folder / "in" / f"{bits}.tif").write_bytes(with_nodata(bits, values, (1 << bits) - 1))
    done = run(program, "normalize", "--together", folder / "in", "-o", folder / "no", status=2)
    check(b"images of several depths have the nodata value 0 or none" in done.stderr, f"{done.stderr!r}")
    check(not list((folder / "no").rglob("*.tif")), "nothing is written")


# ---- Channels --------------------------------------------------------------------------------------


def hyperstack(names, z, seed, description=None):
    """Planes of channels (name, level) in the order of z, then c; the values of each channel."""
    source, pages, of = random.Random(seed), [], {}
    for plane in range(z):
        for name, level in names:
            values = [level + plane * 3 + source.randrange(level) for _ in range(8 * WIDTH)]
            pages.append(("u16", WIDTH, values))
            of.setdefault(name, []).extend(values)
    if description is None:
        channels = "".join(f'<Channel ID="Channel:0:{i}" Name="{name}" SamplesPerPixel="1"/>'
                           for i, (name, _) in enumerate(names))
        description = (f'<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
                       f'<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SizeX="{WIDTH}" '
                       f'SizeY="8" SizeC="{len(names)}" SizeZ="{z}" SizeT="1">{channels}<TiffData/></Pixels></Image></OME>')
    return stack(pages, description), of


def maps_of(every):
    return min(every), max(every)


def test_channels(program, folder):
    """--together gave DAPI and GFP of a set of hyperstacks one transfer."""
    there = folder / "in"
    there.mkdir()
    files = {"a.ome.tif": [("DAPI", 200), ("GFP", 3000)], "b.ome.tif": [("GFP", 4000), ("DAPI", 150), ("Cy5", 90)],
             "c.ome.tif": [("Cy5", 50)]}
    every, of_file = {}, {}
    for seed, (name, channels) in enumerate(files.items()):
        data, of = hyperstack(channels, 2 + seed, seed)
        (there / name).write_bytes(data)
        of_file[name] = of
        for channel, values in of.items():
            every.setdefault(channel, []).extend(values)
    (there / "plain.tif").write_bytes(tiff("u16", WIDTH, 4, [7 * i for i in range(64)]))
    (there / "z.tif").write_bytes(tiff("u16", WIDTH, 4, [9 * i for i in range(64)]))
    every[None] = [9 * i for i in range(64)]
    run_lines = lines(program, "normalize", "--together", "--json", "--save-transfer", folder / "t.json", there, "-o",
                      folder / "out")
    seen = {}
    for line in run_lines:
        [found] = line["transfer"]["maps"]
        channel = line["transfer"].get("channel", {}).get("name")
        check((found["black"], found["white"]) == maps_of(every[channel]), f"{channel}: {found}")
        check(line["groups"] == 4, f"{line}")
        check(seen.setdefault(channel, line["group"]) == line["group"], f"{line}")
    check(len(run_lines) == 2 * 2 + 3 * 3 + 4 + 2 and sorted(seen.values()) == [0, 1, 2, 3], f"{seen}")
    for name, of in of_file.items():
        got = planes(folder / "out" / name, "u16")
        for c, (channel, _) in enumerate(files[name]):
            black, white = maps_of(every[channel])
            values = [v for plane in got[c::len(files[name])] for v in plane]
            off = [g for v, g in zip(of[channel], values) if abs(g - stretched(Fraction(v), black, white, 65535)) > Fraction(1, 2)]
            check(len(values) == len(of[channel]) and not off, f"{name}, {channel}: {off[:3]}")
    run(program, "apply", folder / "t.json", there, "-o", folder / "again")
    for name in (*files, "plain.tif", "z.tif"):
        check((folder / "out" / name).read_bytes() == (folder / "again" / name).read_bytes(), f"{name}: the same bytes")
    for jobs in ("1", "3"):
        run(program, "normalize", "--together", "--jobs", jobs, there, "-o", folder / f"jobs{jobs}")
        check(all((folder / "out" / name).read_bytes() == (folder / f"jobs{jobs}" / name).read_bytes() for name in files),
              f"{jobs} threads")
    done = run(program, "normalize", "--together", "--verbose", there, "-o", folder / "verbose")
    check(b"4 transfers" in done.stderr, f"{done.stderr!r}")
    data, _ = hyperstack([("TRITC", 70)], 2, 9)
    (folder / "new.ome.tif").write_bytes(data)
    done = run(program, "apply", folder / "t.json", folder / "new.ome.tif", "-o", folder / "new.tif", status=1)
    check(b'new.ome.tif: ' in done.stderr and b'none of the transfers is for the channel "TRITC"' in done.stderr,
          f"{done.stderr!r}")
    check(not (folder / "new.tif").exists(), "nothing is written")
    # Planes of one channel alone are as before.
    run(program, "normalize", "--together", "--save-transfer", folder / "one.json", there / "c.ome.tif", "-o", folder / "c.tif")
    check(json.loads((folder / "one.json").read_text())["imgstat_transfer"] == 1, "one transfer is no set")
    run(program, "apply", folder / "one.json", there / "plain.tif", "-o", folder / "plain.tif")


def test_channels_without_names(program, folder):
    """By place; names that repeat in a file name nothing."""
    for number, text in enumerate((IMAGEJ.format(4, 2, 2, 1), None)):
        there = folder / f"in{number}"
        there.mkdir()
        every = [[], []]
        for seed in (1, 2):
            source = random.Random(seed)
            pages = [("u16", WIDTH, [(100, 5000)[c] * seed + source.randrange(900) for _ in range(2 * WIDTH)])
                     for _ in range(2) for c in range(2)]
            for c in range(2):
                every[c] += pages[c][2] + pages[c + 2][2]
            description = text or OME.replace('SizeC="3" SizeZ="5" SizeT="2"', 'SizeC="2" SizeZ="2" SizeT="1"').replace(
                'Name="GFP"', 'Name="DAPI"').replace('<Channel ID="Channel:0:2" SamplesPerPixel="1"/>', "").format(
                    order="XYCZT", width=WIDTH, height=2)
            (there / f"{seed}.tif").write_bytes(stack(pages, description))
        found = lines(program, "normalize", "--together", "--json", there, "-o", folder / f"out{number}")
        check(len(found) == 8 and all(line["groups"] == 2 for line in found), f"{number}: {found}")
        for i, line in enumerate(found):
            [one] = line["transfer"]["maps"]
            check((one["black"], one["white"]) == maps_of(every[i % 2]), f"{number}, page {i}: {one}")
            check(line["transfer"]["channel"] == {"c": i % 2}, f"{number}: {line['transfer']}")


def test_channels_of_several_depths(program, folder):
    """Channels and depths at once; wide samples are read again for each channel."""
    there = folder / "in"
    there.mkdir()
    pages = [("u8", WIDTH, draw(8, 64, seed)) for seed in (1, 2)]
    (there / "a.tif").write_bytes(stack(pages, IMAGEJ.format(2, 2, 1, 1)))
    wide = [("u16", WIDTH, draw(16, 64, seed)) for seed in (3, 4)]
    (there / "b.tif").write_bytes(stack(wide, IMAGEJ.format(2, 2, 1, 1)))
    run(program, "equalize", "--together", there, "-o", folder / "out", "--save-transfer", folder / "t.json")
    check(len(json.loads((folder / "t.json").read_text())["transfers"]) == 4, "2 channels of 2 depths")
    run(program, "apply", folder / "t.json", there, "-o", folder / "again")
    for name in ("a.tif", "b.tif"):
        check((folder / "out" / name).read_bytes() == (folder / "again" / name).read_bytes(), name)
    for c in range(2):
        tall = [v * 257 for v in pages[c][2]] + wide[c][2]
        (folder / "tall.tif").write_bytes(tiff("u16", WIDTH, len(tall) // WIDTH, tall))
        run(program, "equalize", "--force", folder / "tall.tif", "-o", folder / "tall_out.tif")
        check(planes(folder / "out" / "b.tif", "u16")[c] == planes(folder / "tall_out.tif", "u16")[0][64:], f"channel {c}")
    floats = folder / "floats"
    floats.mkdir()
    every = [[], []]
    for name, seed in (("a.tif", 5), ("b.tif", 6)):
        source = random.Random(seed)
        pages = [("f32", WIDTH, [struct.unpack("<f", struct.pack("<f", source.gauss(9 ** (c + 1), 2)))[0] for _ in range(64)])
                 for c in range(2)]
        for c in range(2):
            every[c] += pages[c][2]
        (floats / name).write_bytes(stack(pages, IMAGEJ.format(2, 2, 1, 1)))
    for line in lines(program, "normalize", "--together", "--clip", "5,5", "--json", floats, "-o", folder / "floats_out"):
        [one] = line["transfer"]["maps"]
        check((one["black"], one["white"]) == black_and_white(every[line["page"]], 5), f"{line}")


def test_levels_follow_their_channel(program, folder):
    """Levels in SubIFDs lie at no channel themselves."""
    rows = [[[50 + 1000 * c + x + y for x in range(16)] for y in range(16)] for c in range(2)]
    text = OME.replace('SizeC="3" SizeZ="5" SizeT="2"', 'SizeC="2" SizeZ="1" SizeT="1"').replace(
        '<Channel ID="Channel:0:2" SamplesPerPixel="1"/>', "").format(order="XYCZT", width=16, height=16)
    pages = [gray(of, fields={270: (ASCII, text.encode() + b"\0")} if c == 0 else {},
                  subs=[gray([row[::2] for row in of[::2]], fields={254: (LONG, [1])})]) for c, of in enumerate(rows)]
    (folder / "in.ome.tif").write_bytes(write(pages))
    run(program, "normalize", "--together", "--compression", "none", folder / "in.ome.tif", "-o", folder / "out.ome.tif",
        "--save-transfer", folder / "t.json")
    run(program, "apply", folder / "t.json", "--compression", "none", folder / "in.ome.tif", "-o", folder / "again.ome.tif")
    check((folder / "out.ome.tif").read_bytes() == (folder / "again.ome.tif").read_bytes(), "the same bytes")
    file = Tiff((folder / "out.ome.tif").read_bytes())
    for c, page in enumerate(file.chain):
        [level] = page.subs
        whole, small = (struct.unpack(f"<{n}H", b"".join(file.data[at:at + size] for at, size in
                                                           zip(of.fields[273], of.fields[279])))
                        for of, n in ((page, 256), (level, 64)))
        check([whole[16 * y + x] for y in range(0, 16, 2) for x in range(0, 16, 2)] == list(small), f"channel {c}")
        check(min(whole) == 0 and max(whole) == 65535, f"channel {c} by itself")


# ---- Saved sets ------------------------------------------------------------------------------------


def test_damaged_sets(program, folder):
    (folder / "in").mkdir()
    for bits in (8, 16):
        (folder / "in" / f"{bits}.tif").write_bytes(packed(bits, draw(bits, 64, bits)))
    run(program, "normalize", "--together", "--method", "gamma=2", "--save-transfer", folder / "t.json", folder / "in")
    good = json.loads((folder / "t.json").read_text())
    check(good["imgstat_transfer"] == 2 and [one["from"]["bits"] for one in good["transfers"]] == [16, 8], f"{good.keys()}")

    def refused(change, word):
        bad = json.loads(json.dumps(good))
        change(bad)
        (folder / "bad.json").write_text(json.dumps(bad))
        done = run(program, "apply", folder / "bad.json", folder / "in", "-o", folder / "no", status=1)
        check(word in done.stderr and b"bad.json: " in done.stderr, f"{word}: {done.stderr!r}")
        check(not (folder / "no").exists(), "nothing is written")

    refused(lambda t: t["transfers"].append(t["transfers"][0]), b"for the same images")
    refused(lambda t: t["transfers"].clear(), b'"transfers"')
    refused(lambda t: t.update(transfers=7), b'"transfers"')
    refused(lambda t: t["transfers"].append(3), b"no object")
    refused(lambda t: t["transfers"][0].update(channel=3), b'"channel"')
    refused(lambda t: t["transfers"][0].update(channel={"c": -1}), b'"c"')
    refused(lambda t: t["transfers"][0].update(channel={"c": 0, "name": 3}), b'"name"')
    refused(lambda t: t["transfers"][1].pop("maps"), b'"maps"')
    refused(lambda t: t.update(imgstat_transfer=3), b"version 3")
    # Images of another depth.
    (folder / "f.tif").write_bytes(tiff("f32", 4, 4, [0.5] * 16))
    done = run(program, "apply", folder / "t.json", folder / "f.tif", "-o", folder / "f_out.tif", status=1)
    check(b"the transfer is for samples of type" in done.stderr, f"{done.stderr!r}")


if __name__ == "__main__":
    harness.main(globals())
