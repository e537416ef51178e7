"""Draws are results: the contests that a run skips because of their places, and its record of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.lakes import contest, ingest, lake_of, rate_run, rated, stamps, synthetic

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.common.skipping import Skipping
from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning.history import load_history
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.tune import tune
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.rating.config import RunConfig, default_run
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.report import RateReport
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Contest, Dataset, Lake

SKIP_TIES = ("elo-mmr", "elo-mmx", "elo-r")
OLD = Skipping(True, True, True)  # the rule of release 0.1 for "skip_uninformative": true


def frame(*contests: tuple[str, list[int]]) -> pd.DataFrame:
    """Contests of players a, b, c, ... with these ranks."""
    rows = [(name, "abcdefgh"[at], rank) for name, ranks in contests for at, rank in enumerate(ranks)]
    return pd.DataFrame(rows, columns=["contest", "player", "rank"])


def drifting_league(n_games: int, n_players: int, seed: int) -> tuple[Rounds, np.ndarray[Any, Any]]:
    """Random games of two players, a quarter of them drawn (Davidson 1970), and the skills at the end."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0.0, 220.0, n_players)
    player, lo, hi = (np.zeros((n_games, 2), dtype=np.int32) for _ in range(3))
    for i in range(n_games):
        pair = rng.choice(n_players, 2, replace=False)
        odds = 10.0 ** ((skill[pair[0]] - skill[pair[1]]) / 400.0)
        chances = np.array([odds, 0.9 * np.sqrt(odds), 1.0])
        result = rng.choice(3, p=chances / chances.sum())
        player[i] = pair if result < 2 else pair[::-1]
        lo[i], hi[i] = ([0, 0], [1, 1]) if result == 1 else ([0, 1], [0, 1])
        skill[pair] += rng.normal(0.0, 15.0, 2)
    times = 1_000_000 + 86_400 * np.arange(n_games)
    return Rounds.from_columns(np.arange(0, 2 * n_games + 1, 2), player.ravel(), lo.ravel(), hi.ravel(), times), skill


def league(n_games: int) -> list[Contest]:
    """The games of a league as contests."""
    rounds, _ = drifting_league(n_games, 24, 11)
    made = []
    for i in range(n_games):
        names = [f"team {player}" for player in rounds.player[2 * i : 2 * i + 2]]
        groups: list[Any] = [names] if rounds.hi[2 * i] else names
        made.append(contest(str(i), *groups, time_seconds=int(rounds.time_seconds[i])))
    return made


def rate_as(lake: Lake, recorded: Skipping | None, system: str = "elo", run: str = "run") -> RateReport:
    config = RunConfig("games", run, system, build_params(find_system(system), {}), recorded=recorded)
    return rate(lake, config, Serial())


@pytest.mark.parametrize("name", of_contests())
def test_draw__of_two_players_is_rated_by_every_system(name: str) -> None:
    games = frame(("won", [1, 2]), ("won again", [1, 2]), ("drawn", [1, 1]))
    history = rate_history(games, system=name)
    drawn = history[history["contest"] == "drawn"].set_index("player")
    assert (len(history), history.attrs["skipped"], history.attrs["reasons"]) == (6, 0, {})
    change = drawn["mu"] - drawn["mu_prior"]
    if name == "codeforces":  # by the rule of the site both have the last place, and the sum decreases
        assert change["a"] < change["b"]
    elif name in ("elo-srm", "leetcode"):  # a tie of all is neutral, with a bonus; or has the first place for both
        assert (change > 0).all()
    else:
        assert change["a"] < 0
        assert change["b"] > change["a"]
    assert drawn["n_before"].tolist() == [2, 2]


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("name", of_contests())
def test_tie_of_all__is_rated_unless_the_system_skips_it(name: str) -> None:
    games = frame(("first", [1, 2, 3]), ("tied", [1, 1, 1]), ("alone", [1]))
    default, skipped, kept = (rate_history(games, system=name, skip_uninformative=s) for s in (None, True, False))
    reasons = {"one participant only": 1, "all participants tied": 1}
    assert skipped.attrs["reasons"] == reasons
    assert kept.attrs["reasons"] == {}
    assert len(kept) == 7
    if name in SKIP_TIES:
        assert default.attrs["reasons"] == reasons
    else:
        assert default.attrs["reasons"] == {"one participant only": 1}
        assert "tied" in set(default["contest"])
        both = ["contest", "player", "mu", "sigma"]
        pd.testing.assert_frame_equal(default[both], kept[both].iloc[:6])


def test_rate__counts_skipped_contests_by_reason(tmp_path: Path) -> None:
    contests = [
        contest("alone", "ann"), contest("first", "ann", "bob", "cy"), contest("tied", ["ann", "bob", "cy"]),
        contest("also tied", ["ann", "bob", "cy", "dan"]), contest("drawn", ["ann", "bob"]),
    ]  # fmt: skip
    lake = lake_of(tmp_path / "lake", contests)
    report = rate_run(lake)
    assert report.reasons == {"one participant only": 1, "all participants tied": 2}
    assert report.line().endswith("1 contest skipped: one participant only; 2 contests skipped: all participants tied")
    assert rated(lake).column("contest_id").to_pylist() == ["first"] * 3 + ["drawn"] * 2
    elo = rate_run(lake, run="elo", system="elo")
    assert (elo.reasons, elo.skipped, elo.rows) == ({"one participant only": 1}, 1, 12)
    facts = json.loads((Path(lake.url) / "runs/elo/run.json").read_text())
    assert (facts["skip_uninformative"], facts["draws_are_results"]) == (False, True)


