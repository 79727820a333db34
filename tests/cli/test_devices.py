#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which device is chosen, what is said of it, and what becomes of one that is not there.

usage: test_devices.py IMGSTAT. Much is tested only where there is a GPU, or only where there is none.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import harness
from harness import LIMIT

PHOTO = Path(__file__).resolve().parent.parent.parent / "testdata" / "photo.tif"
checks, wrong = 0, []


def check(good, sentence):
    global checks
    checks += 1
    if not good:
        wrong.append(sentence)


def run(program, *arguments, text=True, **environment):
    return subprocess.run([program, *arguments], env={**harness.environment(), **environment}, capture_output=True,
                          text=text, encoding="utf-8" if text else None, check=False, timeout=LIMIT)


def sparse(path, side, bits=32, sample_format=3):
    """A TIFF (of floats) whose strips are all absent: zeros, of any size, in a small file."""
    tags = [(256, 4, [side]), (257, 4, [side]), (258, 3, [bits]), (259, 3, [1]), (262, 3, [1]), (273, 4, [0] * side),
            (277, 3, [1]), (278, 4, [1]), (279, 4, [0] * side), (339, 3, [sample_format])]
    entries, extra, ends = b"", b"", 8 + 2 + 12 * len(tags) + 4
    for tag, form, values in tags:
        packed = struct.pack("<%d%s" % (len(values), {3: "H", 4: "I"}[form]), *values)
        where = struct.pack("<I", ends + len(extra))
        entries += struct.pack("<HHI", tag, form, len(values)) + (packed.ljust(4, b"\0") if len(packed) <= 4 else where)
        extra += packed if len(packed) > 4 else b""
    path.write_bytes(struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + entries + bytes(4) + extra)


def without_device(text):
    return re.sub(r'"device": ?"[^"]*"', "", text)


def test_listing(program):
    done = run(program, "devices")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    check(done.returncode == 0 and names[0] == "cpu", "devices lists the CPU first")
    gpus = [name for name in names if re.fullmatch(r"cuda:\d+", name)]
    check(gpus or re.search(r"^cuda +absent: \w+", done.stdout, re.M), "devices says why there is no GPU")
    check(not (gpus and "absent" in done.stdout), "a GPU is there or absent")
    return len(gpus)


def test_named(program, gpus):
    done = run(program, "--json", "--device", "cuda", PHOTO)
    if gpus:
        check(done.returncode == 0 and json.loads(done.stdout)["device"] == "cuda:0", "cuda is cuda:0")
    else:
        check(done.returncode == 1 and done.stdout == "", "a named device that is absent is an error")
        check(len(done.stderr.splitlines()) == 1, f"told in one sentence: {done.stderr}")
    done = run(program, "--device", f"cuda:{gpus}", PHOTO)
    check(done.returncode == 1 and done.stdout == "", "so is an index out of range")
    if gpus:
        check(f"there {'is' if gpus == 1 else 'are'} {gpus} CUDA device" in done.stderr, f"with the count: {done.stderr}")
    done = run(program, "--device", "cuda:1000", PHOTO)
    check(done.returncode == 1 and done.stdout == "", "and one that no machine has")
    # Those that begin with "cuda:" were told from wrong usage no more than a device that is absent.
    for name in ("abacus", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "cuda:1 ", "cpu:0", "CPU", ""):
        done = run(program, "--device", name, PHOTO)
        check(done.returncode == 2 and done.stdout == "" and "valid names are cpu" in done.stderr,
              f"no name of a device: {name!r}: {done.returncode} {done.stderr}")


def test_old_driver(program):
    """A driver older than the build is an error in one sentence, with both versions."""
    stand_in = os.environ.get("IMGSTAT_STAND_IN_DRIVER", "")
    there = {"LD_LIBRARY_PATH": ":".join(filter(None, [stand_in, os.environ.get("LD_LIBRARY_PATH")]))}
    listed = run(program, "devices", **there).stdout
    if not stand_in or re.search("^cuda +absent: .*was not found", listed, re.M):
        return
    old = r"the NVIDIA driver is too old: it supports CUDA 11\.4, and this build needs \d+\.\d+"
    check(re.search(rf"^cuda +absent: .*{old}$", listed, re.M), f"a driver that is too old: {listed}")
    done = run(program, "--device", "cuda", PHOTO, **there)
    check(done.returncode == 1 and done.stdout == "" and re.fullmatch(rf"[^\n]*{old}\n", done.stderr),
          f"one that is named: {done.stderr}")


def test_auto(program):
    auto, cpu = (run(program, "--json", "--verbose", "--device", name, PHOTO) for name in ("auto", "cpu"))
    check(auto.returncode == 0 and auto.stdout == cpu.stdout, "auto takes the CPU for one photo")
    check(cpu.stderr.startswith("imgstat stats: device cpu: asked for\n"), "a device named is said to be")
    check(re.match(r"imgstat stats: device cpu: (no NVIDIA driver is loaded|this build knows no other|(beyond decoding and "
                   r"encoding, )?1 page should take \S+ s on cpu with \d+ threads?, \S+ s on cuda)\n", auto.stderr),
          f"why: {auto.stderr}")
    for name in ("auto", "cpu"):
        done = run(program, "--device", name, PHOTO, LD_DEBUG="libs")
        check("libpng" in done.stderr and "libcuda" not in done.stderr, f"--device {name} does not look for libcuda")


