# SPDX-License-Identifier: MIT
"""open: pages, pixels and statistics of files, from paths, bytes and file objects."""
import gc
import io
import json
import os
import subprocess
import sys
import struct
import tarfile
import threading
import warnings
import weakref
from collections import ChainMap
from pathlib import Path

import pytest

import imgstat

np = pytest.importorskip("numpy")
CORPUS = Path(os.environ.get("IMGSTAT_CORPUS", ""))
GOOD = sorted(path.name for path in Path(__file__).parent.parent.parent.joinpath("testdata").glob("good-*"))


def program(capfd, *arguments):
    """The lines of --json."""
    capfd.readouterr()
    imgstat.run(["stats", "--json", "--quiet", *map(str, arguments)])
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", GOOD)
def test_is_what_the_program_says(name, testdata, capfd):
    path = testdata / name
    lines = program(capfd, path)
    with imgstat.open(path) as f:
        assert f.name == str(path) and len(f.images) == len(lines)
        for page, line in zip(f.images, lines):
            assert (page.width, page.height, page.format, page.bits, page.sample, page.photometric) == tuple(
                line[key] for key in ("width", "height", "format", "bits", "sample", "photometric"))
            s, pixels = page.stats(), page.read()
            assert pixels.shape == page.shape and pixels.dtype == page.dtype
            for c, channel in enumerate(line["channels"]):
                def of(name):
                    value = getattr(s, name)
                    return value[c] if page.channels > 1 else value

                assert page.channel_names[c] == channel["name"]
                for name in ("count", "nan", "inf", "nodata", "min", "max", "sum"):
                    assert of(name) == channel[name] or (name == "sum" and channel["count"] == 0), name
                if channel["count"]:
                    assert of("mean") == channel["mean"] and of("std") == channel["stddev"]
                v = pixels[..., c].ravel() if page.channels > 1 else pixels.ravel()
                v = v[np.isfinite(v)] if v.dtype.kind == "f" else v
                v = v[v != page.nodata] if page.nodata is not None else v
                assert v.size == channel["count"]
                if v.size:
                    assert v.min() == channel["min"] and v.max() == channel["max"]


def test_bad_files(testdata):
    expected = json.loads((testdata / "expected.json").read_text())
    refused = 0
    for name, what in expected.items():
        if "error" not in what:
            continue
        for source in (testdata / name, (testdata / name).read_bytes(), io.BytesIO((testdata / name).read_bytes())):
            with pytest.raises(imgstat.Error) as raised:
                with imgstat.open(source, name=name) as f:
                    for page in f.images:
                        page.read()
                        page.stats()
            assert raised.value.code in what["error"] and name in str(raised.value)
            refused += 1
    assert refused > 30
    with pytest.raises(imgstat.Error) as raised:
        imgstat.open("/nonexistent.png")
    assert (raised.value.code, raised.value.path) == ("io", "/nonexistent.png")


class Plain:
    """No readinto, and few bytes at a time."""

    def __init__(self, data):
        self.data, self.at, self.calls = data, 0, 0

    def seek(self, offset, whence=0):
        self.at = offset + (len(self.data) if whence == 2 else 0)
        return self.at

    def tell(self):
        return self.at

    def read(self, n):
        self.calls += 1
        return self.data[self.at : self.at + min(n, 1000)]


class NoReadinto(Plain):
    """As classes say that they lack a method of their base."""

    readinto = None


def test_sources(testdata, tmp_path):
    path = testdata / "photo.tif"
    data = path.read_bytes()
    want = imgstat.open(path).stats()
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(path, "b/photo.tif")
    with tarfile.open(archive) as tar, open(path, "rb") as file:
        sources = [str(path), data, bytearray(data), memoryview(data), io.BytesIO(data), file, Plain(data),
                   NoReadinto(data), tar.extractfile("b/photo.tif"), np.frombuffer(data, "u1")]
        for source in sources:
            with imgstat.open(source) as f:
                s = f.stats()
                assert (s.sum, s.min, s.max, s.std) == (want.sum, want.min, want.max, want.std)
                assert np.array_equal(f.read(), imgstat.open(path).read())
        assert sources[6].calls > 100
    assert imgstat.open(data).name == "image" and imgstat.open(data, name="x.tif").name == "x.tif"


