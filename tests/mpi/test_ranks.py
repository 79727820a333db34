#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""imgstat-mpi: whatever the number of ranks and of shards, the bytes are those of one process; a rank that dies ends the
job, and the same command finishes what is missing. With IMGSTAT_TEST_SMALL each build, of another MPI, runs half of the commands.

usage: test_ranks.py IMGSTAT [TEST...], with IMGSTAT_MPI naming the program and IMGSTAT_MPIRUN what starts it
"""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from harness import check, environment, is_run, main, png, run, tiff, wait_until  # noqa: E402
from test_shards import make_images, tree  # noqa: E402

MPIRUN, PROGRAM = os.environ.get("IMGSTAT_MPIRUN", ""), os.environ.get("IMGSTAT_MPI", "")
OPEN_MPI = MPIRUN.endswith("openmpi")


def launch(n):
    """The words before those of imgstat. Ranks outnumber processors, and tests may run as root."""
    return [MPIRUN, *(("--oversubscribe", "--allow-run-as-root", "--bind-to", "none") if OPEN_MPI else ()), "-n", str(n),
            PROGRAM]


def ranks(n, *words, status=0, **more):
    return run(*launch(n), *words, status=status, variables={"TMPDIR": os.environ.get("TMPDIR", "/tmp")}, **more)


def says(done, whole):
    """What mpirun itself says about an exit status of 1 is beside the lines of imgstat."""
    lines = whole.stderr.splitlines()
    return [line for line in done.stderr.splitlines() if line in set(lines)] == lines


def test_commands(program, folder):
    make_images(folder, 30)
    for k, command in enumerate((("stats", "--json"), ("stats", "--csv", "--percentiles", "1,50,99"),
                                 ("hist", "--csv", "--bins", "8"), ("info", "--json"), ("stats",), ("hist",), ("info",))):
        if k > 0 and not is_run(k, 2):
            continue
        whole = run(program, *command, "--recursive", "in", cwd=folder, status=None)
        expected = 0 if command[0] == "info" else 1  # headers are whole
        check(whole.returncode == expected and len(whole.stdout) > 1000, f"{command}: {whole.stderr!r}")
        runs = ((1, ()), (2, ("--state", f"state{k}", "--shards", "5")), (4, ("--shards", "7")), (4, ("--shards", "1")))
        for n, shards in runs if k == 0 else (runs[1 + k % 2],):
            done = ranks(n, *command, "--recursive", *shards, "in", cwd=folder, status=expected)
            check(done.stdout == whole.stdout, f"{command}: {n} ranks, {shards}: other bytes")
            check(says(done, whole), f"{command}: {n} ranks: {done.stderr!r}, not {whole.stderr!r}")
    for words in (("stats", "--json", "in/a/001.png", "in/a/002.png"), ("stats", "in/a/001.png"), ("info", "in/a/001.png")):
        check(ranks(3, *words, cwd=folder).stdout == run(program, *words, cwd=folder).stdout, f"{words}: fewer than ranks")
    (folder / "in/a/loop").symlink_to("..")  # every rank said so
    done = ranks(3, "stats", "--recursive", "in", cwd=folder, status=1)
    check(done.stderr.count(b"in/a/loop: warning: leads to in again") == 1, f"a warning of a folder: {done.stderr!r}")


def test_transforms(program, folder):
    make_images(folder, 30)
    run(program, "normalize", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    whole = tree(folder / "whole")
    check(len(whole) == 27, f"{len(whole)} outputs")
    for n in (1, 2, 4):
        done = ranks(n, "normalize", "--recursive", "in", "-o", f"out{n}/", cwd=folder, status=1)
        check(tree(folder / f"out{n}") == whole, f"{n} ranks: other outputs")
        check(b"27 written, 3 failed\n" in done.stderr, f"{n} ranks: {done.stderr!r}")


def make_wide(folder, n):
    """Images of types whose percentiles need further reads, a damaged one among them."""
    for i in range(n):
        place = folder / "in" / ("a" if i % 3 else "b")
        place.mkdir(parents=True, exist_ok=True)
        chance = random.Random(i)
        data = tiff("f32", 17, 8 + i, [chance.gauss(0, 100) for _ in range(17 * (8 + i))])
        (place / f"{i:03}.tif").write_bytes(data if i % 9 else data[:len(data) // 2])


def compare_together(program, folder, n, words, more=()):
    """One process and n ranks: outputs, standard output and every sentence."""
    for name in ("whole", "ranks", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)
    whole = run(program, *words, "--recursive", "in", "-o", "out/", cwd=folder, status=1)
    (folder / "out").rename(folder / "whole")
    done = ranks(n, *words, *more, "--recursive", "in", "-o", "out/", cwd=folder, status=1)
    outputs = tree(folder / "whole")
    check(len(outputs) > 10 and tree(folder / "out") == outputs, f"{words}: {n} ranks: other outputs")
    check(done.stdout == whole.stdout, f"{words}: {n} ranks: {done.stdout[:300]!r}, not {whole.stdout[:300]!r}")
    check(says(done, whole), f"{words}: {n} ranks: {done.stderr!r}, not {whole.stderr!r}")


def test_together(program, folder):
    """One transfer of all files, or one for each group, that ranks measure together."""
    make_images(folder, 20)
    for i in range(0, 20, 4):  # another depth, which is merged by full scale
        (folder / "in/a" / f"u16-{i}.png").write_bytes(png(9, 9 + i, 16, random.Random(i).randbytes(18 * (9 + i))))
    (folder / "only").write_text("00*.png\nu16*\n")
    compare_together(program, folder, 1, ("normalize", "--together", "all"))
    compare_together(program, folder, 4, ("equalize", "--json", "--together", "group=/([ab])/"))
    compare_together(program, folder, 3, ("normalize", "--json", "--together", "all", "--only", "only"))
    words = ("normalize", "--together", "--save-transfer", "t.json", "--recursive", "in")
    whole = run(program, *words, cwd=folder, status=1)
    transfer = (folder / "t.json").read_bytes()
    (folder / "t.json").unlink()
    done = ranks(3, *words, cwd=folder, status=1)
    check((folder / "t.json").read_bytes() == transfer, "the transfer that is saved")
    check(says(done, whole) and done.stderr.count(b"measured, 2 failed") == 1, f"measuring alone: {done.stderr!r}")
    again = ranks(2, *words, cwd=folder, status=1)
    check(again.stderr.count(b"t.json: exists already") == 1, f"it exists: {again.stderr!r}")
    ranks(2, "apply", "t.json", "--recursive", "in", "-o", "applied/", cwd=folder, status=1)
    run(program, "normalize", "--together", "--recursive", "in", "-o", "all/", cwd=folder, status=1)
    check(tree(folder / "applied") == tree(folder / "all"), "apply: other outputs")


def test_together_damaged(program, folder):
    """The first rank reports what the others found."""
    (folder / "in").mkdir()
    for i in range(4):
        (folder / f"in/{i}.png").write_bytes(png(50, 60, 8, random.Random(i).randbytes(3000), 0))
    (folder / "in/1.png").write_bytes((folder / "in/1.png").read_bytes()[:1500])
    for words in (("normalize", "--together", "--salvage", "--save-transfer", "t.json", "--force", "in"),
                  ("stats", "--by", "all", "--salvage", "in")):
        whole = run(program, *words, cwd=folder, status=1)
        check(whole.stderr.count(b"1.png: warning: page 0: ") == 1, f"{words}: {whole.stderr!r}")
        for n in (2, 3):
            done = ranks(n, *words, cwd=folder, status=1)
            check(says(done, whole), f"{words}, {n} ranks: {done.stderr!r}")


def test_together_wide(program, folder):
    make_wide(folder, 20)
    compare_together(program, folder, 3, ("equalize", "--together", "all"))
    compare_together(program, folder, 4, ("normalize", "--method", "percentile", "--json", "--together", "group=/([ab])/"))
    (folder / "in/a/x.png").write_bytes(png(9, 9, 8, bytes(81)))
    whole = run(program, "normalize", "--together", "--recursive", "in", "-o", "one", cwd=folder, status=2)
    done = ranks(3, "normalize", "--together", "--recursive", "in", "-o", "no", cwd=folder, status=2)
    check(says(done, whole) and not (folder / "no").exists(), f"types that do not merge: {done.stderr!r}")


def test_together_state(program, folder):
    """Transfers of all and --state: alone and in ranks, and again after a shard is lost."""
    make_images(folder, 20)
    run(program, "normalize", "--together", "all", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    words = ("normalize", "--together", "all", "--state", "state", "--shards", "5", "--recursive", "in", "-o", "out")
    for start in (lambda: run(program, *words, cwd=folder, status=1), lambda: ranks(3, *words, cwd=folder, status=1)):
        for name in ("state", "out"):
            shutil.rmtree(folder / name, ignore_errors=True)
        check(b"18 written, 2 failed" in start().stderr, "the sum")
        check(tree(folder / "out") == tree(folder / "whole"), "shards with one transfer")
        kept = folder / "state/shard-0002-of-0005.done"
        lost = [name for name in tree(folder / "out") if b"out/" + name.encode() + b"\0" in kept.read_bytes()]
        check(len(lost) > 2, f"outputs of a shard: {lost}")
        for name in lost[1:]:
            (folder / "out" / name).unlink()
        kept.unlink()
        start()
        check(tree(folder / "out") == tree(folder / "whole"), "one shard again")


def test_together_changed(program, folder):
    """Inputs that change between two runs, as large as before, have another transfer than the outputs that are there."""
    (folder / "in").mkdir()
    for i in range(8):
        (folder / "in" / f"{i}.tif").write_bytes(tiff("u8", 9, 9, [20 + i + k for k in range(81)]))
    words = ("normalize", "--together", "all", "--state", "state", "--shards", "4", "in", "-o", "out")
    ranks(2, *words, cwd=folder)
    before = tree(folder / "out")
    (folder / "in/3.tif").write_bytes(tiff("u8", 9, 9, [2 * k for k in range(81)]))
    (folder / "state/shard-0004-of-0004.done").unlink()
    (folder / "out/7.tif").unlink()
    done = ranks(2, *words, cwd=folder, status=1)
    check(done.stderr.count(b"has not the transfer that all inputs have now") == 1, f"refused: {done.stderr!r}")
    check(tree(folder / "out") == {name: data for name, data in before.items() if name != "7.tif"}, "outputs stay")


def test_data_sets(program, folder):
    """Merged statistics, of images of several kinds, each rank reading its own again; and the bytes of the record."""
    make_images(folder, 30)
    for i in range(20):
        kind = ("u16", "f32", "i32", "f64")[i % 4]
        (folder / "in" / f"w{i:02}.tif").write_bytes(tiff(kind, 9, 8 + i, range(9 * (8 + i))))
    commands = (("stats", "--json", "--by", "all", "--percentiles", "1,50,99", "--mode", "--shape"), ("stats", "--by", "all"),
                ("stats", "--csv", "--by", "group=([ab])/"), ("hist", "--csv", "--by", "all"))
    for k, (command, n, shards) in enumerate(zip(commands, (4, 1, 3, 2), ((), (), ("--shards", "5"), ()))):
        if not is_run(k, 2):
            continue
        whole = run(program, *command, "--recursive", "in", cwd=folder, status=1)
        run(program, *command, "--recursive", "in", "--save-record", "whole.rec", "--force", cwd=folder, status=1)
        done = ranks(n, *command, "--recursive", *shards, "in", "--save-record", "ranks.rec", "--force", cwd=folder,
                     status=1)
        check(done.stdout == whole.stdout, f"{command}: {n} ranks: {done.stdout!r}, not {whole.stdout!r}")
        check((folder / "ranks.rec").read_bytes() == (folder / "whole.rec").read_bytes(), f"{command}: {n}: record")
        check(b"47 measured, 3 failed" in done.stderr, f"{command}: {n} ranks: {done.stderr!r}")
        notes = [[line for line in said.splitlines() if b"do not match" in line] for said in (whole.stderr, done.stderr)]
        check(notes[0] == notes[1] and len(notes[0]) == ("--csv" in command and command[0] == "stats"), f"{command}: {notes}")
    words = ("--by", "all", "--json", "--percentiles", "5,95", "--shards", "6", "--recursive", "in")
    whole = run(program, "stats", "--state", "one", *words, cwd=folder, status=1)
    done = ranks(3, "stats", "--state", "state", *words, cwd=folder, status=1)
    check(done.stdout == whole.stdout and says(done, whole), f"--state: {done.stderr!r}, not {whole.stderr!r}")
    check(tree(folder / "state") == tree(folder / "one"), "the records that are kept")
    (folder / "state/shard-0002-of-0006.rec").unlink()
    again = ranks(2, "stats", "--state", "state", *words, cwd=folder, status=1)
    check(again.stdout == whole.stdout and tree(folder / "state") == tree(folder / "one"), "one shard again")
    done = ranks(2, "stats", "--by", "all", "in/a", "--save-record", "whole.rec", cwd=folder, status=1)
    check(done.stderr.count(b"whole.rec: exists already") == 1, f"a record that exists: {done.stderr!r}")


def test_alone(program, folder):
    """What needs no images is done by one rank."""
    for k, (words, status) in enumerate(((("--version",), 0), (("help", "stats"), 0), (("stats",), 2),
                                         (("stats", "--no-such-option", "x.png"), 2))):
        if not is_run(k, 2):
            continue
        whole = run(program, *words, cwd=folder, status=status)
        done = ranks(3, *words, cwd=folder, status=status)
        check(done.stdout == whole.stdout, f"{words}: other bytes")
        check(says(done, whole) and done.stderr.count(b"Try '") <= 1, f"{words}: {done.stderr!r}")


def test_refusals(_program, folder):
    make_images(folder, 12)
    for k, (words, sentence) in enumerate((
            (("hist", "--plot", "x.svg", "in/a"), b"is not done in shards"),
            (("stats", "--json", "-"), b"standard input cannot be in shards"),
            (("stats", "--json", "--files0-from", "-"), b"share no standard input"),
            (("stats", "--json", "--shard", "1/3", "in/a"), b"--shard is for one process"),
            (("normalize", "--together", "in/a", "--save-transfer", "t.json", "--state", "s", "--shards", "2"), b"-o names where"),
            (("normalize", "in/a/001.png", "--save-transfer", "t.json", "-o", "out"), b"a shard has only a part"),
            (("normalize", "--dry-run", "in/a", "-o", "out"), b"run imgstat normalize --dry-run"))):  # ranks ended by abort
        if not is_run(k, 2):
            continue
        done = ranks(2, *words, cwd=folder, status=2)
        check(done.stderr.count(sentence) == 1, f"{words}: {done.stderr!r}")
        check(not (folder / "out").exists(), f"{words}: something was written")


def test_state(program, folder):
    make_images(folder, 30)
    whole = run(program, "stats", "--json", "--recursive", "in", cwd=folder, status=1)
    words = ("stats", "--json", "--recursive", "--state", "state", "--shards", "9", "in")
    check(ranks(3, *words, cwd=folder, status=1).stdout == whole.stdout, "nine shards that are kept")
    times = {path: path.stat().st_mtime_ns for path in (folder / "state").iterdir()}
    check(len(times) == 10, f"{len(times)} files")
    check(ranks(2, *words, cwd=folder, status=1).stdout == whole.stdout, "again, with other ranks")
    check({path: path.stat().st_mtime_ns for path in (folder / "state").iterdir()} == times, "nothing is done again")
    check(run(program, *words, cwd=folder, status=1).stdout == whole.stdout, "again, with one process")
    other = ranks(2, *words[:-1], "in/a", cwd=folder, status=None)  # 2, or what mpirun makes of a rank that it ended
    check(other.returncode in (1, 2) and b"there it is 'inputs 30" in other.stderr,
          f"other inputs: {other.returncode}, {other.stderr!r}")


def children_of(process):
    """The ranks that mpirun started, however deep."""
    found, todo = [], [process]
    while todo:
        for task in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            try:
                todo += [int(word) for word in task.read_text().split()]
            except OSError:
                pass
        found += [child for child in todo if name_of(child) == Path(PROGRAM).name[:15] and child not in found]
    return found


def name_of(process):
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def test_killed(program, folder):
    """Ranks are killed at random points until the job is done once; what is done stays done."""
    make_images(folder, 90)
    whole = run(program, "stats", "--json", "--percentiles", "1,99", "--recursive", "in", cwd=folder, status=1)
    words = ("stats", "--json", "--percentiles", "1,99", "--recursive", "--state", "state", "--shards", "40", "in")
    chance = random.Random(3)
    for _ in range(6):
        before = len(list((folder / "state").glob("shard-*"))) if (folder / "state").exists() else 0
        begun = set((folder / "state").glob(".*"))
        child = subprocess.Popen([*launch(3), *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=environment())
        wanted = before + chance.randrange(8)
        wait_until(child, lambda: len(list((folder / "state").glob("shard-*"))) >= wanted and len(children_of(child.pid)) > 0)
        victims = children_of(child.pid)
        if child.poll() is None and victims:
            try:
                os.kill(chance.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, err = child.communicate(timeout=120)
        lost = set((folder / "state").glob(".*")) - begun
        check(len(lost) <= 3, f"more than a shard of each rank is lost: {lost}")
        check(child.returncode != 0, f"killed: exit status {child.returncode}: {err!r}")
        out = out.split(b"\n=====")[0]  # Hydra tells of it on standard output
        check(whole.stdout.startswith(out), "what was printed is no beginning")
    kept = {path: path.stat().st_mtime_ns for path in (folder / "state").glob("shard-*.out")}
    done = ranks(3, *words, cwd=folder, status=1)
    check(done.stdout == whole.stdout, "after it was killed: other bytes")
    check(all(path.stat().st_mtime_ns == when for path, when in kept.items()), "a shard was done again")
    left = [path for path in (folder / "state").iterdir() if path.name.startswith(".")]
    check(len(left) <= 3 * 6, f"unfinished files: {left}")


if __name__ == "__main__":
    if not PROGRAM or not shutil.which(MPIRUN):
        print(f"skipped: {MPIRUN or 'mpirun'} or the program for it is absent")
        sys.exit(77)
    main(globals())
