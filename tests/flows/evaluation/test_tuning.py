"""Search for hyperparameters: the paper's protocol, the proposals, resuming, and expectation-maximisation."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import contest, copy_of, files, lake_of, rate_run, start, synthetic
from helpers.teams import rosters
from helpers.timeouts import TIMEOUT

import ranklake
from ranklake.flows.common.configuration.settings import build_params, parse_settings
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.task_pool import TaskPool, open_task_pool
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning import spaces
from ranklake.flows.evaluation.tuning import trials as module
from ranklake.flows.evaluation.tuning.history import TrialRounds, load_history
from ranklake.flows.evaluation.tuning.proposals import open_proposals
from ranklake.flows.evaluation.tuning.published_grids import GRIDS, RANGES, SPACES, published_grid
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.spaces import Range, as_texts, draw, grid, parse_space
from ranklake.flows.evaluation.tuning.trials import held_out_scores, run_trial
from ranklake.flows.evaluation.tuning.tune import TuningReport, tune
from ranklake.flows.events.start import season_event
from ranklake.flows.smoothing.params import estimated_of, params_of, settings_of
from ranklake.rating_kernels import SYSTEMS, Reset
from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER
from ranklake.rating_kernels.registry import of_contests
from ranklake.rating_kernels.smoothing.estimation import ESTIMATED
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.rating_kernels.smoothing.transitions import RoundReset
from ranklake.storage import DamagedError, Dataset, Lake, LakeError

N_ROUNDS = 60
SPACE = ("weight_limit=0.05:0.8:log:3", "sig_limit=40,90")
ELO_MMR = SYSTEMS["elo-mmr"]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    contests = synthetic(N_ROUNDS, n_players=25, large=14)
    return lake_of(tmp_path_factory.mktemp("ingested") / "lake", contests)


@pytest.fixture
def lake(tmp_path: Path, ingested: Lake) -> Lake:
    return copy_of(ingested, tmp_path / "lake")


def found_in(lake: Lake, workers: int = 2, task_pool: TaskPool | None = None, **changes: Any) -> TuningReport:
    options = {"dataset": "games", "system": "elo-mmr", "space": SPACE, "train_share": 0.5, "name": "s"} | changes
    config = TuningConfig(**options)
    with task_pool or open_task_pool(workers) as opened:
        return tune(lake, config, opened, config.proposals())


class Counted:
    """A task pool that runs jobs one after the other, counts them, and is interrupted after ``last`` jobs."""

    def __init__(self, last: float = math.inf) -> None:
        self.done, self._last = 0, last

    def run(self, work: Callable[..., Any], shared: Any, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        for at in reversed(range(len(jobs))):  # not in the order of the jobs
            if self.done >= self._last:
                raise KeyboardInterrupt
            self.done += 1
            yield at, work(shared, *jobs[at])

    def __enter__(self) -> Counted:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("system", ["elo-mmr", "elo", "topcoder"])
def test_tune__scores_follow_the_protocol_of_the_paper(lake: Lake, system: str) -> None:
    """Training: the first contests, each scored before it is rated. Test: the other contests."""
    spaces = {"elo-mmr": ("rho=1",), "elo": ("k=20",), "topcoder": ("weight_limit=0.2",)}
    report = found_in(lake, system=system, space=spaces[system], train_share=0.45)
    assert report.n_train == 27
    key, value = spaces[system][0].split("=")
    rate_run(lake, run="whole", system=system, **{key: value})
    rate_run(lake, run="beginning", system=system, max_rounds=27, **{key: value})
    tuned, tested = evaluate(lake, "beginning"), evaluate(lake, "whole", 27)
    for name in ("pair_inversion", "rank_deviation"):
        assert report.best[0].train[name] == pytest.approx(tuned.filters["experienced"].mean(name), rel=1e-13)
        assert report.best[0].test[name] == pytest.approx(tested.filters["experienced"].mean(name), rel=1e-13)


def test_tune__ranks_by_the_metric_on_the_first_contests(lake: Lake) -> None:
    for metric, sign in (("pair_inversion", -1), ("rank_deviation", 1)):
        report = found_in(lake, metric=metric, name=metric)
        assert len(report.trials) == report.n_new == 6
        ranked = sorted(report.trials, key=lambda trial: sign * trial.scores[metric])
        assert [found.settings for found in report.best] == [trial.settings for trial in ranked[:3]]
        assert report.best[0].train[metric] != report.best[2].train[metric]


@pytest.mark.quick("True-bayes")
@pytest.mark.parametrize("method", ["grid", "random", "bayes"])
@pytest.mark.parametrize("prune", [False, True])
def test_tune__finds_the_largest_rank_information(tmp_path: Path, method: str, prune: bool) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(24, n_players=70, size=90, spice=False))
    options = {"metric": "rank_information", "trials": 6, "method": method, "prune": prune, "name": "info"}
    report = found_in(lake, **options)
    whole = [trial for trial in report.trials if not trial.stopped]
    best = max(whole, key=lambda trial: trial.scores["rank_information"])
    assert report.best[0].settings == best.settings
    assert set(report.best[0].train) == {"pair_inversion", "rank_deviation", "rank_information"}
    settings = best.settings
    rate_run(lake, run="whole", **settings)
    rate_run(lake, run="beginning", max_rounds=report.n_train, **settings)
    for run, first, scores in (("beginning", 0, report.best[0].train), ("whole", report.n_train, report.best[0].test)):
        expected = evaluate(lake, run, first).filters["experienced"].mean("rank_information")
        assert scores["rank_information"] == pytest.approx(expected, rel=1e-12)
        assert 0.0 < expected < 3.0
    again = found_in(lake, **options)
    assert (again.n_new, again.best) == (0, report.best)


@pytest.mark.quick("calibration_error")
@pytest.mark.parametrize("metric", ["own_cross_entropy", "brier", "calibration_error", "rank_likelihood"])
def test_tune__has_the_bits_of_evaluate(lake: Lake, metric: str) -> None:
    """Also where some rounds have no pair, and some trials were pruned."""
    prune = metric != "brier"
    options = {"system": "elo", "space": ("n=50:1600:log:40",), "filter": "everyone", "name": metric}
    report = found_in(lake, metric=metric, prune=prune, **options)
    assert any(trial.stopped for trial in report.trials) == prune
    whole = [trial for trial in report.trials if not trial.stopped]
    choose = max if metric in HIGHER_IS_BETTER else min
    best = choose(whole, key=lambda trial: trial.scores[metric])
    assert report.best[0].settings == best.settings
    for run, most in (("whole", {}), ("beginning", {"max_rounds": report.n_train})):
        rate_run(lake, run=f"{metric}-{run}", system="elo", **most, **best.settings)
    tuned, tested = evaluate(lake, f"{metric}-beginning"), evaluate(lake, f"{metric}-whole", report.n_train)
    assert report.best[0].train[metric] == tuned.filters["everyone"].mean(metric)
    assert report.best[0].test[metric] == tested.filters["everyone"].mean(metric)


@pytest.mark.parametrize(("system", "setting"), [("elo", "k=20"), ("bt", "ridge=300")])
def test_tune__of_games_has_the_bits_of_evaluate(tmp_path: Path, system: str, setting: str) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_periods(lake, as_periods(league(300, n_players=12)))
    config = TuningConfig("league", system, (setting,), metric="own_cross_entropy", filter="everyone", train_share=0.4)
    with open_task_pool(1) as pool:
        [found] = tune(lake, config, pool, config.proposals()).best
    rate_run(lake, run="whole", dataset="league", system=system, **parse_settings((setting,)))
    n_train = int(Dataset.open(lake, "league").contests.num_rows * 0.4)
    tested = evaluate(lake, "whole", n_train)
    assert found.test["own_cross_entropy"] == tested.filters["everyone"].mean("own_cross_entropy")
    assert found.test["own_cross_entropy"] == tested.to_json()["games"]["everyone"]["cross_entropy"]


def test_trials__read_no_covariates() -> None:
    with pytest.raises(ValueError, match="bt with covariates=length: trials do not read covariates of games"):
        TuningConfig("league", "bt", ("covariates=length",), train_share=0.4).proposals()


def test_command__shows_the_metric_that_it_optimised(invoke: Command, lake: Lake) -> None:
    space = (
        "--dataset",
        "games",
        "--system",
        "elo",
        "--space",
        "k=20,40",
        "--filter",
        "everyone",
        "--train-share",
        "0.5",
    )
    for metric, head in (("calibration_error", "calibration error"), ("own_cross_entropy", "own cross-entropy")):
        shown = " ".join(invoke("tune", *space, "--metric", metric, "--lake", lake.url).out.split())
        assert all(f"{head}, {part}" in shown for part in ("tuned", "tested"))
    refused = invoke.refuses("tune", *space, "--metric", "brier", "--filter", "top100", "--lake", lake.url, code=2)
    possible = "pair_inversion, rank_deviation, rank_information, rank_likelihood, cross_entropy, log2_rank_error"
    assert f"with it, metric must be one of {possible}, got 'brier'" in refused


def test_tune__names_the_metrics_that_a_search_can_have(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"top100 selects by place.* log2_rank_error, got 'brier'"):
        TuningConfig("games", "elo", metric="brier", filter="top100")
    lake = lake_of(tmp_path / "lake", synthetic(40, n_players=20))
    possible = (
        "pair_inversion, rank_deviation, rank_likelihood, own_cross_entropy, brier, calibration_error, "
        "cross_entropy, log2_rank_error"
    )
    with pytest.raises(LakeError, match=f"a --metric of {possible}$"):
        found_in(lake, metric="rank_information")


def test_tune__says_that_no_round_is_large_enough_for_rank_information(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(40, n_players=20))
    with pytest.raises(LakeError, match=r"20 contests. has no contest with 30 players under filter experienced"):
        found_in(lake, metric="rank_information")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["grid", "random", "bayes"])
@pytest.mark.parametrize("prune", [False, True])
def test_tune__is_the_same_for_any_number_of_workers(lake: Lake, method: str, prune: bool) -> None:
    expected = found_in(lake, 1, method=method, prune=prune, trials=20, name="one", space=SPACE)
    for name, task_pool in (("three", open_task_pool(3)), ("other order", Counted())):
        report = found_in(lake, task_pool=task_pool, method=method, prune=prune, trials=20, name=name.replace(" ", "-"))
        assert repr(report.trials) == repr(expected.trials)
        assert report.best == expected.best
    other = found_in(lake, method=method, prune=prune, trials=5, name="seed", seed=1)
    assert [one.settings for one in other.trials] != [one.settings for one in expected.trials[:5]]


@pytest.mark.quick("7-bayes")
@pytest.mark.parametrize("method", ["grid", "random", "bayes"])
@pytest.mark.parametrize("last", [0, 1, 7, 13])
def test_tune__resumed_after_an_interrupt_is_the_same(lake: Lake, method: str, last: int) -> None:
    space = ("weight_limit=0.05:0.8:log:5", "sig_limit=40:120:3")
    whole = found_in(lake, method=method, trials=14, space=space, name="whole")
    with pytest.raises(KeyboardInterrupt):
        found_in(lake, task_pool=Counted(last), method=method, trials=14, space=space)
    rest = Counted()
    resumed = found_in(lake, task_pool=rest, method=method, trials=14, space=space)
    assert rest.done == resumed.n_new == 14 - last
    assert (repr(resumed.trials), resumed.best) == (repr(whole.trials), whole.best)
    folder = Path(lake.url) / "searches"
    assert files(folder / "s" / "trials") == files(folder / "whole" / "trials")


@pytest.mark.quick("bayes")
@pytest.mark.parametrize("method", ["grid", "random", "bayes"])
def test_tune__with_more_trials_continues(lake: Lake, method: str) -> None:
    space = ("weight_limit=0.05:0.8:log:5", "sig_limit=40:120:3")
    found_in(lake, method=method, trials=5, space=space)
    more = Counted()
    report = found_in(lake, task_pool=more, method=method, trials=13, space=space)
    assert more.done == 8
    assert repr(report.trials) == repr(found_in(lake, method=method, trials=13, space=space, name="whole").trials)


def test_tune__once_complete_rates_nothing_and_writes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found_in(lake)
    before = files(Path(lake.url))

    def refuse(*_: Any) -> None:
        raise AssertionError("all trials are stored")

    monkeypatch.setattr("ranklake.flows.execution.local.rate_rounds", refuse)
    again = found_in(lake)
    assert (again.n_new, again.best) == (0, expected.best)
    assert files(Path(lake.url)) == before


@pytest.mark.slow
def test_tune__prunes_only_on_request(lake: Lake) -> None:
    options = {"space": ("weight_limit=0.001:0.9:log:30",), "trials": 40, "method": "random", "train_share": 0.9}
    patient = found_in(lake, **options)
    assert not any(trial.stopped for trial in patient.trials)
    pruned = found_in(lake, prune=True, name="pruned", **options)
    stopped = [trial for trial in pruned.trials if trial.stopped]
    assert stopped
    assert all(len(trial.rungs) < module.RUNGS for trial in stopped)
    ended = {repr(trial) for trial in pruned.trials if not trial.stopped}
    assert ended <= {repr(trial) for trial in patient.trials}
    assert pruned.best[0].train["pair_inversion"] == patient.best[0].train["pair_inversion"]


def test_tune__reports_failed_trials(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*arguments: Any) -> Any:
        if arguments[1].weight_limit > 0.3:
            raise ArithmeticError("ratings diverged")
        return rate_rounds(*arguments)

    from ranklake.flows.execution.rounds import rate_rounds

    monkeypatch.setattr("ranklake.flows.execution.local.rate_rounds", diverge)
    for method in ("grid", "bayes"):
        report = found_in(lake, method=method, trials=24, name=method)
        failed = [trial for trial in report.trials if trial.error]
        assert {trial.error for trial in failed} == {"ratings diverged"}
        assert 0 < len(failed) < len(report.trials)
        assert not any(float(best.settings["weight_limit"]) > 0.3 for best in report.best)


def test_tune__ignores_trials_on_other_contests(lake: Lake) -> None:
    first = found_in(lake, train_share=0.51)
    with pytest.raises(LakeError, match="search s exists with another metric"):
        found_in(lake, train_share=0.51, metric="rank_deviation")
    with Dataset.ingest(lake, "games") as adding:
        adding.remove("59", "after the training rounds")
    later = found_in(lake, train_share=0.51)
    assert later.n_new == 0
    assert repr(later.trials) == repr(first.trials)
    assert later.best != first.best
    with Dataset.ingest(lake, "games") as adding:
        adding.remove("0", "a training round")
    again = found_in(lake, train_share=0.51)
    assert again.n_new == len(again.trials)
    assert repr(again.trials) != repr(first.trials)
    assert found_in(lake, train_share=0.51).n_new == 0


def test_tune__names_missing_and_damaged_objects(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no data set 'nothing'"):
        found_in(lake, dataset="nothing")
    with pytest.raises(LakeError, match=r"first 0\.05 of data set games .3 contests. has no player with 5 rounds"):
        found_in(lake, train_share=0.05)
    one = lake_of(tmp_path / "one", [contest("a", "ada", "grace")])
    with pytest.raises(LakeError, match=r"\(0 contests\) has no player"):
        found_in(one)
    found_in(lake, name="torn")
    (Path(lake.url) / "searches" / "torn" / "trials" / "000000.json").write_text("[{", encoding="utf-8")
    with pytest.raises(DamagedError, match=r"searches/torn/trials/000000\.json: not readable .* delete it"):
        found_in(lake, name="torn")


def test_history__counts_rounds_before_and_renumbers_players(lake: Lake) -> None:
    history = load_history(Dataset.open(lake, "games"))
    part = history.first(10)
    assert part.n_players == len(set(part.rounds.player.tolist())) == part.rounds.player.max() + 1
    seen: dict[int, int] = {}
    expected = []
    for player in part.rounds.player.tolist():
        expected.append(seen.get(player, 0))
        seen[player] = expected[-1] + 1
    assert part.n_before.tolist() == expected
    assert isinstance(part, TrialRounds)


def reset_ratings(lake: Lake, **settings: Any) -> None:
    """A season before contest 17 with a reset, and one before contest 20 without."""
    times = Dataset.open(lake, "games").contests.column("time_seconds").to_pylist()
    with Dataset.ingest(lake, "games") as body:
        body.start_season(season_event("a", times[17], **settings))
        body.start_season(season_event("b", times[20]))


@pytest.mark.parametrize("who", ["all", "active_since"])
def test_run_trial__resets_ratings_as_a_run_does(lake: Lake, who: str) -> None:
    before = run_trial(load_history(Dataset.open(lake, "games")), "elo-mmr", {"rho": "1"}, "pair_inversion")
    times = Dataset.open(lake, "games").contests.column("time_seconds").to_pylist()
    chosen = who if who == "all" else f"{who}={np.datetime64(times[12], 's')}"
    reset_ratings(lake, keep=0.3, widen=100.0, centre="mean", who=chosen)
    history = load_history(Dataset.open(lake, "games"))
    trial = run_trial(history, "elo-mmr", {"rho": "1"}, "pair_inversion")
    rate_run(lake)
    whole = evaluate(lake, "run").filters["experienced"]
    assert trial.scores["pair_inversion"] == pytest.approx(whole.mean("pair_inversion"), rel=1e-13)
    assert trial.scores != before.scores
    test = held_out_scores(history, 15, "elo-mmr", {"rho": "1"}, Serial())
    assert test["pair_inversion"] == pytest.approx(whole.mean("pair_inversion", slice(15, None)), rel=1e-13)


def test_tune__runs_trials_again_after_a_reset_and_refuses_one_without_a_rule(lake: Lake) -> None:
    first = found_in(lake, name="one")
    reset_ratings(lake, keep=0.3, widen=100.0)
    again = found_in(lake, name="one")
    assert again.n_new == first.n_new > 0
    assert again.trials[0].scores != first.trials[0].scores
    with pytest.raises(ValueError, match=r"season a begins with a reset, and widen must be 0 with codeforces"):
        found_in(lake, system="codeforces", space=(), name="two")


def test_run_trial__in_rungs_is_the_same_as_at_once(lake: Lake) -> None:
    history = load_history(Dataset.open(lake, "games"))
    trial = run_trial(history, "elo-mmr", {"rho": "1"}, "pair_inversion")
    rate_run(lake)
    whole = evaluate(lake, "run").filters["experienced"]
    assert trial.scores["pair_inversion"] == pytest.approx(whole.mean("pair_inversion"), rel=1e-13)
    assert trial.rungs[-1] == trial.scores["pair_inversion"]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Address of a Dask cluster of two worker processes."""
    distributed = pytest.importorskip("distributed", reason="needs pip install 'ranklake[cluster]'")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
