"""The states that are stored with published tables: they show which of their rows a run still has.

A state has digests. Those of prefixes of a growing sequence locate its first change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.lake.access.lake import digest_of_facts
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, OF_STRENGTHS, PUBLISHED

from ..problems.columns import OF_PROBLEMS
from ..results.titles import CODEFORCES
from .content import Content

_MEANING = 1  # increased by a release with other rows for the same rounds; all are then published again
_UNKNOWN = np.iinfo(np.int64).min
_LISTS = ("players", "contests")
MAX_DIGESTS = 2_048  # longer sequences have a digest every 2, 4, 8, ... rows
_DIGITS = 12  # hex digits of a digest

FURTHER = OF_ATTRIBUTES | OF_PROBLEMS | OF_STRENGTHS | OF_SEASONS
"""The tables that not every run has."""

State = Mapping[str, Any]
Rows = npt.NDArray[np.uint8]


class VersionedContent(Content):
    """The current state of a run, compared with those of published tables."""

    def state(self, name: str) -> dict[str, Any]:
        """The state to be stored with a table; equal ones have equal rows."""
        if name in _LISTS:
            return self._state_of_list(name, getattr(self, name).num_rows)
        if name == "problems":
            ratings = PrefixDigests.of(self._rounds[: len(self._results)], self._seed(0)).digests[-_DIGITS:]
            return {"digest": digest_of_facts([self.results_digest, ratings, self.aliases.to_pydict()])}
        if name in OF_STRENGTHS:
            ratings = PrefixDigests.of(self._rounds, self._seed(self.players.num_rows)).digests[-_DIGITS:]
            return {"digest": digest_of_facts([ratings, self.places.to_json()])}
        if name in OF_SEASONS:
            return {"digest": digest_of_rows(self.seasons)}
        if name == "results":
            n_players = self.players.num_rows
            return {"players": n_players, **asdict(PrefixDigests.of(self._results, self._seed_of_results(n_players)))}
        if name in OF_ATTRIBUTES:
            inputs: list[Any] = [self._digest("attributes", self.attributes.num_rows)]
            if name == "groups":
                inputs.append({key: value for key, value in self.state("leaderboard").items() if key != "titles"})
            return {"digest": digest_of_facts(inputs)}
        chosen = {} if self._deviations is None else {"deviations": self._deviations}
        smoothing = {"smoothing": self.smoothing.digest} if name == "ratings" else {}
        n_players, titles = self.players.num_rows, self.format.titles.to_json()
        places: dict[str, Any] = {"places": self.places.to_json()} if name == "leaderboard" else {}
        if places and self.pending:
            places["pending"] = self.pending
        if places and self._chosen_places:
            places["chosen_places"] = self._chosen_places
        return {"players": n_players, "titles": titles, **places, **smoothing, **chosen, **self._prefixes}

    def kept(self, name: str, state: State | None) -> tuple[int, int]:
        """Number of leading rows that are unchanged since a state, and of all then; of ratings and leaderboard rounds.

        Another smoothing changes all ratings, and no leaderboard.
        """
        rows = 0 if state is None else int(state.get("rows", 0))
        try:
            if state is None or (name == "ratings" and state.get("smoothing") != self.smoothing.digest):
                return 0, rows
            if name in _LISTS:
                return (rows if self._state_of_list(name, rows) == state else 0), rows
            inputs = self._results if name == "results" else self._rounds
            seed = (self._seed_of_results if name == "results" else self._seed)(int(state["players"]))
            return PrefixDigests.from_json(state).kept(inputs, seed), rows
        except (KeyError, TypeError, ValueError):  # written by another release
            return 0, rows

    def is_current(self, name: str, state: State | None, titles: bool = True) -> bool:
        """Whether a table with a state has all rows, of a leaderboard also with these ``titles``."""
        if name == "results":
            return state is not None and self.kept(name, state) == (len(self._results), len(self._results))
        if name not in ("ratings", "leaderboard"):
            return state == self.state(name)
        of_codeforces = CODEFORCES.name  # early releases stored none for these
        known = (state or {}).get("titles", of_codeforces) == self.format.titles.to_json()
        if name == "leaderboard" and (state or {}).get("places") != self.places.to_json():
            return False  # early releases stored none, and had no columns of places
        if name == "leaderboard" and (state or {}).get("pending", []) != self.pending:
            return False
        return (known or name == "ratings" or not titles) and self.kept(name, state) == (self.n_rounds, self.n_rounds)

    def _state_of_list(self, name: str, n_rows: int) -> dict[str, Any]:
        return {"rows": n_rows, "digest": self._digest(name, n_rows)}

    def _digest(self, name: str, n_rows: int) -> str:
        """Digest of the first rows of a table."""
        if (name, n_rows) not in self._digests:
            self._digests[name, n_rows] = digest_of_rows(getattr(self, name).slice(0, n_rows))
        return self._digests[name, n_rows]

    @cached_property
    def _digests(self) -> dict[tuple[str, int], str]:
        return {}

    @cached_property
    def _prefixes(self) -> dict[str, Any]:
        return asdict(PrefixDigests.of(self._rounds, self._seed(self.players.num_rows)))

    @cached_property
    def _rounds(self) -> Rows:
        """The inputs of the rows of each round: its digest, and its current time."""
        digests = bytes.fromhex("".join(self._run.round_digests(self._chain)))
        times = self._contests.column("time_seconds").fill_null(_UNKNOWN).to_numpy()
        return as_bytes(np.frombuffer(digests, np.uint8).reshape(self.n_rounds, -1), times)

    @cached_property
    def _results(self) -> Rows:
        """The inputs of the results of each round: their digest, and that of the standings; zeros without results.

        The last round is the last one with results.
        """
        found, _ = self.results_of_rounds
        there = found.any(axis=1) & ~self.contests.column("skipped").to_numpy()
        digests = self._contests.column("content_digest").slice(0, self.n_rounds).to_pylist()
        standings = np.frombuffer(bytes.fromhex("".join(digests)), np.uint8).reshape(self.n_rounds, -1)
        stop = int(np.flatnonzero(there).max(initial=-1)) + 1
        return np.where(there[:stop, None], as_bytes(found[:stop], standings[:stop]), np.uint8(0))

    def _seed_of_results(self, n_players: int) -> str:
        """The inputs of all results: which problems are the same, and the first ``n_players`` players."""
        return f"{_MEANING} {digest_of_facts(self.results_of_rounds[1])} {self._digest('players', n_players)}"

    def _seed(self, n_players: int) -> str:
        """The inputs of all rows: the display, and the first ``n_players`` players."""
        display = self.display
        minimum = "" if display.minimum == -math.inf else f" {display.minimum!r}"
        level = "" if display.shift is None else " steady"
        return f"{_MEANING} {display.deviations!r}{minimum}{level} {self._digest('players', n_players)}"


class Target(Protocol):
    """Tables of one run, each with the state that was stored with its rows: Delta tables, or those of a database."""

    def state(self, name: str) -> State | None:
        """The state of a table; None if there is none, or another program has changed the rows."""

    def has(self, name: str) -> bool:
        """Whether a table exists."""

    def rows(self, name: str) -> pa.Table:
        """All rows of a table, in any order; the columns may be those of another release."""

    def append(self, name: str, rows: Iterable[pa.RecordBatch], state: State, start_round: int | None = None) -> None:
        """Add rows; first remove those of the rounds from ``start_round`` on, if it is given."""

    def replace(self, name: str, rows: pa.Table, state: State) -> None:
        """Make a table equal to ``rows``."""


class Changes(NamedTuple):
    """Rounds whose ratings were already published; written rows of ratings; tables that have new rows."""

    kept: int
    added: int
    tables: tuple[str, ...]


def update(content: VersionedContent, target: Target) -> Changes:
    """Bring tables from their stored states to the content, with as few rows written as possible.

    Ratings before the first changed round stay, and later ones are replaced; without a change, new ones are appended.
    Players and contests come before the ratings that refer to them, so that joins are complete.
    """
    further = [name for name in FURTHER if content.has(name) or target.has(name)]
    changed = [name for name in (*PUBLISHED, *further) if not content.is_current(name, target.state(name))]
    n_kept, added = content.kept("ratings", target.state("ratings"))[0], 0

    def ratings() -> Iterator[pa.RecordBatch]:
        nonlocal added
        for batch in content.ratings(n_kept):
            added += batch.num_rows
            yield batch

    for name in changed:
        state = content.state(name)
        kept, published = (0, 0) if name in FURTHER and name != "results" else content.kept(name, target.state(name))
        # of a leaderboard with resets after its last round, the ratings before these are unknown
        grows = kept == published > 0 and not (target.state(name) or {}).get("pending")
        if name == "ratings":
            target.append(name, ratings(), state, None if grows else kept)
        elif name in FURTHER and not content.has(name):
            target.replace(name, FURTHER[name].empty_table(), state)
        elif name == "results":
            target.append(name, content.results(kept), state, None if grows else kept)
        elif name == "leaderboard":
            rows = content.leaderboard(target.rows(name), published) if grows else content.leaderboard()
            target.replace(name, rows, state)
        elif grows:
            target.append(name, getattr(content, name).slice(published).to_batches(), state)
        else:
            target.replace(name, getattr(content, name), state)
    return Changes(n_kept, added, tuple(changed))


@dataclass(frozen=True, slots=True)
class PrefixDigests:
    """Digests of the prefixes of a sequence of rows.

    ``rows``: length of the sequence.
    ``step``: rows from one digest to the next; the last digest covers all rows.
    ``digests``: the digests in order, each of all rows before it, ``_DIGITS`` hex digits.
    """

    rows: int
    step: int
    digests: str

    @classmethod
    def of(cls, rows: Rows, seed: str = "", most: int = MAX_DIGESTS) -> Self:
        """Digest the rows of ``uint8[n, width]``; ``seed`` has all other inputs of the rows."""
        step = 1
        while len(rows) > most * step:
            step *= 2
        return cls(len(rows), step, "".join(_digests(rows, seed, step)))

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The inverse of ``dataclasses.asdict``.

        Raises KeyError, TypeError, ValueError: a value is missing or has the wrong type.
        """
        return cls(int(facts["rows"]), max(int(facts["step"]), 1), str(facts["digests"]))

    def kept(self, rows: Rows, seed: str = "") -> int:
        """Number of leading rows that are certainly unchanged; all of them if no row has changed."""
        known = [self.digests[at : at + _DIGITS] for at in range(0, len(self.digests), _DIGITS)]
        kept = 0
        for number, digest in enumerate(_digests(rows[: self.rows], seed, self.step)):
            if number >= len(known) or digest != known[number]:
                break
            kept = min((number + 1) * self.step, self.rows, len(rows))
        return kept


