"""The states that are stored with published tables: they show which of their rows a run still has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from ranklake.storage.lake.access.lake import digest_of_facts
from ranklake.storage.lake.schemas import OF_ATTRIBUTES

from ..common.titles import CODEFORCES
from .content import Content
from .prefix_digests import PrefixDigests, Rows, as_bytes, digest_of_rows

__all__ = ["State", "VersionedContent"]

_MEANING = 1  # increased by a release with other rows for the same rounds; all are then published again
_UNKNOWN = np.iinfo(np.int64).min
_LISTS = ("players", "contests")

State = Mapping[str, Any]


class VersionedContent(Content):
    """The current state of a run, compared with those of published tables."""

    def state(self, name: str) -> dict[str, Any]:
        """The state to be stored with a table; equal ones have equal rows."""
        if name in _LISTS:
            return self._state_of_list(name, getattr(self, name).num_rows)
        if name in OF_ATTRIBUTES:
            inputs: list[Any] = [self._digest("attributes", self.attributes.num_rows)]
            if name == "groups":
                inputs.append({key: value for key, value in self.state("leaderboard").items() if key != "titles"})
            return {"digest": digest_of_facts(inputs)}
        chosen = {} if self._deviations is None else {"deviations": self._deviations}
        smoothing = {"smoothing": self.smoothing.digest} if name == "ratings" else {}
        n_players, titles = self.players.num_rows, self.format.titles.to_json()
        return {"players": n_players, "titles": titles, **smoothing, **chosen, **self._prefixes}

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
            return PrefixDigests.from_json(state).kept(self._rounds, self._seed(int(state["players"]))), rows
        except (KeyError, TypeError, ValueError):  # written by another release
            return 0, rows

    def is_current(self, name: str, state: State | None, titles: bool = True) -> bool:
        """Whether a table with a state has all rows, of a leaderboard also with these ``titles``."""
        if name not in ("ratings", "leaderboard"):
            return state == self.state(name)
        of_codeforces = CODEFORCES.name  # early releases stored none for these
        known = (state or {}).get("titles", of_codeforces) == self.format.titles.to_json()
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

    def _seed(self, n_players: int) -> str:
        """The inputs of all rows: the display, and the first ``n_players`` players."""
        display = self.display
        minimum = "" if display.minimum == -math.inf else f" {display.minimum!r}"
        return f"{_MEANING} {display.deviations!r}{minimum} {self._digest('players', n_players)}"
