# SPDX-License-Identifier: MIT
"""Record: the same bytes in any order and grouping, those of the program, and the statistics of numpy."""
import copy
import json
import math
import multiprocessing
import pickle
import threading

import pytest

import imgstat

np = pytest.importorskip("numpy")
TYPES = "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split()


def image(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        x = (rng.standard_normal(shape) * 100).astype(dtype)
        x.flat[:: 17] = np.nan
        return x
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_merged_parts_are_the_whole(dtype):
    x = image(dtype, (40, 30, 3))
    whole = imgstat.Record.of(x)
    parts = [imgstat.Record.of(x[i : i + 7]) for i in range(0, 40, 7)]
    merged = imgstat.Record.merge(parts)
    assert merged == sum(reversed(parts[3:]), start=parts[0] + parts[1]) + parts[2]
    assert merged.pages == 6 and whole.pages == 1 and merged.files == 0
    for name in ("count", "min", "max", "sum", "mean", "std"):
        assert getattr(merged, name) == getattr(whole, name), name
    for c in range(3):
        v = x[..., c][np.isfinite(x[..., c])] if dtype[0] == "f" else x[..., c].ravel()
        assert whole.count[c] == v.size and whole.min[c] == v.min() and whole.max[c] == v.max()
        assert math.isclose(whole.mean[c], v.astype("f8").mean(), rel_tol=1e-12)
        assert math.isclose(whole.std[c], v.astype("f8").std(), rel_tol=1e-12)
        lo, hi = whole.bounds(30)[c]
        exact = float(np.percentile(v.astype("f8"), 30))
        assert lo <= exact <= hi or math.isclose(lo, exact, rel_tol=1e-12)
        if np.dtype(dtype).itemsize <= 2:
            assert lo == hi and math.isclose(merged.percentile(30)[c], exact, rel_tol=1e-12)
            assert int(np.asarray(merged.histogram[c].counts).sum()) == v.size


def test_what_a_record_of_wide_samples_lacks():
    record = imgstat.Record.of(image("f4", (4, 5)))
    for name in ("median", "histogram"):
        with pytest.raises(AttributeError, match=f"a record has no {name} of samples beyond 16 bits"):
            getattr(record, name)
    with pytest.raises(ValueError, match="has no skewness and kurtosis: that takes the pixels"):
        record.stats(shape=True)


def test_laws_of_merging():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    @hypothesis.settings(max_examples=60)
    @hypothesis.given(st.sampled_from(["u1", "u2", "i2", "f4", "i8"]), st.integers(1, 3),
                      st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=3),
                      st.integers(0, 99))
    def laws(dtype, channels, shapes, seed):
        a, b, c = (imgstat.Record.of(image(dtype, (*shape, channels), seed + i), axes="HWC")
                   for i, shape in enumerate(shapes))
        before = a.to_bytes()
        assert (a + b) + c == a + (b + c)
        assert a + b == b + a
        assert a.to_bytes() == before
        d = copy.copy(a)
        d += b
        d += c
        assert d == imgstat.Record.merge([c, b, a]) and d != a
        assert (a + a).count == tuple(2 * n for n in a.count) if channels > 1 else (a + a).count == 2 * a.count

    laws()


def test_batch_is_one_record():
    x = image("u2", (5, 8, 6, 3))
    r = imgstat.Record.of(x, axes="NHWC")
    assert r.pages == 5 and r == imgstat.Record.merge(imgstat.Record.of(one) for one in x)
    planar = imgstat.Record.of(np.ascontiguousarray(x.transpose(0, 3, 1, 2)), axes="NCHW")
    assert planar == r


def test_of_nothing():
    x = image("u1", (5, 6))
    nothing = imgstat.Record.of(x[None][:0], axes="NHW")
    assert (nothing.count, nothing.pages, nothing.min) == (0, 0, None) and math.isnan(nothing.mean)
    assert nothing + imgstat.Record.of(x) == imgstat.Record.of(x)


