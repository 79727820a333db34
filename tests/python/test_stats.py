# SPDX-License-Identifier: MIT
"""stats, histogram and percentile of arrays are what numpy computes, and exact where numpy rounds."""
import copy
import io
import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
from fractions import Fraction

import pytest

import imgstat

np = pytest.importorskip("numpy")
TYPES = "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split()


def samples(dtype, n, seed=0, whole=True):
    """Values over all of an integer type, or of floats with all that is not finite."""
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        x = (rng.standard_normal(n) * 100).astype(dtype)
        if whole:
            x[rng.random(n) < 0.05] = np.nan
            x[rng.random(n) < 0.05] = np.inf
            x[rng.random(n) < 0.05] = -np.inf
        return x
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype, endpoint=True)


def check(s, x, excluded=None):
    """Compares with numpy and with fractions; x: the samples of a channel, in order."""
    counts = np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool)
    if excluded is not None:
        counts &= ~excluded
    v = x[counts]
    assert s.count == v.size
    if v.size == 0:
        assert s.min is None and s.max is None and math.isnan(s.mean) and math.isnan(s.std) and s.min_at is None
        return
    assert (s.min, s.max) == (v.min(), v.max())
    assert s.min_at == np.flatnonzero(counts & (x == v.min()))[0]
    assert s.max_at == np.flatnonzero(counts & (x == v.max()))[0]
    exact = [Fraction(a) for a in v.tolist()]
    total = sum(exact)
    mean = total / len(exact)
    variance = sum((a - mean) ** 2 for a in exact) / len(exact)
    if x.dtype.kind == "f":  # docs/float-sums.md
        off = float(max(map(abs, exact))) * len(exact) * 2**-50
        assert isinstance(s.sum, float) and s.sum == pytest.approx(float(total), abs=off)
        assert s.mean == pytest.approx(float(mean), abs=off / len(exact))
        assert s.std == pytest.approx(math.sqrt(variance), rel=1e-6, abs=off)
    else:
        assert isinstance(s.sum, int) and s.sum == total
        assert s.mean == float(mean)
        assert s.var == float(variance)
        assert s.std == pytest.approx(math.sqrt(variance), rel=1e-15)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (33, 31), (64, 64)])
