# SPDX-License-Identifier: MIT
"""The functions of skimage.exposure, with its arguments: `from imgstat import exposure`.

By default values are imgstat's own: the type of the image is kept, values are rounded, percentiles and equalization of
floats are exact, undefined samples (NaN, infinities) pass, and the image may be of any library and on a GPU.
`like="skimage"` gives the values and the types of scikit-image, for numpy arrays.

numpy is imported for `like="skimage"`, and for what the library has no transform for: some ranges and types of
`rescale_intensity`, some images of `adjust_gamma`, channels of a buffer. Transforms then return a numpy array, and numpy
refuses most images on a GPU.

An image is taken as scikit-image takes it: all samples are of one channel unless `channel_axis` names the axis of
channels. Histograms are numpy arrays for numpy arrays, else memoryviews.
"""
from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from . import _imgstat

__all__ = [
    "adjust_gamma", "cumulative_distribution", "equalize_adapthist", "equalize_hist", "histogram", "is_low_contrast",
    "match_histograms", "rescale_intensity",
]

MOST_BINS = 1 << 24  # of the library
FORMATS = {"B": "uint8", "b": "int8", "H": "uint16", "h": "int16", "I": "uint32", "i": "int32", "L": "uint64",
           "l": "int64", "Q": "uint64", "q": "int64", "e": "float16", "f": "float32", "d": "float64"}
LUMA = (0.2125, 0.7154, 0.0721)  # of scikit-image's rgb2gray


# ---- What an image is --------------------------------------------------------------------------------------------


def _name(dtype: Any) -> str:
    """The name of a type, as numpy has it in either order of bytes: of a name, a type, or a dtype of any library."""
    name: str = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return name.rpartition(".")[2]


def _type(image: Any) -> str:
    """The name of its sample type."""
    if hasattr(image, "dtype"):
        return _name(image.dtype)
    letter = memoryview(image).format.lstrip("@=<>!")
    if letter not in FORMATS:
        raise TypeError(f"the image has elements of type {letter!r}, which are no samples")
    return FORMATS[letter]


