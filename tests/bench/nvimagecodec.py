#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nvImageCodec: files in memory to pixels in the memory of a GPU, N at a time: the least time of ten calls.
tests/bench/decode_files does the same with imgstat.

usage: nvimagecodec.py N FILE...   (NVIDIA's packages nvidia-nvimgcodec-cu13, nvidia-nvtiff-cu13, nvidia-libnvcomp-cu13)
"""

import sys
import time
from pathlib import Path

from nvidia import nvimgcodec

RUNS = 10


def main():
    n, names = int(sys.argv[1]), sys.argv[2:]
    decoder = nvimgcodec.Decoder()
    files = [Path(name).read_bytes() for name in names]
    files = [files[i % len(files)] for i in range(n)]
    how = nvimgcodec.DecodeParams(color_spec=nvimgcodec.ColorSpec.UNCHANGED, allow_any_depth=True)
    least, images = 1e9, None
    for _ in range(RUNS):
        begin = time.monotonic()
        images = decoder.decode(files, params=how, images=images)
        images[-1].__cuda_array_interface__
        least = min(least, time.monotonic() - begin)
    pixels = sum(image.height * image.width * image.num_channels for image in images)
    print(f"nvImageCodec {nvimgcodec.__version__}: {n} files, {1e3 * least:.2f} ms, {pixels / least * 1e-9:.1f} GB/s of 8-bit pixels")


main()