def test_attributes():
    r = imgstat.Record.of(image("u2", (4, 5, 3)) >> 4, bits=12)
    assert (r.sample, r.bits, r.channels, r.alpha, r.photometric, r.names, r.files, r.pages, r.group) == (
        "u16", 12, 3, None, "", ("", "", ""), 0, 1, "")
    assert repr(r) == "<imgstat.Record: u16 of 12 bits, channels 3, pages 1, samples (20, 20, 20)>"
    assert r.stats(percentiles=[5], shape=True).channels == 3
    assert imgstat.Record.of(image("u1", (4, 5, 4)), alpha=-1).alpha == 3
    assert r.percentile([5, 95])[0] == [r.percentile(5)[0], r.percentile(95)[0]]


def test_mask_and_nodata():
    x = image("u1", (10, 10))
    mask = np.arange(100).reshape(10, 10) % 3 > 0
    s = imgstat.Record.of(x, mask=mask, nodata=int(x[0, 1])).stats()
    kept = x[mask & (x != x[0, 1])]
    assert s.count == kept.size and s.sum == int(kept.sum()) and s.masked == 34
    assert s.nodata == int((x[mask] == x[0, 1]).sum())


def test_a_mask_is_a_rule(tmp_path):
    """Whether pixels were excluded by a mask is kept with a record, and records with and without one do not merge."""
    x, mask = image("u1", (10, 10)), np.arange(100).reshape(10, 10) % 3 > 0
    masked, plain = imgstat.Record.of(x, mask=mask), imgstat.Record.of(x)
    assert (masked + masked).count == 2 * masked.count == 2 * mask.sum()
    masked.save(tmp_path / "masked.rec")
    for record in (masked, imgstat.Record.load(tmp_path / "masked.rec")):
        for pair in ((record, plain), (plain, record)):
            with pytest.raises(ValueError, match="pixels that a given mask leaves"):
                pair[0] + pair[1]


@pytest.mark.filterwarnings("ignore:.*cannot hold the nodata value")
@pytest.mark.parametrize("value", [3, 3.0, 1000, math.nan])
def test_nodata_is_a_rule(tmp_path, capfd, value):
    """Records of arrays that were read by a nodata value are those of files read by it, for the program as well."""
    x = image("u1", (20, 30)) % 9
    path = tmp_path / "x.tif"
    imgstat.save(x, path)
    array, file = imgstat.Record.of(x, nodata=value), imgstat.Record.of(path, nodata=value)
    assert array.count == file.count == (x != value).sum()
    assert array + file == file + array and (array + file).count == 2 * array.count
    assert imgstat.Record.of(np.stack([x, x]), axes="NHW", nodata=value) == array + array
    assert imgstat.Record.of(x[None][:0], axes="NHW", nodata=value) + array == array
    assert imgstat.Record.of(np.dstack([x] * 4), alpha=3, nodata=value).alpha == 3
    for other in (imgstat.Record.of(path), imgstat.Record.of(x), imgstat.Record.of(x, nodata=4)):
        with pytest.raises(ValueError, match="nodata"):
            array + other
    of_array, of_program = tmp_path / "array.rec", tmp_path / "program.rec"
    array.save(of_array)
    words = ["--quiet", "--nodata", str(value), "--save-record", str(of_program), str(path)]
    assert imgstat.run(["stats", "--by", "all", *words]) == 0
    shown = []
    for record in (of_array, of_program):
        assert imgstat.run(["normalize", "--quiet", "--from", str(record), "--nodata", str(value), str(path), "-o", str(record) + ".tif"]) == 0
        capfd.readouterr()
        assert imgstat.run(["stats", "--json", str(record)]) == 0
        shown.append(json.loads(capfd.readouterr().out))
    assert shown[0]["nodata"] == shown[1]["nodata"] == (3 if value == 3 else None)
    assert shown[0]["channels"][0]["mean"] == shown[1]["channels"][0]["mean"]
    assert (tmp_path / "array.rec.tif").read_bytes() == (tmp_path / "program.rec.tif").read_bytes()
    other, both = tmp_path / "other.rec", tmp_path / "both.rec"
    imgstat.Record.of(x[:7], nodata=value).save(other)
    assert imgstat.run(["merge", "--quiet", str(of_array), str(other), "-o", str(both)]) == 0
    assert imgstat.Record.load(both) == array + imgstat.Record.of(x[:7], nodata=value)
    imgstat.Record.of(x[:7]).save(other, replace=True)
    assert imgstat.run(["merge", "--quiet", str(of_array), str(other), "-o", str(both), "--force"]) == 1
    assert "no nodata value that was given" in capfd.readouterr().err


