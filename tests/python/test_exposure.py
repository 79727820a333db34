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


def test_adjust_gamma_refuses(skimage):
    with pytest.raises(ValueError, match="negative"):
        exposure.adjust_gamma(picture("uint8"), -1)
    with pytest.raises(ValueError, match="negative"):
        exposure.adjust_gamma(signed("int16"), 2, like="skimage")


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
    with pytest.raises(ValueError):
        exposure.match_histograms(image, np.stack([reference, reference]))


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


def test_numpy_is_not_imported():
    code = """
import sys, array
import imgstat
from imgstat import exposure
view = memoryview(bytes(range(200))).cast("B", (10, 20))
exposure.histogram(view), exposure.cumulative_distribution(view), exposure.equalize_hist(view)
exposure.rescale_intensity(view), exposure.adjust_gamma(view, 2), exposure.match_histograms(view, view)
exposure.equalize_adapthist(view), exposure.is_low_contrast(view)
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
