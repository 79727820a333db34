# SPDX-License-Identifier: MIT
"""What the tests of the command line share: running the program, counting checks, small images."""

import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
checks, wrong, skipped = 0, [], []


def check(good, sentence):
    global checks
    checks += 1
    if not good:
        wrong.append(sentence)


def skip(sentence):
    skipped.append(sentence)


def environment():
    kept = {key: value for key, value in os.environ.items() if not key.startswith("IMGSTAT_")}
    return {**kept, "LC_ALL": "C.UTF-8"}


def run(program, *words, status=0, **more):
    done = subprocess.run([program, *map(str, words)], capture_output=True, timeout=120, check=False,
                          env=environment(), **more)
    check(done.returncode == status, f"{words}: exit status {done.returncode}, expected {status}: {done.stderr!r}")
    return done


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, samples, level=-1):
    """Gray; samples: the bytes of all of them, big-endian."""
    pitch = width * depth // 8
    raw = b"".join(b"\0" + samples[y * pitch:(y + 1) * pitch] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)) +
            png_chunk(b"IDAT", zlib.compress(raw, level)) + png_chunk(b"IEND", b""))


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
    sys.exit(1 if wrong or not checks else 0)
