# SPDX-License-Identifier: MIT
"""Records, transfers and files on a GPU: the bytes of the CPU."""
import pytest

np = pytest.importorskip("numpy")

import cuda_arrays  # noqa: E402
import imgstat  # noqa: E402

cuda = cuda_arrays.driver()


def picture(dtype, shape=(60, 50, 3), seed=1):
    x = np.random.default_rng(seed).random(shape) ** 2
    return x.astype(dtype) if dtype[0] == "f" else (x * np.iinfo(dtype).max * 0.7).astype(dtype)


def there(x):
    return cuda_arrays.DeviceArray(cuda, x)


@pytest.mark.parametrize("dtype", "u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8".split())
def test_records(dtype):
    x = picture(dtype)
    record = imgstat.Record.of(x)
    assert imgstat.Record.of(there(x)) == record == imgstat.Record.of(x, device="cuda:0")
    batch = picture(dtype, (3, 20, 30))
    assert imgstat.Record.of(there(batch), axes="NHW") == imgstat.Record.of(batch, axes="NHW")
    mask = picture("u1", (60, 50)) > 40
    assert imgstat.Record.of(there(x), mask=there(mask)) == imgstat.Record.of(x, mask=mask)
    t = record.transfer("stretch")
    assert np.array_equal(cuda_arrays.to_host(cuda, t.apply(there(x))), t.apply(x), equal_nan=dtype[0] == "f")
    out = there(x)
    assert t.apply(out, out=out) is out
    assert np.array_equal(cuda_arrays.to_host(cuda, out), t.apply(x), equal_nan=dtype[0] == "f")


def test_files(testdata):
    compared = 0
    for path in [*sorted(testdata.glob("good-*")), testdata / "photo.tif"]:
        with imgstat.open(path) as f:
            for page in f.images:
                a, b = page.stats(percentiles=[1, 99]), page.stats(percentiles=[1, 99], device="cuda:0")
                for name in ("count", "min", "max", "sum", "mean", "std", "percentiles"):
                    assert str(getattr(a, name)) == str(getattr(b, name)), (path, name)
                assert page.record(device="cuda:0") == page.record()
                compared += 1
    assert compared > 40


def test_many_files(testdata, tmp_path):
    paths = [*sorted(testdata.glob("good-*.png")), testdata / "photo.tif", testdata / "bad-crc.png"]
    want = imgstat.Dataset.of(paths)
    for device in ("cuda:0", "cuda:all"):
        assert imgstat.Dataset.of(paths, device=device) == want and want.failed == 1
    by_device = []
    for device in ("cpu", "cuda:0", "cuda:all"):
        folder = tmp_path / device
        folder.mkdir()
        done = imgstat.transform_files([(path, folder / path.name) for path in paths], "equalize", device=device)
        assert [item.error is None for item in done] == [True] * (len(paths) - 1) + [False]
        by_device.append([(folder / path.name).read_bytes() for path in paths[:-1]])
    assert by_device[0] == by_device[1] == by_device[2]
    with pytest.raises(ValueError, match="GPU"):
        imgstat.save(there(picture("u1")), tmp_path / "x.png")
