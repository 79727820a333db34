#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether each proof can fail: puts one fault after the other into a copy of the sources, and each must be found.

usage: mutations.py BUILD     a build of the preset asan
       mutations.py --cbmc    the proofs of CBMC
       mutations.py --places  only looks whether the sources have each place once"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 300

# The proof, the source, a place in it that there is once, and what takes its place.
FAULTS = [
    ("packbits", "codec/packbits_lanes.h", "used > n_in - at", "used > n_in"),
    ("packbits", "codec/packbits_lanes.h", "n > n_out - done", "n > n_out"),
    ("lzw", "codec/lzw_lanes.h", "if (end <= room)", "if (end <= room + 1)"),
    ("lzw", "codec/lzw_lanes.h", "bit + width > 8 * c->n_in", "bit > 8 * c->n_in"),
    ("lzw", "tiff/lzw.c", "string.length + SLACK)", "string.length)"),
    ("inflate_lanes", "codec/inflate_lanes.h", "length > c->n_in - from", "length > c->n_in"),
    ("inflate_lanes", "codec/inflate_lanes.h", "length > c->n_out - at->done", "length > c->n_out - at->done + 1"),
    ("inflate_lanes", "codec/inflate_lanes.h", "!huffman_complete(&s->distance_code, false)", "s->distance_code.count[1] > 2"),
    ("inflate", "codec/deflate_codes.c", "DEFLATE_LENGTH_CODES, count) != 0", "DEFLATE_LENGTH_CODES, count) < 0"),
    ("inflate", "codec/deflate_symbols.h", "distance > (size_t)(*out - start))", "distance > (size_t)(*out - start) + 1)"),
    ("rows", "png/unfilter_vectors.h", "at < skew ? 0 : at - skew;", "at < skew ? 0 : at;"),
    ("rows", "png/unfilter_vectors.h", "at < skew_of(rows->rows - 1, step);", "at < skew_of(rows->rows - 2, step);"),
    ("rows", "png/unfilter_vectors.h", "(y >= side_of(step))", "(y > side_of(step))"),
    ("rows", "codec/running_sum.c", "i + word <= n; i", "i <= n; i"),
    ("rows", "tiff/unpack.c", "127 - 63 + 1 - shift", "127 - 63 - shift"),
    ("rows", "base/pixel.h", "i % 8) & 1", "i % 8) & 3"),
    ("rows", "tiff/predictor.c", "big_endian ? b : bytes - 1 - b", "big_endian ? b : bytes - b"),
    ("changed_record-gray4", "record/byte_stream.c", "(reader->end - reader->at) < n)", "(reader->end - reader->at) + 1 < n)"),
    ("numbers", "record/byte_stream.c", "*byte == 0 && shift > 0)", "*byte == 0 && shift > 56)"),
    ("changed_transfer-floats", "transfer/json_value.c", " || *lo > *hi)", ")"),
    ("changed_png", "png/chunks.c", " && *at <= source->bytes", ""),
]
# The same for what CBMC proves: the source is included by the proof, or named in its line.
CBMC_FAULTS = [
    ("prove_numbers", "record/byte_stream.c", "*byte == 0 && shift > 0)", "*byte == 0 && shift > 56)"),
    ("prove_packbits", "codec/packbits_lanes.h", "used > n_in - at", "used > n_in"),
    ("any_rows", "png/filter.c", "(i < step ? 0 : to[i - step]) + above", "(i + 1 < step ? 0 : to[i - step]) + above"),
    ("any_rows", "codec/running_sum.c", "i + word <= n; i", "i <= n; i"),
    ("any_samples", "tiff/predictor.c", "big_endian ? b : bytes - 1 - b", "big_endian ? b : bytes - b"),
    ("any_samples", "tiff/unpack.c", "i + 1 < n; i += 2", "i < n; i += 2"),
    ("any_samples", "tiff/unpack.c", "bits <= WIDEST && all >= WINDOW", "bits <= WIDEST"),
    ("any_lzw", "tiff/lzw.c", "string.length + SLACK)", "string.length)"),
    ("any_lzw", "tiff/lzw.c", "code > s.next || s.next == CODES", "code > s.next"),
    ("any_records", "record/record_code.c", "EXACT_LIMBS - first)", "EXACT_LIMBS)"),
    ("any_records", "record/bin_code.c", "gap[i] >= n - next", "gap[i] > n - next"),
    ("any_records", "record/bin_code.c", "reader->end - reader->at >= 8", "reader->end - reader->at >= 7"),
    ("any_records", "record/byte_stream.c", "(reader->end - reader->at) < n)", "(reader->end - reader->at) + 1 < n)"),
    ("any_tags", "tiff/directory.c", "field->count <= width / bytes", "field->count <= width"),
    ("any_tags", "tiff/directory.c", "entry + 4 + width, width)", "entry + 4 + width, 9)"),
    ("any_tags", "png/chunks.c", " && *at <= source->bytes", ""),
    ("any_resources", "codec/exif.c", "exif->bytes - at < 2", "exif->bytes - at < 1"),
    ("any_resources", "codec/exif.c", "n > *bytes - at)", "n > *bytes)"),
    ("any_resources", "codec/photoshop.c", "n > bytes - at - SET_HEAD", "n > bytes - at"),
    ("any_resources", "codec/photoshop.c", "at < RESOURCE_HEAD + name + 4", "at < RESOURCE_HEAD + name"),
    ("any_inflate", "codec/bit_reader.h", "reader->end - reader->at >= 8", "reader->end - reader->at >= 7"),
    ("any_inflate", "codec/deflate_symbols.h", "if (distance >= STEP)", "if (distance >= STEP / 2)"),
    ("any_lanes", "codec/lzw_lanes.h", "bit / 8 + i < c->n_in ?", "bit / 8 + i <= c->n_in ?"),
    ("any_lanes", "codec/huffman_lanes.h", "symbols[at++] = (uint16_t)i", "symbols[++at] = (uint16_t)i"),
    ("any_transfers", "transfer/json_value.c", " || *lo > *hi)", ")"),
]
INCLUDED_BY = {"codec/deflate_symbols.h": "codec/deflate_decode.c", "png/unfilter_vectors.h": "png/filter.c"}


