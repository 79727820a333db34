# SPDX-License-Identifier: MIT
"""imgstat.exposure beside skimage.exposure: the same signatures, the same values where like="skimage", and imgstat's own
values otherwise."""
import array
import inspect
import subprocess
import sys

import pytest

import imgstat
from imgstat import exposure

np = pytest.importorskip("numpy")

INTEGERS = ["uint8", "uint16", "int8", "int16"]
FLOATS = ["float32", "float64"]
SHAPES = [(40, 50), (17, 3), (1, 200), (8, 9, 10)]


@pytest.fixture(scope="module")
def skimage():
    return pytest.importorskip("skimage.exposure")


def picture(dtype, shape=(40, 50), seed=5):
    """Several humps, so that no distribution is even."""
    source = np.random.default_rng(seed)
    values = source.beta(2, 5, shape) * 0.6 + 0.1 * source.integers(0, 3, shape)
    if dtype.startswith("float"):
        return values.astype(dtype)
    return (values * np.iinfo(dtype).max).astype(dtype)


def signed(dtype, shape=(40, 50)):
    image = picture(dtype, shape)
    return image - image.max() // 3 if image.dtype.kind == "i" else image - image.dtype.type(0.3)


def same(own, other, tolerance=0.0):
    assert own.dtype == other.dtype and own.shape == other.shape
    if tolerance:
        np.testing.assert_allclose(own, other, rtol=0, atol=tolerance)
    else:
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("name", exposure.__all__)
def test_signatures_are_those_of_scikit_image(name, skimage):
    own, other = (inspect.signature(getattr(module, name)).parameters for module in (exposure, skimage))
    pairs = [(p.name, p.default, p.kind) for p in own.values() if p.name != "like"]
    assert pairs == [(p.name, p.default, p.kind) for p in other.values()]


