# SPDX-License-Identifier: MIT
"""What grows without end: memory of Python, of malloc and of the process over many of the same calls. A call that
loses the smallest piece of malloc, of 32 bytes, is found. 10^5 calls a round; in ctest 700, but for IMGSTAT_TEST_FULL."""
import copy
import ctypes
import gc
import io
import math
import os
import pickle
import resource
import tracemalloc

import pytest

import imgstat

np = pytest.importorskip("numpy")
if os.environ.get("IMGSTAT_TEST_SMALL") == "1":
    pytest.skip("few calls show nothing", allow_module_level=True)

ROUNDS = 6  # what does not grow in one of them has reached its size
CALLS_OF_ROUND = 700 if "IMGSTAT_TEST_SMALL" in os.environ else 100_000
MOST = 16 * CALLS_OF_ROUND
NOISE = 0, 0, 128 << 10  # pages that a process has and does not use
PIXELS = np.random.default_rng(0).integers(0, 250, (3, 32, 32), np.uint8)
X, FLOATS, OUT = PIXELS[0], PIXELS[:, :8, :8].astype(np.float32), np.empty_like(PIXELS[0])
RECORD = imgstat.Record.of(X)
DATA, TRANSFER, SUM, CHAIN = RECORD.to_bytes(), RECORD.transfer("stretch"), imgstat.Record.of(X), imgstat.Chain("equalize", X)
TEXT = TRANSFER.to_json()
STATS, EDGES = imgstat.stats(X, percentiles=[1, 99], shape=True), imgstat.histogram(FLOATS[0], 5)


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def fails(kind, call):
    def check():
        with pytest.raises(kind):
            call()

    return check


class Full(io.BytesIO):
    def write(self, _):
        raise OSError("full")


def file_of(array, **how):
    target = io.BytesIO()
    imgstat.save(array, target, format="png", **how)
    return target.getvalue()


PNG = file_of(PIXELS[:, :8, :8].transpose(1, 2, 0))


def dataset():
    data = imgstat.Dataset.of([PNG, ("wrong", PNG[:50])], threads=1, group=lambda _: "a", progress=lambda n: n)
    data += imgstat.Dataset.from_bytes(bytes(data))
    return data[0].mean, data.failures, data.done, data.stats(), data.transfer("stretch"), repr(data), data == copy.copy(data)


def file():
    with imgstat.open(io.BytesIO(PNG), nodata=3) as opened:
        page = opened[0]
        return opened.read(), page.layout, repr(page), opened.stats(percentiles=[3]), opened.record(), page.fits(TRANSFER)


CALLS = {
    "stats": lambda: imgstat.stats(X, percentiles=[1, 99], nodata=3, mask=X),
    "attributes": lambda: (STATS.percentiles, STATS.min, STATS.skewness, STATS.min_file, repr(STATS)),
    "histograms": lambda: (imgstat.histogram(FLOATS, axes="CHW"), STATS.histogram.edges, STATS.histogram.cdf, [*STATS.histogram]),
    "percentile": lambda: imgstat.percentile(X[::-1, ::-1], [3, 4]),
    "equalize": lambda: (imgstat.equalize(X), imgstat.equalize(memoryview(X)).tolist(), imgstat.equalize(X, out=OUT)),
    "normalize": lambda: (imgstat.normalize(FLOATS, axes="CHW"), imgstat.normalize(X.T, dtype="float")),
    "clahe": lambda: imgstat.clahe(X, tiles=2),
    "match": lambda: imgstat.match(X, X),
    "chain": lambda: CHAIN(X, out=OUT),
    "new chain": lambda: imgstat.Chain("stretch", X, nodata=3),
    "array": lambda: np.from_dlpack(imgstat.normalize(memoryview(X))),
    "record": lambda: (imgstat.Record.of(X, alpha=None), RECORD.names, RECORD.mean, RECORD.bounds(50), RECORD.percentile([1, 99]), repr(RECORD)),
    "sums": lambda: (RECORD + RECORD, imgstat.Record.merge([RECORD] * 2), copy.copy(RECORD) == RECORD, SUM.__iadd__(RECORD)),
    "pickles": lambda: (pickle.loads(pickle.dumps(STATS)).percentiles, pickle.loads(pickle.dumps(EDGES)).edges, copy.deepcopy(STATS)),
    "wrong pickles": fails(ValueError, lambda: imgstat.Stats._of("u8", 1, 1, 1, 1, ((),))),
    "bytes": lambda: (pickle.loads(pickle.dumps(RECORD)), RECORD.to_bytes()),
    "transfer": lambda: (imgstat.Transfer.from_json(TEXT), RECORD.transfer("percentile", clip=(1, 1)), hash(TRANSFER), TRANSFER.apply(X),
                         TRANSFER.parameters, repr(TRANSFER)),
    "dataset": dataset,
    "file": file,
    "files": lambda: ([*imgstat.measure_files([PNG], threads=1)],
                      imgstat.transform_files([(PNG, io.BytesIO()), (PNG[:50], io.BytesIO())], format="png", threads=1)),
    "save": lambda: file_of(X),
    "exposure": lambda: (imgstat.exposure.rescale_intensity(X), imgstat.exposure.histogram(X)),
    "wrong percentiles": fails(ValueError, lambda: imgstat.stats(X, percentiles=[1, 101])),
    "wrong axes": fails(ValueError, lambda: imgstat.stats(X, axes="CHW")),
    "wrong out": fails(ValueError, lambda: imgstat.equalize(X, out=OUT[:3])),
    "wrong option": fails(TypeError, lambda: imgstat.normalize(X, clips=3)),
    "wrong channels": fails(ValueError, lambda: imgstat.normalize(X, channels="all")),
    "wrong type": fails(TypeError, lambda: imgstat.stats(X.astype(complex))),
    "wrong bytes": fails(imgstat.Error, lambda: imgstat.Record.from_bytes(DATA[:-1])),
    "wrong text": fails(imgstat.Error, lambda: imgstat.Transfer.from_json(TEXT[:-1])),
    "wrong path": fails(imgstat.Error, lambda: imgstat.Record.load("/nonexistent")),
    "wrong file": fails(imgstat.Error, lambda: imgstat.open(PNG[:100]).read()),
    "wrong pages": fails(ValueError, lambda: imgstat.stats(PNG, pages=[0] * 99)),
    "wrong object": fails(imgstat.Error, lambda: imgstat.save(X, Full(), format="png")),
}


def memory():
    """Bytes of Python, of malloc, and of the process at most."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Mallinfo
    info = libc.mallinfo2()
    return (tracemalloc.get_traced_memory()[0], info.uordblks + info.hblkhd,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_leaks(name):
    call = CALLS[name]
    tracemalloc.start()
    try:
        for _ in range(100):
            call()
        before = memory()
        least = [math.inf] * len(before)
        for _ in range(ROUNDS):
            for _ in range(CALLS_OF_ROUND):
                call()
            after = memory()
            least = [min(known, b - a) for known, a, b in zip(least, before, after)]
            if all(each < MOST + noise for each, noise in zip(least, NOISE)):
                return
            before = after
    finally:
        tracemalloc.stop()
    raise AssertionError(f"{name}: {least} bytes of Python, malloc and the process in {CALLS_OF_ROUND} calls")