@pytest.mark.parametrize("method", ["grid", "bayes"])
def test_tune__on_a_cluster_is_the_same(lake: Lake, scheduler: str, method: str) -> None:
    expected = found_in(lake, method=method, trials=10, name="here")
    report = found_in(lake, task_pool=open_task_pool(scheduler=scheduler), method=method, trials=10, name="there")
    assert (repr(report.trials), report.best) == (repr(expected.trials), expected.best)


@pytest.mark.slow
@pytest.mark.bound("ranklake.flows.engines.task_pool.RETRIES")
def test_task_pool__names_the_cluster_that_lost_a_task(scheduler: str) -> None:
    with (
        open_task_pool(scheduler=scheduler) as task_pool,
        pytest.raises(OSError, match=f"{scheduler} lost a task: .*goes on"),
    ):
        list(task_pool.run(lambda shared, code: os._exit(code), "a history", [(1,)]))  # ends its worker each time


@pytest.mark.slow
def test_command__reports_a_scheduler_that_does_not_answer(
    invoke: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="needs pip install 'ranklake[cluster]'")
    monkeypatch.setattr("ranklake.flows.engines.task_pool.TIMEOUT_SECONDS", 1.0)
    words = ("--train-share", "0.5", "--scheduler", "tcp://127.0.0.1:9")
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in invoke.refuses(
        "tune", "--dataset", "games", *words, "--lake", lake.url
    )