# ---- Histograms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source_range", ["image", "dtype"])
@pytest.mark.parametrize("dtype", INTEGERS + ["uint32", "int64"] + FLOATS)
def test_histogram(dtype, source_range, shape, skimage):
    image = picture(dtype, shape)
    if dtype in ("uint32", "int64"):
        if source_range == "dtype":
            with pytest.raises(ValueError, match="bins"):
                exposure.histogram(image, source_range="dtype")
            return
        image = image % 5000 + 70000
    own, other = (module.histogram(image, 64, source_range) for module in (exposure, skimage))
    np.testing.assert_array_equal(own[0], other[0])
    np.testing.assert_allclose(own[1], other[1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_histogram_of_negative_values(dtype, skimage):
    image = signed(dtype)
    own, other = (module.histogram(image) for module in (exposure, skimage))
    np.testing.assert_array_equal(own[0], other[0])
    np.testing.assert_allclose(own[1], other[1], atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float64"])
def test_histogram_of_channels(dtype, axis, skimage):
    image = np.moveaxis(np.stack([picture(dtype, seed=seed) // 2 * seed for seed in (1, 2, 3)], -1), -1, axis)
    own, other = (module.histogram(image, 32, channel_axis=axis) for module in (exposure, skimage))
    np.testing.assert_array_equal(own[0], other[0])
    np.testing.assert_allclose(own[1], other[1])


def test_normalized_histogram(skimage):
    image = picture("uint16")
    own, other = (module.histogram(image, normalize=True) for module in (exposure, skimage))
    same(own[0], other[0])


@pytest.mark.parametrize("value", [0, 7, 255])
def test_histogram_of_one_value(value, skimage):
    for image in (np.full((5, 6), value, "uint8"), np.full((5, 6), value, "float64")):
        own, other = (module.histogram(image) for module in (exposure, skimage))
        np.testing.assert_array_equal(own[0], other[0])
        np.testing.assert_allclose(own[1], other[1])


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_cumulative_distribution(dtype, skimage):
    own, other = (module.cumulative_distribution(picture(dtype), 100) for module in (exposure, skimage))
    same(own[0], other[0], 1e-7)
    np.testing.assert_allclose(own[1], other[1], rtol=1e-6)


def test_histogram_leaves_out_what_is_undefined():
    image = picture("float32")
    image[3, 4], image[5, 6] = np.nan, np.inf
    assert exposure.histogram(image)[0].sum() == image.size - 2


@pytest.mark.parametrize("dtype, values", [
    ("int64", [2**53, 2**53 + 1, 2**53 + 1]), ("int64", [2**60, 2**60 + 3, 2**60 + 3]),
    ("int64", [-(2**63), 5 - 2**63, 1 - 2**63]), ("int64", [2**53 - 3, 2**53 - 1, 2**53 - 1]),
    ("int64", [2**52 + 1, 2**52 + 2, 2**52 + 4]), ("int64", [2**63 - 2, 2**63 - 1]), ("int64", [2**53 - 1, 2**53 + 1]),
    ("uint64", [2**64 - 2, 2**64 - 1]), ("uint64", [2**63 - 1, 2**63])])
def test_histogram_of_large_integers(dtype, values):
    """Ends of a range were doubles: values from 2^52 on shared bins or had none, and centers were of int64."""
    counts, centers = exposure.histogram(np.array([values], dtype))
    lo, hi = min(values), max(values)
    assert centers.tolist() == list(range(lo, hi + 1))
    assert counts.tolist() == [values.count(value) for value in range(lo, hi + 1)]
    share = exposure.cumulative_distribution(np.array([values], dtype))[0]
    assert share.tolist() == [sum(v <= value for v in values) / len(values) for value in range(lo, hi + 1)]


def test_histogram_of_channels_of_large_integers():
    image = np.array([[2**53 - 1, 2**53 - 2], [2**53 + 2, 2**53 + 1]])
    counts, centers = exposure.histogram(image, channel_axis=0)
    assert counts.tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]] and centers[0] == 2**53 - 2


def test_histogram_has_at_most_the_bins_of_the_library():
    """The sentence named four times as many."""
    with pytest.raises(ValueError, match="from 0 to 16777216: more than 16777216 bins"):
        exposure.histogram(np.array([[0, 2**24]]))


# ---- Transforms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_equalize_hist_like_skimage(dtype, shape, skimage):
    image = picture(dtype, shape)
    same(exposure.equalize_hist(image, 100, like="skimage"), skimage.equalize_hist(image, 100), 1e-6)
    mask = np.random.default_rng(2).random(shape) < 0.5
    same(exposure.equalize_hist(image, mask=mask, like="skimage"), skimage.equalize_hist(image, mask=mask), 1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_equalize_hist_of_negative_values_like_skimage(dtype, skimage):
    image = signed(dtype)
    same(exposure.equalize_hist(image, like="skimage"), skimage.equalize_hist(image))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + ["uint32"])
def test_equalize_hist_keeps_the_type(dtype):
    image = picture(dtype)
    out = exposure.equalize_hist(image)
    assert out.dtype == image.dtype
    np.testing.assert_array_equal(out, imgstat.equalize(image))
    order = np.argsort(image, axis=None)
    assert (np.diff(out.reshape(-1)[order].astype(float)) >= 0).all()


def test_equalize_hist_takes_all_channels_as_one():
    image = picture("uint8", (20, 30, 3))
    np.testing.assert_array_equal(exposure.equalize_hist(image).reshape(20, 90), imgstat.equalize(image.reshape(20, 90)))


def test_equalize_hist_maps_what_is_masked():
    image = picture("uint8")
    mask = np.zeros(image.shape, bool)
    mask[:20] = True
    out = exposure.equalize_hist(image, mask=mask)
    np.testing.assert_array_equal(out[:20], imgstat.equalize(np.ascontiguousarray(image[:20])))
    table = np.zeros(256, int)
    table[image[:20]] = out[:20]
    known = np.isin(image, image[:20])
    np.testing.assert_array_equal(out[known], table[image[known]])


@pytest.mark.parametrize("in_range", ["image", "dtype", (20, 90), "uint8"])
@pytest.mark.parametrize("out_range", ["dtype", (10, 200), "uint12", "uint16", "float32", np.uint8])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_rescale_intensity_like_skimage(dtype, in_range, out_range, skimage):
    for image in (picture(dtype), picture(dtype, (4, 5, 6))):
        same(exposure.rescale_intensity(image, in_range, out_range, like="skimage"),
             skimage.rescale_intensity(image, in_range, out_range))


@pytest.mark.parametrize("in_range", ["image", "dtype", (20, 90)])
@pytest.mark.parametrize("out_range", ["dtype", (10, 200), "uint16"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_rescale_intensity_rounds(dtype, in_range, out_range, skimage):
    """Within one level of what scikit-image cuts off, and the nearest to what it computes in floats."""
    image = picture(dtype)
    if image.dtype.kind == "f" and in_range == (20, 90):
        in_range = (0.2, 0.4)
    own, other = (module.rescale_intensity(image, in_range, out_range) for module in (exposure, skimage))
    assert own.dtype == (np.float32 if isinstance(out_range, tuple) and dtype != "float64" else other.dtype)
    exact = own.dtype.kind == "f"
    np.testing.assert_allclose(own.astype(float), other.astype(float), rtol=1e-6, atol=1e-4 if exact else 1)


def test_rescale_intensity_of_negative_floats(skimage):
    image = signed("float64")
    np.testing.assert_allclose(exposure.rescale_intensity(image), skimage.rescale_intensity(image), atol=1e-12)


def test_rescale_intensity_of_one_value(skimage):
    for image in (np.full((5, 6), 130, "uint8"), np.full((5, 6), 0.5)):
        same(exposure.rescale_intensity(image), skimage.rescale_intensity(image))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3), (7,)])
@pytest.mark.parametrize("dtype, value, out_range, expected, to", [
    ("uint8", 9, "dtype", 9, "uint8"), ("uint8", 9, "image", 9, "uint8"), ("uint8", 9, "uint16", 9, "uint16"),
    ("uint8", 9, "int16", 9, "int16"), ("uint8", 9, (0, 1), 1, "float32"), ("uint8", 9, (300, 400), 300, "float32"),
    ("int16", -9, "dtype", -9, "int16"), ("int16", -9, "uint8", 0, "uint8"), ("float32", 7, "dtype", 1, "float32"),
    ("float64", 7, "uint8", 7, "uint8")])
def test_rescale_intensity_of_one_value_limits_it(dtype, value, out_range, expected, to, shape):
    """The axes were lost, buffers were an AttributeError, and other types were scaled to their full scale."""
    image = np.full(shape, value, dtype)
    same(exposure.rescale_intensity(image, out_range=out_range), np.full(shape, expected, to))
    same(np.asarray(exposure.rescale_intensity(memoryview(image), out_range=out_range)), np.full(shape, expected, to))


@pytest.mark.parametrize("out_range, expected, to", [
    ("int8", [0, 64, 127], "int8"), ("int16", [0, 16384, 32767], "int16"), (np.int16, [0, 16384, 32767], "int16"),
    (np.dtype("int16"), [0, 16384, 32767], "int16"), ("int32", [0, 2**30, 2**31 - 1], "int32"),
    ("uint32", [0, 2**31, 2**32 - 1], "uint32"), ("int64", [0, 2**62, 2**63 - 1], "int64"),
    ("uint64", [0, 2**63, 2**64 - 1], "uint64"), ("float16", [0, 0.5, 1], "float16"),
    ("float32", [0, 0.5, 1], "float32"), (np.float64, [0, 0.5, 1], "float64"), ("uint8", [0, 128, 255], "uint8"),
    ((1, 0), [1, 0.5, 0], None)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "float32", "float64"])
def test_rescale_intensity_to_types(dtype, out_range, expected, to):
    """Most types were refused, by an argument that the function does not have."""
    to = to or ("float64" if dtype == "float64" else "float32")
    image = np.array([[0, 100, 200], [0, 100, 200]], dtype)
    same(exposure.rescale_intensity(image, out_range=out_range), np.array([expected, expected], to))


@pytest.mark.parametrize("dtype", INTEGERS + ["int32", "uint64"])
@pytest.mark.parametrize("in_range", [(11, 74.8), (0, 300), (-40.5, 90), "uint16", np.array([10.25, 120.75])])
def test_rescale_intensity_by_any_range(dtype, in_range):
    """Of integers a range of fractions, or beyond their type, was a ValueError."""
    image = np.array([list(range(0, 126, 5))], dtype)
    black, white = (0, 65535) if isinstance(in_range, str) else in_range
    top = np.iinfo(dtype).max
    lo = np.iinfo(dtype).min if black < 0 else 0
    limited = np.minimum(np.maximum(image.astype(float), black), white)
    expected = lo + (limited - black) / (white - black) * (float(top) - lo)
    own = exposure.rescale_intensity(image, in_range)
    assert own.dtype == dtype and own.shape == image.shape and int(own.max()) <= top
    np.testing.assert_allclose(own.astype(float), expected, rtol=1e-12, atol=0.5000001)


def test_rescale_intensity_to_integers_of_what_is_undefined():
    image = np.array([[np.nan, 0, 0.5, np.inf, 1, -np.inf]], "float32")
    same(exposure.rescale_intensity(image, out_range="int8"), np.array([[0, 0, 64, 127, 127, 0]], "int8"))
    same(exposure.rescale_intensity(image, out_range="float64"), image.astype("float64"))


@pytest.mark.parametrize("gamma, gain", [(1, 1), (2, 1), (0.5, 1), (0, 1), (0.8, 0.7), (1.5, 1.3)])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_adjust_gamma(dtype, gamma, gain, skimage):
    image = picture(dtype)
    other = skimage.adjust_gamma(image, gamma, gain)
    fits = dtype in ("uint8", *FLOATS) or (image.max() / np.iinfo(dtype).max) ** gamma * gain <= 1
    if fits:  # scikit-image lets integers overflow
        same(exposure.adjust_gamma(image, gamma, gain, like="skimage"), other)
    own = exposure.adjust_gamma(image, gamma, gain)
    assert own.dtype == image.dtype
    if fits and image.dtype.kind == "u":
        assert np.abs(own.astype(int) - other).max() <= 1
    elif image.dtype.kind == "f":
        np.testing.assert_allclose(own, other, rtol=1e-5)


@pytest.mark.parametrize("dtype, values, gamma, gain, expected", [
    ("int16", [0, 100, 16384, 32767], 2, 1, [0, 0, 8192, 32767]), ("int8", [0, 64, 127], 2, 1, [0, 32, 127]),
    ("int32", [0, 2**30, 2**31 - 1], 1, 1, [0, 2**30, 2**31 - 1]), ("int16", [0, 100, 32767], 1, 2, [0, 200, 32767]),
    ("int64", [0, 2**62, 2**63 - 1], 1, 1, [0, 2**62, 2**63 - 1]), ("uint64", [0, 2**63], 1, 2, [0, 2**64 - 1]),
    ("float64", [0.5, 2], 2, 1, [0.25, 4]), ("float32", [0.5, 3, np.nan], 2, 1, [0.25, 9, np.nan])])
def test_adjust_gamma_of_signed_integers_and_large_floats(dtype, values, gamma, gain, expected):
    """The full scale began at the lowest integer, and floats were limited to 1. 64-bit integers overflowed."""
    for image in (np.array([values], dtype), memoryview(np.array([values], dtype))):
        same(np.asarray(exposure.adjust_gamma(image, gamma, gain)), np.array([expected], dtype))


def test_adjust_gamma_refuses():
    with pytest.raises(ValueError, match="negative"):
        exposure.adjust_gamma(picture("uint8"), -1)
    for like in (None, "skimage"):
        for image in (signed("int16"), signed("float64")):
            with pytest.raises(ValueError, match="the image has negative values"):
                exposure.adjust_gamma(image, 2, like=like)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_match_histograms_like_skimage(dtype, skimage):
    image, reference = picture(dtype), picture(dtype, (33, 60), seed=9) // 2
    same(exposure.match_histograms(image, reference, like="skimage"), skimage.match_histograms(image, reference), 1e-9)
    image, reference = (np.stack([x, x[::-1] // 2, x // 3], -1) for x in (image, reference))
    same(exposure.match_histograms(image, reference, channel_axis=-1, like="skimage"),
         skimage.match_histograms(image, reference, channel_axis=-1))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_match_histograms_keeps_the_type(dtype):
    image, reference = picture(dtype), picture(dtype, (33, 60), seed=9) // 2
    out = exposure.match_histograms(image, reference)
    assert out.dtype == image.dtype and np.isin(out, reference).all()
    np.testing.assert_array_equal(out, imgstat.match(image, reference))
    both = exposure.match_histograms(np.stack([image, image]), np.stack([reference, reference // 2]), channel_axis=0)
    np.testing.assert_array_equal(both[0], out)
    with pytest.raises(ValueError, match="as many axes"):
        exposure.match_histograms(image, np.stack([reference, reference]))
    for like in (None, "skimage"):  # zip() spoke of its arguments
        with pytest.raises(ValueError, match="the image has 2 channels, the reference 3"):
            exposure.match_histograms(np.stack([image] * 2), np.stack([image] * 3), channel_axis=0, like=like)


@pytest.mark.parametrize("shape", [(64, 96), (120, 80), (70, 91)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_equalize_adapthist_like_skimage(dtype, shape, skimage):
    image = picture(dtype, shape)
    same(exposure.equalize_adapthist(image, like="skimage"), skimage.equalize_adapthist(image), 1e-5)
    size = shape[0] // 4, shape[1] // 2
    same(exposure.equalize_adapthist(image, size, 0.03, like="skimage"), skimage.equalize_adapthist(image, size, 0.03),
         1e-5)
    rgb = np.stack([image, image[::-1] // 2, image // 3], -1)
    if dtype.startswith("float"):
        rgb = np.stack([image, image[::-1] / 2, image / 3], -1)
    rgb[5:9, 3:20] = 0
    same(exposure.equalize_adapthist(rgb, like="skimage"), skimage.equalize_adapthist(rgb), 1e-4)


def test_equalize_adapthist_keeps_the_type():
    for dtype in ("uint8", "uint16"):
        image = picture(dtype, (64, 96))
        out = exposure.equalize_adapthist(image, 16, 0.02)
        np.testing.assert_array_equal(out, imgstat.clahe(image, tiles=(6, 4), clip_limit=0.02))
        assert out.dtype == image.dtype
    with pytest.raises(ValueError, match="tiles"):
        exposure.equalize_adapthist(image, 50, like="skimage")


# ---- Questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0, 5, 12, 14, 30, 200])
def test_is_low_contrast(width, skimage):
    source = np.random.default_rng(width)
    for shape in ((50, 60), (50, 60, 3), (50, 60, 4), (5, 6, 7)):
        image = source.integers(20, 21 + width, shape).astype("uint8")
        for one in (image, image * np.uint16(200), image / 255):
            assert exposure.is_low_contrast(one) == skimage.is_low_contrast(one)
            assert exposure.is_low_contrast(one, 0.2, 5, 80) == skimage.is_low_contrast(one, 0.2, 5, 80)


# ---- Without numpy ------------------------------------------------------------------------------------------------


def test_what_is_no_numpy_array():
    values = array.array("H", range(0, 1200, 10))
    view = memoryview(values).cast("B").cast("H", (10, 12))
    counts, centers = exposure.histogram(view)
    assert counts.tolist()[:11] == [1] + [0] * 9 + [1] and centers[-1] == 1190
    out = memoryview(exposure.equalize_hist(view))
    assert out.format == "H" and out.tolist() == imgstat.equalize(view).tolist()


@pytest.mark.parametrize("call", [
    exposure.histogram, exposure.cumulative_distribution, exposure.equalize_hist, exposure.rescale_intensity,
    lambda x: exposure.equalize_hist(x, mask=exposure.equalize_hist(x)),
    lambda x: exposure.rescale_intensity(x, (11, 74.8)),
    lambda x: exposure.adjust_gamma(x, 2), lambda x: exposure.match_histograms(x, x), exposure.is_low_contrast])
@pytest.mark.parametrize("shape", [(10, 5, 4), (10, 20), (200,)])
def test_buffers_of_any_axes(call, shape):
    """Those of one and three axes were an AttributeError: they have no reshape."""
    image = np.arange(200, dtype="uint8").reshape(shape)
    for buffer in (memoryview(image), imgstat.normalize(memoryview(image))):
        for own, other in zip(*(np.atleast_1d(call(x)) for x in (buffer, np.asarray(buffer)))):
            np.testing.assert_array_equal(np.asarray(own), other)


def test_channels_of_buffers():
    image = picture("uint8", (10, 20, 3))
    for buffer in (memoryview(image), imgstat.normalize(memoryview(image), out_range=(0, 255), in_range=(0, 255))):
        rows = exposure.histogram(buffer, channel_axis=-1)[0]
        assert [row.tolist() for row in rows] == exposure.histogram(image, channel_axis=-1)[0].tolist()
        assert exposure.is_low_contrast(buffer) == exposure.is_low_contrast(image)
        np.testing.assert_array_equal(exposure.match_histograms(buffer, buffer, channel_axis=-1), image)


def test_numpy_is_not_imported():
    code = """
import sys, array
import imgstat
from imgstat import exposure
for view in (memoryview(bytes(range(200))).cast("B", (10, 20)), memoryview(bytes(range(200))).cast("B", (10, 4, 5)),
             memoryview(bytes([7] * 200)).cast("B", (10, 20)), array.array("H", range(200))):
    exposure.histogram(view), exposure.cumulative_distribution(view), exposure.equalize_hist(view)
    exposure.rescale_intensity(view), exposure.adjust_gamma(view, 2), exposure.match_histograms(view, view)
    exposure.is_low_contrast(view)
exposure.equalize_adapthist(memoryview(bytes(range(200))).cast("B", (10, 20)))
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wrong_words():
    image = picture("uint8")
    for call in (lambda: exposure.equalize_hist(image, like="opencv"),
                 lambda: exposure.histogram(image, source_range="all"),
                 lambda: exposure.histogram(image, channel_axis=2),
                 lambda: exposure.is_low_contrast(image, method="log"),
                 lambda: exposure.rescale_intensity(image, in_range="uint7"),
                 lambda: exposure.equalize_adapthist(image, kernel_size=0)):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("like", [None, "skimage"])
@pytest.mark.parametrize("dtype", ["uint16", "int16", "float32", "float64"])
def test_either_order_of_bytes_is_the_same(dtype, like):
    image = picture(dtype, (16, 24))
    calls = [exposure.histogram, exposure.cumulative_distribution, exposure.is_low_contrast,
             lambda x: exposure.equalize_hist(x, like=like), lambda x: exposure.rescale_intensity(x, like=like),
             lambda x: exposure.adjust_gamma(x, 2, like=like), lambda x: exposure.match_histograms(x, x // 2, like=like)]
    if dtype == "uint16":
        calls.append(lambda x: exposure.equalize_adapthist(x, kernel_size=np.array([8, 8]), like=like))
    for call in calls:
        for native, other in zip(*(np.atleast_1d(call(x)) for x in (image, image.astype(image.dtype.newbyteorder(">"))))):
            np.testing.assert_array_equal(native, other)
