#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the Python package beside numpy, scikit-image, OpenCV, kornia-rs and PyTorch, on arrays in memory.

The functions of a row take turns, so that what else the machine does falls on all of them alike; reported are the
smallest times in ms, as a table in Markdown, and how many times faster imgstat is than the fastest other one. Rows are of
one question, not of one answer: most others read percentiles off 256 bins, or equalize 16 bits as 8. What is not
installed is left out. --threads limits imgstat, OpenCV and PyTorch; numpy and scikit-image use one. On a machine that does other
things as well, --processor counts the processor time of all threads instead.
"""
import argparse
import importlib
import os
import time

import numpy as np

import imgstat


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


exposure, cv2, kornia, torch = map(module, ("skimage.exposure", "cv2", "kornia_rs.imgproc", "torch"))


def photograph(dtype, height, width, seed=1):
    """Smooth shades and noise: a beta distribution along a sweep."""
    source = np.random.default_rng(seed)
    shade = np.add.outer(np.linspace(0.1, 0.5, height), np.linspace(0, 0.3, width))
    values = shade + source.normal(0, 0.03, (height, width))
    values = np.clip(values, 0, 1)
    return (values * np.iinfo(dtype).max).astype(dtype) if np.dtype(dtype).kind == "u" else values.astype(dtype)


def rows(x, threads):
    """Names of questions, and who answers: {library: function}."""
    own = {"threads": threads}
    u8, u16, is_float = x.dtype == np.uint8, x.dtype == np.uint16, x.dtype.kind == "f"
    tensor = torch and (u8 or is_float) and torch.from_numpy(x)
    ends = [0.0, 1.0] if is_float else [0, int(np.iinfo(x.dtype).max) + 1]
    reference = photograph(x.dtype, *x.shape, seed=2) // 2 if not is_float else None
    yield "min, max, mean, std", {
        "imgstat": lambda: imgstat.stats(x, **own),
        "numpy": lambda: (x.min(), x.max(), x.mean(), x.std()),
        "OpenCV": cv2 and (lambda: (cv2.minMaxLoc(x), cv2.meanStdDev(x))),
        "PyTorch": torch and is_float and (lambda: (tensor.aminmax(), torch.std_mean(tensor, correction=0)))}
    yield "histogram, 256 bins", {
        "imgstat": lambda: imgstat.histogram(x, bins=256, range=(ends[0], ends[1] if is_float else ends[1] - 1), **own),
        "numpy": lambda: np.bincount(x.ravel(), minlength=256) if u8 else np.histogram(x, 256, ends),
        "OpenCV": cv2 and (lambda: cv2.calcHist([x], [0], None, [256], ends)),
        "kornia-rs": kornia and u8 and (lambda: kornia.compute_histogram(x[..., None], 256)),
        "PyTorch": (torch and u8 and (lambda: torch.bincount(tensor.ravel(), minlength=256)))
        or (torch and is_float and (lambda: torch.histc(tensor, 256, 0, 1)))}
    yield "percentiles 1, 50, 99", {
        "imgstat": lambda: imgstat.percentile(x, [1, 50, 99], **own),
        "numpy": lambda: np.percentile(x, [1, 50, 99])}
    yield "stretch to the full range", {
        "imgstat": lambda: imgstat.normalize(x, **own),
        "scikit-image": exposure and (lambda: exposure.rescale_intensity(x)),
        "OpenCV": cv2 and (lambda: cv2.normalize(x, None, 0, ends[1] - (not is_float), cv2.NORM_MINMAX)),
        "PyTorch": torch and is_float and (lambda: (tensor - tensor.min()) / (tensor.max() - tensor.min()))}
    yield "equalize", {
        "imgstat": lambda: imgstat.equalize(x, **own),
        "scikit-image": exposure and (lambda: exposure.equalize_hist(x)),
        "OpenCV": cv2 and u8 and (lambda: cv2.equalizeHist(x)),
        "kornia-rs": kornia and u8 and (lambda: kornia.equalize_hist(x[..., None]))}
    if not is_float:
        clahe = cv2 and cv2.createCLAHE(4, (8, 8))
        yield "CLAHE, 8 x 8 tiles", {
            "imgstat": lambda: imgstat.clahe(x, **own),
            "scikit-image": exposure and x.size <= 1 << 22 and (lambda: exposure.equalize_adapthist(x)),
            "OpenCV": clahe and (lambda: clahe.apply(x)),
            "kornia-rs": kornia and u8 and (lambda: kornia.clahe(x[..., None], 4.0, (8, 8)))}
        yield "match another image", {
            "imgstat": lambda: imgstat.match(x, reference, **own),
            "scikit-image": exposure and (lambda: exposure.match_histograms(x, reference))}
    if u8 or u16:
        yield "equalize, values of scikit-image", {
            "imgstat": lambda: imgstat.exposure.equalize_hist(x, like="skimage"),
            "scikit-image": exposure and (lambda: exposure.equalize_hist(x))}


def measure(answers, rounds, seconds, clock=time.perf_counter):
    """The smallest time of each library, in ms: `rounds` turns each, fewer of slow ones."""
    best = {}
    start = time.perf_counter()
    for turn in range(rounds):
        if turn > 1 and time.perf_counter() - start > seconds:
            break
        for name, function in answers.items():
            begun = clock()
            function()
            taken = (clock() - begun) * 1e3
            best[name] = min(best.get(name, taken), taken)
    return best


def overhead(rounds, clock):
    """Microseconds of a call for an image of 16 x 16."""
    x, out = np.zeros((16, 16), "u1"), np.zeros((16, 16), "u1")
    x[3] = 9
    calls = {"stats": lambda: imgstat.stats(x), "percentile": lambda: imgstat.percentile(x, 50),
             "normalize, out=": lambda: imgstat.normalize(x, out=out), "equalize": lambda: imgstat.equalize(x)}
    for name, call in calls.items():
        best = measure({name: lambda call=call: [call() for _ in range(1000)]}, rounds, 60, clock)[name]
        print(f"| {name} | {best:.1f} us |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096, help="height and width of the images (default: 4096)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each function (default: 9)")
    parser.add_argument("--seconds", type=float, default=20, help="about, for each row (default: 20)")
    parser.add_argument("--threads", type=int, default=0, help="of imgstat, OpenCV and PyTorch (default: all)")
    parser.add_argument("--processor", action="store_true", help="count processor time")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
    if cv2:
        cv2.setNumThreads(options.threads or os.cpu_count())
    if torch:
        torch.set_num_threads(options.threads or os.cpu_count())
    libraries = ["imgstat", "numpy", "scikit-image", "OpenCV", "kornia-rs", "PyTorch"]
    versions = {name: getattr(module(code), "__version__", "absent") for name, code in zip(
        libraries, ["imgstat", "numpy", "skimage", "cv2", "kornia_rs", "torch"], strict=True)}
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"{options.size} x {options.size}, ms\n")
    print("| | " + " | ".join(libraries) + " | imgstat is faster |")
    print("|---|" + "---:|" * (len(libraries) + 1))
    for dtype in ("uint8", "uint16", "float32"):
        for name, answers in rows(photograph(dtype, options.size, options.size), options.threads):
            best = measure({library: f for library, f in answers.items() if f}, options.rounds, options.seconds,
                           clock)
            cells = [f"{best[library]:.1f}" if library in best else "" for library in libraries]
            others = [taken for library, taken in best.items() if library != "imgstat"]
            print(f"| {dtype}: {name} | " + " | ".join(cells) + f" | {min(others) / best['imgstat']:.1f}x |", flush=True)
    print("\n| a call, 16 x 16 | |\n|---|---:|")
    overhead(options.rounds, clock)


if __name__ == "__main__":
    main()