def test_a_transfer_leaves_nodata():
    x = image("u1", (20, 30)) % 9 + 100
    transfer = imgstat.Record.of(x, nodata=103).transfer()
    assert transfer.parameters["nodata"] == 103
    y = transfer.apply(x)
    assert (y[x == 103] == 103).all() and not (y[x != 103] == 103).any()
    assert (y == imgstat.normalize(x, nodata=103)).all()


def test_copies_and_pickles():
    r = imgstat.Record.of(image("u1", (9, 9)))
    for other in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r)),
                  imgstat.Record.from_bytes(bytes(r)), imgstat.Record.from_bytes(memoryview(r.to_bytes()))):
        assert other == r and other is not r
        other += r
        assert other != r and other.count == 162
    assert r.count == 81 and r != 1 and not r == "r"


def test_mistakes():
    r, other = imgstat.Record.of(image("u1", (2, 2))), imgstat.Record.of(image("u2", (2, 2)))
    for wrong, kind in ((lambda: r + other, ValueError), (lambda: r + 1, TypeError), (lambda: hash(r), TypeError),
                        (lambda: imgstat.Record(), TypeError), (lambda: imgstat.Record.merge([]), ValueError),
                        (lambda: imgstat.Record.merge([r, 3]), TypeError),
                        (lambda: imgstat.Record.merge(3), TypeError), (lambda: r.stats(foo=1), TypeError),
                        (lambda: r.percentile(101), ValueError), (lambda: imgstat.Record.of(3), TypeError),
                        (lambda: imgstat.Record.of(image("u1", (2, 2)), alpha=1), ValueError)):
        with pytest.raises(kind):
            wrong()
    with pytest.raises(ZeroDivisionError):
        imgstat.Record.merge(r if i else 1 // i for i in (1, 0))
    assert r.count == 4


def test_damaged_bytes():
    good = imgstat.Record.of(image("u1", (9, 9))).to_bytes()
    refused = 0
    for i in range(0, len(good), 7):
        for bad in (good[:i], good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :]):
            with pytest.raises(imgstat.Error) as raised:
                imgstat.Record.from_bytes(bad)
            assert raised.value.code in ("format", "truncated", "unsupported")
            refused += 1
    assert refused > 20


def test_files(tmp_path, testdata):
    path = testdata / "photo.tif"
    r = imgstat.Record.of(path)
    assert r.names == ("red", "green", "blue") and r.photometric == "rgb" and (r.files, r.pages) == (1, 1)
    assert r.count == (307200,) * 3
    saved, program = tmp_path / "r.rec", tmp_path / "p.rec"
    r.save(saved)
    assert imgstat.run(["stats", "--quiet", "--by", "all", "--save-record", str(program), str(path)]) == 0
    assert saved.read_bytes() == r.to_bytes() == program.read_bytes()
    assert imgstat.Record.load(saved) == r
    with pytest.raises(imgstat.Error) as raised:
        r.save(str(saved))
    assert raised.value.code == "io" and raised.value.path == str(saved)
    r.save(saved, replace=True)
    with pytest.raises(imgstat.Error) as raised:
        imgstat.Record.load(tmp_path / "none.rec")
    assert raised.value.code == "io" and "none.rec" in str(raised.value)
    with pytest.raises(imgstat.Error):
        imgstat.Record.load(path)
    assert imgstat.Record.of(path.read_bytes()).sum == r.sum


def work(seed):
    return imgstat.Record.of(image("u2", (64, 64), seed))


def test_processes():
    whole = imgstat.Record.merge(map(work, range(6)))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert imgstat.Record.merge(pool.imap_unordered(work, range(6))) == whole


def test_threads():
    """Each thread has a record of its own, and all add to one that they share, in both directions."""
    parts = [work(i) for i in range(8)]
    shared, back = copy.copy(parts[0]), copy.copy(parts[1])
    done = []

    def run(part):
        own = copy.copy(part)
        for _ in range(20):
            own += part
            shared.__iadd__(part)
            back.__iadd__(shared if part is parts[0] else part)
            assert own.mean == part.mean and shared.count > 0
        done.append(own)

    threads = [threading.Thread(target=run, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8
    assert shared == imgstat.Record.merge([parts[0]] + parts * 20)
