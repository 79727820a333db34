#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what two builds of imgstat print and write, over the corpus, testdata/ and some larger images.

    compare_builds.py OLD NEW [--corpus DIR] [--device NAME[,NAME]] [--jobs N] [--quick] [--only WORD]
                              [--decoder DUMP_PIXELS] [--list N]
    compare_builds.py --self-test PROGRAM DUMP_PIXELS

Every job of JOBS runs in both builds. Equal must be: exit status; JSON and CSV, key by key, numbers as they
are spelled; text on stdout and stderr; which files are written; their bytes, or else their samples, decoded
by one program for both (dump_pixels of the old build), and their chunks or fields, read here from the bytes.
Differences that are meant are named in MEANT and REWORDED, and counted; any other is a failure, exit
status 1. Options that one build calls otherwise: RENAMED. Two device names: the old build's, the new one's.
The self-test expects that a program equals itself and differs from one that spoils its results.
"""

import argparse
import csv
import io
import json
import os
import random
import re
import shutil
import struct
import stat
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from roundtrip_corpus import Tiff, chunks

sys.path.append(str(Path(__file__).resolve().parent / "cli"))
from harness import png, tiff_file  # noqa: E402

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent / "testdata"
ENDINGS = (".png", ".tif", ".tiff", ".gtiff", ".btf", ".tf8")
SHARD = 120  # files of one process
LIMIT = 1200  # seconds: it only ends what hangs
WIDE = ("u32", "i32", "u64", "i64", "f16", "f32", "f64")


# ---- What may differ --------------------------------------------------------------------------------

# An option, as JOBS spells it: its other names. OPTIONAL ones are left out where a build has none.
RENAMED = {"--percentile-method": ["--interpolation"]}
OPTIONAL = {"--mode"}


@dataclass
class Difference:
    job: str
    file: str
    kind: str  # status, json, csv, text, stderr, files, samples, metadata, encoding
    key: str
    old: object
    new: object

    def __str__(self):
        return f"{self.job}: {self.file}: {self.kind} {self.key}: {str(self.old)[:200]} became {str(self.new)[:200]}"


def less_interlaced(d):
    return (d.kind == "metadata" and d.key.startswith("IHDR") and isinstance(d.old, bytes) and isinstance(d.new, bytes)
            and d.old[12] == 1 and d.new == d.old[:12] + b"\0")


def mode_left_out(d):
    return d.job == "stats, nothing asked for" and d.kind == "json" and d.key.endswith(".mode") and d.new is None


def smaller_strips(d):
    if (d.kind != "metadata" or d.old is None or d.new is None or not
            (d.job.endswith("little memory") or d.file.endswith("lzw-single-strip.tiff"))):
        return False
    if re.search(r": field 27[39]$", d.key):
        return d.new > d.old
    return d.key.endswith(": field 278") and int.from_bytes(d.new[2], "big") < int.from_bytes(d.old[2], "big")


def deviations_beyond_roots(d):
    """Where the variance is no double. Of a table the only word that differs."""
    old, new = d.old, d.new
    if d.kind == "text" and old and new:
        changed = [words for words in zip(old.split(), new.split()) if words[0] != words[1]]
        old, new = changed[0] if len(changed) == 1 and len(old.split()) == len(new.split()) else (d.old, None)
    elif d.kind not in ("json", "csv") or not d.key.endswith(".stddev"):
        return False
    return old in (None, "-", "null") and re.fullmatch(r"[\d.]+e\+\d{3}", new or "") and float(new) > sys.float_info.max**0.5


# Name, reason, whether it covers a difference.
MEANT = [
    ("interlacing", "interlaced PNG is written without interlacing", less_interlaced),
    ("interlacing, warned of", "and a warning names it",
     lambda d: d.kind == "stderr" and d.old is None and re.search(r"\binterlac", d.new)),
    ("mode", "the mode of samples beyond 16 bits is on request", mode_left_out),
    ("strips", "compressed strips hold at most 1/32 of --memory, or 32 MiB: it was twice as much", smaller_strips),
    ("ends of full scale", "low and high count the samples there",
     lambda d: d.kind in ("json", "csv") and d.old is None and re.search(r"\.(low|high)$", d.key)),
    ("large deviations", "the standard deviation is given where only the variance is no double", deviations_beyond_roots),
    ("levels in PNG", "the sentence for images with levels names them",
     lambda d: d.kind == "stderr" and d.old and d.old.endswith(": PNG holds one image; write TIFF")
     and d.new == d.old.replace("; write", " and no levels; leave them out, or write")),
    ("encoding", "compressed otherwise, samples and metadata equal", lambda d: d.kind == "encoding"),
]
# Sentences of stderr: a pattern of the old one, what the new build writes for it (re.sub).
REWORDED = [
]


# ---- Jobs: name, command, words, kind of stdout -------------------------------------------------------

PERCENTILES = "--percentiles=0,0.1,1,5,25,50,75,95,99,99.9,100"
STATISTICS = [
    ("stats, everything", "stats", ["--json", "--histogram", "--cdf", "--shape", "--mode", PERCENTILES]),
    ("stats, nothing asked for", "stats", ["--json"]),
    ("stats of indices", "stats", ["--json", "--indices", "--mode", "--ddof=1"]),
    ("stats, nearest rank", "stats", ["--json", "--mode", "--percentile-method=nearest", PERCENTILES]),
    ("stats, bins and range", "stats", ["--json", "--mode", "--histogram", "--bins=37", "--range=-3.5,300"]),
    ("stats as CSV", "stats", ["--csv", "--mode", "--shape", PERCENTILES]),
    ("stats as a table", "stats", ["--shape", "--percentiles=1,50,99"]),
    ("hist", "hist", ["--json", "--mode", PERCENTILES]),
    ("hist, bins", "hist", ["--json", "--mode", "--bins=64"]),
    ("hist as CSV", "hist", ["--csv", "--bins=16"]),
]
TRANSFORMS = [
    ("stretch", "normalize", []),
    ("stretch each", "normalize", ["--channels=each"]),
    ("stretch to 8 bits", "normalize", ["--depth=8"]),
    ("stretch to 16 bits", "normalize", ["--depth=16"]),
    ("stretch to float", "normalize", ["--depth=float"]),
    ("stretch to a range", "normalize", ["--out-range=10,200"]),
    ("stretch as PNG", "normalize", ["--format=png"]),
    ("stretch as TIFF", "normalize", ["--format=tiff"]),
    ("stretch little memory", "normalize", ["--memory=48M"]),
    ("percentile", "normalize", ["--method=percentile"]),
    ("percentile like imagej", "normalize", ["--method=percentile", "--like=imagej"]),
    ("percentile each", "normalize", ["--method=percentile", "--channels=each", "--clip=1,2"]),
    ("meanstd", "normalize", ["--method=meanstd=100,30"]),
    ("gamma", "normalize", ["--method=gamma=2.2"]),
    ("match", "normalize", ["--method=match=REF"]),
    ("equalize", "equalize", []),
    ("equalize each", "equalize", ["--channels=each"]),
    ("equalize joint", "equalize", ["--channels=joint"]),
    ("equalize to float", "equalize", ["--depth=float"]),
    ("equalize like opencv", "equalize", ["--like=opencv", "--channels=each"]),
    ("equalize like skimage", "equalize", ["--like=skimage", "--channels=each"]),
    ("equalize like imagemagick", "equalize", ["--like=imagemagick", "--channels=each"]),
    ("equalize like imagej", "equalize", ["--like=imagej", "--channels=each"]),
    ("equalize like imagej-classic", "equalize", ["--like=imagej-classic", "--channels=each"]),
    ("equalize like pillow", "equalize", ["--like=pillow", "--channels=each"]),
    ("equalize like vips", "equalize", ["--like=vips", "--channels=each"]),
    ("equalize match", "equalize", ["--match=REF"]),
    ("equalize little memory", "equalize", ["--memory=48M"]),
    ("clahe", "equalize", ["--clahe"]),
    ("clahe each", "equalize", ["--clahe", "--channels=each", "--grid=3,5", "--clip-limit=0.03"]),
    ("clahe joint", "equalize", ["--clahe", "--channels=joint"]),
    ("clahe to float", "equalize", ["--clahe", "--depth=float"]),
    ("clahe like opencv", "equalize", ["--clahe", "--like=opencv", "--channels=each"]),
    ("clahe like skimage", "equalize", ["--clahe", "--like=skimage", "--channels=each"]),
    ("clahe little memory", "equalize", ["--clahe", "--memory=48M"]),
]
# As above, in every fifth file: how it is compressed. Those above are written --fast.
ENCODINGS = [("encoding " + " ".join(words), "normalize", words) for words in (
    ["--level=6"], ["--level=9"], ["--level=0"], ["--compression=none"], ["--compression=lzw"],
    ["--compression=packbits"], ["--compression=zstd"], ["--compression=lzma"])]
PIPES = [("stretch a pipe", "normalize", ["-", "-o", "-"]), ("clahe of a pipe", "equalize", ["--clahe", "-", "-o", "-"]),
         ("stats of a pipe", "stats", ["--json", "--mode", "-"])]


# ---- Running ------------------------------------------------------------------------------------------

class Program:
    def __init__(self, path, device):
        self.path, self.device = str(Path(path).resolve()), device
        self.lock, self.offered = threading.Lock(), {}

    def options(self, command):
        with self.lock:
            if command not in self.offered:
                done = subprocess.run([self.path, command, "--help-all"], capture_output=True, check=False)
                if done.returncode:
                    done = subprocess.run([self.path, command, "--help"], capture_output=True, check=True)
                self.offered[command] = set(re.findall(r"--[a-z0-9-]+", done.stdout.decode()))
            return self.offered[command]

    def spell(self, command, word):
        """The word as this build wants it, in a list; an empty one where the build has no such option."""
        name, sign, value = word.partition("=")
        if not name.startswith("--"):
            return [word]
        for other in [name, *RENAMED.get(name, [])]:
            if other in self.options(command):
                return [other + sign + value]
        if name in OPTIONAL:
            return []
        sys.exit(f"{self.path} {command} has no option {name}: see RENAMED")

    def run(self, folder, command, words, stdin=None):
        spelt = [part for word in words for part in self.spell(command, word)]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("IMGSTAT_")}
        with open(stdin or os.devnull, "rb") as source:
            return subprocess.run([self.path, command, f"--device={self.device}", "--jobs=2", *spelt], cwd=folder,
                                  stdin=source, capture_output=True, timeout=LIMIT, check=False,
                                  env={**kept, "LC_ALL": "C.UTF-8"})


class Found:
    """All differences, by whether they are meant."""

    def __init__(self):
        self.lock, self.meant, self.wrong = threading.Lock(), defaultdict(list), []
        self.bytes = Counter()
        self.compared = Counter()

    def add(self, difference):
        name = next((name for name, _, covers in MEANT if covers(difference)), None)
        with self.lock:
            (self.meant[name] if name else self.wrong).append(difference)

    def count(self, what, n=1):
        with self.lock:
            self.compared[what] += n


# ---- Comparing ------------------------------------------------------------------------------------------

def differing(old, new, path=""):
    """(path, old, new) of each key that differs; None stands for a missing one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from differing(old.get(key), new.get(key), f"{path}.{key}")
        if old.keys() == new.keys() and list(old) != list(new):
            yield f"{path}, order of keys", list(old), list(new)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differing(a, b, f"{path}[{i}]")
    elif old != new:
        yield path, old, new


