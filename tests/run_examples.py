#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the example programs and compares with what the program imgstat writes.

usage: run_examples.py IMGSTAT EXAMPLE...     paths of the compiled examples"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "cli"))
from harness import environment  # noqa: E402

TESTDATA = Path(__file__).resolve().parent.parent / "testdata"


def stack(pages):
    """A TIFF file of pages of one pixel, which is 7: all have the byte behind the header."""
    tags = ((256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 8), (278, 1), (279, 1))
    entries = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    size = len(entries) + 4
    return struct.pack("<2sHI2B", b"II", 42, 10, 7, 0) + b"".join(
        entries + struct.pack("<I", 10 + (k + 1) * size if k + 1 < pages else 0) for k in range(pages))


def main():
    imgstat = sys.argv[1]
    example = {Path(path).name: path for path in sys.argv[2:]}
    compared = 0

    def run(*words, status=0):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, check=False,
                              env=environment())
        assert done.returncode == status, f"{words}: exit status {done.returncode}\n{done.stderr}"
        return done

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("good-example.png", "good-gray16.png", "good-float32.tif", "photo.tif"):
            run(example["equalize_image"], TESTDATA / name, folder / name)
            run(imgstat, "equalize", TESTDATA / name, "-o", folder / f"by-{name}")
            assert (folder / name).read_bytes() == (folder / f"by-{name}").read_bytes(), name
            compared += 1
        done = run(example["equalize_image"], TESTDATA / "bad-truncated.png", folder / "bad.png", status=1)
        assert "ends early" in done.stderr and not (folder / "bad.png").exists()

        names = ["good-example.png", "good-gray-alpha.png"]
        words = [word for name in names for word in (TESTDATA / name, folder / f"one-{name}")]
        done = run(example["normalize_files"], *words)
        assert done.stdout == "2 of 2 written\n", done.stdout
        run(imgstat, "normalize", "--clip", "1,1", "--together", *(TESTDATA / name for name in names), "-o",
            folder / "all")
        for name in names:
            assert (folder / f"one-{name}").read_bytes() == (folder / "all" / name).read_bytes(), name
            compared += 1
        done = run(example["normalize_files"], *words, status=1)
        assert done.stderr.count("exists already") == 2 and done.stdout == "0 of 2 written\n", done.stderr

        paths = [TESTDATA / "good-example.png", TESTDATA / "good-example.tif"]
        done = run(example["merge_images"], folder / "all.rec", folder / "transfer.json", *paths)
        assert done.stdout.startswith("2 files, 2 pages\ngray: mean 76.078125, largest in ") and done.stdout.endswith(
            f"{paths[0]}, median 69\n"), done.stdout
        run(imgstat, "normalize", "--method", "stretch", "--together=all", "--save-transfer", folder / "by.json", *paths)
        assert (folder / "transfer.json").read_bytes() == (folder / "by.json").read_bytes()
        compared += 1
        # Pages behind the first 1,000 were left out.
        (folder / "stack.tif").write_bytes(stack(1001))
        done = run(example["merge_images"], folder / "all.rec", folder / "transfer.json", folder / "stack.tif")
        assert done.stdout.startswith("1 files, 1001 pages\ngray: mean 7, largest in "), done.stdout
        compared += 1
        done = run(example["merge_images"], folder / "no.rec", folder / "no.json", paths[0], TESTDATA / "good-gray16.png",
                   status=1)
        assert done.stderr == "a record of u16 does not merge with one of u8\n" and not (folder / "no.rec").exists()
        done = run(example["merge_images"], paths[0] / "a.rec", folder / "no.json", paths[0], status=1)
        assert "a.rec" in done.stderr, done.stderr
    print(f"{compared} outputs compared")
    sys.exit(0 if compared == 8 else 1)


if __name__ == "__main__":
    main()
