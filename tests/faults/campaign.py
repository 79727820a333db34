#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets each allocation and each system call of commands fail in turn, and looks at what comes of it.

usage: campaign.py IMGSTAT SHIM [--full] [--seed N] [--only WORDS] [--kinds memory,calls,short,kill] [--seconds N]

A run is right if it ends as if nothing had failed, or with another status, a sentence, and outputs that are whole or as
they were before. Without --full a part of all runs is done, chosen by the seed, for about --seconds of processor time."""

import argparse
import collections
import errno
import json
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import tiff_tree

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
LIMIT = 60  # seconds for one run
COUNT, ALLOCATE, CALL, SHORT, KILL, LOG = range(6)  # as Act in shim.c
CALLS = 512

# The words of a command, the input of "-" or None, and which files of in/ lie in out/ before each run.
COMMANDS = {
    "stats png": ["stats in/a.png"],
    "stats tiff": ["stats --json in/planes.tif"],
    "stats floats": ["stats --csv --percentiles 1,99 in/float.tif"],
    "stats palette": ["stats --json --histogram in/palette.tif"],
    "stats nodata": ["stats --json in/nodata.tif"],
    "stats stdin": ["stats --json -", "in/a.png"],
    "stats folder": ["stats --json -j2 in"],
    "stats merge": ["stats --by all --json in/a.png in/b.png"],
    "stats groups": ["stats --by group=([ab]).png --json in/a.png in/b.png"],
    "stats wide": ["stats --by all --json --percentiles 1,50,99 in/float.tif in/float.tif[0]"],
    "record": ["stats --by all --save-record out/r.rec in/a.png in/b.png"],
    "merge": ["merge in/a.rec in/b.rec -o out/m.rec"],
    "info": ["info --json in/pages.tif in/a.png"],
    "hist": ["hist in/a.png"],
    "hist plot": ["hist in/a.png --plot out/a.png"],
    "hist svg": ["hist in/planes.tif --plot out/a.svg"],
    "report": ["report in/a.png in/palette.tif -o out/r.html"],
    "compare": ["compare --json in/a.png in/b.png"],
    "normalize png": ["normalize in/a.png -o out/a.png"],
    "normalize pages": ["normalize in/pages.tif -o out/p.tif"],
    "normalize nodata": ["normalize in/nodata.tif -o out/n.tif"],
    "normalize ome": ["normalize in/ome.tif -o out/o.tif"],
    "normalize bands": ["normalize in/bands.tif -o out/b.tif"],
    "stats stack": ["stats --json in/stack.tif"],
    "normalize palette": ["normalize in/palette.tif -o out/p.tif"],
    "png to tiff": ["normalize in/rgb.png -o out/a.tif"],
    "tiff to png": ["normalize in/planes.tif -o out/a.png"],
    "in place": ["normalize --force out/a.png -o out/a.png", None, {"a.png": "a.png"}],
    "in place tiff": ["normalize --force out/p.tif -o out/p.tif", None, {"p.tif": "planes.tif"}],
    "compressed by libtiff": ["normalize --compression zstd in/planes.tif -o out/a.tif"],
    "equalize": ["equalize in/float.tif -o out/f.tif"],
    "clahe": ["equalize --clahe in/interlaced.png -o out/c.png"],
    "stdout": ["normalize in/palette.tif -o -"],
    "save": ["equalize in/a.png -o out/a.png --save-transfer out/t.json"],
    "apply": ["apply in/t.json in/many/c.png -o out/c.png"],
    "together": ["normalize --together -j2 in/a.png in/b.png -o out"],
    "folder": ["equalize -j2 --json in/many -o out"],
    "skip": ["equalize -j2 --skip-existing in/many -o out", None, {"a.png": "done.png"}],
    "redo": ["equalize -j2 --skip-existing in/many -o out", None, {"a.png": "cut/a.png"}],
    "page": ["normalize in/a.png in/many/c.png -o out --report out/r.html"],
    "tar": ["stats --json in/x.tar"],
    "shards": ["stats --json --shards 2 --state out/state in/many"],
    "shards of groups": ["stats --json --by group=([ab]).png --shards 2 --state out/state in/a.png in/b.png"],
}
FILES = {"a.png": "good-gray16.png", "b.png": "good-gray16.png", "rgb.png": "good-rgb-key.png", "planes.tif": "good-planar-tiled.tif",
         "float.tif": "good-float32.tif", "palette.tif": "good-palette.tif", "nodata.tif": "good-nodata.tif",
         "pages.tif": "good-pages.tif", "interlaced.png": "good-interlaced.png", "many/a.png": "good-gray16.png",
         "many/b.tif": "good-tiled.tif", "many/c.png": "good-rgb.png"}
# Their outputs tell of inputs that failed, or are made without them: then it is enough that they are whole.
PARTIAL = ("report", "together", "page", "record")
ENDS = {"html": b"</html>\n", ".png": b"IEND\xaeB`\x82", ".rec": b""}  # cut records: see prove_changed_records
# System calls by their numbers on x86-64, and how each can fail.
ERRNO = {
    257: ("openat", "EIO EMFILE ENOMEM EINTR ESTALE"), 0: ("read", "EIO EINTR ESTALE"), 17: ("pread64", "EIO EINTR ESTALE"),
    1: ("write", "EIO ENOSPC EINTR EDQUOT"), 18: ("pwrite64", "EIO ENOSPC EINTR EDQUOT"), 3: ("close", "EIO ENOSPC EDQUOT"),
    5: ("fstat", "EIO ESTALE"), 4: ("stat", "EIO ESTALE"), 262: ("newfstatat", "EIO ENOMEM"), 8: ("lseek", "EIO"),
    72: ("fcntl", "EMFILE EINVAL"), 9: ("mmap", "ENOMEM EAGAIN"), 74: ("fsync", "EIO ENOSPC"),
    75: ("fdatasync", "EIO ENOSPC EDQUOT"), 306: ("syncfs", "EIO ENOSPC"), 82: ("rename", "EIO ENOSPC"), 316: ("renameat2", "EIO EINVAL"),
    86: ("link", "EIO ENOSPC"), 265: ("linkat", "EIO ENOENT EDQUOT"), 87: ("unlink", "EIO EACCES"),
    77: ("ftruncate", "EIO ENOSPC"), 318: ("getrandom", "EINTR ENOSYS"), 83: ("mkdir", "EIO ENOSPC"),
    217: ("getdents64", "EIO ESTALE"), 91: ("fchmod", "EIO EPERM"), 93: ("fchown", "EIO EPERM"), 292: ("dup3", "EMFILE"),
    293: ("pipe2", "EMFILE"), 435: ("clone3", "EAGAIN ENOMEM"), 221: ("fadvise64", "EIO"), 190: ("fsetxattr", "EIO ENOSPC"),
    191: ("getxattr", "EIO ENOTSUP"), 194: ("listxattr", "EIO ENOTSUP"), 7: ("poll", "EINTR"),
    285: ("fallocate", "ENOTSUP ENOSPC"), 332: ("statx", "EIO"), 199: ("fremovexattr", "EIO"),
}

Result = collections.namedtuple("Result", "status out err files hidden allocations live calls called failed ended")


def tree(folder):
    """Bytes by name, and the names of hidden files."""
    files, hidden = {}, []
    for path in sorted(folder.rglob("*")):
        if path.name.startswith(".") and path.parent.name != "state":
            hidden.append(path.name)
        elif path.is_file() and path.parent.name != "state":
            files[str(path.relative_to(folder))] = path.read_bytes()
    return files, hidden


class Server:
    """A program that runs one command many times: see shim.c."""

    def __init__(self, program, shim, work, words, stdin, before):
        self.work, self.before = work, {name: (work / "in" / source).read_bytes() for name, source in before.items()}
        self.shared = work / "shared"
        self.shared.write_bytes(bytes(8192))
        read, self.to = os.pipe()
        self.told, write = os.pipe()
        for number, end in ((198, read), (199, write)):
            os.dup2(end, number)
            os.set_inheritable(number, True)
            os.close(end)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("IMGSTAT_")}
        variables = {**kept, "LC_ALL": "C.UTF-8", "LD_PRELOAD": str(shim), "FAULTS_SHARED": str(self.shared), "TMPDIR": str(work / "tmp"),
                     "FAULTS_IN": str(work / stdin) if stdin else "/dev/null", "FAULTS_OUT": str(work / "stdout"),
                     "FAULTS_ERR": str(work / "stderr"), "FAULTS_LOG": str(work / "log")}
        self.child = subprocess.Popen([program, *words], cwd=work, env=variables, pass_fds=(198, 199))
        os.close(198)
        os.close(199)

    def seconds(self):
        """Processor time of this script, and of the server and its runs."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(os.times()[:2]) + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        os.close(self.to)
        self.child.wait()
        os.close(self.told)

    def receive(self, limit):
        ready, _, _ = select.select([self.told], [], [], limit)
        data = os.read(self.told, 4) if ready else b""
        return struct.unpack("i", data)[0] if data else None

    def run(self, act=COUNT, call=0, at=0, on=0, value=0):
        out = self.work / "out"
        shutil.rmtree(out)
        out.mkdir()
        for name, data in self.before.items():
            (out / name).write_bytes(data)
        os.write(self.to, struct.pack("5i", act, call, at, on, value))
        pid = self.receive(LIMIT)
        status = self.receive(LIMIT)
        if status is None:
            os.killpg(pid, signal.SIGKILL)
            status = self.receive(None)
        words = struct.unpack(f"{3 + CALLS}q2i", self.shared.read_bytes()[:8 * (3 + CALLS) + 8])
        files, hidden = tree(out)
        hidden += os.listdir(self.work / "tmp")
        return Result(os.waitstatus_to_exitcode(status), (self.work / "stdout").read_bytes(), (self.work / "stderr").read_bytes(),
                      files, hidden, words[0], words[1], words[2], words[3:3 + CALLS], words[-2], words[-1])


