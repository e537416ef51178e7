"""The form of the preview page: standings as text, in any form that people paste."""

from __future__ import annotations

import io
import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from ..answers.run import PublishedRun
from ..common.finite import finite_rows
from ..common.text import quoted
from ..sources.absences import is_absence
from ..sources.base import SourceError
from .messages.problems import Problem
from .previews import MOST_PREVIEWED, Placed, Previews, standings_of

if TYPE_CHECKING:
    from ..preview.standings import Standings

_MOST_FIELDS = 10
_PARTS = re.compile(rb"(?s)(?:%[0-9A-Fa-f]{2}|.){1,65536}")  # no escape is cut
_PLACED = re.compile(r"(?:=|[Tt]-?)?(\d{1,9})(?:[.):=]|st|nd|rd|th)?\s+(\S.*)").fullmatch
_REMEDY = "leave such participants out, or enter their names among the entrants, who share the last place"
_TABLE = re.compile(r"[\t,;|]")


FORM = {"standings": "", "entrants": "", "teams": False, "rows": None, "error": "", "notes": ()}
"""The template ``preview`` without a preview."""


def read_form(body: bytes) -> dict[str, Any]:
    """``standings, entrants, teams`` of the form in the body of a request, ``application/x-www-form-urlencoded``.

    Raises Problem: the body is no such form.
    """
    try:
        if not body.isascii() or body.count(b"&") >= _MOST_FIELDS:
            raise ValueError
        fields = {
            _unescaped(name): _unescaped(text) for name, _, text in (one.partition(b"=") for one in body.split(b"&"))
        }
    except ValueError:
        raise Problem(400, "the body must be a form with the field `standings`") from None
    return {name: fields.get(name, "") for name in ("standings", "entrants")} | {"teams": "teams" in fields}


def _unescaped(field: bytes) -> str:
    """A name or a text of a form, in parts: the standard library takes 240 bytes for each escape at a time."""
    return b"".join(map(unquote_to_bytes, _PARTS.findall(field.replace(b"+", b" ")))).decode()


def changes(previews: Previews, run: PublishedRun, form: Mapping[str, Any]) -> dict[str, Any]:
    """The preview of a form: ``rows``, a list for each column, and ``notes``; raises as :meth:`Previews.preview`."""
    found = previews.preview(run, lambda: read_standings(**form))
    return {"rows": finite_rows(found.table()).to_pydict(), "notes": found.notes}


def read_standings(standings: str, entrants: str, teams: bool = False) -> Standings:
    """The standings of a text: names best first, one a line, with or without places; a table; or JSON of a contest.

    A text whose first line has a tab, comma, semicolon or bar is a table with a header, as ``ranklake preview`` reads
    it. Names have places if each line begins with one.

    ``entrants``: names of all entrants, one a line.
    ``teams``: the column ``team`` of a table names the team of each row.
    Raises Problem: there is no name, the table has a fault, or there are too many participants.
    Raises ValueError: a player is listed twice, a place is below 1, or a participant has none.
    """
    first, waiting = next(_lines(standings), ""), _few(_lines(entrants))
    if not first:
        raise Problem(400, "the standings are empty: enter at least one name")
    if first.startswith(("{", "[")) or _TABLE.search(first):
        found = _from_file(standings, waiting, teams)
    else:
        found = standings_of(_places(_few(_lines(standings))), waiting)
    if len(found) > MOST_PREVIEWED:
        raise Problem(413, f"a preview takes at most {MOST_PREVIEWED:,} participants")
    return found


def _lines(text: str) -> Iterator[str]:
    """The lines that are not empty, one at a time: a text of 8 MiB may have four million."""
    pieces = (line for part in io.StringIO(text, newline=None) for line in part.splitlines())
    return filter(None, map(str.strip, pieces))


def _few(lines: Iterator[str]) -> list[str]:
    found = list(itertools.islice(lines, MOST_PREVIEWED + 1))
    if len(found) > MOST_PREVIEWED:
        raise Problem(413, f"a preview takes at most {MOST_PREVIEWED:,} participants")
    return found


def _places(lines: Sequence[str]) -> list[Placed]:
    """Names with their places; without places the first line is the best.

    Raises ValueError: some lines begin with a place, and all others with a word such as ``DNF``.
    """
    placed = [_PLACED(line) for line in lines]
    if all(placed):
        return [Placed(found[2], int(found[1])) for found in placed if found]
    if any(placed) and all(found or is_absence(line.split()[0]) for found, line in zip(placed, lines, strict=True)):
        at = placed.index(None)
        raise ValueError(f"line {at + 1}: {quoted(lines[at])} has no place; {_REMEDY}")
    return [Placed(line, place) for place, line in enumerate(lines, 1)]


def _from_file(text: str, entrants: Sequence[str], teams: bool) -> Standings:
    from ..preview.reading import standings_from_file
    from ..sources.options import ReadOptions

    with tempfile.TemporaryDirectory(prefix="ranklake-preview-") as folder:
        path = Path(folder) / f"standings.{'json' if text.lstrip().startswith(('{', '[')) else 'csv'}"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            columns = ["team=team"] if teams and path.suffix == ".csv" else []
            return standings_from_file(path, ReadOptions.parse(columns), entrants)
        except SourceError as error:
            text, *options = re.split("; (?:add )?--", str(error))  # options of the command
            text += f"; {_REMEDY}" if any(option.startswith("absent") for option in options) else ""
            text = text.replace(str(path), path.name)
            place = "the standings" if text.startswith(path.name) else ""
            raise Problem(400, place + text.removeprefix(path.name)) from None
