"""Rounds of teams for tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.storage import Contest
from ranklake.storage.datasets.tables.teams import Teams

Contests = Sequence[tuple[Sequence[Any], int, float, float]]


def team_rounds(contests: Contests, rows: Mapping[Any, int]) -> Rounds:
    """Rounds of contests ``(standings, time, weight, perf_ceiling)``; standings are ``lo, hi, members, shares``."""
    teams = [row for standings, *_ in contests for row in standings]
    sizes = [len(members) for _, _, members, _ in teams]
    members = [sum(len(row[2]) for row in standings) for standings, *_ in contests]
    shares = [share for _, _, names, own in teams for share in (own or [1.0] * len(names))]
    return Rounds.from_columns(
        np.cumsum([0, *members]),
        [rows[name] for _, _, names, _ in teams for name in names],
        np.repeat([row[0] for row in teams], sizes),
        np.repeat([row[1] for row in teams], sizes),
        *zip(*(how for _, *how in contests), strict=True),
        teams=Ragged.from_lengths(np.array(sizes), np.array(shares)),
    )


def draw_team_contests(seed: int, n_players: int, n_rounds: int, largest: int = 3) -> list[Any]:
    """Random contests of random teams of players 0, 1, 2, ... with random ties, shares, weights and ceilings."""
    rng, contests, time = np.random.default_rng(seed), [], 0
    for _ in range(n_rounds):
        people = rng.permutation(n_players)[: rng.integers(2 * largest, n_players + 1)].tolist()
        teams: list[Any] = []
        while people:
            size = min(int(rng.integers(1, largest + 1)), len(people))
            members, people = people[:size], people[size:]
            teams.append((members, rng.integers(1, 4, size).astype(float).tolist() if rng.random() < 0.5 else None))
        standings, place = [], 0
        while place < len(teams):
            tied = min(int(rng.integers(1, 3)), len(teams) - place)
            standings += [(place, place + tied - 1, *teams[k]) for k in range(place, place + tied)]
            place += tied
        time += int(rng.integers(0, 10 * 86_400))
        weight, ceiling = float(rng.choice([1.0, 0.5, 2.0])), float(rng.choice([math.inf, 1900.0]))
        contests.append((standings, time, weight, ceiling))
    return contests


def team_contests(contests: Contests) -> list[Contest]:
    """The same contests for a lake: player 3 is p3, and the teams of a contest are team 0, team 1, ..."""
    made = []
    for number, (standings, time, weight, ceiling) in enumerate(contests):
        sizes = [len(members) for _, _, members, _ in standings]
        names = pa.array([f"team {at}" for at in np.repeat(np.arange(len(sizes)), sizes).tolist()], pa.string())
        shares = [share for _, _, members, own in standings for share in (own or [1.0] * len(members))]
        handles = pa.array([f"p{member}" for _, _, members, _ in standings for member in members], pa.string())
        lo, hi = (np.repeat(np.array(column, np.int32), sizes) for column in list(zip(*standings, strict=True))[:2])
        teams = Teams(names, np.array(shares))
        made.append(Contest(str(number), f"Round {number}", "", time, handles, lo, hi, weight, ceiling, teams))
    return made


def rosters(contest_id: str, *teams: Sequence[str | None], time_seconds: int = 0) -> Contest:
    """A contest without ties, best team first: the name of a team, or None for an individual, and its members."""
    sizes = [len(team) - 1 for team in teams]
    names = [team[0] for team in teams for _ in team[1:]]
    place = np.repeat(np.arange(len(teams), dtype=np.int32), sizes)
    handles = pa.array([member for team in teams for member in team[1:]], pa.string())
    own = Teams(pa.array(names, pa.string()), np.ones(len(names)))
    return Contest(contest_id, f"Round {contest_id}", "", time_seconds, handles, place, place, 1.0, math.inf, own)


def team_frame(contests: Contests) -> pd.DataFrame:
    """The same contests for ``rate_history``."""
    return pd.DataFrame(
        [
            (str(number), f"team {at}", f"p{member}", lo + 1, time, weight, ceiling, share)
            for number, (standings, time, weight, ceiling) in enumerate(contests)
            for at, (lo, _, members, shares) in enumerate(standings)
            for member, share in zip(members, shares or [math.nan] * len(members), strict=True)
        ],
        columns=["contest", "team", "player", "rank", "time_seconds", "weight", "perf_ceiling", "share"],
    )
