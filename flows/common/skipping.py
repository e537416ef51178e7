"""Contests that a run skips because of their places alone.

A contest of one participant has no result. A tie of two players is a result for every system. Larger contests in which
all participants tie are rated, except by systems whose authors' program skips them (``System.skips_all_tied``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Rounds, System
from ranklake.rating_kernels.core.standings import OUTSIDE
from ranklake.storage import Dataset

from .adapters import ContestFacts
from .text import count

ONE_PARTICIPANT, ALL_TIED, TWO_TIED, NOBODY_RATED = 1, 2, 3, 4
REASONS = {
    ONE_PARTICIPANT: "one participant only",
    NOBODY_RATED: "no rated participant",
    ALL_TIED: "all participants tied",
    TWO_TIED: "draws of two players, as this run skips them since release 0.1; a new --run rates them",
}

_RECORDED = "draws_are_results"  # key in run.json; runs of release 0.1 lack it


@dataclass(frozen=True, slots=True)
class Skipping:
    """Whether contests of one participant, ties of three or more, and ties of two are skipped."""

    one_participant: bool = True
    all_tied: bool = True
    two_tied: bool = False

    @classmethod
    def of(cls, system: System, skip_uninformative: bool | None = None) -> Skipping:
        """The rule of a new run: True also skips larger contests in which all tie, False skips nothing, None is the
        system's rule.
        """
        if skip_uninformative is None:
            return cls(all_tied=system.skips_all_tied)
        return cls() if skip_uninformative else cls(False, False, False)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Skipping:
        """The rule in ``run.json``; ``KeyError`` if it has none."""
        all_tied = bool(facts["skip_uninformative"])
        return cls(all_tied=all_tied) if facts.get(_RECORDED) else cls(all_tied, all_tied, all_tied)

    def to_json(self) -> dict[str, bool]:
        """The rule for ``run.json``; a rule of release 0.1 in the form of that release."""
        alike = self.one_participant == self.all_tied == self.two_tied
        return {"skip_uninformative": self.all_tied} | ({} if alike else {_RECORDED: True})

    def label(self) -> str:
        """A text that names the skipped contests."""
        parts = {"one participant": self.one_participant, "all tied": self.all_tied, "draws of two": self.two_tied}
        return " + ".join(text for text, skipped in parts.items() if skipped) or "none"

    def reasons(self, rounds: Rounds) -> npt.NDArray[np.uint8]:
        """For each round the reason for skipping it, a key of ``REASONS``; 0 if it is rated.

        Unrated participants count if rated ones compete with them.
        """
        if rounds.roles.any():
            found = np.full(len(rounds), NOBODY_RATED, dtype=np.uint8)
            possible = np.add.reduceat(rounds.are_rated, rounds.offsets[:-1], dtype=np.int64) > 0
            competing = rounds.keep(possible)
            found[possible] = self.reasons(competing.select(competing.roles != OUTSIDE))
            return found
        found = np.zeros(len(rounds), dtype=np.uint8)
        sizes, tied = rounds.participants, ~rounds.informative
        if self.one_participant:
            found[sizes == 1] = ONE_PARTICIPANT
        if self.all_tied:
            found[tied & (sizes > 2)] = ALL_TIED
        if self.two_tied:
            found[tied & (sizes == 2)] = TWO_TIED
        return found

    def keep(self, rounds: Rounds) -> npt.NDArray[np.bool_]:
        """A mask of the rated rounds."""
        kept: npt.NDArray[np.bool_] = self.reasons(rounds) == 0
        return kept


ANY_SYSTEM = Skipping()  # for comparisons: every system rates all other contests


def count_reasons(reasons: npt.NDArray[np.uint8]) -> dict[str, int]:
    """Number of skipped contests by the text of the reason, given ``Skipping.reasons``."""
    return {text: n for reason, text in REASONS.items() if (n := int(np.count_nonzero(reasons == reason)))}


def skipped_text(counts: Mapping[str, int]) -> str:
    """What was skipped, given the number of contests by reason: each follows a semicolon."""
    return "".join(f"; {count(n, 'contest')} skipped: {reason}" for reason, n in counts.items())


def reasons_of(dataset: Dataset, rule: Skipping, stop: int) -> npt.NDArray[np.uint8]:
    """As ``Skipping.reasons`` for the first ``stop`` contests of a data set; reads their standings.

    Participants whom a range of ratings excludes count as rated.
    """
    return np.concatenate([np.empty(0, np.uint8), *map(rule.reasons, _rounds_of(dataset, stop))])


def differ(dataset: Dataset, one: Skipping, other: Skipping) -> bool:
    """Whether two rules skip different contests of a data set; reads all its standings."""
    return any(not np.array_equal(one.keep(rounds), other.keep(rounds)) for rounds in _rounds_of(dataset))


def _rounds_of(dataset: Dataset, stop: int | None = None) -> Iterator[Rounds]:
    facts = ContestFacts.of(dataset.contests, np.ones(dataset.contests.num_rows, dtype=np.bool_))
    return map(facts.rounds, dataset.standings(0, stop))


IN_COMMAND, IN_PYTHON = "`ranklake systems` shows", "ranklake.systems() shows"
_NEUTRAL = {"weight": 1.0, "perf_ceiling": math.inf, "precision": 1.0}  # values that mean the same to every system
_NAMED = {"weight": "a weight other than 1", "perf_ceiling": "a perf_ceiling", "precision": "a precision other than 1"}


def count_ignored(system: System, rounds: Rounds) -> Counter[str]:
    """The number of rounds with a value of a column that the system ignores, by column; empty if there are none."""
    counts = {name: np.count_nonzero(getattr(rounds, name) != _NEUTRAL[name]) for name in system.ignores}
    return Counter[str]({name: int(n) for name, n in counts.items() if n})


def ignored_lines(system: System, ignored: Mapping[str, int], where: str = "") -> list[str]:
    """One line for each ignored column, with the remedy :data:`IN_COMMAND` or :data:`IN_PYTHON`, if any."""
    remedy = f"; {where} which systems read it" if where else ""
    return [
        f"{system.name} ignores {name}, and {count(n, 'round')} {'has' if n == 1 else 'have'} {_NAMED[name]}{remedy}"
        for name, n in ignored.items()
    ]
