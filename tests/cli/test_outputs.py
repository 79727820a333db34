#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Outputs of normalize, equalize and apply: what is logged, measured only, refused.

usage: test_outputs.py IMGSTAT [TEST...]
"""

import json
import os
import shutil
import stat
import subprocess

from harness import TESTDATA, check, main, png, run, tiff


def lines_of(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


OTHER = png(8, 8, 8, bytes(range(0, 128, 2)))  # gray, 8 bits


def copies(folder, **names):
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in names.items():
        shutil.copy(TESTDATA / source, folder / name.replace("_", "."))


# ---- JSON ------------------------------------------------------------------------------------------


def test_json(program, folder):
    copies(folder, a_png="good-example.png", p_tif="good-pages.tif", n_png="bad-text.tif")
    done = run(program, "normalize", "--json", "a.png", "p.tif", "n.png", "no.tif", "-o", "out", cwd=folder, status=1)
    lines = lines_of(done)
    missing = {"file": "no.tif", "error": "io", "message": "no.tif: No such file or directory"}
    check(lines[-1] == missing, f"a file that is missing: {lines[-1]}")
    check(lines[-2] == {"file": "n.png", "error": "format", "message": "n.png: is neither PNG nor TIFF"}, f"{lines[-2]}")
    check([(line["file"], line["output"], line["page"], line["pages"]) for line in lines[:-2]] ==
          [("a.png", "out/a.png", 0, 1), *(("p.tif", "out/p.tif", page, 3) for page in range(3))], f"pages: {lines}")
    check(list(lines[0]) == ["file", "output", "page", "pages", "group", "groups", "transfer", "clamped", "warnings"], f"keys: {list(lines[0])}")
    check(lines[0]["transfer"] == {"method": "stretch", "like": "imgstat", "luma": False, "from": {"sample": "u8", "bits": 8},
                                   "to": {"sample": "u8", "bits": 8, "range": [0, 255]},
                                   "maps": [{"black": 52, "white": 154}]}, f"a transfer: {lines[0]}")
    done = run(program, "normalize", "--json", "--skip-existing", "a.png", "-o", "out/", cwd=folder)
    check(lines_of(done) == [{"file": "a.png", "output": "out/a.png", "skipped": True}], f"skipped: {done.stdout!r}")
    done = run(program, "normalize", "--json", "--dry-run", "a.png", "p.tif", "-o", "other", cwd=folder)
    check(lines_of(done) == [{"file": name, "output": f"other/{name}", "exists": False} for name in ("a.png", "p.tif")],
          f"dry run: {done.stdout!r}")
    for words, maps in ((("normalize", "--method", "meanstd=100,30"), [{"mean": 76.078125, "stddev": 20.916728269124093,
                                                                       "to_mean": 100.0, "to_stddev": 30.0}]),
                        (("normalize", "--method", "gamma=2"), [{"gamma": 2.0}]),
                        (("normalize", "--clip", "5,5"), [{"black": 55, "white": 122}]),
                        (("equalize",), [{}]), (("equalize", "--clahe"), None)):
        done = run(program, *words, "--json", "--force", "a.png", "-o", "m.png", cwd=folder)
        check(lines_of(done)[0]["transfer"].get("maps") == maps, f"{words}: {done.stdout!r}")
    run(program, "normalize", "--save-transfer", "t.json", "a.png", "-o", "s.png", cwd=folder)
    done = run(program, "apply", "--json", "t.json", "a.png", "-o", "applied.png", cwd=folder)
    check(lines_of(done)[0]["transfer"]["maps"] == [{"black": 52, "white": 154}], f"a saved transfer: {done.stdout!r}")
    for words in (("-o", "-"), ("-o", "x.png", "--save-transfer", "-")):
        done = run(program, "normalize", "--json", "a.png", *words, cwd=folder, status=2)
        check(b"--json prints to standard output" in done.stderr, f"{words}: {done.stderr!r}")


def test_json_has_warnings(program, folder):
    done = run(program, "normalize", "--json", TESTDATA / "good-interlaced.png", "-o", folder / "a.png")
    lines = lines_of(done)
    check(len(lines) == 1 and len(lines[0]["warnings"]) == 1 and "interlac" in lines[0]["warnings"][0], f"{lines}")
    check(done.stderr.count(b"\n") == 1, f"on standard error as well: {done.stderr!r}")


def test_sidecars_are_named(program, folder):
    # A world file was left behind, and overviews beside an image that was replaced kept the old contrast.
    copies(folder / "in", a_tif="good-1x1.tif", b_tif="good-1x1.tif")
    for name in ("a.tfw", "a.tif.aux.xml", "a.tif.ovr", "b.txt"):
        (folder / "in" / name).write_text("x", encoding="utf-8")
    done = run(program, "normalize", "-q", "in", "-o", "quiet", cwd=folder)
    check(done.stderr == b"", f"quiet: {done.stderr!r}")
    done = run(program, "normalize", "--json", "in", "-o", "out", cwd=folder)
    check(done.stderr.splitlines()[0] == b"out/a.tif: warning: files beside its input are not copied: a.tif.aux.xml, "
          b"a.tif.ovr, a.tfw" and done.stderr.count(b"warning") == 1, f"{done.stderr!r}")
    check([len(line["warnings"]) for line in lines_of(done)] == [1, 0], f"in JSON: {done.stdout!r}")
    done = run(program, "normalize", "--force", "in/a.tif", "-o", "in/a.tif", cwd=folder)
    check(done.stderr == b"in/a.tif: warning: files beside it tell of its old samples: a.tif.aux.xml, a.tif.ovr\n",
          f"in place: {done.stderr!r}")


def test_refused_batches_leave_no_folder(program, folder):
    """An empty output folder was left where nothing was written."""
    (folder / "in").mkdir()
    for name, kind in (("a", "u8"), ("b", "u16"), ("f", "f32")):
        (folder / "in" / f"{name}.tif").write_bytes(tiff(kind, 3, 1, [1, 2, 3]))
    (folder / "there").mkdir()
    both = ("in/a.tif", "in/b.tif")
    for status, words in ((2, ("--method", "meanstd=118,40", *both)), (2, ("--together", "in/a.tif", "in/f.tif")),
                          (1, ("--match", "no.tif", *both)), (1, ("--mask", "no.tif", *both)), (1, ("no.png", "no.tif"))):
        for out in ("new", "new/", "new/er/", "there/new/", "there/"):
            run(program, "normalize", *words, "-o", out, cwd=folder, status=status)
            check(sorted(path.name for path in folder.iterdir()) == ["in", "there"], f"{words} -o {out}: nothing is left")
            check(not list((folder / "there").iterdir()), f"{words} -o {out}: nothing is left in a folder")
    run(program, "normalize", "--in-range", "0,9", "no.tif", "-o", "new/a.png", cwd=folder, status=1)
    check(not (folder / "new").exists(), "of one file")
    run(program, "normalize", "--in-range", "0,9", "in/a.tif", "no.tif", "-o", "new", cwd=folder, status=1)
    check([path.name for path in (folder / "new").iterdir()] == ["a.tif"], "what is written stays")


def test_depth_alone(program, folder):
    values = list(range(0, 65536, 16)) + [65535]
    (folder / "a.tif").write_bytes(tiff("u16", len(values), 1, values))
    run(program, "normalize", "--method", "gamma=1", "--depth", "8", "--compression", "none", "a.tif", "-o", "c.tif",
        cwd=folder)
    data = (folder / "c.tif").read_bytes()
    wanted = bytes(round(value * 255 / 65535) for value in values)
    check(wanted in data, "16 bits to 8 is rint(v * 255 / 65535)")


# ---- Measuring only --------------------------------------------------------------------------------


def test_transfer_without_outputs(program, folder):
    # A transfer cost a full set of outputs.
    copies(folder / "in", a_png="good-example.png")
    (folder / "in" / "b.png").write_bytes(OTHER)
    run(program, "normalize", "-q", "--together", "--save-transfer", "with.json", "in", "-o", "out", cwd=folder)
    done = run(program, "normalize", "--together", "--save-transfer", "without.json", "in", cwd=folder)
    check(done.stderr == b"2 measured, 0 failed\n", f"measured: {done.stderr!r}")
    check((folder / "with.json").read_bytes() == (folder / "without.json").read_bytes(), "the same transfer")
    check(sorted(path.name for path in folder.iterdir()) == ["in", "out", "with.json", "without.json"], "nothing else")
    done = run(program, "equalize", "--together", "--save-transfer", "-", "in", "no.png", cwd=folder, status=1)
    check(json.loads(done.stdout)["method"] == "equalize", f"to standard output: {done.stdout[:80]!r}")
    check(done.stderr == b"no.png: No such file or directory\n2 measured, 1 failed\n", f"a failure: {done.stderr!r}")
    done = run(program, "normalize", "--together", "--save-transfer", "in/a.png", "in", cwd=folder, status=2)
    check(b"the transfer would replace in/a.png, which is an input" in done.stderr, f"an input is kept: {done.stderr!r}")
    done = run(program, "normalize", "--save-transfer", "t.json", "in", cwd=folder, status=2)
    check(b"-o names the output; without it, --together --save-transfer measures" in done.stderr, f"{done.stderr!r}")


# ---- Refusals --------------------------------------------------------------------------------------


def test_new_files_get_the_transfer_of_their_neighbours(program, folder):
    # A file that was added got a transfer of its own set, and nothing was said.
    copies(folder / "in", a_png="good-example.png", b_png="good-example.png")
    words = ("normalize", "--together", "in", "-o", "out")
    run(program, *words, "--save-transfer", "t.json", cwd=folder)
    whole = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    (folder / "out" / "b.png").unlink()
    for more in ((), ("--save-transfer", "t.json")):  # resumed
        done = run(program, *words, "--skip-existing", *more, cwd=folder)
        check(done.stderr == b"1 written, 0 failed, 1 skipped\n", f"resumed: {done.stderr!r}")
        check(whole == {path.name: path.read_bytes() for path in (folder / "out").iterdir()}, "as if never interrupted")
        (folder / "out" / "b.png").unlink()
    (folder / "in" / "c.png").write_bytes(OTHER)
    for more, sentence in (((), b"imgstat normalize: out/a.png has not the transfer that all inputs have now"),
                           (("--save-transfer", "t.json"), b"imgstat normalize: t.json is not the transfer that all inputs"),
                           (("--compression", "none"), b"imgstat normalize: out/a.png has not the transfer")):
        done = run(program, *words, "--skip-existing", *more, cwd=folder, status=1)
        check(done.stderr.startswith(sentence) and done.stderr.count(b"\n") == 1, f"{more}: {done.stderr!r}")
        check(sorted(path.name for path in (folder / "out").iterdir()) == ["a.png"], "nothing is written, nothing remains")
    run(program, "apply", "t.json", "--skip-existing", "in", "-o", "out", cwd=folder)
    check(sorted(path.name for path in (folder / "out").iterdir()) == ["a.png", "b.png", "c.png"], "apply is the way")
    done = run(program, *words, "--skip-existing", cwd=folder)
    check(done.stderr == b"0 written, 0 failed, 3 skipped\n", f"nothing left: {done.stderr!r}")


def test_names_of_files_are_no_folders(program, folder):
    # A folder called x.png was made.
    copies(folder, a_png="good-example.png", b_png="good-example.png")
    for output in ("x.png", "jobs.tif", "y.jpg"):
        for words in (("a.png", "b.png"), (".",)):
            for dry in ((), ("--dry-run",)):
                done = run(program, "normalize", *words, "-o", output, *dry, cwd=folder, status=2)
                check(done.stderr == f"imgstat normalize: {output} is the name of a file, and these inputs need a folder; "
                      f"{output}/ is one\n".encode(), f"{words} -o {output}: {done.stderr!r}")
        check(not (folder / output).exists(), "nothing is made")
    done = run(program, "normalize", "a.png", "b.png", "-o", "/dev/null", cwd=folder, status=2)
    check(done.stderr == b"imgstat normalize: /dev/null is no folder, which these inputs need\n", f"{done.stderr!r}")
    run(program, "normalize", "-q", "a.png", "b.png", "-o", "x.png/", cwd=folder)
    check((folder / "x.png" / "b.png").is_file(), "a folder of that name, if it is meant")


def test_one_sentence_for_one_mistake(program, folder):
    # The same sentence came a thousand times.
    copies(folder / "in", **{f"{i}_png": "good-example.png" for i in range(50)})
    run(program, "normalize", "--save-transfer", "t.json", TESTDATA / "good-float32.tif", "-o", "f.tif", cwd=folder)
    done = run(program, "apply", "t.json", "in", "-o", "out", cwd=folder, status=2)
    check(done.stderr.count(b"\n") == 1 and b"the transfer fits none of 50 inputs; in/0.png: the transfer is for samples of "
          b"type f32" in done.stderr, f"{done.stderr!r}")
    check(not (folder / "out").exists(), "nothing is made")
    shutil.copy(TESTDATA / "good-float32.tif", folder / "in" / "z.tif")
    done = run(program, "apply", "t.json", "in", "-o", "out", cwd=folder, status=1)
    check(done.stderr.splitlines()[-1] == b"1 written, 50 failed", f"one fits: {done.stderr.splitlines()[-1]!r}")


def test_reports_and_plots_go_where_outputs_go(program, folder):
    # --force put a file in the place of a pipe, a device or a link: as root, of /dev/null.
    copies(folder, a_png="good-example.png")
    for name, words in (("r.html", ("report", "a.png", "-o", "r.html")), ("p.svg", ("hist", "a.png", "--plot", "p.svg"))):
        for force in ((), ("--force",)):
            os.mkfifo(folder / name)
            with subprocess.Popen(["cat", name], cwd=folder, stdout=subprocess.PIPE) as reader:
                done = run(program, *words, *force, cwd=folder)
                is_pipe = stat.S_ISFIFO((folder / name).stat().st_mode)
                if done.returncode != 0 or not is_pipe:
                    reader.kill()
                data = reader.communicate()[0]
            check(is_pipe, f"{words} {force}: the pipe stays")
            check(data.endswith(b">\n"), f"{words} {force}: through the pipe: {data[-20:]!r}")
            (folder / name).unlink()
        (folder / "other").mkdir(exist_ok=True)
        (folder / "other" / name).write_text("old")
        (folder / "other" / name).chmod(0o600)  # such a result became readable for all
        (folder / name).symlink_to(f"other/{name}")
        run(program, *words, "--force", cwd=folder)
        check((folder / name).is_symlink() and (folder / "other" / name).read_bytes() == data, f"{words}: the link stays")
        check(stat.S_IMODE((folder / "other" / name).stat().st_mode) == 0o600, f"{words}: the permissions stay")
        longest = "n" * (255 - len(name)) + name  # its temporary name was too long
        for _ in range(2):
            run(program, *words[:-1], longest, "--force", cwd=folder)
        check((folder / longest).read_bytes() == data, f"{words}: a long name")
        (folder / "other" / name).unlink()
        done = run(program, *words, "--force", cwd=folder, status=1)
        check(done.stderr == f"{name}: is a symbolic link to nothing\n".encode(), f"{words}: {done.stderr!r}")


def test_no_result_replaces_an_input(program, folder):
    # With --force a report, a plot or records took the place of the image that they are about.
    copies(folder, a_png="good-example.png", p_tif="good-pages.tif", m_png="good-example.png")
    run(program, "stats", "--by", "all", "--save-record", "r.rec", "a.png", cwd=folder)
    (folder / "list").write_bytes(b"a.png\0")
    (folder / "only").write_bytes(b"a.png\n")
    (folder / "link.html").symlink_to("a.png")
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    new = ("normalize", "a.png", "-o", "new.png")
    for words, sentence in ((("report", "a.png", "-o", "a.png"), "a.png would replace a.png, which is an input"),
                            (("report", "m.png", "a.png", "-o", "link.html"), "link.html would replace a.png, which is an input"),
                            (("report", "p.tif[0]", "-o", "p.tif"), "p.tif would replace p.tif[0], which is an input"),
                            (("report", "r.rec", "-o", "r.rec"), "r.rec would replace r.rec, which is an input"),
                            (("report", "a.png", "--mask", "m.png", "-o", "m.png"), "m.png would replace the mask"),
                            (("stats", "--by", "all", "a.png", "--save-record", "a.png"), "a.png would replace a.png, which is an input"),
                            (("hist", "--by", "all", "a.png", "--save-record", "./a.png"), "./a.png would replace a.png, which is an input"),
                            (("report", ".", "-o", "m.png"), "m.png would replace ./m.png, which is an input"),
                            (("hist", "--by", "all", ".", "--plot", "m.png"), "m.png would replace ./m.png, which is an input"),
                            (("stats", "--by", "all", "--files0-from", "list", "--save-record", "a.png"),
                             "a.png would replace a.png, which is an input"),
                            (("report", "--files0-from", "list", "-o", "list"), "list would replace the list of --files0-from"),
                            (("compare", "a.png", "m.png", "--plot", "m.png"), "m.png would replace m.png, which is an input"),
                            ((*new, "--report", "a.png"), "the report would replace a.png, which is an input"),
                            ((*new, "--mask", "m.png", "--report", "m.png"), "the report would replace m.png, which is an input"),
                            ((*new, "--report", "new.png"), "a.png and the report would both become new.png"),
                            ((*new, "--save-transfer", "t", "--report", "t"), "the transfer and the report would both become t"),
                            (("normalize", "--from", "r.rec", "a.png", "-o", "r.rec"), "r.rec would replace r.rec, which is an input as well"),
                            ((*new, "--from", "r.rec", "--report", "r.rec"), "the report would replace r.rec, which is an input"),
                            (("normalize", "--together", "--only", "only", "a.png", "-o", "only"),
                             "only would replace only, which is an input as well"),
                            (("normalize", "--files0-from", "list", "-o", "out", "--report", "list"),
                             "the report would replace list, which is an input")):
        done = run(program, *words, "--force", cwd=folder, status=2)
        check(done.stderr.splitlines()[:1] == [f"imgstat {words[0]}: {sentence}".encode()], f"{words}: {done.stderr!r}")
    check({path: path.read_bytes() for path in folder.iterdir()} == kept, "all are as they were")
    run(program, "merge", "--force", "r.rec", "-o", "r.rec", cwd=folder)  # it is read first


def test_one_file_by_two_names(program, folder):
    # With --force the second of two results replaced the first where its path was written in another way.
    copies(folder, a_png="good-example.png", b_png="good-example.png")
    os.symlink("there", folder / "link")
    (folder / "there").mkdir()
    before = sorted(folder.rglob("*"))
    for name in ("out//b.png", "./out/./b.png", "out/../out/b.png", "out/none/../b.png", f"{folder}//out/b.png"):
        done = run(program, "normalize", "--force", "--together", "a.png", "b.png", "-o", "out/", "--save-transfer", name, cwd=folder,
                   status=2)
        check(done.stderr == f"imgstat normalize: b.png and the transfer would both become {folder.resolve()}/out/b.png\n".encode(),
              f"{name}: {done.stderr!r}")
    for plot, record in (("x.svg", "./x.svg"), ("there/x.svg", "link/x.svg"), ("-", "-")):
        done = run(program, "hist", "--force", "--by", "all", "a.png", "--plot", plot, "--save-record", record, cwd=folder, status=2)
        check(done.stderr.startswith(f"imgstat hist: --plot and --save-record would both become {plot}\n".encode()), f"{done.stderr!r}")
    check(sorted(folder.rglob("*")) == before, "nothing is written")


def test_no_result_replaces_standard_input(program, folder):
    # --force replaced the file that standard input came from, also where that was the list of inputs.
    copies(folder, a_png="good-example.png", m_png="good-example.png")
    run(program, "stats", "--by", "all", "--save-record", "r.rec", "a.png", cwd=folder)
    (folder / "list").write_bytes(b"a.png\0")
    (folder / "records").write_bytes(b"r.rec\0")
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    listed = "would replace the list of --files0-from"
    for name, words, sentence in (
            ("a.png", ("stats", "--by", "all", "-", "--save-record", "a.png"), "a.png would replace standard input, which is an input"),
            ("a.png", ("hist", "-", "--plot", "a.png"), "a.png would replace standard input, which is an input"),
            ("a.png", ("normalize", "-", "-o", "n.png", "--save-transfer", "a.png"),
             "the transfer would replace standard input, which is an input"),
            ("a.png", ("normalize", "m.png", "--match", "-", "-o", "a.png"),
             "a.png would replace standard input, which is an input as well"),
            ("list", ("stats", "--by", "all", "--files0-from", "-", "--save-record", "list"), f"list {listed}"),
            ("list", ("report", "--files0-from", "-", "-o", "list"), f"list {listed}"),
            ("list", ("normalize", "--files0-from", "-", "-o", "out", "--report", "list"),
             "the report would replace standard input, which is an input"),
            ("records", ("merge", "--files0-from", "-", "-o", "records"), f"records {listed}"),
            ("records", ("merge", "--files0-from", "records", "-o", "records"), f"records {listed}")):
        with open(folder / name, "rb") as stdin:
            done = run(program, *words, "--force", cwd=folder, stdin=stdin, status=2)
        check(done.stderr.splitlines()[:1] == [f"imgstat {words[0]}: {sentence}".encode()], f"{words}: {done.stderr!r}")
    check({path: path.read_bytes() for path in folder.iterdir()} == kept, "all are as they were")
    for force, status in (((), 2), (("--force",), 0)):
        with open(folder / "a.png", "rb") as stdin:
            run(program, "normalize", "-", "-o", "a.png", *force, cwd=folder, stdin=stdin, status=status)


def test_existing_outputs_are_no_inputs(program, folder):
    # With --skip-existing or --state an input that was cut was taken for a cut output of itself, and replaced by what could be read of it.
    copies(folder, a_png="good-example.png", t_tif="good-example.tif")
    (folder / "c.png").write_bytes((folder / "a.png").read_bytes()[:-2])
    shutil.copy(TESTDATA / "bad-truncated.png", folder / "d.png")
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    for words in (["c.png", "-o", "c.png", "--skip-existing"], ["d.png", "-o", "./d.png", "--skip-existing", "--salvage"],
                  ["a.png", "c.png", "-o", ".", "--skip-existing"], [".", "-o", ".", "--skip-existing"],
                  ["t.tif", "--match", "c.png", "-o", "c.png", "--skip-existing"],
                  ["a.png", "c.png", "-o", ".", "--state", "one", "--shards", "1"], [".", "-o", ".", "--state", "two", "--shards", "2"]):
        done = run(program, "normalize", *words, cwd=folder, status=2)
        check(b"is the input itself" in done.stderr or b"which is an input as well" in done.stderr, f"{words}: {done.stderr!r}")
    check({path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == kept, "all are as they were")


def test_missing_folders_are_seen_before_the_work(program, folder):
    # All images were measured, or written, before the sentence came.
    copies(folder, a_png="good-example.png", bad_png="bad-crc.png")
    for words in (("report", "a.png", "bad.png", "-o"), ("stats", "--by", "all", "a.png", "bad.png", "--save-record"),
                  ("normalize", "a.png", "bad.png", "-o", "out", "--report"),
                  ("normalize", "--together", "a.png", "bad.png", "-o", "out", "--save-transfer"),
                  ("normalize", "--together", "a.png", "bad.png", "--save-transfer")):
        done = run(program, *words, "no/file", cwd=folder, status=1)
        check((done.stdout, done.stderr) == (b"", b"no/file: cannot create the file: No such file or directory\n"),
              f"{words}: {done.stdout!r} {done.stderr!r}")
        check(not list(folder.glob("out/*")), f"{words}: nothing is written")
    run(program, "normalize", "a.png", "-o", "new/a.png", "--save-transfer", "new/t.json", "--report", "new/r.html", cwd=folder)
    check((folder / "new" / "t.json").is_file() and (folder / "new" / "r.html").is_file(), "in the folder that -o makes")


def test_results_that_cannot_be_written_are_seen_before_the_work(program, folder):
    # report measured all images before it said so, compare and hist both images and the image.
    copies(folder, bad_png="bad-crc.png")
    (folder / "dir.png").mkdir()
    (folder / "link.png").symlink_to("nothing")
    (folder / "file").write_bytes(b"")
    for words in (("report", "bad.png", "-o"), ("compare", "bad.png", "bad.png", "--plot"), ("hist", "bad.png", "--plot"),
                  ("hist", "--by", "all", "bad.png", "--plot"), ("stats", "--by", "all", "bad.png", "--save-record")):
        for name, cause in (("dir.png", "is a directory"), ("link.png", "is a symbolic link to nothing"),
                            ("file/p.png", "cannot create the file: Not a directory"),
                            ("n" * 300 + ".png", "cannot create the file: File name too long")):
            for more in ((), ("--force",)):
                done = run(program, *words, name, *more, cwd=folder, status=1)
                check((done.stdout, done.stderr) == (b"", f"{name}: {cause}\n".encode()), f"{words} {more}: {done}")


def test_nothing_to_replace(program, folder):
    # --force was accepted where the command writes no file.
    copies(folder, a_png="good-example.png")
    run(program, "stats", "--by", "all", "--save-record", "r.rec", "a.png", cwd=folder)
    for words, names in ((("stats", "a.png"), "--save-record"), (("hist", "a.png"), "--plot or --save-record"),
                         (("merge", "r.rec"), "-o"), (("compare", "a.png", "a.png"), "--plot")):
        done = run(program, *words, "--force", cwd=folder, status=2)
        check(done.stdout == b"" and done.stderr.splitlines()[0].decode() ==
              f"imgstat {words[0]}: --force is for the file that {names} names", f"{words}: {done}")
        run(program, *words, cwd=folder)


def test_pages_of_one_file(program, folder):
    copies(folder, p_tif="good-pages.tif")
    done = run(program, "normalize", "p.tif[0]", "p.tif[2]", "-o", "os", cwd=folder, status=2)
    check(done.stderr == b"imgstat normalize: p.tif[0] and p.tif[2] would both become os/p.tif; 'p.tif[0,2]' writes them to "
          b"one file, and two commands to two\n", f"{done.stderr!r}")
    run(program, "normalize", "p.tif[0,2]", "-o", "both.tif", cwd=folder)
    run(program, "normalize", "--page", "0,2", "p.tif", "-o", "option.tif", cwd=folder)
    check((folder / "both.tif").read_bytes() == (folder / "option.tif").read_bytes(), "--page is [LIST]")
    done = run(program, "--json", "both.tif", cwd=folder)
    check([line["sample"] for line in lines_of(done)] == ["u8", "f32"], f"both pages: {done.stdout!r}")
    for command in (("equalize",), ("apply", "t.json")):
        if command[0] == "apply":
            run(program, "normalize", "--save-transfer", "t.json", "p.tif[1]", "-o", "one.tif", cwd=folder)
        done = run(program, *command, "--page", "1", "p.tif", "-o", f"{command[0]}.tif", cwd=folder)
        check(len(lines_of(run(program, "--json", f"{command[0]}.tif", cwd=folder))) == 1, f"{command}: one page")


def test_in_place_keeps_all_images(program, folder):
    # Pages that were not named were gone with the only copy.
    copies(folder, p_tif="good-pages.tif", a_png="good-example.png")
    (folder / "link.tif").symlink_to("p.tif")
    before = (folder / "p.tif").read_bytes()
    for words, output, lost in ((("p.tif[0]",), "p.tif", 2), (("--page", "1,2", "p.tif"), "link.tif", 1),
                                (("link.tif[2]",), "./p.tif", 2)):
        done = run(program, "normalize", "--force", *words, "-o", output, cwd=folder, status=1)
        check(done.stderr == f"{output}: not replaced: it would lose {lost} of its 3 images; name another output\n".encode(),
              f"{words}: {done.stderr!r}")
        check((folder / "p.tif").read_bytes() == before, f"{words}: as it was")
    run(program, "normalize", "--force", "a.png[0]", "-o", "a.png", cwd=folder)
    run(program, "normalize", "--force", "p.tif[0-2]", "-o", "link.tif", cwd=folder)
    check(len(lines_of(run(program, "--json", "p.tif", cwd=folder))) == 3, "named in full")


if __name__ == "__main__":
    main(globals())
