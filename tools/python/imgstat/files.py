# SPDX-License-Identifier: MIT
"""Open PNG and TIFF files: their pages, pixels, statistics and records."""
from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike
from threading import Event
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, overload

from . import _imgstat
from ._imgstat import Error, FileHandle, Record, Stats, Transfer, save_array

_DTYPES = {"u": "uint", "i": "int", "f": "float"}


class Readable(Protocol):
    """A file object: of io, fsspec, tarfile, zipfile ... It is read from several threads, one at a time."""

    def read(self, size: int, /) -> Any: ...
    def seek(self, offset: int, whence: int = ..., /) -> Any: ...
    def tell(self) -> int: ...


class Writable(Protocol):
    """An object that takes bytes: a file of io, a socket's file, a response ..."""

    def write(self, data: bytes, /) -> Any: ...


Source = str | PathLike[str] | bytes | bytearray | memoryview | Readable
Target = str | PathLike[str] | Writable


class Page:
    """A page of a file: an image, or a level, mask or thumbnail.

    index       what File and the numbers below count, from 0
    name        '2', or '2.0' of a SubIFD: what the program and File[...] take
    number      place in the chain, or among the SubIFDs of its parent
    role        'image': measured and transformed; 'level': an image at lower resolution; 'mask'; 'thumbnail'
    owner       of a level its image, of a mask what it masks: a Page or None
    mask        the page with its mask, or None; pixels where that is 0 do not count
    parent      the page whose SubIFD it is, or None
    axes        {'C': 0, 'Z': 3, 'T': 0} where the file says where the page lies, else None
    axis_name   the name of its channel axis, or None
    format      'png', 'tiff';  photometric: 'gray', 'rgb', 'palette' ...
    width, height, channels, shape: (height, width), or (height, width, channels) of several channels
    channel_names: ('red', 'green', 'blue') ...;  alpha: index of that channel, or None
    dtype       'uint16' as numpy has it;  sample: 'u16';  bits: significant bits, such as 12
    nodata      value of undefined samples, or None
    problem     why the page cannot be decoded, or None
    """

    name: str
    number: int
    format: str
    photometric: str
    role: str
    axes: dict[str, int] | None
    axis_name: str | None
    width: int
    height: int
    channels: int
    bits: int
    sample: str | None
    alpha: int | None
    nodata: int | float | None
    channel_names: tuple[str, ...]
    problem: str | None

    def __init__(self, file: File, index: int) -> None:
        self._file = file
        self.index = index
        info = file._handle.info(index)
        self._owner, self._mask, self._parent = info.pop("owner"), info.pop("mask"), info.pop("parent")
        self.__dict__.update(info)

    def __repr__(self) -> str:
        what = self.dtype if self.problem is None else "cannot be decoded"
        return f"<imgstat.Page {self.name} of {self._file.name}: {self.role}, {self.shape}, {what}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and (self._file, self.index) == (other._file, other.index)

    def __hash__(self) -> int:
        return hash((self._file, self.index))

    def _page(self, index: int | None) -> Page | None:
        return None if index is None else self._file[index]

    @property
    def owner(self) -> Page | None:
        return None if self._owner == self.index else self._page(self._owner)

    @property
    def mask(self) -> Page | None:
        return self._page(self._mask)

    @property
    def parent(self) -> Page | None:
        return self._page(self._parent)

    @property
    def shape(self) -> tuple[int, ...]:
        size = (self.height, self.width)
        return size if self.channels == 1 else (*size, self.channels)

    @property
    def dtype(self) -> str | None:
        return self.sample and _DTYPES[self.sample[0]] + self.sample[1:]

    @property
    def layout(self) -> dict[str, Any]:
        """How the page lies in the file: compression, predictor, tiles, kinds of metadata ..."""
        return self._file._handle.layout(self.index)

    def read(self, rows: tuple[int, int] | None = None) -> Any:
        """Return the pixels: a numpy array if numpy is loaded, else imgstat.Array.

        rows: (first, number), where the page has as many; None: all.
        """
        first, n = (0, self.height) if rows is None else rows
        if first < 0 or n < 0:
            raise ValueError(f"rows={rows!r} should be (first, number), neither below 0")
        return self._file._handle.read(self.index, first, n)

    def bands(self, rows: int = 256) -> Iterator[Any]:
        """Yield the pixels as arrays of `rows` rows, of which the last may have fewer: for images beyond memory."""
        if rows < 1:
            raise ValueError(f"rows={rows} should be at least 1")
        for first in range(0, self.height, rows):
            yield self.read((first, min(rows, self.height)))

    def stats(self, **options: Any) -> Stats:
        """Measure the page: the options of File.stats."""
        return self._file.stats([self.index], **options)

    def record(self, **options: Any) -> Record:
        """Measure the page into a record. options: region, device, threads."""
        return self._file.record([self.index], **options)

    def fits(self, transfer: Transfer, group: str = "") -> bool:
        """Return whether a transfer can map the page: its type and channels fit, or it is the mask of another page."""
        return self._file._handle.fits(self.index, transfer, group)


