#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small files that ask for much get one sentence, and nothing of what they ask for. usage: test_hostile.py IMGSTAT"""

import subprocess
import sys
from pathlib import Path

import harness
from harness import check, environment
from test_memory import PEAK, is_sanitized

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))
import hostile_files as hostile  # noqa: E402

MEMORY, SLACK = 48, 8  # MiB


def refused(program, words, sentence, most=MEMORY + SLACK):
    """sentence: a part of what is said, None: the command works; most: peak memory in MiB."""
    done = subprocess.run([sys.executable, "-c", PEAK, program, *map(str, words)], capture_output=True, env=environment(),
                          timeout=harness.LIMIT, check=False)
    said = done.stderr.decode(errors="replace")
    check(done.returncode == (1 if sentence else 0), f"{words}: exit status {done.returncode}, {said}")
    check(sentence is None or sentence in said, f"{words}: said {said}, not {sentence}")
    if not is_sanitized(program):
        peak = int(done.stdout.splitlines()[-1]) / 1024
        check(peak <= most, f"{words}: {peak:.0f} MiB of {most}")


def stats(program, file, sentence, *words, most=MEMORY + SLACK):
    refused(program, ["stats", "--json", *words, file], sentence, most)


def normalize(program, file, sentence, *words, out="out.tif"):
    refused(program, ["normalize", "--method", "gamma=2", "--memory", f"{MEMORY}M", *words, file, "-o",
                      file.parent / out, "--force"], sentence)


def write(folder, name, data):
    (folder / name).write_bytes(data)
    return folder / name


def test_codecs_that_abort(program, folder):
    """libjbig calls abort() where it cannot allocate what its header asks for."""
    big = 0x7FFFFFFF
    for name, data in (("usual", hostile.jbig(big, big)), ("reversed", hostile.jbig(big, big, order=2)),
                       ("larger", hostile.jbig(60000, 60000)), ("planes", hostile.jbig(64, 64, 128))):
        file = write(folder, f"{name}.tif", data)
        stats(program, file, "but its JBIG data have")
        stats(program, file, "but its JBIG data have", "--salvage")
        normalize(program, file, "but its JBIG data have")


def test_codecs_that_leave_memory_unwritten(program, folder):
    for name, data in (("samples", hostile.jbig_bits(32)), ("rows", hostile.jbig_bits(1, rows=9))):
        file = write(folder, f"{name}.tif", data)
        stats(program, file, "strip 1 of 1 ends early")
        normalize(program, file, "strip 1 of 1 ends early")


def test_fields(program, folder):
    file = write(folder, "fields.tif", hostile.many_fields(200, 1 << 20))
    for jobs in 1, 16:
        stats(program, file, "more than the file", "-j", jobs)
        normalize(program, file, "more than the file", "-j", jobs)
    stats(program, write(folder, "number.tif", hostile.many_fields(5000, 256)), "more than 4096 fields")
    stats(program, write(folder, "some.tif", hostile.many_fields(100, 4096)), None)


def test_codecs_memory(program, folder):
    for name, data in (("window", hostile.zstd_window()), ("planes", hostile.zstd_planes(4)),
                       ("dictionary", hostile.lzma_dictionary(96 << 20))):
        file = write(folder, f"{name}.tif", data)
        normalize(program, file, "MiB of memory, and 48 are allowed")
    normalize(program, write(folder, "pixarlog.tif", hostile.pixarlog(5000, 4800)), "MiB of memory, and 48 are allowed")


def test_profile(program, folder):
    file = write(folder, "profile.png", hostile.png_profile())
    normalize(program, file, None, "--quiet")
    stats(program, file, None)


def test_transfers(program, folder):
    image = write(folder, "image.png", hostile.png(16, 16, bytes(17 * 16)))
    for name, data in (("nested", hostile.nested_transfer(2 << 20)), ("flat", hostile.flat_transfer(2 << 20))):
        file = write(folder, f"{name}.json", data)
        refused(program, ["apply", "--memory", f"{MEMORY}M", file, image, "-o", folder / "out.png"],
                "of memory, and 48 are allowed")


