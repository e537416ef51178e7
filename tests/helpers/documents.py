"""The documents of the project: README.md and the pages below docs/, and the code blocks in them."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PAGES", "README", "ROOT", "TEXT", "blocks"]

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def blocks(language: str) -> list[str]:
    """The distinct code blocks of one language in all documents; README's first."""
    found = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return list(dict.fromkeys(found))
