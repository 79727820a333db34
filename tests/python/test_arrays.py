# SPDX-License-Identifier: MIT
"""Arrays of every layout and library come in as they are, and results go out to every library without a copy."""
import array
import ctypes
import sys

import pytest

import imgstat

np = pytest.importorskip("numpy")
TYPES = "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split()


def picture(dtype="u1", shape=(13, 17, 3), seed=1):
    return (np.random.default_rng(seed).random(shape) * 200 - (100 if dtype[0] != "u" else 0)).astype(dtype)


def same(stats, interleaved):
    """The extrema and their places, which differ if any sample is read from elsewhere."""
    planes = [interleaved[..., c] for c in range(interleaved.shape[-1])]
    if len(planes) == 1:
        return (stats.min, stats.max, stats.min_at, stats.max_at, stats.count) == (
            planes[0].min(), planes[0].max(), planes[0].argmin(), planes[0].argmax(), planes[0].size)
    return (stats.min == tuple(p.min() for p in planes) and stats.max == tuple(p.max() for p in planes)
            and stats.min_at == tuple(p.argmin() for p in planes) and stats.max_at == tuple(p.argmax() for p in planes)
            and stats.sum == pytest.approx(tuple(p.astype("f8").sum() for p in planes), abs=1e-9))


LAYOUTS = {
    "as it is": lambda x: x,
    "reversed rows": lambda x: x[::-1],
    "reversed columns": lambda x: x[:, ::-1],
    "reversed channels": lambda x: x[..., ::-1],
    "every second pixel": lambda x: x[::2, ::2],
    "columns of a wider one": lambda x: x[:, 3:9],
    "two of three channels": lambda x: x[..., :2],
    "one channel": lambda x: x[..., 1:2],
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.transpose(1, 0, 2),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "the same row again": lambda x: np.broadcast_to(x[:1], x.shape),
    "a field of records": lambda x: np.rec.fromarrays([x.astype("u1"), x], names="a,b")["b"],
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype):
    x = LAYOUTS[layout](picture(dtype))
    assert same(imgstat.stats(x), x)
    if x.shape[2] > 1:
        planar = np.ascontiguousarray(x.transpose(2, 0, 1))
        assert same(imgstat.stats(planar, axes="CHW"), x)


def test_read_only():
    x = picture()
    x.flags.writeable = False
    assert same(imgstat.stats(x), x)


def test_axes():
    batch = picture("u2", (5, 6, 7, 3))
    for axes in ("NHWC", "NCHW", "HWCN", "CNWH", "HNWC"):
        y = batch.transpose(["NHWC".index(letter) for letter in axes])
        for order in (y, np.ascontiguousarray(y)):
            all_stats = imgstat.stats(order, axes=axes)
            assert len(all_stats) == 5
            assert all(same(s, x) for s, x in zip(all_stats, batch))
    assert same(imgstat.stats(batch[0, 0, :, 0]), batch[0, :1, :, :1])  # a row
    assert same(imgstat.stats(batch[0, 0], axes="WC"), batch[0, :1])
    assert [s.count for s in imgstat.stats(batch[..., 0], axes="NHW")] == [42] * 5
    assert imgstat.stats(np.zeros((0, 4, 4), "u1"), axes="NHW") == []


@pytest.mark.parametrize("axes", ["HW", "HWCN", "HHC", "hwc", "H W", "", "HCN", "NZW"])
def test_axes_that_do_not_fit(axes):
    with pytest.raises(ValueError, match=f'axes="{axes}"'):
        imgstat.stats(picture(), axes=axes)


def test_axes_have_to_be_given_where_they_could_be_several():
    with pytest.raises(ValueError, match='such as axes="HWC"'):
        imgstat.stats(np.zeros((3, 20, 20), "u1"))
    assert imgstat.stats(np.zeros((3, 20, 20), "u1"), axes="CHW").channels == 3
    with pytest.raises(ValueError, match="0 axes"):
        imgstat.stats(np.array(3))
    with pytest.raises(TypeError, match="axes"):
        imgstat.stats(picture(), axes=3)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (0, 3, 3), (0,)])
