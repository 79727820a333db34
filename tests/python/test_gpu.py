# SPDX-License-Identifier: MIT
"""Arrays on a GPU: the bytes and numbers of the CPU, in the order of the caller's stream, and nothing waits."""
import collections.abc
import copy
import ctypes
import math
import pickle
import time

import pytest

np = pytest.importorskip("numpy")

import cuda_arrays  # noqa: E402
import imgstat  # noqa: E402
import random_cases  # noqa: E402

cuda = cuda_arrays.driver()
STAND_IN = not hasattr(cuda.library, "cuStreamCreate")
needs_streams = pytest.mark.skipif(STAND_IN, reason="a stand-in has no streams")
TYPES = "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split()
FIELDS = "count nan inf nodata masked min max min_at max_at sum mean var std percentiles".split()


def picture(dtype="u1", shape=(123, 77, 3), seed=1):
    x = np.random.default_rng(seed).random(shape) ** 2
    if dtype[0] == "f":
        x = x.astype(dtype)
        x.flat[5], x.flat[77] = np.nan, np.inf
        return x
    info = np.iinfo(dtype)
    return (info.min + x * (int(info.max) - int(info.min)) * 0.7).astype(dtype)


def there(x, stream=None):
    return cuda_arrays.DeviceArray(cuda, x, stream)


def same(a, b, fields=tuple(FIELDS)):
    for field in fields:
        left, right = getattr(a, field), getattr(b, field)
        assert left == right or str(left) == str(right), field  # nan is not equal to itself
    return True


def back(y):
    return cuda_arrays.to_host(cuda, y)


@pytest.mark.parametrize("dtype", TYPES)
def test_stats(dtype):
    x = picture(dtype)
    words = {"percentiles": [0, 1, 50, 99.5], "median": True, "mode": True, "shape": True, "bins": 20, "nodata": 3}
    on_cpu, on_gpu = imgstat.stats(x, **words), imgstat.stats(there(x), **words)
    assert same(on_cpu, on_gpu, (*FIELDS, "median", "mode", "skewness", "kurtosis", "entropy"))
    for a, b in zip(on_cpu.histogram, on_gpu.histogram):
        assert a.counts.tolist() == b.counts.tolist() and a.edges.tolist() == b.edges.tolist()
    planar = np.ascontiguousarray(x.transpose(2, 0, 1))
    assert same(imgstat.stats(there(planar), axes="CHW", **words), on_cpu)
    assert same(imgstat.stats(there(x)), imgstat.stats(x), FIELDS[:-1])
    assert same(pickle.loads(pickle.dumps(imgstat.stats(there(x)))), imgstat.stats(x))  # one that nothing has waited for
    mask = np.random.default_rng(2).random(x.shape[:2]) < 0.6
    assert same(imgstat.stats(there(x), mask=there(mask)), imgstat.stats(x, mask=mask))
    assert same(imgstat.stats(x, device="cuda:0", **words), on_cpu)
    wide = picture(dtype, (40, 60))
    part = wide[3:30:2, :50]
    assert same(imgstat.stats(there(wide).like(part), **words), imgstat.stats(part, **words))
    assert imgstat.percentile(there(x), [1, 50], axes="HWC") == imgstat.percentile(x, [1, 50])
    assert imgstat.stats(there(np.zeros((0, 5), dtype))).count == 0


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_batches_of_statistics(dtype):
    x = picture(dtype, (37, 19, 23))
    for a, b in zip(imgstat.stats(there(x), axes="NHW", percentiles=[50]), imgstat.stats(x, axes="NHW", percentiles=[50])):
        assert same(a, b)


