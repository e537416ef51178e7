"""Previews of contests for the server: of JSON, and of a form with standings as people paste them.

The state of a run is read at its first preview, and again after a publish.
"""

from __future__ import annotations

import io
import itertools
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import msgspec
import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.standings import places_from_ranks
from ranklake.storage import Lake, LakeError

from ..answers.kept import Kept
from ..answers.run import PublishedRun
from ..common.finite import finite_rows
from ..common.text import quoted
from ..common.times import parse_time
from ..http.server.problems import Problem
from ..sources.absences import is_absence
from ..sources.base import SourceError
from .messages.responses import Body, ManyRows, kept_bodies, render

if TYPE_CHECKING:
    from ..preview.preview import Preview
    from ..preview.run_preview import RunPreview
    from ..preview.standings import Standings

MOST_CACHED = 64 << 20  # bytes of previews
MOST_PREVIEWED = 50_000  # participants
MOST_STANDINGS = 8 << 20  # bytes of a request
_MOST_FIELDS = 10
_OVERHEAD = 4096  # bytes of a kept preview beside its table
_PARTS = re.compile(rb"(?s)(?:%[0-9A-Fa-f]{2}|.){1,65536}")  # no escape is cut
_PLACED = re.compile(r"(?:=|[Tt]-?)?(\d{1,9})(?:[.):=]|st|nd|rd|th)?\s+(\S.*)").fullmatch
_REMEDY = "leave such participants out, or enter their names among the entrants, who share the last place"
_TABLE = re.compile(r"[\t,;|]")
MOST_REPEATED = 20_000  # characters of standings that the page of their preview has again
FORM = {"standings": "", "entrants": "", "teams": False, "rows": None, "error": "", "notes": (), "long": False}
"""The template ``preview`` without a preview."""
_RULE = (
    "the body must be a JSON object with `standings`, a list of [handle, place] with places from 1; a team is [name, "
    "place, [member, ...]], perhaps with a list of shares; it may have `entrants`, a list of handles, `time_seconds`, "
    "`weight` and `precision`"
)