@pytest.mark.parametrize("dtype", TYPES)
def test_empty(shape, dtype):
    s = imgstat.stats(np.zeros(shape, dtype), percentiles=[50])
    assert s.count == 0 or s.count == (0, 0, 0)
    assert s.min in (None, (None, None, None))


def test_no_channels():
    with pytest.raises(ValueError, match="0 channels"):
        imgstat.stats(np.zeros((4, 4, 0), "u1"))


@pytest.mark.parametrize("x, sentence", [
    (np.zeros((3, 3), bool), "bool"),
    (np.zeros((3, 3), "c16"), "Zd"),
    (np.zeros(3, "i4,f4"), "structured"),
    (np.zeros((3, 3), "g"), "'g'"),
    (np.ma.zeros((3, 3)), "masked array"),
    (np.zeros((3, 3), object), "'O'"),
    (np.zeros((3, 3), "S4"), "'4s'"),
    (np.zeros((3, 3), "M8[ns]"), r"'datetime64\[ns\]'"),
    (5, "type 'int'"),
    (None, "type 'NoneType'"),
    ([[1, 2], [3, 4]], "type 'list'"),
])
def test_refused(x, sentence):
    with pytest.raises(TypeError, match=sentence):
        imgstat.stats(x)


def test_other_objects_with_a_buffer():
    assert imgstat.stats(array.array("h", [1, 2, -5])).sum == -2
    assert imgstat.stats(memoryview(bytes(range(12))).cast("B", (3, 4))).max_at == 11
    assert imgstat.stats((ctypes.c_uint16 * 4 * 2)()).count == 8
    assert imgstat.stats(bytearray(b"abc")).max == 99


class Interface:
    """What has the array interface alone."""

    def __init__(self, x, **changed):
        self.x = x
        self.__array_interface__ = {**x.__array_interface__, **changed}


def test_more_images_than_memory_holds():
    """The number of their channels wrapped around."""
    many = {"shape": (2**62, 4, 1, 1), "strides": (0, 2, 1, 1), "typestr": "|u1"}
    with pytest.raises(MemoryError):
        imgstat.stats(Interface(np.zeros(64, "u1"), **many), axes="NCHW")


def test_array_interface():
    x = picture("i4")
    assert same(imgstat.stats(Interface(x)), x)
    assert same(imgstat.stats(Interface(x[::2])), x[::2])
    assert same(imgstat.stats(Interface(x, data=x.tobytes(), strides=None)), x)
    assert same(imgstat.stats(Interface(x, data=b"???" + x.tobytes(), strides=None, offset=3)), x)
    for offset in (1, -1, 1 << 70, "1"):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            imgstat.stats(Interface(x, data=x.tobytes(), strides=None, offset=offset))
    for wrong in ({"data": b"short"}, {"data": None}, {"typestr": "<i3"}, {"typestr": 5}, {"shape": None},
                  {"strides": (4,)}, {"shape": (1,) * 9}, {"data": (1, 2, 3)}, {"shape": (2, -3)}):
        with pytest.raises((TypeError, ValueError)):
            imgstat.stats(Interface(x, **wrong))
    for typestr in ("i4", "<i4x", "?i4", "<i", "<i-4"):  # some were read as other types and byte orders
        with pytest.raises(TypeError, match="typestr|elements of type"):
            imgstat.stats(Interface(x, typestr=typestr))


@pytest.mark.parametrize("name", ["__array_interface__", "__cuda_array_interface__"])
def test_masks_of_interfaces(name):
    """They were ignored, and masked samples counted."""
    class Masked:
        pass
    x = picture("i4")
    setattr(Masked, name, {**x.__array_interface__, "mask": x > 3})
    with pytest.raises(TypeError, match="with a mask: give it as mask="):
        imgstat.stats(Masked())
    assert same(imgstat.stats(Interface(x, mask=None)), x)