# Spaces


def test_published_grids__have_the_sizes_of_the_paper() -> None:
    sizes = {name: len(published_grid(name)) for name in GRIDS}
    # m points before rounding; rounding to a step makes some equal
    assert sizes["elo-mmr"] == 6 * sizes["elo-mmx"] == 6 * 2 * 14 * 10
    assert sizes["cf-general"] == 15 * 12
    assert sizes["trueskill"] == 10 * 15 * 12
    assert sizes["glicko-allpairs"] == sizes["bar"] == 15 * 12
    assert sizes["topcoder"] <= 8 * 12


def test_published_grids__contain_the_tuned_values_of_the_engine() -> None:
    """The engine's tuned values for other systems lie on these grids; source as in the module."""
    assert {0.56, 0.9, 6.18, 10.0} <= {point["weight"] for point in published_grid("cf-general")}
    points = published_grid("trueskill")
    assert {21.5, 100.0, 10.0, 1.0} <= {point["eps"] for point in points}
    assert {85.0, 110.0, 485.0, 30.0} <= {point["beta"] for point in points}
    assert {11.0, 18.0, 23.0, 8.0, 5.0, 14.0} <= {point["tau"] for point in points}
    assert {(315.0, 29.0), (390.0, 29.0), (165.0, 23.0), (600.0, 38.0)} <= {
        (point["beta"], point["sig_drift"]) for point in published_grid("glicko-allpairs")
    }


