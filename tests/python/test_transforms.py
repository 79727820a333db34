# SPDX-License-Identifier: MIT
"""normalize, equalize, clahe and match: the formulas of docs/transforms.md, in every layout and into every output."""
import array
import os
import signal
import threading
from fractions import Fraction

import pytest

import imgstat

np = pytest.importorskip("numpy")
TYPES = "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split()
INTEGERS = "u1 i1 u2 i2 u4 i4".split()

ARTICLE = np.array([[52, 55, 61, 66, 70, 61, 64, 73], [63, 59, 55, 90, 109, 85, 69, 72],
                    [62, 59, 68, 113, 144, 104, 66, 73], [63, 58, 71, 122, 154, 106, 70, 69],
                    [67, 61, 68, 104, 126, 88, 68, 70], [79, 65, 60, 70, 77, 68, 58, 75],
                    [85, 71, 64, 59, 55, 61, 65, 83], [87, 79, 69, 68, 65, 76, 78, 94]], "u1")
EQUALIZED = np.array([[0, 12, 53, 93, 146, 53, 73, 166], [65, 32, 12, 215, 235, 202, 130, 158],
                      [57, 32, 117, 239, 251, 227, 93, 166], [65, 20, 154, 243, 255, 231, 146, 130],
                      [97, 53, 117, 227, 247, 210, 117, 146], [190, 85, 36, 146, 178, 117, 20, 170],
                      [202, 154, 73, 32, 12, 53, 85, 194], [206, 190, 130, 117, 85, 174, 182, 219]], "u1")


def picture(dtype="u1", shape=(23, 31, 3), seed=1):
    x = np.random.default_rng(seed).random(shape) ** 2
    if dtype[0] == "f":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    return (info.min + x * (int(info.max) - int(info.min)) * 0.7).astype(dtype)


def full_scale(dtype):
    return (0, 1) if dtype[0] == "f" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def stretched(x, black, white, lo, hi):
    """Of integers: the rational distance from lo, rounded half to even."""
    values = [lo + round(Fraction((min(max(v, black), white) - black) * (hi - lo), white - black))
              for v in x.ravel().tolist()]
    return np.array(values, x.dtype).reshape(x.shape)


def equalized(x):
    values, counts = np.unique(x, return_counts=True)
    lo, hi = full_scale(x.dtype.str[1:])
    below = np.cumsum(counts).tolist()
    n, first = below[-1], below[0]
    table = {v: lo + round(Fraction((c - first) * (hi - lo), n - first)) for v, c in zip(values.tolist(), below)}
    return np.array([table[v] for v in x.ravel().tolist()], x.dtype).reshape(x.shape)