def parsed(text):
    return json.loads(text, parse_float=str, parse_int=str)


def compare_json(found, job, old, new):
    """One object a line, each with a file and perhaps a page."""
    if old == new:
        return
    sides = []
    for text in (old, new):
        lines = {}
        for line in text.splitlines():
            page = parsed(line)
            lines[page["file"], page.get("page")] = page
        sides.append(lines)
    for key in {**sides[0], **sides[1]}:
        before, after = sides[0].get(key), sides[1].get(key)
        if before is None or after is None:
            found.add(Difference(job, key[0], "json", f"page {key[1]}", before, after))
            continue
        for path, a, b in differing(before, after):
            found.add(Difference(job, key[0], "json", f"page {key[1]}{path}", a, b))
    if sides[0].keys() == sides[1].keys() and list(sides[0]) != list(sides[1]):
        found.add(Difference(job, "", "json", "order of lines", "", ""))


def compare_csv(found, job, old, new):
    """A table with one header: row by row, and each column by its name."""
    if old == new:
        return
    sides = [list(csv.DictReader(io.StringIO(text.decode(errors="replace"), newline=""))) for text in (old, new)]
    if len(sides[0]) != len(sides[1]):
        found.add(Difference(job, "", "csv", "number of rows", len(sides[0]), len(sides[1])))
        return
    for i, (before, after) in enumerate(zip(*sides)):
        for path, a, b in differing(before, after):
            found.add(Difference(job, before.get("file"), "csv", f"row {i}{path}", a, b))
    if sides[0] == sides[1]:
        found.add(Difference(job, "", "csv", "spelling", old[:100], new[:100]))


