#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of docs/data-sets.md, run as it says: their results are those of one process.

usage: test_recipes.py IMGSTAT [TEST...]
"""

import os
import random
import subprocess
from pathlib import Path

from harness import check, environment, has, main, png, run

RECIPES = Path(__file__).resolve().parent.parent.parent / "docs" / "examples"
# What sbatch --array=1-N does, without a queue.
SBATCH = """#!/bin/sh
set -eu
case $1 in --array=1-*) n=${1#--array=1-} ;; *) exit 2 ;; esac
script=$2
shift 2
grep -q '^#SBATCH --requeue' "$script"
for id in $(seq "$n"); do
    SLURM_ARRAY_TASK_ID=$id SLURM_ARRAY_TASK_COUNT=$n SLURM_CPUS_PER_TASK=2 sh "$script" "$@" || echo "task $id: $?"
done
"""


def make_images(folder, n=30):
    (folder / "in" / "sub").mkdir(parents=True)
    for i in range(n):
        data = png(8 + i, 8 + i, 8, random.Random(i).randbytes((8 + i) ** 2))
        place = folder / "in" / ("sub" if i % 3 else "")
        (place / f"{i:03}.png").write_bytes(data if i != 7 else data[:len(data) // 2])


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def path_with(program, folder):
    """Where imgstat is found by its name."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "imgstat").symlink_to(program)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)}


def test_parallel(program, folder):
    make_images(folder)
    whole = run(program, "stats", "--json", "--recursive", "in", cwd=folder, status=1)
    if has("parallel"):
        variables = path_with(program, folder)
        for _ in range(2):
            done = run("sh", RECIPES / "shards-parallel.sh", "in", "state", "5", cwd=folder, status=1, variables=variables)
            check(done.stdout == whole.stdout, "GNU parallel: other bytes")
            check(done.stderr == whole.stderr, f"GNU parallel: {done.stderr!r}, not {whole.stderr!r}")


def test_records(program, folder):
    """One record of all shards is that of one process, and makes its transfer."""
    make_images(folder)
    whole = run(program, "stats", "--json", "--quiet", "--by", "all", "--recursive", "--save-record", "whole.rec", "in",
                cwd=folder, status=1)
    if not has("parallel"):
        return
    variables = path_with(program, folder)
    for again in range(2):
        done = run("sh", RECIPES / "records-parallel.sh", "in", "records", "4", cwd=folder, variables=variables)
        check(done.stdout == whole.stdout.splitlines(keepends=True)[-1], f"GNU parallel: {done.stdout!r}, not {whole.stdout!r}")
        check((folder / "records/all.rec").read_bytes() == (folder / "whole.rec").read_bytes(), "another record")
        (folder / "records/shards/3.rec").unlink()
    done = run(program, "merge", "records/shards", cwd=folder, status=1)
    check(b"of 4 shards 3 is missing" in done.stderr, f"{done.stderr!r}")
    for words in (("--together",), ("--from", "records/all.rec")):
        run(program, "normalize", *words, "--recursive", "in", "-o", words[0][2:], cwd=folder, status=1)
    check(tree(folder / "from") == tree(folder / "together") and len(tree(folder / "from")) == 29, "other outputs")


def test_slurm(program, folder):
    make_images(folder)
    variables = path_with(program, folder)
    (folder / "bin" / "sbatch").write_text(SBATCH)
    (folder / "bin" / "sbatch").chmod(0o755)
    done = run(folder / "bin" / "sbatch", "--array=1-6", RECIPES / "shards-slurm.sh", "in", "state", cwd=folder,
               variables=variables)
    check(done.stdout == b"", f"tasks that failed: {done.stdout!r}")
    check(len(list((folder / "state").glob("shard-*.out"))) == 6, "six shards are kept")
    times = {path: path.stat().st_mtime_ns for path in (folder / "state").iterdir()}
    whole = run(program, "stats", "--json", "--recursive", "in", cwd=folder, status=1)
    last = run(program, *"stats --json --recursive --state state --shards 6 in".split(), cwd=folder, status=1)
    check(last.stdout == whole.stdout and last.stderr == whole.stderr, "Slurm: other bytes")
    check({path: path.stat().st_mtime_ns for path in (folder / "state").iterdir()} == times, "nothing is done again")
    # A task that could do nothing is a failed one.
    done = run(folder / "bin" / "sbatch", "--array=1-2", RECIPES / "shards-slurm.sh", "in", "state", cwd=folder,
               variables=variables)
    check(done.stdout == b"task 1: 2\ntask 2: 2\n", f"a folder of six shards: {done.stdout!r}")


def test_make(program, folder):
    make_images(folder)
    run(program, "normalize", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    if has("make"):
        variables = path_with(program, folder)
        words = ("-j", "2", "-k", "-f", RECIPES / "shards.mk", "IN=in", "OUT=out", "STATE=state", "N=4")
        done = run("make", *words, cwd=folder, status=2, variables=variables)
        check(len(tree(folder / "whole")) == 29 and tree(folder / "out") == tree(folder / "whole"), "make: other outputs")
        check(done.stderr.count(b"007.png: ends early") == 1, f"make: {done.stderr!r}")


def test_scripts(_program, _folder):
    if has("shellcheck"):
        scripts = sorted(str(path) for path in RECIPES.glob("*.sh"))
        done = subprocess.run(["shellcheck", *scripts], capture_output=True, check=False, env=environment())
        check(len(scripts) >= 2 and done.returncode == 0, f"shellcheck: {done.stdout.decode()}")


if __name__ == "__main__":
    main(globals())