def test_the_article():
    assert (imgstat.equalize(ARTICLE) == EQUALIZED).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_formulas_of_integers(dtype):
    x = picture(dtype, (19, 27))
    lo, hi = full_scale(dtype)
    low, high = int(x.min()), int(x.max())
    assert (imgstat.normalize(x) == stretched(x, low, high, lo, hi)).all()
    assert (imgstat.normalize(x, in_range=(low + 3, high - 3)) == stretched(x, low + 3, high - 3, lo, hi)).all()
    assert (imgstat.normalize(x, out_range=(3, 90)) == stretched(x, low, high, 3, 90)).all()
    ordered = np.sort(x.ravel()).tolist()
    black, white = ordered[len(ordered) * 2 // 100], ordered[len(ordered) - 1 - len(ordered) * 5 // 100]
    for clip in ((2, 5), (2, 95)):
        assert (imgstat.normalize(x, clip=clip) == stretched(x, black, white, lo, hi)).all()
    assert (imgstat.normalize(x, "percentile", clip=(2, 5), threads=1) == imgstat.normalize(x, clip=[2, 5])).all()
    if dtype[1] in "12":
        assert (imgstat.equalize(x) == equalized(x)).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_formulas_of_floats(dtype):
    x = picture(dtype, (19, 27))
    x[2, 3], x[4, 5], x[6, 7] = np.nan, np.inf, -np.inf
    finite = np.isfinite(x)
    b, w = float(x[finite].min()), float(x[finite].max())
    expected = ((x.astype("f8") - b) / (w - b)).astype(dtype)
    y = imgstat.normalize(x)
    assert y.dtype == x.dtype
    assert np.allclose(y[finite], expected[finite], rtol=1e-15, atol=1e-15) if dtype == "f8" else (
        y[finite] == expected[finite]).all()
    assert np.array_equal(y[~finite], x[~finite], equal_nan=True)
    z = imgstat.normalize(x, mean=0, std=1)
    assert abs(z[finite].astype("f8").mean()) < 1e-3 and abs(z[finite].astype("f8").std() - 1) < 1e-3
    assert np.allclose(imgstat.normalize(x, gamma=2)[finite], x[finite].astype("f8") ** 2, atol=1e-3)


def test_channels():
    x = picture("u1", (20, 30, 3))
    each = np.dstack([stretched(x[..., c], int(x[..., c].min()), int(x[..., c].max()), 0, 255) for c in range(3)])
    joint = stretched(x, int(x.min()), int(x.max()), 0, 255)
    assert (imgstat.normalize(x, channels="each") == each).all()
    assert (imgstat.normalize(x) == joint).all() and (imgstat.normalize(x, channels="joint") == joint).all()
    four = picture("u1", (20, 30, 4))
    alpha = imgstat.normalize(four, channels="each", alpha=3)
    assert (alpha[..., 3] == four[..., 3]).all()
    assert (imgstat.normalize(four, channels="each", alpha=-1) == alpha).all()
    assert (alpha[..., :3] == imgstat.normalize(np.ascontiguousarray(four[..., :3]), channels="each")).all()
    assert (imgstat.equalize(x) == imgstat.equalize(x, channels="luma")).all()
    assert (imgstat.equalize(x, channels="each")[..., 1] == equalized(np.ascontiguousarray(x[..., 1]))).all()


def test_types():
    x = picture("u2", (20, 30))
    assert imgstat.normalize(x, dtype="uint8").dtype == np.uint8
    assert imgstat.normalize(x, dtype="float").dtype == np.float32
    assert imgstat.normalize(x.astype("f8"), dtype="float").dtype == np.float64
    assert imgstat.normalize(x.astype("u1"), dtype="uint16").max() == 65535
    assert imgstat.normalize(x, out_range=("10%", "50%")).max() == 32768
    for name, types in {"uint8": (np.uint8, np.dtype("u1")), "uint16": (np.uint16, x.dtype), "float32": (float,)}.items():
        for dtype in types:
            assert imgstat.normalize(x, dtype=dtype).dtype == name
    for wrong in (np.uint32, np.dtype("i2"), np.float32, 8):
        with pytest.raises(ValueError, match='should be one of "uint8", "uint16", "float"'):
            imgstat.normalize(x, dtype=wrong)
    for dtype in TYPES:
        y = picture(dtype)
        for z in (imgstat.normalize(y), imgstat.equalize(y), imgstat.match(y, y), imgstat.normalize(y, mean=5, std=2)):
            assert type(z) is np.ndarray and z.dtype == y.dtype and z.shape == y.shape and z.flags.c_contiguous
            assert z.flags.writeable


def test_match():
    x, ref = picture("u1", (20, 30), 1), picture("u1", (40, 25), 2) // 2
    y = imgstat.match(x, ref)
    source, target = np.sort(x.ravel()), np.sort(ref.ravel())
    rank = np.searchsorted(source, x.ravel(), side="right")  # CDF(v)
    expected = target[-(-rank * target.size // source.size) - 1].reshape(x.shape)
    assert (y == expected).all()
    batch = imgstat.match(np.stack([x, x]), ref, axes="NHW")
    assert (batch == y).all() and batch.shape == (2, 20, 30)
    color, color_ref = picture("u2", (20, 30, 3)), picture("u2", (9, 8, 3), 4) // 3
    y = imgstat.match(color, color_ref)
    for c in range(3):
        assert (y[..., c] == imgstat.match(color[..., c], color_ref[..., c])).all()
    planar = imgstat.match(color.transpose(2, 0, 1), color_ref.transpose(2, 0, 1), axes="CHW")
    assert (planar.transpose(1, 2, 0) == y).all()
    planar = imgstat.match(np.ascontiguousarray(color.transpose(2, 0, 1)),
                           np.ascontiguousarray(color_ref.transpose(2, 0, 1)), axes="CHW")
    assert (planar.transpose(1, 2, 0) == y).all()


def test_clahe():
    x = picture("u1", (64, 80))
    y = imgstat.clahe(x, tiles=(4, 2), clip_limit=0.02)
    assert y.shape == x.shape and not (y == x).all()
    assert (imgstat.clahe(x) == imgstat.clahe(x, tiles=8)).all() and (imgstat.clahe(x) == imgstat.clahe(x, tiles=(8, 8))).all()
    cv2 = pytest.importorskip("cv2")
    for tiles in ((8, 8), (4, 2)):
        theirs = cv2.createCLAHE(40.0, tiles).apply(x)
        assert (imgstat.clahe(x, tiles=tiles, like="opencv") == theirs).all()
    assert (imgstat.equalize(x, like="opencv") == cv2.equalizeHist(x)).all()


def transforms():
    yield lambda x, **w: imgstat.normalize(x, **w)
    yield lambda x, **w: imgstat.normalize(x, channels="each", **w)
    yield lambda x, **w: imgstat.normalize(x, clip=(1, 2), **w)
    yield lambda x, **w: imgstat.equalize(x, **w)
    yield lambda x, **w: imgstat.equalize(x, channels="joint", **w)
    yield lambda x, **w: imgstat.equalize(x, channels="each", **w)
    yield lambda x, **w: imgstat.clahe(x, tiles=2, **w)
    yield lambda x, **w: imgstat.normalize(x, dtype="uint8", **w)


LAYOUTS = [
    lambda x: x, lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[..., ::-1], lambda x: x[::2, 1::2],
    np.asfortranarray, lambda x: x.transpose(1, 0, 2), lambda x: x.astype(x.dtype.newbyteorder()),
    lambda x: np.broadcast_to(x[:1], x.shape), lambda x: x[..., 1:2], lambda x: x[..., :2],
]


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize("number", range(8))
def test_layouts(number, dtype):
    if number == 6 and dtype[0] == "f":
        with pytest.raises(imgstat.Error, match="16 bits"):
            imgstat.clahe(picture(dtype))
        return
    transform = list(transforms())[number]
    for layout in LAYOUTS:
        y = layout(picture(dtype))
        native = y.astype(y.dtype.newbyteorder("=")) if not y.dtype.isnative else y
        expected = transform(np.ascontiguousarray(native))
        assert np.array_equal(transform(y), expected)
        planar = np.ascontiguousarray(native.transpose(2, 0, 1))
        assert np.array_equal(transform(planar, axes="CHW").transpose(1, 2, 0), expected)
        assert np.array_equal(transform(native.transpose(2, 0, 1), axes="CHW").transpose(1, 2, 0), expected)
        out = np.full(expected.shape[::-1], 7, expected.dtype).transpose(2, 1, 0)
        for o in (np.empty_like(expected), out, np.zeros((*expected.shape[:2], 9), expected.dtype)[..., :expected.shape[2]],
                  np.zeros((2 * expected.shape[0], *expected.shape[1:]), expected.dtype)[::2],
                  np.zeros_like(expected)[::-1], np.zeros(expected.shape, expected.dtype.newbyteorder())):
            assert transform(y, out=o) is o and np.array_equal(o, expected)
        if expected.dtype == native.dtype:
            for same in (np.array(native), np.asfortranarray(native), np.array(native[::-1])[::-1]):
                assert transform(same, out=same) is same and np.array_equal(same, expected)


def test_batches():
    batch = picture("u1", (5, 12, 14, 3))
    expected = np.stack([imgstat.equalize(x) for x in batch])
    for axes in ("NHWC", "NCHW", "HWCN", "CNWH"):
        y = batch.transpose(["NHWC".index(letter) for letter in axes])
        back = [axes.index(letter) for letter in "NHWC"]
        assert np.array_equal(imgstat.equalize(y, axes=axes).transpose(back), expected)
        assert np.array_equal(imgstat.equalize(np.ascontiguousarray(y), axes=axes).transpose(back), expected)
    assert imgstat.equalize(np.zeros((0, 4, 4), "u1"), axes="NHW").shape == (0, 4, 4)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 3, 3), (0,)])
