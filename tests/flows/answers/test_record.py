"""The record of a player's games."""

from __future__ import annotations

import pytest

from ranklake.flows.answers.players.record import DRAW, LOSS, SCORES, WIN, places_of, record, result_of


def test_record__counts_results_and_the_longest_run_of_wins() -> None:
    found = record([WIN, WIN, LOSS, WIN, WIN, WIN, DRAW, WIN, LOSS, LOSS, DRAW, WIN])
    assert (found.wins, found.draws, found.losses, found.streak) == (7, 2, 3, 3)
    assert found.form == (LOSS, WIN, WIN, WIN, DRAW, WIN, LOSS, LOSS, DRAW, WIN)


def test_record__of_defeats_has_no_streak() -> None:
    assert record([LOSS]).streak == 0


@pytest.mark.parametrize(("lo", "hi", "result", "score"), [
    (0, 0, WIN, "1–0"), (1, 1, LOSS, "0–1"), (0, 1, DRAW, "½–½")])  # fmt: skip
def test_result__follows_from_the_places(lo: int, hi: int, result: str, score: str) -> None:
    assert result_of(*places_of(lo, hi)) == result
    assert SCORES[result] == score