# What libraries do when memory runs out, and what is done about it: docs/testing.md.
CRASHES = ("tar", "apply")  # libarchive, json-c
LOSES = (b"Registering anonymous field", b"no JSON text", b"is missing or of the wrong type",
         b": out of memory for a directory", b"No space for strip arrays", b"codec-specific tags failed",
         b"Unknown tag 317", b"libarchive: ", b"imgstat: out of memory")


def judge(plan, got, want, before, partial, crashes):
    """What is wrong with a run, or None."""
    act, how = plan
    if act in (ALLOCATE, CALL) and ERRNO.get(how.get("call"), [""])[0] not in ("lseek", "unlink") and (
            b"damaged PNG" in got.err or b"is damaged:" in got.err or b"Permission denied" in got.err):
        return "another cause is told"
    if act == KILL:
        if got.status not in (-signal.SIGKILL, want.status):
            return f"status {got.status}"
    elif got.status < 0 and not (crashes and act == ALLOCATE):
        return f"signal {-got.status}"
    if got.hidden and not (act == KILL and before):  # between the name that replaces and its renaming
        return f"left over: {got.hidden}"
    if got.status == want.status:
        if got.out != want.out:
            return "same status, other standard output"
        return None if got.files == want.files else f"same status, other files: {sorted(got.files)}"
    odd = [name for name, data in got.files.items() if data not in (want.files.get(name), before.get(name)) and
           not (partial and data.endswith(ENDS[name[-4:]]))]
    if odd or not set(before) <= set(got.files):
        return f"half an output: {odd or sorted(before)}"
    if act == KILL or got.status < 0:
        return None
    if got.status not in (1, 2):
        return f"status {got.status}"
    if any(line.startswith(b"out of memory") for line in got.err.splitlines()):
        return "no file is named"
    if not got.err and not (act == CALL and "write" in ERRNO[how["call"]][0] and how.get("on")):
        return "no sentence"
    if act == ALLOCATE and got.ended and got.live > want.live and not any(words in got.err for words in LOSES):
        return f"leak: {got.live - want.live} blocks more"
    if got.out.startswith(b"{") and b"standard output" not in got.err:
        for line in got.out.splitlines():
            try:
                json.loads(line)
            except ValueError:
                return "JSON that is none"
    return None