def subject(line):
    """The file that a line is about; of a table the channel as well."""
    file, colon, _ = line.partition(": ")
    return file if colon else " ".join(line.split()[:2])


def compare_lines(found, job, kind, old, new):
    """Text whose lines begin with the name of a file."""
    if old == new:
        return
    lines = [text.decode(errors="replace").splitlines() for text in (old, new)]
    if kind == "stderr":
        for pattern, replacement in REWORDED:
            lines[0] = [re.sub(pattern, replacement, line) for line in lines[0]]
    less, more = (list((Counter(a) - Counter(b)).elements()) for a, b in (lines, lines[::-1]))
    for before in less:
        file = subject(before)
        after = next((line for line in more if subject(line) == file), None)
        if after is not None:
            more.remove(after)
        found.add(Difference(job, file, kind, "line", before, after))
    for after in more:
        found.add(Difference(job, subject(after), kind, "line", None, after))
    if not less and not more and lines[0] != lines[1]:
        found.add(Difference(job, "", kind, "order of lines", lines[0], lines[1]))


def metadata(path):
    """{key: bytes or number} of all that is not how samples are stored."""
    with open(path, "rb") as file:
        is_png = file.read(4) == b"\x89PNG"
    seen, out = Counter(), {}
    if is_png:
        for kind, body, behind_palette, behind_pixels in chunks(path):
            if kind != b"IDAT":
                seen[kind] += 1
                out[f"{kind.decode('latin-1')} {seen[kind]}"] = body
                out[f"{kind.decode('latin-1')} {seen[kind]}, its place"] = behind_palette, behind_pixels
        return out
    tiff = Tiff(path)
    out["byte order, BigTIFF"] = tiff.order, tiff.big
    pages = [(str(number), page) for number, page in enumerate(tiff.pages)]
    for name, page in pages:
        for tag, value in page.items():
            if tag in (273, 279, 324, 325):  # where strips and tiles lie, and how long they are
                out[f"{name}: field {tag}"] = value[1]
            elif tag == 330:
                word = len(value[2]) // value[1]
                at = [int.from_bytes(value[2][i:i + word], "big") for i in range(0, len(value[2]), word)]
                pages.extend((f"{name}.{i}", tiff.directory(place)[0]) for i, place in enumerate(at))
            else:
                out[f"{name}: field {tag}"] = value
    return out


