"""Numbers that ratings cannot represent: refused in all inputs, never committed, never in JSON."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from chaos.numbers import check_numbers
from helpers.commands import Command
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import contest, lake_of, rate_run, rated, same_tables, synthetic

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import find_system
from ranklake.flows.common.finite import finite_json, finite_rows
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning.history import TrialRounds
from ranklake.flows.evaluation.tuning.trials import run_trial
from ranklake.flows.execution.outcomes import RoundError, check_outcome
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.frames.predict import predict
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import rate
from ranklake.rating_kernels import ConvergenceError, Elo, Outcome, Rounds
from ranklake.storage import Lake, LakeError, Run

ENGINES = {"serial": Serial, "threads": lambda: Threads(2), "partitioned": lambda: InProcessEngine(2)}
GAMES = [contest(name, "ada", "grace", "alan", time_seconds=day * 86_400) for day, name in enumerate("abcde")]
LARGE = synthetic(1, size=40, spice=False, large=0)


def runaway(**values: float) -> Elo:
    """Hyperparameters that an older release accepted."""
    params = Elo()
    for name, value in values.items():
        object.__setattr__(params, name, value)
    return params


def rate_with(lake: Lake, params: Elo, engine: Any = None, run: str = "run", **more: Any) -> None:
    rate(lake, RunConfig("games", run, "elo", params, **more), engine or Serial())


# --- inputs ---


def test_set__refuses_a_hyperparameter_out_of_its_range(tmp_path: Path, invoke: Command) -> None:
    lake_of(tmp_path / "lake", GAMES)
    lake = ("--dataset", "games", "--lake", tmp_path / "lake")
    message = invoke.refuses("rate", *lake, "--system", "elo", "--set", "k=1e308", code=2)
    assert message == "k must be within 0..1e+10 rating points, got 1e+308"
    message = invoke.refuses("tune", *lake, "--system", "elo", "--space", "k=1,1e308", code=2)
    assert "k must be within 0..1e+10 rating points, got 1e+308" in message
    with pytest.raises(ValueError, match=r"k must be within 0\.\.1e\+10 rating points, got 1e\+308"):
        rate_history(pd.DataFrame({"contest": "a", "player": [1, 2], "rank": [1, 2]}), "elo", k=1e308)


def test_ingest__error_of_a_time_out_of_range_in_a_table_has_the_range(tmp_path: Path, invoke: Command) -> None:
    (tmp_path / "games.csv").write_text(f"contest,rank,player,time\na,1,ada,{10**16}\na,2,grace,{10**16}\n")
    options = ("--dataset", "games", "--time-format", "unix", "--lake", tmp_path / "lake")
    message = invoke.refuses("ingest", "files", tmp_path / "games.csv", *options)
    assert "a time must be a whole number within -1e+14..1e+14 seconds since 1970, got time = " in message


# --- lakes of an older release ---


@pytest.mark.parametrize("more", [{"weight": 1e308}, {"perf_ceiling": -1e308}])
def test_rate__error_of_a_contest_of_an_older_lake_has_a_remedy(tmp_path: Path, more: dict[str, float]) -> None:
    games = [*GAMES[:2], contest("c", "ada", "grace", time_seconds=2 * 86_400, **more), *GAMES[3:]]
    lake = lake_of(tmp_path / "lake", games)
    (name,) = more
    rule = (
        rf"contest c of data set games: {name} must be within .*, got -?1e\+308; correct the source and ingest it again"
    )
    for dry_run in (True, False):
        with pytest.raises(LakeError, match=rule + r", or skip the contest: `ranklake rate --exclude c`"):
            rate_run(lake, system="elo", dry_run=dry_run)
    rate_run(lake, system="elo", max_rounds=2)  # the rounds before can be rated
    rate_run(lake, system="elo", exclude=("c",))
    assert np.isfinite(rated(lake)["mu"]).all()


# --- ratings that are not finite ---


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("k", "mu"), [(math.inf, "inf"), (1e300, r"5e\+299")])
def test_rate__never_commits_a_rating_that_is_no_number(tmp_path: Path, engine: str, k: float, mu: str) -> None:
    lake = lake_of(tmp_path / "lake", GAMES)
    rule = (
        rf"contest a, round 0: elo: player 'ada' gets mu = {mu}; likely too extreme together: k={re.escape(f'{k:g}')}; "
        r"choose other settings, correct the contest, or exclude it with `ranklake rate --exclude a`"
    )
    with ENGINES[engine]() as opened, pytest.raises(ConvergenceError, match=rule):
        rate_with(lake, runaway(k=k), opened)
    assert Run.open(lake, "run").segments().stop_round == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_rate__names_the_round_of_many_and_the_weight(tmp_path: Path, engine: str) -> None:
    """In large and in small rounds; the rounds before are committed and stay valid."""
    games = [contest("first", *[f"player {i}" for i in range(300)], time_seconds=1), *GAMES[:2]]
    games += [contest("bad", "grace", "ada", "alan", time_seconds=10**6, weight=1e9), *GAMES[3:]]
    lake = lake_of(tmp_path / "lake", games)
    rule = r"contest bad, round 3: elo: player 'grace' gets mu = 5e\+63; likely .*: k=1e\+55, weight=1e\+09; choose"
    with ENGINES[engine]() as opened, pytest.raises(ConvergenceError, match=rule):
        rate_with(lake, runaway(k=1e55), opened)


@pytest.mark.parametrize("engine", ENGINES)
def test_rate__checks_large_rounds(tmp_path: Path, engine: str) -> None:
    lake = lake_of(tmp_path / "lake", LARGE)
    rule = r"contest 0, round 0: elo: player '\w+ \d+' gets mu = -?inf"
    with ENGINES[engine]() as opened, pytest.raises(ConvergenceError, match=rule):
        rate_with(lake, runaway(k=math.inf), opened)


def test_rate__continues_after_an_excluded_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits as without the attempt."""
    monkeypatch.setattr(
        "ranklake.flows.execution.outcomes.LARGEST", 1e15
    )  # legal hyperparameters do not reach the real bound
    games = [*GAMES[:3], contest("bad", "grace", "ada", time_seconds=10**6, weight=1e9)]
    lake, other = lake_of(tmp_path / "lake", games), lake_of(tmp_path / "other", games)
    with pytest.raises(ConvergenceError, match=r"contest bad, round 3: elo: player 'grace' gets mu = 1e\+19; likely"):
        rate_run(lake, system="elo", k=1e10)
    for one in (lake, other):
        rate_run(one, system="elo", k=1e10, exclude=("bad",))
    assert same_tables(rated(lake), rated(other))


