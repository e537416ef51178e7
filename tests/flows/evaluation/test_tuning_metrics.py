"""The metrics of a search: those of `evaluate` to the bit, what a data set can have, and the folds."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.games import as_periods, ingest_periods, league, with_advantages
from helpers.lakes import contest, copy_of, ingest, lake_of, rate_run, synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

import ranklake
from ranklake.flows.common.metric_names import METRIC_NAMES, TUNED_METRICS
from ranklake.flows.common.skipping import Skipping
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.flows.entrants.scores import METRICS
from ranklake.flows.evaluation.evaluate import Evaluation, evaluate
from ranklake.flows.evaluation.three_way import means_of
from ranklake.flows.evaluation.tuning.folds import cuts_of
from ranklake.flows.evaluation.tuning.history import TrialRounds, load_history
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.report import TuningReport
from ranklake.flows.evaluation.tuning.scoring import OF_GAMES
from ranklake.flows.evaluation.tuning.trials import run_trial
from ranklake.flows.evaluation.tuning.tune import tune
from ranklake.flows.execution import local
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER
from ranklake.storage import Dataset, Lake, LakeError, Run

GAMES = with_advantages(league(400, n_players=14, days=25))
KINDS = ("contests", "games", "fractions")
OF_BOTH = [metric for metric in TUNED_METRICS if metric != "log_loss3"]  # of contests and of games


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Contests of 2 to 60 players with ties; games; games with scores between a draw and a win."""
    lake = Lake.open(tmp_path_factory.mktemp("metrics") / "lake", create=True)
    ingest(lake, synthetic(40, seed=5, n_players=45, size=45), "contests")
    ingest_periods(lake, as_periods(GAMES), "games")
    between = [game._replace(score=(game.time_seconds % 65) / 64, weight=1.0, advantage=0.0) for game in GAMES]
    ingest_periods(lake, as_periods(between), "fractions")
    return lake


@pytest.fixture
def lake(tmp_path: Path, ingested: Lake) -> Lake:
    return copy_of(ingested, tmp_path / "lake")


def of_evaluate(evaluation: Evaluation, metric: str, filter: str, first: int = 0, stop: int | None = None) -> float:
    """A metric as `evaluate` has it, over some rounds; games have it in the table of games if that has it."""
    if evaluation.games is not None and metric in OF_GAMES:
        at = ("everyone", "experienced").index(filter)
        games, _, squares, bits = evaluation.games[first:stop, at, :4].sum(axis=0)
        return float({"brier": squares, "cross_entropy": bits}[metric] / games)
    if metric == "log_loss3":
        assert evaluation.three_way is not None
        return float(means_of(evaluation.three_way.scores.sums[first:stop])[filter][metric])
    return evaluation.filters[filter].mean(metric, slice(first, stop))


@pytest.mark.quick("contests-elo-mmr", "games-elo")
@pytest.mark.parametrize(
    ("kind", "system"),
    [("fractions", "elo")]
    + [(kind, name) for kind in KINDS[:2] for name in ("elo", "elo-mmr", "glicko2", "trueskill", "bar")],
)
def test_tune__with_one_setting_has_the_bits_of_evaluate(lake: Lake, kind: str, system: str) -> None:
    """Every metric under every filter that has it, of a whole history; the search cuts it into four parts."""
    rate_run(lake, dataset=kind, system=system)
    evaluation = evaluate(lake, "run")
    history = load_history(Dataset.open(lake, kind), Skipping.of(SYSTEMS[system]))
    document, compared = evaluation.to_json(), set()
    for filter in ("everyone", "experienced", "top100"):
        for metric in OF_BOTH if kind == "contests" else TUNED_METRICS:
            if filter == "top100" and metric in (*OF_GAMES, "own_cross_entropy", "calibration_error", "log_loss3"):
                continue
            expected = of_evaluate(evaluation, metric, filter)
            found = run_trial(history, system, {}, metric, filter).scores
            assert np.array_equal(found[metric], expected, equal_nan=True), (filter, metric)
            for name in ("pair_inversion", "rank_deviation"):
                assert found[name] == evaluation.filters[filter].mean(name)
            if not math.isnan(expected):
                compared.add(metric)
            if kind != "contests" and metric in OF_GAMES:
                assert found[metric] == document["games"][filter][OF_GAMES[metric]]
            if metric == "log_loss3":
                assert found[metric] == document["three_way"]["filters"][filter]["log_loss3"]
    without = {"rank_information"} if kind != "contests" else set()
    without |= set() if SYSTEMS[system].performance_law else {"rank_information", "rank_likelihood"}
    without |= {"log_loss3"} if kind == "contests" else set()
    assert compared == set(TUNED_METRICS) - without


