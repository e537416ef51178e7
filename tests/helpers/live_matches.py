"""Matches of made-up players in the order in which a server would send them, and a log in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.live.log.records import Entry, LogUnavailableError, Record
from ranklake.flows.live.matches.match import Match, MatchRules, read_match
from ranklake.flows.rating.config import RunConfig

DAY = 86_400
START = 20_000 * DAY + 9 * 3_600  # nine o'clock


class MemoryLog:
    """A log that forgets with the test; ``full`` refuses to append."""

    available = True

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self.records, self.full = list(records), False

    @property
    def last(self) -> int:
        return len(self.records)

    def begin_after(self, sequence: int) -> None:
        assert sequence <= self.last

    def append(self, entries: Sequence[Entry], received: float) -> int:
        if self.full:
            raise LogUnavailableError("the log is full", 1.0)
        first = len(self.records) + 1
        self.records += [Record(first + at, one.kind, one.id, received, one.body) for at, one in enumerate(entries)]
        return first

    def read(self, start: int = 1) -> Iterator[Record]:
        return iter(self.records[start - 1 :])

    def find(self, ids: Sequence[str]) -> list[Record | None]:
        known = {record.id: record for record in self.records if record.id}
        return [known.get(one) for one in ids]

    def release(self, before: int) -> None:
        pass

    def close(self) -> None:
        pass


def config_of(run: str, system: str, dataset: str = "games", **settings: Any) -> RunConfig:
    """The configuration of a run."""
    return RunConfig(dataset, run, system, build_params(find_system(system), settings))


def duels(n: int, seed: int = 1, n_players: int = 12, **rules: Any) -> list[Match]:
    """Games between two, with draws, weights, clocks that go back, newcomers all the time, and some advantages."""
    draw = np.random.default_rng(seed)
    made = []
    for at in range(n):
        one, other = draw.choice(n_players + at // 4, 2, replace=False).tolist()
        facts: dict[str, Any] = {"id": f"m{at}", "a": f"p{one}", "b": f"p{other}", "score": draw.choice([0, 0.5, 1])}
        if at % 3 == 0:
            facts["time"] = START + 40 * at - 1_600 - int(draw.integers(0, 3_000))
        if at % 4 == 0:
            facts["weight"] = float(draw.choice([0.5, 2.0]))
        if at % 5 == 0 and not rules.get("advantages"):
            facts["advantage"] = float(draw.choice([-30.0, 50.0]))
        if at % 7 == 0:
            sides = [{"players": [facts.pop("a")], "place": 2}, {"players": [facts.pop("b")], "place": 1, "points": 3}]
            del facts["score"]
            facts["sides"] = sides
        made.append(read_match(json.dumps(facts).encode(), MatchRules("games")))
    return made


def fields(n: int, seed: int = 2, n_players: int = 12, teams: bool = False) -> list[Match]:
    """Matches of two sides or more, with ties, and teams whose members played in part."""
    draw = np.random.default_rng(seed)
    made = []
    for at in range(n):
        n_sides = int(draw.integers(2, 6))
        sizes = draw.integers(1, 3, n_sides).tolist() if teams and at % 2 else [1] * n_sides
        names = [f"p{one}" for one in draw.choice(n_players + at // 4, sum(sizes), replace=False).tolist()]
        sides, start = [], 0
        for size in sizes:
            own = names[start : start + size]
            place = 1 if at % 6 == 5 else int(draw.integers(1, n_sides + 1))  # all tied now and then
            sides.append({"players": own, "place": place})
            start += size
        facts: dict[str, Any] = {"id": f"c{at}", "sides": sides, "weight": float(draw.choice([1.0, 3.0]))}
        if at % 3 == 0:
            facts["time"] = START + 40 * at - 1_600 - int(draw.integers(0, 3_000))
        if teams and at % 4 == 1:
            facts["shares"] = {names[0]: 0.25}
        made.append(read_match(json.dumps(facts).encode(), MatchRules("")))
    return made


def groups(matches: Sequence[Match], seed: int = 3, first: int = 0) -> Iterator[tuple[float, Sequence[Match]]]:
    """The matches in groups of any size, with the time at which each is accepted: forty seconds a match, of which so
    many came before the ``first``.
    """
    draw, at = np.random.default_rng(seed), 0
    while at < len(matches):
        n = int(draw.choice([1, 1, 2, 7, 40]))
        yield START + 40.0 * (first + at) + 0.25, matches[at : at + n]
        at += n
