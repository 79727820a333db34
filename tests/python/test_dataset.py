# SPDX-License-Identifier: MIT
"""Dataset: the records of many files are those of the program; what fails is in the account; Ctrl-C ends it."""
import copy
import io
import itertools
import json
import os
import pickle
import signal
import threading
import warnings
from pathlib import Path

import pytest

import imgstat

np = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two plates of ten images of 16 bits each; a file that is none, and one that is cut."""
    path = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for i in range(20):
        x = rng.integers(0, 2000 * (1 + i % 2), (30 + i, 40), "u2")
        imgstat.save(x, path / f"plate{i % 2}-{i:02}.png")
    data = (path / "plate0-00.png").read_bytes()
    (path / "plate1-97.png").write_bytes(data[:200])
    (path / "plate1-98.png").write_text("no image")
    return path


def files(folder, kind="*.png"):
    return sorted(folder.glob(kind))


def program(*arguments):
    imgstat.run(["stats", "--quiet", *map(str, arguments)])


def test_is_what_the_program_saves(folder, tmp_path, capfd):
    ds = imgstat.Dataset.of(files(folder))
    program("--by", "all", "--save-record", tmp_path / "all.rec", *files(folder))
    assert ds.to_bytes() == (tmp_path / "all.rec").read_bytes()
    assert (ds.files, ds.failed, ds.pages, len(ds)) == (22, 2, 20, 1)
    assert ds[0].pages == ds[-1].pages == 20 and ds[0].sample == "u16"
    (name, code, sentence), (other, _, _) = ds.failures
    assert (name, code) == (str(folder / "plate1-97.png"), "truncated") and sentence.startswith(name)
    assert other.endswith("98.png") and ds.all_failures == 2
    pixels = np.concatenate([imgstat.open(path).read().ravel() for path in files(folder)[:10] + files(folder)[10:20]])
    s, = ds.stats(percentiles=[1, 50, 99])
    least = [(imgstat.open(path).read().min(), str(path)) for path in files(folder) if path.name[7] != "9"]
    assert (s.min, s.min_file) == min(least) and s.min_page == 0 and s.max_file.startswith(str(folder))
    assert s.count == pixels.size and s.sum == int(pixels.sum())
    assert list(s.percentiles.values()) == np.percentile(pixels, [1, 50, 99]).tolist()
    assert "records 1, files 22, failed 2" in repr(ds)


def test_groups(folder, tmp_path):
    ds = imgstat.Dataset.of(files(folder), group=lambda path: path.name[:6])
    assert [record.group for record in ds] == ["plate0", "plate1"] and [r.pages for r in ds] == [10, 10]
    program("--by", "group=(plate.)", "--save-record", tmp_path / "g.rec", *files(folder))
    assert ds == imgstat.Dataset.load(tmp_path / "g.rec")
    a, b = ds.stats()
    assert a.max < 2000 < b.max
    assert imgstat.Dataset.of(files(folder)[:3], group="one")[0].group == "one"


def test_merges(folder, tmp_path):
    all_files = files(folder)
    whole = imgstat.Dataset.of(all_files)
    parts = [imgstat.Dataset.of(all_files[k::5], threads=1) for k in range(5)]
    assert imgstat.Dataset.merge(parts) == whole == sum(reversed(parts), start=imgstat.Dataset())
    added = imgstat.Dataset()
    for part in parts:
        added += part
    assert added == whole and parts[0] + parts[1] != whole
    for other in (copy.copy(whole), pickle.loads(pickle.dumps(whole)), imgstat.Dataset.from_bytes(bytes(whole))):
        assert other == whole
    whole.save(tmp_path / "w.rec")
    assert imgstat.Dataset.load(tmp_path / "w.rec") == whole
    gradual = imgstat.Dataset()
    for path in all_files:
        assert gradual.measure([path]) is gradual
    assert gradual == whole


def test_shards(folder):
    all_files = files(folder)
    shards = [imgstat.Dataset.of(all_files[k::3]) for k in range(3)]
    for k, shard in enumerate(shards):
        shard.set_shard(k, 3, b"0123456789abcdef")
    assert (shards[1].shards, shards[1].done) == (3, [1])
    part = shards[2] + shards[0]
    assert part.done == [0, 2]
    with pytest.raises(ValueError):
        part + shards[0]
    assert part + shards[1] == imgstat.Dataset.of(all_files) and (part + shards[1]).shards == 0
    others = [imgstat.Dataset.of(all_files[k::2]) for k in range(2)]
    for k, shard in enumerate(others):
        shard.set_shard(k, 2, b"another set here")
    total, bytes_before = imgstat.Dataset.of(all_files), [shard.to_bytes() for shard in shards + others]
    for order in itertools.permutations([*shards, *others]):
        assert imgstat.Dataset.merge(iter(order)) == total + total
    assert imgstat.Dataset.merge([shards[2], total, shards[0], shards[1]]) == total + total
    assert imgstat.Dataset.merge([shards[2], shards[0]]) == part
    assert [shard.to_bytes() for shard in shards + others] == bytes_before
    for wrong in ([shards[0], shards[1], others[0], others[1]], [total, shards[0]], [*shards, shards[0]], []):
        with pytest.raises(ValueError):
            imgstat.Dataset.merge(wrong)
    with pytest.raises(ValueError):
        shards[0].set_shard(0, 3, b"short")
    for shard, of in ((2**32, 3), (0, 2**32 + 3), (-1, 3)):
        with pytest.raises(ValueError, match="should be from 0 to"):
            imgstat.Dataset().set_shard(shard, of, bytes(16))


@pytest.mark.parametrize("dtype", ["f4", "u4", "f8"])
def test_wide_types_are_read_again(dtype, tmp_path):
    rng = np.random.default_rng(0)
    images = [(rng.normal(1000, 50, (40, 50 + i))).astype(dtype) for i in range(4)]
    for i, x in enumerate(images):
        imgstat.save(x, tmp_path / f"{i}.tif")
    paths = files(tmp_path, "*.tif")
    pixels = np.concatenate([x.ravel() for x in images]).astype("f8")
    ds = imgstat.Dataset.of(paths)
    lo, hi = ds[0].bounds(99)
    exact = np.percentile(pixels, 99)
    assert lo <= exact <= hi
    s, = ds.stats(paths, percentiles=[1, 99], median=True, bins=10)
    assert np.allclose(list(s.percentiles.values()), np.percentile(pixels, [1, 99]), rtol=1e-12)
    assert np.isclose(s.median, np.median(pixels), rtol=1e-12)
    assert np.array_equal(s.histogram.counts, np.histogram(pixels, 10)[0])
    again, = ds.stats(iter_again(paths), percentiles=[1])
    assert again.percentiles[1] == s.percentiles[1]
    with pytest.raises(ValueError, match="again"):
        ds.stats(iter(paths), percentiles=[1])
    assert np.isnan(ds.stats(percentiles=[1])[0].percentiles[1])
    with pytest.raises(ValueError):
        ds.stats(bins=3)


class iter_again:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return (str(item) for item in self.items)


def test_sources(folder):
    good = files(folder)[:5]
    data = [path.read_bytes() for path in good]
    want = imgstat.Dataset.of(good)
    for items in ([(str(p), d) for p, d in zip(good, data)], [(str(p), io.BytesIO(d)) for p, d in zip(good, data)],
                  ((str(p), open(p, "rb")) for p in good), map(str, good)):
        assert imgstat.Dataset.of(items) == want
    unnamed = imgstat.Dataset.of(data)
    assert unnamed.files == 5 and unnamed[0].sum == want[0].sum


def test_options(folder, testdata):
    done = []
    ds = imgstat.Dataset.of(files(folder)[:6], region=(0, 0, 5, 4), progress=done.append, nodata=3, threads=2)
    assert done == [1, 2, 3, 4, 5, 6] and ds[0].count + ds.stats()[0].nodata == 6 * 20
    ds = imgstat.Dataset.of([testdata / "good-pages.tif"], pages="1")
    assert ds.pages == 1
    with pytest.warns(UserWarning, match="ifd-loop"):
        imgstat.Dataset.of([testdata / "warned-ifd-loop.tif"])
    for wrong, kind in (({"by": "page"}, ValueError), ({"foo": 1}, TypeError), ({"group": 3}, TypeError),
                        ({"device": "cuda:77"}, imgstat.Error), ({"threads": -1}, (ValueError, OverflowError))):
        with pytest.raises(kind):
            imgstat.Dataset.of(files(folder), **wrong)
    for wrong in ("a.png", b"x", 3, [3], [("a", 3)], [("a", "b", "c")]):
        with pytest.raises(TypeError):
            imgstat.Dataset.of(wrong)


def test_several_kinds_and_depths(testdata):
    ds = imgstat.Dataset.of([testdata / "photo.tif", testdata / "good-gray16.png"])
    assert sorted(record.sample for record in ds) == ["u16", "u8"]
    t = ds.transfer("percentile", clip=(1, 1))
    assert len(t) == 2
    with imgstat.open(testdata / "photo.tif") as f:
        assert f[0].fits(t) and not f[0].fits(t, "other")
    same = imgstat.Dataset.of([testdata / "photo.tif"]).transfer("stretch")
    assert t == copy.copy(t) and t != same and same == same and {t: 1, same: 2}[same] == 2  # noqa: PLR0124
    for wrong in (t.to_json, lambda: pickle.dumps(t)):
        with pytest.raises(ValueError, match="groups of files or kinds of images"):
            wrong()


@pytest.mark.parametrize("most", [65535, 65536])
def test_names_that_records_keep(testdata, most):
    """Longer ones, and groups, are failures, whose names are cut; what is saved can be read."""
    data = (testdata / "photo.tif").read_bytes()
    groups = imgstat.Dataset.of([testdata / "photo.tif"], group="g" * most)
    names = imgstat.Dataset.of([("n" * most, data), ("d" * most, data[:100]), "/" + "p" * most])
    assert [len(groups), len(names)] == ([1, 1] if most == 65535 else [0, 0])
    for ds in (groups, names):
        again = imgstat.Dataset.from_bytes(ds.to_bytes())
        assert again == ds and again.failures == ds.failures
    assert {len(name) for name, *_ in names.failures} == {65535}
    if most == 65535:
        assert imgstat.Record.from_bytes(imgstat.Record.of(data, name="n" * most).to_bytes()).count
    else:
        with pytest.raises(ValueError, match="a name of more than 65535 bytes"):
            imgstat.Record.of(data, name="n" * most)


def test_exceptions_end_it(folder):
    def broken():
        yield from files(folder)[:3]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        imgstat.Dataset.of(broken())

    def stop(n):
        if n == 2:
            raise KeyError("enough")

    ds = imgstat.Dataset()
    with pytest.raises(KeyError):
        ds.measure(files(folder), threads=1, progress=stop)
    assert 2 <= ds.files < 22
    with pytest.raises(KeyError):  # files that were at work are reported after that
        imgstat.Dataset.of(files(folder) * 20, threads=4, progress=stop)
    with pytest.raises(ZeroDivisionError):
        imgstat.Dataset.of(files(folder), group=lambda path: 1 / 0)


def test_interruption(folder):
    """Ctrl-C ends a batch without end."""
    def endless():
        while True:
            yield from files(folder)

    ds = imgstat.Dataset()
    with pytest.raises(KeyboardInterrupt):
        ds.measure(endless(), progress=lambda n: n == 100 and os.kill(os.getpid(), signal.SIGINT))
    assert 100 <= ds.files < 1000
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ds.measure(endless())


def test_callbacks_cannot_use_it(folder, tmp_path):
    """Before that, each of these waited for ever."""
    ds, other, refused, done = imgstat.Dataset.of(files(folder)[:1]), imgstat.Dataset(), [], []
    uses = [lambda: ds.files, lambda: ds.failures, lambda: ds.done, lambda: len(ds), lambda: ds[0], lambda: repr(ds), lambda: ds + other,
            lambda: ds.__iadd__(other), lambda: other.__iadd__(ds), lambda: ds == other, lambda: other == ds, lambda: pickle.dumps(ds),
            lambda: copy.copy(ds), lambda: ds.stats(), lambda: ds.transfer("stretch"), lambda: ds.save(tmp_path / "a.rec"),
            lambda: ds.set_shard(0, 2, bytes(16)), lambda: ds.measure([]), lambda: imgstat.Dataset.merge([other, ds])]

    def use(_=None):
        for each in uses:
            with pytest.raises(RuntimeError, match="the Dataset is being measured"):
                each()
        refused.append(threading.get_ident())
        return "group"

    class Using(io.BytesIO):
        def readinto(self, to):
            use()
            return super().readinto(to)

    ds.measure(files(folder)[1:3], progress=use)
    ds.measure((use() and path for path in files(folder)[3:6]), threads=2)
    ds.measure([Using(files(folder)[6].read_bytes())])
    ds.measure(files(folder)[7:8], group=use)
    before = signal.signal(signal.SIGALRM, lambda *_: use())
    try:
        ds.measure(files(folder)[8:9], progress=lambda _: os.kill(os.getpid(), signal.SIGALRM))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(refused) >= 8 and ds.files == 9 and not ds.failed and not other.files
    other.measure(files(folder)[:2], progress=lambda n: ds.files == 9 or done.append(n))  # that may use another one
    assert other.files == 2 and not done


def test_threads(folder):
    """Threads measure into data sets of their own, and into one that they share."""
    shared, own = imgstat.Dataset(), []

    def run():
        own.append(imgstat.Dataset.of(files(folder), threads=1))
        shared.measure(files(folder), threads=2)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = imgstat.Dataset.of(files(folder))
    assert own == [want] * 4 and shared == want + want + want + want


def test_corpus(testdata):
    """Files that are damaged, unsupported and good."""
    corpus = Path(os.environ.get("IMGSTAT_CORPUS", ""))
    if not (corpus / "expected.jsonl").is_file():
        pytest.skip("no corpus")
    lines = [json.loads(line) for line in open(corpus / "expected.jsonl", encoding="utf-8")][::13]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds = imgstat.Dataset.of(corpus / line["path"] for line in lines)
    failed = {Path(name) for name, _, _ in ds.failures}
    good = [line for line in lines if line["class"] == "ok" and line["status"] == "agree"]
    assert ds.files == len(lines) and len(good) > 40
    assert sum(corpus / line["path"] in failed for line in good) <= len(good) // 20
