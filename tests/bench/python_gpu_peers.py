#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the Python package beside CuPy, cuCIM and PyTorch, on arrays in the memory of a GPU.

The functions of a row take turns; reported are the smallest times in ms until the GPU is done, as a table in Markdown. Rows
are of one question, not of one answer: cuCIM reads percentiles off 256 bins and returns floating-point values. What is not
installed is left out. It needs cupy.
"""
import argparse

import cupy

import imgstat
from python_peers import measure, module, photograph

exposure, torch = module("cucim.skimage.exposure"), module("torch")


def rows(x):
    """Names of questions, and who answers: {library: function}."""
    is_float = x.dtype.kind == "f"
    tensor = torch and is_float and torch.from_dlpack(x)
    out = cupy.empty_like(x)
    yield "min, max, mean, std", {
        "imgstat": lambda: imgstat.stats(x).std,
        "CuPy": lambda: [float(y) for y in (x.min(), x.max(), x.mean(dtype="f8"), x.std(dtype="f8"))],
        "PyTorch": torch and is_float and (
            lambda: [float(y) for y in (*tensor.aminmax(), *torch.std_mean(tensor, correction=0))])}
    yield "percentiles 1, 50, 99", {
        "imgstat": lambda: imgstat.percentile(x, [1, 50, 99]),
        "CuPy": lambda: cupy.percentile(x, cupy.asarray([1, 50, 99])).get()}
    yield "stretch to the full range", {
        "imgstat": lambda: imgstat.normalize(x, out=out),
        "cuCIM": exposure and (lambda: exposure.rescale_intensity(x)),
        "PyTorch": torch and is_float and (lambda: (tensor - tensor.min()) / (tensor.max() - tensor.min()))}
    yield "equalize", {
        "imgstat": lambda: imgstat.equalize(x, out=out),
        "cuCIM": exposure and (lambda: exposure.equalize_hist(x))}
    if not is_float:
        yield "CLAHE, 8 x 8 tiles", {
            "imgstat": lambda: imgstat.clahe(x, out=out),
            "cuCIM": exposure and (lambda: exposure.equalize_adapthist(x))}


def until_done(function):
    def call():
        function()
        cupy.cuda.Device().synchronize()
    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096, help="height and width of the images (default: 4096)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each function (default: 9)")
    options = parser.parse_args()
    libraries = ["imgstat", "CuPy", "cuCIM", "PyTorch"]
    for name, code in zip(libraries, ["imgstat", "cupy", "cucim", "torch"], strict=True):
        print(name, getattr(module(code), "__version__", "absent"))
    print(f"{options.size} x {options.size}, ms\n\n| | " + " | ".join(libraries) + " | imgstat is faster |")
    print("|---|" + "---:|" * (len(libraries) + 1))
    for dtype in ("uint8", "uint16", "float32"):
        for name, answers in rows(cupy.asarray(photograph(dtype, options.size, options.size))):
            best = measure({library: until_done(f) for library, f in answers.items() if f}, options.rounds, 20)
            cells = [f"{best[library]:.3f}" if library in best else "" for library in libraries]
            others = [taken for library, taken in best.items() if library != "imgstat"]
            faster = f"{min(others) / best['imgstat']:.1f}x" if others else ""
            print(f"| {dtype}: {name} | " + " | ".join(cells) + f" | {faster} |", flush=True)


if __name__ == "__main__":
    main()
