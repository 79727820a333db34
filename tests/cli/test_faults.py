#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong while images are transformed: nothing is lost, nothing is half-written, and the
message is clear. usage: test_faults.py IMGSTAT"""

import contextlib
import ctypes
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import harness
from harness import LIMIT, TESTDATA, check, environment, fill, run, skip, wait_until

TRIES = 20  # of a program that may have ended before what was meant to happen in its midst


def png(width, height, seed=1):
    """Noise, which cannot be compressed."""
    return harness.png(width, height, 8, random.Random(seed).randbytes(width * height), 1)


def temporaries(folder):
    return [path.name for path in Path(folder).rglob(".*")]


# ---- The disk --------------------------------------------------------------------------------------


READ_ONLY, DETACHED = 1, 2  # MS_RDONLY, MNT_DETACH


def mount_tmpfs(folder, options, flags=0):
    mount = ctypes.CDLL(None, use_errno=True).mount
    return os.geteuid() == 0 and mount(b"tmpfs", str(folder).encode(), b"tmpfs", flags, options.encode()) == 0


def unmount(folder):
    check(ctypes.CDLL(None).umount2(str(folder).encode(), DETACHED) == 0, f"{folder} stays mounted")


def test_disk_full_of_shards(program, folder):
    """Where TMPDIR was full, shards were kept as done without their texts; outputs that found no room were failures for
    ever."""
    (folder / "in").mkdir()
    for i in range(4):
        (folder / f"in/{i}.png").write_bytes(png(60 + i, 60))
    words = ("normalize", "--state", "mapped", "--shards", "2", "in", "-o", "out")
    done = run(program, *words, cwd=folder, status=1,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
    check(done.stderr.count(b"File too large") == 4 and b"0 written, 4 failed" in done.stderr, f"{done.stderr!r}")
    done = run(program, *words, cwd=folder)
    check(done.stderr == b"4 written, 0 failed\n", f"with room: {done.stderr!r}")
    with open("/dev/full", "wb") as full:  # what is kept was said to be damaged
        words = [program, "stats", "--json", "--histogram", "--state", "whole", "--shards", "1", "in"]
        done = subprocess.run(words, cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False, env=environment())
        check(done.returncode == 1 and done.stderr == b"imgstat: standard output: No space left on device\n", f"{done}")
        words = [program, "normalize", "--verbose", "--state", "loud", "--shards", "2", "in", "-o", "loud-out"]
        done = subprocess.run(words, cwd=folder, stderr=full, check=False, env=environment())
        check(done.returncode == 0 and len(os.listdir(folder / "loud-out")) == 4, f"{done}")
    for words in (("stats", "--json", "--state", "lost", "--shards", "2", "in"), ("report", "in", "-o", "lost.html")):
        done = run(program, *words, cwd=folder, status=1, variables={"TMPDIR": "nowhere"})  # the folder of the state was named, or none
        check(done.stderr.endswith(b" in nowhere: No such file or directory\n"), f"{words}: {done.stderr!r}")
    small = folder / "small"
    small.mkdir()
    if not mount_tmpfs(small, "size=16k"):
        skip("TMPDIR is full: mounting is not allowed here")
        return
    try:
        with contextlib.suppress(OSError), open(small / "fill", "wb", buffering=0) as fill:
            while True:
                fill.write(bytes(4096))
        for words in (("stats", "--json"), ("stats",), ("hist", "--csv"), ("normalize", "--json", "-o", "more")):
            state = ("--state", f"{words[0]}{len(words)}", "--shards", "2")
            done = run(program, *words, *state, "in", cwd=folder, status=1, variables={"TMPDIR": str(small)})
            check(f"shard 1 cannot be kept in {small}: No space".encode() in done.stderr and not done.stdout, f"{words}: {done}")
            check(os.listdir(folder / state[1]) == ["set"], f"{words}: {os.listdir(folder / state[1])}")
            shutil.rmtree(folder / "more", ignore_errors=True)
            done = run(program, *words, *state, "in", cwd=folder)
            shutil.rmtree(folder / "more", ignore_errors=True)
            check(done.stdout == run(program, *words, "in", cwd=folder).stdout, f"{words}: with room: {done.stdout!r}")
    finally:
        unmount(small)


def test_disk_full(program, folder):
    """On a small file system where mounting is allowed; else by the limit on a file's size."""
    name = folder / "a.png"
    name.write_bytes(png(1500, 1500))
    small = folder / "small"
    small.mkdir()
    mounted = mount_tmpfs(small, "size=1m")
    try:
        if mounted:
            for suffix in ("png", "tif"):
                done = run(program, "equalize", name, "-o", small / f"a.{suffix}", status=1)
                check(b"No space left on device" in done.stderr, f"disk full: {done.stderr!r}")
                check(os.listdir(small) == [], f"nothing is left on it: {os.listdir(small)}")
        else:
            skip("disk full on a small file system: mounting is not allowed here")
    finally:
        if mounted:
            unmount(small)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))

    for suffix in ("png", "tif"):
        done = run(program, "equalize", name, "-o", small / f"a.{suffix}", status=1, preexec_fn=limit)
        check(b"File too large" in done.stderr and os.listdir(small) == [], f"{done.stderr!r} {os.listdir(small)}")
    done = run(program, "equalize", name, "-o", small / "a.png", status=1,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000)))
    check(b"File too large" in done.stderr and os.listdir(small) == [], "the signal of that limit ends nothing")
    old = small / "old.png"
    old.write_bytes(b"precious")
    run(program, "equalize", "--force", name, "-o", old, status=1, preexec_fn=limit)
    check(old.read_bytes() == b"precious" and os.listdir(small) == ["old.png"], "what is replaced stays on failure")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program, "equalize", name, "-o", "-"], stdout=full, stderr=subprocess.PIPE, check=False,
                              env=environment())
        check(done.returncode == 1 and b"No space left" in done.stderr, f"/dev/full: {done.stderr!r}")