@pytest.mark.parametrize("name", list(RANGES))
def test_ranges__cover_the_grid(name: str) -> None:
    space = parse_space(SYSTEMS[name], RANGES[name])
    for point in published_grid(name):
        for key, value in point.items():
            axis = space[key]
            assert axis.low <= value <= axis.high if isinstance(axis, Range) else value in axis, (key, value)


@pytest.mark.quick("*-elo-mmr", "*-trueskill")
@pytest.mark.parametrize("name", of_contests())
@pytest.mark.parametrize("method", ["grid", "random", "bayes"])
def test_default_space__of_every_system_contains_its_default_and_is_valid(name: str, method: str) -> None:
    system = SYSTEMS[name]
    proposals = open_proposals(method, system, (), "pair_inversion", 0, 40)
    asked = proposals.ask(0, min(proposals.batch, proposals.total))
    params = [build_params(system, one) for one in asked]
    assert len({repr(one) for one in params}) >= min(len(asked), 8)
    space, default = parse_space(system, RANGES.get(name) or SPACES[name]), system.params()
    for key, axis in space.items():
        value = getattr(default, key)
        if name == "trueskill":
            continue  # the paper's grid is for the model "place"
        assert axis.low <= value <= axis.high if isinstance(axis, Range) else value in axis, (key, value)