@pytest.mark.quick("elo-rule0-*", "elo-mmr-rule2-*", "elo-rule5-*")
@pytest.mark.parametrize(
    ("system", "rule", "asked"),
    [*((system, OLD, asked) for system in ("elo", "elo-mmr") for asked in (None, True)),
     *(("elo", Skipping(False, False, False), asked) for asked in (None, False))],
)  # fmt: skip
def test_run__of_release_0_1_keeps_its_rule(tmp_path: Path, system: str, rule: Skipping, asked: bool | None) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(21, seed=2))
    ingest(lake, [contest("drawn", ["player 1", "player 2"])])
    reasons = {"one participant only", "all participants tied"} if rule == OLD else set()
    found = rate_as(lake, rule, system).reasons.keys()
    assert found >= reasons if reasons else not found
    facts = json.loads((Path(lake.url) / "runs/run/run.json").read_text())
    assert facts["skip_uninformative"] is (rule == OLD)
    assert "draws_are_results" not in facts
    before = stamps(Path(lake.url) / "runs")
    assert rate_run(lake, system=system, skip_uninformative=asked).rated == 0
    assert stamps(Path(lake.url) / "runs") == before
    ingest(lake, [contest("drawn too", ["player 1", "player 2"]), contest("won", "player 1", "player 2")])
    report = rate_run(lake, system=system, skip_uninformative=asked)
    assert (report.kept, report.rated, report.rows) == (22, 2, 2 if reasons else 4)
    line = "1 contest skipped: draws of two players, as this run skips them since release 0.1"
    assert (line in report.line()) == bool(reasons)


def test_run__with_another_rule_is_rated_again_only_if_contests_differ(tmp_path: Path) -> None:
    plain = lake_of(tmp_path / "plain", synthetic(20, spice=False))
    tied = lake_of(
        tmp_path / "tied", [*synthetic(20, spice=False), contest("tied", ["player 1", "player 2", "player 3"])]
    )
    for lake in (plain, tied):
        rate_run(lake, system="elo")
    report = rate_run(plain, system="elo", skip_uninformative=True)
    assert (report.kept, report.rated) == (20, 0)
    with pytest.raises(ValueError, match="requested was contests skipped: one participant"):
        rate_run(tied, system="elo", skip_uninformative=True)
    report = rate_run(tied, system="elo", skip_uninformative=True, replace=True)
    assert (report.kept, report.rated, report.why) == (0, 21, "other parameters")
    assert report.reasons == {"all participants tied": 1}
    assert rate_run(tied, system="elo").rated == 0
    assert rate_run(tied, system="elo-mmr", replace=True).reasons == {"all participants tied": 1}
    assert rate_run(tied, system="glicko", replace=True).reasons == {}  # the rule of a new run


def test_default_run__has_the_choices_in_its_name() -> None:
    assert default_run("d", "elo", {}) == "d-elo"
    assert default_run("d", "elo-mmr", {}, True) == "d-elo-mmr"
    names = {default_run("d", "elo", {}, one) for one in (None, True, False)}
    assert len(names) == 3
    assert default_run("d", "elo", {}, False) == "d-elo-db748ae4"  # the name of release 0.1


def test_tune__uses_the_rule_of_the_system(tmp_path: Path) -> None:
    from ranklake.flows.engines.task_pool import open_task_pool

    lake = lake_of(tmp_path / "lake", league(150))
    n_draws = sum(int(one.hi[0]) for one in league(150))
    history = load_history(Dataset.open(lake, "games"), Skipping.of(SYSTEMS["elo"]))
    assert len(history.rounds) == 150
    assert len(history.rounds.keep(history.rounds.informative)) == 150 - n_draws < 150
    config = TuningConfig("games", "elo", ("k=20",), train_share=0.5)
    with open_task_pool(1) as task_pool:
        report = tune(lake, config, task_pool, config.proposals())
    rate_run(lake, system="elo", k=20)
    tested = evaluate(lake, "run", 75).filters["experienced"]
    assert report.best[0].test["pair_inversion"] == pytest.approx(tested.mean("pair_inversion"), rel=1e-13)


def test_evaluate__scores_no_draw_and_is_defined(tmp_path: Path) -> None:
    games = league(300)
    lake = lake_of(tmp_path / "lake", games)
    rate_run(lake, system="elo")
    found = evaluate(lake, "run")
    drawn = np.array([one.hi[0] == 1 for one in games])
    for scores in found.filters.values():
        assert not scores.weight[drawn].any()
        assert np.isnan(scores.per_round("pair_inversion")[drawn]).all()
        assert np.isfinite(scores.mean("pair_inversion"))
        assert np.isfinite(scores.mean("cross_entropy"))
    assert found.filters["everyone"].weight[~drawn][-50:].tolist() == [2] * 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elo", "glicko2", "trueskill"])
def test_league__ratings_are_closer_to_skills_if_draws_count(name: str) -> None:
    system = SYSTEMS[name]
    params, gains = system.params(), []
    for seed in (1, 2, 3):
        rounds, skill = drifting_league(4000, 60, seed)
        near = []
        for kept in (rounds.keep(rounds.informative), rounds):
            beliefs = system.newcomers(params, len(skill))
            rate_rounds(system, params, beliefs, kept, Serial())
            near.append(np.corrcoef(beliefs.mu, skill)[0, 1])
        gains.append(near[1] - near[0])
    assert np.mean(gains) > 0.001
