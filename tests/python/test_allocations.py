# SPDX-License-Identifier: MIT
"""Each allocation of common calls fails in turn, those of Python and of the library: the call ends with MemoryError, an
imgstat.Error that says so, or its result. Some had other results: bytes of a record that were never written, an array
interface without its strides, a masked array with its masked values, lost options and warnings."""
import json
import os
import subprocess
import sys

import pytest

LIBRARY = os.environ.get("IMGSTAT_TEST_ALLOCATIONS")  # of the build; none with sanitizers
CHILD = r'''
import copy, ctypes, io, json, pickle, sys, warnings
import imgstat
folder = sys.argv[1]
allocation_fail, allocation_end = ctypes.PyDLL(None).allocation_fail, ctypes.PyDLL(None).allocation_end
allocation_fail.argtypes, allocation_fail.restype, allocation_end.restype = [ctypes.c_long], None, ctypes.c_long

def image(code, *shape):
    n = 1
    for side in shape:
        n *= side
    letters = memoryview(bytearray(ctypes.sizeof(ctypes.c_char) * n * memoryview(bytearray(8)).cast(code).itemsize))
    samples = letters.cast(code)
    for i in range(n):
        samples[i] = i * i % 61
    return letters.cast(code, shape)

class Interface:
    memory = bytearray(range(200))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    __array_interface__ = {"shape": (4, 5), "typestr": "|u1", "data": (address + 100, False), "strides": (-10, -2), "version": 3}

def saved(array, **how):
    to = io.BytesIO()
    imgstat.save(array, to, **how)
    return to.getvalue()

def transformed(**how):
    to = io.BytesIO()
    done, = imgstat.transform_files([(png, to)], format="png", threads=1, **how)
    if done.error:
        raise done.error
    return to.getvalue()

def measured(*inputs):
    data = imgstat.Dataset.of(inputs, group="a", threads=1)
    for name, code, sentence in data.failures:
        raise MemoryError(sentence) if code == "memory" else AssertionError(sentence)
    return data[0].mean, data.to_bytes()

def warned():
    with imgstat.open(loop) as file:
        return file.stats().mean

with open(folder + "/warned-ifd-loop.tif", "rb") as file:
    loop = file.read()
x, floats, rgb, mask, out = image("B", 9, 7), image("f", 9, 7), image("B", 8, 8, 3), image("B", 9, 7), image("B", 9, 7)
record, png = imgstat.Record.of(x), saved(rgb, format="png")
other, data = copy.copy(record), record.to_bytes()
transfer, stats = record.transfer("stretch"), imgstat.stats(floats, percentiles=[1, 99], shape=True)
grouped = imgstat.Dataset.of([png]).transfer("stretch")
calls = {
    "stats": lambda: (lambda s: (s.mean, s.masked, s.percentiles, s.mode))(imgstat.stats(x, percentiles=[1, 99], nodata=3, mask=mask, threads=1)),
    "interface": lambda: imgstat.stats(Interface(), threads=1).sum,
    "batch": lambda: [s.sum for s in imgstat.stats(rgb, axes="NHW", threads=1)],
    "histogram": lambda: (lambda h: (h.counts.tolist(), h.edges.tolist()))(imgstat.histogram(floats, bins=5, range=(0, 50), threads=1)),
    "normalize": lambda: imgstat.normalize(rgb, clip=(1, 99), dtype="float", threads=1).tolist(),
    "amounts": lambda: imgstat.normalize(rgb, mean="50%", std="20%", channels="each", threads=1).tolist(),
    "out": lambda: (imgstat.equalize(x, out=out, threads=1), out.tobytes())[1],
    "record": lambda: (lambda r: (r.to_bytes(), r.mean, r.names, repr(r)))(imgstat.Record.of(x, nodata=2**64, threads=1)),
    "sums": lambda: ((record + record).to_bytes(), copy.copy(record) == record, imgstat.Record.merge([record, record]).mean),
    "equal": lambda: (record == other, transfer == record.transfer("stretch")),
    "pickles": lambda: (lambda pair: (pair[0].percentiles, pair[1].to_bytes()))(pickle.loads(pickle.dumps((stats, record)))),
    "pickled transfer": lambda: pickle.dumps(transfer),  # json-c before 0.17 crashes as it reads one
    "transfer": lambda: (repr(transfer), transfer.parameters, transfer.to_json(), hash(transfer), transfer.apply(x, threads=1).tolist()),
    "bytes": lambda: imgstat.Record.from_bytes(data).to_bytes(),
    "no bytes": lambda: (hash(grouped), grouped == copy.copy(grouped), grouped != record.transfer("stretch")),
    "not saved": lambda: grouped.to_json(),
    "dataset": lambda: measured(png),
    "file": lambda: (lambda f: (f[0].read().tolist(), f.stats().mean, f[0].channel_names))(imgstat.open(io.BytesIO(png))),
    "limits": lambda: imgstat.open(png, limits={"max_width": 100, "max_pages": 3})[0].shape,
    "warnings": warned,
    "transform": lambda: transformed(method="percentile", clip=(1, 1)),
    "save": lambda: (saved(x, format="png"), saved(floats, format="tiff")),
    "wrong option": lambda: imgstat.normalize(x, clips=3),
    "wrong axes": lambda: imgstat.stats(x, axes="CHW"),
}
try:
    import numpy as np
except ImportError:
    pass
else:
    flipped = np.asarray(x)[::-1, ::2]
    masked = np.ma.array(flipped, mask=flipped > 30)
    calls |= {"numpy": lambda: (lambda y: (type(y).__name__, y.tolist()))(imgstat.equalize(flipped, threads=1)),
              "masked": lambda: imgstat.stats(masked)}

def run(call, which):
    try:
        allocation_fail(which)
        result = call()
        n = allocation_end()
    except BaseException as error:
        n = allocation_end()
        memory = isinstance(error, MemoryError) or isinstance(error, imgstat.Error) and error.code == "memory"
        return n, None if memory else f"{type(error).__name__}: {error}"
    return n, result

warnings.simplefilter("error", append=True)
warnings.filterwarnings("ignore", "image: Out of memory")  # of libpng
unraised = []
sys.unraisablehook = unraised.append
for name, call in calls.items():
    expected = [run(call, 1 << 40)[1] for _ in range(3)][-1]
    which, wrong, failed = 1, [], 0
    while True:
        n, result = run(call, which)
        if n < which:
            break
        failed += result is None
        # Python itself loses, before 3.12, the text of an exception, or the exception as it makes a traceback.
        excused = isinstance(result, str) and result.endswith(("Error: ", "SystemError: error return without exception set"))
        if result is not None and result != expected and not excused or unraised:
            wrong.append((which, repr(result)[:300], repr(unraised)))
            unraised.clear()
        which += 1
    print(json.dumps([name, which, failed, wrong]), flush=True)
'''


@pytest.mark.skipif(not LIBRARY, reason="the tests of the build bring the library that lets allocations fail")
def test_each_allocation_fails(testdata):
    environment = dict(os.environ, LD_PRELOAD=LIBRARY, PYTHONMALLOC="malloc")
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", CHILD, str(testdata)], env=environment, capture_output=True, text=True,
                          check=False)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"after {reports[-1:]}: {done.stderr[-2000:]}"
    assert len(reports) >= 23 and all(failed > 0 for _, _, failed, _ in reports)
    assert not [(name, wrong) for name, _, _, wrong in reports if wrong]