def test_failing_objects(testdata):
    data = (testdata / "photo.tif").read_bytes()

    class Failing(Plain):
        what = OSError("the network is gone")

        def read(self, n):
            if self.calls > 3:
                raise self.what
            return super().read(n)

    with pytest.raises(imgstat.Error, match="the network is gone") as raised:
        imgstat.open(Failing(data), name="far").stats()
    assert raised.value.code == "io" and raised.value.__cause__ is Failing.what and raised.value.path == "far"
    Failing.what = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        imgstat.open(Failing(data)).stats()

    class Short(Plain):
        def read(self, n):
            return b"" if self.at > 5000 else super().read(n)

    class Long(Plain):
        def read(self, n):
            return b"x" * (n + 1)

    class Other(Plain):
        def read(self, n):
            return "text"

    for kind, code in ((Short, "truncated"), (Long, "io"), (Other, "io")):
        with pytest.raises(imgstat.Error) as raised:
            imgstat.open(kind(data)).stats()
        assert raised.value.code in (code, "io", "format")
    for wrong in (3, None, object(), ["a"]):
        with pytest.raises(TypeError):
            imgstat.open(wrong)

    class Backwards(Plain):
        def tell(self):
            return -1

    with pytest.raises(ValueError, match="returned -1"):
        imgstat.open(Backwards(data))


class Lacking(io.BytesIO):
    """An attribute of it cannot be had."""

    def __getattribute__(self, name):
        if name == type(self).lacks:
            raise type(self).error
        return super().__getattribute__(name)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("none left"), RuntimeError("not now")])
@pytest.mark.parametrize("lacks", ["read", "seek", "readinto", "name"])
def test_attributes_that_fail(lacks, error):
    """They were as if they were not there, and Ctrl-C was lost."""
    to = io.BytesIO()
    imgstat.save(np.arange(30, dtype="u1").reshape(5, 6), to, format="png")
    kind = type("Failing", (Lacking,), {"lacks": lacks, "error": error})
    if lacks == "name" and isinstance(error, RuntimeError):  # it is for messages alone
        assert imgstat.open(kind(to.getvalue())).name == "image"
        return
    with pytest.raises((type(error), imgstat.Error)) as raised:
        imgstat.open(kind(to.getvalue())).stats()
    assert error in (raised.value, raised.value.__cause__)


def test_objects_without_memory_and_with_odd_counts():
    """The sentence ended after "cannot be read: ", and a count below 0 was the end of the file."""
    to = io.BytesIO()
    imgstat.save(np.arange(30, dtype="u1").reshape(5, 6), to, format="png")

    class Odd(io.BytesIO):
        def readinto(self, memory):
            if self.count is None:
                raise MemoryError
            return self.count

        def write(self, part):
            raise MemoryError

    for Odd.count, code, sentence in ((None, "memory", "out of memory"), (-5, "io", "the object read -5 bytes")):
        for how in ({}, {"salvage": True}):
            with pytest.raises(imgstat.Error, match=f"^image: cannot be read: {sentence}$") as raised:
                imgstat.open(Odd(to.getvalue()), **how).stats()
            assert raised.value.code == code
    with pytest.raises(imgstat.Error, match="^image: cannot be written: out of memory$") as raised:
        imgstat.save(np.zeros((3, 3), "u1"), Odd(), format="png")
    assert raised.value.code == "memory"


