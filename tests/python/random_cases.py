#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws arrays and calls at random, and makes each call in several ways: one thread and three, other strides, planes, as
one of a batch, by a chain, on a GPU. All must give the same bits.

Prints each case in which a way differs, and how to repeat it; at the end a digest of all results, which IMGSTAT_CPU=portable
and so on must not change. Exit status 1 if a case differs.
"""
import argparse
import hashlib
import sys
import time

import numpy as np

import imgstat

TYPES = "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split()
APART = "samples that lie apart in the GPU"  # which may be refused
NUMBERS = ("channels count nan inf nodata masked min max min_at max_at sum mean var std median mode entropy low high "
           "skewness kurtosis percentiles").split()


def draw_samples(rng, dtype, shape):
    """Samples as files have them, and as no file should."""
    kind = rng.choice(["even", "dark", "smooth", "few", "constant", "ends", "runs", "normal"])
    n = int(np.prod(shape))
    if kind == "smooth":
        x = np.cumsum(rng.normal(size=n)).reshape(shape)
        x = (x - x.min()) / (np.ptp(x) or 1)
    elif kind == "few":
        x = rng.choice(rng.random(int(rng.integers(1, 5))), shape)
    elif kind == "runs":
        x = np.repeat(rng.random(n // 7 + 1), 7)[:n].reshape(shape)
    elif kind == "constant":
        x = np.full(shape, rng.random())
    elif kind == "ends":
        x = rng.choice([0.0, 1.0], shape, p=[0.3, 0.7])
    elif kind == "normal":
        x = np.clip(rng.normal(0.5, 0.02, shape), 0, 1)
    else:
        x = rng.random(shape) ** (1 if kind == "even" else 8)
    if dtype[0] != "f":
        info = np.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        if rng.random() < 0.4:  # part of the type's range
            low, high = sorted(int(v) for v in rng.integers(low, high, 2, info.dtype, endpoint=True))
        above = np.minimum(np.floor(x * float(high - low)), np.nextafter(2.0**64, 0)).astype("u8")
        return (np.minimum(above, np.uint64(high - low)) + np.uint64(low % 2**64)).astype(dtype)  # modulo 2^64
    scale, shift = 10.0 ** rng.integers(-4, 5), rng.choice([0, -0.5, 1000])
    with np.errstate(over="ignore"):
        x = ((x + shift) * scale).astype(dtype)
    flat = x.reshape(-1)
    for value in (np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).max, np.finfo(dtype).tiny / 4):
        if rng.random() < 0.15 and n:
            flat[rng.integers(0, n, int(rng.integers(1, max(2, n // 10))))] = value
    return flat.reshape(shape)


def draw_array(rng, most):
    dtype = str(rng.choice(TYPES))
    pixels = int(np.exp(rng.uniform(0, np.log(most))))
    width = int(np.clip(np.exp(rng.uniform(0, np.log(pixels + 1))), 1, pixels))
    channels = int(rng.choice([0, 0, 1, 2, 3, 3, 4, 5]))
    shape = (max(1, pixels // width), width) + ((channels,) if channels else ())
    return draw_samples(rng, dtype, shape)


def shared_words(rng, x):
    words = {"axes": "HWC"} if x.ndim == 3 else {}
    if rng.random() < 0.3 and x.size:
        words["nodata"] = x.reshape(-1)[rng.integers(x.size)].item()
    if rng.random() < 0.3:
        words["mask"] = rng.random(x.shape[:2]) < rng.choice([0.02, 0.5, 0.97])
        if rng.random() < 0.3:
            words["mask"] = np.sort(words["mask"], axis=1)
    if x.dtype.kind == "u" and x.itemsize <= 2 and rng.random() < 0.15:
        words["bits"] = int(rng.integers(max(1, int(x.max()).bit_length()), 8 * x.itemsize + 1))
    return words


def draw_statistics(rng, x):
    words = shared_words(rng, x) | {"median": True, "mode": True, "shape": True}
    if rng.random() < 0.7:
        words["percentiles"] = sorted(float(v) for v in rng.choice([0, 0.1, 1, 2.5, 25, 50, 75, 99, 99.9, 100], 3))
        words["method"] = str(rng.choice(["linear", "nearest"]))
    if rng.random() < 0.5:
        words["bins"] = int(rng.choice([1, 7, 64, 256, 1000]))
        if rng.random() < 0.5:
            a, b = sorted(float(v) for v in rng.normal(0, 200, 2))
            words["range"] = (a, b + 1)
    return "stats", words


def draw_transform(rng, x):
    words = shared_words(rng, x)
    name = str(rng.choice(["normalize", "normalize", "normalize", "equalize", "clahe", "match", "apply"]))
    if name == "clahe" and x.dtype.str[1:] not in ("u1", "i1", "u2", "i2"):
        name = "normalize"
    if rng.random() < 0.6:
        words["channels"] = str(rng.choice(["each", "joint", "luma"]))
    if rng.random() < 0.25:
        words["dtype"] = str(rng.choice(["uint8", "uint16", "float"]))
    if x.ndim == 3 and x.shape[2] in (2, 4) and rng.random() < 0.4:
        words["alpha"] = x.shape[2] - 1
    if name == "normalize":
        way = rng.integers(5)
        if way == 1:
            words["clip"] = tuple(float(v) for v in rng.choice([0, 0.1, 1, 5, 40], 2))
        elif way == 2:
            words |= {"method": "meanstd", "mean": "40%", "std": "20%"}
        elif way == 3:
            words["gamma"] = float(rng.choice([0.45, 1.7, 2.2]))
        elif way == 4:
            words["in_range"] = ("10%", "90%")
    elif name == "clahe":
        words["tiles"] = tuple(int(v) for v in rng.integers(1, 9, 2))
        words["clip_limit"] = float(rng.choice([1, 2, 4, 40]))
    return name, words


def call(name, words, x, reference=None, out_of=lambda y: y):
    """The result as bytes."""
    try:
        if name == "stats":
            made = imgstat.stats(x, **words)
            return stats_bytes(made[1] if "N" in words.get("axes", "") else made)
        if name == "match":
            return array_bytes(out_of(imgstat.match(x, reference, **words)))
        if name == "apply":
            use = {k: v for k, v in words.items() if k in ("mask", "nodata", "alpha", "bits", "axes", "device", "threads")}
            made = {k: v for k, v in words.items() if k in ("channels", "dtype")}
            record = imgstat.Record.of(x, **use)
            return array_bytes(out_of(record.transfer("percentile", clip=(1, 2), **made).apply(x, **use)))
        if name == "chain":
            made = {k: v for k, v in words.items() if k != "mask"}
            return array_bytes(out_of(imgstat.Chain(example=x, **made)(x, mask=words.get("mask"))))
        return array_bytes(out_of(getattr(imgstat, name)(x, **words)))
    except (imgstat.Error, ValueError) as error:
        return f"{type(error).__name__}: {error}".encode()


def number(stats, name):
    try:
        return getattr(stats, name)
    except AttributeError:  # not measured of this type
        return None


def stats_bytes(stats):
    text = [f"{name} {number(stats, name)!r}" for name in NUMBERS]
    bins = number(stats, "histogram")
    for h in bins if isinstance(bins, tuple) else (bins,) if bins else ():
        text.append(f"{h.counts.tolist()} {h.edges.tolist()}" if len(h) < 5000 else hashlib.sha256(bytes(memoryview(h.counts))).hexdigest())
    return "\n".join(text).encode()


def array_bytes(y):
    y = np.asarray(y)
    return f"{y.dtype} {y.shape} ".encode() + np.ascontiguousarray(y).tobytes()


def spread(rng, x, most=(4, 4, 4)):
    """The same values with other strides: of less than `most` rows, pixels and samples."""
    steps = [int(rng.integers(1, m)) for m in most[:x.ndim]]
    wide = np.zeros([n * s + 2 * (m > 2) for n, s, m in zip(x.shape, steps, most)], x.dtype)
    view = wide[tuple(slice(int(m > 2), n * s + (m > 2), s) for n, s, m in zip(x.shape, steps, most))]
    view[...] = x
    return view


def planar(x):
    return None if x is None else np.ascontiguousarray(x.transpose(2, 0, 1))


def interleaved(y):
    return np.asarray(y).transpose(1, 2, 0)


def ways(rng, name, words, x, reference, gpu):
    """Ways to make a call: a name, the arguments of call()."""
    whole = x.ndim == 2 or name in ("equalize", "clahe") or words.get("channels") == "luma"
    alone = "mask" in words or name == "apply"
    several = np.stack([x[::-1], x, x[:, ::-1]])
    in_batch = {"axes": "N" + words.get("axes", "HW")}
    cpu = words | {"device": "cpu"}
    yield "one thread", (name, cpu | {"threads": 1}, x, reference)
    yield "three threads", (name, cpu | {"threads": 3}, x, reference)
    yield "strides", (name, cpu, spread(rng, x), reference)
    if not whole:
        yield "planes", (name, cpu | {"axes": "CHW"}, planar(x), planar(reference), interleaved)
    chain = None
    if x.itemsize <= 2 and name in ("normalize", "equalize") and not {"gamma", "method", "in_range"} & set(words):
        chain = words | {"method": "equalize" if name == "equalize" else "percentile" if "clip" in words else "stretch"}
        yield "a chain", ("chain", chain, x)
    if not alone:
        yield "one of three", (name, cpu | in_batch, several, reference, lambda y: np.asarray(y)[1])
    if not gpu:
        return
    yield "copied to the GPU", (name, words | {"device": "cuda:0"}, x, reference)
    words = words | ({"mask": gpu(words["mask"])} if "mask" in words else {})
    ref = gpu(reference)
    yield "in the GPU", (name, words, gpu(x), ref, gpu.back)
    if chain:
        yield "a chain in the GPU", ("chain", chain | words, gpu(x), None, gpu.back)
    yield "strides in the GPU", (name, words, gpu.like(spread(rng, x, (4, 2, 2))), ref, gpu.back)
    yield APART, (name, words, gpu.like(spread(rng, x)), ref, gpu.back)
    if not alone:
        yield "one of three in the GPU", (name, words | in_batch, gpu(several), ref, lambda y: gpu.back(y)[1])
    if not whole:
        yield APART, (name, words | {"axes": "CHW"}, gpu(planar(x)), gpu(planar(reference)), lambda y: interleaved(gpu.back(y)))


def run_case(seed, most=30000, gpu=None):
    """Returns the result, what the call was, and the ways that gave another result with it."""
    rng = np.random.default_rng(seed)
    x = draw_array(rng, most)
    name, words = (draw_statistics if rng.random() < 0.4 else draw_transform)(rng, x)
    reference = draw_samples(rng, x.dtype.str[1:], (9, 31) + x.shape[2:]) if name == "match" else None
    first, others = None, []
    for way, arguments in ways(rng, name, words, x, reference, gpu):
        result = call(*arguments)
        if first is None:
            first = result
        elif result != first and not (way == APART and result.startswith(b"ValueError") and b"in GPU memory" in result):
            others.append((way, result))
    shown = {k: f"{v.mean():.2f}" if k == "mask" else v for k, v in words.items()}
    return first, f"{name} of {x.dtype} {x.shape} {shown}", others


class Gpu:
    def __init__(self):
        import cuda_arrays
        self.arrays, self.cuda = cuda_arrays, cuda_arrays.driver()

    def __call__(self, x):
        return None if x is None else self.arrays.DeviceArray(self.cuda, x)

    def like(self, view):
        return self.arrays.DeviceArray(self.cuda, view.base).like(view)

    def back(self, y):
        return self.arrays.to_host(self.cuda, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9, help="ends earlier")
    parser.add_argument("--most", type=int, default=30000, metavar="PIXELS")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--print", action="store_true", help="also prints the digest of each case")
    args = parser.parse_args()
    gpu, digest, done, different = Gpu() if args.gpu else None, hashlib.sha256(), 0, 0
    end = time.monotonic() + args.seconds
    for seed in range(args.first, args.first + args.cases):
        if time.monotonic() > end:
            break
        result, what, others = run_case(seed, args.most, gpu)
        for way, other in others:
            print(f"--first {seed} --cases 1: {what}: {way}: {other[:150]!r} instead of {result[:150]!r}", flush=True)
        different += len(others) > 0
        digest.update(result)
        done += 1
        if args.print:
            print(seed, hashlib.sha256(result).hexdigest()[:12], what)
    print(f"{done} cases, {different} of them differ, digest {digest.hexdigest()[:16]}")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