def obey_modes():
    """Of a child that is root: it may no longer write, read or search where modes forbid it."""
    libc = ctypes.CDLL(None)
    version, capabilities = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(version, capabilities)
    capabilities[2] = capabilities[5] = 0  # none is inherited
    libc.capset(version, capabilities)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_unwritable(program, folder):
    name = folder / "a.png"
    name.write_bytes(png(50, 50))
    (folder / "file").write_bytes(b"")
    done = run(program, "equalize", name, "-o", folder / "file" / "out" / "a.png", status=1)
    check(b"cannot create the folder" in done.stderr, f"{done.stderr!r}")
    done = run(program, "equalize", name, "-o", folder / "missing-not" / "deep" / "a.png", status=0)
    check((folder / "missing-not" / "deep" / "a.png").exists(), "folders are made")
    done = run(program, "equalize", name, "-o", "/proc/nothing/a.png", status=1)
    check(b"cannot create" in done.stderr, f"{done.stderr!r}")
    locked = folder / "locked"
    locked.mkdir(mode=0o755)
    (locked / "old.png").write_bytes(b"precious")
    locked.chmod(0o555)
    more = {"preexec_fn": obey_modes} if os.geteuid() == 0 else {}
    if subprocess.run(["touch", locked / "a.png"], stderr=subprocess.DEVNULL, check=False, **more).returncode == 0:
        skip("a folder without write permission: modes forbid nothing here")
        return
    for words in (["a.png"], ["old.png", "--force"]):
        done = run(program, "equalize", name, "-o", locked / words[0], *words[1:], status=1, **more)
        check(b"Permission denied" in done.stderr, f"a folder without write permission: {done.stderr!r}")
    done = run(program, "equalize", name, "-o", locked / "deep" / "a.png", status=1, **more)
    check(b"locked/deep: cannot create the folder: Permission denied" in done.stderr, f"the cause: {done.stderr!r}")
    check(os.listdir(locked) == ["old.png"] and (locked / "old.png").read_bytes() == b"precious", "nothing changes in it")


def test_no_place_for_temporaries(program, folder):
    """It was not said where none could be created."""
    name, nowhere = folder / "a.png", folder / "nowhere"
    name.write_bytes(png(20, 20))
    want = f" in {nowhere}: No such file or directory\n".encode()
    done = run(program, "equalize", name, "-o", "-", status=1, variables={"TMPDIR": str(nowhere)})
    check(done.stderr.endswith(want) and done.stdout == b"", f"for standard output: {done.stderr!r}")
    with subprocess.Popen(["cat", name], stdout=subprocess.PIPE) as pipe:
        done = run(program, "stats", "-", status=1, variables={"TMPDIR": str(nowhere)}, stdin=pipe.stdout)
    check(done.stderr.endswith(want) and done.stdout == b"", f"for a pipe: {done.stderr!r}")


