# SPDX-License-Identifier: MIT
"""imgstat.run and the program of the package: output, exit status and state are those of the program `imgstat`."""
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

import imgstat

PROGRAM = [sys.executable, "-m", "imgstat"]


def program(*words, **options):
    return subprocess.run([*PROGRAM, *words], capture_output=True, text=True, check=False, **options)


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, **options)


def test_version_is_that_of_the_library():
    assert program("--version").stdout.startswith(f"imgstat {imgstat.__version__}\n")


@pytest.mark.parametrize("words, status", [
    (["photo.tif"], 0),
    (["--json", "photo.tif", "bad-truncated.png"], 1),
    (["hist", "--csv", "good-example.png"], 0),
    (["info", "photo.tif", "missing.tif"], 1),
    (["stats", "--no-such-option"], 2),
    (["--together", "--", "photo.tif"], 2),
    ([], 2),
    (["help", "equalize"], 0),
])
def test_runs_as_the_program_does(words, status, testdata, monkeypatch, capfd):
    monkeypatch.chdir(testdata)
    own = program(*words)
    if "IMGSTAT" in os.environ:
        other = subprocess.run([os.environ["IMGSTAT"], *words], capture_output=True, text=True, check=False)
        assert (own.stdout, own.stderr, own.returncode) == (other.stdout, other.stderr, other.returncode)
    for _ in range(2):  # nothing is left over from the first time
        assert imgstat.run(words) == status == own.returncode
        out, err = capfd.readouterr()
        assert (out, err) == (own.stdout, own.stderr)


def test_words_may_be_bytes_and_paths(testdata, capfd):
    assert imgstat.run(("--json", testdata / "photo.tif")) == 0
    assert imgstat.run([b"--json", os.fsencode(testdata / "photo.tif")]) == 0
    first, second = capfd.readouterr().out.splitlines()
    assert first == second and json.loads(first)["width"] == 640


@pytest.mark.parametrize("argv", ["photo.tif", b"photo.tif", None, 3, [1], ["a\0b"], [None]])
def test_refuses_what_is_no_sequence_of_words(argv):
    with pytest.raises((TypeError, ValueError)):
        imgstat.run(argv)


def test_prints_behind_what_python_has_printed(testdata):
    code = f"import imgstat; print('first'); imgstat.run(['--csv', {str(testdata / 'photo.tif')!r}]); print('last')"
    lines = python(code).stdout.splitlines()
    assert lines[0] == "first" and lines[-1] == "last" and len(lines) > 3


def test_numbers_have_a_point_in_every_locale(comma, testdata, tmp_path, capfd):
    photo, half = testdata / "photo.tif", testdata / "good-float32.tif"
    commands = [["stats", "--json", "--percentiles", "0.5,99.5", photo], ["stats", "--csv", photo, half],
                ["stats", "--json", "--by", "all", photo], ["hist", "--plot", "-", photo],
                ["report", "--json", photo, "--fail-on", "clipped>99.5"],
                ["normalize", "--clip", "0.5,0.5", "--json", photo, "-o", tmp_path / "a.tif", "--force"]]
    capfd.readouterr()
    for words in commands:
        words = [str(word) for word in words]
        status = imgstat.run(words)
        here = capfd.readouterr().out
        code = f"import imgstat; status = imgstat.run({words!r}); assert (status, locale.str(0.5)) == ({status}, '0,5')"
        assert here.count(".") >= 3 and comma(code) == here


def test_leaves_handlers_and_environment_alone(testdata, capfd):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what it leaves in the background without
    names = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ, signal.SIGPIPE]
    before = [signal.getsignal(name) for name in names], dict(os.environ), os.umask(0o27)
    os.umask(before[2])
    assert imgstat.run(["hist", "--plot", os.devnull, "--force", str(testdata / "photo.tif")]) in (0, 1, 2)
    after = [signal.getsignal(name) for name in names], dict(os.environ), os.umask(0o27)
    os.umask(after[2])
    assert before == after
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)


def test_a_signal_ends_the_command_alone(testdata, tmp_path):
    """The signal comes when the first of many files is done; what is not begun by then is left out."""
    for i in range(2000):
        (tmp_path / f"{i:04}.tif").symlink_to(testdata / "photo.tif")
    code = f"""
import imgstat
status = imgstat.run(["--json", "--jobs", "1", {str(tmp_path)!r}])
print(status, imgstat.run(["--csv", {str(testdata / 'good-example.png')!r}]))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        one.stdout.readline()
        one.send_signal(signal.SIGINT)
        *lines, last = one.stdout.read().splitlines()
        assert last == "130 0" and one.stderr.read() == ""
    assert len(lines) < 2000 and one.returncode == 0


def test_a_closed_pipe_ends_the_command_alone(testdata, tmp_path):
    for i in range(300):
        (tmp_path / f"{i:04}.tif").symlink_to(testdata / "photo.tif")
    code = f"""
import imgstat, sys
status = imgstat.run(["--json", {str(tmp_path)!r}])
print(status, file=sys.stderr)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        message = process.stderr.read()
    assert message.split()[0] == b"141"


def test_other_threads_run_meanwhile(testdata, capfd):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    assert imgstat.run(["--json", "--percentiles", "1,99", *[str(testdata / "photo.tif")] * 50]) == 0
    end = time.monotonic()
    stop.set()
    thread.join()
    assert sum(start < tick < end for tick in ticks) > 3


def test_calls_of_several_threads_wait_for_each_other(testdata, capfd):
    statuses = []
    names = [testdata / "photo.tif", testdata / "bad-truncated.png"] * 4
    threads = [threading.Thread(target=lambda name=name: statuses.append(imgstat.run(["--json", name])))
               for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [0] * 4 + [1] * 4
    assert len(capfd.readouterr().out.splitlines()) == 8


def test_keeps_no_memory(testdata, capfd, is_small):
    if is_small:
        pytest.skip("a sanitizer keeps what is freed")
    words = [["--json", str(testdata / "photo.tif")], ["stats", "--no-such"], ["--csv", "missing.png"]]

    def grown(n):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(n):
            for one in words:
                imgstat.run(one)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    grown(30)
    assert grown(200) < 2048  # KiB