def test_files_that_cannot_be_listed_again(tmp_path):
    """What they raised was lost."""
    path = tmp_path / "wide.tif"
    imgstat.save(np.random.default_rng(0).random((30, 30), np.float32), path)

    class Once(list):
        lists = 0

        def __iter__(self):
            Once.lists += 1
            if Once.lists > 1:
                raise RuntimeError("only once")
            return super().__iter__()

    data = imgstat.Dataset.of([path])
    with pytest.raises(RuntimeError, match="only once"):
        data.stats(Once([path]), percentiles=[1, 50])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_interruptions_that_the_library_gets_over(error):
    """Of a file that is salvaged a failed read is no error."""
    file = io.BytesIO()
    imgstat.save(np.arange(300 * 300, dtype="u2").reshape(300, 300), file, format="png")

    class Failing(io.BytesIO):
        reads, last = 0, 10**9

        def readinto(self, memory):
            Failing.reads += 1
            if Failing.reads == self.last:
                raise error
            return super().readinto(memory)

    imgstat.open(Failing(file.getvalue()), salvage=True).stats()
    for Failing.last in range(1, Failing.reads + 1):
        Failing.reads = 0
        with pytest.raises(type(error)):
            imgstat.open(Failing(file.getvalue()), salvage=True).stats()


def test_a_closed_file_lets_go_of_its_source(testdata):
    data = bytearray((testdata / "photo.tif").read_bytes())
    file = imgstat.open(data)
    with pytest.raises(BufferError):
        data.append(1)
    file.close()
    data.append(1)
    file.close()
    source = io.BytesIO(data)
    file, alive = imgstat.open(source), weakref.ref(source)
    del source
    file.close()
    assert alive() is None and file.name == "image"


def test_a_source_may_have_its_file(testdata):
    class Source(io.BytesIO):
        pass

    source = Source((testdata / "photo.tif").read_bytes())
    source.file, alive = imgstat.open(source), weakref.ref(source)
    del source
    gc.collect()
    assert alive() is None


def test_pages(testdata):
    with imgstat.open(testdata / "good-pages.tif") as f:
        assert len(f) == len(f.pages) > 1
        assert [page.index for page in f] == list(range(len(f))) and f[-1].index == len(f) - 1
        assert f["1"].name == "1" and [page.name for page in f[:2]] == ["0", "1"]
        for wrong, kind in ((99, IndexError), ("0,1", KeyError), ("99", ValueError)):
            with pytest.raises(kind):
                f[wrong]
        page = f[1]
        assert (page.role, page.owner, page.mask, page.parent, page.problem) == ("image", None, None, None, None)
        assert page.layout["compression"] == "none" or page.layout["tiles"] > 0
        assert "good-pages.tif" in repr(page) and "pages" in repr(f)
    assert f.closed and "closed" in repr(f)
    for after in (lambda: len(f), lambda: f.read(), page.read, page.stats, lambda: page.layout):
        with pytest.raises(ValueError, match="closed"):
            after()
    f.close()


def test_several_pages_are_one(testdata, capfd):
    path = testdata / "good-pages.tif"
    with imgstat.open(path) as f:
        alike = [page.index for page in f if page.sample == f[0].sample and page.shape == f[0].shape]
        s = f.stats(alike, percentiles=[10, 90])
        v = np.concatenate([f[index].read().ravel() for index in alike])
        assert s.count == v.size and s.sum == int(v.sum()) and s.min == v.min()
        assert s.percentiles[10] == np.percentile(v, 10)
        r = f.record(alike)
        assert r == imgstat.Record.of(path, pages=alike) and r.count == v.size
        for twice in ([0, 1, 0], np.array([0, 0]), "0,0"):
            for measure in (f.stats, f.record, lambda pages: imgstat.Record.of(path, pages=pages)):
                with pytest.raises(ValueError, match="names a page twice"):
                    measure(twice)


def test_bands_and_rows(testdata):
    for name in ("photo.tif", "good-rgb.png", "good-interlaced.png", "good-tiled.tif", "good-planar.tif"):
        with imgstat.open(testdata / name) as f:
            whole = f.read()
            for rows in (1, 7, 1000, 2**32):
                bands = []
                for band in f[0].bands(rows):
                    bands.append(band)
                    f[0].stats()  # does not move the row that is next
                assert np.array_equal(np.concatenate(bands), whole)
            assert np.array_equal(f[0].read((5, 3)), whole[5:8])
            assert np.array_equal(f[0].read((1, 2)), whole[1:3])
            assert f[0].read((len(whole), 5)).shape[0] == 0 and f[0].read((len(whole) + 9, 5)).shape[0] == 0
            for wrong in ((-1, 2), (0, -1), (2**32, 1), (0, 2**32 + 1), (2**70, 1)):
                with pytest.raises(ValueError, match="rows|first row"):
                    f[0].read(wrong)
            with pytest.raises(ValueError):
                next(f[0].bands(0))