@pytest.mark.parametrize(
    "name",
    [name if name in ("elo", "glicko") else pytest.param(name, marks=pytest.mark.slow) for name in of_contests()],
)
def test_command__tunes_every_system_without_a_space(invoke: Command, tmp_path: Path, name: str) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(24, n_players=9, size=5))
    arguments = ("--dataset", "games", "--system", name, "--trials", 2, "--train-share", 0.6, "--lake", lake.url)
    answer = invoke("tune", *arguments)
    assert answer.code == 0
    assert "2 trials, 2 of them now" in answer.out
    assert f"ranklake rate --dataset games --system {name} --set" in answer.out


def test_parse_space__accepts_values_and_ranges() -> None:
    space = parse_space(ELO_MMR, ["rho=0.04,inf", "weight_limit=0.1:0.4:log:3", "history_len=2:9", "tie_mode=split"])
    assert space["rho"] == (0.04, math.inf)
    assert space["weight_limit"].points("weight_limit") == pytest.approx([0.1, 0.2, 0.4])
    drawn = [draw(space, 3, trial) for trial in range(50)]
    assert drawn[7] == draw(space, 3, 7)
    assert {one["history_len"] for one in drawn} == set(map(float, range(2, 10)))
    assert {one["rho"] for one in drawn} == {0.04, math.inf}
    assert all(0.1 <= one["weight_limit"] <= 0.4 for one in drawn)
    assert np.mean([one["weight_limit"] < 0.2 for one in drawn]) == pytest.approx(0.5, abs=0.2)
    points = grid(parse_space(ELO_MMR, ["rho=0,1", "sig_limit=50:90:3"]))
    assert [as_texts(point) for point in points][:2] == [("rho=0", "sig_limit=50"), ("rho=0", "sig_limit=70")]