class File(Sequence[Page]):
    """An open file: a sequence of its pages, those of SubIFDs behind their parents. imgstat.open makes it.

    A context manager. Threads may share it; it serves one of them at a time.
    """

    def __init__(self, handle: FileHandle) -> None:
        self._handle = handle

    def __repr__(self) -> str:
        return f"<imgstat.File {self.name}: {'closed' if self.closed else f'{len(self)} pages'}>"

    @property
    def name(self) -> str:
        """The path, or what the source is called in messages."""
        return self._handle.name

    @property
    def closed(self) -> bool:
        return self._handle.closed

    @property
    def pages(self) -> tuple[Page, ...]:
        """All pages."""
        return tuple(self)

    @property
    def images(self) -> tuple[Page, ...]:
        """Pages that are images: what is measured and transformed."""
        return tuple(Page(self, index) for index in self._handle.find(None))

    @property
    def lost_rows(self) -> int:
        """Rows that salvage=True has found damaged so far."""
        return self._handle.lost_rows()

    def __len__(self) -> int:
        return self._handle.count()

    @overload
    def __getitem__(self, page: int | str) -> Page: ...
    @overload
    def __getitem__(self, page: slice) -> tuple[Page, ...]: ...
    def __getitem__(self, page: int | str | slice) -> Page | tuple[Page, ...]:
        """Return a page by its index or name ('2', '2.0'), or a slice of them."""
        if isinstance(page, str):
            found = self._handle.find(page)
            if len(found) != 1:
                raise KeyError(page)
            return Page(self, found[0])
        indices = range(len(self))
        if isinstance(page, slice):
            return tuple(Page(self, index) for index in indices[page])
        try:
            return Page(self, indices[page])
        except IndexError:
            raise IndexError(f"{self.name} has no page {page}: it has {len(indices)}") from None

    def read(self, page: int | str | None = None) -> Any:
        """Return the pixels of a page, or of the first image."""
        return (self.images[0] if page is None else self[page]).read()

    def stats(self, pages: str | Sequence[int] | None = None, **options: Any) -> Stats:
        """Measure pages as if they were one image: by default all images.

        pages: numbers, or text such as '0,3-5'; no page twice. options: percentiles, method, bins, range, ddof, median,
        mode, shape, device and threads of imgstat.stats, and region=(x, y, width, height); the mask and the nodata
        value are those of imgstat.open. Percentiles are exact for every type.
        """
        return self._handle.stats(pages=pages, **options)

    def record(self, pages: str | Sequence[int] | None = None, **options: Any) -> Record:
        """Measure pages into one record, by default all images. options: region, device, threads."""
        return self._handle.record(pages=pages, **options)

    def close(self) -> None:
        """Close the file. Pages of it can no longer be read."""
        self._handle.close()

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def open(source: Source, *, name: str | None = None, salvage: bool = False, indices: bool = False,
         ignore_masks: bool = False, alpha_masks: bool = False, mask: str | PathLike[str] | None = None,
         mask_page: str | None = None, nodata: int | float | None = None,
         limits: Mapping[str, int] | None = None) -> File:
    """Open a PNG or TIFF file.

    source: a path; the bytes of a file (anything with the buffer protocol); or an object with seek and readinto or
      read, such as an open file, io.BytesIO, a member of a tar file, or a file of fsspec. It is read from its
      beginning, whatever its position, and must stay open as long as the File.
    name: what messages call a source that has no path.
    salvage: what cannot be decoded of damaged files is masked, with a warning, and is no error.
    indices: palettes are not applied.
    ignore_masks: masks of pages do not count.  alpha_masks: pixels with an alpha of 0 do not count.
    mask: a file; pixels where its page mask_page (its first image) is 0 do not count.
    nodata: samples with this value do not count, whatever the file says.
    limits: what is refused: max_width, max_height, max_pixels, max_bytes (of a page), max_pages, max_tile_bytes;
        unlimited=True lifts the limits of work and output.

    Raises imgstat.Error: e.code is 'io', 'format', 'truncated', 'unsupported' or 'limit'; the exception of a file
    object is its __cause__. What decoders warn of is a UserWarning.
    """
    return File(FileHandle(source, name, salvage=salvage, indices=indices, ignore_masks=ignore_masks,
                           alpha_masks=alpha_masks, mask=mask, mask_page=mask_page, nodata=nodata, limits=limits))