def test_options(testdata, capfd):
    path = testdata / "photo.tif"
    x = imgstat.open(path).read()
    with pytest.raises(TypeError, match=r"should be region=\(x, y, width, height\)"):
        imgstat.open(path).stats(region=(10, 20, 30))
    for region in ((2**32, 0, 3, 3), (0, 0, 2**32 + 3, 3), (-1, 0, 1, 1), (0, 0, 1, 2**70)):
        with pytest.raises(ValueError, match="region="):
            imgstat.open(path).stats(region=region)
    with pytest.raises(ValueError, match="page=-1"):
        imgstat.open(path).stats([-1])
    s = imgstat.open(path).stats(region=[10, 20, 30, 40], percentiles=[50])
    part = x[20:60, 10:40]
    assert s.count == (1200,) * 3 and s.sum == tuple(int(part[..., c].sum()) for c in range(3))
    s = imgstat.open(path, nodata=int(x[0, 0, 0])).stats()
    assert s.nodata == tuple(int((x[..., c] == x[0, 0, 0]).sum()) for c in range(3))
    palette = testdata / "good-palette.png"
    assert imgstat.open(palette).read().ndim == 3 and imgstat.open(palette, indices=True).read().ndim == 2
    s = imgstat.open(testdata / "good-rgba.tif", alpha_masks=True).stats()
    line, = program(capfd, "--alpha", "mask", testdata / "good-rgba.tif")
    assert s.count[0] == line["channels"][0]["count"]
    with pytest.raises(imgstat.Error) as raised:
        imgstat.open(path, limits={"max_width": 100}).read()
    assert raised.value.code == "limit"
    for wrong, kind in (({"limits": {"width": 3}}, ValueError), ({"foo": 1}, TypeError), ({"nodata": "x"}, TypeError),
                        ({"limits": {"max_width": -1}}, ValueError), ({"limits": 5}, TypeError),
                        ({"limits": ["max_width"]}, TypeError), ({"mask_page": "0"}, ValueError),
                        ({"limits": ChainMap({"max_width": 100})}, imgstat.Error)):
        with pytest.raises(kind):
            imgstat.open(path, **wrong).read()
    with pytest.raises(ValueError, match="NUL"):
        imgstat.open(path).stats("0\0,7")
    with pytest.raises(TypeError):
        imgstat.open(path).stats(foo=1)
    with pytest.raises(TypeError, match=r"File.stats\(\) has no argument 'mask'"):
        imgstat.stats(path, mask=b"")
    for function, args, words in (imgstat.histogram, (), {"percentiles": [1]}), (imgstat.percentile, (50,), {"bins": 3}):
        with pytest.raises(TypeError, match=f"{function.__name__}\\(\\) has no argument '{next(iter(words))}'"):
            function(path, *args, **words)
    with pytest.raises(imgstat.Error):
        imgstat.open(path).stats(device="cuda:99")


def test_mask_of_a_file(tmp_path, testdata):
    tifffile = pytest.importorskip("tifffile")
    x = np.random.default_rng(0).integers(0, 255, (40, 50), "u1")
    mask = (x > 100).astype("u1") * 255
    tifffile.imwrite(tmp_path / "x.tif", x)
    tifffile.imwrite(tmp_path / "m.tif", mask)
    s = imgstat.open(tmp_path / "x.tif", mask=tmp_path / "m.tif").stats()
    assert s.count == int((x > 100).sum()) and s.masked == int((x <= 100).sum()) and s.min > 100
    with tifffile.TiffWriter(tmp_path / "both.tif") as w:
        w.write(x, photometric="minisblack", metadata=None)
        w.write(mask > 0, subfiletype=4, photometric=4, metadata=None)
    with imgstat.open(tmp_path / "both.tif") as f:
        assert [page.role for page in f] == ["image", "mask"] and len(f.images) == 1
        assert f[0].mask.index == 1 and f[1].owner.index == 0
        assert f.stats().count == int((x > 100).sum())
    assert imgstat.open(tmp_path / "both.tif", ignore_masks=True).stats().count == x.size
    (measured,) = imgstat.measure_files([tmp_path / "both.tif"])
    assert measured.page.shape == x.shape and measured.page.owner is None and measured.page.parent is None
    with pytest.raises(ValueError, match="the file is closed"):
        _ = measured.page.mask