METHODS = {
    "stretch": imgstat.normalize,
    "each": lambda x, **w: imgstat.normalize(x, channels="each", **w),
    "percentile": lambda x, **w: imgstat.normalize(x, clip=(1, 3), **w),
    "meanstd": lambda x, **w: imgstat.normalize(x, mean=20, std=4, **w),
    "gamma": lambda x, **w: imgstat.normalize(x, gamma=1.7, **w),
    "equalize": imgstat.equalize,
    "equalize each": lambda x, **w: imgstat.equalize(x, channels="each", **w),
    "equalize joint": lambda x, **w: imgstat.equalize(x, channels="joint", **w),
    "to 8 bits": lambda x, **w: imgstat.normalize(x, dtype="uint8", **w),
    "clahe": lambda x, **w: imgstat.clahe(x, tiles=4, **w),
    "like": lambda x, **w: imgstat.equalize(x, like="skimage", channels="each", **w),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", METHODS)
def test_transforms(name, dtype):
    transform, x = METHODS[name], picture(dtype)
    try:
        expected = transform(x)
    except imgstat.Error as error:
        with pytest.raises(imgstat.Error, match=str(error)[:20]):
            transform(there(x))
        return
    y = transform(there(x))
    assert isinstance(y, imgstat.Array) and y.__dlpack_device__() == (2, 0) and np.array_equal(back(y), expected, True)
    out = there(np.full(expected.shape, 7, expected.dtype))
    assert transform(there(x), out=out) is out and np.array_equal(out.get(), expected, True)
    if expected.dtype == x.dtype:
        place = there(x)
        transform(place, out=place)
        assert np.array_equal(place.get(), expected, True)
    planar = there(np.ascontiguousarray(x.transpose(2, 0, 1)))
    if name in ("equalize", "clahe"):
        with pytest.raises(ValueError, match="channels last"):
            transform(planar, axes="CHW")
    else:
        y = transform(planar, axes="CHW")
        assert np.array_equal(back(y).transpose(1, 2, 0), expected, True)
    batch = np.stack([x, x[::-1], x])
    y = back(transform(there(batch), axes="NHWC"))
    for one, source in zip(y, batch):
        assert np.array_equal(one, transform(source), True)
    assert np.array_equal(transform(x, device="cuda:0"), expected, True)


def test_masks_and_references():
    x, ref = picture("u1"), picture("u1", (31, 41, 3), 9) // 2
    mask = np.random.default_rng(2).random(x.shape[:2]) < 0.6
    for transform in (imgstat.equalize, imgstat.normalize, METHODS["equalize each"], METHODS["gamma"]):
        assert np.array_equal(back(transform(there(x), mask=there(mask), nodata=9)), transform(x, mask=mask, nodata=9))
    assert np.array_equal(back(imgstat.match(there(x), there(ref))), imgstat.match(x, ref))
    assert np.array_equal(back(imgstat.equalize(there(x), alpha=2, channels="each")), imgstat.equalize(x, alpha=2, channels="each"))


def test_channels_that_lie_apart():
    """Records of CHW arrays, and references with other strides than their image, made the processor read GPU memory."""
    x, planar = picture(), np.ascontiguousarray(picture("u1", (31, 41, 3), 9).transpose(2, 0, 1))
    with pytest.raises(ValueError, match="channels last"):
        imgstat.Record.of(there(planar), axes="CHW")
    with pytest.raises(ValueError, match="channels last"):
        imgstat.match(there(x), there(planar).like(planar.transpose(1, 2, 0)))
    assert imgstat.Record.of(there(planar), axes="NHW") == imgstat.Record.of(planar, axes="NHW")


def test_random_cases():
    gpu = random_cases.Gpu()
    for seed in range(60):
        _, what, others = random_cases.run_case(seed, gpu=gpu)
        assert not others, f"random_cases.py --gpu --first {seed} --cases 1: {what}: {others[0][0]}"


def test_refused():
    x = picture()
    for words in ({"mask": np.ones(x.shape[:2], bool)}, {"device": "cpu"}, {"device": "cuda:5"}):
        for function in (imgstat.stats, imgstat.equalize, imgstat.clahe):
            with pytest.raises(ValueError):
                function(there(x), **words)
    with pytest.raises(ValueError, match="memory"):
        imgstat.equalize(there(x), out=x)
    with pytest.raises(ValueError, match="contiguous"):
        imgstat.stats(there(x).like(x[:, ::2]))
    with pytest.raises(BufferError, match="GPU"):
        memoryview(imgstat.equalize(there(x)))


def test_sentences_are_those_of_the_cpu():
    # Where two things were wrong, the CPU named one and the GPU the other.
    told = []
    for x in (np.ones((8, 8, 2), "u4"), np.ones((8, 8, 3), "f4")):
        for words in ({"channels": "luma"}, {"channels": "joint"}, {"tiles": 70000}, {"dtype": "float"}):
            for array in (x, there(x)):
                with pytest.raises((imgstat.Error, ValueError)) as caught:
                    imgstat.clahe(array, **words)
                told.append((caught.type, str(caught.value)))
    assert told[::2] == told[1::2]


@needs_streams
def test_order_of_streams():
    """A late producer on the caller's stream: calls return before it, and results are those of its pixels."""
    x = picture("u1", (300, 400))
    pinned, target, out = cuda_arrays.Pinned(cuda, x), there(np.zeros_like(x)), there(np.zeros_like(x))
    for name in ("stretch", "percentile", "equalize"):
        stream = cuda_arrays.Stream(cuda)
        METHODS[name](target, out=out, stream=stream)  # makes the chain
        stream.wait()
        target.fill(np.zeros_like(x))
        for given in (stream, stream.handle.value, None):
            target.stream = None if given is not None else stream.handle.value
            stream.delay(0.3)
            stream.copy(target, pinned.array)
            begin = time.monotonic()
            result = METHODS[name](target, stream=given)
            METHODS[name](target, out=out, stream=given)
            took = time.monotonic() - begin
            stream.wait()
            assert took < 0.15, took
            expected = METHODS[name](x)
            assert np.array_equal(out.get(), expected) and np.array_equal(back(result), expected)
            target.fill(np.zeros_like(x))


@needs_streams
def test_statistics_after_a_late_producer():
    x = picture("f4", (300, 400))
    pinned, target, stream = cuda_arrays.Pinned(cuda, x), there(np.zeros_like(x)), cuda_arrays.Stream(cuda)
    stream.delay(0.2)
    stream.copy(target, pinned.array)
    assert same(imgstat.stats(target, stream=stream, percentiles=[5]), imgstat.stats(x, percentiles=[5]))
    y = picture("u1", (300, 400))
    pinned, target = cuda_arrays.Pinned(cuda, y), there(np.zeros_like(y))
    imgstat.stats(target, stream=stream).mean  # makes what measures
    stream.delay(0.3)
    stream.copy(target, pinned.array)
    begin = time.monotonic()
    s = imgstat.stats(target, stream=stream, percentiles=[5])
    took = time.monotonic() - begin
    del target  # the result keeps the pixels
    assert same(s, imgstat.stats(y, percentiles=[5])) and took < 0.15


def test_statistics_that_are_read_late():
    x = [picture("u1", (20, 30 + i)) for i in range(40)]  # more than are kept unread
    late = [imgstat.stats(there(a)) for a in x]
    for s, a in zip(late[::-1], x[::-1]):
        assert same(s, imgstat.stats(a)) and same(s, imgstat.stats(a))
    for a in x:
        imgstat.stats(there(a))  # is never read


@needs_streams
def test_chains_and_graphs():
    x = picture("u1", (200, 300, 3))
    source, out, stream = there(x), there(np.zeros_like(x)), cuda_arrays.Stream(cuda)
    chain = imgstat.Chain("equalize", example=source)
    assert chain(source, out=out, stream=stream) is out
    imgstat.equalize(source, out=out, stream=stream)
    stream.wait()
    assert np.array_equal(out.get(), imgstat.equalize(x))
    graph, replay = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuStreamBeginCapture_v2(stream.handle, 2)
    try:
        with pytest.raises(ValueError, match="imgstat.Chain"):
            imgstat.normalize(source, clip=(3, 4), out=out, stream=stream)
        with pytest.raises(ValueError, match="imgstat.Chain"):
            imgstat.equalize(source, out=out, stream=stream)  # whose chain is kept
        with pytest.raises(ValueError, match="out="):
            chain(source, stream=stream)
        chain(source, out=out, stream=stream)
    finally:
        cuda.cuStreamEndCapture(stream.handle, ctypes.byref(graph))
    cuda.cuGraphInstantiateWithFlags(ctypes.byref(replay), graph, ctypes.c_ulonglong(0))
    for seed in range(3):
        y = picture("u1", x.shape, seed + 10)
        source.fill(y)
        cuda.cuGraphLaunch(replay, stream.handle)
        stream.wait()
        assert np.array_equal(out.get(), imgstat.equalize(y))
    on_cpu = imgstat.Chain("percentile", example=x, clip=(1, 1))
    assert np.array_equal(on_cpu(x), imgstat.normalize(x, clip=(1, 1)))
    with pytest.raises(ValueError, match="a Chain takes"):
        imgstat.Chain("clahe", example=source)
    with pytest.raises(TypeError, match="example"):
        imgstat.Chain("equalize")


def test_many_chains():
    x = there(picture("u1", (40, 50)))
    for i in range(40):  # more than are kept
        y = imgstat.normalize(x, clip=(i * 0.1, 1))
        assert np.array_equal(back(y), imgstat.normalize(picture("u1", (40, 50)), clip=(i * 0.1, 1)))


def test_thousands_of_small_images():
    x = picture("u1", (3000, 32, 32))
    y = back(imgstat.equalize(there(x), axes="NHW"))
    assert np.array_equal(y, imgstat.equalize(x, axes="NHW"))


WORDS = 10 if STAND_IN else 40  # images, each with 65,536 bins
SERIES = [((300, 64, 64), "NHW", "u1"), ((300, 64, 64), "NHW", "i1"), ((300, 33, 31), "NHW", "u1"),
          ((200, 16, 16, 3), "NHWC", "u1"), ((100, 2, 16, 16), "NCHW", "u1"), ((6 if STAND_IN else 60, 600, 700), "NHW", "u1"),
          ((5, 64, 64), "NHW", "u1"), ((WORDS, 64, 64), "NHW", "u2"), ((WORDS, 64, 64), "NHW", "i2"), ((1, 64, 64), "NHW", "u1")]


@pytest.mark.parametrize("shape, axes, dtype", SERIES)
def test_batches(shape, axes, dtype):
    """Series that one launch does, and those that it does not, in place and not, with nodata and without."""
    x = picture(dtype, shape)
    x[1 % len(x)] = 7  # without contrast
    for nodata in (None, 7):
        found = imgstat.stats(there(x), axes=axes, percentiles=[5, 50], nodata=nodata)
        asked = imgstat.stats(x, axes=axes, percentiles=[5, 50], nodata=nodata)
        assert len(found) == len(asked) and all(same(a, b) for a, b in zip(found, asked))
        for function in (imgstat.equalize, lambda *a, **k: imgstat.normalize(*a, method="percentile", clip=(1, 2), **k),
                         lambda *a, **k: imgstat.normalize(*a, method="stretch", channels="each", **k)):
            y = function(x, axes=axes, nodata=nodata)
            source = there(x)
            assert np.array_equal(back(function(source, axes=axes, nodata=nodata)), y)
            if y.dtype == x.dtype:
                function(source, axes=axes, nodata=nodata, out=source)
                assert np.array_equal(source.get(), y)


def test_batch_is_a_sequence():
    x = picture("u1", (50, 64, 64))
    batch = imgstat.stats(there(x), axes="NHW", percentiles=[1, 99])
    assert isinstance(batch, imgstat.StatsBatch) and isinstance(batch, collections.abc.Sequence)
    assert "50 images" in repr(batch) and len(batch) == 50
    asked = imgstat.stats(x, axes="NHW", percentiles=[1, 99])
    assert same(batch[-1], asked[-1]) and same(batch[3], asked[3]) and batch[3].percentiles == asked[3].percentiles
    assert [s.mean for s in batch] == [s.mean for s in asked]
    assert [s.sum for s in batch[::-7]] == [s.sum for s in asked[::-7]] and batch[60:] == []
    assert copy.copy(batch) is copy.deepcopy(batch) is batch
    pickled = pickle.loads(pickle.dumps(batch))
    assert isinstance(pickled, list) and len(pickled) == 50 and all(same(a, b) for a, b in zip(pickled, asked))
    for i in (50, -51):
        with pytest.raises(IndexError, match="batch"):
            batch[i]
    with pytest.raises(TypeError):
        batch["a"]
    others = [imgstat.stats(there(x[i:]), axes="NHW") for i in range(20)]  # more than are kept unread
    for i, other in enumerate(others[::-1]):
        assert [s.sum for s in other] == [s.sum for s in asked[19 - i:]]


def test_nothing_leaks():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    x, wide = there(picture("u1", (256, 256))), there(picture("f4", (256, 256)))

    def calls(n):
        for _ in range(n):
            imgstat.equalize(x), imgstat.stats(x), imgstat.normalize(wide), imgstat.stats(wide, percentiles=[3])
            imgstat.equalize(x).__dlpack__(max_version=(1, 0), stream=2)
        cuda.cuCtxSynchronize()
        cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return free.value
    before = calls(50)
    if not STAND_IN:
        assert before - calls(1500) < 32 << 20  # of 65,536 bytes each
    else:  # a stand-in knows each byte
        assert before - calls(150) < 1 << 20


def test_torch():
    torch = pytest.importorskip("torch")
    x = picture("u1")
    t = torch.from_numpy(x).cuda()
    y = imgstat.equalize(t)
    assert isinstance(y, torch.Tensor) and y.device == t.device and np.array_equal(y.cpu().numpy(), imgstat.equalize(x))
    assert same(imgstat.stats(t), imgstat.stats(x), FIELDS[:-1])
    chw = t.permute(2, 0, 1).contiguous()
    assert np.array_equal(imgstat.normalize(chw, axes="CHW").cpu().numpy().transpose(1, 2, 0), imgstat.normalize(x))
    assert imgstat.normalize(t, dtype="float").dtype == torch.float32
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        z = t.float() * 0 + 3
        z[0, 0, 0] = 5
        assert imgstat.stats(z).max[0] == 5
    w = imgstat.equalize(t, stream=side)
    torch.cuda.current_stream().wait_stream(side)  # whoever names a stream orders what follows
    assert isinstance(w, torch.Tensor) and np.array_equal(w.cpu().numpy(), imgstat.equalize(x))
    out, chain = torch.empty_like(t), imgstat.Chain("equalize", example=t)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        chain(t, out=out)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = t // 2
        chain(doubled, out=out)
        chain(doubled)  # into memory of torch, which keeps it for the graph
    t.copy_(torch.from_numpy(np.ascontiguousarray(x[::-1])))
    graph.replay()
    assert np.array_equal(out.cpu().numpy(), imgstat.equalize(np.ascontiguousarray(x[::-1]) // 2))


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = picture("u2")
    t = cupy.asarray(x)
    y = imgstat.equalize(t)
    assert isinstance(y, cupy.ndarray) and np.array_equal(y.get(), imgstat.equalize(x))
    assert same(imgstat.stats(t), imgstat.stats(x), FIELDS[:-1])
    with cupy.cuda.Stream(non_blocking=True) as stream:
        u = t // 3
        assert np.array_equal(imgstat.equalize(u).get(), imgstat.equalize(x // 3))
        assert np.array_equal(imgstat.equalize(u, stream=stream).get(), imgstat.equalize(x // 3))


def test_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("jax has no GPU")
    x = picture("f4")
    t = jax.numpy.asarray(x)
    y = imgstat.normalize(t)
    assert isinstance(y, jax.Array) and np.array_equal(np.asarray(y), imgstat.normalize(x), True)
    assert same(imgstat.stats(t), imgstat.stats(x), FIELDS[:-1])
    assert math.isfinite(imgstat.stats(y).mean[0])