def compare_files(found, job, decoder, old, new, name):
    """Two files that were written."""
    with open(old, "rb") as one, open(new, "rb") as two:
        before, after = one.read(), two.read()
    found.count("outputs")
    found.bytes["old", job] += len(before)
    found.bytes["new", job] += len(after)
    if before == after:
        return
    if old.suffix == ".json":
        for path, a, b in differing(parsed(before), parsed(after)):
            found.add(Difference(job, name, "json", path, a, b))
        return
    dumps = [subprocess.run([decoder, "--indices", path, "all"], capture_output=True, check=False, timeout=LIMIT)
             for path in (old, new)]
    if dumps[0].returncode != dumps[1].returncode:
        found.add(Difference(job, name, "samples", "decoder's status", dumps[0].returncode,
                             f"{dumps[1].returncode}: {dumps[1].stderr.decode(errors='replace')}"))
    elif dumps[0].stdout != dumps[1].stdout:
        heads = [dump.stdout.partition(b"\n")[0].decode(errors="replace") for dump in dumps]
        at = next((i for i, (a, b) in enumerate(zip(dumps[0].stdout, dumps[1].stdout)) if a != b), -1)
        found.add(Difference(job, name, "samples", f"from byte {at} on", heads[0], heads[1]))
    fields = metadata(old), metadata(new)
    for key in {**fields[0], **fields[1]}:
        a, b = fields[0].get(key), fields[1].get(key)
        if a != b:
            found.add(Difference(job, name, "metadata", key, a, b))
    if dumps[0].stdout == dumps[1].stdout and fields[0] == fields[1]:
        found.add(Difference(job, name, "encoding", "bytes", len(before), len(after)))