def test_axes(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    x = np.random.default_rng(0).integers(0, 60000, (2, 3, 20, 30), "u2")
    tifffile.imwrite(tmp_path / "stack.tif", x, imagej=True, metadata={"axes": "ZCYX"})
    with imgstat.open(tmp_path / "stack.tif") as f:
        assert [(page.axes["Z"], page.axes["C"]) for page in f] == [(z, c) for z in range(2) for c in range(3)]
        for c in range(3):
            of_channel = [page.index for page in f if page.axes["C"] == c]
            assert f.stats(of_channel).sum == int(x[:, c].sum())


def test_warnings(testdata):
    path = testdata / "warned-ifd-loop.tif"
    with pytest.warns(UserWarning, match="warned-ifd-loop.tif"):
        imgstat.open(path).read()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            f = imgstat.open(path)
            f.read()


def test_salvage(testdata):
    path = testdata / "bad-truncated.tif"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = imgstat.open(path, salvage=True)
        s = f.stats()
        assert f.lost_rows > 0 and np.asarray(s.masked).sum() > 0
    assert caught and "bad-truncated.tif" in str(caught[0].message)


def test_without_numpy(testdata):
    code = ("import sys, imgstat; a = imgstat.open(sys.argv[1]).read(); m = memoryview(a); "
            "assert 'numpy' not in sys.modules and type(a) is imgstat.Array; print(m.shape, m.format, m[5, 7, 1])")
    out = subprocess.run([sys.executable, "-c", code, testdata / "photo.tif"], capture_output=True, text=True, check=True)
    x = imgstat.open(testdata / "photo.tif").read()
    assert out.stdout == f"{x.shape} B {x[5, 7, 1]}\n"


def test_fits(testdata):
    t = imgstat.Record.of(testdata / "photo.tif").transfer("stretch")
    assert imgstat.open(testdata / "photo.tif")[0].fits(t)
    assert not imgstat.open(testdata / "good-gray16.png")[0].fits(t)
    with pytest.raises(TypeError):
        imgstat.open(testdata / "photo.tif")[0].fits("t")


def test_threads_share_a_file(testdata):
    data = (testdata / "photo.tif").read_bytes()
    f, want, good = imgstat.open(Plain(data)), imgstat.open(data).read(), []

    def run(k):
        for i in range(5):
            assert np.array_equal(f[0].read((k * 10 + i, 20)), want[k * 10 + i : k * 10 + i + 20])
            assert f.stats().count == (307200,) * 3
        good.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(good) == list(range(5))


def near(got, want, relative):
    return got == want or abs(got - want) <= relative * max(abs(got), abs(want))


@pytest.mark.skipif(not (CORPUS / "expected.jsonl").is_file(), reason="no corpus")
def test_corpus():
    """What independent decoders read from real files."""
    lines = [json.loads(line) for line in open(CORPUS / "expected.jsonl", encoding="utf-8")]
    lines = [line for line in lines if line["class"] == "ok" and line["status"] == "agree" and "stats" in line]
    compared = 0
    for line in lines[::23]:
        if line["info"].get("comp") in ("JPEG", "OJPEG", "WEBP", "LERC", "JXL", "JPEG 2000") or line["width"] > 3000:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = imgstat.open(CORPUS / line["path"], indices=True)
            if f[0].nodata is not None or f[0].mask:
                continue  # the decoders count these samples
            s = f[0].stats(percentiles=[1, 5, 25, 50, 75, 95, 99])
        for c, want in enumerate(line["stats"]):
            def of(name):
                value = getattr(s, name)
                return value[c] if s.channels > 1 else value

            assert (of("count"), of("min"), of("max")) == (want["n"], want["min"], want["max"]), line["path"]
            assert near(of("mean"), want["mean"], 1e-12) and near(of("std"), want["std"], 1e-12), line["path"]
            assert all(near(a, b, 1e-12) for a, b in zip(of("percentiles").values(), want["pct_linear"])), line["path"]
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("dtype", "u1 u2 i2 u4 f4 f8".split())
@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 3), (30, 40, 4), (1, 1)])
def test_saved_pixels_come_back(dtype, shape, tmp_path):
    x = (np.random.default_rng(0).random(shape) * 255).astype(dtype)
    paths = [tmp_path / "x.tif"] + ([tmp_path / "x.png"] if dtype in ("u1", "u2") else [])
    for path in paths:
        imgstat.save(x, path)
        assert np.array_equal(imgstat.open(path).read(), x)
        with pytest.raises(imgstat.Error) as raised:
            imgstat.save(x, path)
        assert raised.value.code == "io"
        imgstat.save(x[::-1], path, replace=True, fast=True, compression="deflate")
        assert np.array_equal(imgstat.open(str(path)).read(), x[::-1])
    out = io.BytesIO()
    imgstat.save(x, out, format="tiff", compression="lzw")
    with imgstat.open(out) as f:
        assert f[0].layout["compression"] == "LZW" and np.array_equal(f.read(), x)


