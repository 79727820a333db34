#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program gives up what it does not need before it reads a byte of its inputs. usage: test_sandbox.py IMGSTAT"""

import os
import shutil
import subprocess
from pathlib import Path

import harness
from harness import TESTDATA, check, has, run, skip
from test_memory import is_sanitized

IMAGE = TESTDATA / "good-rgb.png"


def traced(program, *words, stdin=subprocess.DEVNULL):
    """System calls up to the end, in lines of strace."""
    run("strace", "-f", "-o", "calls.txt", program, *words, stdin=stdin)
    lines = Path("calls.txt").read_text(errors="replace").splitlines()
    Path("calls.txt").unlink()
    return lines


def is_possible(program):
    if is_sanitized(program):
        skip("a sanitizer looks at other processes: no sandbox")
        return False
    return has("strace")


def test_order(program, folder):
    """Inputs are decoded in the sandbox: before it only their first bytes are looked at, whether they are records."""
    if not is_possible(program):
        return
    os.chdir(folder)
    copy = folder / "image.png"
    shutil.copy(IMAGE, copy)
    calls = traced(program, "stats", "--device", "cpu", copy)
    opened = [i for i, call in enumerate(calls) if "image.png" in call and "openat(" in call and "O_PATH" not in call]
    filters = [i for i, call in enumerate(calls) if "SECCOMP" in call]
    rules = [i for i, call in enumerate(calls) if "landlock_restrict_self" in call or "syscall_0x1be" in call]
    check(opened and filters and filters[0] < opened[-1], f"seccomp: {filters}, opened: {opened}")
    if any("landlock_create_ruleset" in call and call.endswith("= -1 ENOSYS (Function not implemented)") for call in calls):
        skip("the kernel has no Landlock")
    else:
        check(rules and rules[0] < opened[-1], f"Landlock: {rules}, opened: {opened}")
    calls = traced(program, "stats", "--device", "cpu", "--no-sandbox", copy)
    check(not any("SECCOMP" in call or "NO_NEW_PRIVS" in call for call in calls), "--no-sandbox has a sandbox")


def test_writing(program, folder):
    """Outputs of every kind are written, beside the inputs and elsewhere."""
    os.chdir(folder)
    images = folder / "in"
    images.mkdir()
    for i in range(3):
        shutil.copy(IMAGE, images / f"{i}.png")
    cpu = ("--device", "cpu")
    os.symlink(images / "0.png", folder / "link.png")
    os.symlink(images, folder / "linked")
    for words in (("normalize", "in/0.png", "-o", "out.png"), ("normalize", "in", "-o", "new/deep/folder"),
                  ("normalize", "in", "-o", "in", "--force"), ("normalize", "link.png", "-o", "in/3.png"),
                  ("normalize", "linked", "-o", folder / "absolute"), ("equalize", "in/0.png", "-o", "link.png", "--force"),
                  ("normalize", "--together", "in", "--save-transfer", "t.json"), ("apply", "t.json", "in", "-o", "applied"),
                  ("normalize", "in", "-o", "reported", "--report", "r.html"), ("report", "in", "-o", "s.html"),
                  ("stats", "--by", "all", "--save-record", "a.rec", "in"), ("merge", "a.rec", "-o", "b.rec"),
                  ("hist", "in/0.png", "--plot", "p.svg"), ("compare", "in/0.png", "in/1.png"),
                  ("normalize", "--match", "in/1.png", "in/0.png", "-o", "m.png"),
                  ("stats", "--mask", "in/1.png", "in/0.png"), ("stats", "in/0.png[0]"),
                  ("stats", "--json", "--state", "kept", "--shards", 2, "in")):
        run(program, words[0], *(() if words[0] in ("report", "compare", "merge") else cpu), *words[1:])
    for name in ("out.png", "new/deep/folder/in/0.png", "t.json", "r.html", "s.html", "b.rec", "p.svg", "in/3.png"):
        check(Path(name).exists() or Path(name.replace("folder/in", "folder")).exists(), f"{name} was not written")
    check((folder / "link.png").is_symlink(), "an output that is a link is a file now")
    with open(IMAGE, "rb") as stdin:
        done = run(program, "normalize", *cpu, "-", "-o", "-", stdin=stdin)
    check(done.stdout[:4] == b"\x89PNG", f"standard output begins with {done.stdout[:4]}")
    done = subprocess.run(f"cat {IMAGE} | {program} stats --device cpu -", shell=True, capture_output=True, check=False)
    check(done.returncode == 0, f"a pipe: {done.stderr!r}")
    names = "\0".join(str(path) for path in sorted(images.iterdir()))
    (folder / "names").write_text(names + "\0")
    run(program, "stats", *cpu, "--files0-from", "names")


def test_pipes(program, folder):
    """Pipes beside the inputs, as <(command) and >(command) of shells make them: TMPDIR was refused for some, and realpath of a
    pipe failed."""
    os.chdir(folder)
    run(program, "stats", "--by", "all", "--quiet", "--save-record", "a.rec", IMAGE)
    run(program, "normalize", "--save-transfer", "t.json", IMAGE, "-o", "out.png")
    image = f"<(cat {IMAGE})"
    for words, copy in ((("stats", "--mask", image, IMAGE), None), (("normalize", "--match", image, IMAGE, "-o", "m.png"), None),
                        (("normalize", "--from", "<(cat a.rec)", IMAGE, "-o", "f.png"), "f.png"),
                        (("apply", "<(cat t.json)", image, "-o", "a.png"), "a.png"),
                        (("normalize", image, "-o", ">(cat > b.png)", "--save-transfer", ">(cat > t)"), None),
                        (("report", image, "-o", ">(cat > r.html)"), None)):
        line = " ".join(map(str, (program, words[0], *(() if words[0] == "report" else ("--device", "cpu")), *words[1:])))
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
        check((done.returncode, done.stderr) == (0, b""), f"{words}: {done.returncode} {done.stderr!r}")
        check(copy is None or Path(copy).read_bytes() == Path("out.png").read_bytes(), f"{words}: another output")


def test_what_is_refused(program, folder):
    """gdb stands for code that took the process over: it opens a file, a socket, a program."""
    if not is_possible(program) or not has("gdb"):
        return
    os.chdir(folder)
    (folder / "secret").write_text("secret")
    (folder / "inner").mkdir()
    shutil.copy(IMAGE, folder / "inner/image.png")
    asked = ('(long)open("secret", 0)', '(long)open("inner/image.png", 0)', '(long)open("inner/new", 66, 384)',
             "(long)socket(2, 1, 0)", '(long)execl("/bin/true", "true", 0)')
    for sandbox in True, False:
        done = subprocess.run(
            ["gdb", "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set breakpoint pending on",
             "-ex", "break imgstat_batch_measure", "-ex", "run",
             *[word for call in asked[:4 if not sandbox else 5] for word in ("-ex", f"print {call}")], "-ex", "kill", "--args",
             program, "stats", "--device", "cpu", *(() if sandbox else ("--no-sandbox",)), "inner/image.png"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, env=harness.environment())
        found = [line.split("= ")[1] for line in done.stdout.splitlines() if line.startswith("$")]
        if len(found) < 4:
            skip(f"gdb calls nothing here: {done.stderr[-100:]!r}")
            return
        wanted = [True, False, True, True, True] if sandbox else [False] * 4
        check([value == "-1" for value in found] == wanted, f"sandbox {sandbox}: {found}")


if __name__ == "__main__":
    harness.main(globals())