def go_on(program, work, words, want):
    """What is wrong with the next run of a command with --state, without a fault, or None."""
    done = subprocess.run([program, *words], cwd=work, capture_output=True, check=False)
    if done.returncode == 2:  # 1: inputs that failed are part of a shard that is done
        return f"the folder of --state is of no use any more; {done.stderr[-300:]!r}"
    return "the next run prints something else" if done.returncode == 0 and done.stdout != want.out else None


def plans(kinds, want, server):
    """All plans of a command, as arguments of Server.run."""
    if "memory" in kinds:
        for at in range(1, want.allocations + 1):
            yield ALLOCATE, {"at": at}
            yield ALLOCATE, {"at": at, "on": 1}
    counted = server.run(COUNT) if kinds & {"calls", "kill"} else None
    if "calls" in kinds:
        for call, n in enumerate(counted.called):
            for name in ERRNO[call][1].split() if n and call in ERRNO else ():
                for at in range(1, n + 1):
                    yield CALL, {"call": call, "at": at, "value": getattr(errno, name)}
                    if name not in ("EINTR", "EAGAIN") and call != 3:  # which last for ever nowhere
                        yield CALL, {"call": call, "at": at, "value": getattr(errno, name), "on": 1}
    if "short" in kinds:
        for value in (1, 7, 100):
            for at in (0, 2, 3):
                yield SHORT, {"at": at, "value": value}
    if "kill" in kinds:
        for at in range(1, counted.calls + 1):
            yield KILL, {"at": at}