def test_pages_are_members(testdata):
    with imgstat.open(testdata / "good-tiled.tif") as f, imgstat.open(testdata / "good-tiled.tif") as g:
        assert f[0] in f and f.index(f[0]) == 0 and list(f) == list(f) and len({f[0], f[0], g[0]}) == 2
        assert f[0] != g[0] and f[0] != 0


def test_options_are_text(testdata, tmp_path):
    path = testdata / "photo.tif"
    for call, name in ((lambda: imgstat.Dataset.of([path], pages=[0]), "pages"),
                       (lambda: imgstat.stats(path, device=0), "device"),
                       (lambda: imgstat.save(imgstat.open(path).read(), tmp_path / "a.png", format=1), "format"),
                       (lambda: imgstat.transform_files([(path, tmp_path / "b.png")], method="stretch", pages=0), "pages")):
        with pytest.raises(TypeError, match=f"{name}=.* should be text"):
            call()


def signed_of_12_bits():
    """A TIFF of two zeros."""
    fields = {256: 2, 257: 1, 258: 12, 259: 1, 262: 1, 273: 8, 277: 1, 278: 1, 279: 3, 339: 2}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in fields.items())
    return struct.pack("<2sHI4xH", b"II", 42, 12, len(fields)) + entries + bytes(4)


def test_nodata_has_a_point_in_every_locale(comma, tmp_path):
    comma("import array, imgstat\n"
          "x = memoryview(array.array('f', [2.75, 1.5])).cast('B').cast('f', (1, 2))\n"
          "imgstat.save(x, 'a.tif', nodata=2.75); assert imgstat.open('a.tif')[0].nodata == 2.75\n"
          "t = imgstat.Record.of(x).transfer('stretch', out_range=(0.25, 0.75))\n"
          "assert imgstat.Transfer.from_json(t.to_json()) == t and '0.25' in t.to_json()")
    assert imgstat.open(tmp_path / "a.tif")[0].nodata == 2.75 and b"2.75\0" in (tmp_path / "a.tif").read_bytes()


