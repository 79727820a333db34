# SPDX-License-Identifier: MIT
"""Threads that use the same objects: each gets what one alone gets. IMGSTAT_TEST_SECONDS: how long each test goes on."""
import io
import os
import pickle
import random
import struct
import threading
import time

import imgstat

CHANGED = (ValueError, imgstat.Error)  # what a call may say of an object that another thread changes


def image(code, height=60, width=50):
    pixels = bytes(random.Random(code).choices(range(60), k=height * width * struct.calcsize(code)))
    return memoryview(bytearray(pixels)).cast("B").cast(code, (height, width))


def together(works, seconds=1.0, threads=6):
    """Calls all works in each thread, in an order of its own, again and again."""
    end = time.monotonic() + float(os.environ.get("IMGSTAT_TEST_SECONDS", seconds))
    start, done, wrong = threading.Barrier(threads), [], []

    def run(seed):
        mine = list(works)
        chance = random.Random(seed)
        start.wait()
        try:
            while time.monotonic() < end and not wrong:
                chance.shuffle(mine)
                for work in mine:
                    work()
            done.append(seed)
        except BaseException as error:  # the test fails with it
            wrong.append(error)

    running = [threading.Thread(target=run, args=(seed,)) for seed in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if wrong:
        raise wrong[0]
    assert len(done) == threads


def steady(work):
    """The work, whose answer is always the same."""
    answer = work()

    def check():
        assert work() == answer

    return check


def may_fail(work):
    def attempt():
        try:
            work()
        except CHANGED:
            pass

    return attempt


def test_values_are_shared():
    x, f = image("H"), image("f")
    stats = imgstat.stats(f, percentiles=[1, 50], bins=40, range=(-1, 1), shape=True)
    histogram, array, record = imgstat.histogram(x, bins=30), imgstat.equalize(x), imgstat.Record.of(x)
    transfer, chain = record.transfer("equalize"), imgstat.Chain("equalize", x)
    together([
        steady(lambda: (stats.count, stats.percentiles, stats.max, repr(stats))),
        steady(lambda: stats.histogram.counts.tolist() + stats.histogram.edges.tolist()),
        steady(lambda: (histogram.cdf.tolist(), histogram.range, [memoryview(part).tolist() for part in histogram])),
        steady(lambda: (array.tolist(), array.shape, memoryview(array).tobytes(), imgstat.stats(array).max)),
        lambda: array.__dlpack__(max_version=(1, 0)),
        steady(lambda: (record.mean, record.histogram.counts.tolist(), record.names, record.bounds(3))),
        steady(lambda: pickle.loads(pickle.dumps(record + record)).to_bytes()),
        steady(lambda: (hash(transfer), transfer.to_json(), transfer.parameters, transfer.apply(x).tolist())),
        may_fail(lambda: chain(x)),  # serves one call at a time
        steady(lambda: (stats._repr_html_(), record._repr_html_())),
        steady(lambda: (imgstat.stats(x).mean, imgstat.percentile(f, 50), imgstat.normalize(f).tolist())),
    ])


def test_objects_that_change_are_shared(testdata):
    path, other = testdata / "photo.tif", testdata / "good-rgb.png"
    file, data, sums = imgstat.open(io.BytesIO(path.read_bytes())), imgstat.Dataset(), imgstat.Record.of(image("H"))
    closing = [imgstat.open(other)]
    transfer = file[0].record().transfer("stretch")

    def transformed():
        output = io.BytesIO()
        done, = imgstat.transform_files([(other.read_bytes(), output)], transfer=transfer, format="png")
        assert not done.error
        return output.getvalue()

    def reopen():
        closing[0].close()
        closing[0] = imgstat.open(other)

    together([
        steady(lambda: [(page.name, page.shape, page.layout) for page in file]),
        steady(lambda: [memoryview(band).tobytes() for band in file[0].bands(200)]),
        steady(lambda: (file.stats().mean, len(file.images), file.name, file.closed)),
        may_fail(reopen), may_fail(lambda: closing[0].read()), may_fail(lambda: closing[0].stats()),
        lambda: closing[0].closed,
        lambda: [measured.stats.mean for measured in imgstat.measure_files([path, other], threads=2)],
        lambda: data.measure([random.choice([path, other])], threads=1),
        lambda: data.measure((path for path in [other] * 3), group=lambda _: random.choice("ab"), progress=lambda n: n, threads=2),
        steady(transformed),
        lambda: (len(data), [record.mean for record in data], data.failures, data.to_bytes(), repr(data)),
        lambda: data.stats(percentiles=[50]),
        lambda: sums.__iadd__(sums + sums) if sums.count < 1 << 40 else None,
        lambda: (sums.mean, sums.to_bytes(), sums == sums),
        lambda: imgstat.save(image("H"), io.BytesIO(), like=file[0], format="tiff"),
    ])
    assert data.files == data.pages and not data.failed


def test_arrays_that_are_written_meanwhile():
    arrays, mask = [image(code) for code in "BbHhIifQqd"], memoryview(bytearray(60 * 50)).cast("B", (60, 50))
    chance = random.Random(7)

    def write():
        for array in (*arrays, mask):
            samples = array.cast("B")
            first = chance.randrange(len(samples))
            n = chance.randrange(len(samples) - first)
            samples[first : first + n] = chance.choice((bytes(n), b"\xff" * n, chance.randbytes(n)))

    works = [write]
    for x in arrays:
        for call in (lambda x: imgstat.stats(x, percentiles=[1, 99], median=True, mode=True, shape=True, bins=9, mask=mask),
                     imgstat.histogram, imgstat.equalize, imgstat.clahe, imgstat.normalize,
                     lambda x: imgstat.stats(x, bits=4), lambda x: imgstat.equalize(x, bits=4),
                     lambda x: imgstat.normalize(x, clip=(1, 1)), lambda x: imgstat.normalize(x, mean=0.5, std=0.1, mask=mask),
                     lambda x: imgstat.match(x, x), lambda x: imgstat.Record.of(x).transfer("stretch").apply(x),
                     lambda x: imgstat.save(x, io.BytesIO(), format="tiff")):
            works.append(may_fail(lambda call=call, x=x: call(x)))
    together(works)
