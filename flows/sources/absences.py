"""Places and absences: what a value of a column of ranks or scores says, and which contests count places from 0.

A place is a number from 1; ``2=``, ``T2``, ``1st`` are places, too. Participants without a place have a blank, a word
such as ``DNF``, or a number below 1. Such a number would be better than every place, so no reader takes it for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..common.text import quoted
from .columns import Bools, Longs, as_numbers, decoded, is_blank, is_text

Absent = Literal["error", "last", "drop", "none"]

# Words of result lists: of motor and other races, athletics, swimming, golf; missing values of programs.
_WORDS = (
    "dnf", "dns", "dnq", "dnpq", "dnp", "dsq", "dq", "dqb", "dnc", "dnx", "wd", "w/d", "nc", "n/c", "ret", "rtd", "ab",
    "abs", "abd", "ex", "exc", "otl", "hd", "mc", "cut", "mdf", "nm", "nh", "np", "nr", "nt", "ns", "rr", "ro", "lap",
    "absent", "retired", "withdrawn", "withdrew", "disqualified", "excluded",
    "unclassified", "not classified", "did not finish", "did not start", "", "-", "--", "\u2013", "\u2014", "?", "\\n",
    "nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "none", "nil",
)  # fmt: skip
_LETTERS = ("r", "d", "e", "f", "n", "w")  # positions of the Ergast tables of Formula 1
_PLACE = r"(?i)^(?:[=#]|t-?)?\s*(\d+)\s*(?:st|nd|rd|th|er?|re|[eè]me|\.?[ºª°]|[.):])?\s*[=t]?$"
_NUMBER = re.compile(r"[+-]?\d{1,20}(\.\d{0,20})?").fullmatch
_SHOWN = 3  # values in a message


def as_places(column: pa.ChunkedArray, noun: str, source: str) -> tuple[npt.NDArray[Any], Bools, Bools]:
    """Values as numbers, a mask of the rows that say that there is none, and one of the rows that say neither. In a
    column of the key ``rank``, texts such as ``2=`` and ``1st`` are places.
    """
    column = decoded(column)
    values, missing = as_numbers(column, noun, source)
    if not (missing.any() and is_text(column.type)):
        return values, missing, np.isinf(values)
    text = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    words = pa.array((*_WORDS, *_LETTERS) if noun == "rank" else _WORDS, pa.large_string())
    plain = pc.utf8_lower(pc.replace_substring(text, ".", ""))  # D.N.F., and the point alone of statistics programs
    absent = is_blank(column) | pc.is_in(plain, value_set=words).to_numpy()
    text = pc.if_else(absent, None, text)  # null, so that whole numbers stay exact
    if noun == "rank":
        text = pc.replace_substring_regex(text, _PLACE, r"\1")
    values, missing = as_numbers(text, noun, source)
    return values, absent, (missing & ~absent) | np.isinf(values)


def is_absence(text: str) -> bool:
    """Whether a text says that a participant has no place, as ``DNF``."""
    return text.replace(".", "").lower() in _WORDS


def counts_from_zero(contest_of: Longs, rank: npt.NDArray[Any], without: Bools) -> bool:
    """Whether the ranks of a table are places from 0, and no rank below 1 says that there is no place.

    In every contest 0 is the best rank, and the next one is the number of participants with 0; there are two contests
    or more, at least one of three participants or more. One contest of 0, 1 and 2 may be two places and an absence.
    ``without`` masks the rows that do not count: those without a number, and all but the first of a team.
    """
    rows = np.flatnonzero(~without)
    contest, value = contest_of[rows], rank[rows]
    if not len(rows) or (value < 0).any():
        return False
    order = np.lexsort((value, contest))
    contest, value = contest[order], value[order]
    starts = np.flatnonzero(np.append(True, contest[1:] != contest[:-1]))
    sizes = np.diff(starts, append=len(contest))
    zeros = np.add.reduceat((value == 0).astype(np.int64), starts)
    alone = sizes == 1
    following = value[np.where(zeros < sizes, starts + zeros, starts)]
    consistent = (zeros > 0) & (alone | ((zeros < sizes) & (following == zeros)))
    return bool(consistent.all() and len(starts) > 1 and sizes.max() > 2)


def absences_in_words(values: Iterable[object]) -> str:
    """The values that say that there is no place, the most frequent first: ``'DNF', 'DSQ', empty``."""
    found = [value for value, _ in Counter(map(_in_words, values)).most_common()]
    return ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")


def remedy_for(frame: bool, numbers: bool) -> str:
    """What to do with participants without a place, in the words of the command or of Python; ``numbers`` if all have a
    number below 1, which may be a place.
    """
    last, drop, none = (f"absent='{one}'" if frame else f"--absent {one}" for one in ("last", "drop", "none"))
    every = f", {none} takes every number as a place" if numbers else ""
    return f"; {last} ties such participants behind all others, {drop} leaves them out{every}"


def counted_from_zero(frame: bool) -> str:
    """A note that the places of a column are read as counted from 0, in the words of the command or of Python."""
    none = "absent='none'" if frame else "--absent none"
    return f"places from 0, because every contest has 0 and the next one; {none} says so of any table"


def _in_words(value: object) -> str:
    """A value for a message; numbers as text have no quotes, whole numbers no point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = "" if value is None else str(value).strip()
    if not text:
        return "empty"
    return quoted(text) if isinstance(value, str) and not _NUMBER(text) else text
