# SPDX-License-Identifier: MIT
"""docs/python.md and docs/migrate.md say what is true: their examples run, the recipes make the record of one process.
The pictures of the documents are what docs/pictures/make.py draws."""
import doctest
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import imgstat

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
if not DOCS.is_dir():
    pytest.skip("the documents are not here", allow_module_level=True)


@pytest.mark.parametrize("name", ["python", "migrate"])
def test_examples_of_the_page_are_true(name, testdata, tmp_path, monkeypatch):
    pytest.importorskip("numpy", "1.24")
    if name == "migrate":
        pytest.importorskip("cv2")
        pytest.importorskip("skimage")
    shutil.copytree(testdata, tmp_path / "testdata")
    monkeypatch.chdir(tmp_path / "testdata")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    page = tmp_path / f"{name}.md"  # doctest takes a fence for output
    lines = (DOCS / page.name).read_text().splitlines(True)
    page.write_text("".join(line for line in lines if line[:3] != "```"))
    found = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert found.attempted > 8 and found.failed == 0


def images(testdata, folder):
    names = []
    for i in range(12):
        names.append(folder / f"{i:02}.tif")
        shutil.copy(testdata / ("photo.tif" if i % 2 else "good-rgb.png"), names[-1])
    return [str(name) for name in names]


@pytest.mark.parametrize("name", ["futures", "dask", "ray"])
def test_recipes_make_one_record(name, testdata, tmp_path, is_small):
    if name != "futures" and is_small:
        pytest.skip("engines are the same for every build")
    if name != "futures":
        pytest.importorskip("dask.distributed" if name == "dask" else "ray")
    names = images(testdata, tmp_path)
    recipe = DOCS / "examples" / f"records_{name}.py"
    done = subprocess.run([sys.executable, str(recipe), str(tmp_path / "set.rec"), *names], check=False, timeout=300,
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = imgstat.Record.load(tmp_path / "set.rec")
    assert record == imgstat.Record.merge(imgstat.Record.of(name) for name in reversed(names))
    assert record.files == 12
    assert "imgstat.Stats(count=" in done.stdout


def test_pictures_are_drawn_again(tmp_path):
    pytest.importorskip("numpy")
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    subprocess.run([sys.executable, str(DOCS / "pictures" / "make.py"), str(tmp_path)], check=True, env=environment)
    made = sorted(path.name for path in tmp_path.iterdir())
    kept = {path.name for path in (DOCS / "pictures").glob("*.png")} | {"histogram.svg", "photo.svg"}
    assert made and set(made) == kept - {"report.png"}  # which a browser makes; the ladder has pictures of its own
    for name in made:
        assert (tmp_path / name).read_bytes() == (DOCS / "pictures" / name).read_bytes(), name


def test_the_lines_of_the_readme_run():
    np = pytest.importorskip("numpy")
    lines = (DOCS.parent / "README.md").read_text().split("```python\n")[1].split("```")[0]  # what a reader types
    lines += "print(s.percentiles[99], x.max(), r.count)\n"
    done = subprocess.run([sys.executable, "-c", lines], cwd=DOCS.parent, capture_output=True, text=True, check=False)
    with imgstat.open(DOCS.parent / "testdata" / "photo.tif") as file:
        red = file.read()[..., 0]
    assert done.stdout.split() == [str(np.percentile(red, 99)), "255", str(2 * red.size)], done.stderr
