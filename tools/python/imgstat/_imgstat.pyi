# SPDX-License-Identifier: MIT
# The types of the extension; its docstrings say what everything means. Where an image has several channels, attributes
# of Stats are tuples with a value for each: that is the Any in `float | Any`.
import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, SupportsIndex, final

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

@final
class Chain:
    def __new__(
        cls,
        method: str | None,
        example: Any,
        *,
        clip: _Range | None = None,
        dtype: _Dtype | None = None,
        out_range: tuple[_Amount, _Amount] | None = None,
        channels: _Channels | None = None,
        axes: str | None = None,
        nodata: float | None = None,
        alpha: int | None = None,
        bits: int | None = None,
        threads: int = 0,
        stream: Any = None,
    ) -> Chain: ...
    def __call__(self, x: Any, /, *, out: Any = None, mask: Any = None, stream: Any = None) -> Any: ...

@final
class Record:
    @classmethod
    def of(
        cls,
        x: Any,
        *,
        axes: str | None = None,
        mask: Any = None,
        nodata: float | None = None,
        alpha: int | None = None,
        bits: int | None = None,
        stream: Any = None,
        device: str | None = None,
        threads: int = 0,
        **open: Any,
    ) -> Record: ...
    @classmethod
    def from_bytes(cls, data: Any, /) -> Record: ...
    @classmethod
    def load(cls, path: _Word, /) -> Record: ...
    @classmethod
    def merge(cls, records: Iterable[Record], /) -> Record: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: _Word, *, replace: bool = False) -> None: ...
    def stats(
        self,
        *,
        percentiles: float | Sequence[float] | None = None,
        method: Literal["linear", "nearest"] = "linear",
        bins: int | None = None,
        range: _Range | None = None,
        ddof: int = 0,
        median: bool | None = None,
        mode: bool | None = None,
        shape: bool = False,
    ) -> Stats: ...
    def percentile(self, q: float | Sequence[float], *, method: Literal["linear", "nearest"] = "linear") -> Any: ...
    def bounds(self, q: float, /) -> Any: ...
    def transfer(self, method: str | None = None, *, reference: Record | None = None, **options: Any) -> Transfer: ...
    @property
    def sample(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def alpha(self) -> int | None: ...
    @property
    def photometric(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def files(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def group(self) -> str: ...
    @property
    def count(self) -> int | Any: ...
    @property
    def min(self) -> float | Any: ...
    @property
    def max(self) -> float | Any: ...
    @property
    def sum(self) -> float | Any: ...
    @property
    def mean(self) -> float | Any: ...
    @property
    def std(self) -> float | Any: ...
    @property
    def median(self) -> float | Any: ...
    @property
    def histogram(self) -> Histogram | Any: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __add__(self, value: Record | Literal[0], /) -> Record: ...
    def __radd__(self, value: Record | Literal[0], /) -> Record: ...
    def __iadd__(self, value: Record | Literal[0], /) -> Record: ...
    def __bytes__(self) -> bytes: ...
    def __copy__(self) -> Record: ...
    def __deepcopy__(self, memo: Any, /) -> Record: ...
    def _repr_html_(self) -> str: ...

@final
class Transfer:
    @classmethod
    def from_json(cls, text: str | bytes, /) -> Transfer: ...
    @classmethod
    def load(cls, path: _Word, /) -> Transfer: ...
    def to_json(self) -> str: ...
    def save(self, path: _Word, *, replace: bool = False) -> None: ...
    def apply(
        self,
        x: Any,
        *,
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
    @property
    def sample(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def parameters(self) -> dict[str, Any]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __len__(self) -> int: ...
    def __copy__(self) -> Transfer: ...
    def __deepcopy__(self, memo: Any, /) -> Transfer: ...

@final
class FileHandle:  # imgstat.File
    def __new__(cls, source: Any, name: str | None, **open: Any) -> FileHandle: ...
    @property
    def name(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def count(self) -> int: ...
    def info(self, page: int, /) -> dict[str, Any]: ...
    def layout(self, page: int, /) -> dict[str, Any]: ...
    def find(self, pages: str | Sequence[int] | None, /) -> tuple[int, ...]: ...
    def read(self, page: int, first: int, rows: int, /) -> Any: ...
    def stats(self, **options: Any) -> Stats: ...
    def record(self, **options: Any) -> Record: ...
    def fits(self, page: int, transfer: Transfer, group: str, /) -> bool: ...
    def lost_rows(self) -> int: ...
    def close(self) -> None: ...

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
def save_array(array: Any, target: Any, **options: Any) -> None: ...
def run(argv: Sequence[_Word], /) -> int: ...
def run_program(argv: Sequence[_Word], /) -> int: ...
