#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One transfer for each group of files (--together group=REGEX), and transfers from a part of the inputs (--only).
Expected bytes come from runs over the files of one group alone, expected samples are computed here.

usage: test_transfer_groups.py IMGSTAT
"""

import json
import os
import shutil

import harness
from harness import check, run, tiff
from test_groups import noise, planes, stack

METHODS = (("normalize",), ("normalize", "--clip", "2,2"), ("equalize",), ("normalize", "--method", "meanstd=50%,20%"))


def fill(folder, sample="u16"):
    """Two plates of three wells, another brightness each, and a file without a plate."""
    (folder / "in").mkdir(parents=True)
    names = [f"{plate}_{well}.tif" for plate in ("p1", "p2") for well in ("a", "b", "ctrl")] + ["other.tif"]
    for seed, name in enumerate(names):
        step = 2 if name.startswith("p2") and sample[0] != "f" else 1
        values = [value // step if step > 1 else value for value in noise(sample, 16 * (5 + seed), seed)]
        (folder / "in" / name).write_bytes(tiff(sample, 16, len(values) // 16, values))
    return names


def group_of(name):
    return name.split("_")[0] if "_" in name else ""


def same(folder, one, other):
    return (folder / one).read_bytes() == (folder / other).read_bytes()


def test_groups(program, folder):
    for sample in ("u8", "u16", "f32"):
        where = folder / sample
        names = fill(where, sample)
        for number, method in enumerate(METHODS):
            for group in ("p1", "p2", ""):
                files = [where / "in" / name for name in names if group_of(name) == group]
                run(program, *method, "--together", *files, "-o", where / f"want{number}/")
            for jobs in ("1", "3"):
                done = run(program, *method, "--together=group=/(p[0-9])_[^/]*$", "--jobs", jobs, where / "in",
                           "-o", where / f"got{number}{jobs}")
                check(b"1 of 7 names do not match" in done.stderr and b"other.tif" in done.stderr, f"{done.stderr!r}")
                check(all(same(where, f"want{number}/{name}", f"got{number}{jobs}/{name}") for name in names),
                      f"{sample}, {method}, {jobs} threads")
    # Without parentheses the match is the group; groups are numbered in JSON.
    done = run(program, "normalize", "--together=group=/p[0-9]_", "--json", "--quiet", where / "in", "-o", where / "json")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    check(len(shown) == 7 and all(line["groups"] == 3 for line in shown), f"{shown}")
    check([line["group"] for line in shown] == [0, 1, 1, 1, 2, 2, 2] and not done.stderr, f"{shown} {done.stderr!r}")
    check(all(same(where, f"want0/{name}", f"json/{name}") for name in names), "the match is the group")


def test_names_beyond_ascii(program, folder):
    # `.` and brackets matched bytes: one of two bytes of a letter, which others share.
    (folder / "in").mkdir()
    for name in ("p-é1", "p-ö1", "p-é2", "p-日1", "p-e\u03011"):
        (folder / "in" / f"{name}.tif").write_bytes(tiff("u8", 2, 2, [1, 2, 3, 4]))
    latin = os.fsencode(folder / "in") + b"/p-\xe91.tif"
    shutil.copy(folder / "in" / "p-é1.tif", latin)
    for locale in ("C", "C.UTF-8", "nowhere"):
        for expression, want in (("p-(.)[0-9]", {"é": 2, "ö": 1, "日": 1, "": 1, "\ufffd": 1}),
                                 ("p-([éö日])", {"é": 2, "ö": 1, "日": 1, "": 2}),
                                 ("p-([^0-9]*)", {"é": 2, "ö": 1, "日": 1, "e\u0301": 1, "\ufffd": 1}),
                                 ("p-(.{2})", {"é1": 1, "é2": 1, "ö1": 1, "日1": 1, "e\u0301": 1, "\ufffd1": 1})):
            done = run(program, "stats", "--json", "--by", f"group={expression}", folder / "in", variables={"LC_ALL": locale})
            got = {line["group"]: line["files"] for line in map(json.loads, done.stdout.decode().splitlines())}
            check(got == want, f"{locale}, {expression}: {got}")


def test_types_of_groups(program, folder):
    """Groups may be of unlike types; within a group they are refused before anything is written."""
    for name, sample in (("a_1.tif", "u8"), ("a_2.tif", "u16"), ("b_1.tif", "f32"), ("c_1.tif", "i16")):
        (folder / name).write_bytes(tiff(sample, 4, 4, noise(sample, 16, 1)))
    words = ("normalize", "--together=group=/([abc])_")
    run(program, *words, *sorted(folder.glob("?_?.tif")), "-o", folder / "out/")
    for group in "abc":
        files = sorted(folder.glob(f"{group}_?.tif"))
        run(program, "normalize", "--together", *files, "-o", folder / "want/")
        check(all(same(folder, f"want/{file.name}", f"out/{file.name}") for file in files), group)
    (folder / "b_2.tif").write_bytes(tiff("u8", 4, 4, noise("u8", 16, 1)))
    done = run(program, *words, *sorted(folder.glob("?_?.tif")), "-o", folder / "no/", status=2)
    check(b"together they must be equal" in done.stderr and not list(folder.glob("no/*.tif")), f"{done.stderr!r}")


def test_channels_of_groups(program, folder):
    """Channels within each group have a transfer of their own."""
    xml = ('<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" '
           'DimensionOrder="XYCZT" Type="uint8" SizeX="4" SizeY="4" SizeC="2" SizeZ="1" SizeT="1">'
           '<Channel ID="Channel:0:0" Name="DAPI"/><Channel ID="Channel:0:1" Name="GFP"/><TiffData/></Pixels></Image></OME>')
    for seed, name in enumerate(("a_1.ome.tif", "a_2.ome.tif", "b_1.ome.tif")):
        pages = [("u8", 4, noise("u8", 16, 2 * seed + page)) for page in range(2)]
        (folder / name).write_bytes(stack(pages, xml))
    files = sorted(folder.glob("*.ome.tif"))
    done = run(program, "normalize", "--json", "--together=group=/([ab])_", *files, "-o", folder / "out/")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    check([(line["group"], line["groups"]) for line in shown] == [(0, 4), (1, 4)] * 2 + [(2, 4), (3, 4)], f"{shown}")
    for group in "ab":
        own = [file for file in files if file.name.startswith(group)]
        run(program, "normalize", "--together", *own, "-o", folder / "want/")
        check(all(same(folder, f"want/{file.name}", f"out/{file.name}") for file in own), group)
    # A channel that no listed file has: nothing is written.
    (folder / "list").write_text("a_1.ome.tif\n")
    (folder / "a_1.ome.tif").write_bytes(stack([("u8", 4, noise("u8", 16, 3))],
                                               xml.replace('SizeC="2"', 'SizeC="1"').replace(
                                                   '<Channel ID="Channel:0:1" Name="GFP"/>', "")))
    done = run(program, "normalize", "--together", "--only", folder / "list", *files[:2], "-o", folder / "no/", status=2)
    check(b"GFP" in done.stderr and not list(folder.glob("no/*.tif")), f"{done.stderr!r}")


def test_resume(program, folder):
    """Outputs that exist keep their place among the new ones of their group only with the same transfer."""
    names = fill(folder)
    words = ("normalize", "--quiet", "--together=group=/p[0-9]_", folder / "in", "-o", folder / "out")
    run(program, *words)
    before = {name: (folder / "out" / name).read_bytes() for name in names}
    for name in ("p1_a.tif", "p2_b.tif"):
        (folder / "out" / name).unlink()
    run(program, *words, "--skip-existing")
    check(all((folder / "out" / name).read_bytes() == before[name] for name in names), "the bytes of one run")
    # The second group changes: the first would agree.
    (folder / "in" / "p2_z.tif").write_bytes(tiff("u16", 4, 4, [0, 65535] * 8))
    (folder / "out" / "p1_b.tif").unlink()
    done = run(program, *words, "--skip-existing", status=1)
    check(b"has not the transfer" in done.stderr and b"p2_" in done.stderr, f"{done.stderr!r}")
    check(not (folder / "out" / "p1_b.tif").exists(), "nothing is written")


def test_only(program, folder):
    names = fill(folder)
    lists = {"lines": "*_ctrl.tif\n\n", "nul": "p1_ctrl.tif\0p2_ctrl.tif", "paths": "".join(
        f"{folder}/in/{plate}_ctrl.tif\n" for plate in ("p1", "p2"))}
    plates = [name for name in names if name != "other.tif"]
    files = [folder / "in" / name for name in plates]
    for name, text in lists.items():
        (folder / name).write_text(text)
        for number, method in enumerate(METHODS):
            out = f"{name}{number}"
            run(program, *method, "--together", "--only", folder / name, *files, "-o", folder / out)
            # The same by a saved transfer of the controls alone.
            controls = [file for file in files if "ctrl" in file.name]
            run(program, *method, "--together", "--force", "--save-transfer", folder / "t.json", *controls)
            run(program, "apply", folder / "t.json", *files, "-o", folder / f"want{out}")
            check(all(same(folder, f"{out}/{plate}", f"want{out}/{plate}") for plate in plates), f"{name}, {method}")
    # Each group has its own members of the list; a group without any fails, and the others are written.
    done = run(program, "normalize", "--together=group=/p[0-9]_", "--only", folder / "lines", folder / "in",
               "-o", folder / "grouped", status=1)
    check(b"other.tif: none of the files that are measured is of its group" in done.stderr, f"{done.stderr!r}")
    check(sorted(path.name for path in (folder / "grouped").iterdir()) == sorted(plates), "the others are written")
    for plate in ("p1", "p2"):
        own = [file for file in files if file.name.startswith(plate)]
        run(program, "normalize", "--together", "--only", folder / "lines", *own, "-o", folder / "alone/")
        check(all(same(folder, f"alone/{file.name}", f"grouped/{file.name}") for file in own), plate)
    # A control that cannot be read: its group fails.
    shutil.copytree(folder / "in", folder / "bad")
    (folder / "bad" / "p2_ctrl.tif").write_bytes((folder / "in" / "p2_ctrl.tif").read_bytes()[:200])
    done = run(program, "normalize", "--together=group=/p[0-9]_", "--only", folder / "lines", folder / "bad",
               "-o", folder / "out", status=1)
    check(sorted(path.name for path in (folder / "out").iterdir()) == ["p1_a.tif", "p1_b.tif", "p1_ctrl.tif"],
          f"{done.stderr!r}")
    (folder / "bad" / "p1_ctrl.tif").write_bytes(b"II*\0no image")
    done = run(program, "normalize", "--together", "--only", folder / "lines", folder / "bad", "-o", folder / "none",
               status=2)
    check(not list(folder.glob("none/*")), f"{done.stderr!r}")
    # Names that are no input are told; a list that names none is refused.
    (folder / "wrong").write_text("p1_ctrl.tif\np9.tif\n")
    done = run(program, "normalize", "--together", "--only", folder / "wrong", *files, "-o", folder / "told")
    check(b"1 of the names in" in done.stderr and b"p9.tif" in done.stderr, f"{done.stderr!r}")
    (folder / "wrong").write_text("p9.tif\n")
    done = run(program, "normalize", "--together", "--only", folder / "wrong", *files, "-o", folder / "refused", status=2)
    check(b"names none of the 6 inputs" in done.stderr and not list(folder.glob("refused/*.tif")), f"{done.stderr!r}")


def test_samples(program, folder):
    """Black and white are the extrema of the control, and the others are limited to them."""
    (folder / "a.tif").write_bytes(tiff("u8", 4, 1, [0, 60, 160, 255]))
    (folder / "c.tif").write_bytes(tiff("u8", 4, 1, [60, 100, 140, 160]))
    (folder / "list").write_text("c.tif")
    run(program, "normalize", "--together", "--only", folder / "list", folder / "a.tif", folder / "c.tif", "-o", folder / "o/")
    check(planes(folder / "o/a.tif", "u8")[0] == [0, 0, 255, 255], "limited to the control")
    check(planes(folder / "o/c.tif", "u8")[0] == [0, 102, 204, 255], "the control is full scale")


def test_usage(program, folder):
    (folder / "a.tif").write_bytes(tiff("u8", 2, 2, [1, 2, 3, 4]))
    (folder / "list").write_text("a.tif\n")
    (folder / "empty").write_text("\n\n")
    out = ("-o", folder / "o.tif")
    for words, sentence in (
            (("--together=group=(", *out), b"no regular expression"),
            (("--together=group=", *out), b"it is empty"),
            (("--together=group", *out), b"group=REGEX"),
            (("--together=group=a", "--save-transfer", folder / "t.json"), b"saves one"),
            (("--only", folder / "list", *out), b"--only is for --together"),
            (("--together=file", "--only", folder / "list", *out), b"--only is for --together"),
            (("--together", "--only", folder / "none", *out), b"No such file"),
            (("--together", "--only", folder / "empty", *out), b"holds no name")):
        done = run(program, "normalize", *words, folder / "a.tif", status=2)
        check(sentence in done.stderr, f"{words}: {done.stderr!r}")
        check(not (folder / "o.tif").exists() and not (folder / "t.json").exists(), "nothing is written")


if __name__ == "__main__":
    harness.main(globals())