def written(path):
    """The bytes of a file that is not needed any more."""
    data = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    return data


def transform(program, device, out, *arguments, **environment):
    done = run(program, *arguments, "--verbose", "--device", device, "-o", out, **environment)
    return done, written(out)


def test_transforms(program, gpus):
    """Files are those of the CPU, whoever maps; a GPU that was chosen and fails is no error."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "zeros.tif", Path(folder) / "out.tif"
        for command in "normalize", "equalize":
            (auto, a), (cpu, b) = (transform(program, name, out, command, PHOTO) for name in ("auto", "cpu"))
            check(auto.returncode == 0 and a and a == b, f"auto writes the bytes of the CPU: {auto.stderr}")
            check(cpu.stderr.startswith(f"imgstat {command}: device cpu: asked for\n"), "a device named is said to be")
            check(re.match(rf"imgstat {command}: device cpu: (no NVIDIA driver is loaded|this build knows no other|"
                           r"(beyond decoding and encoding, )?1 page should take \S+ s on cpu with \d+ threads?, "
                           r"\S+ s on cuda)\n", auto.stderr),
                  f"why: {auto.stderr}")
        done, _ = transform(program, "auto", out, "equalize", PHOTO, LD_DEBUG="libs")
        check("libpng" in done.stderr and "libcuda" not in done.stderr, "auto does not look for libcuda")
        if not gpus:
            done, data = transform(program, "cuda", out, "equalize", PHOTO)
            check(done.returncode == 1 and data is None, "a named device that is absent is an error")
            return
        sparse(path, 8000)  # all of its samples are sorted
        words = ["equalize", "--jobs", "1", path]
        cpu, expected = transform(program, "cpu", out, *words)
        check(cpu.returncode == 0 and expected, f"zeros: {cpu.stderr}")
        auto, data = transform(program, "auto", out, *words)
        check("imgstat equalize: device cuda: " in auto.stderr, f"auto takes the GPU for much work: {auto.stderr}")
        check(auto.returncode == 0 and data == expected, "and writes the same bytes")
        hidden, data = transform(program, "auto", out, *words, CUDA_VISIBLE_DEVICES="")
        check(hidden.returncode == 0 and data == expected, "a chosen GPU that fails is no error")
        check(hidden.stderr.count("; the CPU takes over\n") == 1, f"but told: {hidden.stderr}")
        hidden, data = transform(program, "cuda", out, *words, CUDA_VISIBLE_DEVICES="")
        check(hidden.returncode == 1 and data is None, f"one that was asked for is one: {hidden.stderr}")


def test_pipe(program):
    """What can be read only once is not looked into before a device is chosen."""
    with tempfile.TemporaryDirectory() as folder:
        pipe, out = Path(folder) / "pipe", Path(folder) / "out.tif"
        os.mkfifo(pipe)
        for words in (["stats"], ["equalize", "-o", out]):
            with subprocess.Popen([program, *words, pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=harness.environment()) as child:
                pipe.write_bytes(PHOTO.read_bytes())
                said = child.communicate(timeout=LIMIT)[1]
            check(child.returncode == 0, f"{words[0]} of a pipe: {said!r}")
        check(run(program, "equalize", PHOTO, "-o", "-", text=False).stdout == written(out), "as of the file")


def test_much(program, gpus):
    """Enough work that one thread and a GPU would choose the GPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "zeros.tif"
        sparse(path, 7000, bits=64)
        arguments = ["--json", "--shape", "--verbose", "--jobs", "1", path]
        cpu = run(program, "--device", "cpu", *arguments)
        check(cpu.returncode == 0 and json.loads(cpu.stdout)["channels"][0]["max"] == 0, f"zeros: {cpu.stderr}")
        auto = run(program, *arguments)
        check(without_device(auto.stdout) == without_device(cpu.stdout), "auto gives what the CPU gives")
        if gpus:
            check("stats: device cuda: " in auto.stderr, f"auto takes the GPU for much work: {auto.stderr}")
            check(json.loads(auto.stdout)["device"] == "cuda:0", "and says so")
            hidden = run(program, *arguments, CUDA_VISIBLE_DEVICES="")
            check(hidden.returncode == 0 and hidden.stdout == cpu.stdout, "a chosen GPU that fails is no error")
            check("; the CPU takes over" in hidden.stderr, f"but told: {hidden.stderr}")


def main():
    program = sys.argv[1]
    gpus = test_listing(program)
    test_named(program, gpus)
    test_old_driver(program)
    test_auto(program)
    test_transforms(program, gpus)
    test_pipe(program)
    test_much(program, gpus)
    print("\n".join(wrong))
    print(f"{checks} checks, {len(wrong)} wrong, {gpus} GPUs")
    sys.exit(1 if wrong or checks == 0 else 0)


if __name__ == "__main__":
    main()
