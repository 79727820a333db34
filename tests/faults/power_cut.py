#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a power cut at any moment of a command may leave, and whether --skip-existing goes on from there.

usage: power_cut.py IMGSTAT SHIM [--files N] [--states N] [--seed N]

The shim tells which calls wrote, synced and named files. From that follows what is on the disk at each moment: bytes that
were synced, and names of which the folder was synced. Of other names any first few may be there, or any few; of a file with
other bytes any part. Every name must be that of a whole file. Then the same is done as if no sync had any effect: what is
there may be empty, cut or zeros, and --skip-existing must write the same outputs as a run that nothing interrupted."""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from campaign import COUNT, ENDS, LOG, TESTDATA, Server, make_inputs

# A command, and the same where it goes on, if it does.
COMMANDS = {
    "folder": ["equalize -j1 in/set -o out", "--skip-existing"],
    "two threads": ["normalize -j2 in/set -o out", "--skip-existing"],
    "together": ["normalize -j2 --together in/alike -o out", "--skip-existing"],
    "in place": ["normalize -j2 --force out -o out", None],
    "save": ["equalize in/a.png -o out/a.png --save-transfer out/t.json", None],
    "record": ["stats --by all --save-record out/all.rec in/set", None],
    "report": ["report in/a.png -o out/r.html", None],
    "plot": ["hist in/a.png --plot out/a.svg", None],
}
ALIKE = ["good-bigtiff.tif", "good-example.png", "good-example.tif", "good-gray4.png", "good-interlaced-3x2.png",
         "good-minwhite.tif", "good-tiled.tif"]
OTHERS = ["good-float32.tif", "good-gray16.png", "good-nodata.tif", "good-pages.tif", "good-palette.tif", "good-planar-tiled.tif",
          "good-rgb-key.png", "good-rgba16.png"]
WRITES, SYNCS, SYNCS_ALL = (1, 18, 77, 285), (74, 75), 306  # the others name


class Disk:
    """What is on the disk, from what the shim told."""

    def __init__(self, folder, syncs):
        self.folder, self.syncs = folder, syncs
        self.names, self.later, self.dirty = {}, [], set()

    def take(self, call, inode, name):
        if call in WRITES:
            self.dirty.add(inode)
        elif call == SYNCS_ALL or call in SYNCS:
            if self.syncs and (call == SYNCS_ALL or inode == self.folder):
                self.names.update(self.later)
                self.later = []
            if self.syncs:
                self.dirty.difference_update(set(self.dirty) if call == SYNCS_ALL else {inode})
        elif Path(name).name[0] != "." and not (name[-7:-6] == "." and name[-6:].isalnum()):  # no temporary one
            self.later.append((Path(name).name, inode))

    def states(self):
        """The names that may be there, each with its file and whether that is whole."""
        several = [self.later[:n] for n in range(len(self.later) + 1)]
        several += [[one for one in self.later if random.random() < 0.5] for _ in range(len(self.later) > 1)]
        for named in several:
            yield frozenset((name, inode, inode not in self.dirty) for name, inode in {**self.names, **dict(named)}.items())


def states_of(log, folder, syncs):
    disk, states = Disk(folder, syncs), {}
    for line in log.splitlines():
        call, inode, *name = line.split(" ", 2)
        disk.take(int(call), int(inode), name[0])
        if name[0] or int(call) in (*SYNCS, SYNCS_ALL):
            states.update(dict.fromkeys(disk.states()))
    return list(states)


def torn(data):
    """What may be left of bytes that were not synced."""
    return random.choice([b"", data[:random.randrange(len(data))], bytes(len(data))])


def go_on(server, want, states, files):
    """How often --skip-existing does not end with the same outputs."""
    bad = []
    for state in states:
        server.before = {name: files[inode] if whole else torn(files[inode]) for name, inode, whole in state}
        before = dict(server.before)
        got = server.run(COUNT)
        if got.status != 0 or got.files != want:
            wrong = [f"{name} ({len(before.get(name, ''))} of {len(want[name])} bytes)" for name in want if got.files.get(name) != want[name]]
            bad.append(f"status {got.status}, not redone: {wrong} {got.err[-200:]!r}")
    return bad


def cut(name, arguments, work, counts):
    words, more = COMMANDS[name]
    out = work / "out"
    before = {path.name: f"set/{path.name}" for path in (work / "in/set").iterdir()} if name == "in place" else {}
    server = Server(arguments.imgstat, arguments.shim, work, words.split(), None, before)
    server.run(COUNT)
    got = server.run(LOG)
    log = (work / "log").read_text()
    server.close()
    if got.status != 0 or not got.files:
        sys.exit(f"{name}: status {got.status}: {got.err.decode()}")
    files = {(out / file).stat().st_ino: data for file, data in got.files.items()}
    folder = out.stat().st_ino
    states, lies = (states_of(log, folder, syncs) for syncs in (True, False))
    bad = [f"{file} may be empty or cut" for state in states for file, _, whole in state if not whole]
    if not any({file for file, _, _ in state} == set(got.files) for state in states):
        bad.append(f"not all names were seen: {sorted(got.files)}")
    if not any(not whole for state in lies for _, _, whole in state):
        bad.append("without syncs nothing would be torn: the test sees nothing")
    chosen, chosen_lies = (random.sample(some, min(len(some), arguments.states)) for some in (states, lies))
    counts["states"] += len(states)
    counts["outputs"] += sum(map(len, states))
    if more:
        server = Server(arguments.imgstat, arguments.shim, work, [*words.split(), more], None, {})
        server.run(COUNT)
        bad += go_on(server, got.files, chosen, files) + go_on(server, got.files, chosen_lies, files)
        counts["gone on"] += len(chosen) + len(chosen_lies)
        counts["torn"] += sum(not whole for state in chosen_lies for _, _, whole in state)
        server.close()
    print(f"{name}: {len(states)} states, {len(bad)} bad", flush=True)
    for sentence in bad[:10]:
        print("   ", sentence, flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("imgstat", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("shim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--files", type=int, default=12, help="outputs of a batch")
    parser.add_argument("--states", type=int, default=25, help="from which a command goes on")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    print(f"seed {arguments.seed}", flush=True)
    counts, bad = dict.fromkeys(("states", "outputs", "gone on", "torn"), 0), []
    with tempfile.TemporaryDirectory(prefix="power-cut-") as folder:
        work = Path(folder)
        make_inputs(arguments.imgstat, work)
        for name in ("set", "alike"):
            (work / "in" / name).mkdir()
        for i in range(arguments.files):
            source = TESTDATA / random.choice(ALIKE if i % 2 else OTHERS)
            (work / f"in/set/{i}{source.suffix}").write_bytes(source.read_bytes())
            source = TESTDATA / random.choice(ALIKE)
            (work / f"in/alike/{i}{source.suffix}").write_bytes(source.read_bytes())
        for name in COMMANDS:
            bad += cut(name, arguments, work, counts)
    print(f"{counts['states']} states with {counts['outputs']} outputs; from {counts['gone on']} of these and of states without "
          f"syncs, with {counts['torn']} torn outputs, commands went on; {len(bad)} bad")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
