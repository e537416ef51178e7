"""Mend what readers without a mouse or a screen miss in the pages of the theme: levels, names, a way to scroll."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_MENDED = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    ('\n<div id="search-results"></div>', '\n<h1>Search</h1>\n<div id="search-results"></div>'),
    ("<pre><span></span>", '<pre tabindex="0"><span></span>'),  # a long line scrolls, also by the arrow keys
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
)
_MATHS = re.compile(r'<div class="math')


def mend(page: str) -> str:
    """The HTML of a page, mended; a page is mended once."""
    for found, better in _MENDED:
        page = page.replace(found, better)
    return _MATHS.sub('<div tabindex="0" class="math', page)


def _mend_pages(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    for name in sorted(app.env.found_docs | set(app.config.html_additional_pages) | {"search", "genindex"}):
        path = Path(app.outdir) / f"{name}.html"
        if path.exists():
            path.write_text(mend(path.read_text("utf-8")), encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Mend all pages when they are written."""
    app.connect("build-finished", _mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