def _stats(source: Source, *, nodata: int | float | None = None, **options: Any) -> Stats:
    """What imgstat.stats makes of a path or file."""
    with open(source, nodata=nodata) as file:
        return file.stats(**options)


def save(array: Any, target: Target, *, like: Page | None = None, format: str | None = None,
         compression: str | None = None, level: int | None = None, fast: bool = False, replace: bool = False,
         axes: str | None = None, alpha: int | None = None, bits: int | None = None,
         nodata: int | float | None = None) -> None:
    """Write an array in host memory as a PNG or TIFF of one page.

    array: (H, W), or (H, W, C), or what axes says.
    target: a path, at which the file is when it is complete; or an object with write.
    like: a page of an open file, whose profiles, tags and layout the output takes over.
    format: 'png' or 'tiff'; by default what the ending of the name says, or that of like.
    compression: 'none', 'deflate'; of TIFF also 'lzw', 'packbits', 'zstd', 'lzma', 'ccittfax4'. level: of it, 0 to 22.
    fast: writes faster; files with repeating pixels become larger.  replace: an existing file may be replaced.
    alpha: index of the channel that is alpha; of PNG the last one of 2 or 4 channels is.
    bits: significant bits of integers, such as 12 in uint16. TIFF records 1, 2, 4, and others where like has as many; PNG
      has 1, 2, 4 bits of one channel, others are widened to 8 or 16, and sBIT records them. Samples beyond the bits that
      a file records are limited.
    nodata: value of undefined samples, which TIFF records.

    What the output lacks of like is a UserWarning. Raises imgstat.Error or, for an array that no file holds,
    ValueError; the exception of an object is the __cause__.
    """
    if not isinstance(like, Page | None):
        raise TypeError(f"like={like!r} should be a Page")
    page = {"like": like._file._handle, "page": like.index} if like else {}
    save_array(array, target, format=format, compression=compression, level=level, fast=fast, replace=replace,
               axes=axes, alpha=alpha, bits=bits, nodata=nodata, **page)


class Measured(NamedTuple):
    """An image of measure_files, one that does not contain the region, or a file that failed.

    The file of page is closed: what describes the page stays; its pixels, layout, and other pages such as its mask are
    no longer there (ValueError).
    """

    source: Source
    page: Page | None  # None of a file that failed
    stats: Stats | None
    error: Error | None


_OPEN_OPTIONS = ("name", "salvage", "indices", "ignore_masks", "alpha_masks", "mask", "mask_page", "nodata", "limits")


def _region_is_missing(page: Page, region: Sequence[int] | None) -> bool:
    if region is None or not all(0 <= number < 2**32 for number in region):
        return False
    x, y, width, height = region
    return width > 0 and height > 0 and (x + width > page.width or y + height > page.height)


def _measure_page(page: Page, options: dict[str, Any]) -> Stats | Error:
    """A region that a page does not contain is an error of that page; other wrong options are exceptions."""
    try:
        return page.stats(**options)
    except ValueError as wrong:
        if not _region_is_missing(page, options.get("region")):
            raise
        error = Error(str(wrong))
        error.code, error.path, error.page = "argument", page._file.name, page.index
        return error