def test_rate_history__names_contest_and_player(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"contest": ["x", "x", "y", "y"], "player": ["ada", "alan"] * 2, "rank": [1, 2] * 2})
    frame["weight"] = [1.0, 1.0, 1e9, 1e9]
    frame.loc[2:, "player"] = ["alan", "ada"]
    assert np.isfinite(rate_history(frame, "elo", engine="serial", k=1e10, n=1e-9)["mu"]).all()
    with pytest.raises(ValueError, match=r"beliefs of player 'ada': mu must be within -1e\+60\.\.1e\+60"):
        rate_history(frame, "elo", engine="serial", beliefs={"ada": 1e61})
    monkeypatch.setattr("ranklake.flows.execution.outcomes.LARGEST", 1e15)
    rule = (
        r"contest y, round 1: elo: player 'alan' gets mu = 1e\+19; likely too extreme together: n=1e-09, k=1e\+10, "
        r"weight=1e\+09; choose other hyperparameters, or leave the contest out"
    )
    with pytest.raises(ConvergenceError, match=rule):
        rate_history(frame, "elo", engine="serial", k=1e10, n=1e-9)


def test_trial__with_ratings_that_are_no_numbers_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ranklake.flows.evaluation.tuning.trials.build_params", lambda system, settings: runaway(k=math.inf)
    )
    rounds = Rounds.from_columns(np.arange(0, 18, 2), [0, 1] * 8, [0, 1] * 8, [0, 1] * 8)
    trial = run_trial(TrialRounds.of(rounds), "elo", {"k": "inf"}, "pair_inversion", "everyone")
    assert trial.error.endswith("gets mu = inf")
    assert trial.scores == {}


def test_predict__names_the_player() -> None:
    prediction = predict({"ada": 1600.0, "alan": 1500.0}, ["ada", "alan"], "elo")
    prediction._display = type(prediction._display)(find_system("elo"), runaway(k=math.inf), 3.0)
    with pytest.raises(ConvergenceError, match=r"to be predicted, 'ada' at place 1, .*player 'ada' gets mu = inf"):
        prediction.outcomes("ada", [1])
    with pytest.raises(ValueError, match=r"^weight must be within 1e-09\.\.1e\+09, got 1e\+308"):
        predict({"ada": 1600.0}, ["ada", "alan"], "elo", weight=1e308)


