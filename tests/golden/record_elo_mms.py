"""Write the golden vectors of Elo-MMS with ``duel`` and ``resolution``, from the formulas at 50 digits.

Run ``python tests/golden/record_elo_mms.py``. The formulas are those of elo-mms.md and teams.md in docs/systems, one
number at a time, with every root bisected; nothing is shared with the package and its twins.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpmath import exp, inf, mp, mpf, pi, sqrt, tanh

__all__: list[str] = []

mp.dps = 50
RTOL = 1e-11
NEWCOMER = {"mu": mpf(1500), "sigma": mpf(350), "k": 0, "last": None}
DEFAULTS = {
    "beta": 130, "skew": 1.4, "lower": "logistic", "gamma": 12, "drift_per_day": 12, "practice": 8,
    "practice_rounds": 20, "tie_mode": "full", "team_noise": "team", "credit": "joint",
}  # fmt: skip

Row = list[Any]  # name, lo, hi, and of a team its members, and their shares


def zero(falling: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The zero of a falling function near an interval, to 50 digits."""
    while falling(low) < 0:
        low -= high - low + 1
    while falling(high) > 0:
        high += high - low + 1
    for _ in range(220):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def performance(field: list[tuple[Any, Any]], lo: int, hi: int, full: bool) -> Any:
    """The most likely performance of the places ``lo`` to ``hi``, from derivatives of logarithms of chances."""

    def slope(p: Any) -> Any:
        total = mpf(0)
        for j, (mu, deviation) in enumerate(field):
            scale = deviation * sqrt(3) / pi
            below = 1 / (1 + exp((mu - p) / scale))
            if j < lo:
                total -= below / scale
            elif j > hi:
                total += (1 - below) / scale
            else:
                total += (1 - 2 * below) / scale / (1 if full else 2)
        return total

    return zero(slope, min(mu for mu, _ in field), max(mu for mu, _ in field))


