# SPDX-License-Identifier: MIT
# The types of the extension; its docstrings say what everything means. Where an image has several channels, attributes
# of Stats are tuples with a value for each: that is the Any in `float | Any`.
import os
from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, final

__version__: str

_Range = tuple[float, float]
_Amount = float | str  # text such as "5%"
_Method = Literal["stretch", "percentile", "meanstd", "gamma"]
_Channels = Literal["each", "joint", "luma"]
_Like = Literal["imgstat", "opencv", "skimage", "imagemagick", "imagej", "imagej-classic", "pillow", "vips"]
_Dtype = Literal["uint8", "uint16", "float"]
_Word = str | bytes | os.PathLike[str] | os.PathLike[bytes]

class Error(Exception):
    code: str
    path: str | None
    page: int | None

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def tolist(self) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class Histogram:
    @property
    def counts(self) -> Array: ...
    @property
    def edges(self) -> Array: ...
    @property
    def cdf(self) -> Array: ...
    @property
    def range(self) -> _Range: ...
    @property
    def per_value(self) -> bool: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: SupportsIndex, /) -> Array: ...
    def _repr_html_(self) -> str: ...

@final
class Stats:
    @property
    def channels(self) -> int: ...
    @property
    def count(self) -> int | Any: ...
    @property
    def nan(self) -> int | Any: ...
    @property
    def inf(self) -> int | Any: ...
    @property
    def nodata(self) -> int | Any: ...
    @property
    def masked(self) -> int | Any: ...
    @property
    def min(self) -> float | Any: ...
    @property
    def max(self) -> float | Any: ...
    @property
    def min_at(self) -> int | Any: ...
    @property
    def max_at(self) -> int | Any: ...
    @property
    def sum(self) -> float | Any: ...
    @property
    def mean(self) -> float | Any: ...
    @property
    def var(self) -> float | Any: ...
    @property
    def std(self) -> float | Any: ...
    @property
    def median(self) -> float | Any: ...
    @property
    def mode(self) -> float | Any: ...
    @property
    def entropy(self) -> float | Any: ...
    @property
    def skewness(self) -> float | Any: ...
    @property
    def kurtosis(self) -> float | Any: ...
    @property
    def percentiles(self) -> dict[float, float] | Any: ...
    @property
    def histogram(self) -> Histogram | Any: ...
    def _repr_html_(self) -> str: ...

# x is an array of any library; a batch of arrays gives a list.
def stats(
    x: Any,
    *,
    percentiles: float | Sequence[float] | None = None,
    method: Literal["linear", "nearest"] = "linear",
    bins: int | None = None,
    range: _Range | None = None,
    ddof: int = 0,
    median: bool | None = None,
    mode: bool | None = None,
    shape: bool = False,
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    bits: int | None = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Stats | Any: ...
def histogram(
    x: Any,
    bins: int | None = None,
    range: _Range | None = None,
    *,
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    bits: int | None = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Histogram | Any: ...
def percentile(
    x: Any,
    q: float | Sequence[float],
    *,
    method: Literal["linear", "nearest"] = "linear",
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    bits: int | None = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Any: ...
def normalize(
    x: Any,
    method: _Method | None = None,
    *,
    clip: _Range | None = None,
    in_range: tuple[_Amount, _Amount] | None = None,
    mean: _Amount | None = None,
    std: _Amount | None = None,
    gamma: float | None = None,
    dtype: _Dtype | None = None,
    out_range: tuple[_Amount, _Amount] | None = None,
    channels: _Channels | None = None,
    like: _Like | None = None,
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    alpha: int | None = None,
    bits: int | None = None,
    out: Any = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Any: ...
def equalize(
    x: Any,
    *,
    dtype: _Dtype | None = None,
    out_range: tuple[_Amount, _Amount] | None = None,
    channels: _Channels | None = None,
    like: _Like | None = None,
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    alpha: int | None = None,
    bits: int | None = None,
    out: Any = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Any: ...
def clahe(
    x: Any,
    *,
    tiles: int | tuple[int, int] = 8,
    clip_limit: float | None = None,
    dtype: _Dtype | None = None,
    out_range: tuple[_Amount, _Amount] | None = None,
    channels: _Channels | None = None,
    like: _Like | None = None,
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    alpha: int | None = None,
    bits: int | None = None,
    out: Any = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Any: ...
def match(
    x: Any,
    reference: Any,
    *,
    dtype: _Dtype | None = None,
    out_range: tuple[_Amount, _Amount] | None = None,
    channels: _Channels | None = None,
    like: _Like | None = None,
    axes: str | None = None,
    mask: Any = None,
    nodata: float | None = None,
    alpha: int | None = None,
    bits: int | None = None,
    out: Any = None,
    device: str | None = None,
    threads: int = 0,
    stream: Any = None,
) -> Any: ...
def run(argv: Sequence[_Word], /) -> int: ...
def run_program(argv: Sequence[_Word], /) -> int: ...