def test_empty(shape):
    for dtype in TYPES:
        assert imgstat.normalize(np.zeros(shape, dtype)).shape == shape
        assert imgstat.clahe(np.zeros(shape, dtype)).shape == shape


def test_mask_nodata_and_bits():
    x = picture("u1", (20, 30))
    mask = np.random.default_rng(4).random(x.shape) < 0.5
    y = imgstat.normalize(x, mask=mask)
    assert (y[~mask] == x[~mask]).all()
    inside = x[mask].reshape(1, -1)
    assert (y[mask] == stretched(inside, int(inside.min()), int(inside.max()), 0, 255).ravel()).all()
    y = imgstat.normalize(x, mask=np.asfortranarray(mask))
    assert (y[~mask] == x[~mask]).all()
    x[3, 4] = 255
    x[0, 0] = 17
    y = imgstat.normalize(x, nodata=255)
    assert y[3, 4] == 255 and (y[x != 255] != 255).all()
    twelve = picture("u2", (20, 30)) // 16
    assert imgstat.normalize(twelve, bits=12).max() == 4095
    assert imgstat.normalize(twelve, gamma=1, bits=12, dtype="uint16").max() == round(int(twelve.max()) * 65535 / 4095)
    planes = np.stack([x, x[::-1], x])
    for words in ({}, {"channels": "each"}):
        a = imgstat.normalize(planes, axes="CHW", mask=mask, **words)
        b = imgstat.normalize(np.ascontiguousarray(planes.transpose(1, 2, 0)), mask=mask, **words)
        assert (a.transpose(1, 2, 0) == b).all()


