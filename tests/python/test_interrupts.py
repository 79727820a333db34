# SPDX-License-Identifier: MIT
"""Ctrl-C within one large array or file: a real SIGINT in a child, which must end long before the work would."""
import io
import json
import signal
import subprocess
import sys

import pytest

import imgstat

np = pytest.importorskip("numpy")

CHILD = '''
import io, json, os, signal, sys, tempfile, threading, time
import numpy as np
import imgstat
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what it leaves in the background without
folder, words = sys.argv[1], {"threads": 1}
side = int(sys.argv[2])
x = np.random.default_rng(1).integers(0, 60000, (side, side), np.uint16)
f, out = x.view(np.float32), np.empty_like(x)
data, chain = imgstat.Dataset(), imgstat.Chain("equalize", x, **words)
path, to = folder + "/x.png", folder + "/y.png"
imgstat.save(x, path)
works = {
    "stats": lambda: imgstat.stats(f, percentiles=[3], mode=True, shape=True, **words),
    "percentile of a copy": lambda: imgstat.percentile(f[::-1, ::-1], 3, **words),
    "record": lambda: imgstat.Record.of(f, **words),
    "normalize": lambda: imgstat.normalize(x, gamma=1.7, dtype="float", **words),
    "equalize": lambda: imgstat.equalize(f, **words),
    "clahe": lambda: imgstat.clahe(x, out=out, **words),
    "copy there and back": lambda: imgstat.normalize(x[:, ::-1], out=out[::-1], **words),
    "chain": lambda: chain(x, out=out),
    "save": lambda: imgstat.save(x, to, level=9, replace=True),
    "save to an object": lambda: imgstat.save(x.T, io.BytesIO(), format="tiff", level=9),
    "open": lambda: imgstat.open(path).stats(**words),
    "read": lambda: imgstat.open(path).read(),
    "measure_files": lambda: list(imgstat.measure_files([path] * 3, threads=2)),
    "dataset": lambda: data.measure([path] * 3, threads=2),
    "transform_files": lambda: imgstat.transform_files([(path, to)], "equalize", replace=True, **words),
    "two files": lambda: imgstat.transform_files([(path, to), (path, folder + "/z.png")], "equalize", replace=True),
}
def clean():
    for name in ("y.png", "z.png"):
        if os.path.exists(folder + "/" + name):
            imgstat.open(folder + "/" + name).read()  # whole
            os.unlink(folder + "/" + name)

for name, work in works.items():
    begin = time.monotonic()
    work()
    whole = time.monotonic() - begin
    clean()
    at = []
    def kill():
        at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.01 + whole / 10, kill)
    end = None
    try:
        timer.start()
        for _ in range(1000):  # the signal may come late
            work()
    except KeyboardInterrupt:
        end = time.monotonic() - at[0]
    timer.join()
    clean()
    print(json.dumps([name, whole, end, sorted(os.listdir(folder))]))
assert not data.failures and data.files >= 3 and data[0].count == data.files * side * side  # of whole files alone
'''


def test_ctrl_c_ends_it_soon(tmp_path, is_small):
    command = [sys.executable, "-c", CHILD, str(tmp_path), "512" if is_small else "4096"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for name, whole, end, left in map(json.loads, done.stdout.splitlines()):
        print(name, f"{whole:.2f} s, ended after {end} s")
        assert end is not None, f"{name}: done, or another exception"
        most = max(2 if is_small else 0.5, whole / 2)  # on a machine at rest 0.05 s
        assert end < most, f"{name}: {end} s of {whole} s"
        assert left == ["x.png"], name


def test_handlers_that_use_the_file_at_work():
    """They run in its call, and waited for its end for ever."""
    x, said, file = np.random.default_rng(1).integers(0, 60000, (1000, 1000), np.uint16), [], None

    def handle(number, frame):
        for call in (lambda: len(file), file.close):
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for times in (2**k for k in range(8)):  # until one takes so long that it looks for signals
            to = io.BytesIO()
            imgstat.save(np.tile(x, (times, 1)), to, format="png", fast=True)
            file = imgstat.open(to)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                file.stats(threads=1)
            except ValueError:  # it was closed before
                pass
            if said:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert said == ["the file is at work for this thread"] * 2
    assert file.stats().count == times * x.size
