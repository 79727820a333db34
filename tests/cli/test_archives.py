#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tar archives as inputs: what is in them is measured and transformed as files are, and what is wrong with them is said.

usage: test_archives.py IMGSTAT [TEST...]
"""

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import subprocess
import tarfile

from harness import TESTDATA, check, main, png, run, skip

NAMES = ("good-rgb.png", "good-interlaced.png", "good-pages.tif", "good-tiled.tif", "photo.tif", "good-bigtiff.tif")
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def is_built_in(program, folder):
    """Whether this build reads archives. Where not, it says so."""
    write(folder / "one.tar", [("a.png", png(2, 2, 8, bytes(4)))])
    done = run(program, "stats", "--json", "one.tar", cwd=folder, status=None)
    (folder / "one.tar").unlink()
    if done.returncode == 0:
        return True
    check(done.stderr == b"one.tar: is a tar archive, and this imgstat was built without libarchive\n", f"{done.stderr!r}")
    skip("archives: imgstat was built without libarchive")
    return False


def write(path, members, form=tarfile.PAX_FORMAT):
    """members: names and bytes, or TarInfo."""
    with tarfile.open(path, "w", format=form) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))


def real():
    return [(name, (TESTDATA / name).read_bytes()) for name in NAMES]


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def without_names(done):
    return [{key: value for key, value in line.items() if key not in ("file", "message")} for line in lines(done)]


def test_as_files(program, folder):
    if not is_built_in(program, folder):
        return
    (folder / "files" / "sub").mkdir(parents=True)
    long = "d" * 90 + "/" + "e" * 80 + "/long.png"
    named = [("sub/" + name if i % 2 else name, data) for i, (name, data) in enumerate(real())]
    for name, data in named:
        (folder / "files" / name).write_bytes(data)
    paths = [f"files/{name}" for name, _ in named]
    for form, number in FORMATS.items():
        members = [("x.json", b"{}"), *named, (".hidden.png", b"x"), ("sub/.cache/x.png", b"x"), ("readme", b"no image")]
        if form != "ustar":
            members += [(long, real()[0][1]), ("\u00e4 \u4e2d.png", real()[0][1])]
        write(folder / "a.tar", members, number)
        extra = [] if form == "ustar" else [paths[0], paths[0]]
        for command in (("stats", "--json"), ("hist", "--json"), ("info", "--json")):
            wanted = run(program, *command, *paths, *extra, cwd=folder)
            done = run(program, *command, "a.tar", cwd=folder)
            check(without_names(done) == without_names(wanted), f"{form}: {command}")
            told = list(dict.fromkeys(line["file"] for line in lines(done)))
            check(told == [f"a.tar/{name}" for name, data in members if data not in (b"{}", b"x", b"no image")],
                  f"{form}: names {told}")
        for locale in ("C", "C.UTF-8"):
            done = run(program, "stats", "--json", "a.tar", cwd=folder, variables={"LC_ALL": locale})
            check(form == "ustar" or lines(done)[-1]["file"] == "a.tar/\u00e4 \u4e2d.png", f"{form}, {locale}: a name")
    # One member, pages of it, patterns, a directory.
    done = run(program, "stats", "--json", "a.tar/good-pages.tif[1]", "a.tar/sub/good-tiled.tif", cwd=folder)
    check([(line["file"], line["page"]) for line in lines(done)] == [("a.tar/good-pages.tif", 1), ("a.tar/sub/good-tiled.tif", 0)],
          f"one member: {done.stdout!r}")
    done = run(program, "stats", "--json", "a.tar/none.png", cwd=folder, status=1)
    check(done.stderr == b"a.tar/none.png: no such member in this archive\n", f"{done.stderr!r}")
    done = run(program, "stats", "--json", "--exclude", "sub/*", "--exclude", "*/long.png", "a.tar", cwd=folder)
    check({line["file"].count("/") for line in lines(done)} == {1}, "--exclude")
    done = run(program, "stats", "--json", ".", cwd=folder, status=1)
    check(done.stderr.startswith(b".: no .png or .tif file in this directory itself"), "archives of a directory are not inputs")
    done = run(program, "stats", "--json", "--include", "*.tar", "--include", "good-*", ".", cwd=folder)
    check(lines(done)[0]["file"] == "./a.tar/good-rgb.png", f"but on request: {done.stdout[:60]!r}")
    for name in (".", "a.tar"):  # its members were asked for the archive's pattern, too
        done = run(program, "stats", "--json", "--include", "*.tar", name, cwd=folder)
        check({line["file"].count("/") for line in lines(done)} >= {1 + (name == ".")}, f"all of it: {done.stdout[:60]!r}")
    # Patterns take what begins as an image does, as of a directory; those for archives take no member.
    image = real()[0][1]
    write(folder / "b.tar", [("x.json", b"{}"), ("a.dat", image), ("e.dat", b""), ("inner.tar", (folder / "a.tar").read_bytes()), ("y.png", b"x")])
    for words, names in ((("*",), ["a.dat", "y.png"]), (("*.tar", "*.dat"), ["a.dat"]), (("*.tar", "*.json", "y*"), ["y.png"])):
        done = run(program, "info", "--json", *(word for glob in words for word in ("--include", glob)), "b.tar", cwd=folder,
                   status=int("y.png" in names))
        check([line["file"] for line in lines(done)] == [f"b.tar/{name}" for name in names], f"{words}: {done.stdout!r}")
    (folder / "b.tar").unlink()
    (folder / "list").write_bytes(b"a.tar\0files/good-rgb.png\0")
    check(len({line["file"] for line in lines(run(program, "--json", "--files0-from", "list", cwd=folder))}) == 9, "in a list")
    shutil.copy(TESTDATA / "good-rgb.png", folder / "image.tar")
    check(lines(run(program, "--json", "image.tar", cwd=folder))[0]["format"] == "png", "an image of that name stays one")


def test_names_with_dots(program, folder):
    # "a/./b.png" was taken for hidden.
    if not is_built_in(program, folder):
        return
    data = real()[0][1]
    names = ["./a.png", "a/./b.png", "./a/././c.png", "a.b/.d/e.png", ".f.png", "a/./.g.png", "a/..h.png"]
    write(folder / "a.tar", [(name, data) for name in names], FORMATS["ustar"])
    done = run(program, "--json", "a.tar", cwd=folder)
    check([line["file"] for line in lines(done)] == ["a.tar/a.png", "a.tar/a/./b.png", "a.tar/a/././c.png"], f"{done.stdout!r}")


def test_outputs(program, folder):
    if not is_built_in(program, folder):
        return
    for k in range(3):
        write(folder / f"shard-{k:04}.tar", [(f"{name}", data) for name, data in real()[k:k + 4]] + [("x.cls", b"1")])
    (folder / "files").mkdir()
    for name, data in real():
        (folder / "files" / name).write_bytes(data)
    tars = [f"shard-{k:04}.tar" for k in range(3)]
    for words in (("normalize",), ("equalize", "--channels", "each"), ("normalize", "--together=page"),
                  ("normalize", "--format", "tiff")):
        run(program, *words, "files", "-o", "whole/", cwd=folder)
        run(program, *words, *tars, "-o", "out/", cwd=folder)
        for k in range(3):
            for name, _ in real()[k:k + 4]:
                name = name.replace(".png", ".tif") if "--format" in words else name
                path = folder / "out" / f"shard-{k:04}" / name
                check(path.is_file() and path.read_bytes() == (folder / "whole" / name).read_bytes(), f"{words}: {path}")
        check(not list((folder / "out").rglob("*.cls")), "other members are left out")
        shutil.rmtree(folder / "out")
        shutil.rmtree(folder / "whole")
    run(program, "normalize", tars[0], "-o", "one", cwd=folder)
    check((folder / "one/shard-0000/photo.tif").is_file() is False and (folder / "one/shard-0000/good-rgb.png").is_file(),
          "one archive goes to a folder")
    run(program, "normalize", "--state", "state", "--shards", "3", *tars, "-o", "out", cwd=folder)
    check(len([path for path in (folder / "out").rglob("*") if path.is_file()]) == 12, "in shards")
    same = [(f"{i:02}.png", png(8, 8, 8, random.Random(i).randbytes(64))) for i in range(30)]
    write(folder / "same.tar", same)
    (folder / "same").mkdir()
    for name, data in same:
        (folder / "same" / name).write_bytes(data)
    for source in ("same.tar", "same"):
        run(program, "normalize", "--together", "--save-transfer", f"{source}.json", source, "-o", f"out-{source}/", cwd=folder)
    check((folder / "same.tar.json").read_bytes() == (folder / "same.json").read_bytes(), "together: the transfer")
    check(all((folder / "out-same.tar/same" / name).read_bytes() == (folder / "out-same" / name).read_bytes()
              for name, _ in same), "together: outputs")
    run(program, "apply", "same.json", "same.tar", "-o", "applied/", cwd=folder)
    check(len(list((folder / "applied/same").iterdir())) == 30, "apply")
    done = run(program, "normalize", "same.tar", "same.tar", "-o", "twice/", cwd=folder, status=2)
    check(b"would both become twice/same/00.png" in done.stderr and not (folder / "twice").exists(), f"{done.stderr!r}")
    write(folder / "dup.tar", [same[0], same[0]])
    done = run(program, "normalize", "dup.tar", "-o", "twice/", cwd=folder, status=2)
    check(b"would both become twice/dup/00.png" in done.stderr, f"a name twice: {done.stderr!r}")


def info(name, kind, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def test_hostile(program, folder):
    if not is_built_in(program, folder):
        return
    image = png(8, 8, 8, bytes(range(64)))
    outside = [("../up.png", image), ("/abs.png", image), ("a/../../b.png", image), ("a/..", image)]
    write(folder / "names.tar", [*outside, ("./good.png", image), (".//x.png", image), info("hard.png", tarfile.LNKTYPE, "good.png"),
                                 info("soft.png", tarfile.SYMTYPE, "/etc/passwd"), info("pipe.png", tarfile.FIFOTYPE),
                                 info("device.png", tarfile.CHRTYPE), info("folder.png", tarfile.DIRTYPE),
                                 ("empty.png", b""), ("text.png", b"no image")])
    for command in (("stats", "--json"), ("normalize", "-o", "in/out/")):
        (folder / "in").mkdir(exist_ok=True)
        done = run(program, *command, "names.tar", cwd=folder, status=1)
        said = done.stderr.decode().splitlines()
        for name in ("../up.png", "/abs.png", "a/../../b.png"):
            check(f"names.tar/{name}: its name leads out of the archive" in said, f"{command}: {name} in {said}")
        for sentence in ("hard.png: is a link to good.png, and links in archives are not followed",
                         "soft.png: is a link to /etc/passwd, and links in archives are not followed",
                         "pipe.png: is no regular file", "device.png: is no regular file", "empty.png: is empty",
                         "text.png: is neither PNG nor TIFF"):
            check(f"names.tar/{sentence}" in said, f"{command}: {sentence} in {said}")
        check(not any("folder.png" in line for line in said), "a folder is none of them")
    made = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.png"))
    check(made == ["in/out/names/good.png", "in/out/names/x.png"], f"outputs: {made}")
    # Sparse, by GNU tar.
    with open(folder / "hole.tif", "wb") as hole:
        hole.write(b"II*\0")
        hole.truncate(1 << 20)
    if shutil.which("tar"):
        subprocess.run(["tar", "-Scf", "sparse.tar", "hole.tif"], cwd=folder, check=True)
        done = run(program, "stats", "sparse.tar", cwd=folder, status=1)
        check(done.stderr == b"sparse.tar/hole.tif: is sparse, and sparse files in archives are not read\n", f"{done.stderr!r}")
    else:
        skip("sparse archives: no tar")


def test_compressed(program, folder):
    # It said "is damaged: Unrecognized archive format". A first member whose name begins as such data is read.
    if not is_built_in(program, folder):
        return
    write(folder / "BZh.tar", [("BZh.png", png(20, 20, 8, bytes(400)))], tarfile.USTAR_FORMAT)
    run(program, "stats", "BZh.tar", cwd=folder)
    data = (folder / "BZh.tar").read_bytes()
    for name, packed in (("gzip", gzip.compress(data)), ("bzip2", bz2.compress(data)), ("xz", lzma.compress(data)),
                         ("zstd", b"\x28\xb5\x2f\xfd\x04" + bytes(600))):
        for cut in (len(packed), len(packed) // 2, 8):
            (folder / "p.tar").write_bytes(packed[:cut])
            done = run(program, "stats", "p.tar", cwd=folder, status=1)
            want = f"p.tar: is compressed with {name}, and compressed archives are not read\n"
            check(done.stderr.decode() == want and done.stdout == b"", f"{name} cut to {cut}: {done.stderr!r}")


def test_damaged(program, folder):
    """Wherever an archive is cut, every member that is whole is measured, and the loss is reported."""
    if not is_built_in(program, folder):
        return
    images = [(f"{i}.png", png(20, 20, 8, random.Random(i).randbytes(400))) for i in range(5)]
    write(folder / "a.tar", images, tarfile.USTAR_FORMAT)
    data = (folder / "a.tar").read_bytes()
    each = 512 + (len(images[0][1]) + 511) // 512 * 512
    ends = [512 + i * each + len(image[1]) for i, image in enumerate(images)]
    for cut in sorted({*range(0, 5 * each + 700, 97), *(end + k for end in ends for k in (-1, 0, 1)), *(i * each for i in range(6))}):
        (folder / "cut.tar").write_bytes(data[:cut])
        done = run(program, "stats", "--json", "cut.tar", cwd=folder, status=None)
        told = lines(done)
        whole = sum(end <= cut for end in ends)
        good = [line["file"] for line in told if "error" not in line]
        check(good == [f"cut.tar/{i}.png" for i in range(whole)], f"cut to {cut} bytes: {good}")
        complete = cut >= 5 * each + 512
        check(done.returncode == (0 if complete else 1) and complete == (done.stderr == b""),
              f"cut to {cut} bytes: {done.returncode}, {done.stderr!r}")
    generator = random.Random(5)
    for _ in range(60):  # it may be read or not; it must end, and say why
        damaged = bytearray(data)
        for _ in range(generator.randrange(1, 6)):
            damaged[generator.randrange(len(images) * each)] ^= 1 << generator.randrange(8)
        (folder / "damaged.tar").write_bytes(damaged)
        done = run(program, "stats", "--json", "damaged.tar", cwd=folder, status=None)
        check(done.returncode in (0, 1) and (done.returncode == 1) == (done.stderr != b""), f"damaged: {done}")
    header = bytearray(data[:512])
    header[124:136] = b"77777777777\0"  # 8 GiB
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    (folder / "huge.tar").write_bytes(bytes(header) + data[512:])
    done = run(program, "stats", "huge.tar", cwd=folder, status=1)
    check(done.stderr == b"huge.tar/0.png: the archive ends before it does\n", f"a huge member: {done.stderr!r}")
    (folder / "two.tar").write_bytes(data + data)
    done = run(program, "stats", "--json", "two.tar", cwd=folder, status=1)
    check(b"two.tar: has data behind the mark of its end, which is not read" in done.stderr and len(lines(done)) == 6,
          f"joined archives: {done.stderr!r}")
    write(folder / "none.tar", [("readme", b"")])
    done = run(program, "stats", "none.tar", cwd=folder, status=1)
    check(done.stderr == b"none.tar: no image in this archive\n", f"no image: {done.stderr!r}")


def test_no_result_replaces_an_archive(program, folder):
    # With --force the output of a member, a transfer, a report, a plot or records took the place of the archive and all that is in it.
    if not is_built_in(program, folder):
        return
    write(folder / "a.tar", [("a.png", png(2, 2, 8, bytes(range(4)))), ("b.png", png(2, 2, 8, bytes(4)))])
    (folder / "link.svg").symlink_to("a.tar")
    (folder / "list").write_bytes(b"a.tar\0")
    (folder / "member").write_bytes(b"./a.tar/b.png\0")
    kept = (folder / "a.tar").read_bytes()
    new = ("normalize", "a.tar/b.png", "-o", "new.png")
    for words, sentence in ((("normalize", "a.tar/b.png", "-o", "a.tar"), "a.tar would replace a.tar, which is an input as well"),
                            (("equalize", "a.tar/b.png", "-o", "./a.tar"), "./a.tar would replace a.tar, which is an input as well"),
                            ((*new, "--save-transfer", "a.tar"), "the transfer would replace a.tar, which is an input"),
                            ((*new, "--report", "a.tar"), "the report would replace a.tar, which is an input"),
                            (("normalize", "a.tar", "-o", "new", "--report", "a.tar"), "the report would replace a.tar, which is an input"),
                            (("normalize", "--together", "a.tar", "--save-transfer", "a.tar"), "the transfer would replace a.tar, which is an input"),
                            (("normalize", "--files0-from", "member", "-o", "new", "--report", "a.tar"),
                             "the report would replace ./a.tar, which is an input"),
                            (("report", "a.tar/b.png", "-o", "a.tar"), "a.tar would replace a.tar/b.png, which is an input"),
                            (("report", "a.tar/b.png[0]", "-o", "a.tar"), "a.tar would replace a.tar/b.png[0], which is an input"),
                            (("report", "--files0-from", "list", "-o", "a.tar"), "a.tar would replace a.tar, which is an input"),
                            (("report", "--include", "*.tar", ".", "-o", "a.tar"), "a.tar would replace ./a.tar, which is an input"),
                            (("stats", "--by", "all", "a.tar/b.png", "--save-record", "a.tar"), "a.tar would replace a.tar/b.png, which is an input"),
                            (("stats", "--by", "all", "--files0-from", "member", "--save-record", "a.tar"),
                             "a.tar would replace ./a.tar, which is an input"),
                            (("hist", "a.tar/b.png", "--plot", "link.svg"), "link.svg would replace a.tar/b.png, which is an input"),
                            (("compare", "a.tar/b.png", "a.tar/a.png", "--plot", "link.svg"), "link.svg would replace a.tar/b.png, which is an input")):
        done = run(program, *words, "--force", cwd=folder, status=None)
        check((done.returncode, done.stderr.splitlines()[:1]) == (2, [f"imgstat {words[0]}: {sentence}".encode()]), f"{words}: {done.stderr!r}")
        check((folder / "a.tar").read_bytes() == kept, f"{words}: the archive stays")
    run(program, "normalize", "--force", "a.tar/b.png", "-o", ".", cwd=folder)
    check((folder / "b.png").exists(), "beside the archive")


if __name__ == "__main__":
    main(globals())