def test_bins_of_channels(program, folder):
    file = write(folder, "channels.tif", hostile.many_channels(1000))
    if not is_sanitized(program):  # their peak is what matters
        stats(program, file, "ask for fewer bins", "--bins", 1 << 24, most=1500)
    stats(program, file, None, "--bins", 1000, most=200)


def test_work(program, folder):
    """What decoding may take is estimated before it begins; --unlimited is for those who know better."""
    sentence = 'which "unlimited" lifts'
    for name, data in (("sparse.tif", hostile.sparse()), ("pages.tif", hostile.many_pages(40, 1 << 28)),
                       ("interlaced.png", hostile.interlaced_work(1 << 14))):
        file = write(folder, name, data)
        normalize(program, file, sentence)
        if name == "sparse.tif":
            stats(program, file, sentence)
            refused(program, ["info", file], None)
    small = write(folder, "small.tif", hostile.sparse(1 << 14))  # 256 MiB, and a header
    normalize(program, small, "takes more than the limit of 268435456 bytes")
    check(not (folder / "out.tif").exists(), "an output that is too large was left")
    normalize(program, small, None, "--compression", "deflate")
    normalize(program, small, None, "--unlimited")
    (folder / "out.tif").unlink()


def test_whole(program, folder):
    """Whether an output is whole is asked of what lies there, whatever that is."""
    out = write(folder, "out.tif", hostile.many_below())
    done = harness.run(program, "normalize", "--skip-existing", write(folder, "in.png", harness.png(1, 1, 8, b"\0")), "-o", out)
    check(out.read_bytes() == hostile.many_below(), f"a file that ends as it says was replaced: {done.stderr!r}")


def test_codecs(program, folder):
    """Codecs that are refused are so before they see the file."""
    sentence = "not among the codecs that are allowed"
    solid = write(folder, "solid.png", hostile.png(16, 16, bytes(17 * 16)))
    bilevel = write(folder, "jbig.tif", hostile.jbig(64, 64))
    zstd = write(folder, "zstd.tif", hostile.tiff(1 << 10, 4, hostile.ZSTD, hostile.zstd_frame(1 << 12, 20)))
    for file, codecs, allowed in ((solid, "png", True), (solid, "tiff:none,lzw,deflate", False), (solid, "-jbig", True),
                                  (bilevel, "-jbig,-old-jpeg", False), (bilevel, "png,tiff:none", False),
                                  (zstd, "zstd", True), (zstd, "tiff", True), (zstd, "-tiff", False),
                                  (zstd, "ccitt,zstandard", True)):
        stats(program, file, None if allowed else sentence, "--codecs", codecs)
        done = harness.run(program, "stats", file, status=None, variables={"IMGSTAT_CODECS": codecs})
        check((done.returncode == 0) == allowed, f"IMGSTAT_CODECS={codecs}: {done.stderr!r}")
    harness.run(program, "stats", "--codecs", "zstd", zstd, status=1, variables={"IMGSTAT_CODECS": "png"})
    harness.run(program, "stats", zstd, variables={"IMGSTAT_CODECS": ""})
    done = harness.run(program, "stats", zstd, status=2, variables={"IMGSTAT_DECODE": "slow"})
    check(done.stderr.startswith(b"imgstat stats: IMGSTAT_DECODE=slow: not one of auto, plain, threads\n"), done.stderr)
    for codecs, sentence in ("-jbgi", b"no codec is called"), ("", b"an empty list"):
        done = harness.run(program, "stats", "--codecs", codecs, solid, status=2)
        check(sentence in done.stderr, f"--codecs '{codecs}': {done.stderr!r}")
    refused(program, ["info", "--codecs", "png", zstd], None)


if __name__ == "__main__":
    harness.main(globals())