@pytest.mark.parametrize(
    ("space", "says"),
    [
        (("speed=1,2",), "elo-mmr has no parameter 'speed'"),
        (("rho=1,much",), "rho must be a number, got 'much'"),
        (("rho=1,-1",), "elo-mmr with rho=-1: rho must be within 0..1e+09 or inf"),
        (("weight_limit=0:1",), "elo-mmr with weight_limit=0: weight_limit must be within 1e-09..1e+09"),
        (("weight_limit=0:1:log",), "must begin above 0 to be searched by its logarithm"),
        (("weight_limit=1:0.1",), "from a lower to a higher finite number, got '1:0.1'"),
        (("weight_limit=1:inf",), "from a lower to a higher finite number"),
        (("weight_limit=1:2:3:4",), "must be a range lo:hi, lo:hi:log or, for a grid, lo:hi:log:9"),
        (("weight_limit=1:x",), "must be a range lo:hi"),
        (("weight_limit=0.1:1:0",), "must be a range lo:hi"),
        (("weight_limit=0.1:1",), "a grid needs values, as weight_limit=a,b,c, or a number of points"),
        (("rho=1,,2",), "rho must be values a,b,c or a range"),
        (("rho=1,1.0",), "rho has a value twice"),
        (("rho",), "a setting is key=value"),
        (("rho=1", "rho=2"), "rho is set twice"),
        (("beta=100,200",), "beta and gamma go together"),
        (("tie_mode=full,third",), "tie_mode must be one of full, split"),
    ],
)
def test_command__refuses_an_invalid_space_before_any_work(
    invoke: Command, lake: Lake, space: tuple[str, ...], says: str
) -> None:
    words = [word for text in space for word in ("--space", text)]
    assert says in invoke.refuses("tune", "--dataset", "games", *words, "--lake", lake.url, code=2)
    assert not (Path(lake.url) / "searches").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--metric", "luck"), 2, "'luck' is not one of 'pair_inversion', 'rank_deviation'"),
        (("--system", "chess"), 2, "system must be one of elo-mmr"),
        (("--system", "elo", "--method", "random"), 2, "a random search needs a number of trials"),
        (("--method", "random"), 2, "a random search needs a number of trials"),
        (("--train-share", "1"), 2, "1.0 is not in the range"),
        (("--name", "../s"), 2, "the name of a search must be"),
        (("--workers", "2", "--scheduler", "tcp://127.0.0.1:1"), 2, "give one of them"),
    ],
)
def test_command__reports_errors_in_one_line(
    invoke: Command, lake: Lake, arguments: tuple[str, ...], code: int, says: str
) -> None:
    assert says in invoke.refuses("tune", "--dataset", "games", *arguments, "--lake", lake.url, code=code)


