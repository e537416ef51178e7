"""A period of the log that is not in the lake yet: its matches, and their results in every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..log.records import Record
from ..matches.beliefs import Rated
from ..matches.copies import BeliefsCopy
from ..matches.outcomes import Outcomes


@dataclass(slots=True)
class LivePeriod:
    """Matches that were accepted in one period.

    ``number``: of the period, see :mod:`.calendar`.
    ``first``, ``last``: sequence numbers of its first and last record.
    ``places``: the place of each match among those of the period, by id.
    ``others``: its records that rate no match.
    ``outcomes``: the results, by run.
    ``copies``: of the beliefs at its end, by run; made when it ends.
    """

    number: int
    first: int
    last: int
    places: dict[str, int] = field(default_factory=dict)
    others: list[Record] = field(default_factory=list)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    copies: dict[str, BeliefsCopy] = field(default_factory=dict)

    def add(self, sequence: int, ids: Sequence[str], rated: Mapping[str, Rated]) -> None:
        """Add a group of matches; the first one has the sequence number ``sequence``."""
        n = len(self.places)
        self.places.update(zip(ids, range(n, n + len(ids)), strict=True))
        for run, found in rated.items():
            self.outcomes.setdefault(run, Outcomes()).add(found)
        self.last = sequence + len(ids) - 1