def test_what_numpy_makes_of_objects():
    class Labelled:
        def __array__(self, dtype=None, copy=None):
            return picture("i2")

    class Derived(np.ndarray):
        pass
    assert same(imgstat.stats(Labelled()), picture("i2"))
    assert type(imgstat.equalize(Labelled())) is np.ndarray
    assert type(imgstat.equalize(picture().view(Derived))) is np.ndarray

    class Fails:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("not now")
    with pytest.raises(RuntimeError, match="not now"):
        imgstat.stats(Fails())

    class Masked:
        def __array__(self, dtype=None, copy=None):
            return np.ma.array(picture(), mask=picture() > 3)
    with pytest.raises(TypeError, match="masked array"):
        imgstat.stats(Masked())


@pytest.mark.parametrize("error", [RuntimeError("not now"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("name", ["__fspath__", "__array_finalize__", "__cuda_array_interface__", "__dlpack__", "__array_interface__",
                                  "__array__", "read"])
def test_attributes_that_fail(name, error):
    """They were as if they were not there: the object was of no known kind, and Ctrl-C was lost."""
    class Failing:
        def __getattr__(self, asked):
            raise error if asked == name else AttributeError(asked)
    for call in (imgstat.stats, imgstat.equalize, imgstat.Record.of):
        if name not in ("__fspath__", "read") or call is not imgstat.equalize:
            with pytest.raises(type(error)):
                call(Failing())


class Exporter:
    """What has DLPack alone, of version 0 or 1."""

    def __init__(self, x, versioned=True):
        self.x, self.versioned = x, versioned

    def __dlpack__(self, **words):
        if not self.versioned and "max_version" in words:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.x.__dlpack__(**words)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack(dtype, versioned):
    if versioned and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("numpy before 2.1 has no versions of DLPack")
    x = picture(dtype)
    for y in (x, x[::2], x[:, ::-1], x.transpose(1, 0, 2)):
        assert same(imgstat.stats(Exporter(y, versioned)), y)


def test_dlpack_that_cannot_be_taken():
    class Elsewhere(Exporter):
        def __dlpack_device__(self):
            return 10, 0
    with pytest.raises(TypeError, match="type 10"):
        imgstat.stats(Elsewhere(picture()))

    class Fails(Exporter):
        def __dlpack__(self, **words):
            raise BufferError("not now")
    with pytest.raises(BufferError, match="not now"):
        imgstat.stats(Fails(picture()))

    class NoCapsule(Exporter):
        def __dlpack__(self, **words):
            return 3
    with pytest.raises((TypeError, ValueError)):
        imgstat.stats(NoCapsule(picture()))
    with pytest.raises((BufferError, TypeError), match="bool|only supports"):  # numpy 1 exports none
        imgstat.stats(Exporter(np.zeros((3, 3), bool)))


def test_dlpack_lets_go():
    x = picture()
    before = sys.getrefcount(x)
    for _ in range(10):
        imgstat.stats(Exporter(x))
    assert sys.getrefcount(x) == before


class Tensor(ctypes.Structure):
    """DLManagedTensorVersioned."""
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64),
                ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint8 * 4),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


EXPORT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Tensor)))
DELETE = ctypes.PYFUNCTYPE(None, ctypes.POINTER(Tensor))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""
    _fields_ = [("version", ctypes.c_uint32 * 2), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p), ("export", EXPORT),
                ("others", ctypes.c_void_p * 3)]


