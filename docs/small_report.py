"""The report of all experiments for the site, in few bytes: docs/_static/experiments.html.

``ranklake experiment all --data reddit.tar.xz -o reports`` makes the report. ``python docs/small_report.py
reports/all.html`` writes it again with the first figure of each experiment, and with the first rows of long tables.
"""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path

from ranklake.flows.plotting.figures import rounded

PAGE = Path(__file__).resolve().parent / "_static" / "experiments.html"
ROWS = 12  # of a table
_FIGURE = re.compile(r"<figure>.*?</figure>\n?", re.DOTALL)
_IMAGE = re.compile(r'src="data:image/svg\+xml;base64,([^"]*)"')


def shrink(page: str) -> str:
    """The report with less of each experiment."""
    first, *sections = re.split(r"(?=<h2 id=)", page)
    return first + "".join(map(_section, sections))


def _section(section: str) -> str:
    drawn = False

    def figure(found: re.Match[str]) -> str:
        nonlocal drawn
        if not _IMAGE.search(found[0]):
            return _table(found[0])
        if drawn:
            return ""
        drawn = True
        return _IMAGE.sub(_image, found[0])

    return _FIGURE.sub(figure, section)


def _image(found: re.Match[str]) -> str:
    """A figure with coordinates to a tenth of a point, on few lines."""
    svg = base64.b64decode(found[1]).decode("utf-8")
    svg = re.sub(r" \n|\n(?=[LMz])", " ", rounded(svg, 1))
    return f'src="data:image/svg+xml;base64,{base64.b64encode(svg.encode("utf-8")).decode("ascii")}"'


def _table(figure: str) -> str:
    """A table without its later rows, and without the name of its file."""
    rows = figure.count("<tr>") - 1
    figure = re.sub(r" <small>[^<]*</small>", f" <small>first {ROWS} of {rows:,} rows</small>" * (rows > ROWS), figure)
    head, *lines = re.split(r"(?=<tr><td)", figure)
    tail = lines[-1].partition("</tr>")[2] if lines else ""
    kept = [line.partition("</tr>")[0] + "</tr>\n" for line in lines[:ROWS]]
    return head + "".join(kept) + tail.lstrip("\n")


if __name__ == "__main__":
    PAGE.write_text(shrink(Path(sys.argv[1]).read_text("utf-8")), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE}: {PAGE.stat().st_size:,} bytes")
