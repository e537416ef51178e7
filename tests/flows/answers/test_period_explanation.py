"""A period of official ratings explained: every number is that of the twin, and the steps lead to the stored rating."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.games import DAY, Game, as_periods, ingest_periods
from helpers.lakes import rate_run, rated
from twins import fide as twin

from ranklake.flows.answers.explanations.explanation import explain
from ranklake.flows.answers.explanations.period_explanation import PeriodExplanation
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.storage import Lake, LakeError

MONTH = 30 * DAY
START = 19_700 * DAY  # in December 2023
PLAYERS: dict[str, dict[str, int]] = {
    **{f"p{i}": {"rating": 1404 + 157 * i, "games": 7 * i} for i in range(9)},
    "p6": {"rating": 2250, "games": 200, "birth_year": 2005},
    "p7": {"rating": 2380, "games": 300, "peak": 2405},
    "p8": {"rating": 2650, "games": 500},
}


def league() -> list[Game]:
    """Games of rated and unrated players, of whom one plays very often."""
    draw, games = np.random.default_rng(12), []
    for month in range(4):
        for day in np.sort(draw.integers(0, 27, 70)).tolist():
            white, black = draw.choice(13, 2, replace=False).tolist()
            score = float(draw.choice([0.0, 0.5, 1.0]))
            for loser in (0, 12):  # one falls below 1400, the other has a first period without a point
                score = 0.0 if white == loser else 1.0 if black == loser else score
            games.append(Game(f"p{white}", f"p{black}", score, START + month * MONTH + day * DAY))
        games += [Game("p1", f"p{2 + i % 5}", 1.0, START + month * MONTH + 28 * DAY) for i in range(25)]
    return games


PERIODS = as_periods(league(), MONTH)


def record(lake: Lake, folder: Path, players: dict[str, dict[str, int]]) -> None:
    names = ("rating", "games", "peak", "birth_year")
    lines = [",".join([handle, *(str(facts.get(name, "")) for name in names)]) for handle, facts in players.items()]
    (folder / "players.csv").write_text("\n".join([",".join(("handle", *names)), *lines]), encoding="utf-8")
    record_attributes(lake, "league", str(folder / "players.csv"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("periods")
    lake = Lake.open(folder / "lake", create=True)
    ingest_periods(lake, PERIODS, "league")
    record(lake, folder, PLAYERS)
    rate_run(lake, run="run", dataset="league", system="fide")
    rate_run(lake, run="elo", dataset="league", system="elo")
    return lake


def explained(lake: Lake, handle: str, period: str) -> PeriodExplanation:
    found, _ = explain(lake, "run", handle, period)
    assert isinstance(found, PeriodExplanation)
    return found


@pytest.mark.slow
def test_explain__has_every_number_of_the_twin(lake: Lake) -> None:
    league = twin.Twin({name: dict(facts) for name, facts in PLAYERS.items()})
    seen = dict.fromkeys(("capped", "in full", "bounded", "fell", "first", "disregarded", "tier 10", "junior"), 0)
    for period in PERIODS:
        names = period.handles.to_pylist()
        columns = (period.player.tolist(), period.opponent.tolist(), period.score.tolist())
        games = [(names[a], names[b], score) for a, b, score in zip(*columns, strict=True)]
        before = {name: league.players[name].rating if name in league.players else None for name in names}
        year, month = map(int, str(np.datetime64(int(period.games.time_seconds[-1]), "s"))[:7].split("-"))
        expected = league.rate(games, year, month)
        for name in names:
            one, found = expected[name], explained(lake, name, period.contest_id)
            assert (found.rating_before, found.rating, found.performance) == (one.before, one.rating, one.performance)
            own = [(b, score) for a, b, score in games if a == name] + [(a, 1 - s) for a, b, s in games if b == name]
            assert sorted((game.opponent, game.score) for game in found.games) == sorted(own)
            for game in found.games:
                assert game.opponent_rating == before[game.opponent]
                if game.opponent_rating is None or one.before is None:
                    assert (game.lead, game.counted_lead, game.expected) == (None, None, None)
                    continue
                assert game.lead == one.before - game.opponent_rating
                assert game.expected == float(twin.expected(one.before, game.opponent_rating))
                seen["capped"] += game.counted_lead != game.lead
                seen["in full"] += abs(game.counted_lead or 0) > 400
            if one.before is None:
                assert sum(pooled.games for pooled in found.pool) == one.counted
                assert (found.k, found.change, found.tier, found.expected) == (None, None, None, None)
                seen["first"] += found.first is not None
                seen["disregarded"] += any(not pooled.games for pooled in found.pool)
                continue
            assert (found.n_games, found.k, found.change) == (one.counted, one.k, one.change)
            assert found.exact_change == pytest.approx(float((one.k or 0) * (one.surplus or Fraction())), abs=1e-12)
            assert (found.pool, found.first) == ([], None)
            seen["bounded"] += found.k != found.k_of_tier
            seen["fell"] += found.rating is None
            seen["tier 10"] += found.k_of_tier == 10
            seen["junior"] += "18th birthday" in (found.tier or "")
    assert all(seen.values()), seen


def test_explain__shows_the_steps_and_the_same_numbers_as_json(lake: Lake, invoke: Command) -> None:
    period = next(one.contest_id for one in PERIODS if explained(lake, "p1", one.contest_id).n_games > 20)
    often = ("explain", "p1", period, "--run", "run", "--lake", lake.url)
    shown = invoke(*often)
    found = json.loads(invoke(*often, "--format", "json").out)
    assert (found["k"], found["k_of_tier"], found["tier"]) == (
        700 // found["n_games"],
        40,
        "fewer than 30 games before the period",
    )
    for text in (f"of {found['n_games']} games against rated opponents", "at most 400, below 2650", "does not count",
                 f"K, at most 700 with {found['n_games']} games", f"{found['exact_change']:+.2f}"):  # fmt: skip
        assert text in shown.out, text
    assert found["rating"] == found["rating_before"] + found["change"]
    news = [row for row in rated(lake).to_pylist() if row["mu_prior"] == 0.0 < row["mu"]]
    new = ("explain", news[0]["player"], news[0]["contest_id"], "--run", "run", "--lake", lake.url)
    shown, found = invoke(*new), json.loads(invoke(*new, "--format", "json").out)
    assert found["first"]["games"] == sum(one["games"] for one in found["pool"]) + 2
    for text in (
        "games, with two draws against 1800",
        "lead of the share by the table",
        str(found["first"]["computed"]),
    ):
        assert text in shown.out, text
    shown = invoke("explain", "p12", PERIODS[0].contest_id, "--run", "run", "--lake", lake.url)
    assert "a first period without a point is disregarded" in shown.out
    fell = next(row for row in rated(lake).to_pylist() if row["mu_prior"] > row["mu"] == 0.0)
    shown = invoke("explain", fell["player"], fell["contest_id"], "--run", "run", "--lake", lake.url)
    assert "below 1400: unrated from the next period on" in shown.out


def test_explain__refuses_what_it_cannot_explain(lake: Lake, tmp_path: Path) -> None:
    period = PERIODS[0].contest_id
    refused: list[tuple[Any, str]] = [
        (("elo", "p1", period), "in a contest, or in a period rated by fide, can be explained; .*`ranklake player"),
        (("run", "nobody", period), "no player 'nobody'"),
        (("run", "p1", "other"), "has no contest 'other'"),
        (("run", "p1", period, None, None, True), "--caps is for the systems elo-mmr"),
    ]
    for arguments, said in refused:
        with pytest.raises(LakeError, match=said):
            explain(lake, *arguments)
    record(lake, tmp_path, {**PLAYERS, "p1": {"rating": 1900}})
    said = "ratings of 'p1' in round 0 of run run do not follow .* as it is now; `ranklake rate --run run`"
    with pytest.raises(LakeError, match=said):
        explain(lake, "run", "p1", period)
    record(lake, tmp_path, PLAYERS)
    assert explained(lake, "p1", period).rating_before == 1561
