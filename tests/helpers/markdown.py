"""Markdown as a reader sees it."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKUP = {"html_inline", "html_block", "link_open", "image", "strong_open", "em_open", "code_inline", "s_open"}


def read(page: str) -> list[Token]:
    """All that a reader makes of a page, one after the other."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    return [part for token in tokens for part in (token, *(token.children or ()))]


def texts(page: str) -> list[str]:
    """What stands in each cell, heading and item."""
    return [
        "".join(part.content for part in token.children or ())
        for token in MarkdownIt("commonmark").enable("table").parse(page)
        if token.type == "inline"
    ]
