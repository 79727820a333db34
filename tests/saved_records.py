#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads records that an example program saved by docs/record-format.md alone, and compares them with what other programs
say of the pixels: testdata/expected.json, and expected.jsonl of the corpus. Checks how many bytes a channel takes.

usage: saved_records.py MERGE_IMAGES"""

import json
import math
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import record_format

sys.path.append(str(Path(__file__).resolve().parent / "cli"))
from harness import environment  # noqa: E402

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent / "testdata"
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS") or HERE.parent.parent / "shared" / "corpus")
CORPUS_FILES, CORPUS_BYTES = 200, 4 << 20
KIB = 1024

try:
    import xxhash
except ImportError:
    xxhash = None


def measure(program, folder, *paths):
    """The record of files, or None and the sentence why there is none."""
    saved = folder / "saved.rec"
    done = subprocess.run([program, saved, folder / "transfer.json", *paths], capture_output=True, text=True, check=False,
                          timeout=600, env=environment())
    if done.returncode != 0:
        return None, done.stderr
    data = saved.read_bytes()
    out = record_format.read(data)
    if xxhash:
        names = sum(xxhash.xxh3_128_intdigest(os.fsencode(path)) for path in paths) % 2**128
        assert out["digest"] == names and xxhash.xxh3_64_intdigest(data[:-8]) == int.from_bytes(data[-8:], "little"), paths
    assert out["files"] == len(paths) and out["failures"] == [] and out["shards"] == 0 and len(out["records"]) == 1
    return out["records"][0], len(data)


def close(got, expected, relative=1e-12):
    if isinstance(expected, int) and isinstance(got, int):
        return got == expected
    return math.isclose(float(got), float(expected), rel_tol=relative, abs_tol=1e-300)


def nearest(channel, sample, percent):
    rank = max(math.ceil(Fraction(channel["n"]) * Fraction(str(percent)) / 100), 1)
    for key, count in sorted(channel["bins"].items()):
        rank -= count
        if rank <= 0:
            return record_format.value(sample, key)
    raise AssertionError("fewer samples than n")


def check_channel(name, record, channel, expected, width):
    sample = record["sample"]
    value = lambda key: record_format.value(sample, key)  # noqa: E731
    for key in ("nan", "nodata"):
        assert channel[key] == expected[key], (name, key)
    assert channel["n"] == expected["count"] and channel["pinf"] + channel["ninf"] == expected["inf"], name
    if channel["n"] == 0:
        return
    assert sum(channel["bins"].values()) == channel["n"], name
    for end in ("min", "max"):
        assert close(value(channel[f"{end}_key"]), expected[end], 0), (name, end)
        file, page, index = channel[f"{end}_at"]
        assert Path(file).name == name and page == 0, (name, file, page)
        assert [index % width, index // width] == expected[f"{end}_at"], (name, end)
    narrow = record_format.WIDTH[sample] <= 16
    total, squares = channel["sum"], channel["sum2"]
    if narrow:
        total = sum(Fraction(value(key)) * count for key, count in channel["bins"].items())
        squares = sum(Fraction(value(key)) ** 2 * count for key, count in channel["bins"].items())
        for percent, number in expected["nearest"].items():
            assert nearest(channel, sample, percent) == number, (name, percent)
        most = max(channel["bins"].values())
        assert value(min(key for key, count in channel["bins"].items() if count == most)) == expected["mode"], name
    if expected.get("sum") is not None:
        assert close(total, expected["sum"]), (name, float(total), expected["sum"])
    if expected.get("stddev") is not None and not (sample[0] == "f" and sum(channel.get("overflow", (0, 0)))):
        variance = (squares - Fraction(total) ** 2 / channel["n"]) / channel["n"]
        assert math.isclose(math.sqrt(variance), expected["stddev"], rel_tol=1e-9, abs_tol=1e-12), name


def check_testdata(program, folder):
    expected = json.loads((TESTDATA / "expected.json").read_text())
    compared, samples = 0, set()
    for name, about in sorted(expected.items()):
        if "pages" not in about or len(about["pages"]) != 1:
            continue
        record, why = measure(program, folder, TESTDATA / name)
        if record is None:
            assert "damaged" in why or not name.startswith("good-"), why
            continue
        page = about["pages"][0]
        assert record["sample"] == page["sample"] and record["bits"] == page["bits"], name
        assert record["photometric"] == page["photometric"] and record["pages"] == record["files"] == 1, name
        assert record["names"] == [channel["name"] for channel in page["channels"]], name
        for channel, numbers in zip(record["channels"], page["channels"]):
            check_channel(name, record, channel, numbers, page["width"])
            compared += 1
        samples.add(record["sample"])
    assert samples == set(record_format.SAMPLES), f"no image of {set(record_format.SAMPLES) - samples}"
    return compared


def check_merging(program, folder):
    """Two files together have the bins of both, and the first place by name."""
    names = ("good-example.png", "good-example.tif")
    paths = [TESTDATA / name for name in names]
    both, _ = measure(program, folder, *reversed(paths))
    one, _ = measure(program, folder, paths[0])
    assert both["files"] == 2 and both["pages"] == 2
    assert both["channels"][0]["bins"] == {key: 2 * count for key, count in one["channels"][0]["bins"].items()}
    assert both["channels"][0]["min_at"] == (str(paths[0]), 0, one["channels"][0]["min_at"][2])


def check_corpus(program, folder):
    """Counts of real files, and the sizes of their channels."""
    rows = [json.loads(line) for line in (CORPUS / "expected.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row.get("class") == "ok" and row.get("pages", 1) == 1 and row.get("stats") and
            row.get("dtype") in ("uint8", "uint16") and (CORPUS / row["path"]).stat().st_size <= CORPUS_BYTES]
    rows.sort(key=lambda row: (row["dtype"], row["path"]))
    rows = rows[::max(1, len(rows) // CORPUS_FILES)]
    compared, largest = 0, {8: 0, 12: 0, 16: 0}
    for row in rows:
        record, size = measure(program, folder, CORPUS / row["path"])
        if (record is None or record["photometric"] not in ("gray", "rgb") or
                len(record["channels"]) != len(row["stats"])):
            continue
        texts = 2 * len(os.fsencode(CORPUS / row["path"])) + 200
        distinct = 0
        for channel, numbers in zip(record["channels"], row["stats"]):
            if channel["n"] != numbers["n"]:  # expanded, masked
                break
            total = sum(record_format.value(record["sample"], key) * count for key, count in channel["bins"].items())
            assert total == numbers["sum"] and channel["min_key"] == numbers["min"], row["path"]
            assert channel["max_key"] == numbers["max"] and len(channel["bins"]) == numbers["distinct"], row["path"]
            distinct = max(distinct, len(channel["bins"]))
            compared += 1
        bits = 8 if record["sample"] == "u8" else 12 if distinct <= 4096 else 16
        largest[bits] = max(largest[bits], (size - texts) / len(record["channels"]))
    print(f"bytes of a channel, at most: {largest[8]:.0f} of 8 bits, {largest[12]:.0f} of up to 4,096 values in 16 bits, "
          f"{largest[16]:.0f} of more")
    assert largest[8] <= KIB and largest[12] <= 6 * KIB and largest[16] <= 128 * KIB
    assert compared > 20, compared
    return compared


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        compared = check_testdata(program, folder)
        check_merging(program, folder)
        corpus = check_corpus(program, folder) if (CORPUS / "expected.jsonl").exists() else None
    if not xxhash:
        print("skipped: hashes, which need the package xxhash of Python")
    if corpus is None:
        print(f"skipped: no corpus at {CORPUS}; IMGSTAT_CORPUS names another place")
    print(f"{compared} channels compared, {corpus or 0} of the corpus")
    sys.exit(0 if compared > 50 else 1)


if __name__ == "__main__":
    main()