def files_under(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Comparison:
    def __init__(self, programs, decoder, tree):
        self.programs, self.decoder, self.tree = programs, decoder, tree
        self.found, self.number, self.lock = Found(), 0, threading.Lock()

    def folders(self, shard):
        """One for each build, alike: in/ with the shard's files, REF, and what is written."""
        with self.lock:
            self.number += 1
            base = self.tree / f"run{self.number}"
        for side in ("old", "new"):
            (base / side).mkdir(parents=True)
            (base / side / "in").symlink_to(shard)
            (base / side / "REF").symlink_to(TESTDATA / "photo.tif")
        return base

    def run(self, job, command, words, shard, stdin=None):
        """Runs both, compares, and returns the folder of what was written."""
        base = self.folders(shard)
        done = [program.run(base / side, command, words, stdin) for program, side in zip(self.programs, ("old", "new"))]
        self.found.count("runs", 2)
        where = f"{Path(shard).name} {stdin.name if stdin else ''}".strip()
        if done[0].returncode != done[1].returncode or done[1].returncode not in (0, 1, 2):
            self.found.add(Difference(job, where, "status", "", done[0].returncode, done[1].returncode))
        compare_lines(self.found, job, "stderr", done[0].stderr, done[1].stderr)
        if "--json" in words and (done[0].stdout or done[1].stdout):
            texts = [side.stdout.decode(errors="surrogateescape") for side in done]
            if self.programs[0].device != self.programs[1].device:
                texts = [re.sub(r'"device":"[^"]*"', '"device":""', text) for text in texts]
            self.found.count("lines of JSON", texts[0].count("\n"))
            compare_json(self.found, job, *texts)
        elif "--csv" in words:
            compare_csv(self.found, job, done[0].stdout, done[1].stdout)
        elif "-o" in words and "-" in words:
            for side, one in zip(("old", "new"), done):
                (base / side / "out").write_bytes(one.stdout)
        else:
            compare_lines(self.found, job, "text", done[0].stdout, done[1].stdout)
        written = [set(files_under(base / side)) - {"REF"} for side in ("old", "new")]
        for name in sorted(written[0] ^ written[1]):
            self.found.add(Difference(job, name, "files", "written", name in written[0], name in written[1]))
        for name in sorted(written[0] & written[1]):
            if (base / "old" / name).stat().st_size + (base / "new" / name).stat().st_size:
                compare_files(self.found, job, self.decoder, base / "old" / name, base / "new" / name, name)
        return base

    def transform(self, job, command, words, shard):
        self.drop(self.run(job, command, [*words, "--fast", "-r", "in/", "-o", "out"], shard))

    def encode(self, job, command, words, shard):
        self.drop(self.run(job, command, [*words, "-r", "in/", "-o", "out"], shard))

    def measure(self, job, command, words, shard):
        self.drop(self.run(job, command, [*words, "-r", "in/"], shard))

    def pipe(self, job, command, words, path):
        self.drop(self.run(job, command, words, path.parent, stdin=path))

    def together(self, name, shard):
        """One transfer from all files, saved, and applied again."""
        for method, command, words in (("stretch", "normalize", []), ("equalize", "equalize", []),
                                       ("percentile", "normalize", ["--method=percentile", "--channels=each"])):
            job = f"{method} {name}"
            base = self.run(job, command, [*words, "--fast", "--together", "--save-transfer=t.json", "-r", "in/", "-o",
                                           "out"], shard)
            if (base / "old/t.json").exists():
                shutil.copy(base / "old/t.json", self.tree / f"{base.name}.json")
                self.drop(self.run(job + ", applied", "apply", ["--fast", str(self.tree / f"{base.name}.json"), "-r", "in/",
                                                                "-o", "out"], shard))
            self.drop(base)

    @staticmethod
    def drop(base):
        shutil.rmtree(base)


# ---- Inputs -----------------------------------------------------------------------------------------------

def has_roles(path):
    """Whether a TIFF says that one of its pages is reduced or a mask. Builds before 0.2 take such a page for an image."""
    try:
        return any(int.from_bytes(page[254][2][:4], "big") & 5 for page in Tiff(path).pages if 254 in page)
    except (ValueError, IndexError, KeyError, struct.error):
        return False


def has_axes(path):
    """Whether a TIFF declares axes of its pages. Builds before 0.2 gave each plane a transfer of its own."""
    try:
        text = bytes(Tiff(path).pages[0][270][2])
    except (ValueError, IndexError, KeyError, struct.error):
        return False
    return text.startswith(b"ImageJ=") or b"<OME" in text or b'"axes"' in text


def image_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file()
                  and not has_roles(path) and not has_axes(path))