def test_folder_that_cannot_be_made(program, folder):
    """It ended everything, and images that belong elsewhere were not written."""
    for name in ("a.png", "s/deep/b.png", "t/c.png"):
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_bytes(png(20, 20))
    out = folder / "out"
    out.mkdir()
    (out / "s").write_bytes(b"precious")
    done = run(program, "normalize", "-r", folder / "in", "-o", out, status=1)
    check(done.stderr.endswith(b"2 written, 1 failed\n") and b"s/deep: cannot create the folder" in done.stderr,
          f"{done.stderr!r}")
    check((out / "t" / "c.png").exists() and (out / "s").read_bytes() == b"precious", "the others are written")
    done = run(program, "normalize", "-r", folder / "in", "-o", "/proc/nothing", status=1)
    check(done.stderr.count(b"\n") == 1, f"nothing can be written: {done.stderr!r}")


def test_unsearchable(program, folder):
    """What lies in folders that can be listed and not entered was left out without a word."""
    source = folder / "in"
    (source / "locked" / "sub").mkdir(parents=True)
    for name in ("a.png", "locked/b.png", "locked/sub/c.png"):
        (source / name).write_bytes(png(20, 20))
    (source / "locked").chmod(0o644)
    (source / "plate1").symlink_to("locked/sub")
    (source / "plate2").symlink_to("../gone")
    folder.chmod(0o777)
    more = {"preexec_fn": obey_modes} if os.geteuid() == 0 else {}
    try:
        if subprocess.run(["ls", source / "locked" / "sub"], capture_output=True, check=False, **more).returncode == 0:
            skip("a folder without search permission: modes forbid nothing here")
            return
        done = run(program, "normalize", "-r", source, "-o", folder / "out", status=1, **more)
        for name in ("locked/b.png", "locked/sub", "plate1"):
            check(f"{name}: Permission denied".encode() in done.stderr, f"{name}: {done.stderr!r}")
        check(b"plate2: warning: is a link that cannot be followed: No such file or directory\n" in done.stderr,
              f"{done.stderr!r}")
        check(done.stderr.endswith(b"1 written, 3 failed\n"), f"{done.stderr!r}")
    finally:
        (source / "locked").chmod(0o755)


def test_read_only(program, folder):
    name = folder / "a.png"
    name.write_bytes(png(50, 50))
    disk = folder / "disk"
    disk.mkdir()
    if not mount_tmpfs(disk, "", READ_ONLY):
        skip("a read-only file system: mounting is not allowed here")
        return
    try:
        for words in (["equalize", "-o"], ["hist", "--plot"]):
            done = run(program, words[0], name, words[1], disk / "a.png", status=1)
            check(b"Read-only file system" in done.stderr, f"{words}: {done.stderr!r}")
    finally:
        unmount(disk)


# ---- Inputs that change ----------------------------------------------------------------------------


def between_passes(program, folder, change):
    """Runs --together over files the last of which is a FIFO, so that the first pass waits in the
    midst; then changes a file that has been read, and lets it go on."""
    names = [folder / f"{i}.png" for i in range(6)]
    for i, name in enumerate(names):
        name.write_bytes(png(300, 300, i))
    fifo = folder / "z.png"
    os.mkfifo(fifo)
    with subprocess.Popen([program, "equalize", "--together", "--jobs", "1", *names, fifo, "-o", folder / "out"],
                          stderr=subprocess.PIPE, env=environment()) as child:
        with open(fifo, "wb") as writer:  # opens once the program has read all before it
            change(names[2])
            writer.write(png(10, 10))
        wait_until(child, lambda: outputs(folder / "out") >= 5)
        # The second pass opens the FIFO again.
        with open(fifo, "wb") as writer:
            writer.write(png(10, 10))
        said = child.communicate(timeout=LIMIT)[1]
        status = child.returncode
    written = sorted(path.name for path in (folder / "out").iterdir())
    check(status == 1 and said.startswith(str(names[2]).encode()), f"it is named: {status} {said!r}")
    check(b"6 written, 1 failed" in said, f"the others are written: {said!r}")
    check(written == ["0.png", "1.png", "3.png", "4.png", "5.png", "z.png"], f"{written}")


def test_vanishes(program, folder):
    between_passes(program, folder, lambda path: path.unlink())


