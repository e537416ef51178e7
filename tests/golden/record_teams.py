"""Write the golden vectors of teams in TrueSkill and BAR, answered by other people's packages.

Run ``pip install trueskill==0.4.5 openskill==6.2.0`` in an environment of its own and then
``python tests/golden/record_teams.py``. The packages are not needed by the tests.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

__all__: list[str] = []

MU, SIGMA, BETA = 25.0, 25.0 / 3.0, 25.0 / 6.0
RTOL = 1e-9

Ratings = dict[str, tuple[float, float]]
Rate = Callable[[list[Any], Ratings], Ratings]


def contests(seed: int, shares: bool) -> list[list[Any]]:
    """Standings ``[team, lo, hi, members, shares]`` of six rounds of nine players, with ties."""
    draw, rounds = random.Random(seed), []
    for _ in range(6):
        people = draw.sample([f"p{k}" for k in range(9)], draw.randint(4, 9))
        teams = []
        while people:
            size = draw.randint(1, 3)
            members, people = people[:size], people[size:]
            teams.append([members, [draw.randint(1, 3) for _ in members]] if shares else [members])
        if len(teams) < 2:
            continue
        places = sorted(draw.randrange(len(teams)) for _ in teams)
        lo = [places.index(place) for place in places]
        hi = [at + places.count(place) - 1 for at, place in zip(lo, places, strict=True)]
        rounds.append([["+".join(row[0]), a, b, *row] for a, b, row in zip(lo, hi, teams, strict=True)])
    return rounds


def of_trueskill(standings: list[Any], ratings: Ratings) -> Ratings:
    """The package trueskill, with the functions of the normal law to full precision."""
    import trueskill

    law = NormalDist()

    def cdf(x: float, mu: float = 0.0, sigma: float = 1.0) -> float:
        return 0.5 * math.erfc((mu - x) / (sigma * math.sqrt(2.0)))

    def pdf(x: float, mu: float = 0.0, sigma: float = 1.0) -> float:
        return law.pdf((x - mu) / sigma) / sigma

    def ppf(x: float, mu: float = 0.0, sigma: float = 1.0) -> float:
        return mu + sigma * law.inv_cdf(x)

    environment = trueskill.TrueSkill(MU, SIGMA, BETA, SIGMA / 100.0, 0.1, backend=(cdf, pdf, ppf))
    given = [row[4] if len(row) > 4 else [1] * len(row[3]) for row in standings]
    rated = environment.rate(
        [tuple(trueskill.Rating(*ratings[name]) for name in row[3]) for row in standings],
        [row[1] for row in standings],
        [tuple(len(shares) * share / sum(shares) for share in shares) for shares in given],
        min_delta=1e-14,
    )
    return _named(standings, rated)


def of_openskill(standings: list[Any], ratings: Ratings) -> Ratings:
    """The package openskill, Bradley-Terry with full pairs."""
    from openskill.models import BradleyTerryFull

    model = BradleyTerryFull(MU, SIGMA, BETA, tau=0.0)
    teams = [[model.create_rating(list(ratings[name])) for name in row[3]] for row in standings]
    return _named(standings, model.rate(teams, ranks=[float(row[1]) for row in standings]))


def _named(standings: list[Any], rated: Any) -> Ratings:
    teams = zip(standings, rated, strict=True)
    return {name: (one.mu, one.sigma) for row, team in teams for name, one in zip(row[3], team, strict=True)}


def record(name: str, source: str, rate: Rate, seed: int, shares: bool = False) -> None:
    """Write one vector with the ratings of all its rounds."""
    ratings = {f"p{k}": (MU, SIGMA) for k in range(9)}
    rounds, expected = contests(seed, shares), []
    for standings in rounds:
        after = rate(standings, ratings)
        ratings |= after
        expected.append([{"player": name, "mu": mu, "sig": sigma} for name, (mu, sigma) in after.items()])
    about = {"id": name, "system": name.partition("-")[0], "source": source}
    how = {"note": "python tests/golden/record_teams.py", "rtol": RTOL, "params": {}}
    vector = about | how | {"contests": [{"standings": standings} for standings in rounds], "expected": expected}
    path = Path(__file__).with_name(f"{name}.json")
    path.write_text(json.dumps(vector, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record("trueskill_teams-package", "package trueskill 0.4.5", of_trueskill, 1)
    record("trueskill_teams-shares", "package trueskill 0.4.5, its partial play", of_trueskill, 2, shares=True)
    record("bar_teams-package", "package openskill 6.2.0, BradleyTerryFull", of_openskill, 3)
