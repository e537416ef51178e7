"""The pages of the documentation and the report of experiments in a browser: no fault of accessibility, no overflow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import axe, served_files
from helpers.documents import ROOT

pytestmark = pytest.mark.slow
PAGES = ("docs/index", "docs/serving", "docs/systems/elo-mmr", "search")
REPORT = ROOT / "docs" / "_static"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few pages of the documentation; links to the others are missing."""
    pytest.importorskip("furo")
    pytest.importorskip("myst_nb")
    made = tmp_path_factory.mktemp("docs")
    pages = ",".join(f"{name}.md" for name in PAGES if name != "search")
    options = ("-D", f"include_patterns={pages}", "-D", "example_site=0", "-D", "nb_execution_mode=off")
    command = [sys.executable, "-m", "sphinx", "-q", "-c", "docs", *options, ".", str(made)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return made


def test_docs__have_no_faults_of_accessibility_and_no_overflow(site: Path, browser: Any) -> None:
    with served_files(site) as address:
        for name, scheme in [*((name, "light") for name in PAGES), ("docs/serving", "dark")]:
            page = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 800}).new_page()
            page.goto(f"{address}{name}.html")
            assert axe(page) == [], name
            for width in (390, 1010, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            page.context.close()


def test_report__has_no_faults_of_accessibility(browser: Any) -> None:
    with served_files(REPORT) as address:
        page = browser.new_context(viewport={"width": 1000, "height": 800}).new_page()
        page.goto(f"{address}experiments.html")
        assert axe(page) == []
        page.context.close()
