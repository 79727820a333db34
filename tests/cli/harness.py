# SPDX-License-Identifier: MIT
"""What the tests of the command line share: running the program, counting checks, small images."""

import contextlib
import importlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
LIMIT = 600  # seconds: it only ends what hangs
checks, wrong, skipped = 0, [], []


def check(good, sentence):
    global checks
    checks += 1
    if not good:
        wrong.append(sentence)


def is_run(i, every):
    """As is_run() of support.h: one in `every` of many alike cases with IMGSTAT_TEST_SMALL=1, another one with 2, else all."""
    part = os.environ.get("IMGSTAT_TEST_SMALL")
    return part is None or i % every == (part == "2")


def all_run():
    return "IMGSTAT_TEST_SMALL" not in os.environ


def skip(sentence):
    skipped.append(sentence)


def modules(*names):
    """Python modules that the project does not need otherwise. Where this Python lacks one, the script starts once more,
    with a Python that has all: IMGSTAT_PYTHON, or the system's. A None for each, said aloud: there is no such Python."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError:
        pass
    search = "import importlib.util as i, sys; sys.exit(not all(i.find_spec(name) for name in sys.argv[1:]))"
    pythons = [] if "IMGSTAT_STARTED_AGAIN" in os.environ else [os.environ.get("IMGSTAT_PYTHON"), "/usr/bin/python3"]
    for python in pythons:
        if python and shutil.which(python) and \
                subprocess.run([python, "-c", search, *names], capture_output=True, check=False).returncode == 0:
            os.environ["IMGSTAT_STARTED_AGAIN"] = "1"
            os.execvp(python, [python, *sys.argv])
    skip(f"no Python has {' and '.join(names)}")
    return [None] * len(names)


def has(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        skip(f"{', '.join(missing)} is not installed")
    return not missing


def environment():
    """The same everywhere, whatever is set around the tests, but for the decoders that are forced."""
    changing = ("POSIXLY_CORRECT", "LANGUAGE")
    kept = {key: value for key, value in os.environ.items()
            if key == "IMGSTAT_DECODE" or not key.startswith("IMGSTAT_") and key not in changing}
    return {**kept, "LC_ALL": "C.UTF-8"}


def run(program, *words, status=0, variables=None, stdin=subprocess.DEVNULL, **more):
    done = subprocess.run([program, *map(str, words)], capture_output=True, timeout=LIMIT, check=False,
                          env={**environment(), **(variables or {})}, stdin=stdin, **more)
    check(status in (None, done.returncode), f"{words}: exit status {done.returncode}, expected {status}: {done.stderr!r}")
    return done


def wait_until(child, reached):
    """Until reached(), or until the program has ended before that."""
    deadline = time.monotonic() + LIMIT
    while child.poll() is None and not reached():
        assert time.monotonic() < deadline, f"still waiting: {child.args}"
        time.sleep(0.001)


def fill(pipe):
    """Until nothing more can be written without waiting."""
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(4096))
    os.set_blocking(pipe, True)


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# Where the passes of an interlaced PNG begin, and how far apart their pixels are.
PNG_PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(width, height, depth, samples, level=-1):
    """Gray; samples: the bytes of all of them, big-endian."""
    pitch = width * depth // 8
    raw = b"".join(b"\0" + samples[y * pitch:(y + 1) * pitch] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)) +
            png_chunk(b"IDAT", zlib.compress(raw, level)) + png_chunk(b"IEND", b""))


# struct's letter, TIFF's SampleFormat
SAMPLES = {"u8": ("B", 1), "i8": ("b", 2), "u16": ("H", 1), "i16": ("h", 2), "u32": ("I", 1), "i32": ("i", 2),
           "u64": ("Q", 1), "i64": ("q", 2), "f16": ("e", 3), "f32": ("f", 3), "f64": ("d", 3)}


def tiff_file(body, tags):
    """Little-endian, body from byte 8 on; tags: number, type (2: ASCII, 3: SHORT, 4: LONG) and values."""
    entries, extra, at = b"", b"", 8 + len(body) + len(body) % 2
    behind = at + 2 + 12 * len(tags) + 4
    for tag, kind, values in sorted(tags):
        data = struct.pack(f"<{len(values)}{ {2: 'B', 3: 'H', 4: 'I'}[kind]}", *values)
        place = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", behind + len(extra))
        extra += b"" if len(data) <= 4 else data + b"\0" * (len(data) % 2)
        entries += struct.pack("<HHI", tag, kind, len(values)) + place
    return (struct.pack("<2sHI", b"II", 42, at) + body + b"\0" * (len(body) % 2) + struct.pack("<H", len(tags)) +
            entries + b"\0\0\0\0" + extra)


def tiff(sample, width, height, values, channels=1):
    """Uncompressed, one strip; from the third channel on RGB, what is beyond it alpha."""
    letter, kind = SAMPLES[sample]
    data = struct.pack(f"<{len(values)}{letter}", *values)
    colours = 3 if channels > 2 else 1
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8 * struct.calcsize(letter)] * channels), (259, 3, [1]),
            (262, 3, [2 if colours == 3 else 1]), (273, 4, [8]), (277, 3, [channels]), (278, 4, [height]),
            (279, 4, [len(data)]), (338, 3, [2] * (channels - colours)), (339, 3, [kind] * channels)]
    return tiff_file(data, [tag for tag in tags if tag[2]])


def main(names):
    """Runs every test_* of `names`, or those the command line asks for, each with a folder of its own."""
    program = str(Path(sys.argv[1]).resolve())
    tests = [value for name, value in sorted(names.items()) if name.startswith("test_")
             and (len(sys.argv) < 3 or name in sys.argv[2:])]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(program, Path(folder))
    print("\n".join(wrong + [f"skipped: {sentence}" for sentence in skipped]))
    print(f"{len(tests)} tests, {checks} checks, {len(wrong)} wrong")
    sys.exit(1 if wrong or not checks + len(skipped) else 0 if checks else 77)
