"""The documents of the project: README.md and the pages below docs/, and the code blocks in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
TUTORIAL = ROOT / "docs" / "tutorial.md"  # its commands belong together and have a test of their own
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page != TUTORIAL)

Follow: TypeAlias = Callable[..., list[str]]  # runs commands of a text; what each printed


def blocks(language: str) -> list[str]:
    """The distinct code blocks of one language in all documents; README's first."""
    return list(dict.fromkeys(blocks_of(TEXT, language)))


def blocks_of(text: str, language: str) -> list[str]:
    """The code blocks of one language in a text."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def rows(printed: str) -> str:
    """What was printed without lines of tables, with single blanks."""
    return "\n".join(re.sub(r"[│┃\s]+", " ", line).strip() for line in printed.splitlines())


def page(name: str) -> str:
    """The text of a page below docs/."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def block_of(name: str, language: str, containing: str = "") -> str:
    """The only code block of one language in a page, or of those that contain a text."""
    (block,) = (block for block in blocks_of(page(name), language) if containing in block)
    return block