class Placed(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A row of standings: a participant, or a team with its members."""

    handle: str
    place: int
    members: list[str] | None = None
    shares: list[float] | None = None


class _Contest(msgspec.Struct, forbid_unknown_fields=True):
    standings: list[Placed]
    entrants: list[str] = []
    time_seconds: int | None = None
    weight: float = 1.0
    precision: float = 1.0


@dataclass(frozen=True, slots=True)
class KeptPreview:
    """The preview of a form: all rows, null for what is not finite, and what to know about the contest."""

    table: pa.Table
    notes: tuple[str, ...]


class Previews:
    """Previews; those of the same body, or of the same form, are kept."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._cache = lake, kept_bodies(MOST_CACHED)
        self._forms: Kept[KeptPreview] = Kept(MOST_CACHED, lambda kept: int(kept.table.nbytes) + _OVERHEAD, 1 / 4)
        self._states: dict[str, tuple[str, RunPreview]] = {}
        self._lock = threading.Lock()

    def answer(self, run: PublishedRun, data: bytes, encoding: str = "") -> Body:
        """The changes of all participants of a contest; raises Problem if it is invalid or cannot be rated.

        ``encoding``: as of :func:`.responses.encoding_for`.
        """
        key = ("preview", run.name, run.manifest.etag, blake2b(data, digest_size=16).digest())
        packed: Body | None = self._cache.get((*key, encoding))
        if packed is not None:
            return packed
        body: Body | None = self._cache.get((*key, ""))
        if body is None:
            found = self.preview(run, lambda: _read(data))
            facts = {"notes": list(found.notes)}
            body = render(ManyRows(found.table(), facts), "json", {"run": run.name, "version": run.manifest.etag})
            self._cache.put((*key, ""), body)
        packed = body.compressed(encoding)
        if packed is not body:
            self._cache.put((*key, encoding), packed)
        return packed

    def of_form(self, run: PublishedRun, form: Mapping[str, Any]) -> tuple[str, KeptPreview]:
        """The preview of a form, and the digest under which it is :meth:`kept`; raises as :meth:`preview`."""
        result = blake2b(msgspec.json.encode(form), digest_size=16).hexdigest()
        kept = self.kept(run, result)
        if kept is None:
            found = self.preview(run, lambda: read_standings(**form))
            kept = KeptPreview(finite_rows(found.table()), found.notes)
            self._forms.put((run.name, run.manifest.etag, result), kept)
        return result, kept

    def kept(self, run: PublishedRun, result: str) -> KeptPreview | None:
        """The preview of a form with a digest; None after a publish or a start, or if later ones took its memory."""
        return self._forms.get((run.name, run.manifest.etag, result))

    def preview(self, run: PublishedRun, standings: Callable[[], Standings]) -> Preview:
        """The changes of all participants; raises as :meth:`answer`. ``standings`` may raise ``ValueError``."""
        try:
            return self._state(run).preview(standings(), brand=run.brand)
        except LakeError as error:
            raise Problem(503, str(error)) from error
        except (ValueError, ArithmeticError) as error:
            raise Problem(400, str(error)) from error

    def _state(self, run: PublishedRun) -> RunPreview:
        """The run after its last round, as it was when its version was first previewed."""
        from ..preview.run_preview import RunPreview

        manifest = run.manifest
        with self._lock:
            version, state = self._states.get(run.name, ("", None))
            if state is None or version != manifest.etag:
                deviations = None if manifest.default_deviations else manifest.deviations
                state = RunPreview.open(self._lake, run.name, deviations, run.titles)
                self._states[run.name] = manifest.etag, state
            return state


def _read(data: bytes) -> Standings:
    """The standings of a body of JSON."""
    try:
        contest = msgspec.json.decode(data, type=_Contest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Problem(400, f"{_RULE}: {error}", rule=_RULE) from None
    placed = sum(1 if row.members is None else len(row.members) for row in contest.standings)
    _check_size(max(placed, len(contest.standings)) + len(contest.entrants))
    time = None if contest.time_seconds is None else parse_time(contest.time_seconds, "time_seconds")
    facts = {"time_seconds": time, "weight": contest.weight, "precision": contest.precision}
    return standings_of(contest.standings, contest.entrants, **facts)


def _check_size(participants: int) -> None:
    if participants > MOST_PREVIEWED:
        raise Problem(413, f"a preview takes at most {MOST_PREVIEWED:,} participants")


def standings_of(placed: Sequence[Placed], entrants: Sequence[str], **more: Any) -> Standings:
    """Standings of participants with places from 1, equal ones for a tie; raises as :meth:`Standings.of`."""
    from ..preview.standings import Standings

    if not all(1 <= row.place < 1 << 31 for row in placed):
        row = next(row for row in placed if not 1 <= row.place < 1 << 31)
        rule = f"places must be from 1 to 2,147,483,647, got {row.place} of {quoted(row.handle)}"
        raise ValueError(f"{rule}; leave out participants without a place, or list them as entrants")
    order, lo, hi = places_from_ranks([row.place for row in placed])
    rows = [placed[i] for i in order.tolist()]
    if all(row.members is None and row.shares is None for row in rows):
        return Standings.of([row.handle for row in rows], lo, hi, entrants=entrants, **more)
    from ..common.adapters import to_ragged
    from ..sources.files.reference import Rosters

    try:
        rosters = Rosters(rows, lambda rule, *_: SourceError(rule))
    except SourceError as error:
        raise ValueError(str(error)) from None
    teams = to_ragged(rosters.teams, np.array([0, len(rosters.members)]))
    lo, hi, names = np.repeat(lo, rosters.sizes), np.repeat(hi, rosters.sizes), rosters.teams.name.to_pylist()
    return Standings.of(rosters.members, lo, hi, entrants=entrants, teams=teams, team_names=names, **more)


def read_form(body: bytes) -> dict[str, Any]:
    """``standings, entrants, teams`` of a body ``application/x-www-form-urlencoded``; raises Problem if it is none."""
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


def read_standings(standings: str, entrants: str, teams: bool = False) -> Standings:
    """The standings of a text: names best first, one a line, with or without places; a table; or JSON of a contest.

    A text whose first line has a tab, comma, semicolon or bar is a table with a header, as ``ranklake preview`` reads
    it. Names have places if each line begins with one. ``teams``: the column ``team`` of a table names teams.

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
    _check_size(len(found))
    return found


def _lines(text: str) -> Iterator[str]:
    """The lines that are not empty, one at a time: a text of 8 MiB may have four million."""
    pieces = (line for part in io.StringIO(text, newline=None) for line in part.splitlines())
    return filter(None, map(str.strip, pieces))


def _few(lines: Iterator[str]) -> list[str]:
    found = list(itertools.islice(lines, MOST_PREVIEWED + 1))
    _check_size(len(found))
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
    from ..preview.standings import standings_from_file
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
