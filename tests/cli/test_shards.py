#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of the inputs, and the folder that keeps what is done of them: whatever is killed, the results are those of
one process that was left alone.

usage: test_shards.py IMGSTAT [TEST...]
"""

import os
import random
import shutil
import signal
import subprocess

from harness import LIMIT, TESTDATA, check, environment, fill, is_run, main, png, run, wait_until


def make_images(folder, n=60):
    """Images of different sizes, some of them damaged, in two directories."""
    for i in range(n):
        place = folder / "in" / ("a" if i % 3 else "b")
        place.mkdir(parents=True, exist_ok=True)
        size = 4 + i * 2
        data = png(size, size, 8, random.Random(i).randbytes(size * size))
        (place / f"{i:03}.png").write_bytes(data if i % 10 else data[:len(data) // 2])


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_parts_are_the_whole(program, folder):
    make_images(folder)
    for k, command in enumerate((("stats", "--json"), ("stats", "--csv"), ("hist", "--csv", "--bins", "8"),
                                 ("info", "--json"))):
        whole = run(program, *command, "--recursive", "in", cwd=folder, status=None)
        for n in (1, 2, 7, *[100] * is_run(k, 4)):
            parts = [run(program, *command, "--recursive", "--shard", f"{k}/{n}", "in", cwd=folder, status=None)
                     for k in range(1, n + 1)]
            check(b"".join(part.stdout for part in parts) == whole.stdout, f"{command}: {n} parts")
            check(max(part.returncode for part in parts) == whole.returncode, f"{command}: exit status of {n} parts")
            kept = run(program, *command, "--recursive", "--state", f"{command[0]}{command[1]}{n}", "--shards", n, "in",
                       cwd=folder, status=whole.returncode)
            check(kept.stdout == whole.stdout, f"{command}: {n} shards that are kept")
            check(kept.stderr == whole.stderr, f"{command}: {n} shards, stderr: {kept.stderr!r}, not {whole.stderr!r}")
    weights = [sum((folder / line.split(b",")[0].decode()).stat().st_size + 4096
                   for line in run(program, "stats", "--csv", "--recursive", "--shard", f"{k}/4", "in", cwd=folder,
                                   status=None).stdout.splitlines() if line.startswith(b"in/")) for k in range(1, 5)]
    check(max(weights) < 1.5 * min(weights), f"weights of 4 parts: {weights}")


def test_transforms(program, folder):
    make_images(folder)
    run(program, "normalize", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    whole = tree(folder / "whole")
    check(len(whole) == 54, f"{len(whole)} outputs")
    for k in (3, 1, 2):
        run(program, "normalize", "--recursive", "--shard", f"{k}/3", "in", "-o", "parts/", cwd=folder, status=None)
    check(tree(folder / "parts") == whole, "three parts")
    words = ("normalize", "--recursive", "--state", "state", "--shards", "5", "in", "-o", "kept")
    done = run(program, *words, cwd=folder, status=1)
    check(tree(folder / "kept") == whole, "five shards that are kept")
    check(done.stderr.endswith(b"54 written, 6 failed\n"), f"the sum: {done.stderr!r}")
    # What is done is not done again: nothing of the inputs is read, and no output made.
    listed = b"".join((folder / "state" / f"shard-{k:04}-of-0005.done").read_bytes() for k in range(1, 6))
    check(all(b"kept/" + name.encode() + b"\0" in listed for name in whole), "the lists of outputs")
    shutil.rmtree(folder / "kept")
    again = run(program, *words, cwd=folder, status=1)
    check(again.stderr == done.stderr and not (folder / "kept").exists(), f"again: {again.stderr!r}")
    # A shard that is damaged is done again, and outputs that are there stay.
    (folder / "state" / "shard-0002-of-0005.done").write_bytes(b"imgstat shard text 1\n0 done")
    run(program, *words, cwd=folder, status=1)
    check(0 < len(tree(folder / "kept")) < 54, "one shard again")
    shutil.rmtree(folder / "state")
    times = {name: (folder / "kept" / name).stat().st_mtime_ns for name in tree(folder / "kept")}
    done = run(program, *words, cwd=folder, status=1)
    check(tree(folder / "kept") == whole, "without the state")
    check(all((folder / "kept" / name).stat().st_mtime_ns == time for name, time in times.items()), "outputs stay")
    check(b", %d skipped" % len(times) in done.stderr, f"skipped: {done.stderr!r}")


def test_refusals(program, folder):
    make_images(folder, 12)
    base = ("stats", "--json", "--state", "state", "--shards", "3")
    run(program, *base, "in/a", cwd=folder, status=1)
    for words, sentence in (
            ((*base[:-1], "4", "in/a"), b"there it is 'shards 3', here 'shards 4'"),
            ((*base, "in/b"), b"there it is 'inputs 8, digest "),
            ((*base, "--mode", "in/a"), b"here '--mode'"),
            (("hist", *base[1:], "in/a"), b"there it is 'imgstat stats', here 'imgstat hist'"),
            (("stats", "--json", "--shards", "3", "in/a"), b"--shards needs --state"),
            (("stats", "--json", "--state", "state", "in/a"), b"--state needs --shards N"),
            (("stats", "--json", "--shard", "4/3", "in/a"), b"--shard takes K/N, such as 3/16"),
            (("stats", "--json", "--shard", "0/3", "in/a"), b"--shard takes K/N, such as 3/16"),
            (("stats", "--json", "--shard", "1/3x", "in/a"), b"--shard takes K/N, such as 3/16"),
            (("stats", "--json", "--shard", "1/3", *base[2:-1], "4", "in/a"), b"cannot be both 3 shards and 4"),
            (("stats", "--shard", "1/3", "in/a"), b"shards need --json or --csv"),
            (("stats", "--json", "--shard", "1/3", "-"), b"standard input cannot be in shards"),
            (("normalize", "--together", "--shard", "1/3", "in/a", "-o", "out"),
             b"by 'imgstat normalize --together --save-transfer t.json IN', then"),
            (("equalize", "--together", "group=([0-9])", "--shard", "1/3", "in/a", "-o", "out"),
             b"then write the shard by 'imgstat equalize --from g.rec --together group=REGEX --shard 1/3 IN -o OUT'"),
            (("normalize", "--force", "--state", "own", "--shards", "2", "in/b", "-o", "in/b"),
             b"in/b/000.png is the input itself: --state may do a shard again"),  # pixels were mapped twice
            (("normalize", "--shard", "1/3", "in/a", "-o", "-"), b"shards need a folder for -o"),
            (("normalize", "--shard", "1/3", "in/a", "-o", "x.png"), b"these inputs need a folder")):
        done = run(program, *words, cwd=folder, status=2)
        check(sentence in done.stderr and done.stdout == b"", f"{words}: {done.stderr!r}")
    # Options that change no result, and their order, do not count.
    run(program, *base, "-j1", "--device", "cpu", "--quiet", "in/a", cwd=folder, status=1)
    for words in (("--mode", "--percentiles", "5"), ("--percentiles", "5", "--mode")):
        run(program, "stats", "--json", "--state", "order", "--shard", "1/2", *words, "in/a", cwd=folder, status=None)
        check((folder / "order/set").read_bytes().endswith(b"--json\n--mode\n--percentiles=5\n"), f"order: {words}")
    os.utime(folder / "in/a/001.png")  # the same size: the same inputs
    run(program, *base, "in/a", cwd=folder, status=1)
    (folder / "in/a/001.png").write_bytes(b"longer" * 1000)
    done = run(program, *base, "in/a", cwd=folder, status=2)
    check(b"belongs to another command, to other inputs" in done.stderr, f"a file that grew: {done.stderr!r}")
    (folder / "file").write_bytes(b"")
    done = run(program, "stats", "--json", "--state", "file", "--shards", "2", "in/b", cwd=folder, status=1)
    check(done.stderr.startswith(b"imgstat stats: file/set: "), f"a file for the folder: {done.stderr!r}")


def test_outputs_of_several_shards(program, folder):
    """Two inputs of one name in two shards became one output: the second was skipped, or with --force took the place of
    the first, or of an input of the other shard."""
    for k, name in enumerate(("a/x.png", "b/x.png", "c/y.png")):
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(png(8, 8, 8, random.Random(k).randbytes(64)))
    before = tree(folder)
    both = b"a/x.png and b/x.png would both become "
    for words, sentence in ((("a", "b", "-o", "out", "--state", "state", "--shards", "2"), both + b"out/x.png"),
                            (("a", "b", "-o", "out", "--shard", "1/2"), both + b"out/x.png"),
                            (("a", "b", "-o", "out", "--shard", "2/2", "--force"), both + b"out/x.png"),
                            (("a", "b", "-o", "b", "--shard", "1/2", "--force"), both + b"b/x.png")):
        done = run(program, "normalize", *words, cwd=folder, status=2)
        check(done.stderr == b"imgstat normalize: " + sentence + b"\n", f"{words}: {done.stderr!r}")
    (folder / "in").mkdir()
    (folder / "in/x.png").symlink_to("../c/y.png")
    done = run(program, "normalize", "--force", "in/x.png", "a/x.png", "-o", "a", "--shard", "1/2", cwd=folder, status=2)
    check(b"in/x.png and a/x.png would both become a/x.png" in done.stderr, f"{done.stderr!r}")
    (folder / "c/x.png").symlink_to("../a/x.png")  # an output of the first shard is an input of the second
    done = run(program, "normalize", "--force", "b/x.png", "a/x.png[0]", "-o", "c", "--shard", "1/2", cwd=folder, status=2)
    check(b"would" in done.stderr, f"{done.stderr!r}")
    (folder / "c/x.png").unlink()
    (folder / "in/x.png").unlink()
    check(tree(folder) == before, "nothing is written")


def test_refused_commands_leave_the_folder_to_others(program, folder):
    """The folder of a command that was refused before any work belonged to it, and so refused the command as it should be."""
    gray, wide = (png(8, 8, bits, random.Random(bits).randbytes(8 * bits)) for bits in (8, 16))
    for name, data in (("a/x.png", gray), ("b/x.png", gray), ("c/y.png", gray), ("d/z.png", wide)):
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(data)
    run(program, "normalize", "--together", "--save-transfer", "wide.json", "d/z.png", cwd=folder)
    run(program, "normalize", "--together", "--save-transfer", "gray.json", "a/x.png", cwd=folder)
    for k, (refused, right) in enumerate(((("normalize", "a", "b"), ("normalize", "a", "c")),
                                          (("normalize", "--together", "--method", "meanstd=1000,50", "a", "d"),
                                           ("normalize", "--together", "--method", "meanstd=100,50", "a", "c")),
                                          (("apply", "wide.json", "a", "c"), ("apply", "gray.json", "a", "c")),
                                          (("apply", "none.json", "a", "c"), ("apply", "gray.json", "a", "c")))):
        state = ("--state", f"state{k}", "--shards", "2", "-o", f"out{k}")
        run(program, *refused, *state, cwd=folder, status=1 if "none.json" in refused else 2)
        check(not (folder / f"out{k}").exists() and not list((folder / f"state{k}").iterdir()), f"{refused}: leaves nothing")
        done = run(program, *right, *state, cwd=folder)
        check(len(tree(folder / f"out{k}")) == 2, f"{right}: {done.stderr!r}")
        done = run(program, *right, "--format", "tiff", *state, cwd=folder, status=2)
        check(b"belongs to another command" in done.stderr, f"{right}: {done.stderr!r}")


def test_changed_files_of_options(program, folder):
    """Outputs of one folder had different transfers where the file of the transfer, or of records, changed between runs."""
    make_images(folder, 12)
    (folder / "in/b/000.png").unlink()
    for i, image in enumerate(("in/a/001.png", "in/a/002.png")):
        run(program, "normalize", image, "-o", f"x{i}.png", "--save-transfer", f"transfer{i}", cwd=folder)
        run(program, "stats", "--by", "all", "--save-record", f"record{i}", image, cwd=folder)
        shutil.copy(folder / image, folder / f"image{i}")
    for k, (kind, words) in enumerate((("transfer", ("apply", "file")), ("record", ("normalize", "--from", "file")),
                                       ("image", ("normalize", "--match", "file")), ("image", ("stats", "--json", "--mask", "file[0]")))):
        words = (*words, "--recursive", "in", *(("-o", f"out{k}") if words[0] != "stats" else ()), "--state", f"state{k}")
        shutil.copy(folder / f"{kind}0", folder / "file")
        run(program, *words, "--shard", "1/3", cwd=folder, status=None)
        shutil.copy(folder / f"{kind}1", folder / "file")
        done = run(program, *words, "--shards", "3", cwd=folder, status=2)
        check(b"there it is 'digest of file: " in done.stderr, f"{words}: {done.stderr!r}")
        shutil.copy(folder / f"{kind}0", folder / "file")
        run(program, *words, "--shards", "3", cwd=folder, status=None)
        check(len(list((folder / f"state{k}").iterdir())) == 4, f"{words}: the rest with the first file")
    os.mkfifo(folder / "pipe")  # the second shard waited for ever
    done = run(program, "apply", "pipe", "in", "-o", "out", "--state", "piped", "--shards", "2", cwd=folder, status=2)
    check(b"pipe is read for each shard: it must be a file" in done.stderr and not (folder / "piped").exists(), f"{done.stderr}")


def test_interrupted(program, folder):
    """A signal left a hidden file in the folder."""
    make_images(folder, 4)
    os.mkfifo(folder / "pipe.png")
    for number in (signal.SIGINT, signal.SIGTERM):
        for words in (("stats", "--json"), ("hist", "--csv"), ("normalize", "-o", "out")):
            shutil.rmtree(folder / "state", ignore_errors=True)
            child = subprocess.Popen([program, *words, "--state", "state", "--shards", "2", "in/a/001.png", "pipe.png"],
                                     cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(child, lambda: list((folder / "state").glob(".shard-0002-*")))
            child.send_signal(number)
            check(child.wait() == 128 + number, f"{words}: exit status {child.returncode}")
            left = sorted(path.name for path in (folder / "state").iterdir())
            check(left[0] == "set" and len(left) == 2, f"{words}: {left}")


def test_interrupted_between_shards(program, folder):
    """While what is kept of a shard is printed: the status was 0 or 1, with shards left to do."""
    make_images(folder, 6)
    reader, writer = os.pipe()
    fill(writer)
    words = [program, "normalize", "--json", "--recursive", "--state", "state", "--shards", "3", "in", "-o", "out"]
    with subprocess.Popen(words, cwd=folder, env=environment(), stdout=writer, stderr=subprocess.PIPE) as child:
        wait_until(child, lambda: (folder / "state/shard-0001-of-0003.done").exists())
        child.send_signal(signal.SIGTERM)
        _, said = child.communicate(timeout=LIMIT)
    os.close(writer)
    os.close(reader)
    check(child.returncode == 128 + signal.SIGTERM, f"exit status {child.returncode}: {said!r}")
    check(sorted(path.name for path in (folder / "state").iterdir()) == ["set", "shard-0001-of-0003.done"], "one shard")
    run(program, *words[1:], cwd=folder, status=1)  # one of the images is damaged
    check(len(tree(folder / "out")) == 5, f"{sorted(tree(folder / 'out'))}")


def test_killed_at_any_time(program, folder):
    """kill -9 at random moments, two processes at once, until all is done: outputs and texts as of one process."""
    make_images(folder)
    run(program, "equalize", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    whole = tree(folder / "whole")
    words = [program, "equalize", "--recursive", "--state", "state", "--shards", "12", "in", "-o", "out"]
    moments, killed, rounds = random.Random(7), 0, 0
    while killed < 20 and rounds < 300:  # a fast machine is done before it is killed
        rounds += 1
        children = [subprocess.Popen(words, cwd=folder, env=environment(), stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL) for _ in range(2)]
        for child in children:
            try:
                child.wait(moments.random() * 0.06)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                killed += child.wait() == -signal.SIGKILL
        kept = sorted((folder / "state").glob("*.done"))
        for path in kept[:1]:  # as a disk may leave it after a power cut
            path.write_bytes(path.read_bytes()[:-5])
        for path in kept[6:]:  # so that there is something left to do
            path.unlink()
            for output in list((folder / "out").rglob("*.png"))[::9]:
                output.unlink()
    check(killed > 5, f"{killed} processes were killed")
    for path in (folder / "state").glob("*.done"):  # outputs are gone that these say are there
        path.unlink()
    done = run(program, *words[1:], cwd=folder, status=1)
    now = {name: data for name, data in tree(folder / "out").items() if not name.rpartition("/")[2].startswith(".")}
    check(now == whole, f"outputs after {killed} kills: {set(now) ^ set(whole)}")
    check(b", 6 failed" in done.stderr.splitlines()[-1], f"the sum: {done.stderr[-200:]!r}")


def test_twice_at_once(program, folder):
    """Processes that do the same shards at the same time disturb nobody."""
    make_images(folder)
    run(program, "equalize", "--recursive", "in", "-o", "whole/", cwd=folder, status=1)
    words = [program, "equalize", "--recursive", "--state", "state", "--shards", "4", "in", "-o", "out"]
    children = [subprocess.Popen(words, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for _ in range(4)]
    for child in children:
        _, said = child.communicate()
        check(child.returncode == 1 and b", 6 failed" in said.splitlines()[-1] and b"exists already" not in said,
              f"one of four: {child.returncode}, {said[-300:]!r}")
    check(tree(folder / "out") == tree(folder / "whole"), "outputs of four processes")
    check(sorted(path.name for path in (folder / "state").iterdir()) ==
          ["set", *(f"shard-{k:04}-of-0004.done" for k in range(1, 5))], "no other file is left")


if __name__ == "__main__":
    main(globals())