class ByType(Exporter):
    """What has the C functions of DLPack 1.2 too, here of version 2 and 1."""
    calls, kept, fails, device = [], [], False, 1

    @EXPORT
    def export(self, out):
        self.calls.append("export")
        if self.fails:
            return -1
        shape = (ctypes.c_int64 * 2)(*self.x.shape)
        tensor = Tensor(version=(1, 3), deleter=ctypes.cast(self.delete, ctypes.c_void_p), data=self.x.ctypes.data,
                             device=(self.device, 0), ndim=2, dtype=(1, 8, 1, 0),
                             shape=ctypes.addressof(shape))
        self.kept.append((shape, tensor))
        out[0] = ctypes.pointer(tensor)
        return 0

    @DELETE
    def delete(tensor):
        ByType.calls.append("delete")

    def __dlpack__(self, **words):
        self.calls.append("__dlpack__")
        return super().__dlpack__(**words)

    first = Exchange(version=(1, 2), export=export)
    second = Exchange(version=(2, 0), previous=ctypes.addressof(first))
    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    name = b"dlpack_exchange_api"
    __dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.byref(second), name, None)


def test_dlpack_by_type():
    y = ByType(picture("u1", (20, 30)))
    ByType.calls.clear()
    assert same(imgstat.stats(y), y.x[..., None]) and ByType.calls == ["export", "delete"]
    imgstat.equalize(y, out=y)
    for words, calls in (({"fails": True}, ["export", "__dlpack__"]), ({"fails": False, "device": 2}, ["export", "delete", "__dlpack__"])):
        y.__dict__.update(words)
        ByType.calls.clear()
        assert same(imgstat.stats(y), y.x[..., None]) and ByType.calls[: len(calls)] == calls
    ByType.second.previous = None
    ByType.calls.clear()
    assert same(imgstat.stats(y), y.x[..., None]) and set(ByType.calls) == {"__dlpack__"}


def test_without_numpy_results_are_iterated_over():
    h = imgstat.histogram(memoryview(b"\0\0\7"))
    assert sum(h.counts) == 3 and max(h.edges) == 256 and list(h.cdf)[:8] == [2] * 7 + [3] and 257 not in h.counts


def test_results_are_arrays_for_everybody():
    x = picture("u1", (20, 20))
    counts = imgstat.stats(x).histogram.counts
    y = np.asarray(counts)
    assert y.dtype == np.uint64 and (y == np.bincount(x.ravel(), minlength=256)).all()
    assert not y.flags.writeable and np.asarray(counts).ctypes.data == y.ctypes.data
    assert counts.shape == (256,) and counts.dtype == "uint64" and counts.nbytes == 2048 and counts.ndim == 1
    assert counts.strides == (8,) and len(counts) == 256 and counts[3] == y[3] and counts.tolist() == y.tolist()
    assert repr(counts) == "imgstat.Array(shape=(256,), dtype='uint64')"
    assert memoryview(counts).format == "Q"
    assert not hasattr(counts, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="read-only"):
        counts.__dlpack__()
    edges = imgstat.stats(x).histogram.edges
    assert (np.from_dlpack(edges) == np.arange(257)).all()  # and outlives what it came from
    assert edges.__dlpack_device__() == (1, 0)
    for words in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            edges.__dlpack__(**words)
    with pytest.raises(ValueError, match="stream"):
        edges.__dlpack__(stream=1)
    edges.__dlpack__(max_version=(1, 0))  # nobody consumes it
    for wrong in (imgstat.Array, lambda: edges.__dlpack__(dl_device=1), lambda: edges.__dlpack__(max_version=[1, 0])):
        with pytest.raises(TypeError):
            wrong()


def test_torch():
    torch = pytest.importorskip("torch")
    x = picture("f4")
    assert same(imgstat.stats(torch.from_numpy(x)), x)
    assert same(imgstat.stats(torch.from_numpy(x).permute(2, 0, 1), axes="CHW"), x)
    with pytest.raises(TypeError, match="bfloat16"):
        imgstat.stats(torch.zeros(3, 3, dtype=torch.bfloat16))


def test_jax():
    jax = pytest.importorskip("jax")
    x = picture("f4")
    assert same(imgstat.stats(jax.numpy.asarray(x)), x)


def test_pillow():
    image = pytest.importorskip("PIL.Image")
    x = picture("u1")
    assert same(imgstat.stats(image.fromarray(x)), x)
