#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times calls of the Python package for arrays on a GPU and for small arrays of the host. It needs numpy.

usage: PYTHONPATH=BUILD/python python_gpu.py [IMAGES]   IMAGES: of 512 x 512 in the batch (default 10000, up to 10.5 GB)
"""
import ctypes
import sys
import time
from pathlib import Path

import numpy as np

import imgstat

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import cuda_arrays  # noqa: E402

SIDE = 512


def least(function, times, clock=time.perf_counter):
    """The least time of a call, and of all that it has enqueued."""
    took = []
    for _ in range(times):
        cuda.cuCtxSynchronize()
        begin = clock()
        function()
        cuda.cuCtxSynchronize()
        took.append(clock() - begin)
    return min(took)


def calls(name, function, n=2000):
    function()
    cuda.cuCtxSynchronize()
    begin = time.perf_counter()
    for _ in range(n):
        function()
    returned = time.perf_counter() - begin
    cuda.cuCtxSynchronize()
    done = time.perf_counter() - begin
    print(f"{name}: returns after {returned / n * 1e6:.1f} us, done after {done / n * 1e6:.1f} us")


def batch_of(host, n, every):
    """n images, every so many a picture, the others constant."""
    image = cuda_arrays.DeviceArray(cuda, host)
    batch = cuda_arrays.DeviceArray(cuda, np.zeros((1, 1), host.dtype))
    batch.shape = (n, SIDE, SIDE)
    cuda.cuMemAlloc_v2(ctypes.byref(batch.address), ctypes.c_size_t(n * host.nbytes))
    cuda.cuMemsetD8_v2(batch.address, ctypes.c_ubyte(77), ctypes.c_size_t(n * host.nbytes))
    for i in range(0, n, every):
        cuda.cuMemcpyDtoD_v2(ctypes.c_uint64(batch.address.value + i * host.nbytes), image.address,
                             ctypes.c_size_t(host.nbytes))
    return batch


def batch(n, dtype, host, every):
    series = batch_of(host, n, every)
    jobs = [("stats", lambda: imgstat.stats(series, axes="NHW"))]
    if host.dtype.kind == "u":
        jobs += [(f"{function.__name__} in place", lambda function=function: function(series, axes="NHW", out=series))
                 for function in (imgstat.equalize, imgstat.normalize)]
    for name, function in jobs:
        took = least(function, 3)
        print(f"{name} of {n} images of {dtype}, one in {every} a picture: {took * 1e3:.1f} ms, "
              f"{n * host.nbytes / took / 1e9:.0f} GB/s")
    cuda.cuMemFree_v2(series.address)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    host = np.random.default_rng(1).integers(0, 256, (SIDE, SIDE), "u1")
    image, out = cuda_arrays.DeviceArray(cuda, host), cuda_arrays.DeviceArray(cuda, np.zeros_like(host))
    chain = imgstat.Chain("equalize", image)
    calls("equalize into out", lambda: imgstat.equalize(image, out=out))
    calls("Chain into out", lambda: chain(image, out=out))
    calls("equalize", lambda: imgstat.equalize(image))
    calls("stats, read", lambda: imgstat.stats(image).mean)
    smooth = np.add.outer(np.sin(np.arange(SIDE) / 99), np.cos(np.arange(SIDE) / 77)) / 4 + 0.5
    for dtype in "u1", "u2", "f4":
        for every in 9, 1:
            batch(n, dtype, (smooth * 200 * (257 if dtype == "u2" else 1) + host / 64).astype(dtype), every)
    for dtype in ("u1", "f4"):
        small = np.zeros((32, 32), dtype)
        for name, function in (("stats", imgstat.stats), ("normalize", imgstat.normalize)):
            took = least(lambda: [function(small) for _ in range(1000)], 15, time.process_time)
            print(f"{name} of 32 x 32 {dtype} on the host: {took * 1e3:.1f} us of processor time")


cuda = cuda_arrays.driver()
if __name__ == "__main__":
    main()
