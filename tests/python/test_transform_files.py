# SPDX-License-Identifier: MIT
"""transform_files: what the functions for arrays make of each file, and what the program writes."""
import io
import os
import signal

import pytest

import imgstat

np = pytest.importorskip("numpy")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(6):
        imgstat.save((rng.normal(100, 20, (30, 40)) / (1 + i)).clip(0, 255).astype("u1"), tmp_path / f"{i}.png")
    (tmp_path / "out").mkdir()
    return tmp_path


def pairs(folder):
    return [(path, folder / "out" / path.name) for path in sorted(folder.glob("*.png"))]


@pytest.mark.parametrize("method, options, function", [
    ("stretch", {}, imgstat.normalize), ("percentile", {"clip": (2, 2)}, imgstat.normalize),
    ("gamma", {"gamma": 2.0}, imgstat.normalize), ("equalize", {}, imgstat.equalize),
    ("clahe", {"tiles": 4}, imgstat.clahe), ("stretch", {"dtype": "uint16"}, imgstat.normalize)])
def test_each_file(folder, method, options, function):
    done = imgstat.transform_files(pairs(folder), method, **options)
    assert [item.target for item in done] == [target for _, target in pairs(folder)]
    for (source, target), item in zip(pairs(folder), done):
        x = imgstat.open(source).read()
        y = function(x, method, **options) if function is imgstat.normalize else function(x, **options)
        assert item.error is None and not item.skipped and np.array_equal(imgstat.open(target).read(), y)


def test_together_and_by_a_transfer(folder, tmp_path):
    seen = []
    done = imgstat.transform_files(iter(pairs(folder)), "stretch", together="all", progress=seen.append)
    assert not any(item.error for item in done) and seen[-1] == 6
    first = [target.read_bytes() for _, target in pairs(folder)]
    t = imgstat.Dataset.of(source for source, _ in pairs(folder))[0].transfer("stretch")
    imgstat.transform_files(pairs(folder), transfer=t, replace=True, threads=2)
    assert [target.read_bytes() for _, target in pairs(folder)] == first
    ds = imgstat.Dataset.of((source for source, _ in pairs(folder)), group=lambda path: str(int(path.stem) % 2))
    group = {"group": lambda path: str(int(path.stem) % 2), "replace": True}
    imgstat.transform_files(pairs(folder), transfer=ds.transfer("stretch"), **group)
    by_set = [target.read_bytes() for _, target in pairs(folder)]
    imgstat.transform_files(pairs(folder), "stretch", together="all", **group)
    assert [target.read_bytes() for _, target in pairs(folder)] == by_set != first


def test_match(folder):
    reference = folder / "0.png"
    imgstat.transform_files(pairs(folder), "match", reference=reference)
    for source, target in pairs(folder):
        y = imgstat.match(imgstat.open(source).read(), imgstat.open(reference).read())
        assert np.array_equal(imgstat.open(target).read(), y)


def test_objects(folder, testdata):
    data = (testdata / "photo.tif").read_bytes()
    out, again = io.BytesIO(), io.BytesIO()
    done = imgstat.transform_files([(data, out), (io.BytesIO(data), again)], "percentile", format="tiff")
    assert [item.error for item in done] == [None, None] and out.getvalue() == again.getvalue()
    imgstat.run(["normalize", "--quiet", "--method", "percentile", str(testdata / "photo.tif"), "-o",
                 str(folder / "out" / "photo.tif")])
    assert np.array_equal(imgstat.open(out).read(), imgstat.open(folder / "out" / "photo.tif").read())

    class Full:
        name = "full.tif"

        def write(self, data):
            raise OSError("no space")

    item, = imgstat.transform_files([(data, Full())])
    assert item.error.code == "io" and "no space" in str(item.error) and isinstance(item.error.__cause__, OSError)


def test_files_that_fail(folder, testdata):
    jobs = [*pairs(folder), (testdata / "bad-crc.png", folder / "out" / "bad.png"),
            (folder / "none.png", folder / "out" / "none.png")]
    done = imgstat.transform_files(jobs, "stretch")
    assert [item.error and item.error.code for item in done] == [None] * 6 + ["format", "io"]
    assert done[-1].error.path == str(folder / "none.png")
    assert done[-2].error.path == str(testdata / "bad-crc.png")
    assert not (folder / "out" / "bad.png").exists()
    done = imgstat.transform_files(jobs[:6], "stretch")
    assert [item.error.code for item in done] == ["io"] * 6
    assert [item.error.path for item in done] == [str(target) for _, target in jobs[:6]]
    short, longer = folder / "a", folder / "a.png"  # one name begins with the other
    short.write_bytes((folder / "0.png").read_bytes())
    longer.touch()
    other, = imgstat.transform_files([(short, longer)], "stretch")
    assert other.error.path == str(longer)
    longer.unlink()
    done = imgstat.transform_files(jobs[:6], "stretch", skip_existing=True)
    assert all(item.skipped and not item.error for item in done)
    assert imgstat.transform_files([]) == []