def as_bytes(*columns: npt.NDArray[Any]) -> Rows:
    """Rows of columns of equal length, as bytes."""
    widths = [column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns]
    parts = [np.ascontiguousarray(column).view(np.uint8) for column in columns]
    return np.hstack([part.reshape(-1, width) for part, width in zip(parts, widths, strict=True)])


def digest_of_rows(table: pa.Table) -> str:
    """Digest of all numbers and strings, 32 hex digits; it does not depend on how the table is chunked."""
    digest = blake2b(digest_size=16)
    for column in table.columns:
        digest.update(pc.is_null(column).to_numpy().tobytes())
        if pa.types.is_string(column.type):
            text = column.fill_null("")
            digest.update(pc.binary_length(text).to_numpy().tobytes())
            for chunk in text.chunks:
                joined = pc.binary_join(pa.ListArray.from_arrays([0, len(chunk)], chunk), "")
                digest.update(joined[0].as_buffer())
        else:
            digest.update(column.fill_null(pa.scalar(0).cast(column.type)).to_numpy().tobytes())
    return digest.hexdigest()


def _digests(rows: Rows, seed: str, step: int) -> list[str]:
    digest, digests = blake2b(seed.encode(), digest_size=16), []
    for start in range(0, len(rows), step):
        digest.update(np.ascontiguousarray(rows[start : start + step]).data)
        digests.append(digest.hexdigest()[:_DIGITS])
    return digests