@pytest.fixture
def infinite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake of release 0.1 whose run has infinite ratings."""
    lake = lake_of(tmp_path / "lake", [*GAMES[:2], contest("c", "grace", "ada", time_seconds=10**6, weight=1e308)])
    monkeypatch.setattr("ranklake.flows.rating.rate.check_contests", lambda *_: None)
    monkeypatch.setattr("ranklake.flows.execution.outcomes._check_numbers", lambda *_: None)
    rate_run(lake, system="elo", k=1e10)
    assert np.isinf(rated(lake)["mu"]).any()
    return lake


def test_evaluate__refuses_a_run_with_infinite_ratings(infinite: Lake) -> None:
    with pytest.raises(LakeError, match=r"round 2 of run run has a rating that is not finite"):
        evaluate(infinite, "run")


def test_check__names_the_first_invalid_row() -> None:
    rounds = Rounds.from_columns([0, 2, 4], [0, 1, 2, 3], [0, 1, 0, 1], [0, 1, 0, 1], weight=[1.0, 1e9])
    system = find_system("elo")
    with pytest.raises(RoundError) as caught:
        rate_rounds(system, runaway(k=1e55), system.newcomers(Elo(), 4), rounds, Serial())
    assert (caught.value.round, caught.value.row, caught.value.player) == (1, 0, 2)


def test_check__the_smallest_positive_sigma_is_valid() -> None:
    system = find_system("glicko")
    rounds = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1])
    outcome = Outcome.empty(2)
    for column in (outcome.mu_prior, outcome.sigma_prior, outcome.mu, outcome.sigma):
        column[:] = 1.0
    outcome.sigma[0] = math.ulp(0.0)
    with check_outcome(system, system.params(), rounds, outcome):
        pass
    outcome.mu[1] = math.inf
    with (
        pytest.raises(RoundError, match="gets mu = inf") as caught,
        check_outcome(system, system.params(), rounds, outcome),
    ):
        pass
    assert caught.value.row == 1


# --- JSON ---


@pytest.mark.slow
def test_json__is_written_without_infinity_and_nan() -> None:
    """``json.dump`` and ``json.dumps`` write both by default, and no other program reads them."""
    calls = 0
    folder = Path(__file__).parents[2]
    parts = ("src", "flows", "storage", "rating_kernels")
    for file in [path for part in parts for path in (folder / part).rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "json" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.dump", "json.dumps"):
                calls += 1
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert given.get("allow_nan") == "False", f"{file}:{node.lineno}"
            if isinstance(node, ast.ImportFrom) and node.module == "json":
                raise AssertionError(f"{file}:{node.lineno}: import json, so that calls of dumps can be found")
    assert calls >= 15


def test_finite__numbers_become_null() -> None:
    value = {"a": [1.5, math.nan, (math.inf,)], "b": {"c": -math.inf, "d": "inf", "e": True}}
    assert finite_json(value) == {"a": [1.5, None, [None]], "b": {"c": None, "d": "inf", "e": True}}
    rows = pa.table({"x": [1.0, math.nan, math.inf, None], "n": [1, 2, 3, 4]})
    assert finite_rows(rows).to_pylist()[1:] == [{"x": None, "n": 2}, {"x": None, "n": 3}, {"x": None, "n": 4}]
    sound = pa.table({"x": [1.0, None]})
    assert finite_rows(sound) is sound


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_export__has_null_for_ratings_that_are_no_numbers(
    tmp_path: Path, infinite: Lake, invoke: Command, form: str
) -> None:
    target = tmp_path / f"ratings.{form}"
    arguments = ("--run", "run", "--what", "ratings", "--output", target, "--lake", tmp_path / "lake")
    assert invoke("export", *arguments).code == 0
    if form == "parquet":
        read = pd.read_parquet(target)
        assert read["mu"].isna().any()
        assert not np.isinf(read["mu"]).any()
    else:
        text = target.read_text(encoding="utf-8").lower()
        assert "inf" not in text
        assert "nan" not in text


# --- any numbers ---


@pytest.mark.parametrize("seed", range(40))
def test_numbers__of_few_systems_are_refused_or_rated(seed: int) -> None:
    assert check_numbers(seed, ("elo", "glicko", "cf-general")) is None
