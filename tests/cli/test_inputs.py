#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs of the command line: lists of names, patterns.

usage: test_inputs.py IMGSTAT [TEST...]
"""

import json
import shutil
import struct

from harness import TESTDATA, check, main, run


def files_of(done):
    """The names of inputs, in order."""
    return [json.loads(line)["file"] for line in done.stdout.decode().splitlines()]


def make_tree(folder):
    """Images with usual and unusual endings, and files that are none."""
    tree = folder / "tree"
    (tree / "sub" / "thumbs").mkdir(parents=True)
    for name, source in (("a.tif", "good-1x1.tif"), ("b.png", "good-1x1.png"), ("slide.svs", "good-1x1.tif"),
                         ("raw.dng", "good-1x1.tif"), ("x.ome.btf", "good-1x1.tif"), ("noise.svs", "bad-text.tif"),
                         ("sub/c.tif", "good-1x1.tif"), ("sub/slide.svs", "good-1x1.tif"), ("sub/cut.svs", "good-1x1.tif"),
                         ("sub/thumbs/t.png", "good-1x1.png")):
        shutil.copy(TESTDATA / source, tree / name)
    data = (tree / "sub" / "cut.svs").read_bytes()
    (tree / "sub" / "cut.svs").write_bytes(data[:20])  # begins as TIFF, and ends early
    return tree


# ---- Structure -------------------------------------------------------------------------------------


def directory(at, width, height, kind, tags=(), behind=0):
    """A little-endian directory of uncompressed gray 8-bit pixels at byte 8, and where the next may lie."""
    fields = sorted([(254, 4, kind), (256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8),
                     (277, 3, 1), (278, 4, height), (279, 4, width * height), *tags])
    data = struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", tag, form, 1, value) for tag, form, value in fields)
    return data + struct.pack("<I", behind), at + len(data) + 4


def test_info_of_related_pages(program, folder):
    # Page 0 with a SubIFD of half its size, then its level and its mask in the chain.
    at = 8 + 64
    sizes = [2 + 12 * 11 + 4, 2 + 12 * 10 + 4, 2 + 12 * 10 + 4, 2 + 12 * 10 + 4]
    places = [at + sum(sizes[:i]) for i in range(4)]
    data = struct.pack("<2sHI", b"II", 42, places[0]) + bytes(range(64))
    data += directory(places[0], 8, 8, 0, [(330, 4, places[3])], places[1])[0]
    data += directory(places[1], 4, 4, 1, behind=places[2])[0]
    data += directory(places[2], 8, 8, 4)[0].replace(struct.pack("<HHII", 262, 3, 1, 1), struct.pack("<HHII", 262, 3, 1, 4))
    data += directory(places[3], 2, 2, 1)[0]
    (folder / "related.tif").write_bytes(data)
    lines = [json.loads(line) for line in run(program, "info", "--json", "related.tif", cwd=folder).stdout.splitlines()]
    told = [(line["name"], line["role"], line["owner"], line["parent"], line["width"]) for line in lines]
    check(told == [("0", "image", 0, None, 8), ("1", "level", 0, None, 4), ("2", "mask", 0, None, 8),
                   ("0.0", "level", 0, 0, 2)], f"roles: {told}")
    check(lines[0]["mask"] == 2, f"the mask of page 0: {lines[0]['mask']}")
    text = run(program, "info", "related.tif", cwd=folder).stdout.decode()
    check("4 pages" in text and "level of 0" in text and "mask of 0" in text and "\n0.0 " in text, text)
    text = run(program, "info", "--page", "0.0", "related.tif", cwd=folder).stdout.decode()
    check(text.count("\n") == 3 and "\n0.0 " in text, text)
    check(files_of(run(program, "--json", "related.tif", cwd=folder)) == ["related.tif"], "stats measures the image alone")
    text = run(program, "related.tif[0.0]", cwd=folder).stdout.decode()
    check(text.startswith("related.tif[0.0]: TIFF, 2 x 2"), f"the name of a page in a SubIFD: {text}")


# ---- Patterns --------------------------------------------------------------------------------------


def test_cut_in_the_offset_of_the_next_page(program, folder):
    # Pages behind such a cut were missing without a word.
    data = struct.pack("<2sHI", b"II", 42, 72) + bytes(range(64)) + directory(72, 8, 8, 0, behind=5000)[0]
    for left in range(1, 5):
        (folder / "cut.tif").write_bytes(data[:len(data) - 4 + left])
        done = run(program, "--json", "cut.tif", cwd=folder)
        check(done.stderr == b"cut.tif: warning: directory 1 does not lie inside the file; pages end before it\n",
              f"{left} bytes of the offset: {done.stderr!r}")
        check([line["page"] for line in map(json.loads, done.stdout.splitlines())] == [0], f"{left}: {done.stdout!r}")


def test_cut_in_the_directory(program, folder):
    # It was "format", as a damaged file is, unless all of the directory was gone.
    for name, values in (("good-tiled.tif", 3081), ("photo.tif", 418279), ("good-pages.tif", 14)):
        data = (TESTDATA / name).read_bytes()
        cuts = [*range(8, 24), *range(values, len(data) - 4 if name != "good-pages.tif" else 140, 5)]
        for n in cuts:
            (folder / f"{n:06}.tif").write_bytes(data[:n])
        done = run(program, "stats", "--json", *(f"{n:06}.tif" for n in cuts), cwd=folder, status=1)
        codes = [json.loads(line)["error"] for line in done.stdout.splitlines()]
        check(codes == ["truncated"] * len(cuts), f"{name}: {[*zip(cuts, codes)]}")
    (folder / "none.tif").write_bytes(struct.pack("<2sHIHI", b"II", 42, 8, 0, 0) + bytes(100))
    line = json.loads(run(program, "stats", "--json", "none.tif", cwd=folder, status=1).stdout)
    check((line["error"], line["message"]) == ("format", "none.tif: its directory is empty"), f"{line}")


def test_patterns(program, folder):
    make_tree(folder)
    usual = ["tree/a.tif", "tree/b.png", "tree/sub/c.tif", "tree/sub/thumbs/t.png", "tree/x.ome.btf"]
    cases = [((), usual),
             (("--exclude", "*.png"), ["tree/a.tif", "tree/sub/c.tif", "tree/x.ome.btf"]),
             (("--exclude", "thumbs"), [name for name in usual if "thumbs" not in name]),
             (("--exclude", "sub/thumbs"), [name for name in usual if "thumbs" not in name]),
             (("--exclude", "sub/*"), [name for name in usual if "sub/" not in name]),
             (("--exclude", "tree"), usual),  # the name below the directory that is walked
             (("--include", "*.tif", "--include", "b*"), ["tree/a.tif", "tree/b.png", "tree/sub/c.tif"]),
             (("--include", "*.tif", "--exclude", "sub/*"), ["tree/a.tif"]),
             (("--include", "sub/*.tif"), ["tree/sub/c.tif"]),
             (("--include", "[!ab]*", "--exclude", "*.svs"), ["tree/raw.dng", "tree/sub/c.tif", "tree/sub/thumbs/t.png",
                                                              "tree/x.ome.btf"])]
    for words, wanted in cases:
        done = run(program, "--json", "-r", *words, "tree", cwd=folder)
        check(files_of(done) == wanted, f"{words}: {files_of(done)}")
    # Another ending than those of PNG and TIFF: by the first bytes. A file that begins so and is damaged is reported.
    done = run(program, "--json", "-r", "--include", "*.svs", "tree", cwd=folder, status=1)
    check(files_of(done) == ["tree/slide.svs", "tree/sub/cut.svs", "tree/sub/slide.svs"], f"*.svs: {files_of(done)}")
    check(b"noise" not in done.stderr and done.stderr.count(b"cut.svs") == 1, f"*.svs: {done.stderr!r}")
    done = run(program, "--json", "--include", "*.gif", "tree", cwd=folder, status=1)
    check(done.stderr == b"tree: no image in this directory itself passes --include and --exclude; --recursive enters "
          b"the ones inside\n", f"none: {done.stderr!r}")
    # Files that are named themselves are not compared with patterns.
    done = run(program, "--json", "--exclude", "*", "tree/a.tif", cwd=folder)
    check(files_of(done) == ["tree/a.tif"], f"a file by its own name: {files_of(done)}")
    for command in (("hist", "--json"), ("normalize", "-o", "n", "--dry-run"), ("equalize", "-o", "n", "--dry-run")):
        done = run(program, *command, "-r", "--include", "*.dng", "--exclude", "sub", "tree", cwd=folder)
        check(done.stdout.count(b"\n") == 1 and b"raw.dng" in done.stdout, f"{command}: {done.stdout!r}")


def test_other_endings_are_written(program, folder):
    make_tree(folder)
    run(program, "normalize", "-q", "-r", "--include", "raw.dng", "--include", "slide.*", "tree", "-o", "out", cwd=folder)
    made = sorted(str(path.relative_to(folder / "out")) for path in (folder / "out").rglob("*") if path.is_file())
    check(made == ["raw.dng", "slide.svs", "sub/slide.svs"], f"outputs: {made}")


# ---- Lists -----------------------------------------------------------------------------------------


def test_lists(program, folder):
    make_tree(folder)
    (folder / "a\nb.tif").write_bytes((TESTDATA / "good-1x1.tif").read_bytes())
    names = [b"tree/b.png", b"a\nb.tif", b"tree"]
    wanted = ["tree/b.png", "a\nb.tif", "tree/a.tif", "tree/b.png", "tree/x.ome.btf"]
    for end in (b"", b"\0"):  # the last name may lack its NUL
        listed = b"\0".join(names) + end
        (folder / "list").write_bytes(listed)
        done = run(program, "--json", "--files0-from", "list", cwd=folder)
        check(files_of(done) == wanted, f"a list: {files_of(done)}")
        done = run(program, "--json", "--files0-from=-", "tree/a.tif", cwd=folder, stdin=None, input=listed)
        check(files_of(done) == ["tree/a.tif", *wanted], f"with operands: {files_of(done)}")
    many = b"".join(b"%s/good-1x1.png\0" % str(TESTDATA).encode() for _ in range(5000))
    done = run(program, "--csv", "--files0-from=-", stdin=None, input=many)
    check(done.stdout.count(b"\n") == 5001, "a list longer than a command line")
    # A list means a folder, even if it has one name.
    done = run(program, "normalize", "--files0-from=-", "-o", "out", cwd=folder, stdin=None, input=b"tree/a.tif\0")
    check((folder / "out" / "a.tif").is_file(), f"one name: {done.stderr!r}")
    run(program, "normalize", "--save-transfer", "t.json", "tree/a.tif", "-o", "one.tif", cwd=folder)
    done = run(program, "apply", "t.json", "--files0-from=-", "-o", "applied", cwd=folder, stdin=None,
               input=b"tree/a.tif\0tree/sub/c.tif\0")
    check(sorted(path.name for path in (folder / "applied").iterdir()) == ["a.tif", "c.tif"], "apply takes a list")
    # A pipe in place of the list's file.
    done = run("sh", "-c", "find tree -name '*.tif' -print0 | sort -z | \"$0\" stats --json --files0-from -", program,
               cwd=folder)
    check(files_of(done) == ["tree/a.tif", "tree/sub/c.tif"], f"find -print0: {done.stdout!r}")


def test_wrong_lists(program, folder):
    (folder / "empty").write_bytes(b"")
    (folder / "gap").write_bytes(b"a.tif\0\0b.tif\0")
    (folder / "lines").write_bytes(b"a.tif\nb.tif\n")
    (folder / "missing").write_bytes(b"no.tif\0")
    for words, stdin, sentence in (
            (("--files0-from", "no"), b"", b"--files0-from: no: No such file or directory"),
            (("--files0-from", "."), b"", b"--files0-from: .: Is a directory"),
            (("--files0-from", "empty"), b"", b"--files0-from: empty holds no name"),
            (("--files0-from", "gap"), b"", b"--files0-from: name 2 of gap is empty"),
            (("--files0-from", "lines"), b"", b"--files0-from: names in lines must end with NUL bytes, as those of "
             b"'find -print0' do"),
            (("--files0-from", "gap", "--files0-from", "gap"), b"", b"--files0-from names one list; these are two"),
            (("--files0-from", "-", "-"), b"", b"standard input is the list of --files0-from already: - cannot be read as "
             b"well"),
            (("--files0-from", "-"), b"-\0", b"standard input is the list of --files0-from already: - cannot be read as "
             b"well"),
            (("--include", ""), b"", b"--include takes a pattern such as '*.svs', not an empty text")):
        done = run(program, "stats", *words, cwd=folder, stdin=None, input=stdin, status=2)
        check(done.stderr.splitlines()[0] == b"imgstat stats: " + sentence, f"{words}: {done.stderr!r}")
    for command, what in ((("apply", "-"), b"transfer"), (("equalize", "--match", "-"), b"reference")):
        done = run(program, *command, "--files0-from", "-", "-o", "out", cwd=folder, stdin=None, input=b"a.tif\0", status=2)
        check(b"it cannot be the " + what + b" as well" in done.stderr, f"{command}: {done.stderr!r}")
    done = run(program, "--files0-from", "-", cwd=folder, stdin=None, input=b"a.tif\0", status=2, variables={"TMPDIR": "nowhere"})
    check(b": --files0-from: a copy of - in nowhere: No such file or directory\n" in done.stderr, f"no TMPDIR: {done.stderr!r}")
    done = run(program, "--files0-from", "missing", cwd=folder, status=1)
    check(done.stderr == b"no.tif: No such file or directory\n", f"a name that leads nowhere: {done.stderr!r}")


if __name__ == "__main__":
    main(globals())