def test_one_channel(dtype, shape):
    x = samples(dtype, shape[0] * shape[1]).reshape(shape)
    s = imgstat.stats(x)
    assert s.channels == 1
    check(s, x.ravel())
    if dtype[0] == "f":
        assert (s.nan, s.inf) == (np.isnan(x).sum(), np.isinf(x).sum())
    assert (s.nodata, s.masked) == (0, 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_percentiles(dtype):
    x = samples(dtype, 1001, 3, whole=False).reshape(7, 143)
    asked = [0, 0.1, 1, 25, 50, 75, 99.9, 100]
    s = imgstat.stats(x, percentiles=asked, median=True)
    assert list(s.percentiles) == asked
    ordered = sorted(x.ravel().tolist())
    for p in asked:
        h = Fraction(p).limit_denominator(10**9) * 1000 / 100
        low = ordered[math.floor(h)]
        value = Fraction(low) + (h - math.floor(h)) * (Fraction(ordered[math.ceil(h)]) - Fraction(low))
        assert s.percentiles[p] == pytest.approx(float(value), rel=1e-15), p
        if dtype in "u1 i1 u2 i2 u4 i4":  # numpy rounds 64-bit integers to doubles first, and halves to halves
            assert s.percentiles[p] == pytest.approx(np.percentile(x, p), rel=1e-15)
        nearest = ordered[max(math.ceil(Fraction(p).limit_denominator(10**9) * 1001 / 100), 1) - 1]
        assert imgstat.percentile(x, p, method="nearest") == nearest
    assert s.median == s.percentiles[50] == imgstat.percentile(x, 50)
    assert imgstat.percentile(x, [99, 1]) == [imgstat.percentile(x, 99), imgstat.percentile(x, 1)]
    if dtype in ("u8", "i8"):
        assert isinstance(s.percentiles[0], int) and s.percentiles[0] == x.min()


@pytest.mark.parametrize("dtype", TYPES)
def test_mode_and_shape(dtype):
    x = np.array([[3, 7, 7, 1], [1, 7, 1, 9]], dtype)
    s = imgstat.stats(x, mode=True, shape=True, median=True)
    assert (s.mode, s.median) == (1, 5)
    d = x.astype("f8").ravel() - x.astype("f8").mean()
    assert s.skewness == pytest.approx((d**3).mean() / (d**2).mean() ** 1.5)
    assert s.kurtosis == pytest.approx((d**4).mean() / (d**2).mean() ** 2 - 3)
    assert imgstat.stats(x, ddof=1).std == pytest.approx(x.astype("f8").std(ddof=1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_negative_zero_counts_as_zero(dtype):
    s = imgstat.stats(np.full((3, 4), -0.0, dtype), mode=True, median=True, percentiles=[1])
    for zero in (s.min, s.max, s.mode, s.median, s.percentiles[1], s.sum, s.mean):
        assert zero == 0 and not np.signbit(zero)


def test_what_was_not_asked_for_is_named():
    wide, narrow = imgstat.stats(np.ones((3, 3), "f4")), imgstat.stats(np.ones((3, 3), "u2"))
    for name, words in {"median": "median=True", "mode": "mode=True", "histogram": "bins=256",
                        "entropy": "bins=256"}.items():
        with pytest.raises(AttributeError, match=words):
            getattr(wide, name)
        getattr(narrow, name)
    with pytest.raises(AttributeError, match="shape=True"):
        narrow.skewness
    assert wide.percentiles == {}
    with pytest.raises(AttributeError):
        wide.no_such_thing


@pytest.mark.parametrize("dtype", TYPES)
def test_histogram(dtype):
    x = samples(dtype, 5000, 5, whole=False).reshape(50, 100)
    h = imgstat.histogram(x)
    counts, edges = h
    counts, edges = np.asarray(counts), np.asarray(edges)
    assert counts.sum() == 5000 and len(edges) == len(counts) + 1
    assert (np.asarray(h.cdf) == counts.cumsum()).all()
    if dtype in ("u1", "u2", "i1", "i2"):
        assert h.per_value and len(counts) == 2 ** (8 * x.itemsize)
        assert (counts == np.bincount(x.ravel().astype("i8") - np.iinfo(dtype).min, minlength=len(counts))).all()
        assert (edges == np.arange(len(counts) + 1) + np.iinfo(dtype).min).all()
    lo, hi = (-50.0, 80.0) if dtype[0] != "u" else (10.0, 200.0)
    expected = np.histogram(x.astype("f8"), 13, (lo, hi))
    h = imgstat.histogram(x, 13, (lo, hi))
    assert h.range == (lo, hi) and not h.per_value
    assert (np.asarray(h.counts) == expected[0]).all()
    assert np.allclose(h.edges, expected[1])
    assert np.asarray(imgstat.histogram(x, bins=13, range=(lo, hi)).counts).tolist() == expected[0].tolist()
    s = imgstat.stats(x, bins=4)
    p = np.asarray(s.histogram.counts) / 5000
    assert s.entropy == pytest.approx(-(p[p > 0] * np.log2(p[p > 0])).sum())


@pytest.mark.parametrize("dtype", ["u1", "u2", "i1", "i2"])
def test_ends_of_full_scale(dtype):
    x = samples(dtype, 5000, 6, whole=True).reshape(50, 100)
    x[:, 0], x[0, :3] = np.iinfo(dtype).min, np.iinfo(dtype).max
    s = imgstat.stats(x)
    assert (s.low, s.high) == ((x == np.iinfo(dtype).min).sum(), (x == np.iinfo(dtype).max).sum())
    assert imgstat.stats(np.array([[0, 4095]], "u2"), bits=12).high == 1


def test_ends_that_are_not_known():
    s = imgstat.stats(np.array([[0.0, 1.0]], "f4"))
    assert s.low is None and s.high is None
    s = imgstat.stats(np.array([[0, 5]], "u4"))
    assert s.low is None and s.high == 0
    for dtype in ("u4", "i4", "u8", "i8"):  # counted with the median
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        s = imgstat.stats(np.array([[low, high, high, 3]], dtype), median=True)
        assert (s.low, s.high) == (1, 2)
    assert imgstat.stats(np.zeros((1, 2), "u1"), nodata=0).low is None


def test_histogram_of_a_bits():
    h = imgstat.histogram(np.array([[0, 4095]], "u2"), bits=12)
    assert h.range == (0, 4095) or h.range[0] == 0
    assert h.counts.shape == (4096,)


@pytest.mark.parametrize("dtype", TYPES)
def test_nodata(dtype):
    x = (np.arange(60) % 7).astype(dtype).reshape(6, 10)
    s = imgstat.stats(x, nodata=3)
    assert s.nodata == (x == 3).sum()
    check(s, x.ravel(), (x == 3).ravel())
    for value in (3.0, np.uint8(3), np.float32(3)):
        assert imgstat.stats(x, nodata=value).nodata == s.nodata
    for nothing in (2**70, -(2**70), 1e300, math.nan, None):
        assert imgstat.stats(x, nodata=nothing).nodata == 0
    with pytest.raises(TypeError, match="nodata='3' should be a number"):
        imgstat.stats(x, nodata="3")


def test_nodata_of_64_bits():
    x = np.array([[2**64 - 1, 5]], "u8")
    assert imgstat.stats(x, nodata=2**64 - 1).max == 5
    assert imgstat.stats(x.view("i8"), nodata=-1).nodata == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nodata_beyond_64_bits(dtype):
    x = np.array([[2.0**70, -(2.0**64), 5, np.nan]], dtype)
    assert [imgstat.stats(x, nodata=n).nodata for n in (2**70, -(2**64), 2**70 + 1, 10**400)] == [1, 1, 0, 0]
    lowest = np.full((2, 2), np.finfo(dtype).min, dtype)
    assert imgstat.stats(lowest, nodata=int(np.finfo(dtype).min)).nodata == 4


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", [lambda m: m, lambda m: m[::-1][::-1], np.asfortranarray,
                                    lambda m: np.repeat(m, 2, axis=1)[:, ::2], lambda m: m.view("u1") * 77])
def test_mask(dtype, layout):
    x = samples(dtype, 31 * 19, 8).reshape(31, 19)
    mask = layout(np.random.default_rng(2).random((31, 19)) < 0.7)
    s = imgstat.stats(x, mask=mask)
    assert s.masked == (mask == 0).sum()
    check(s, x.ravel(), (mask == 0).ravel())
    planar = np.stack([x, x])
    assert imgstat.stats(planar, axes="CHW", mask=mask).count == (s.count, s.count)
    batch = imgstat.stats(planar, axes="NHW", mask=np.stack([mask, np.zeros_like(mask)]))
    assert [b.count for b in batch] == [s.count, 0]
    assert [b.count for b in imgstat.stats(planar, axes="NHW", mask=mask)] == [s.count, s.count]


@pytest.mark.parametrize("mask, error", [
    (np.ones((3, 4), bool), ValueError), (np.ones((3, 3), "i4"), TypeError), (np.ones((2, 3, 3), "u1"), ValueError),
    ("x", TypeError)])
def test_masks_that_do_not_fit(mask, error):
    with pytest.raises(error, match="mask"):
        imgstat.stats(np.zeros((3, 3), "u1"), mask=mask)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[D]", "c8", "S3", "O"])
def test_types_that_are_no_samples(dtype):
    x = np.zeros((3, 3), dtype)
    for call in (imgstat.stats, imgstat.equalize, lambda x: imgstat.equalize(np.zeros((3, 3), "u1"), out=x),
                 lambda x: imgstat.stats(np.zeros((3, 3), "u1"), mask=x)):
        with pytest.raises(TypeError, match="(the array|out|mask) has elements of type .*: imgstat takes"):
            call(x)
    view = memoryview(np.zeros((3, 3), "u1"))
    view.release()
    with pytest.raises(ValueError, match="released"):
        imgstat.stats(view)


@pytest.mark.parametrize("words, error, sentence", [
    ({"percentiles": [101]}, ValueError, "101"), ({"percentiles": ["x"]}, TypeError, "number"),
    ({"method": "cubic"}, ValueError, "cubic"), ({"bins": -1}, ValueError, "bins"), ({"range": (2, 1)}, ValueError, "2"),
    ({"range": 5}, TypeError, "range"), ({"device": "tpu"}, ValueError, "tpu"), ({"device": 3}, TypeError, "device"),
    ({"threads": -1}, ValueError, "threads"), ({"bits": 9}, ValueError, "bits=9"), ({"foo": 1}, TypeError, "'foo'"),
    ({"bins": 2**70}, ValueError, "bins=1180591620717411303424"), ({"range": (1,)}, TypeError, r"\(lo, hi\)"),
    ({"threads": 2**70}, ValueError, "threads"), ({"bits": -2**70}, ValueError, "bits"),
    ({"bins": 16.0}, TypeError, "bins=16.0 should be a whole number"), ({"range": ("a", 1)}, TypeError, "range='a'"),
    ({"device": "cpu\0x"}, ValueError, "device=.* NUL"), ({"axes": "HW\0C"}, ValueError, "axes=.* NUL"),
    ({"stream": "x"}, None, "")])
def test_wrong_arguments(words, error, sentence):
    if error is None:
        imgstat.stats(np.zeros((3, 3), "u1"), **words)  # of arrays on a GPU only
        return
    with pytest.raises(error, match=sentence):
        imgstat.stats(np.zeros((3, 3), "u1"), **words)


def test_a_percentile_of_an_array_without_axes():
    x = np.uint8([[1, 2], [3, 5]])
    assert imgstat.percentile(x, np.array(50)) == imgstat.Record.of(x).percentile(np.array(50)) == 2.5


def test_arguments_have_one_value_by_any_way():
    x = np.float32([[1, 2], [3, 5]])
    assert imgstat.percentile(x, q=50) == imgstat.percentile(x, 50) == 2.5
    eight = np.uint8([[1, 2], [3, 5]])
    assert (imgstat.Chain(method="equalize", example=eight)(eight) == imgstat.equalize(eight)).all()
    assert (imgstat.match(eight, reference=eight + 1) == eight + 1).all()
    for words in ({}, {"bins": None}):  # its default, of a type that stats has no histogram of
        assert len(imgstat.histogram(x, **words).counts) == 256
    assert list(imgstat.histogram(x, bins=2, range=(0, 4)).counts) == list(imgstat.histogram(x, 2, (0, 4)).counts)
    file = io.BytesIO()
    imgstat.save(eight, file, format="png")
    for call in (lambda: imgstat.histogram(x, 3, bins=4), lambda: imgstat.percentile(x, 50, q=1),
                 lambda: imgstat.histogram(x, 3, (0, 1), range=(0, 4)),
                 lambda: imgstat.histogram(file.getvalue(), 3, (0, 1), range=(0, 4)),
                 lambda: imgstat.match(x, x, reference=x), lambda: imgstat.normalize(x, "gamma", method="stretch")):
        with pytest.raises(TypeError, match="two values for the argument"):
            call()
    for call in (lambda: imgstat.percentile(x, 50, percentiles=[1]), lambda: imgstat.histogram(x, percentiles=[1]),
                 lambda: imgstat.percentile(x), lambda: imgstat.match(x), lambda: imgstat.percentile(x, None),
                 lambda: imgstat.Record.of(eight).percentile(None), lambda: imgstat.Chain("stretch", x, device="cpu")):
        with pytest.raises(TypeError, match="argument"):
            call()


def test_no_gpu_is_an_error_of_the_library():
    try:
        imgstat.stats(np.zeros((3, 3), "u1"), device="cuda:63")
    except imgstat.Error as error:
        assert error.code == "device" and error.path is None and error.page is None and "CUDA" in str(error)
    else:
        pytest.fail("there is no such GPU")


def test_threads_do_not_change_results():
    x = samples("f4", 1 << 20).reshape(1024, 1024)
    one = imgstat.stats(x, threads=1)
    for threads in (2, 3, 8):
        s = imgstat.stats(x, threads=threads)
        assert (s.mean, s.std, s.sum) == (one.mean, one.std, one.sum)


def test_calls_from_many_threads():
    x = [samples("u2", 10000, seed).reshape(100, 100) for seed in range(8)]
    expected = [imgstat.stats(a).sum for a in x]
    found = [None] * 8

    def work(i):
        for _ in range(20):
            found[i] = imgstat.stats(x[i]).sum
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_the_interpreter_runs_meanwhile():
    x = np.broadcast_to(np.random.default_rng(1).random((1, 1024, 1024)), (64, 1024, 1024))
    turns, done = 0, threading.Event()

    def turn():
        nonlocal turns
        while not done.wait(0.001):
            turns += 1

    def during():
        before = turns
        imgstat.stats(x, axes="NHW", median=True, threads=1)
        return turns - before

    thread = threading.Thread(target=turn)
    thread.start()
    found = any(during() > 5 for _ in range(20))  # a loaded machine may do a whole call before it goes on there
    done.set()
    thread.join()
    assert found


def test_a_fork_measures_too():
    x = samples("f4", 1 << 20).reshape(1024, 1024)
    expected = imgstat.stats(x).sum
    child = os.fork()
    if child == 0:
        os._exit(0 if imgstat.stats(x).sum == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_ctrl_c_ends_a_batch():
    x = np.random.default_rng(1).random((1, 512, 512))
    batch = np.broadcast_to(x, (20000, 512, 512))
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        imgstat.stats(batch, axes="NHW", threads=1)
    assert time.monotonic() - begin < 5


def test_files(testdata):
    path = testdata / "good-gray8.png"
    if not path.exists():
        path = sorted(testdata.glob("good-*.png"))[0]
    expected = imgstat.open(path).stats(percentiles=[3])
    for source in (path, str(path), path.read_bytes(), open(path, "rb")):
        s = imgstat.stats(source, percentiles=[3])
        assert (s.count, s.mean, s.percentiles) == (expected.count, expected.mean, expected.percentiles)
        assert imgstat.percentile(source, 3) == imgstat.stats(source, percentiles=[3]).percentiles[3] or s.channels > 1
        assert repr(imgstat.histogram(source, 7)) == repr(imgstat.stats(source, bins=7).histogram)
    source.close()
    with pytest.raises(imgstat.Error):
        imgstat.stats("no such file.png")
    with pytest.raises(TypeError):
        imgstat.stats(path, axes="HW")
    assert imgstat.stats(path, nodata=0) is not None


def test_repr():
    assert repr(imgstat.stats(np.array([[1, 3]], "u1"))) == "imgstat.Stats(count=2, min=1, max=3, mean=2.0, std=1.0)"
    assert repr(imgstat.histogram(np.array([[1, 3]], "u1"))).startswith("imgstat.Histogram(bins=256")


def test_anything():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    @hypothesis.given(st.data())
    @hypothesis.settings(max_examples=200)
    def compare(data):
        dtype = data.draw(st.sampled_from(TYPES))
        shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))
        elements = {"allow_subnormal": True} if dtype[0] == "f" else {}
        x = data.draw(hnp.arrays(np.dtype(dtype), shape, elements=hnp.from_dtype(np.dtype(dtype), **elements)))
        y = x[:: data.draw(st.sampled_from([1, -1, 2]))]
        mask = data.draw(st.none() | hnp.arrays(bool, y.shape))
        finite = y[np.isfinite(y)] if dtype[0] == "f" else y.ravel()
        hypothesis.assume(dtype != "f8" or finite.size == 0 or float(abs(finite).max()) < 1e100)
        check(imgstat.stats(y, mask=mask), np.ascontiguousarray(y).ravel(),
              None if mask is None else ~mask.ravel())
    compare()