def rate(rows: list[Row], contest: dict[str, Any], given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The answers of one contest; ``known`` is brought up to date."""
    h = {name: mpf(value) if isinstance(value, int | float) else value for name, value in given.items()}
    n, w = mpf(len(rows)), mpf(contest.get("weight", 1))
    tau, rho = max(mpf(0), 1 - 2 / n), (n - 1) / (n + 1) if h["resolution"] == "rank" else mpf(1)
    beta, s = h["beta"] * (1 + (h["duel"] - 1) * 2 / n) / sqrt(w), h["skew"]
    shift = tau * sqrt(2 / pi) * (s - 1) * beta
    noise = (1 - tau + tau * (s + (1 - 2 / pi) * (s - 1) ** 2)) * beta**2
    for _, _, _, members, *_ in rows:
        for name in members:
            player = known.setdefault(name, dict(NEWCOMER))
            if player["k"]:
                player["mu"] += tau * h["practice"] / (1 + player["k"] / h["practice_rounds"])
                days = mpf(max(0, contest["time"] - player["last"])) / 86400
                player["sigma"] = sqrt(player["sigma"] ** 2 + h["gamma"] ** 2 * w + h["drift_per_day"] * days)
    teams = []
    for _, _, _, members, *shares in rows:
        given_shares = [mpf(share) for share in (shares[0] if shares else [1] * len(members))]
        weights = [share / sum(given_shares) for share in given_shares]
        power = 2 if h["team_noise"] == "members" else 1
        level = sum(c * known[name]["mu"] for c, name in zip(weights, members, strict=True))
        skill = sum((c * known[name]["sigma"]) ** 2 for c, name in zip(weights, members, strict=True))
        teams.append((level, skill, sum(c**power for c in weights) * noise, weights))
    field = [(level, sqrt(skill + spread)) for level, skill, spread, _ in teams]
    answers = {}
    for (_, lo, hi, members, *_), (level, skill, spread, weights) in zip(rows, teams, strict=True):
        root = performance(field, lo, hi, h["tie_mode"] == "full")
        shown = min(root - shift, mpf(contest.get("perf_ceiling", inf)))
        for name, c in zip(members, weights, strict=True):
            mu, v = known[name]["mu"], known[name]["sigma"] ** 2
            joint = h["credit"] == "joint"
            q = mu + (shown - level) / c if joint else shown
            own = (spread + skill - c**2 * v) / c**2 if joint else noise
            after = absorbed(mu, v, q, sqrt(own / noise) * beta, s, tau, h["lower"] == "logistic")
            answers[name] = {"mu": after, "sig": sqrt(v - v**2 / (v + own) * rho), "performance": q}
    for name, answer in answers.items():
        player = known[name]
        player.update(mu=answer["mu"], sigma=answer["sig"], k=player["k"] + 1)
        player["last"] = max(contest["time"], player["last"] or 0)
    return answers


def absorbed(mu: Any, v: Any, q: Any, beta: Any, skew: Any, tau: Any, logistic: bool) -> Any:
    """The new mean after a performance ``q`` of noise ``beta`` above the skill."""
    if q >= mu:
        return mu + v / (v + beta**2) * (q - mu)
    c = skew * beta * sqrt(3) / pi

    def falling(x: Any) -> Any:
        pull = tanh((x - q) / (2 * c)) / c if logistic else (x - q) / (skew * beta) ** 2
        return (mu - x) / v - (1 - tau) * (x - q) / beta**2 - tau * pull

    return zero(falling, q, mu)


def drawn(seed: int, sizes: tuple[int, ...], team: int = 1, shares: bool = False) -> list[dict[str, Any]]:
    """Contests of so many rows, with ties, by players who often meet."""
    draw, contests, time = random.Random(seed), [], 1_500_000_000
    for i, size in enumerate(sizes):
        people = draw.sample([f"p{k}" for k in range(9)], 9)
        rows: list[Row] = []
        places = sorted(draw.randrange(2 * size) for _ in range(size))
        for place in places:
            members = [people.pop() for _ in range(draw.randint(1, team) if team > 1 else 1)]
            lo = places.index(place)
            row: Row = ["+".join(members), lo, lo + places.count(place) - 1, members]
            rows.append([*row, [draw.randint(1, 3) for _ in members]] if shares else row)
        time += draw.randrange(0, 60) * 86_400
        kind = ({}, {"weight": 0.5}, {"perf_ceiling": 1650.0}, {"weight": 2.0})[i % 4]
        contests.append({"standings": rows, "time": time, **kind})
    return contests


def record(name: str, contests: list[dict[str, Any]], **params: Any) -> None:
    """Write one vector; without teams its rows have no members."""
    known: dict[str, Any] = {}
    expected = []
    for contest in contests:
        answers = rate(contest["standings"], contest, DEFAULTS | params, known)
        expected.append(
            [
                {"player": player} | {key: float(value) for key, value in answer.items()}
                for player, answer in answers.items()
            ]
        )
    system = name.partition("-")[0]
    if system == "elo_mms":
        contests = [one | {"standings": [row[:3] for row in one["standings"]]} for one in contests]
    about = {"id": name, "system": system, "source": "derived", "note": "python tests/golden/record_elo_mms.py"}
    vector = about | {"rtol": RTOL, "params": params, "contests": contests, "expected": expected}
    path = Path(__file__).with_name(f"{name}.json")
    path.write_text(json.dumps(vector, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    rank, exact = {"duel": 2.0, "resolution": "rank"}, {"duel": 3.5, "resolution": "exact"}
    record("elo_mms-rank-duels", drawn(1, (2,) * 12), **rank)
    record("elo_mms-rank-small", drawn(2, (3, 1, 4, 2, 6, 3, 9, 2, 5, 3)), **rank)
    record("elo_mms-wide-duels", drawn(3, (2, 3, 2, 4, 2, 6)), **exact, lower="normal", skew=1.8, tie_mode="split")
    record("elo_mms_teams-rank", drawn(4, (2, 3, 3, 2, 3, 1), 3, shares=True), **rank)
    record("elo_mms_teams-own", drawn(5, (3, 2, 3, 3), 3), **rank, team_noise="members", credit="own")
    record("elo_mms_teams-wide", drawn(6, (2, 3, 3, 2), 3), **exact, team_noise="members", tie_mode="split")
