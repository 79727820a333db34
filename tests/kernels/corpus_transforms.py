#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Normalizes and equalizes testdata/ and the corpus on both devices: the files written must be the same bytes.

usage: corpus_transforms.py IMGSTAT [WORD...]     only ways whose name contains one of the words

The corpus is $IMGSTAT_CORPUS; without it testdata alone is compared. Without a GPU: exit status 77, or 1 if
IMGSTAT_REQUIRE_CUDA=1.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent.parent / "testdata"
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or HERE.parent.parent.parent / "shared" / "corpus")
WAYS = {
    "equalize": ["equalize"],
    "equalize joint": ["equalize", "--channels=joint"],
    "clahe": ["equalize", "--clahe"],
    "clahe each": ["equalize", "--clahe", "--channels=each", "--grid=5,7", "--clip-limit=0.03", "--depth=16"],
    "clahe opencv": ["equalize", "--clahe", "--like=opencv"],
    "clahe skimage": ["equalize", "--clahe", "--like=skimage"],
    "stretch": ["normalize"],
    "percentile": ["normalize", "--method=percentile", "--clip=1,2", "--depth=8"],
    "meanstd luma": ["normalize", "--method=meanstd=0.5,0.2", "--channels=luma", "--depth=float"],
}
WHOLE = ["--force", "-r"]


def environment():
    return {key: value for key, value in os.environ.items() if key not in ("IMGSTAT_DEVICE", "IMGSTAT_JOBS")}


def run(program, device, way, folder, out):
    """Exit status, what was said of each file, and the bytes of every output by its path."""
    began = time.monotonic()
    command, *arguments = WAYS[way]
    done = subprocess.run([program, command, *arguments, *WHOLE, "--device", device, ".", "-o", out], cwd=folder,
                          env=environment(), capture_output=True, timeout=900, check=False)
    said = [line.replace(str(out).encode(), b"OUT") for line in done.stderr.splitlines()]
    return done.returncode, sorted(said), outputs(out), time.monotonic() - began


def outputs(folder):
    return {str(path.relative_to(folder)): path for path in Path(folder).rglob("*") if path.is_file()}


def compare(cpu, cuda, what):
    """How many files differ, or are of one device alone; the first few are shown."""
    wrong = []
    for name in sorted(cpu.keys() | cuda.keys()):
        if name not in cpu or name not in cuda:
            wrong.append(f"{name}: only of {'cpu' if name in cpu else 'cuda'}")
        elif cpu[name].read_bytes() != cuda[name].read_bytes():
            wrong.append(f"{name}: other bytes")
    for sentence in wrong[:5]:
        print(f"{what}: {sentence}")
    return len(wrong)


def compare_way(program, way, folder):
    with tempfile.TemporaryDirectory() as scratch:
        cpu, cuda = (run(program, device, way, folder, Path(scratch) / device) for device in ("cpu", "cuda"))
        failures = compare(cpu[2], cuda[2], f"{folder.name}, {way}")
        if cuda[0] not in (0, 1) or cpu[0] != cuda[0]:
            failures += 1
            print(f"{folder.name}, {way}: exit status {cpu[0]} on cpu, {cuda[0]} on cuda")
        summary = lambda lines: [line for line in lines if b" written" not in line]  # which has the seconds
        if summary(cpu[1]) != summary(cuda[1]):
            failures += 1
            there, here = next(pair for pair in zip(summary(cpu[1]) + [b""], summary(cuda[1]) + [b""])
                               if pair[0] != pair[1])
            print(f"{folder.name}, {way}: said\n  cpu:  {there.decode(errors='replace')}\n"
                  f"  cuda: {here.decode(errors='replace')}")
        print(f"{folder.name}, {way}: {len(cpu[2])} files, {failures} failures; cpu {cpu[3]:.1f} s, "
              f"cuda {cuda[3]:.1f} s", flush=True)
        return len(cpu[2]), failures


def check_comparison():
    """A planted difference is seen, and a missing file."""
    with tempfile.TemporaryDirectory() as scratch:
        one, other = Path(scratch) / "one", Path(scratch) / "other"
        for folder, content in ((one, b"same"), (other, b"sane")):
            folder.mkdir()
            (folder / "planted, to be seen").write_bytes(content)
        (one / "planted, to be missed").write_bytes(b"")
        assert compare(outputs(one), outputs(other), "self-test") == 2


def main():
    program = Path(sys.argv[1]).resolve()
    listed = subprocess.run([program, "devices"], capture_output=True, check=True).stdout.decode()
    if "cuda:0" not in listed:
        print(f"no CUDA device:\n{listed}")
        sys.exit(1 if os.environ.get("IMGSTAT_REQUIRE_CUDA") == "1" else 77)
    check_comparison()
    compared = failures = 0
    for folder in (TESTDATA, CORPUS):
        for way in WAYS if folder.is_dir() else ():
            if len(sys.argv) < 3 or any(word in way for word in sys.argv[2:]):
                counts = compare_way(program, way, folder)
                compared, failures = compared + counts[0], failures + counts[1]
    print(f"{compared} files compared, {failures} failures")
    sys.exit(1 if failures or not compared else 0)


if __name__ == "__main__":
    main()
