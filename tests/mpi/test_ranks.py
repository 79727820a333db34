#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""imgstat-mpi: whatever the number of ranks and of shards, the bytes are those of one process; a rank that dies ends the
job, and the same command finishes what is missing.

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
from harness import check, environment, main, run, tiff, wait_until  # noqa: E402
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


def test_commands(_program, folder):
    make_images(folder)
    for command in (("stats", "--json"), ("stats", "--csv", "--percentiles", "1,50,99"),
                    ("hist", "--csv", "--bins", "8"), ("info", "--json")):
        whole = run(_program, *command, "--recursive", "in", cwd=folder, status=None)
        expected = 0 if command[0] == "info" else 1  # headers are whole
        check(whole.returncode == expected and len(whole.stdout) > 1000, f"{command}: {whole.stderr!r}")
        for n, shards in ((1, ()), (2, ()), (4, ("--shards", "7")), (4, ("--shards", "1"))):
            done = ranks(n, *command, "--recursive", *shards, "in", cwd=folder, status=expected)
            check(done.stdout == whole.stdout, f"{command}: {n} ranks, {shards}: other bytes")
            check(says(done, whole), f"{command}: {n} ranks: {done.stderr!r}, not {whole.stderr!r}")
    good = ("stats", "--json", "in/a/001.png", "in/a/002.png")
    check(ranks(3, *good, cwd=folder).stdout == run(_program, *good, cwd=folder).stdout, "fewer files than ranks")


def test_transforms(program, folder):
    make_images(folder)
    run(program, "normalize", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    whole = tree(folder / "whole")
    check(len(whole) == 54, f"{len(whole)} outputs")
    for n in (1, 2, 4):
        done = ranks(n, "normalize", "--recursive", "in", "-o", f"out{n}/", cwd=folder, status=1)
        check(tree(folder / f"out{n}") == whole, f"{n} ranks: other outputs")
        check(b"54 written, 6 failed\n" in done.stderr, f"{n} ranks: {done.stderr!r}")
    run(program, "normalize", "--recursive", "--together", "--save-transfer", "t.json", "in", "-o", "all/", cwd=folder,
        status=1)
    ranks(2, "apply", "t.json", "--recursive", "in", "-o", "applied/", cwd=folder, status=1)
    check(tree(folder / "applied") == tree(folder / "all"), "apply: other outputs")


def test_data_sets(program, folder):
    """Merged statistics, of images of several kinds; and the bytes of the record."""
    make_images(folder)
    for i in range(20):
        (folder / "in" / f"w{i:02}.tif").write_bytes(tiff("f32" if i % 2 else "u16", 9, 8 + i, range(9 * (8 + i))))
    for command in (("stats", "--json", "--by", "all", "--percentiles", "1,50,99"), ("stats", "--by", "all"),
                    ("stats", "--csv", "--by", "group=([ab])/"), ("hist", "--csv", "--by", "all")):
        whole = run(program, *command, "--recursive", "in", "--save-record", "whole.rec", "--force", cwd=folder, status=1)
        for n, shards in ((1, ()), (2, ()), (3, ("--shards", "5")), (4, ())):
            done = ranks(n, *command, "--recursive", *shards, "in", "--save-record", "ranks.rec", "--force", cwd=folder,
                         status=1)
            check(done.stdout == whole.stdout, f"{command}: {n} ranks: {done.stdout!r}, not {whole.stdout!r}")
            check((folder / "ranks.rec").read_bytes() == (folder / "whole.rec").read_bytes(), f"{command}: {n}: record")
            check(b"74 measured, 6 failed" in done.stderr, f"{command}: {n} ranks: {done.stderr!r}")
    done = ranks(2, "stats", "--by", "all", "--state", "state", "--shards", "4", "in", cwd=folder, status=2)
    check(b"keep no records so far" in done.stderr, f"--state: {done.stderr!r}")
    done = ranks(2, "stats", "--by", "all", "in/a", "--save-record", "whole.rec", cwd=folder, status=1)
    check(b"whole.rec: exists already" in done.stderr, f"a record that exists: {done.stderr!r}")


def test_alone(program, folder):
    """What needs no images is done by one rank."""
    for words, status in ((("--version",), 0), (("help", "stats"), 0), (("stats", "--no-such-option", "x.png"), 2),
                          (("stats",), 2)):
        whole = run(program, *words, cwd=folder, status=status)
        done = ranks(3, *words, cwd=folder, status=status)
        check(done.stdout == whole.stdout, f"{words}: other bytes")
        check(says(done, whole) and done.stderr.count(b"Try '") <= 1, f"{words}: {done.stderr!r}")


def test_refusals(_program, folder):
    make_images(folder, 12)
    for words, sentence in (
            (("stats", "in/a"), b"shards need --json or --csv"),
            (("stats", "--json", "-"), b"standard input cannot be in shards"),
            (("stats", "--json", "--files0-from", "-"), b"share no standard input"),
            (("stats", "--json", "--shard", "1/3", "in/a"), b"--shard is for one process"),
            (("normalize", "--together", "in/a", "-o", "out"), b"a shard has only a part of the images")):
        done = ranks(2, *words, cwd=folder, status=2)
        check(done.stderr.count(sentence) == 1, f"{words}: {done.stderr!r}")
        check(not (folder / "out").exists(), f"{words}: something was written")


def test_state(program, folder):
    make_images(folder)
    whole = run(program, "stats", "--json", "--recursive", "in", cwd=folder, status=1)
    words = ("stats", "--json", "--recursive", "--state", "state", "--shards", "9", "in")
    check(ranks(3, *words, cwd=folder, status=1).stdout == whole.stdout, "nine shards that are kept")
    times = {path: path.stat().st_mtime_ns for path in (folder / "state").iterdir()}
    check(len(times) == 10, f"{len(times)} files")
    check(ranks(2, *words, cwd=folder, status=1).stdout == whole.stdout, "again, with other ranks")
    check({path: path.stat().st_mtime_ns for path in (folder / "state").iterdir()} == times, "nothing is done again")
    check(run(program, *words, cwd=folder, status=1).stdout == whole.stdout, "again, with one process")
    other = ranks(2, *words[:-1], "in/a", cwd=folder, status=2)
    check(b"there it is 'inputs 60" in other.stderr, f"other inputs: {other.stderr!r}")


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
    make_images(folder, 120)
    whole = run(program, "stats", "--json", "--percentiles", "1,99", "--recursive", "in", cwd=folder, status=1)
    words = ("stats", "--json", "--percentiles", "1,99", "--recursive", "--state", "state", "--shards", "40", "in")
    chance = random.Random(3)
    for _ in range(6):
        before = len(list((folder / "state").glob("shard-*"))) if (folder / "state").exists() else 0
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