def test_samples_beyond_their_bits(tmp_path, testdata):
    """They are limited, as a transform limits them."""
    x = np.array([[0, 1, 3, 5, 15, 16, 128, 255]], "u1")
    for bits in (1, 2, 4):
        most = 2**bits - 1
        for ending in ("tif", "png"):
            imgstat.save(x, tmp_path / f"few.{ending}", bits=bits, replace=True)
            assert np.array_equal(imgstat.open(tmp_path / f"few.{ending}").read(), np.minimum(x, most))
        imgstat.save(np.stack([x, x], -1), tmp_path / "alpha.tif", bits=bits, alpha=1, replace=True)
        assert np.array_equal(imgstat.open(tmp_path / "alpha.tif").read()[..., 0], np.minimum(x, most) * (255 // most))
    for file, lo, hi in ((testdata / "good-packed12.tif", 0, 4095), (signed_of_12_bits(), -2048, 2047)):
        with imgstat.open(file) as f:
            y = np.array([[0, 1, hi, hi + 1, 32767, -1, lo, lo - 1, -32768]]).astype("i2" if lo else "u2")
            imgstat.save(y, tmp_path / "like.tif", like=f[0], bits=12, replace=True)
            with imgstat.open(tmp_path / "like.tif") as g:
                assert g[0].bits == 12 and np.array_equal(g.read(), y.clip(lo, hi))


def test_saving(tmp_path, testdata):
    x = np.random.default_rng(0).integers(0, 4096, (20, 30), "u2")
    with imgstat.open(testdata / "photo.tif") as f:
        imgstat.save(255 - f.read(), tmp_path / "like.tif", like=f[0])
        with imgstat.open(tmp_path / "like.tif") as g:
            assert g[0].layout == f[0].layout and np.array_equal(g.read(), 255 - f.read())
    imgstat.save(x, tmp_path / "bits.tif", bits=12)
    assert imgstat.open(tmp_path / "bits.tif")[0].bits == 16
    with pytest.raises(TypeError, match="like"):
        imgstat.save(x, tmp_path / "no.tif", like=f)
    with pytest.raises(ValueError, match='no format is called "gif"'):
        imgstat.save(x, tmp_path / "no.tif", format="gif")
    imgstat.transform_files([(testdata / "good-float32.tif", tmp_path / "nan.tif")], fill=np.nan)
    assert np.isnan(imgstat.open(tmp_path / "nan.tif")[0].nodata)
    for value, dtype in ((7, "u2"), (-3, "i2"), (0.5, "f4")):
        imgstat.save(x.astype(dtype), tmp_path / "nodata.tif", nodata=value, replace=True)
        with imgstat.open(tmp_path / "nodata.tif") as f:
            assert f[0].nodata == value
            imgstat.save(x.astype(dtype), tmp_path / "like.tif", like=f[0], nodata=9, replace=True)
            assert imgstat.open(tmp_path / "like.tif")[0].nodata == 9
            imgstat.save(x.astype(dtype), tmp_path / "like.tif", like=f[0], replace=True)
            assert imgstat.open(tmp_path / "like.tif")[0].nodata == value
    imgstat.save(x, tmp_path / "nodata.png", nodata=7)
    planar = np.ascontiguousarray(np.stack([x, x // 2, x // 3]))
    imgstat.save(planar, tmp_path / "planar.png", axes="CHW")
    assert np.array_equal(imgstat.open(tmp_path / "planar.png").read(), planar.transpose(1, 2, 0))
    for wrong, kind in ((lambda: imgstat.save(x, tmp_path / "x.jpg"), ValueError),
                        (lambda: imgstat.save(x, io.BytesIO()), ValueError),
                        (lambda: imgstat.save(x, tmp_path / "x.png", compression="lzw"), ValueError),
                        (lambda: imgstat.save(x, tmp_path / "x.png", level=23), ValueError),
                        (lambda: imgstat.save(x[None], tmp_path / "x.png", axes="NWH"), None),
                        (lambda: imgstat.save(np.stack([x, x]), tmp_path / "y.png", axes="NHW"), ValueError),
                        (lambda: imgstat.save(x, 3), TypeError), (lambda: imgstat.save(x.tolist(), "x.png"), TypeError),
                        (lambda: imgstat.save(x.astype("f4"), tmp_path / "z.png"), (ValueError, imgstat.Error)),
                        (lambda: imgstat.save(x, tmp_path / "none" / "x.png"), imgstat.Error)):
        if kind is None:
            wrong()
            continue
        with pytest.raises(kind):
            wrong()

    class Full:
        def write(self, data):
            raise OSError("no space in the store")

    with pytest.raises(imgstat.Error, match="no space in the store") as raised:
        imgstat.save(x, Full(), format="png")
    assert raised.value.code == "io" and isinstance(raised.value.__cause__, OSError)


def test_many_files(testdata, capfd):
    """Each image of each file in order, as the program has them; files that fail with their errors."""
    paths = [testdata / name for name in GOOD] + [testdata / "bad-crc.png", testdata / "photo.tif"]
    lines = program(capfd, *paths)
    done = list(imgstat.measure_files(paths, threads=3, percentiles=[50]))
    assert len(done) == len(lines) > 40
    for (source, page, s, error), line in zip(done, lines):
        assert str(source) == line["file"]
        if error:
            assert page is None and s is None and error.code == line["error"] and str(error) == line["message"]
            continue
        mean = s.mean if page.channels > 1 else (s.mean,)
        assert (page.width, page.height, page.sample) == (line["width"], line["height"], line["sample"])
        for a, channel in zip(mean, line["channels"]):
            assert a == channel["mean"] or channel["mean"] is None and a != a
    assert [bool(m.error) for m in imgstat.measure_files([b"x", (testdata / "photo.tif").read_bytes()])] == [True, False]
    assert next(imgstat.measure_files(iter(paths), region=(0, 0, 1, 1))).stats.count in (1, (1, 1, 1))
    assert list(imgstat.measure_files([])) == []
    with pytest.raises(TypeError):
        list(imgstat.measure_files(paths, foo=1))
    with pytest.raises(TypeError):
        list(imgstat.measure_files([3]))
    with pytest.raises(ValueError, match="threads=-1"):
        list(imgstat.measure_files(paths, threads=-1))


def test_regions_beyond_some_images(testdata, capfd):
    """An image without the region is an error of its own, as the program has it; it ended the whole iteration."""
    paths = [testdata / name for name in ("good-rgb.png", "good-example.png", "good-pages.tif", "photo.tif")]
    for region in ((0, 0, 9, 9), (0, 0, 3, 2), (30, 30, 1, 1), (2**32 - 1, 0, 2**32 - 1, 1)):
        lines = program(capfd, "--region", ",".join(map(str, region)), *paths)
        done = list(imgstat.measure_files(paths, region=region))
        assert len(done) == len(lines) >= 4
        for (source, page, s, error), line in zip(done, lines):
            assert str(source) == line["file"] and (error is None) == ("error" not in line)
            if error:
                assert s is None and (error.code, str(error), error.page) == (line["error"], line["message"], page.index)
                assert error.path == str(source)
    for region in ((0, 0, 0, 5), (9, 9, 5, 0), (-9, 0, 99, 99), (2**32, 0, 3, 3)):
        with pytest.raises(ValueError):
            list(imgstat.measure_files(paths, region=region))
    with pytest.raises(ValueError, match="percentile"):
        list(imgstat.measure_files(paths, region=(0, 0, 9, 9), percentiles=[101]))


def test_one_file_is_not_many(testdata):
    with pytest.raises(TypeError, match="not one file"):
        next(imgstat.measure_files(str(testdata / "photo.tif")))


def test_many_files_end(testdata):
    """The iterable is read a little ahead, and not after the generator is closed."""
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield testdata / "photo.tif"

    measured = imgstat.measure_files(endless(), threads=2)
    assert [next(measured).page.width for _ in range(5)] == [640] * 5
    measured.close()
    assert 5 <= len(taken) <= 12


def test_fsspec(testdata):
    """Objects of a store, from several threads; a data set of them is that of files."""
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    names = ["photo.tif", "good-rgb.png", "good-tiled.tif"]
    for name in names:
        store.pipe(f"/data/{name}", (testdata / name).read_bytes())
    with store.open("/data/photo.tif") as file, imgstat.open(file) as f:
        assert np.array_equal(f.read(), imgstat.open(testdata / "photo.tif").read())
        assert f.stats().sum == imgstat.open(testdata / "photo.tif").stats().sum
    ds = imgstat.Dataset.of((str(testdata / name), store.open(f"/data/{name}")) for name in names)
    assert ds == imgstat.Dataset.of(testdata / name for name in names) and ds.failed == 0
    with store.open("/data/out.png", "wb") as file:
        imgstat.save(np.zeros((3, 4), "u1"), file, format="png")
    assert imgstat.open(store.cat("/data/out.png")).read().shape == (3, 4)
