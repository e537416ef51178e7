"""The example of the documents: its pictures are what the product draws, and its site is complete."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import example
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("jinja2")
    return example.make_lake(tmp_path_factory.mktemp("example"))


def test_pictures__are_what_the_product_draws(lake: str) -> None:
    """``python docs/example.py`` writes the files again."""
    for name, drawn in example.pictures(lake).items():
        assert (example.FOLDER / name).read_text("utf-8") == drawn, name
        ElementTree.fromstring(drawn)
        assert "@media" not in drawn
        addresses = set(re.findall(r"https?://[^\"')\s<]*", drawn))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name


def test_site__has_the_drivers_by_their_names(lake: str, tmp_path: Path) -> None:
    example.write_site(lake, tmp_path / "site")
    home = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "Formula One, 1950 to 1957" in home
    assert "Juan Manuel Fangio" in home