def seen(s):
    """Everything that a user sees of a Stats, as text: nan is not equal to itself."""
    out = {"repr": repr(s), "html": s._repr_html_()}
    for name in dir(s):
        if not name.startswith("_"):
            try:
                out[name] = getattr(s, name)
            except AttributeError as error:
                out[name] = str(error)
    histograms = out["histogram"] if isinstance(out["histogram"], tuple) else (out["histogram"],)
    out["histogram"] = [h if isinstance(h, str) else seen_histogram(h) for h in histograms]
    return str(out)


def seen_histogram(h):
    return [(name, value.dtype, memoryview(value).readonly, value.tolist()) for name, value in
            (("counts", h.counts), ("edges", h.edges), ("cdf", h.cdf), ("first", h[0]), ("second", h[1]))
            ] + [h.range, h.per_value, len(h), repr(h), h._repr_html_()]


def copies(thing):
    """What was pickled, once and twice. Copies are the thing itself, which never changes."""
    assert copy.copy(thing) is copy.deepcopy(thing) is thing
    twice = pickle.loads(pickle.dumps(thing))
    return [pickle.loads(pickle.dumps(thing, 0)), pickle.loads(pickle.dumps(twice))]


@pytest.mark.parametrize("dtype", TYPES)
def test_copies_and_pickles(dtype):
    x = samples(dtype, 31 * 19 * 3, 4).reshape(31, 19, 3)
    mask = np.random.default_rng(2).random((31, 19)) < 0.7
    everything = {"percentiles": [1, 50, 99.9], "median": True, "mode": True, "shape": True, "bins": 20, "ddof": 1}
    for s in (imgstat.stats(x[:3, :, 0]), imgstat.stats(x, mask=mask, nodata=float(x[1, 1, 0]), **everything),
              imgstat.stats(x[..., 0], range=(-3, 70.5), median=True), imgstat.stats(x[:0], mode=True),
              imgstat.stats(np.ascontiguousarray(x.transpose(2, 0, 1)), axes="CHW", percentiles=3),
              imgstat.Record.of(x).stats(percentiles=[30], bins=50 if x.itemsize < 3 else None)):
        expected = seen(s)
        for other in copies(s):
            assert isinstance(other, imgstat.Stats) and seen(other) == expected
    h = imgstat.histogram(x[..., 1], 7)
    for other in copies(h):
        assert isinstance(other, imgstat.Histogram) and seen_histogram(other) == seen_histogram(h)