def _measure(source: Source, opened: dict[str, Any], options: dict[str, Any], at_work: set[File],
             stopping: Event) -> list[Measured]:
    done: list[Measured] = []
    try:
        with open(source, **opened) as file:
            at_work.add(file)
            try:
                if stopping.is_set():
                    file._handle.stop()
                for page in file.images:
                    found = _measure_page(page, options)
                    failed = isinstance(found, Error)
                    done.append(Measured(source, page, None if failed else found, found if failed else None))
                if not any(one.stats for one in done):
                    del done[1:]  # one error for all
            finally:
                at_work.discard(file)
    except Error as error:
        done.append(Measured(source, None, None, error))
    return done


def measure_files(files: Iterable[Source], *, threads: int = 0, **options: Any) -> Iterator[Measured]:
    """Measure each image of many files, several files at a time; yields in the order of the files.

    files: an iterable of what open takes, which is read as far as threads are free.
    threads: files at a time; 0 for as many as there are processors.
    options: those of open and of Page.stats. A file that fails is yielded with its error; its good images come first.
    An image that does not contain the region is yielded with an error of code 'argument'; of a file where none does, only
    the first is.
    Closing the generator, or Ctrl-C, ends it. Statistics of all images as one: imgstat.Dataset.
    """
    if isinstance(files, str | bytes):
        raise TypeError("an iterable of files is wanted, not one file")
    if threads < 0:
        raise ValueError(f"threads={threads} should not be negative")
    opened = {word: options.pop(word) for word in _OPEN_OPTIONS if word in options}
    options = {"threads": 1, **options}
    n = threads or len(os.sched_getaffinity(0))
    waiting: deque[Future[list[Measured]]] = deque()
    at_work: set[File] = set()
    stopping = Event()
    pool = ThreadPoolExecutor(n, "imgstat")
    try:
        for source in files:
            waiting.append(pool.submit(_measure, source, opened, options, at_work, stopping))
            if len(waiting) > 2 * n:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        stopping.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for file in at_work.copy():
            file._handle.stop()
        pool.shutdown()


class Transformed(NamedTuple):
    """A file of transform_files, and what became of it."""

    target: Target
    skipped: bool  # it existed
    error: Error | None


def _refuse_shared_targets(pairs: list[tuple[Source, Target]]) -> None:
    """What is no pair is refused with a sentence of its own."""
    places: set[str | int] = set()
    folders: dict[str, str] = {}  # without links
    for target in (pair[1] for pair in pairs if isinstance(pair, tuple) and len(pair) == 2):
        place: str | int = id(target)
        if isinstance(target, str | bytes | PathLike):
            folder, name = os.path.split(os.fsdecode(target))
            if folder not in folders:
                folders[folder] = os.path.realpath(folder)
            place = os.path.join(folders[folder], name)
        if place in places:
            raise ValueError(f"two files would become {target}")
        places.add(place)


def transform_files(files: Iterable[tuple[Source, Target]], method: str | None = None, *,
                    transfer: Transfer | None = None, together: Literal["page", "channel", "file", "all"] | None = None,
                    progress: Callable[[int], Any] | None = None, **options: Any) -> list[Transformed]:
    """Transform files, several at a time: all pages, with levels, masks, profiles and tags. Returns an item for each.

    files: tuples (source, target) of what open and save take.
    method: 'stretch', 'percentile', 'meanstd', 'gamma', 'equalize', 'match' or 'clahe', with the options of
      imgstat.normalize, equalize, match (reference: a path) and clahe; or transfer: a Transfer for all, which may be
      the set of Dataset.transfer.
    together: images that get one transfer, made from all of them: 'page' (each its own), 'channel', 'file' or 'all'.
      By default those of a channel, where a file declares axes, else each by itself.
    progress: called with the number of files that are done; an exception that it raises ends the batch, as Ctrl-C does.
    options: those of the method; of open; format, compression, level, fast and replace of save; device, threads;
      group (text, or a function of a source: a transfer for each group), pages ('0,3-5'), reference_page;
      skip_existing, drop_levels; fill (what undefined samples become); memory (bytes for all files at work).

    A file that fails does not stop the others: its item has the error. A target is complete or absent.
    """
    pairs = list(files)
    _refuse_shared_targets(pairs)
    done = _imgstat.transform_files(pairs, method=method, transfer=transfer, together=together, progress=progress,
                                    **options)
    return [Transformed(target, *outcome) for (_, target), outcome in zip(pairs, done)]