def test_kinds():
    a = array.array("H", [5, 9, 200])
    y = imgstat.normalize(a)
    assert isinstance(y, imgstat.Array) and y.tolist() == [0, 1344, 65535] and y.dtype == "uint16"
    view = memoryview(bytearray(range(12))).cast("B", (3, 4))
    y = imgstat.equalize(view)
    assert y.shape == (3, 4) and memoryview(y).tolist()[0][0] == 0 and y[2, 3] == 255
    assert imgstat.normalize(a, out=a) is a and a.tolist() == [0, 1344, 65535]


def test_torch():
    torch = pytest.importorskip("torch")
    x = picture("u1")
    y = imgstat.equalize(torch.from_numpy(x))
    assert isinstance(y, torch.Tensor) and np.array_equal(y.numpy(), imgstat.equalize(x))


def test_jax():
    jax = pytest.importorskip("jax")
    x = picture("u1")
    y = imgstat.equalize(jax.numpy.asarray(x))
    assert isinstance(y, jax.Array) and np.array_equal(np.asarray(y), imgstat.equalize(x))


@pytest.mark.parametrize("words, error, sentence", [
    ({"out": np.zeros((3, 4), "u1")}, ValueError, "shape"), ({"out": np.zeros((4, 4), "u2")}, TypeError, "uint16"),
    ({"out": 5}, TypeError, "out"), ({"method": "foo"}, ValueError, '"stretch"'), ({"method": "clahe"}, ValueError, "clahe"),
    ({"method": "gamma"}, ValueError, "gamma="), ({"mean": 3}, ValueError, "std="), ({"clip": 3}, TypeError, "clip=3"),
    ({"clip": (60, 60)}, ValueError, r"clip=\(60, 60\)"), ({"clip": (0, np.nan)}, ValueError, "clip="), ({"clip": "ab"}, TypeError, "clip"), ({"out_range": (5, 2)}, ValueError, ""),
    ({"out_range": ("5%", "x")}, ValueError, "5%"), ({"gamma": -1}, ValueError, ""), ({"gamma": "2"}, TypeError, ""),
    ({"tiles": 4}, ValueError, "tiles="), ({"channels": "some"}, ValueError, '"luma"'), ({"dtype": "int8"}, ValueError, "uint8"),
    ({"like": "gimp"}, ValueError, '"opencv"'), ({"alpha": 1}, ValueError, "alpha=1"), ({"in_range": (1, 2), "gamma": 2}, ValueError, "in_range"),
    ({"foo": 1}, TypeError, "'foo'"), ({"device": "cuda:63"}, imgstat.Error, "CUDA")])
def test_wrong_arguments(words, error, sentence):
    with pytest.raises(error, match=sentence or "."):
        imgstat.normalize(np.zeros((4, 4), "u1"), **words)


