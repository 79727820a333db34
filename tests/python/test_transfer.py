# SPDX-License-Identifier: MIT
"""Transfer: of a record it does what the functions for arrays do; as text it is that of the program."""
import copy
import json
import pickle
import threading

import pytest

import imgstat

np = pytest.importorskip("numpy")

METHODS = [("stretch", {}, imgstat.normalize), ("percentile", {"clip": (1, 1)}, imgstat.normalize),
           ("percentile", {"clip": (2, 98), "dtype": "uint8"}, imgstat.normalize),
           ("meanstd", {"mean": 100, "std": 20}, imgstat.normalize), ("gamma", {"gamma": 0.5}, imgstat.normalize),
           ("equalize", {}, imgstat.equalize)]


def image(dtype="u1", shape=(30, 40), seed=0):
    return np.random.default_rng(seed).normal(120, 30, shape).clip(0, 255).astype(dtype)


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "f4"])
@pytest.mark.parametrize("method, options, function", METHODS)
def test_does_what_functions_do(dtype, method, options, function):
    x = image(dtype)
    record = imgstat.Record.of(x)
    if dtype == "f4" and method in ("percentile", "equalize"):
        with pytest.raises(ValueError, match="f32"):
            record.transfer(method, **options)
        return
    t = record.transfer(method, **options)
    y = t.apply(x)
    expected = function(x, **options) if method == "equalize" else function(x, method, **options)
    assert y.dtype == expected.dtype and np.array_equal(y, expected)
    again = imgstat.Transfer.from_json(t.to_json())
    assert again == t and np.array_equal(again.apply(x), y)
    assert imgstat.normalize(x).shape == x.shape and t.sample == imgstat.Record.of(y).sample
    assert t.parameters["method"] == method


def test_colour_and_match():
    x, ref = image(shape=(30, 40, 3)), image(shape=(20, 20, 3), seed=5)
    record = imgstat.Record.of(x)
    t = record.transfer("match", reference=imgstat.Record.of(ref))
    assert np.array_equal(t.apply(x), imgstat.match(x, ref))
    each = record.transfer("equalize", channels="each")
    assert np.array_equal(each.apply(x), imgstat.equalize(x, channels="each"))
    with pytest.raises(ValueError):
        record.transfer("equalize")  # luma needs the pixels
    with pytest.raises(TypeError):
        record.transfer("match", reference=ref)
    with pytest.raises(ValueError):
        record.transfer("match")


def test_one_transfer_for_all():
    """Images of a set are made comparable: the extrema of all are the ends of the range."""
    images = [image(seed=i) // (i + 1) for i in range(4)]
    t = imgstat.Record.merge(map(imgstat.Record.of, images)).transfer("stretch")
    lo, hi = min(x.min() for x in images), max(x.max() for x in images)
    for x in images:
        exact = (x.astype("f8") - lo) / (hi - lo) * 255
        assert np.abs(t.apply(x) - exact).max() <= 0.5
    assert np.array_equal(t.apply(np.stack(images), axes="NHW"), np.stack([t.apply(x) for x in images]))


def test_out_alpha_mask():
    x = image(shape=(20, 20, 4))
    t = imgstat.Record.of(x, alpha=3).transfer("stretch")
    mask = np.zeros((20, 20), bool)
    mask[5:9] = True
    y = t.apply(x, alpha=3, mask=mask)
    assert np.array_equal(y[..., 3], x[..., 3]) and np.array_equal(y[~mask], x[~mask])
    assert not np.array_equal(y[mask], x[mask])
    z = x.copy()
    assert t.apply(z, out=z, alpha=3, mask=mask) is z and np.array_equal(z, y)


def test_text_and_files(tmp_path, testdata):
    path, saved = testdata / "photo.tif", tmp_path / "t.json"
    t = imgstat.Record.of(path).transfer("percentile", clip=(1, 1))
    assert imgstat.run(["normalize", "--quiet", "--method", "percentile", "--clip", "1,1", "--together", "all",
                        "--save-transfer", str(saved), str(path)]) == 0
    assert saved.read_text() == t.to_json() + "\n" and imgstat.Transfer.load(saved) == t
    t.save(tmp_path / "u.json")
    assert (tmp_path / "u.json").read_bytes() == saved.read_bytes()
    assert json.loads(t.to_json())["imgstat_transfer"] == 1 and len(t) == 1
    for bad in ("", "{}", t.to_json()[:-5], b"\xff", t.to_json().replace("percentile", "other")):
        with pytest.raises(imgstat.Error) as raised:
            imgstat.Transfer.from_json(bad)
        assert raised.value.code == "format"
    with pytest.raises(TypeError):
        imgstat.Transfer.from_json(3)
    with pytest.raises(imgstat.Error) as raised:
        t.save(saved)
    assert raised.value.code == "io"


def test_is_a_value():
    record = imgstat.Record.of(image())
    t, same, other = record.transfer("stretch"), record.transfer("stretch"), record.transfer("equalize")
    assert t == same and t != other and hash(t) == hash(same) and {t: 1}[same] == 1
    assert copy.copy(t) is t and copy.deepcopy(t) is t and pickle.loads(pickle.dumps(t)) == t
    assert repr(t).startswith('<imgstat.Transfer {"method":"stretch"') or "stretch" in repr(t)
    assert (t.sample, t.bits) == ("u8", 8)
    with pytest.raises(TypeError):
        imgstat.Transfer()


def test_mistakes():
    t = imgstat.Record.of(image()).transfer("stretch")
    for wrong in (lambda: t.apply(image("u2")), lambda: t.apply(image(shape=(3, 3, 3)), foo=1),
                  lambda: imgstat.Record.of(image()).transfer("other"),
                  lambda: imgstat.Record.of(image()).transfer("clahe"),
                  lambda: imgstat.Record.of(image()).transfer("stretch", gamma=2)):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_threads_share_one():
    x = image(shape=(200, 200))
    t = imgstat.Record.of(x).transfer("equalize")
    expected, good = t.apply(x), []

    def run():
        good.append(all(np.array_equal(t.apply(x), expected) for _ in range(20)))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert good == [True] * 6