def test_command__prints_the_best_trials_and_a_rate_command(invoke: Command, lake: Lake) -> None:
    words = ("--train-share", "0.5", "--space", "rho=0,1,inf", "--space", "tie_mode=full,split", "--best", "2")
    answer = invoke("tune", "--dataset", "games", *words, "--lake", lake.url)
    assert answer.code == 0, answer.err
    assert "tuned on the first 30 of 60 contests" in answer.out
    assert "6 trials, 6 of them now" in answer.out
    last = answer.out.strip().splitlines()[-1]
    assert last.startswith("ranklake rate --dataset games --system elo-mmr --set rho=")
    rated = invoke(*shlex.split(last)[1:])
    assert rated.code == 0, rated.err
    tested = re.findall(r"│ 1 .*?(\d+\.\d{3}) │ +(\d+\.\d{3}) │$", answer.out, re.MULTILINE)
    run = re.search(r"^run (\S+):", rated.out)[1]
    report = json.loads(
        invoke("evaluate", "--run", run, "--skip-rounds", 30, "--format", "json", "--lake", lake.url).out
    )
    scores = report["filters"]["experienced"]
    assert tested == [(f"{scores['pair_inversion']:.3f}", f"{scores['rank_deviation']:.3f}")]


@pytest.mark.slow
def test_command__interrupted_keeps_its_finished_trials(invoke: Command, lake: Lake) -> None:
    """Ctrl-C in the middle of a batch: the next call runs the remaining trials."""
    words = (
        *["tune", "--dataset", "games", "--train-share", "0.5", "--workers", "1", "--name", "cut", "--lake"],
        lake.url,
    )
    space = ("--space", "weight_limit=0.01:0.9:log:12")
    # the sixth trial sends the signal of Ctrl-C
    before = (
        "import os, signal, ranklake.flows.execution.local as local\n"
        "rate, count = local.rate_rounds, [0]\n"
        "def counted(*arguments):\n"
        "    count[0] += 1\n"
        f"    if count[0] == 6 * {module.RUNGS}:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return rate(*arguments)\n"
        "local.rate_rounds = counted"
    )
    cut = start(*words, *space, before=before)
    out, err = cut.communicate(timeout=TIMEOUT)
    assert (cut.returncode, out) == (1, b""), err
    assert b"interrupted" in err
    kept = json.loads((Path(lake.url) / "searches" / "cut" / "trials" / "000000.json").read_text())["trials"]
    assert 3 <= len(kept) < 12  # the result of a finished trial may be lost
    answer = invoke(*words, *space)
    assert f"12 trials, {12 - len(kept)} of them now" in answer.out, answer.err


def test_parse_space__checks_a_bounded_number_of_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "_CORNERS", 3)
    checked: list[Any] = []
    monkeypatch.setattr(spaces, "check_settings", lambda system, settings: checked.extend(settings))
    parse_space(ELO_MMR, ["rho=0,1", "sig_limit=50:90", "drift_per_day=0,1"])
    assert len(checked) == 3


# Expectation-maximisation


def drifting(n: int = 16, sizes: tuple[int, int] = (30, 45)) -> list[Any]:
    """Contests among sixty players whose skills drift."""
    draw = np.random.default_rng(9)
    skill, found = draw.normal(0.0, 350.0, 60), []
    for at in range(n):
        present = draw.permutation(60)[: draw.integers(*sizes)]
        ordered = present[np.argsort(-skill[present] - draw.normal(0.0, 150.0, len(present)))]
        found.append(contest(f"c{at:02}", *(f"p{player}" for player in ordered), time_seconds=500_000 * at))
        skill += draw.normal(0.0, 30.0, 60)
    return found


@pytest.fixture
def drifted(tmp_path: Path) -> Lake:
    return lake_of(tmp_path / "lake", drifting())


def tuned(lake: Lake, **changes: Any) -> TuningReport:
    options = {"system": "elo-mms", "method": "em", "space": (), "train_share": 0.75}
    return found_in(lake, 1, **options | changes)


@pytest.mark.parametrize(
    ("system", "resets"), [("elo-mms", []), ("elo-mmr", []), ("elo-mmr", [Reset(1500.0, 0.5, 90.0)])]
)
def test_tune__each_proposal_is_the_estimate_of_a_smoothing_with_the_one_before_it(
    drifted: Lake, system: str, resets: list[Reset]
) -> None:
    for one in resets:
        seventh = Dataset.open(drifted, "games").contests.column("time_seconds")[7].as_py()
        with Dataset.ingest(drifted, "games") as body:
            body.start_season(season_event("a", seventh, keep=one.keep, widen=one.widen, centre=one.centre))
    between = [RoundReset(7, None, one) for one in resets]
    trials = tuned(drifted, system=system, trials=3).trials
    params = SYSTEMS[system].params()
    assert build_params(SYSTEMS[system], trials[0].settings) == params
    train = load_history(Dataset.open(drifted, "games")).first(12)
    for trial in trials[1:]:
        normal = params_of(params, {}).with_normal_noise()
        smoother = Smoother(normal, train.rounds, train.n_players, resets=between)
        while not smoother.converged:
            smoother.sweep()
        expected = smoother.estimate(estimated_of(params))
        params = build_params(SYSTEMS[system], trial.settings)
        got = params_of(params, {}).with_normal_noise()
        for name in ESTIMATED:
            assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=2e-5, abs=0.11), (
                name
            )  # 0.1 instead of 0
    assert trials[1].settings != trials[2].settings