def test_more_wrong_arguments():
    x = np.zeros((6, 6), "u1")
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        imgstat.normalize(np.zeros((6, 6), "u1"), out=x)
    y = np.zeros((7, 6), "u1")
    with pytest.raises(ValueError, match="overlaps"):
        imgstat.normalize(y[1:], out=y[:-1])
    with pytest.raises(ValueError, match="overlaps"):
        imgstat.normalize(y[:6], out=y[:6, ::-1])
    imgstat.normalize(y[:3], out=y[3:6])
    def strided(shape, strides):
        return np.lib.stride_tricks.as_strided(np.zeros(128, "u2")[64:], shape, strides)
    for shape, strides in (((6, 6), (0, 2)), ((5, 5), (2, 2)), ((5, 5), (2, -2)), ((5, 6), (4, 2)), ((3, 5), (1, 6))):
        with pytest.raises(ValueError, match="overlaps itself"):  # the last writer won
            imgstat.normalize(np.ones(shape, "u2"), out=strided(shape, strides))
    for shape, strides in (((6, 6), (12, 2)), ((6, 6), (2, 12)), ((1, 6), (0, 2)), ((6, 1), (2, 0)), ((2, 3), (6, 4)),
                           ((2, 3), (6, 14)), ((2, 3, 2), (4, 8, 2)), ((3, 2), (-4, 2))):
        z = strided(shape, strides)
        assert imgstat.normalize(np.full(shape, 7, "u2"), out=z) is z and (z == 7).all()
    batch, out = np.zeros((2, 5, 5), "u1"), np.zeros((2, 5, 5), "u1")
    with pytest.raises(ValueError, match="overlaps the mask or the reference"):  # the second image would have another one
        imgstat.match(batch, out[0], axes="NHW", out=out)
    with pytest.raises(ValueError, match="overlaps the mask or the reference"):
        imgstat.normalize(batch, mask=out[0], axes="NHW", out=out)
    assert imgstat.match(batch, batch[0], axes="NHW", out=out) is out
    for tiles in (0, (1, 2, 3), (-1, 1), (float("nan"), 1), (1.5, 2), 2.5):  # 1.5 was taken for 1
        with pytest.raises((TypeError, ValueError), match="tiles"):
            imgstat.clahe(y, tiles=tiles)
    with pytest.raises(ValueError):
        imgstat.match(y, np.zeros((3, 3, 3), "u1"))
    with pytest.raises(TypeError, match="bytes are a file"):  # as imgstat.stats takes them
        imgstat.equalize(y.tobytes())
    with pytest.raises(ValueError):
        imgstat.equalize(picture("u1", (8, 8, 2)), channels="luma")


def test_ctrl_c_ends_a_batch():
    batch = np.broadcast_to(picture("u1", (1, 512, 512)), (10000, 512, 512))
    out = np.empty(batch.shape, "u1")
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        imgstat.clahe(batch, axes="NHW", out=out, threads=1)


def test_anything():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    @hypothesis.given(st.data())
    @hypothesis.settings(max_examples=200)
    def compare(data):
        dtype = np.dtype(data.draw(st.sampled_from(INTEGERS)))
        x = data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
        lo, hi = full_scale(dtype.str[1:])
        low, high = int(x.min()), int(x.max())
        assert (imgstat.normalize(x) == (x if low == high else stretched(x, low, high, lo, hi))).all()
        if dtype.itemsize <= 2:
            assert (imgstat.equalize(x) == (x if low == high else equalized(x))).all()
    compare()


def test_chains():
    x = picture("u1", (20, 30, 3))
    chain = imgstat.Chain("percentile", example=x, clip=(1, 2), channels="each")
    for y in (x, x[:10], x[:5, :9]):
        assert (chain(y) == imgstat.normalize(y, clip=(1, 2), channels="each")).all()
    out = np.empty_like(x)
    assert chain(x, out=out) is out and (out == chain(x)).all()
    chain = imgstat.Chain("equalize", x, nodata=5, alpha=2, axes="HWC", channels="joint")
    assert (chain(x) == imgstat.equalize(x, nodata=5, alpha=2, channels="joint")).all()
    planar = np.ascontiguousarray(x.transpose(2, 0, 1))
    chain = imgstat.Chain("equalize", planar, axes="CHW", channels="each")
    assert (chain(planar) == imgstat.equalize(planar, axes="CHW", channels="each")).all()
    for words, error in (({"method": 3}, TypeError), ({}, TypeError), ({"example": 3}, TypeError), ({"example": x, "gamma": 2}, ValueError)):
        with pytest.raises(error):
            imgstat.Chain("equalize", **words)
    for words in ({"method": "gamma"}, {"method": "meanstd"}, {"method": "clahe"}, {"method": "match"}, {"method": None, "gamma": 2}):
        with pytest.raises(ValueError, match='a Chain takes method="stretch"'):
            imgstat.Chain(example=x, **words)
    with pytest.raises(imgstat.Error):
        imgstat.Chain("equalize", example=x.astype("f4"))
    with pytest.raises((ValueError, imgstat.Error)):
        chain(x.astype("u2"))


def test_formulas_of_others_avoid_nodata():
    """vips gives the only level of an image full scale, which is nodata here."""
    x = np.array([[0, 0, 255], [0, 0, 255]], "u1")
    assert imgstat.equalize(x, like="vips", nodata=255).tolist() == [[254, 254, 255], [254, 254, 255]]