def stage(tree, name, paths):
    """A folder of copies whose names tell where they come from."""
    folder = tree / name
    folder.mkdir()
    for path, home in paths:
        shutil.copyfile(path, folder / "_".join(path.relative_to(home).parts))
    return folder


# Channels, TIFF's SampleFormat, bits.
KINDS = {"u8": (3, 1, 8), "u16": (1, 1, 16), "i16": (1, 2, 16), "u32": (1, 1, 32), "f32": (1, 3, 32), "f64": (1, 3, 64)}
COMPRESSIONS = ("deflate", "lzw", "packbits", "zstd", "lzma")


def large_images(folder, program, megabytes, names, compressions):
    """Noise and gradients, as TIFF in strips, those of 16 bits as PNG as well; and u8 and f32, compressed."""
    folder.mkdir()
    draw = random.Random(1)
    for name in names:
        channels, form, bits = KINDS[name]
        pitch = 1600 * channels * bits // 8
        height = (megabytes << 20) // pitch
        rows = [draw.randbytes(pitch) if y % 3 == 0 else bytes((x * 7 >> 6) + y & 63 for x in range(64)) * (pitch // 64)
                for y in range(48)]
        strips = -(-height // 48)
        body = b"".join(rows[y % 48][y % 64:] + rows[y % 48][:y % 64] for y in range(height))
        sizes = [48 * pitch] * (height // 48) + [height % 48 * pitch] * (strips * 48 != height)
        (folder / f"{name}.tif").write_bytes(tiff_file(body, [
            (256, 4, [1600]), (257, 4, [height]), (258, 3, [bits] * channels), (259, 3, [1]),
            (262, 3, [2 if channels == 3 else 1]), (273, 4, [8 + 48 * pitch * i for i in range(strips)]),
            (277, 3, [channels]), (278, 4, [48]), (279, 4, sizes), (339, 3, [form] * channels)]))
        if bits <= 16 and channels == 1 and form == 1:
            (folder / f"{name}.png").write_bytes(png(1600, height, bits, body))
    for compression in compressions:
        for name in ("u8", "f32"):
            program.run(folder, "normalize", [f"--compression={compression}", f"{name}.tif", "-o",
                                              f"{name}-{compression}.tif"])
    return folder


def groups(program, shards):
    """Files of the same sample type, depth and channels, by hundreds: they can share a transfer."""
    kinds = defaultdict(list)
    for shard in shards:
        lines = {}
        for line in program.run(shard.parent, "stats", ["--json", shard.name]).stdout.decode(errors="replace").splitlines():
            page = json.loads(line)
            lines.setdefault(page["file"], []).append(page)
        for file, pages in lines.items():
            if all("error" not in page for page in pages):
                kind = {(page["sample"], page["bits"], len(page["channels"])) for page in pages}
                if len(kind) == 1:
                    kinds[kind.pop()].append(shard.parent / file)
    for (sample, bits, channels), paths in sorted(kinds.items()):
        if len(paths) > 1:
            yield f"{sample}-{bits}-{channels}", paths[:60]


def compare(programs, decoder, folders, jobs, only="", step=1, large=True):
    """folders: of images, every step-th of which is taken. Returns what was found."""
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary).resolve()
        files = [(path, home) for home in folders for path in image_files(home)]
        files, sparse = files[::step], files[::5 * step]
        shards = [stage(tree, f"shard{i // SHARD}", files[i:i + SHARD]) for i in range(0, len(files), SHARD)]
        some = stage(tree, "some", sparse)
        comparison = Comparison(programs, decoder, tree)
        todo = []
        for job in STATISTICS:
            todo += [(comparison.measure, *job, shard) for shard in shards]
        for job in TRANSFORMS:
            todo += [(comparison.transform, *job, shard) for shard in shards]
        todo += [(comparison.encode, *job, some) for job in ENCODINGS]
        todo += [(comparison.pipe, *job, path) for job in PIPES for path in image_files(some)[::2]]
        if large:
            large = large_images(tree / "large", programs[0], 3, KINDS, COMPRESSIONS)
            bands = large_images(tree / "bands", programs[0], 40, ["u8", "u16", "f32"], ["deflate"])
            todo += [(comparison.measure, *job, large) for job in STATISTICS]
            todo += [(comparison.transform, *job, large) for job in TRANSFORMS]
            todo += [(comparison.transform, *job, bands) for job in TRANSFORMS if "little memory" in job[0]]
        for name, paths in groups(programs[0], shards):
            folder = stage(tree, name, [(path, path.parent) for path in paths])
            todo.append((comparison.together, "together", folder))
        if only:
            todo = [job for job in todo if only in str(job[1])]
        with ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(*job) for job in todo]:
                done.result()
        return comparison.found


def report(found, most):
    print(", ".join(f"{n} {what}" for what, n in sorted(found.compared.items())))
    for name, reason, _ in MEANT:
        cases = found.meant.get(name, [])
        if cases:
            print(f"meant: {name}: {len(cases)} ({len({case.file for case in cases})} files): {reason}")
    for job in sorted({job for _, job in found.bytes}):
        old, new = found.bytes["old", job], found.bytes["new", job]
        if old != new:
            print(f"size: {job}: {old} bytes became {new}, {100 * (new - old) / old:+.2f} %")
    shown = Counter()
    for difference in found.wrong:
        kind = difference.job, difference.kind, re.sub(r"\d+", "N", difference.key)
        shown[kind] += 1
        if shown[kind] <= most:
            print(f"DIFFERENT {difference}")
    for kind, n in shown.items():
        if n > most:
            print(f"DIFFERENT {' '.join(kind)}: {n - most} more")
    print(f"{len(found.wrong)} differences that are not meant")


# ---- Self-test ---------------------------------------------------------------------------------------------

SPOILT = """#!{python}
import pathlib, re, subprocess, sys
done = subprocess.run(["{program}", *sys.argv[1:]], capture_output=True, stdin=sys.stdin)
out, err, status = done.stdout, done.stderr, done.returncode
written = [path for path in pathlib.Path("out").rglob("*") if path.is_file()]
{spoil}
sys.stdout.buffer.write(out)
sys.stderr.buffer.write(err)
sys.exit(status)
"""
SPOILS = {
    "a digit of a mean": ("stats, nothing", r"""out = re.sub(rb'("mean":\d*)(\d)', lambda m: m[1] + b"%d" % (9 - int(m[2])), out, count=1)"""),
    "a missing page": ("stats, nothing", r"""out = out[:out.rfind(b"\n", 0, -1) + 1] if b"{{" in out else out"""),
    "a missing key": ("stats, nothing", r"""out = out.replace(b'"inf":0,', b"", 1)"""),
    "the spelling of a number": ("stats, nothing", r"""out = out.replace(b'"nan":0,', b'"nan":0.0,', 1)"""),
    "a row of CSV": ("as CSV", r"""out = out[:-3] + b"1\n" if b"," in out else out"""),
    "a sentence": ("stretch", r"""err += b"in/x.png: another sentence\n" """),
    "an exit status": ("stretch", r"""status = 1 - status if status < 2 and written else status"""),
    "a missing output": ("stretch", r"""[path.unlink() for path in written[:1]]"""),
    "a chunk": ("stretch", r"""
for path in written:
    data = path.read_bytes()
    if path.suffix == ".png" and "--help" not in sys.argv:
        at = data.find(b"IEND") - 4
        import zlib
        body = b"tEXtSoftware\0spoilt"
        path.write_bytes(data[:at] + (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big") + data[at:])
"""),
    "a field": ("stretch", r"""
for path in written:
    data = bytearray(path.read_bytes())
    if data[:4] == b"II*\0":
        at = int.from_bytes(data[4:8], "little")
        for i in range(int.from_bytes(data[at:at + 2], "little")):
            entry = at + 2 + 12 * i
            if data[entry:entry + 2] == b"\x06\x01":
                data[entry + 8] ^= 1
        path.write_bytes(data)
"""),
    "a sample": ("encoding --compression=none", r"""
for path in written:
    data = bytearray(path.read_bytes())
    if data[:4] == b"II*\0":
        at = int.from_bytes(data[4:8], "little")
        for i in range(int.from_bytes(data[at:at + 2], "little")):
            entry = at + 2 + 12 * i
            if data[entry:entry + 2] == b"\x11\x01":
                strip = int.from_bytes(data[entry + 8:entry + 12], "little")
                data[strip if data[entry + 4] == 1 else int.from_bytes(data[strip:strip + 4], "little")] ^= 1
        path.write_bytes(data)
"""),
}


def self_test(program, decoder):
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "images"
        folder.mkdir()
        for name in ("photo.tif", "good-rgb.png", "good-rgba.tif", "good-interlaced.png", "good-cmyk.tif", "good-i8.tif"):
            shutil.copy(TESTDATA / name, folder)
        first = Program(program, "cpu")
        for job in ("stats", "stretch", "clahe", "pipe", "together"):
            found = compare([first, Program(program, "cpu")], decoder, [folder], os.cpu_count(), job, large=False)
            if found.wrong or not found.compared["runs"]:
                wrong.append(f"{job}: a program differs from itself: {found.wrong[:3]}")
        for name, (job, spoil) in SPOILS.items():
            script = Path(temporary) / "spoilt"
            script.write_text(SPOILT.replace("{python}", sys.executable).replace("{program}", first.path)
                              .replace("{spoil}", spoil.strip()).replace("{{", "{"))
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
            found = compare([first, Program(script, "cpu")], decoder, [folder], os.cpu_count(), job, large=False)
            if not found.wrong:
                wrong.append(f"{name} was spoilt, and nothing was found")
    print("\n".join(wrong))
    print(f"self-test: {len(SPOILS)} ways to spoil results, {len(wrong)} wrong")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--corpus", type=Path, action="append")
    parser.add_argument("--decoder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", type=int, default=5, help="differences of a kind that are shown")
    parser.add_argument("--only", default="", help="jobs whose name has this word")
    parser.add_argument("--quick", action="store_true", help="every eighth file, no large images")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(self_test(options.old, options.new))
    devices = (options.device.split(",") * 2)[:2]
    programs = [Program(path, device) for path, device in zip((options.old, options.new), devices)]
    decoder = options.decoder or Path(programs[0].path).parent / "tests/dump_pixels"
    if not Path(decoder).exists():
        sys.exit(f"{decoder} is missing: name a dump_pixels with --decoder")
    corpus = options.corpus or [Path(os.environ.get("IMGSTAT_CORPUS") or HERE.parent.parent / "shared/corpus")]
    found = compare(programs, str(Path(decoder).resolve()), [TESTDATA, *[path for path in corpus if path.exists()]],
                    options.jobs, options.only, 8 if options.quick else 1, not options.quick)
    for path in corpus:
        if not path.exists():
            print(f"no corpus at {path}: testdata only")
    report(found, options.list)
    sys.exit(1 if found.wrong or not found.compared["runs"] else 0)


if __name__ == "__main__":
    main()