def test_names__are_those_of_evaluate() -> None:
    assert set(METRICS) <= set(METRIC_NAMES)
    assert set(TUNED_METRICS) <= set(METRIC_NAMES)


def search(lake: Lake, dataset: str = "contests", workers: int = 1, **changes: Any) -> TuningReport:
    options = {"system": "elo", "space": ("k=10,60,200",), "train_share": 0.35, "name": "s"} | changes
    config = TuningConfig(dataset, **options)
    with open_task_pool(workers) as opened:
        return tune(lake, config, opened, config.proposals())


@pytest.mark.quick("games")
@pytest.mark.parametrize("kind", KINDS)
def test_filter__is_everyone_by_default_for_games_alone(lake: Lake, kind: str) -> None:
    shown = {}
    for metric in ("brier", "cross_entropy", "log2_rank_error", "pair_inversion"):
        shown[metric] = search(lake, kind, metric=metric, name="").config
        assert shown[metric].name == TuningConfig(**_choices(shown[metric])).name  # as if the filter had been named
    new = "experienced" if kind == "contests" else "everyone"
    assert [config.filter for config in shown.values()] == [new, new, new, "experienced"]


def _choices(config: TuningConfig) -> dict[str, Any]:
    names = ("dataset", "system", "space", "train_share", "metric", "filter")
    return {name: getattr(config, name) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("metric", [metric for metric in TUNED_METRICS if metric != "rank_information"])
def test_pruning__stops_trials_of_every_metric_and_keeps_the_best(lake: Lake, metric: str) -> None:
    options = {"metric": metric, "filter": "everyone", "space": ("k=2:900:log:40",), "train_share": 0.9}
    patient, pruned = search(lake, "games", **options), search(lake, "games", prune=True, name="pruned", **options)
    assert not any(trial.stopped for trial in patient.trials)
    assert any(trial.stopped for trial in pruned.trials)
    assert {repr(one) for one in pruned.trials if not one.stopped} <= {repr(one) for one in patient.trials}
    assert pruned.best[0] == patient.best[0]


@pytest.mark.slow
def test_record__of_scores_between_has_its_own_trials_of_brier(lake: Lake) -> None:
    """Those of before compared such scores with a win."""
    for metric, other in (("brier", True), ("own_cross_entropy", False)):
        search(lake, "fractions", metric=metric, name=metric)
        stored = json.loads((Path(lake.url) / "searches" / metric / "trials" / "000000.json").read_text())
        assert stored["contests"].endswith("-scores") == other


def test_command__refuses_a_metric_before_the_first_trial(invoke: Command, lake: Lake) -> None:
    words = ("--system", "elo", "--space", "k=20", "--train-share", "0.5", "--lake", lake.url)
    possible = "pair_inversion, rank_deviation, rank_likelihood, log2_rank_error, got 'cross_entropy'"
    games = ("tune", "--dataset", "games", *words)
    assert possible in invoke.refuses(*games, "--metric", "cross_entropy", "--filter", "top100")
    some = "a --metric of pair_inversion, rank_deviation, rank_likelihood, own_cross_entropy, brier, calibration_error"
    assert some in invoke.refuses(*games, "--metric", "rank_information")
    assert not (Path(lake.url) / "searches").exists()


# Chances of a win, a draw and a loss


def learnt(lead: np.ndarray, result: np.ndarray) -> tuple[float, float]:
    """nu and the advantage by Fisher scoring, as the formulas say; ``lead``, ``result`` (1, 0, -1) of first players."""
    theta, h, e = math.log(2 / 3), 0.0, math.log(10.0) / 400.0
    for _ in range(80):
        nu, expected = math.exp(theta), 1.0 / (1.0 + 10.0 ** (-(lead + h) / 400.0))
        win, draw, loss = chances(expected, nu)
        m = 2.0 * expected - 1.0
        v = win + loss - m * m
        a = 2.0 * expected * (1.0 - expected) / v
        h += (np.sum((result - m) * a * e) - h / 1e4) / (np.sum(a * a * v * e * e) + 1e-4)
        slope = np.sum((result == 0) - draw + (result - m) * draw * m / v) - (theta - math.log(2 / 3))
        theta += slope / (np.sum(draw * (1.0 - draw) - draw * draw * m * m / v) + 1.0)
    return math.exp(theta), h


def chances(expected: Any, nu: float) -> tuple[Any, Any, Any]:
    """By the root of the quadratic."""
    b = nu * (0.5 - expected)
    x = (-b + np.sqrt(b * b + 4.0 * (1.0 - expected) * expected)) / (2.0 * (1.0 - expected))
    z = x + 1.0 / x + nu
    return x / z, nu / z, 1.0 / (x * z)


def test_log_loss3__is_of_chances_learnt_from_the_periods_before(lake: Lake) -> None:
    """By hand, from the ratings of a run of `elo`."""
    rate_run(lake, dataset="games", system="elo")
    rows = Run.open(lake, "run").read_rounds().to_pylist()
    lead, result, told = (np.empty(len(GAMES)) for _ in range(3))
    for at, (game, one, other) in enumerate(zip(GAMES, rows[::2], rows[1::2], strict=True)):
        result[at] = 2.0 * game.score - 1.0
        ahead = one["mu_prior"] - other["mu_prior"]
        lead[at] = (-ahead if result[at] < 0 else ahead) + game.advantage  # a draw has White first
        told[at] = min(one["n_before"], other["n_before"]) >= 1
    ends = np.cumsum([0] + [len(period.games.weight) for period in as_periods(GAMES)])
    nu, h, last, bits = 2 / 3, 0.0, 0, []
    for first, stop in pairwise(ends):
        if first >= 20 and 10 * first >= 11 * last:
            (nu, h), last = learnt(lead[:first], result[:first]), first
        for at in range(first, stop):
            win, draw, loss = chances(1.0 / (1.0 + 10.0 ** (-(lead[at] + h) / 400.0)), nu)
            if told[at]:
                bits.append(-math.log2(win if result[at] > 0 else loss if result[at] < 0 else draw))
    history = load_history(Dataset.open(lake, "games"))
    trial = run_trial(history, "elo", {}, "log_loss3", "everyone", cuts=(20, 22, len(ends) - 1))
    assert trial.scores["log_loss3"] == pytest.approx(np.mean(bits), rel=1e-8)
    assert trial.within[1] == pytest.approx(np.mean(bits[-int(told[ends[22] :].sum()) :]), rel=1e-8)


@pytest.mark.slow
def test_log_loss3__of_a_period_depends_on_no_later_one(lake: Lake) -> None:
    changed = [game if at < 300 else game._replace(score=1.0 - game.score) for at, game in enumerate(GAMES)]
    ingest_periods(lake, as_periods(changed), "changed")
    one, other = (
        run_trial(load_history(Dataset.open(lake, name)), "glicko2", {}, "log_loss3", "everyone", cuts=(9, 17, 25))
        for name in ("games", "changed")
    )
    assert (one.before, one.within[0]) == (other.before, other.within[0])
    assert one.within[1] != other.within[1]


@pytest.mark.slow
def test_log_loss3__is_of_contests_between_two_alone(invoke: Command, tmp_path: Path) -> None:
    duels = [contest(str(at), *(f"p{p}" for p in np.random.default_rng(at).permutation(4)[:2])) for at in range(40)]
    lake = lake_of(tmp_path / "lake", duels, "contests")
    options = {"metric": "log_loss3", "filter": "everyone", "method": "grid", "trials": None}
    found = search(lake, metric="log_loss3", filter="everyone").best[0]
    frame = ranklake.tune(frame_of(duels), "elo", {"k": [10, 60, 200]}, train_share=0.35, **options)
    assert frame["train_log_loss3"][0] == found.train["log_loss3"] > 0.0
    assert frame["test_log_loss3"][0] == found.test["log_loss3"]
    rate_run(lake, dataset="contests", system="elo", k=float(found.settings["k"]))
    assert found.test["log_loss3"] == of_evaluate(evaluate(lake, "run", 14), "log_loss3", "everyone")
    larger = [*duels, contest("three", "p0", "p1", "p2")]
    ingest(lake, larger, "larger")
    says = "contest three of data set larger has 3 participants, and log_loss3 is for games between two; use a --metric"
    assert says in invoke.refuses("tune", "--dataset", "larger", "--metric", "log_loss3", "--lake", lake.url)
    with pytest.raises(ValueError, match=r"contest number 41 has 3 participants, .* use a metric of pair_inversion"):
        ranklake.tune(frame_of(larger), "elo", {"k": [10]}, **options)


# Folds


@pytest.mark.quick("games-brier")
@pytest.mark.parametrize("metric", TUNED_METRICS)
@pytest.mark.parametrize("kind", ["contests", "games"])
def test_folds__choose_on_all_before_a_block_and_score_on_it(lake: Lake, kind: str, metric: str) -> None:
    """By hand: a run of each setting, whose rounds `evaluate` scores."""
    if (kind, metric) in (("games", "rank_information"), ("contests", "log_loss3")):
        return
    report = search(lake, kind, metric=metric, filter="everyone", folds=3, workers=2)
    runs = {}
    for k in ("10", "60", "200"):
        rate_run(lake, run=f"k{k}", dataset=kind, system="elo", k=float(k))
        runs[k] = evaluate(lake, f"k{k}")
    sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
    for fold in report.folds:
        before = {k: of_evaluate(run, metric, "everyone", 0, fold.first) for k, run in runs.items()}
        best = min(before, key=lambda k: sign * before[k])
        assert (fold.settings, fold.before) == ({"k": best}, before[best])
        assert fold.score == of_evaluate(runs[best], metric, "everyone", fold.first, fold.stop)
    whole = {k: of_evaluate(run, metric, "everyone") for k, run in runs.items()}
    ranked = sorted(whole, key=lambda k: sign * whole[k])
    assert [(found.settings["k"], found.train[metric], found.test) for found in report.best] == [
        (k, whole[k], {}) for k in ranked
    ]
    n_rounds = len(runs["10"])
    assert [fold.first for fold in report.folds[1:]] + [n_rounds] == [fold.stop for fold in report.folds]
    again = search(lake, kind, metric=metric, filter="everyone", folds=3)
    assert (again.n_new, again.folds, again.best) == (0, report.folds, report.best)


def test_folds__of_one_are_the_search_of_before(lake: Lake) -> None:
    report = search(lake)
    assert search(lake, folds=1).n_new == 0
    [fold] = report.folds
    assert (fold.settings, fold.score) == (report.best[0].settings, report.best[0].test["pair_inversion"])
    stored = json.loads((Path(lake.url) / "searches" / "s" / "search.json").read_text())
    assert "folds" not in stored
    assert (fold.first, fold.stop) == (14, 40)
    assert TuningConfig("contests", "elo", folds=2).name != TuningConfig("contests", "elo").name


def test_folds__know_nothing_of_what_comes_later(tmp_path: Path) -> None:
    contests = synthetic(40, seed=5, n_players=20)
    changed = [*contests[:-6], *(contest(one.contest_id, *reversed(one.handles.to_pylist())) for one in contests[-6:])]
    reports = [
        search(lake_of(tmp_path / name, made, "contests"), folds=4, filter="everyone")
        for name, made in (("one", contests), ("other", changed))
    ]
    one, other = (report.folds for report in reports)
    assert (one[:3], one[3].settings, one[3].before) == (other[:3], other[3].settings, other[3].before)
    assert one[3].score != other[3].score


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(2, 40), min_size=2, max_size=60), st.data())
def test_cuts__are_blocks_of_nearly_equal_numbers_of_rows(sizes: list[int], data: Any) -> None:
    first = data.draw(st.integers(0, len(sizes) - 1))
    folds = data.draw(st.integers(1, len(sizes) - first))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    places = np.concatenate([np.arange(size) for size in sizes])
    rounds = Rounds.from_columns(offsets, places, places, places, np.arange(len(sizes)))
    cuts = cuts_of(TrialRounds(rounds, 40), first, folds)
    assert (cuts[0], cuts[-1], len(cuts)) == (first, len(sizes), folds + 1)
    assert np.diff(cuts).min() >= 1
    rows = offsets[list(cuts)]
    wanted = rows[0] + (rows[-1] - rows[0]) * np.arange(folds + 1) / folds
    if rows[-1] - rows[0] >= 2 * folds * max(sizes):  # else a block of one round may move the next ones
        assert np.abs(rows - wanted).max() <= max(sizes) / 2