def make_described(to):
    """TIFF files with texts: two channels in OME-XML, three planes of ImageJ in one directory, names of GDAL's bands."""
    rows = [[7 * x + 31 * y for x in range(24)] for y in range(9)]
    tags = "".join(f'<TiffData FirstC="{c}" IFD="{c}" PlaneCount="1"/>' for c in range(2))
    ome = ('<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
           '<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SizeX="24" SizeY="9" SizeC="2" SizeZ="1" SizeT="1">'
           f'<Channel ID="Channel:0:0" Name="DAPI"/><Channel ID="Channel:0:1" Name="GFP"/>{tags}</Pixels></Image></OME>')
    bands = ('<GDALMetadata><Item name="STATISTICS_MEAN" sample="0">1</Item>'
             '<Item name="DESCRIPTION" sample="0" role="description">near infrared</Item></GDALMetadata>')
    for name, tag, text in (("ome", 270, ome), ("stack", 270, "ImageJ=1.53t\nimages=3\nslices=3\n"), ("bands", 42112, bands)):
        pages = [tiff_tree.gray(rows, fields={tag: (tiff_tree.ASCII, text.encode() + b"\0")})]
        if name == "ome":
            pages.append(tiff_tree.gray(rows))
        if name == "stack":
            pages[0].behind = 2 * b"".join(pages[0].strips)
        (to / f"{name}.tif").write_bytes(tiff_tree.write(pages))


def make_inputs(program, work):
    for folder in ("in/many", "out", "tmp"):
        (work / folder).mkdir(parents=True)
    make_described(work / "in")
    for name, source in FILES.items():
        shutil.copyfile(TESTDATA / source, work / "in" / name)
    run = {"cwd": work, "check": True, "stderr": subprocess.DEVNULL}
    subprocess.run([program, *"equalize in/a.png -o in/done.png".split()], **run)
    (work / "in/cut").mkdir()
    (work / "in/cut/a.png").write_bytes((work / "in/done.png").read_bytes()[:300])
    for name in "ab":
        words = f"stats --by all in/{name}.png --save-record in/{name}.rec".split()
        subprocess.run([program, *words], stdout=subprocess.DEVNULL, **run)
    subprocess.run([program, *"equalize in/many/c.png -o out/c.png --save-transfer in/t.json".split()], **run)  # of 8 bits: short
    subprocess.run(["tar", "cf", "in/x.tar", "-C", "in/many", "."], **run)


def told(plan):
    act, how = plan
    if act == ALLOCATE:
        return f"allocation {how['at']}{' and later' if how.get('on') else ''}"
    if act == CALL:
        return f"{ERRNO[how['call']][0]} {how['at']}{' and later' if how.get('on') else ''}: {errno.errorcode[how['value']]}"
    return f"at most {how['value']} bytes, EINTR every {how['at']}" if act == SHORT else f"killed at call {how['at']}"


def campaign(name, arguments, seconds, counts):
    words, stdin, before = (COMMANDS[name] + [None, {}][len(COMMANDS[name]) - 1:])
    bad = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        work = Path(folder)
        make_inputs(arguments.imgstat, work)
        server = Server(arguments.imgstat, arguments.shim, work, words.split(), stdin, before)
        server.run(ALLOCATE)
        want = server.run(ALLOCATE)
        if want.status != 0:
            sys.exit(f"{name}: status {want.status} though nothing failed: {want.err.decode()}")
        todo = list(plans(arguments.kinds, want, server))
        if not arguments.full:
            random.shuffle(todo)
        end = server.seconds() + seconds
        for plan in todo:
            got = server.run(plan[0], **plan[1])
            counts["runs"] += 1
            counts["failed"] += got.failed > 0
            counts["carried on"] += got.failed > 0 and got.status == want.status
            why = judge(plan, got, want, server.before, name in PARTIAL, name in CRASHES)
            if why is None and "--state" in words:
                why = go_on(arguments.imgstat, work, words.split(), want)
            if why:
                bad.append(f"{name}: {told(plan)}: {why}; {got.err[-300:]!r}")
            if not arguments.full and server.seconds() > end:
                break
        server.close()
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("imgstat", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("shim", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", type=lambda text: set(text.split(",")), default={"memory", "calls", "short", "kill"})
    parser.add_argument("--seconds", type=float, default=40)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    print(f"seed {arguments.seed}", flush=True)
    chosen, bad, total = [name for name in COMMANDS if arguments.only in name], [], collections.Counter()
    for i, name in enumerate(chosen):
        counts = collections.Counter()
        share = arguments.seconds / len(chosen)
        found = campaign(name, arguments, share, counts)
        total += counts
        bad += found
        print(f"{name}: {counts['runs']} runs, in {counts['failed']} something failed, {counts['carried on']} of these carried on, "
              f"{len(found)} bad", flush=True)
        for sentence in found[:None if arguments.full else 10]:
            print("   ", sentence, flush=True)
    print(f"{total['runs']} runs of {len(chosen)} commands, {len(bad)} bad")
    sys.exit(1 if bad or total["runs"] == 0 else 0)


if __name__ == "__main__":
    main()
