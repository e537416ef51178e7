"""The documents of the project: README.md and the pages below docs/, and the code blocks in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
TUTORIAL = ROOT / "docs" / "tutorial.md"  # its commands belong together and have a test of their own
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page != TUTORIAL)


def blocks(language: str) -> list[str]:
    """The distinct code blocks of one language in all documents; README's first."""
    return list(dict.fromkeys(blocks_of(TEXT, language)))


def blocks_of(text: str, language: str) -> list[str]:
    """The code blocks of one language in a text."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