def commands(build, target):
    """The command lines that compile and link a proof, in the build's folder."""
    lines = subprocess.run(["ninja", "-C", build, "-t", "commands", f"tests/prove_{target}"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [line for line in lines if f"prove_{target}" in line]


def compile_of(build, source):
    """The command line that compiles a source of the library, for the portable instruction set where there are several."""
    lines = subprocess.run(["ninja", "-C", build, "-t", "commands", "imgstat_static"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    found = [line for line in lines if line.endswith(f"/src/{source}")]
    return next((line for line in found if "imgstat_portable" in line), found[0])


def changed_tree(folder, source, old, new):
    """A copy of the sources in a folder, with one fault."""
    tree = Path(folder) / "src"
    shutil.copytree(ROOT / "src", tree)
    path = tree / source
    path.write_text(path.read_text().replace(old, new))
    return tree


def is_found_by_cbmc(proof, source, old, new):
    with tempfile.TemporaryDirectory() as folder:
        tree = changed_tree(folder, source, old, new)
        done = subprocess.run(["sh", str(ROOT / "tests/proofs/cbmc.sh"), proof, str(tree)], capture_output=True, text=True, check=False)
        return done.returncode == 1 and "VERIFICATION FAILED" in done.stdout


def is_found(build, target, source, old, new):
    with tempfile.TemporaryDirectory() as folder:
        tree = changed_tree(folder, source, old, new)
        objects = []
        lines = commands(build, target)
        compiles = [line for line in lines if " -c " in line]
        unit = INCLUDED_BY.get(source, source)
        if unit.endswith(".c"):
            compiles.append(compile_of(build, unit))
        for i, line in enumerate(compiles):
            made = f"{folder}/{i}.o"
            line = re.sub(r" -MD.*? -c ", " -c ", re.sub(r" -o \S+", f" -o {made}", line)).replace(" -Werror", "")
            line = line.replace(f"{ROOT}/src", str(tree)).replace(" -c ", f" -o {made} -c ")
            subprocess.run(line, shell=True, cwd=build, check=True)
            objects.append(made)
        link = re.sub(r"( \S+\.o)+ -o \S+", f" {' '.join(objects)} -o {folder}/proof", lines[-1])
        subprocess.run(link, shell=True, cwd=build, check=True)
        try:
            done = subprocess.run([f"{folder}/proof"], capture_output=True, timeout=SECONDS, check=False,
                                  env={**os.environ, "IMGSTAT_CPU": "portable"})
        except subprocess.TimeoutExpired:
            return True  # it does not end, as one could see
        return done.returncode != 0


def check_places():
    for _, source, old, _ in FAULTS + CBMC_FAULTS:
        count = (ROOT / "src" / source).read_text().count(old)
        if count != 1:
            sys.exit(f"{source} has {old!r} {count} times")


def main():
    check_places()
    if sys.argv[1] == "--places":
        return 0
    by_cbmc = sys.argv[1] == "--cbmc"
    if by_cbmc:
        subprocess.run(["sh", str(ROOT / "tests/proofs/cbmc.sh"), "--fetch"], stdout=subprocess.DEVNULL, check=True)
    faults = CBMC_FAULTS if by_cbmc else FAULTS
    missed = 0
    for target, source, old, new in faults:
        found = is_found_by_cbmc(target, source, old, new) if by_cbmc else is_found(Path(sys.argv[1]).resolve(), target, source, old, new)
        missed += not found
        print(f"{'found by' if found else 'NOT FOUND by'} {target}: {source}: {old!r} -> {new!r}", flush=True)
    print(f"{len(faults)} faults, {missed} not found")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
