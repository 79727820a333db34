# SPDX-License-Identifier: MIT
"""What Jupyter shows: well-formed, small, with the numbers of the object."""
import array
import random
import xml.etree.ElementTree as ElementTree

import pytest

import imgstat


def picture(channels=1, code="B", height=40, width=50):
    source = random.Random(3)
    values = array.array(code, (source.randrange(250) for _ in range(height * width * channels)))
    shape = (height, width) if channels == 1 else (height, width, channels)
    return memoryview(values).cast("B").cast(code, shape)


def parsed(thing):
    html = thing._repr_html_()
    assert len(html) < 40000
    return ElementTree.fromstring(f"<div>{html}</div>")


@pytest.mark.parametrize("code, channels", [("B", 1), ("B", 3), ("B", 4), ("H", 2), ("f", 1), ("q", 1)])
def test_stats_are_a_table_and_a_drawing(code, channels):
    stats = imgstat.stats(picture(channels, code), bins=None if code in "BH" else 30)
    tree = parsed(stats)
    rows = tree.findall("table/tr")
    assert len(rows) == 1 + channels
    head = [cell.text for cell in rows[0]]
    means = stats.mean if channels > 1 else (stats.mean,)
    for i, row in enumerate(rows[1:]):
        cells = dict(zip(head, [cell.text for cell in row], strict=True))
        assert cells["channel"] == str(i) and cells["mean"] == f"{means[i]:.6g}" and cells["count"] == "2000"
        assert "nan" not in cells
    areas = [path for path in tree.iter("path") if path.get("fill-opacity")]
    assert len(areas) == channels
    assert all(path.get("d").startswith("M0,120L0,") and path.get("d").endswith("Z") for path in areas)


def test_what_was_not_measured_is_left_out():
    stats = imgstat.stats(picture(code="f"))
    tree = parsed(stats)
    assert tree.find(".//svg") is None
    assert "median" not in [cell.text for cell in tree.find("table/tr")]


def test_undefined_samples_are_shown():
    values = picture(code="f")
    values[0, 0] = float("nan")
    head = [cell.text for cell in parsed(imgstat.stats(values)).find("table/tr")]
    assert "nan" in head and "inf" not in head


def test_no_samples():
    tree = parsed(imgstat.stats(picture(), mask=memoryview(bytes(2000)).cast("B", (40, 50))))
    head, row = ([cell.text for cell in row] for row in tree.findall("table/tr"))
    cells = dict(zip(head, row, strict=True))
    assert cells["count"] == "0" and cells["masked"] == "2000"


def test_a_histogram_is_a_drawing():
    histogram = imgstat.histogram(picture(), bins=7)
    tree = parsed(histogram)
    texts = [text.text for text in tree.iter("text")]
    assert texts == [str(max(memoryview(histogram.counts).tolist())), *(f"{end:.6g}" for end in histogram.range)]
    outline = next(tree.iter("path")).get("d")
    assert outline.count("L") == 8 and outline.count("H") == 7
