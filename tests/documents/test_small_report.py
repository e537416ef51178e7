"""The report of all experiments on the site: complete, self-contained and small."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import pytest
import small_report
from helpers.documents import page

from ranklake.flows.experiments import EXPERIMENTS

TEXT = small_report.PAGE.read_text("utf-8")


def test_small_report__has_a_section_for_every_experiment_and_leads_to_it() -> None:
    headings = dict(re.findall(r'<h2 id="(part-\d+)">([a-z-]+): ', TEXT))
    assert list(headings.values()) == [name for name in EXPERIMENTS if name != "all"]
    assert re.findall(r'<li><a href="#(part-\d+)">', TEXT) == list(headings)
    assert "_static/experiments.html" in page("experiments")
    for name in headings.values():
        (section,) = re.findall(rf'<h2 id="part-\d+">{name}: .*?(?=<h2|\Z)', TEXT, re.DOTALL)
        assert "Left out: " in section or "<p>Found: " in section, name
        assert "Left out: " in section or "<table>" in section, name
        assert section.count("<img") <= 1, name


def test_small_report__is_self_contained_and_small() -> None:
    assert len(TEXT.encode()) < 1_000_000
    images = re.findall(r'src="([^"]*)"', TEXT)
    assert len(images) > 15
    for image in images:
        kind, _, data = image.partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert len(list(ElementTree.fromstring(base64.b64decode(data)).iter())) > 50


@pytest.mark.parametrize("rows", [0, 1, small_report.ROWS, small_report.ROWS + 3])
def test_shrink__keeps_the_first_figure_and_the_first_rows(rows: int) -> None:
    svg = base64.b64encode(b"<svg>\n<path d='M 1.26 2.04 \nL 3.00 4.55 \nz'/><text>0.25</text></svg>").decode()
    image = f'<figure>\n<img src="data:image/svg+xml;base64,{svg}">\n</figure>\n'
    body = "".join(f"<tr><td>{i}</td></tr>\n" for i in range(rows))
    head = "<figure>\n<figcaption>c <small>f</small></figcaption><table>\n<thead><tr><th>h</th></tr></thead>\n<tbody>\n"
    table = f"{head}{body}</tbody>\n</table>\n</figure>\n"
    whole = f'<h1>t</h1>\n<h2 id="part-1">a</h2>\n{image}{image}{table}<h2 id="part-2">b</h2>\n{image}'
    small = small_report.shrink(whole)
    assert small.count("<img") == 2
    (first, _) = re.findall(r"base64,([^\"]*)", small)
    assert base64.b64decode(first) == b"<svg>\n<path d='M 1.3 2 L 3 4.5 z'/><text>0.25</text></svg>"
    assert re.findall(r"<td>(\d+)</td>", small) == [str(i) for i in range(min(rows, small_report.ROWS))]
    assert small.count("<tr>") == small.count("</tr>") == 1 + min(rows, small_report.ROWS)
    assert ("first 12 of 15 rows" in small) == (rows > small_report.ROWS)
    assert small.count("</tbody>") == small.count("</table>") == 1
