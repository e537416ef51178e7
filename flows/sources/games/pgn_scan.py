"""One line of PGN, character by character: for lines that are no plain tag, moves or comment.

Source: Portable Game Notation, Standard and Implementation Guide, 5 (commentary), 6 (escape), 7 (tokens)
and 8.1 (tags).
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Scanned", "TagPair", "scan_line"]

_COMMENT_OR_BLANK = re.compile(rb"\s+|\{[^}]*\}")
_TAG = re.compile(rb'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
# Many programs do not escape quotation marks. The length is bounded, or a line of brackets would take hours.
_UNESCAPED_TAG = re.compile(rb'\[\s*(\w+)\s+"(.{0,300}?)"\s*\](?=\s*(?:$|[\[{;]))')
_COMMAND = re.compile(rb"\[%[^\]]*\]?")  # such as [%clk 0:03:00], which belongs into a comment
_BROKEN_TAG = re.compile(rb"\[[^\]]*\]?")
_WITHOUT_BRACKET = re.compile(rb'\s*"?\w+\s+"[^"]*"\s*\]\s*$')
_MOVES = re.compile(rb"[^\s{;\[]+")
_ESCAPED = re.compile(rb'\\(["\\])')


class TagPair(NamedTuple):
    """A tag, and whether moves or a result precede it in its line, after the tag before."""

    name: bytes
    value: bytes
    after_moves: bool


class Scanned(NamedTuple):
    """The parts of a line.

    ``in_comment`` is true if a comment is open at its end, ``moves`` if there are moves or a result after the last tag,
    and ``damaged`` is the first damaged tag, or empty.
    """

    in_comment: bool
    tags: list[TagPair]
    moves: bool
    damaged: bytes


def scan_line(line: bytes, in_comment: bool) -> Scanned:
    """The parts of a line that begins inside a comment or outside."""
    at, tags, moves, damaged = 0, list[TagPair](), False, b""
    if in_comment:
        at = line.find(b"}") + 1
        if not at:
            return Scanned(True, [], False, b"")
    elif line.startswith(b"%"):
        return Scanned(False, [], False, b"")
    elif _WITHOUT_BRACKET.match(line):
        return Scanned(False, [], False, line)
    while at < len(line):
        if match := _COMMENT_OR_BLANK.match(line, at):
            pass
        elif line[at] == ord("{"):
            return Scanned(True, tags, moves, damaged)
        elif line[at] == ord(";"):
            break
        elif match := _TAG.match(line, at) or _UNESCAPED_TAG.match(line, at):
            tags.append(TagPair(match[1], _ESCAPED.sub(rb"\1", match[2]), moves))
            moves = False
        elif match := _COMMAND.match(line, at) or _MOVES.match(line, at):
            moves = True
        else:
            match = _BROKEN_TAG.match(line, at)
            assert match is not None
            damaged = damaged or match[0]
        at = match.end()
    return Scanned(False, tags, moves, damaged)