@pytest.mark.slow
def test_folds__complete_a_pruned_trial_that_one_of_them_chose(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials after the first eight stop at their first rung, whatever their score; a fold may have chosen one."""
    patient = search(lake, folds=6, space=("k=2:400:log:20",), train_share=0.05, filter="everyone")
    monkeypatch.setattr("ranklake.flows.evaluation.tuning.tune._limits", lambda trials, metric: (100.0,) * 4)
    monkeypatch.setattr("ranklake.flows.evaluation.tuning.proposals._Grid.batch", 4)
    pruned = search(lake, folds=6, space=("k=2:400:log:20",), train_share=0.05, filter="everyone", prune=True, name="p")
    assert all(trial.stopped for trial in pruned.trials)
    reached = max(len(trial.within) for trial in pruned.trials)
    assert 1 <= reached < 6
    assert pruned.folds[: reached + 1] == patient.folds[: reached + 1]
    assert all(math.isnan(fold.score) and not fold.settings for fold in pruned.folds[reached + 1 :])
    monkeypatch.setattr(local, "rate_rounds", None)
    again = search(lake, folds=6, space=("k=2:400:log:20",), train_share=0.05, filter="everyone", prune=True, name="p")
    assert repr(again.folds) == repr(pruned.folds)


def test_folds__have_no_score_where_the_chosen_trial_diverges(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from ranklake.flows.execution.rounds import rate_rounds

    expected = search(lake, folds=3, name="whole").folds

    def diverge(system: Any, params: Any, beliefs: Any, rounds: Rounds, engine: Any) -> Any:
        if rounds.time_seconds[-1] == last:
            raise ArithmeticError("ratings diverged")
        return rate_rounds(system, params, beliefs, rounds, engine)

    last = load_history(Dataset.open(lake, "contests")).rounds.time_seconds[-1]
    monkeypatch.setattr(local, "rate_rounds", diverge)
    report = search(lake, folds=3)
    assert len(report.failed) == 3
    assert report.best == []
    assert report.folds[:2] == expected[:2]
    assert report.folds[2].settings == expected[2].settings
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert (document["folds"][2]["score"], document["mean"]) == (None, None)


def test_command__shows_the_folds_and_writes_them_as_json(invoke: Command, lake: Lake) -> None:
    words = ("tune", "--dataset", "games", "--system", "elo", "--space", "k=10,60", "--train-share", "0.2",
             "--metric", "brier", "--folds", "2", "--lake", lake.url)  # fmt: skip
    answer = invoke(*words)
    assert answer.code == 0, answer.err
    assert "Brier score ↓ of folds: chosen on all contests before the block" in " ".join(answer.out.split())
    assert "mean of the folds 0." in " ".join(answer.out.split())
    assert "tested" not in answer.out
    assert answer.out.strip().splitlines()[-1].startswith("ranklake rate --dataset games --system elo --set k=")
    document = json.loads(invoke(*words, "--format", "json").out)
    scores = [fold["score"] for fold in document["folds"]]
    assert (document["mean"], document["filter"], document["new"]) == (sum(scores) / 2, "everyone", 0)
    assert document["best"][0].keys() == {"settings", "train", "test"}
    assert [fold["fold"] for fold in document["folds"]] == [1, 2]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--folds", "0"), 2, "0 is not in the range x>=1"),
        (("--method", "em", "--folds", "2"), 2, "an em search estimates from the whole history"),
        (("--folds", "36"), 1, "36 folds need as many contests after the training share, and there are 32"),
    ],
)
def test_command__refuses_impossible_folds(
    invoke: Command, lake: Lake, words: tuple[str, ...], code: int, says: str
) -> None:
    system = ("--system", "elo-mms") if "em" in words else ("--system", "elo", "--space", "k=20")
    given = ("tune", "--dataset", "contests", *system, "--train-share", "0.2", "--lake", lake.url)
    assert says in invoke.refuses(*given, *words, code=code)


def test_folds__without_anything_to_score_are_refused(tmp_path: Path) -> None:
    pairs = [
        contest(str(at), *(f"p{player}" for player in np.random.default_rng(at).permutation(3))) for at in range(20)
    ]
    late = [contest(f"late {at}", f"new {at}", f"newer {at}") for at in range(5)]
    lake = lake_of(tmp_path / "lake", [*pairs, *late], "contests")
    with pytest.raises(LakeError, match="the block of fold 4 has nothing to score by pair_inversion under filter exp"):
        search(lake, folds=4, train_share=0.5)


def test_tune_of_a_frame__has_the_folds_of_the_lake(tmp_path: Path) -> None:
    contests = synthetic(40, seed=5, n_players=20)
    expected = search(lake_of(tmp_path / "lake", contests, "contests"), folds=3, metric="cross_entropy")
    options = {"method": "grid", "trials": None, "train_share": 0.35, "metric": "cross_entropy", "folds": 3}
    frame = ranklake.tune(frame_of(contests), "elo", {"k": [10, 60, 200]}, **options)
    found = frame.attrs["folds"]
    assert [fold["settings"]["k"] for fold in found] == [float(fold.settings["k"]) for fold in expected.folds]
    assert [fold["score"] for fold in found] == [fold.score for fold in expected.folds]
    assert frame.attrs["mean"] == expected.to_json()["mean"]
    assert frame["train_cross_entropy"].tolist() == [found.train["cross_entropy"] for found in expected.best]
    assert frame["test_cross_entropy"].isna().all()
    with pytest.raises(ValueError, match=r"30 players under filter experienced.* a metric of pair_inversion, rank_dev"):
        ranklake.tune(frame_of(contests), "elo", {"k": [10]}, metric="rank_information", train_share=0.5)


def test_progress__has_the_trials_done_and_the_best_so_far(lake: Lake) -> None:
    told: list[tuple[int, int | None, str]] = []

    def run(trials: int) -> TuningReport:
        config = TuningConfig("contests", "elo", ("k=10:200",), "bayes", train_share=0.5, trials=trials, name="s")
        with open_task_pool(1) as opened:
            return tune(lake, config, opened, config.proposals(), on_progress=lambda *given: told.append(given))

    first = run(10)
    assert [done for done, *_ in told[:2]] == [0, 1]
    assert {total for _, total, _ in told} == {10}
    assert max(done for done, *_ in told) == 10
    best = first.best[0].train["pair_inversion"]
    assert [text for *_, text in told if text.startswith("best")][-1] == f"best pair_inversion {best:.5g}"
    told.clear()
    run(12)
    assert told[0][:2] == (10, 12)  # the stored ones, from which the time left counts