def test_copies_of_what_no_record_holds():
    """Its variance is no double, so that the deviation takes the pixels."""
    s = imgstat.stats(np.array([[1e300, -1e300]]))
    assert s.std == 1e300
    assert all(seen(other) == seen(s) and other.std == 1e300 for other in copies(s))


def test_copies_of_files(testdata):
    with imgstat.open(testdata / "photo.tif") as file:
        for s in (file.stats(percentiles=[1]), file[0].stats(), *imgstat.Dataset.of([testdata / "photo.tif"]).stats()):
            assert all(seen(other) == seen(s) and "photo.tif" in other.min_file[0] for other in copies(s))


def test_a_copy_is_its_own():
    s = pickle.loads(pickle.dumps(imgstat.stats(samples("u1", 99).reshape(9, 11), percentiles=[3])))
    s.percentiles.clear()
    assert list(s.percentiles) == [3]
    edges = imgstat.histogram(samples("u1", 99).reshape(9, 11), 4)
    other = pickle.loads(pickle.dumps(edges))
    np.asarray(other.edges)[0] = 77
    assert other.edges.tolist() == edges.edges.tolist()


@pytest.mark.parametrize("make, args", [
    (imgstat.Stats, ("u8", 1, 1, 1, 1, ())), (imgstat.Stats, ("u8", 1, 1, 1, 1, ((1,),))), (imgstat.Stats, ("u9", 1, 1, 1, 1, ((None,) * 26,))),
    (imgstat.Stats, ("u8", 1, 1, 1, 1, (3,))), (imgstat.Stats, ()), (imgstat.Histogram, (0, 1, [1, 2], [1, 2])),
    (imgstat.Histogram, (0, 1, [1, -2], None)), (imgstat.Histogram, (0, 1, [1, "2"], None)), (imgstat.Histogram, (0, 1, [1], ["a", 2])),
    (imgstat.Histogram, (0, 1, (1, 2), None))])
def test_pickles_of_others_are_refused(make, args):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        make._of(*args)


def stats_of_seed(seed):
    return imgstat.stats(samples("f4", 4096, seed).reshape(64, 64), percentiles=[5], bins=9)


def test_processes():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert [seen(s) for s in pool.map(stats_of_seed, range(6))] == [seen(stats_of_seed(seed)) for seed in range(6)]


def test_numbers_come_in_any_sequence():
    x = np.arange(64, dtype="u1").reshape(8, 8)
    for one in (50, np.float32(50), np.array(50), [50]):
        assert imgstat.stats(x, percentiles=one).percentiles == {50: 31.5}
    for ends in ((8, 16), [8, 16], np.array([8, 16])):
        assert imgstat.stats(x, bins=2, range=ends).histogram.counts.tolist() == [4, 5]
    for wrong in (8, "ab", (1, 2, 3), {1, 2}):
        with pytest.raises(TypeError, match=r"should be range=\(lo, hi\)"):
            imgstat.stats(x, range=wrong)
    for wrong in (object(), {50}, "5"):
        with pytest.raises(TypeError):
            imgstat.stats(x, percentiles=wrong)
