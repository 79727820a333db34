#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets reads of real files fail, each in its turn, and looks whether a command says so.

usage: input_errors.py IMGSTAT SHIM [--files N] [--places N] [--seed N]

The files are those of $IMGSTAT_CORPUS or ../shared/corpus, and testdata. A run is right if it ends as if nothing had failed,
or with a status, a sentence that has the system's word for the error, and no output. An interrupted call must not matter."""

import argparse
import collections
import errno
import os
import random
import sys
import tempfile
from pathlib import Path

from campaign import CALL, COUNT, ERRNO, TESTDATA, Server

CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or TESTDATA.parent.parent / "shared/corpus")
COMMANDS = {
    b"\x89P": ["stats --json in/image", "normalize in/image -o out/a.png"],
    b"II": ["stats --json in/image", "normalize in/image -o out/a.tif"],
}
READS = (0, 17)  # read, pread64
HOW = [(errno.EIO, 0), (errno.EIO, 1), (errno.ESTALE, 0), (errno.EINTR, 0)]  # 1: from there on


def judge(value, got, want):
    """What is wrong with a run, or None."""
    if got.hidden:
        return f"left over: {got.hidden}"
    if got.status == 0:
        return None if (got.out, got.files) == (want.out, want.files) else "status 0, another result"
    if value == errno.EINTR:
        return f"status {got.status} since a call was interrupted"
    if got.status not in (1, 2):
        return f"status {got.status}"
    if got.files:
        return f"an output: {sorted(got.files)}"
    return None if os.strerror(value).encode() in got.err else "the cause is not named"


def sweep(server, name, places, counts):
    """Lets reads of one file fail. Returns what is wrong."""
    want = server.run(COUNT)
    bad = []
    if want.status != 0:
        return bad
    counts["files"] += 1
    for call in READS:
        for at in sorted(random.sample(range(1, want.called[call] + 1), min(places, want.called[call]))):
            for value, on in HOW:
                got = server.run(CALL, call=call, at=at, on=on, value=value)
                counts["injections"] += got.failed > 0
                counts["told"] += got.status != 0
                why = judge(value, got, want) if got.failed else None
                if why:
                    bad.append(f"{name}: {ERRNO[call][0]} {at} of {want.called[call]}{' and later' * on}, "
                               f"{errno.errorcode[value]}: {why}; {got.err[-300:]!r}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("imgstat", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("shim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--files", type=int, default=1 << 30, help="of each kind")
    parser.add_argument("--places", type=int, default=1 << 30, help="of each call, in a run of a file")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    print(f"seed {arguments.seed}", flush=True)
    kinds = collections.defaultdict(list)
    for path in sorted(path for folder in (CORPUS, TESTDATA) for path in folder.rglob("*") if path.is_file()):
        start = path.open("rb").read(2)
        kinds[b"II" if start == b"MM" else start].append(path)
    counts, n_bad = collections.Counter(), 0
    for start, commands in COMMANDS.items():
        chosen = random.sample(kinds[start], min(arguments.files, len(kinds[start])))
        for words in commands:
            before = dict(counts)
            with tempfile.TemporaryDirectory(prefix="input-errors-") as folder:
                work = Path(folder)
                for name in ("in", "out", "tmp"):
                    (work / name).mkdir()
                server = Server(arguments.imgstat, arguments.shim, work, words.split(), None, {})
                for path in chosen:
                    (work / "in/image").write_bytes(path.read_bytes())
                    bad = sweep(server, path, arguments.places, counts)
                    n_bad += len(bad)
                    for sentence in bad[:3]:
                        print("   ", sentence, flush=True)
                server.close()
            print(f"{words}: " + ", ".join(f"{n - before.get(what, 0)} {what}" for what, n in counts.items()), flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {n_bad} bad")
    sys.exit(1 if n_bad or counts["injections"] == 0 else 0)


if __name__ == "__main__":
    main()