def test_truncated(program, folder):
    between_passes(program, folder, lambda path: os.truncate(path, 40000))


def test_becomes_another(program, folder):
    between_passes(program, folder, lambda path: path.write_bytes((TESTDATA / "good-float32.tif").read_bytes()))


def test_truncated_midway(program, folder):
    """One image, read twice by bands, is cut while the second read goes on."""
    big, data = folder / "big.png", png(6000, 6000)
    for out in ("out.png", "out.tif"):
        words = ["equalize", "--memory", "32M", big, "-o", folder / out]
        big.write_bytes(data)
        run(program, *words)
        whole = (folder / out).read_bytes()
        for _ in range(TRIES):
            (folder / out).unlink(missing_ok=True)
            big.write_bytes(data)
            status, said = run_until(program, words, has_spool, lambda _: os.truncate(big, 9000000))
            if status != 0 or (folder / out).read_bytes() != whole:
                break
        check(status == 1 and said.startswith(str(big).encode()) and b"ends early" in said, f"{out}: {status} {said!r}")
        check(os.listdir(folder) == ["big.png"], f"{out}: nothing is left: {os.listdir(folder)}")


# ---- The process -----------------------------------------------------------------------------------


def run_until(program, words, reached, act):
    """Runs it, calls act(child) once reached(its number): exit status, standard error."""
    with subprocess.Popen([program, *words], stderr=subprocess.PIPE, env=environment()) as child:
        wait_until(child, lambda: reached(child.pid))
        act(child)
        said = child.communicate(timeout=LIMIT)[1]
    return child.returncode, said


def make_many(folder, n, side=700):
    (folder / "in").mkdir()
    data = [png(side, side, seed) for seed in range(4)]
    for i in range(n):
        (folder / "in" / f"{i:05}.png").write_bytes(data[i % 4])


def outputs(folder):
    """How many are complete."""
    return sum(not name.startswith(".") for name in os.listdir(folder)) if folder.exists() else 0


def end_in_the_midst(program, folder, out, number):
    """Sends a signal once five of 60 files are written: exit status, standard error."""
    for _ in range(TRIES):
        shutil.rmtree(out, ignore_errors=True)
        told = run_until(program, ["equalize", "--jobs", "2", folder / "in", "-o", out], lambda _: outputs(out) >= 5,
                         lambda child: child.send_signal(number))
        if outputs(out) < 60:
            break
    return told


def test_killed(program, folder):
    make_many(folder, 60)
    run(program, "equalize", folder / "in", "-o", folder / "whole", status=0)
    out = folder / "out"
    status, said = end_in_the_midst(program, folder, out, signal.SIGKILL)
    check(status == -signal.SIGKILL, f"status {status}: {said!r}")
    names = [name for name in os.listdir(out) if not name.startswith(".")]
    check(5 <= len(names) < 60, f"killed in the midst: {len(names)}")
    for name in names:
        check((out / name).read_bytes() == (folder / "whole" / name).read_bytes(), f"{name} is whole")
    (out / ".00059.png.Xy12ab").write_bytes(b"left over")  # whether or not the kill left one
    done = run(program, "equalize", "--skip-existing", folder / "in", "-o", out, status=0)
    check(f"{60 - len(names)} written, 0 failed, {len(names)} skipped".encode() in done.stderr, f"{done.stderr!r}")
    for path in (folder / "whole").iterdir():
        check((out / path.name).read_bytes() == path.read_bytes(), f"{path.name} after resuming")
    done = run(program, "normalize", out, "-o", folder / "again", status=0)
    check(done.stderr == b"60 written, 0 failed\n", f"left-over temporary files are no inputs: {done.stderr!r}")