def test_tune__begins_at_the_values_of_the_space_and_keeps_the_others(drifted: Lake) -> None:
    report = tuned(drifted, space=("skew=1", "gamma=50"), trials=2)
    first, second = (build_params(SYSTEMS["elo-mms"], trial.settings) for trial in report.trials)
    assert (first.skew, first.gamma, first.beta) == (1.0, 50.0, 130.0)
    assert second.skew == 1.0
    assert second.gamma != 50.0


def test_tune__continues_with_the_same_proposals(drifted: Lake) -> None:
    whole = tuned(drifted, name="whole", trials=3)
    tuned(drifted, trials=1)
    resumed = tuned(drifted, trials=3)
    assert (resumed.n_new, repr(resumed.trials), resumed.best) == (2, repr(whole.trials), whole.best)


def test_tune_of_a_frame__takes_the_same_steps(drifted: Lake) -> None:
    expected = tuned(drifted, trials=2)
    frame = ranklake.tune(frame_of(drifting()), "elo-mms", method="em", trials=2, train_share=0.75)
    assert len(frame) == 2
    for trial in expected.trials:
        params = build_params(SYSTEMS["elo-mms"], trial.settings)
        [row] = frame[frame["beta"] == params.beta].to_dict("records")
        assert all(row[name] == getattr(params, name) for name in ESTIMATED)
        assert row["train_pair_inversion"] == trial.scores["pair_inversion"]


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("elo-mmr", {}),
        ("elo-mmr", {"weight_limit": 0.05, "sig_limit": 30.0, "drift_per_day": 12.0}),
        ("elo-mmx", {"sig_limit": 0.0, "drift_per_day": 9.0}),
        ("elo-mms", {"beta": 90.0, "skew": 2.0, "practice": 0.0, "gamma": 0.0}),
    ],
)
def test_settings__are_the_reverse_of_params(system: str, settings: dict[str, float]) -> None:
    params = SYSTEMS[system].params(**settings)
    found = settings_of(params, params_of(params, {}))
    for name, value in found.items():
        assert value == pytest.approx(getattr(params, name), rel=1e-5, abs=0.3), name


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--system", "elo"), "only the hyperparameters of elo-mmr, elo-mmx and elo-mms can be estimated"),
        (("--space", "rho=0.5,1"), "an em search begins at one point; give one value for rho, as rho=VALUE"),
        (("--space", "sig_limit=40:90"), "an em search begins at one point; give one value for sig_limit"),
        (("--space", "beta=200", "--space", "gamma=30"), "estimates are for weight_limit, sig_limit and drift_per_day"),
    ],
)
def test_command__refuses_what_cannot_be_estimated(
    invoke: Command, drifted: Lake, arguments: tuple[str, ...], says: str
) -> None:
    words = ("tune", "--dataset", "games", "--method", "em", *arguments)
    assert says in invoke.refuses(*words, "--lake", drifted.url, code=2)


TEAMS = [rosters(f"r{at:02}", *([None, f"p{k}"] for k in range(30)), ("ours", "a", "b")) for at in range(4)]


@pytest.mark.parametrize(
    ("contests", "says"),
    [
        (drifting(30, (2, 3)), "needs contests of at least 30 participants for training, the largest has 2"),
        (TEAMS, "cannot use contests of teams; use another method"),
    ],
    ids=["duels", "teams"],
)
def test_command__refuses_contests_that_estimate_nothing(
    invoke: Command, tmp_path: Path, contests: list[Any], says: str
) -> None:
    lake = lake_of(tmp_path / "lake", contests)
    words = ("tune", "--dataset", "games", "--method", "em", "--train-share", "0.9", "--filter", "everyone")
    assert f"an em search {says}" in invoke.refuses(*words, "--lake", lake.url)


def test_command__prints_a_rate_command(invoke: Command, drifted: Lake) -> None:
    words = ("--method", "em", "--train-share", "0.75", "--trials", "2", "--system", "elo-mms")
    answer = invoke("tune", "--dataset", "games", *words, "--lake", drifted.url)
    assert answer.code == 0, answer.err
    last = answer.out.strip().splitlines()[-1]
    assert re.match(r"ranklake rate .* --set beta=[\d.]+ --set gamma=[\d.]+ --set drift_per_day=", last)
    assert invoke(*shlex.split(last)[1:]).code == 0