def test_two_files_for_one_target(tmp_path, testdata):
    """The last one replaced the others."""
    source, out = testdata / "good-example.png", tmp_path / "a.png"
    (tmp_path / "link").symlink_to(tmp_path)
    for target in (str(out), os.fsencode(out), tmp_path / "." / "a.png", os.path.join(tmp_path, "b", "..", "a.png"),
                   tmp_path / "link" / "a.png"):
        with pytest.raises(ValueError, match="two files would become"):
            imgstat.transform_files([(source, out), (source, target)], replace=True)
    assert not out.exists()


def test_a_target_is_no_other_input(tmp_path, testdata):
    """Whether the second file was read before the first one took its place was a matter of time."""
    images = [tmp_path / name for name in ("a.png", "b.png", "c.png")]
    for image in images[:2]:
        image.write_bytes((testdata / "good-example.png").read_bytes())
    kept = images[0].read_bytes()
    for pairs, options in (([images[:2], images[1:]], {"method": "stretch"}),
                           ([images[:2]], {"method": "match", "reference": images[1]}),
                           ([images[:2]], {"method": "stretch", "mask": images[1]})):
        for how in ({"replace": True}, {"skip_existing": True}):
            with pytest.raises(ValueError, match="b.png would replace .*b.png, which is an input as well"):
                imgstat.transform_files([tuple(pair) for pair in pairs], **options, **how)
    assert images[0].read_bytes() == images[1].read_bytes() == kept and not images[2].exists()
    done = imgstat.transform_files([(image, image) for image in images[:2]], "gamma", gamma=2, replace=True)
    assert not any(item.error for item in done) and images[0].read_bytes() == images[1].read_bytes() != kept


def test_a_cut_input_is_no_cut_output(tmp_path, testdata):
    """Its own output, with skip_existing, it was replaced by what could be read of it."""
    image = tmp_path / "a.png"
    image.write_bytes((testdata / "good-example.png").read_bytes()[:-2])
    kept = image.read_bytes()
    done, = imgstat.transform_files([(image, image)], skip_existing=True)
    assert done.error.code == "argument" and "is the input itself" in str(done.error)
    assert image.read_bytes() == kept


def test_mistakes(folder):
    t = imgstat.Record.of(folder / "0.png").transfer("stretch")
    for wrong, kind in (({"method": "other"}, ValueError), ({"foo": 1}, TypeError), ({"together": "x"}, ValueError),
                        ({"transfer": 3}, TypeError), ({"transfer": t, "method": "stretch"}, ValueError),
                        ({"transfer": t, "clip": (1, 1)}, ValueError), ({"reference_page": "0"}, ValueError),
                        ({"fill": "x"}, TypeError), ({"pages": "0\0"}, ValueError),
                        ({"device": "cuda:77"}, imgstat.Error), ({"level": 30}, ValueError),
                        ({"memory": 1000}, (ValueError, imgstat.Error)), ({"memory": 2**64}, ValueError),
                        ({"group": lambda path: 1 / 0}, ZeroDivisionError), ({"progress": lambda n: 1 / 0}, ZeroDivisionError)):
        with pytest.raises(kind):
            imgstat.transform_files(pairs(folder), **wrong)
    for wrong in ([3], [("a",)], ["ab"], [("a", 3)], 3):
        with pytest.raises(TypeError):
            imgstat.transform_files(wrong)


def test_progress_ends_it(folder):
    """Files that were at work are reported after that, with the exception set."""
    def stop(n):
        if n >= 3:
            raise KeyError("enough")

    jobs = [(folder / "0.png", folder / "out" / f"{i}.tif") for i in range(2000)]
    with pytest.raises(KeyError):
        imgstat.transform_files(jobs, "equalize", threads=4, progress=stop)
    assert 3 <= len(list((folder / "out").iterdir())) < 2000


def test_interruption_in_an_object(folder):
    class Target:
        def write(self, data):
            raise KeyboardInterrupt

    for targets in ([Target()], [io.BytesIO(), Target(), io.BytesIO()]):
        with pytest.raises(KeyboardInterrupt):
            imgstat.transform_files([(folder / "0.png", target) for target in targets], format="png")


def test_interruption(folder):
    """Ctrl-C ends a batch; what is written is complete."""
    jobs = [(folder / "0.png", folder / "out" / f"{i}.tif") for i in range(3000)]
    with pytest.raises(KeyboardInterrupt):
        imgstat.transform_files(jobs, "equalize", progress=lambda n: n == 100 and os.kill(os.getpid(), signal.SIGINT))
    written = list((folder / "out").iterdir())
    assert 100 <= len(written) < 3000
    for path in written[::50]:
        assert imgstat.open(path).read().shape == (30, 40)