def _limits(name: str) -> tuple[float, float]:
    """The full scale of a type, as scikit-image has it: that of floats is -1 to 1."""
    if name in ("uint10", "uint12", "uint14"):
        return 0, 2 ** int(name[4:]) - 1
    if name != "float" and name not in FORMATS.values():
        raise ValueError(f"{name!r} is no type of samples")
    if name.startswith("float"):
        return -1, 1
    bits = int(name.lstrip("uint"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _is_float(image: Any) -> bool:
    return _type(image).startswith("float")


def _shape(image: Any) -> tuple[int, ...]:
    return tuple(getattr(image, "shape", ())) or tuple(memoryview(image).shape or ())


def _reshaped(image: Any, shape: tuple[int, ...]) -> Any:
    """The image with other axes: a buffer that has no such method as a memoryview."""
    if hasattr(image, "reshape"):
        return image.reshape(shape)
    view: Any = memoryview(image)
    return view.cast("B").cast(view.format, shape)


def _one_channel(image: Any) -> Any:
    """The image with at most two axes, so that no axis is taken for channels."""
    shape = _shape(image)
    return image if len(shape) <= 2 else _reshaped(image, (shape[0], math.prod(shape[1:])))


def _with_axes_of(image: Any, result: Any) -> Any:
    return result if len(_shape(image)) <= 2 else _reshaped(result, _shape(image))


def _indexable(image: Any) -> Any:
    """The image, or what numpy makes of a buffer: memoryviews have no index of several axes."""
    if hasattr(image, "reshape"):
        return image
    import numpy

    return numpy.asarray(image)


def _channels(image: Any, axis: int | None) -> list[Any]:
    """The channels of an image, or the image."""
    if axis is None:
        return [_one_channel(image)]
    n_axes = len(_shape(image))
    if not -n_axes <= axis < n_axes:
        raise ValueError(f"channel_axis={axis} is no axis of an image with {n_axes}")
    before = (slice(None),) * (axis % n_axes)
    pixels = _indexable(image)
    return [_one_channel(pixels[(*before, i)]) for i in range(_shape(image)[axis])]


def _is_like_skimage(like: str | None) -> bool:
    if like not in (None, "skimage"):
        raise ValueError(f'like={like!r} should be None or "skimage"')
    return like == "skimage"


def _result(image: Any, values: Any) -> Any:
    """A list of numbers, as the library of the image has them."""
    if not type(image).__module__.startswith("numpy"):
        return memoryview(values)
    import numpy

    return numpy.asarray(values)


# ---- Histograms --------------------------------------------------------------------------------------------------


def _extrema(channels: Sequence[Any]) -> tuple[Any, Any]:
    found = [imgstat for imgstat in map(_imgstat.stats, channels) if imgstat.count]
    if not found:
        return 0, 0
    return min(stats.min for stats in found), max(stats.max for stats in found)


def _counts_of_values(channel: Any, lo: int, hi: int) -> memoryview:
    """The counts of the integers lo, lo + 1 ... hi in a channel that has no others."""
    if _type(channel)[-2:] in ("t8", "16"):
        h = _imgstat.histogram(channel)
        first = int(lo - h.range[0])
        return memoryview(h.counts)[first : first + hi - lo + 1]
    least, most = _extrema([channel])
    # The ends of a range are doubles, exact to 2^53. Beyond, bins between the extrema are exact.
    span = (least, most + 1) if max(-least, most) < 2**53 else None
    h = _imgstat.histogram(channel, bins=most - least + 1, range=span)
    counts = memoryview(bytearray(8 * (hi - lo + 1))).cast("Q")
    counts[least - lo : most - lo + 1] = memoryview(h.counts)
    return counts


def _counts(channels: Sequence[Any], nbins: int, source_range: str) -> tuple[list[memoryview], array[Any]]:
    """The counts of each channel in the same bins, and the centers of these."""
    if source_range not in ("image", "dtype"):
        raise ValueError(f'source_range={source_range!r} should be "image" or "dtype"')
    ends: tuple[Any, Any] = _limits(_type(channels[0])) if source_range == "dtype" else _extrema(channels)
    lo, hi = ends
    if _is_float(channels[0]):
        if lo == hi:
            lo, hi = lo - 0.5, hi + 0.5
        found = [_imgstat.histogram(channel, bins=nbins, range=(lo, hi)) for channel in channels]
        edges = memoryview(found[0].edges)
        centers: array[Any] = array("d", ((a + b) / 2 for a, b in itertools.pairwise(edges)))
        return [memoryview(h.counts) for h in found], centers
    if hi - lo >= MOST_BINS:
        raise ValueError(f"the image has integers from {lo} to {hi}: more than {MOST_BINS} bins of one value")
    centers = array("q" if hi < 2**63 else "Q", range(lo, hi + 1))
    return [_counts_of_values(channel, lo, hi) for channel in channels], centers


def histogram(image: Any, nbins: int = 256, source_range: str = "image", normalize: bool = False, *,
              channel_axis: int | None = None) -> tuple[Any, Any]:
    """Counts samples, and returns the counts and the centers of bins.

    Of integers each value has a bin, from the smallest to the largest of the image, or of the type with
    source_range="dtype"; of floats `nbins` bins span that. With `channel_axis` there is a row of counts for each
    channel. normalize: the counts are divided by their sum. NaN and infinities are not counted.

    >>> counts, centers = histogram(memoryview(bytes([3, 5, 5, 6])).cast("B", (2, 2)))
    >>> list(counts), list(centers)
    ([1, 0, 2, 1], [3, 4, 5, 6])
    """
    counts, centers = _counts(_channels(image, channel_axis), nbins, source_range)
    rows: list[Any] = counts
    if normalize:
        rows = [array("d", (count / (sum(row) or 1) for count in row)) for row in counts]
    results = [_result(image, row) for row in rows]
    if channel_axis is None:
        return results[0], _result(image, centers)
    return _result(image, results) if hasattr(results[0], "dtype") else results, _result(image, centers)


def cumulative_distribution(image: Any, nbins: int = 256) -> tuple[Any, Any]:
    """Returns the share of the samples at or below each bin of `histogram`, and the centers of bins.

    >>> share, centers = cumulative_distribution(memoryview(bytes([3, 5, 5, 6])).cast("B", (2, 2)))
    >>> list(share)
    [0.25, 0.25, 0.75, 1.0]
    """
    counts, centers = _counts(_channels(image, None), nbins, "image")
    n = sum(counts[0]) or 1
    code = "f" if _type(image) in ("float16", "float32") else "d"
    return (_result(image, array(code, (below / n for below in itertools.accumulate(counts[0])))),
            _result(image, centers))


# ---- Values of scikit-image --------------------------------------------------------------------------------------


def _float_of(image: Any) -> str:
    """The type that scikit-image computes with."""
    return "float32" if _type(image) in ("float16", "float32") else "float64"


def _mapped(image: Any, function: Callable[[Any], Any]) -> Any:
    """function(image), computed once for each value that an integer of at most 16 bits may have."""
    import numpy

    if image.dtype.kind not in "ui" or image.dtype.itemsize > 2:
        return function(image)
    info = numpy.iinfo(image.dtype)
    values = numpy.arange(info.min, info.max + 1).astype(image.dtype)
    # Negative values come behind the others.
    unsigned = image.view(f"{image.dtype.byteorder}u{image.dtype.itemsize}")
    return function(numpy.roll(values, info.min))[unsigned]


def _equalized(image: Any, nbins: int, mask: Any) -> Any:
    import numpy

    counted = image if mask is None else image[numpy.asarray(mask, bool)].reshape(1, -1)
    share, centers = cumulative_distribution(counted, nbins)
    return _mapped(image, lambda x: numpy.interp(x, centers, share).astype(_float_of(image)))


def _rounded(values: Any, dtype: str, lo: float) -> Any:
    """The nearest integers of a type, none below lo, which NaN become."""
    import numpy

    top = _limits(dtype)[1]
    with numpy.errstate(invalid="ignore"):  # no double is the top of 64 bits
        integers = numpy.fmax(numpy.rint(values), lo).astype(dtype)
    return numpy.where(values >= top, numpy.array(top, dtype), integers)


def _rescaled(image: Any, black: float, white: float, lo: float, hi: float, dtype: str, is_like_skimage: bool) -> Any:
    import numpy

    def rescale(x: Any) -> Any:
        x = x if is_like_skimage else x.astype("float64")
        y = numpy.clip(x, black, white)
        y = numpy.clip(y, lo, hi) if black == white else (y - black) / (white - black) * (hi - lo) + lo
        if is_like_skimage:
            return y.astype(dtype)
        if dtype.startswith("float"):
            return numpy.where(numpy.isfinite(x), y, x).astype(dtype)
        return _rounded(y, dtype, lo)

    return _mapped(image, rescale)


def _matched(image: Any, reference: Any) -> Any:
    import numpy

    if image.dtype.kind != "u" or image.dtype.itemsize > 2:
        _, places, counts = numpy.unique(image.reshape(-1), return_inverse=True, return_counts=True)
        wanted, wanted_counts = numpy.unique(reference.reshape(-1), return_counts=True)
        table = numpy.interp(numpy.cumsum(counts) / image.size, numpy.cumsum(wanted_counts) / reference.size, wanted)
        return table[places].reshape(image.shape)
    share = numpy.cumsum(numpy.asarray(_imgstat.histogram(_one_channel(image)).counts)) / image.size
    counts = numpy.asarray(_imgstat.histogram(_one_channel(reference)).counts)
    wanted = numpy.nonzero(counts)[0]
    return numpy.interp(share, numpy.cumsum(counts[wanted]) / reference.size, wanted)[image]


def _adapted(image: Any, tiles: tuple[int, int], clip_limit: float) -> Any:
    """Of RGB the value of HSV, which is the largest of the three, and the others in proportion."""
    import numpy

    wide = image.astype(_float_of(image)) / (1 if _is_float(image) else _limits(_type(image))[1])
    value = wide if image.ndim == 2 else wide[..., :3].max(axis=-1)
    levels = numpy.rint(value.clip(0, 1) * 65535).astype("uint16")
    new = _imgstat.clahe(levels, tiles=tiles, clip_limit=clip_limit, like="skimage").astype(wide.dtype) / 65535
    if image.ndim == 2:
        return new
    with numpy.errstate(divide="ignore", invalid="ignore"):
        scaled = wide[..., :3] * (new / value)[..., None]
    return numpy.where((value == 0)[..., None], new[..., None], scaled)


# ---- Transforms --------------------------------------------------------------------------------------------------


def equalize_hist(image: Any, nbins: int = 256, mask: Any = None, *, like: str | None = None) -> Any:
    """Equalizes the histogram of an image: of all channels one.

    The type is kept, and floats are equalized exactly, so that `nbins` is not used. mask: pixels where it is 0 do not
    count, and are mapped like the others (for integers of at most 16 bits). like="skimage": returns floats from 0 to
    1, by `nbins` bins of floats.
    """
    if _is_like_skimage(like):
        return _equalized(image, nbins, mask)
    flat = _one_channel(image)
    if mask is None:
        return _with_axes_of(image, _imgstat.equalize(flat))
    record = _imgstat.Record.of(flat, mask=_one_channel(mask))
    return _with_axes_of(image, record.transfer("equalize").apply(flat))


def equalize_adapthist(image: Any, kernel_size: int | Sequence[int] | None = None, clip_limit: float = 0.01,
                       nbins: int = 256, *, like: str | None = None) -> Any:
    """Equalizes an image in tiles, with limited contrast (CLAHE): (H, W) or (H, W, C).

    kernel_size: the size of a tile, one number or (rows, columns); None: an eighth of the image. clip_limit: share of a
    tile that a bin may hold. The type is kept, integers of at most 16 bits; each value has a bin, so that `nbins` is not
    used. Of RGB the luma is equalized. like="skimage": returns floats from 0 to 1, exact to 16 bits, of RGB by the value
    of HSV, with nbins=256 and tiles that divide the image as imgstat does; others are a ValueError.
    """
    height, width = _shape(image)[:2]
    if kernel_size is None:
        kernel_size = max(height // 8, 1), max(width // 8, 1)
    size: Any = kernel_size  # numpy's arrays, too
    rows, columns = size if hasattr(size, "__len__") else (size, size)
    if rows < 1 or columns < 1:
        raise ValueError(f"kernel_size={size!r} should be at least 1")
    if not _is_like_skimage(like):
        tiles = max(round(width / columns), 1), max(round(height / rows), 1)
        return _imgstat.clahe(image, tiles=tiles, clip_limit=clip_limit)
    tiles = max(width // columns, 1), max(height // rows, 1)
    if nbins != 256 or (width // tiles[0], height // tiles[1]) != (columns, rows):
        raise ValueError(f'like="skimage" has nbins=256, and no tiles of {rows} x {columns} in {height} x {width}')
    return _adapted(image, tiles, clip_limit)


def _range(image: Any, given: Any) -> tuple[str, float, float]:
    """What in_range or out_range means: its name, "" of a pair, and its ends."""
    if hasattr(given, "__iter__") and not isinstance(given, str):
        lo, hi = given
        return "", float(lo), float(hi)
    name = _name(given)
    if name == "image":
        lo, hi = _extrema([_one_channel(image)])
    else:
        lo, hi = _limits(_type(image) if name == "dtype" else name)
    return name, float(lo), float(hi)


def rescale_intensity(image: Any, in_range: Any = "image", out_range: Any = "dtype", *, like: str | None = None) -> Any:
    """Stretches the range `in_range` of an image to `out_range`.

    A range is "image" (extrema), "dtype" (full scale: of floats from 0, or from -1 if the image has negative values),
    a type or its name, such as "uint12", or a pair. A pair or "float" as `out_range` gives floats (float32; float64 of
    float64), another type that type, all else the type of the image. An image of one value keeps it, limited to
    `out_range`. Integers are rounded; like="skimage": they are cut off, and floats are float64.

    >>> rescale_intensity(memoryview(bytes([3, 5, 5, 6])).cast("B", (2, 2))).tolist()
    [[0, 170], [170, 255]]
    """
    is_like_skimage = _is_like_skimage(like)
    own = _type(image)
    source_name, black, white = _range(image, in_range)
    name, lo, hi = _range(image, out_range)
    if name not in ("", "image") and black >= 0:
        lo = 0.0
    wide = "float64" if own == "float64" else "float32"
    types = {"": wide, "float": wide, "dtype": own, "image": own, "uint10": "uint16", "uint12": "uint16",
             "uint14": "uint16"}
    if is_like_skimage:
        types |= {"": _float_of(image), "float": "float64"}
    dtype = types.get(name, name)
    if is_like_skimage:
        return _rescaled(image, black, white, lo, hi, dtype, True)
    if not (black <= white and all(map(math.isfinite, (black, white, lo, hi)))):
        raise ValueError(f"in_range={in_range!r} should be finite and ascend, and out_range={out_range!r} be finite")

    # The library makes three types and the image's own. Of integers it takes ranges of integers that they can be.
    kind: Any = None if dtype == own else "float" if dtype == wide else dtype
    least, most = (-math.inf, math.inf) if _is_float(image) else map(float, _limits(own))
    source, target = (black, white), (lo, hi)
    if source_name == "image" and black == white:
        source = target = max(lo, least), min(hi, most)
    fits = _is_float(image) or all(end.is_integer() and least <= end <= most for end in source)
    if fits and kind in (None, "float", "uint8", "uint16") and source[0] < source[1] and target[0] < target[1]:
        out = _imgstat.normalize(_one_channel(image), in_range=source, out_range=target, dtype=kind)
        return _with_axes_of(image, out)
    import numpy

    return _rescaled(numpy.asarray(image), black, white, lo, hi, dtype, False)


def match_histograms(image: Any, reference: Any, *, channel_axis: int | None = None, like: str | None = None) -> Any:
    """Gives an image the distribution of values of a reference: each channel that of its own, or all samples one.

    The type is kept. like="skimage": values between those of the reference occur, as floats without `channel_axis`.
    """
    if len(_shape(image)) != len(_shape(reference)):
        raise ValueError("the image and the reference should have as many axes")
    is_like_skimage = _is_like_skimage(like)
    if not is_like_skimage and channel_axis is None:
        return _with_axes_of(image, _imgstat.match(_one_channel(image), _one_channel(reference)))
    import numpy

    image = numpy.asarray(image)
    channels, wanted = _channels(image, channel_axis), _channels(numpy.asarray(reference), channel_axis)
    if len(channels) != len(wanted):
        raise ValueError(f"the image has {len(channels)} channels, the reference {len(wanted)}: they should be as many")
    if channel_axis is None:
        return _matched(channels[0], wanted[0]).reshape(image.shape).astype(_float_of(image), copy=False)
    function = _matched if is_like_skimage else _imgstat.match
    shape = image.shape[:channel_axis % image.ndim] + image.shape[channel_axis % image.ndim + 1 :]
    planes = map(function, channels, wanted)
    return numpy.stack([x.astype(image.dtype, copy=False).reshape(shape) for x in planes], axis=channel_axis)


def adjust_gamma(image: Any, gamma: float = 1, gain: float = 1, *, like: str | None = None) -> Any:
    """Raises an image, scaled to 0..1, to the power `gamma`, and multiplies it by `gain`.

    Integers are scaled by the largest of their type, rounded and limited to their range; floats are taken as they are.
    An image with negative values is a ValueError. like="skimage": integers of more than 8 bits are cut off.
    """
    if gamma < 0:
        raise ValueError(f"gamma={gamma} should not be negative")
    is_like_skimage = _is_like_skimage(like)
    name, flat = _type(image), _one_channel(image)
    low, high = (0, 1) if name.startswith("u") else _extrema([flat])
    if low < 0:
        raise ValueError("the image has negative values")
    # The library's unit range is 0 to the top of unsigned integers, and 0 to 1 of floats.
    if not is_like_skimage and gain == 1 and gamma > 0 and name[0] in "uf" and high <= 1:
        return _with_axes_of(image, _imgstat.normalize(flat, gamma=gamma))
    import numpy

    image = numpy.asarray(image)
    least, top = _limits(name)
    is_rounded = not _is_float(image) and (not is_like_skimage or name == "uint8")

    def adjust(x: Any) -> Any:
        with numpy.errstate(invalid="ignore"):  # of negative values that the image has not
            y = (x / top) ** gamma * top * gain
            return _rounded(y, name, least) if is_rounded else y.astype(image.dtype)

    return _mapped(image, adjust)


# ---- Questions ---------------------------------------------------------------------------------------------------


def _gray(image: Any) -> Any:
    """The luma of RGB, of RGBA before white, in 0..1."""
    top = 1 if _is_float(image) else _limits(_type(image))[1]
    image = _indexable(image)
    channels = [image[..., c] / top for c in range(_shape(image)[2])]
    if len(channels) == 4:
        channels = [1 + (channel - 1) * channels[3] for channel in channels[:3]]
    return sum(weight * channel for weight, channel in zip(LUMA, channels, strict=True))


def is_low_contrast(image: Any, fraction_threshold: float = 0.05, lower_percentile: float = 1,
                    upper_percentile: float = 99, method: str = "linear") -> bool:
    """Whether two percentiles of an image lie closer together than a fraction of the full scale of its type.

    As in scikit-image the full scale of floats, and of the luma that RGB and RGBA are made, is from -1 to 1, and `method`
    has one value.

    >>> is_low_contrast(memoryview(bytes([100, 101, 103, 104])).cast("B", (2, 2)))
    True
    """
    if method != "linear":
        raise ValueError(f'method={method!r} should be "linear"')
    shape = _shape(image)
    if len(shape) == 3 and shape[2] in (3, 4):
        image = _gray(image)
    lo, hi = _limits(_type(image))
    low, high = _imgstat.percentile(_one_channel(image), [lower_percentile, upper_percentile])
    return not math.isnan(high - low) and bool((high - low) / (hi - lo) < fraction_threshold)
