"""Scores of three chances: against plain Python, proper, and the same for any division of the games."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ranklake.flows.evaluation.games import LEAST_BEFORE
from ranklake.flows.evaluation.three_way import MEANS, Results, ThreeWayScores, means_of
from ranklake.rating_kernels.chances.three_way import ThreeWay, three_way


def _games(n: int = 400, seed: int = 1) -> tuple[ThreeWay, Results]:
    """Chances of winners and results of games, some of them with scores that are no result of the three."""
    random = np.random.default_rng(seed)
    expected = random.uniform(0.0, 1.0, n)
    drawn = random.random(n) < 0.3
    lo = np.column_stack((np.zeros(n), ~drawn)).ravel().astype(np.int32)
    score = np.where(random.random(n) < 0.1, 0.75, np.nan)
    before = random.integers(0, 9, 2 * n).astype(np.int32)
    return three_way(expected, 1.0 - expected, 0.9), Results.of(lo, before, score, random.random(n) < 0.4)


def _plainly(chances: ThreeWay, results: Results, least: int) -> dict[str, float]:
    """The means one game after the other, of the first player's chances and result."""
    totals, games, left_out = dict.fromkeys(MEANS, 0.0), 0, 0
    for win, draw, loss, drawn, swapped, out, fewer in zip(*chances, *results, strict=True):
        if fewer < least:
            continue
        if out:
            left_out += 1
            continue
        p = (loss, draw, win) if swapped else (win, draw, loss)
        y = (0, 1, 0) if drawn else (0, 0, 1) if swapped else (1, 0, 0)
        games += 1
        totals["log_loss3"] -= math.log2(max(p[y.index(1)], 1e-9))
        totals["brier3"] += sum((a - b) ** 2 for a, b in zip(p, y, strict=True))
        totals["ranked_probability"] += 0.5 * ((p[0] - y[0]) ** 2 + (p[0] + p[1] - y[0] - y[1]) ** 2)
        totals["draws_predicted"] += p[1]
        totals["draws_seen"] += y[1]
    return {"games": games, "left_out": left_out} | {name: total / games for name, total in totals.items()}


def test_scores__are_those_of_one_game_after_the_other() -> None:
    chances, results = _games()
    found = ThreeWayScores.of(chances, results, np.array([0, 0, 150, 400])).summary()
    for name, least in LEAST_BEFORE.items():
        expected = _plainly(chances, results, least)
        assert {key: found[name][key] for key in expected} == pytest.approx(expected, rel=1e-12)
        assert 0 < found[name]["left_out"] < found[name]["games"]


def test_scores__of_parts_are_those_of_all_games_to_the_bit() -> None:
    chances, results = _games()
    parts = [
        ThreeWayScores.of(
            ThreeWay(*(one[part] for one in chances)), Results(*(one[part] for one in results)), np.array(periods)
        )
        for part, periods in ((slice(0, 170), [0, 60, 170]), (slice(170, 400), [0, 0, 230]))
    ]
    whole = ThreeWayScores.of(chances, results, np.array([0, 60, 170, 170, 400]))
    joined = ThreeWayScores.joined(parts)
    assert np.array_equal(joined.sums, whole.sums)
    assert np.array_equal(joined.bins, whole.bins)
    assert means_of(whole.sums[1:2]) == means_of(parts[0].sums[1:])


def test_scores__are_best_for_true_chances() -> None:
    n, random = 20_000, np.random.default_rng(3)
    expected = random.uniform(0.05, 0.95, n)
    truth = three_way(expected, 1.0 - expected, 1.2)
    drawn = random.random(n)
    outcome = np.where(drawn < truth.win, 0, np.where(drawn < truth.win + truth.draw, 1, 2))
    lo = np.column_stack((np.zeros(n), outcome != 1)).ravel().astype(np.int32)
    results = Results.of(lo, np.full(2 * n, 9, np.int32), np.empty(0), outcome == 2)

    def means(nu: float, shift: float) -> dict[str, float]:
        e = np.clip(expected + shift, 0.01, 0.99)
        first = three_way(e, 1.0 - e, nu)
        of_winner = ThreeWay(*(np.where(outcome == 2, b, a) for a, b in zip(first, first.swapped(), strict=True)))
        return ThreeWayScores.of(of_winner, results, np.array([0, n])).summary()["everyone"]

    best = means(1.2, 0.0)
    for nu, shift in ((0.5, 0.0), (2.5, 0.0), (1.2, 0.08), (1.2, -0.08)):
        other = means(nu, shift)
        assert all(best[name] < other[name] for name in ("log_loss3", "brier3", "ranked_probability"))
    assert best["draws_predicted"] == pytest.approx(best["draws_seen"], abs=0.01)
    for rows in best["reliability"].values():
        assert sum(row["games"] for row in rows) == n
        assert all(abs(row["chance"] - row["seen"]) < 0.05 for row in rows if row["games"] > 500)
        assert all(row["least"] <= row["chance"] <= row["most"] for row in rows if row["games"])


def test_reliability__of_winners_first_takes_both_players() -> None:
    chances, results = _games()
    results = results._replace(swapped=np.zeros(len(results.drawn), bool))
    found = ThreeWayScores.of(chances, results, np.array([0, 400])).summary()["everyone"]
    tables = found["reliability"]
    assert found["second_won"] == 0
    assert tables["win"] == tables["loss"] != tables["draw"]
    assert sum(row["games"] for row in tables["win"]) == 2 * found["games"]
    wins = sum(row["games"] * row["seen"] for row in tables["win"] if row["games"])
    assert wins == pytest.approx(found["games"] * (1.0 - found["draws_seen"]))


def test_scores__without_games_are_not_numbers() -> None:
    chances, results = _games()
    found = ThreeWayScores.of(chances, results._replace(fewer=np.zeros(400, np.int32)), np.array([0, 400])).summary()
    for row in found.values():
        assert row["games"] == 0
        assert all(math.isnan(row[name]) for name in MEANS)
