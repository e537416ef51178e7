"""Lines of PGN as tags, block by block: Arrow and NumPy read plain lines, and the others are read one by one.

A line is inside a comment if the last brace before it opens one. A plain line of moves decides that by its own last
brace, and a plain tag does not change it. So the lines of a block are independent, except those that need
:func:`.pgn_scan.scan_line`: several tags in a line, indented or damaged tags, and brackets or semicolons outside of a
comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...common.text import quoted
from ..columns import Bools, Longs
from .batch import GamesReport

_TAG = r'^\[(?P<name>\w+)[ \t]+"(?P<value>[^"\\]*)"\s*\]\s*$'
_UNPLAIN = r"(?:^|\})[^{]*(?:\[(?:[^%]|$)|;)"  # a bracket or a semicolon that may be outside of a comment
_WITHOUT_BRACKET = r'^\s*"?\w+\s+"[^"]*"\s*\]\s*$'
_MOVES = r"^\s*(?:\{[^}]*\}\s*)*[^\s{]"
_MOVES_AFTER_COMMENT = r"^[^}]*\}\s*(?:\{[^}]*\}\s*)*[^\s{]"
_OPEN, _CLOSE, _NO_CHANGE = 1, 0, -1  # what a line does to the comment


class Tags(NamedTuple):
    """Tags in order: names and values as bytes, lines from 1, and whether moves or a result precede each one."""

    name: pa.BinaryArray
    value: pa.BinaryArray
    line: Longs
    after_moves: Bools


class _Text(NamedTuple):
    """The bytes of lines, and where each begins and ends."""

    data: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]

    @classmethod
    def of(cls, lines: pa.BinaryArray) -> _Text:
        _, offsets, data = lines.buffers()
        bounds = np.frombuffer(offsets, np.int32, len(lines) + 1, offset=4 * lines.offset)
        return cls(np.frombuffer(data or b"", np.uint8), bounds[:-1], bounds[1:])

    def at(self, position: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """The byte at a position of each line; 0 if the line has none there."""
        inside = (position >= self.start) & (position < self.end)
        found = np.zeros(len(position), np.uint8)
        found[inside] = self.data[position[inside]]
        return found

    def last_braces(self) -> npt.NDArray[np.int8]:
        """What the last brace of each line does to the comment."""
        braces = np.flatnonzero((self.data == ord("{")) | (self.data == ord("}")))
        effect = np.full(len(self.start), _NO_CHANGE, np.int8)
        if len(braces):
            last = braces[np.maximum(np.searchsorted(braces, self.end) - 1, 0)]
            there = (last >= self.start) & (last < self.end)
            effect[there] = self.data[last[there]] == ord("{")
        return effect


@dataclass
class PgnLines:
    """The state between blocks of lines: where in the file, in a comment or not, after moves or not."""

    report: GamesReport
    source: str
    n_lines: int = 0
    in_comment: bool = False
    after_moves: bool = False
    _opened: int = field(default=0, repr=False)  # line of the last comment

    def read(self, lines: pa.BinaryArray) -> Tags:
        """The tags of the next lines; the report gets damaged ones, and those inside comments."""
        text = _Text.of(lines)
        first, second = text.at(text.start), text.at(text.start + 1)
        bracket = (first == ord("[")) & (second != ord("%"))
        at = np.flatnonzero(bracket)
        found = pc.extract_regex(lines.take(pa.array(at)), _TAG)
        valid = found.is_valid().to_numpy(zero_copy_only=False)
        tag, moves = np.zeros(len(lines), bool), (first != 0) & ~bracket & (first != ord("%"))
        tag[at[valid]] = True
        effect = text.last_braces()
        odd = bracket & ~tag | (effect != _NO_CHANGE) & (tag | (first == ord("%")))
        odd |= _matching(lines, moves, _UNPLAIN)
        odd |= _matching(lines, moves & (text.at(text.end - 1) == ord("]")), _WITHOUT_BRACKET)
        scanned, inside = self._comments(lines, odd, effect)
        if (hidden := tag & inside).any():
            where = f"{self.source}, line {self.n_lines + int(np.argmax(hidden)) + 1}"
            self.report.note("tag", "in comments, read as text", int(np.count_nonzero(hidden)), where)
        plain = tag & ~odd & ~inside
        moved = self._moves(lines, moves & ~odd, first, inside)
        for line, one in scanned.items():
            moved[line] = one.moves
            if one.damaged:
                example = f"line {self.n_lines + line + 1}: {quoted(one.damaged.decode('utf-8', 'replace'))}"
                self.report.note("damaged tag", "not read", 1, f"{self.source}, {example}")
        kept = plain[at[valid]]
        names, values = (found.filter(pa.array(valid)).field(key).filter(pa.array(kept)) for key in ("name", "value"))
        return self._in_order(names, values, np.flatnonzero(plain), scanned, moved)

    def finish(self) -> None:
        """Note a comment that is open at the end of the file."""
        if self.in_comment:
            self.report.note("comment", "without an end", 1, f"{self.source}, line {self._opened}")

    def _comments(
        self, lines: pa.BinaryArray, odd: Bools, effect: npt.NDArray[np.int8]
    ) -> tuple[dict[int, Scanned], Bools]:
        """The odd lines, scanned, and whether each line begins inside a comment; fills ``effect``."""
        effect[odd] = _NO_CHANGE
        number = np.arange(len(effect))
        change = np.maximum.accumulate(np.where(effect == _NO_CHANGE, -1, number))
        scanned: dict[int, Scanned] = {}
        before, state = -1, self.in_comment
        for line in np.flatnonzero(odd).tolist():
            if line and change[line - 1] > before:
                state = bool(effect[change[line - 1]])
            scanned[line] = scan_line(lines[line].as_py(), state)
            before, state = line, scanned[line].in_comment
            effect[line] = state
        change = np.maximum.accumulate(np.where(effect == _NO_CHANGE, -1, number))
        after = np.where(change < 0, self.in_comment, effect[np.maximum(change, 0)] == _OPEN)
        inside = np.concatenate([[self.in_comment], after[:-1]])
        if len(after):
            self.in_comment = bool(after[-1])
            if change[-1] >= 0:
                self._opened = self.n_lines + int(change[-1]) + 1
        return scanned, inside

    @staticmethod
    def _moves(lines: pa.BinaryArray, moves: Bools, first: npt.NDArray[np.uint8], inside: Bools) -> Bools:
        """The plain lines that have moves or a result outside of comments."""
        unclear = (first == ord("{")) | (first <= ord(" "))
        found = _matching(lines, moves & inside, _MOVES_AFTER_COMMENT)
        found |= moves & ~inside & ~unclear
        found |= _matching(lines, moves & ~inside & unclear, _MOVES)
        return found

    def _in_order(
        self, names: pa.BinaryArray, values: pa.BinaryArray, line: Longs, scanned: dict[int, Scanned], moved: Bools
    ) -> Tags:
        """Plain tags and those of scanned lines in order; moves on to the next block."""
        more = [(number, tag) for number, one in scanned.items() for tag in one.tags]
        after = np.zeros(len(line), bool)
        if more:
            names = pa.concat_arrays([names, pa.array([tag.name for _, tag in more], pa.binary())])
            values = pa.concat_arrays([values, pa.array([tag.value for _, tag in more], pa.binary())])
            line = np.concatenate([line, [number for number, _ in more]])
            after = np.concatenate([after, [tag.after_moves for _, tag in more]])
            order = np.argsort(line, kind="stable")
            names, values, line, after = (
                names.take(pa.array(order)),
                values.take(pa.array(order)),
                line[order],
                after[order],
            )
        n_moved = np.concatenate([[0], np.cumsum(moved)])  # lines of moves before each line
        last = np.concatenate([[0], line[:-1]])
        if len(line):
            after = after | (n_moved[line] > n_moved[last])
            after[0] |= self.after_moves
        self.after_moves = bool(moved[line[-1] :].any()) if len(line) else self.after_moves or bool(moved.any())
        tags = Tags(names, values, self.n_lines + line + 1, after)
        self.n_lines += len(moved)
        return tags


def _matching(lines: pa.BinaryArray, among: Bools, pattern: str) -> Bools:
    """Which of some lines match a pattern."""
    at = np.flatnonzero(among)
    found = np.zeros(len(lines), bool)
    if len(at):
        chosen = lines if len(at) == len(lines) else lines.take(pa.array(at))
        found[at] = pc.match_substring_regex(chosen, pattern).to_numpy(zero_copy_only=False)
    return found


_COMMENT_OR_BLANK = re.compile(rb"\s+|\{[^}]*\}")
_ONE_TAG = re.compile(rb'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
# Many programs do not escape quotation marks. The length is bounded, or a line of brackets would take hours.
_UNESCAPED_TAG = re.compile(rb'\[\s*(\w+)\s+"(.{0,300}?)"\s*\](?=\s*(?:$|[\[{;]))')
_COMMAND = re.compile(rb"\[%[^\]]*\]?")  # such as [%clk 0:03:00], which belongs into a comment
_BROKEN_TAG = re.compile(rb"\[[^\]]*\]?")
_NO_BRACKET = re.compile(rb'\s*"?\w+\s+"[^"]*"\s*\]\s*$')
_SOME_MOVES = re.compile(rb"[^\s{;\[]+")
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
    elif _NO_BRACKET.match(line):
        return Scanned(False, [], False, line)
    while at < len(line):
        if match := _COMMENT_OR_BLANK.match(line, at):
            pass
        elif line[at] == ord("{"):
            return Scanned(True, tags, moves, damaged)
        elif line[at] == ord(";"):
            break
        elif match := _ONE_TAG.match(line, at) or _UNESCAPED_TAG.match(line, at):
            tags.append(TagPair(match[1], _ESCAPED.sub(rb"\1", match[2]), moves))
            moves = False
        elif match := _COMMAND.match(line, at) or _SOME_MOVES.match(line, at):
            moves = True
        else:
            match = _BROKEN_TAG.match(line, at)
            assert match is not None
            damaged = damaged or match[0]
        at = match.end()
    return Scanned(False, tags, moves, damaged)
