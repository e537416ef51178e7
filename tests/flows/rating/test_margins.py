"""Margins of victory of runs: games and contests of two, engines, and what is refused or warned of before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.games import as_contests, as_periods, ingest_periods, league, with_points
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import contest, lake_of, often, rate_run, rated, same_tables
from helpers.rated_runs import problems

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.common.margins import check_points_of
from ranklake.flows.engines.threads import Threads
from ranklake.flows.evaluation.tuning.spaces import margin_in, parse_space
from ranklake.rating_kernels import Rounds
from ranklake.storage import Lake

GAMES = with_points(league(300, seed=11))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = lake_of(tmp_path_factory.mktemp("margins") / "lake", as_contests(GAMES), "contests")
    ingest_periods(made, as_periods(GAMES))
    ingest_periods(made, as_periods(league(40)), "without")
    ingest_periods(made, as_periods(with_points(league(40), unknown=0.7)), "sparse")
    return made


def rate(lake: Lake, run: str, dataset: str = "league", system: str = "elo", **chosen: Any) -> Any:
    return rate_run(lake, **({"run": run, "dataset": dataset, "system": system, "margin": "log_lead"} | chosen))


@pytest.mark.parametrize("system", ["elo", "elo-mmr", "glicko2"])
def test_games__and_contests_of_two_have_the_same_bits(lake: Lake, system: str) -> None:
    rate(lake, f"games-{system}", system=system)
    rate(lake, f"contests-{system}", "contests", system=system)
    rows = [rated(lake, f"{kind}-{system}").select(["player", "mu", "sigma"]) for kind in ("games", "contests")]
    by_player = [sorted(zip(*one.to_pydict().values(), strict=True)) for one in rows]
    assert by_player[0] == by_player[1]
    rate(lake, f"none-{system}", system=system, margin="none")
    assert not same_tables(rated(lake, f"games-{system}"), rated(lake, f"none-{system}"))


def test_run__with_a_margin_resumes_and_has_the_same_bits_by_every_engine(lake: Lake) -> None:
    rate(lake, "whole")
    rate(lake, "parts", max_rounds=3, policy=often(segment_rows=40))
    for number, engine in enumerate((Threads(3), InProcessEngine(2))):
        rate(lake, f"engine{number}", engine=engine)
        assert same_tables(rated(lake, f"engine{number}"), rated(lake, "whole"))
    rate(lake, "parts", policy=often(segment_rows=40))
    assert same_tables(rated(lake, "parts"), rated(lake, "whole"))
    assert problems(lake, "whole") == []


def test_run__of_a_data_set_without_points_is_refused_and_the_remedy_is_named(lake: Lake) -> None:
    rule = "margin=log_lead needs points of both sides, and data set without has none; ingest points: .*opponent_points"
    with pytest.raises(ValueError, match=rule):
        rate(lake, "refused", "without")
    assert rate(lake, "unrefused", "without", margin="none").rated


def test_run__with_points_in_less_than_half_of_the_games_warns(lake: Lake) -> None:
    report = rate(lake, "sparse", "sparse")
    assert any("of 40 games once: they have no points" in line for line in report.warnings)
    assert not rate(lake, "dense").warnings


def test_run__of_a_large_contest_is_refused_before_the_first_round(tmp_path: Path) -> None:
    crowd = contest("crowd", *(f"player {i}" for i in range(257)), points=-np.arange(257.0))
    made = lake_of(tmp_path / "lake", [*as_contests(GAMES)[:5], crowd])
    with pytest.raises(ValueError, match="at most 256 participants; round 5 of those given has 257"):
        rate_run(made, system="elo", margin="log")
    assert not made.exists("runs/run/run.json")


def test_systems__without_a_rule_list_those_with_one() -> None:
    rule = r"codeforces has no rule for margins of victory; elo-mmr, .*elo, glicko, .* and bar have one"
    with pytest.raises(ValueError, match=rule):
        build_params(find_system("codeforces"), {"margin": "log"})
    with pytest.raises(ValueError, match=rule):
        parse_space(find_system("codeforces"), ["margin_unit=1,2"])


def test_space__tells_whether_points_are_needed() -> None:
    elo = find_system("elo")
    assert [margin_in(elo, [f"margin={words}"]) for words in ("none", "log,none", "none,goals")] == [
        "none",
        "log",
        "goals",
    ]
    assert margin_in(elo, ["k=10:80:log"]) == "none"


def test_frame__takes_points_from_scores_and_is_refused_without() -> None:
    frame = pa.table({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]})
    with pytest.raises(ValueError, match="margin=log needs points of both sides, and the frame has none; name their"):
        rate_history(frame, "elo", margin="log")
    scored = frame.append_column("score", [[4.0, 1.0]])
    assert rate_history(scored, "elo", margin="log", k=20.0).mu.tolist() == [1520.0, 1480.0]


def test_history__without_points_is_refused_by_experiments_and_benchmarks() -> None:
    rounds = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1])
    with pytest.raises(ValueError, match="margin=goals needs points of both sides, and the history has none"):
        check_points_of(find_system("elo").params(margin="goals"), rounds, "the history")
    for system in ("elo", "codeforces"):
        check_points_of(find_system(system).params(), rounds, "the history")
