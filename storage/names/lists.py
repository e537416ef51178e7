"""Lists of handles as one text, with commas between them."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["join_handles", "split_handles"]

# A handle in a list, after its comma: in quotation marks, doubled within, or without a comma.
_LISTED = re.compile(r'(?:^|,)\s*(?:("(?:[^"]|"")*")\s*(?=,|$)|([^,]*))')


def split_handles(text: str) -> list[str]:
    """The handles of a list with commas between them, without blanks around them; quotation marks stay."""
    found = ((quoted or bare).strip() for quoted, bare in _LISTED.findall(text))
    return [handle for handle in found if handle]


def join_handles(handles: Iterable[str]) -> str:
    """The list of handles from which the server finds them: one with a comma is in quotation marks."""
    return ", ".join(
        '"{}"'.format(handle.replace('"', '""')) if "," in handle or handle != handle.strip() else handle
        for handle in handles
    )