def test_cut_outputs_that_cannot_be_made_anew(program, folder):
    """They were "skipped", with status 0."""
    (folder / "in").mkdir()
    out = folder / "out"
    for name in ("a.png", "b.png"):
        (folder / "in" / name).write_bytes(png(300, 300))
    run(program, "equalize", folder / "in", "-o", out)
    (out / "a.png").write_bytes((out / "a.png").read_bytes()[:500])
    for words in ([], ["--state", folder / "state", "--shards", "1"]):
        done = run(program, "equalize", "--skip-existing", *words, folder / "in", "-o", out, status=1,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
        check(b"a.png: cannot write: File too large\n0 written, 1 failed, 1 skipped\n" in done.stderr, f"{done.stderr!r}")
        check((out / "a.png").stat().st_size == 500, "what was there stays")
    done = run(program, "equalize", "--state", folder / "state", "--shards", "1", folder / "in", "-o", out)
    check((out / "a.png").read_bytes() == (out / "b.png").read_bytes(), f"with room: {done.stderr!r}")


def test_outputs_that_are_cut(program, folder):
    """After a power cut outputs were empty, and --skip-existing took them for done."""
    (folder / "in").mkdir()
    for name in ("a.png", "b.png", "c.png", "d.png", "e.png"):
        (folder / "in" / name).write_bytes(png(60, 60))
    words = ["equalize", folder / "in", "-o", folder / "out"]
    for more in ([], ["--format", "tiff"]):
        shutil.rmtree(folder / "out", ignore_errors=True)
        run(program, *words, *more)
        paths = sorted((folder / "out").iterdir())
        whole = [path.read_bytes() for path in paths]
        paths[0].write_bytes(b"")
        paths[1].write_bytes(bytes(len(whole[1])))
        os.truncate(paths[2], len(whole[2]) // 2)
        paths[3].write_bytes(b"no image, but somebody's")
        done = run(program, *words, *more, "--skip-existing")
        check(done.stderr == b"3 written, 0 failed, 2 skipped\n", f"{more}: {done.stderr!r}")
        check([path.read_bytes() for path in paths] == [*whole[:3], b"no image, but somebody's", whole[4]], f"{more}")


def test_interrupted(program, folder):
    make_many(folder, 60)
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        out = folder / f"out{status}"
        got, said = end_in_the_midst(program, folder, out, number)
        check(got == status, f"status {got}, expected {status}")
        names = os.listdir(out)
        check(f"interrupted: {len(names)} written, 0 failed, {60 - len(names)} not done" in said.decode(), f"{said!r}")
        check(temporaries(out) == [] and 5 <= len(names) < 60, f"no temporary file is left: {len(names)}")
    # A large image is interrupted in its midst.
    big = folder / "big-out.png"
    (folder / "big.png").write_bytes(png(6000, 6000))
    for _ in range(TRIES):
        big.unlink(missing_ok=True)
        status, said = run_until(program, ["equalize", folder / "big.png", "-o", big], has_spool,
                                 lambda child: child.send_signal(signal.SIGINT))
        if status != 0 and b"1 written" not in said:
            break
    check(status == 130 and b"interrupted: 0 written" in said, f"it says so: {status} {said!r}")
    check(temporaries(folder) == [] and not big.exists(), "nothing is left of it")


@contextlib.contextmanager
def hangup(action):
    """Programs started within inherit it, whatever these tests were started with."""
    before = signal.signal(signal.SIGHUP, action)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def has_spool(pid):
    """Whether it has opened a file without a name, as it does for pipes and outputs when all has begun. (ThreadSanitizer has
    one, too, for a moment at the start.)"""
    folder = Path(f"/proc/{pid}/fd")
    try:
        names = [os.readlink(folder / fd) for fd in os.listdir(folder)]
        return any(name.endswith("(deleted)") and "tsan." not in name for name in names)
    except OSError:
        return False


def interrupt(program, words, number, ready=has_spool, **more):
    """Interrupts once what waits for a pipe; its status and last words."""
    with subprocess.Popen([program, *map(str, words)], stderr=subprocess.PIPE, env=environment(), **more) as child:
        try:
            wait_until(child, lambda: ready(child.pid))
            time.sleep(0.3)  # then it does wait, or will be interrupted before
            child.send_signal(number)
            child.wait(60)
        except subprocess.TimeoutExpired:
            pass
        finally:
            child.kill()
        return child.wait(), child.stderr.read()


def test_interrupted_waiting(program, folder):
    """A pipe that gives nothing, or takes nothing, does not keep the program from being interrupted: it waited on until
    a second signal came."""
    name, fifo = folder / "a.png", folder / "fifo"
    name.write_bytes(png(1000, 1000))
    os.mkfifo(fifo)
    said = b"interrupted: 0 written, 0 failed, 1 not done\n"
    with hangup(signal.SIG_DFL):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            reader, writer = os.pipe()
            for start in (b"", name.read_bytes()[:1000]):
                os.write(writer, start)
                got = interrupt(program, ["equalize", "-", "-o", folder / "out.png"], number, stdin=reader)
                check(got == (128 + number, said), f"reading a pipe, {number}: {got}")
            fill(writer)
            got = interrupt(program, ["equalize", name, "-o", "-"], number, stdout=writer)
            check(got == (128 + number, said), f"writing to a pipe, {number}: {got}")
            os.close(reader)
            os.close(writer)
    got = interrupt(program, ["equalize", name, "-o", fifo], signal.SIGTERM)
    check(got == (143, said), f"a FIFO that nobody reads: {got}")
    got = interrupt(program, ["equalize", fifo, "-o", folder / "out.png"], signal.SIGTERM, ready=lambda _: True)
    check(got in ((143, said), (143, b"")), f"a FIFO that nobody writes to: {got}")
    check(sorted(os.listdir(folder)) == ["a.png", "fifo"], f"{os.listdir(folder)}")


def test_hangup(program, folder):
    """The terminal is closed: temporary files stayed. nohup keeps the program running."""
    make_many(folder, 60)
    out = folder / "out"
    with hangup(signal.SIG_DFL):
        status, said = end_in_the_midst(program, folder, out, signal.SIGHUP)
    check(status == 129 and b"interrupted: " in said, f"{status}: {said!r}")
    check(temporaries(out) == [] and outputs(out) < 60, f"{temporaries(out)}, {outputs(out)}")
    shutil.rmtree(out)
    with hangup(signal.SIG_IGN):
        status, said = run_until(program, ["equalize", folder / "in", "-o", out], lambda _: outputs(out) >= 5,
                                 lambda child: child.send_signal(signal.SIGHUP))
    check((status, outputs(out)) == (0, 60), f"ignored: {status}, {outputs(out)} files, {said!r}")


def test_nobody_reads(program, folder):
    """What is said goes to a pipe that was closed: that ended the program in the midst, a temporary file was left. With --json
    results are lost, and all files are written nevertheless: there was one."""
    make_many(folder, 60, 20)
    reader, writer = os.pipe()
    os.close(reader)
    for option, status in (("--verbose", 0), ("--json", 1)):
        out = folder / option
        done = subprocess.run([program, "equalize", option, folder / "in", "-o", out], stderr=writer, stdout=writer,
                              check=False, env=environment(), timeout=LIMIT)
        check(done.returncode == status and len(os.listdir(out)) == 60, f"{done}: {len(os.listdir(out))}")
    (folder / "in" / "bad.png").write_bytes(b"no image")  # a sentence ended report, without its page
    for words in ((), ("--json",)):
        page = folder / "page.html"
        done = subprocess.run([program, "report", *words, folder / "in", "-o", page], stderr=writer, stdout=writer,
                              check=False, env=environment(), timeout=LIMIT)
        check(done.returncode == 1 and page.read_bytes().endswith(b"</html>\n"), f"{done}")
        page.unlink()
    record = folder / "all.rec"  # it was not saved
    done = subprocess.run([program, "stats", "--by", "all", "--save-record", record, folder / "in"], stderr=writer,
                          stdout=writer, check=False, env=environment(), timeout=LIMIT)
    check(done.returncode == 1 and record.exists(), f"{done}")
    os.close(writer)


def test_few_descriptors(program, folder):
    n = 2000
    (folder / "in").mkdir()
    data = png(8, 8)
    for i in range(n):
        (folder / "in" / f"{i}.png").write_bytes(data)

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = run(program, "equalize", "--jobs", "64", folder / "in", "-o", folder / "out", status=0, preexec_fn=limit)
    check(done.stderr == b"%d written, 0 failed\n" % n, f"{n} files with 64 descriptors: {done.stderr[-300:]!r}")
    check(len(os.listdir(folder / "out")) == n, "all of them are there")


# Prints the peak memory of a command, in KiB. From a small process: a command starts with the peak of its parent.
PEAK = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)"""


def giant_tiff(name, width, height):
    """One strip of zeros, of which the disk holds nothing."""
    head = struct.pack("<2sHI", b"II", 42, 8) + struct.pack("<H", 8) + b"".join(
        struct.pack("<HHII", tag, 4, 1, value) for tag, value in
        ((256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, 128), (278, height), (279, width * height)))
    with open(name, "wb") as giant:
        giant.write(head + b"\0\0\0\0")
        giant.truncate(128 + width * height)


def is_sanitized(program):
    return any(word in Path(program).read_bytes() for word in (b"__asan_init", b"__tsan_init"))


def test_memory(program, folder):
    """Peak memory does not grow with the number of files or their size."""
    if is_sanitized(program):
        return skip("peak memory: the sanitizer takes more than imgstat")
    make_many(folder, 12, 2000)
    peaks = []
    large = [folder / "large1.png", folder / "large2.png"]
    for name in large:  # an encoder that held all rows and what they become would need 100 MB
        name.write_bytes(png(5000, 5000))
    for words in ([folder / "in"], large):
        done = subprocess.run([sys.executable, "-c", PEAK, program, "equalize", "--memory", "64M", "--jobs", "2",
                               "--device", "cpu", *words, "-o", folder / f"out{len(words)}"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=environment(), check=False)
        check(done.returncode == 0, f"{done.returncode}")
        peaks.append(int(done.stdout) >> 10)
    # Statistics of a file of 1 GB.
    giant_tiff(folder / "giant.tif", 40000, 25000)
    done = subprocess.run([sys.executable, "-c", PEAK, program, "--quiet", "--device", "cpu", folder / "giant.tif"],
                          stdout=subprocess.PIPE, env=environment(), check=False)
    check(done.returncode == 0 and b"gray       0    0     0" in done.stdout, f"{done}")
    peaks.append(int(done.stdout.splitlines()[-1]) >> 10)
    check(max(peaks[:2]) <= 96 and peaks[2] <= 64, f"MiB at most: {peaks}")
    done = run(program, "equalize", "--memory", "32M", "--clahe", "--grid", "1000,1000", folder / "in" / "00000.png",
               "-o", folder / "x.png", status=1)
    check(b"needs about" in done.stderr, f"{done.stderr!r}")


def test_memory_of_a_strip(program, folder):
    """A compressed strip was held whole, several times, whatever --memory said: 122 MiB here."""
    if is_sanitized(program):
        return skip("peak memory of a strip: the sanitizer takes more than imgstat")
    side, name, out = 6000, folder / "strip.tif", folder / "out.tif"
    pixels = random.Random(1).randbytes(side * side)
    data = zlib.compress(pixels, 1)
    name.write_bytes(harness.tiff_file(data, [
        (256, 4, [side]), (257, 4, [side]), (258, 3, [8]), (259, 3, [8]), (262, 3, [1]), (273, 4, [8]), (277, 3, [1]),
        (278, 4, [side]), (279, 4, [len(data)])]))
    done = subprocess.run([sys.executable, "-c", PEAK, program, "normalize", "--memory", "64M", "--jobs", "2",
                           "--device", "cpu", name, "-o", out], stdout=subprocess.PIPE, env=environment(), check=False)
    check(done.returncode == 0, f"{done}")
    check(int(done.stdout) >> 10 < 64, f"MiB: {int(done.stdout) >> 10}")
    told = [run(program, "stats", "--json", path).stdout.partition(b'"page"')[2] for path in (name, out)]
    check(told[0] == told[1], f"full range already, so nothing changes: {told}")


def test_least_memory(program, folder):
    """The least memory takes floats of any size, in bands."""
    name, n = folder / "floats.tif", 1500 * 1000
    name.write_bytes(harness.tiff("f32", 1500, 1000, [i % 70001 / 7 for i in range(n)]))
    for words in (["equalize"], ["normalize", "--clip", "1,1"]):
        for memory in ("32M", "1G"):
            run(program, *words, "--force", "--memory", memory, name, "-o", folder / f"{memory}.tif")
        check((folder / "32M.tif").read_bytes() == (folder / "1G.tif").read_bytes(), f"{words}: by bands")


def test_no_memory(program, folder):
    """A page that would be kept does not fit. The sentence did not say of which file."""
    name, small = folder / "large.tif", folder / "small.tif"
    giant_tiff(name, 16000, 8000)
    giant_tiff(small, 100, 100)
    if is_sanitized(program):
        skip("too little memory: the sanitizer takes more than there would be")
        return
    limit = 110 << 20
    done = run(program, "normalize", "--jobs", "1", "--device", "cpu", name, small, "-o", folder / "out", status=1,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    check(done.stderr.startswith(f"{name}: out of memory for ".encode()), f"{done.stderr!r}")
    check(os.listdir(folder / "out") == ["small.tif"], f"{os.listdir(folder / 'out')}")


if __name__ == "__main__":
    harness.main(globals())
