"""Evaluation of runs against scores in plain Python, and comparisons of runs."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import twins.metrics as slow
from helpers.commands import Command
from helpers.lakes import commit_often, contest, ingest, lake_of, rate_run, rated, synthetic
from helpers.laws import everybody
from helpers.teams import draw_team_contests, team_contests, team_frame, team_rounds
from twins.calibration import pair_sums as slow_pairs
from twins.rank_information import rank_information as slow_information

import ranklake
from ranklake import rate_history
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.flows.entrants.entrants import Entrants
from ranklake.flows.entrants.scores import EACH_ROUND, METRICS, PER_ROUND, SUMMED, RoundScores
from ranklake.flows.evaluation import evaluate as module
from ranklake.flows.evaluation.evaluate import SIZES, division_of, evaluate, rounds_to_skip
from ranklake.flows.evaluation.evaluations import (
    bootstrap_interval,
    check_comparable,
    differences,
    half_width,
    student_quantile,
    win_rates,
)
from ranklake.flows.evaluation.frames import evaluate_history
from ranklake.flows.evaluation.tuning.history import load_history
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.trials import held_out_scores
from ranklake.flows.evaluation.tuning.tune import tune
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Prior
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.inference.win_probability import normal_win_probability
from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS
from ranklake.rating_kernels.metrics.metrics import FILTERS, HIGHER_IS_BETTER, LAW_METRICS, PER_ROW
from ranklake.rating_kernels.metrics.rank_likelihood import rank_likelihood
from ranklake.storage import Dataset, Lake, LakeError, Run

N_ROUNDS = 30
LEAST = {"everyone": 1, "experienced": 5, "top100": 1}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = lake_of(tmp_path_factory.mktemp("lake"), synthetic(N_ROUNDS, large=14))
    rate_run(made)
    rate_run(made, run="elo", system="elo")
    return made


def by_hand(lake: Lake, run: str, first_round: int, filter: str) -> dict[str, Any]:
    """The paper's protocol in plain Python: ratings before each round, means by participation."""
    rounds = defaultdict(list)
    for row in Run.open(lake, run).read_rounds(first_round).to_pylist():
        rounds[row["round_index"]].append(row)
    weights = weights_of(lake)
    of_pairs: list[list[float]] = []
    weight, sums, values, information, likelihood = 0, defaultdict(float), defaultdict(list), [], []
    for rows in rounds.values():
        standings = [(row["mu_prior"], row["lo"], row["hi"]) for row in rows]
        kept = slow.keep(
            standings, [row["n_before"] >= LEAST[filter] for row in rows], 100 if filter == "top100" else None
        )
        counted = [i for i, row in enumerate(rows) if row["n_before"] >= LEAST[filter]]
        if len(counted) > 1 and filter != "top100":
            of_pairs.append(pairs_by_hand(run, [rows[i] for i in counted], weights[rows[0]["round_index"]], len(rows)))
        if not kept:
            continue
        scores = slow.score([standings[i] for i in kept])
        weight += len(kept)
        scores["log2_rank_error"] = [abs(p) for p in scores["log2_performance"]]
        for name in PER_ROW:
            sums[name] += sum(scores[name])
        for name in ("kendall_tau_b", "spearman_rho"):
            values[name] += [] if scores[name] is None else [scores[name]]
        noise = 6_400.0 + 32_000.0 / weights[rows[0]["round_index"]]  # 80^2 + 80^2 / 0.2 by default
        mu = [rows[i]["mu_prior"] for i in kept]
        deviation = [math.hypot(rows[i]["sigma_prior"], noise**0.5) for i in kept]
        places = [[standings[i][1], standings[i][2]] for i in kept]
        first = [sum(other[0] < one[0] for other in places) for one in places]
        last = [at + sum(other == one for other in places) - 1 for at, one in zip(first, places, strict=True)]
        if len(kept) >= 30:  # only round 14
            information += slow_information(mu, deviation, first, last, "logistic")
        law = PerformanceLaw("logistic", np.array(mu), np.array(deviation))
        likelihood += rank_likelihood(everybody(first), law).tolist()
    means = {name: total / weight for name, total in sums.items()}
    means["rank_information"] = sum(information) / len(information) if information else math.nan
    means["rank_likelihood"] = sum(likelihood) / len(likelihood)
    means |= {name: sum(numbers) / len(numbers) for name, numbers in values.items()}
    means |= dict.fromkeys(CHANCE_METRICS, math.nan)
    if of_pairs:
        n, bits, squares, *bins = (sum(column) for column in zip(*of_pairs, strict=True))
        error = sum(abs(chance - seen) for chance, seen in zip(bins[::2], bins[1::2], strict=True))
        means |= zip(CHANCE_METRICS, (bits / n, squares / n, 100.0 * error / n), strict=True)
    return {"weight": weight} | means


def weights_of(lake: Lake) -> list[float]:
    return Dataset.open(lake, "games").contests.column("weight").to_pylist()


def pairs_by_hand(run: str, rows: list[dict[str, Any]], weight: float, participants: int) -> list[float]:
    """A round's participants, and its sums over pairs by participation: errors, and of each bin chances and results."""
    system = SYSTEMS["elo" if run == "elo" else "elo-mmr"]
    priors = [Prior(*(np.array([row[name]]) for name in ("mu_prior", "sigma_prior", "mu", "n_before"))) for row in rows]

    def chance(i: int, j: int) -> float:
        return float(system.beats(system.params(), Conditions(weight), participants, priors[i], priors[j])[0])

    n, pairs = len(rows), len(rows) * (len(rows) - 1) / 2
    bits, squares, bins = slow_pairs([row["lo"] for row in rows], chance)
    sums = [value * n * count / pairs for count, *means in bins for value in means]
    return [n, n * bits, n * squares, *sums]


def test_sizes__names_are_of_adjacent_ranges() -> None:
    lows = list(SIZES.values())
    names = [f"{low}-{above - 1}" for low, above in pairwise(lows)]
    assert list(SIZES) == [*names, f"{lows[-1]}+"]


def test_ranklake__exports_both_functions(lake: Lake) -> None:
    assert ranklake.evaluate(lake.url, "run", 3).to_json() == evaluate(lake, "run", 3).to_json()
    assert ranklake.evaluate_history is evaluate_history


@pytest.mark.parametrize("first_round", [0, 3, 13])
def test_evaluate_history__has_the_scores_of_the_same_rounds_in_a_lake(lake: Lake, first_round: int) -> None:
    history = Run.open(lake, "run").read_rounds().to_pandas()
    history["weight"] = np.array(weights_of(lake))[history["round_index"]]
    scores = evaluate_history(history, first_round, system="elo-mmr")
    assert scores.index.tolist() == list(LEAST)
    assert list(scores.columns) == ["weight", *METRICS]
    expected = evaluate(lake, "run", first_round)
    for name in LEAST:
        assert scores.loc[name].to_dict() == pytest.approx(expected.filters[name].summary(), rel=1e-12, nan_ok=True)
    without, of_laws = evaluate_history(history, first_round), [*LAW_METRICS, *CHANCE_METRICS]
    assert without.drop(columns=of_laws).equals(scores.drop(columns=of_laws))
    assert without[of_laws].isna().all(axis=None)


def test_evaluate_history__has_the_reliability_table(lake: Lake) -> None:
    history = Run.open(lake, "elo").read_rounds().to_pandas()
    table = evaluate_history(history, 3, system="elo", by="chance")
    report = evaluate(lake, "elo", 3).to_json()
    assert list(table.columns) == ["filter", "least", "most", "pairs", "weight", "chance", "seen"]
    for name in ("everyone", "experienced"):
        rows = table[table["filter"] == name]
        assert rows["least"].tolist() == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
        for row, found in zip(rows.to_dict("records"), report["reliability"][name], strict=True):
            assert {"filter": name} | {key: math.nan if value is None else value for key, value in found.items()} == (
                pytest.approx(row, nan_ok=True)
            )
        error = 100.0 * (rows["weight"] * (rows["chance"] - rows["seen"]).abs()).sum() / rows["weight"].sum()
        assert error == pytest.approx(report["filters"][name]["calibration_error"])
    assert report["reliability"]["top100"] == []  # places select its players
    for options, said in (({"by": "chance"}, "give system"), ({"by": "size", "system": "elo"}, "by must be")):
        with pytest.raises(ValueError, match=said):
            evaluate_history(history, **options)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="mu_prior"), "mu_prior is missing"),
        (lambda frame: frame[::-1], "must be in rating order"),
        (lambda frame: frame.assign(mu_prior=math.inf), "mu_prior must be finite"),
        (lambda frame: frame.assign(lo=-1), "lo must be a place from 0, got .*-1.* in row 0"),
        (lambda frame: frame.assign(lo=math.nan), "lo must be a place from 0, got .*nan.* in row 0"),
    ],
    ids=["column", "order", "infinity", "negative place", "missing place"],
)
def test_evaluate_history__refuses_invalid_histories(lake: Lake, change: Any, said: str) -> None:
    history = Run.open(lake, "run").read_rounds().to_pandas()
    with pytest.raises(ValueError, match=said):
        evaluate_history(change(history))
    with pytest.raises(ValueError, match=f"no round from round {N_ROUNDS} on"):
        evaluate_history(history, N_ROUNDS)
    with pytest.raises(ValueError, match="rho is a hyperparameter of a system; give system too"):
        evaluate_history(history, rho=1.0)
    with pytest.raises(ValueError, match="sigma_prior is missing"):
        evaluate_history(history.drop(columns="sigma_prior"), system="elo-mmr")


@pytest.mark.quick("experienced-3", "top100-0")
@pytest.mark.parametrize("first_round", [0, 3, 13])
@pytest.mark.parametrize("filter", list(LEAST))
def test_evaluate__follows_the_protocol_of_the_paper(lake: Lake, filter: str, first_round: int) -> None:
    found = evaluate(lake, "run", first_round).filters[filter].summary()
    expected = by_hand(lake, "run", first_round, filter)
    assert math.isnan(expected["rank_information"]) == (filter == "experienced")  # of the large round, few
    assert found == pytest.approx(expected, rel=1e-10, nan_ok=True)


@pytest.mark.parametrize("scale", [0.0, -400.0, math.inf, math.nan])
def test_evaluate__refuses_a_scale_that_is_not_positive(lake: Lake, scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be"):
        evaluate(lake, "run", scale=scale)


def test_evaluate__has_the_same_bits_for_any_number_of_threads_and_piece_size(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = evaluate(lake, "run", 2).to_json()
    for workers, rows in ((1, 1), (2, 50), (3, 1)):
        monkeypatch.setattr(module, "_PIECE_ROWS", rows)
        assert evaluate(lake, "run", 2, workers=workers).to_json() == expected


def test_evaluate__of_parts_sums_to_the_whole(lake: Lake) -> None:
    found = evaluate(lake, "run")
    for name, scores in found.filters.items():
        whole = scores.summary()
        for parts in (found.by_era(name), found.by_size(name), scores.experience()):
            assert sum(part["weight"] for part in parts.values()) == whole["weight"]
            for metric in PER_ROW:
                together = sum(part[metric] * part["weight"] for part in parts.values() if part["weight"])
                assert together / whole["weight"] == pytest.approx(whole[metric]), metric
    assert set(found.by_size("everyone")) == {"2-16", "800+"}
    everybody = found.rank_errors()[0]
    n_rows = sum(n for n, kept in zip(found.n_players, found.errors[:, 0, 0], strict=True) if kept)
    assert everybody.participations == n_rows > found.filters["everyone"].weight.sum()


def test_evaluate__rates_nothing_and_writes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("an evaluation only reads")

    for name in ("write_bytes", "create_bytes", "delete", "delete_folder"):
        monkeypatch.setattr(Lake, name, refuse)
    monkeypatch.setattr("ranklake.flows.execution.rounds.rate_rounds", refuse)
    assert len(evaluate(lake, "run")) == N_ROUNDS


def test_evaluate__names_missing_objects(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=f"run run has {N_ROUNDS} rounds, and the first 30 are skipped"):
        evaluate(lake, "run", N_ROUNDS)
    with pytest.raises(LakeError, match="no run 'nobody'"):
        evaluate(lake, "nobody")
    other = lake_of(tmp_path / "lake", synthetic(5))
    rate_run(other)
    with Dataset.ingest(other, "games") as adding:
        adding.remove("3", "a test")
    with pytest.raises(LakeError, match="contest 3 of run run is no longer in data set games; `ranklake rate"):
        evaluate(other, "run")


def test_command__names_the_last_valid_round_of_a_damaged_run(
    invoke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_often(monkeypatch, segment_rows=1_000)
    made = lake_of(tmp_path / "lake", synthetic(500))
    rate_run(made)
    first, *_, last = sorted((tmp_path / "lake" / "runs" / "run" / "rounds").glob("*.parquet"))
    assert first != last
    last.unlink()
    answer = invoke("evaluate", "--run", "run", "--format", "json", "--lake", made.url)
    assert json.loads(answer.out)["rounds"] == int(last.stem)
    assert f"scored up to round {int(last.stem) - 1}; runs/run/rounds/{last.name}: is missing" in answer.err


def test_rounds_to_skip__rounds_down(lake: Lake) -> None:
    assert [rounds_to_skip(lake, "run", share) for share in (0.0, 0.1, 0.19, 0.999)] == [0, 3, 5, 29]


@pytest.mark.parametrize(
    ("name", "division"),
    [
        ("Codeforces Round 327 (Div. 1)", 1), ("Codeforces Round #12 (Div.2 Only)", 2), ("SRM 500 Division 2", 2),
        ("Codeforces Round 1 (Div. 1 + Div. 2)", 0), ("Good Bye 2019", 0), ("Round (Div. 3)", 0), ("Div. 12", 0),
        ("div. 1 and div. 2", 0),
    ],
)  # fmt: skip
def test_division_of__parses_names(name: str, division: int) -> None:
    assert division_of(name) == division


def test_win_rates__count_equal_rounds_half(lake: Lake) -> None:
    one, other = evaluate(lake, "run"), evaluate(lake, "elo")
    assert {rate.percent for rate in win_rates(one, one)} == {50.0}
    forth = {rate[:3]: rate for rate in win_rates(one, other)}
    back = {rate[:3]: rate for rate in win_rates(other, one)}
    assert forth.keys() == back.keys()
    assert {metric for _, metric, _ in forth} == set(EACH_ROUND)
    for key, rate in forth.items():
        assert rate.percent + back[key].percent == pytest.approx(100.0)
        assert rate.n_rounds == back[key].n_rounds
    for metric, better in (("pair_inversion", 1), ("rank_deviation", -1)):
        a, b = (side.filters["everyone"].per_round(metric).tolist() for side in (one, other))
        points = [1.0 if better * (x - y) > 0 else 0.5 if x == y else 0.0
                  for x, y in zip(a, b, strict=True) if not math.isnan(x + y)]  # fmt: skip
        rate = forth["everyone", metric, "all"]
        assert (rate.n_rounds, rate.percent) == (len(points), pytest.approx(100 * sum(points) / len(points)))


def test_interval__of_chances_is_nearly_that_of_a_bootstrap(lake: Lake) -> None:
    one, other = (evaluate(lake, run).filters["everyone"] for run in ("run", "elo"))
    d = one.mean("brier") - other.mean("brier")
    low, high = bootstrap_interval(one, other, "brier")
    assert (d - low, high - d) == pytest.approx([half_width(one, other, "brier")] * 2, rel=0.35)  # 30 rounds
    assert bootstrap_interval(one, one, "calibration_error") == (0.0, 0.0)
    few = evaluate(lake, "run", N_ROUNDS - 2).filters["everyone"]
    assert math.isnan(bootstrap_interval(few, few, "calibration_error")[0])


def test_check_comparable__names_the_first_round_that_differs(lake: Lake) -> None:
    rate_run(lake, run="short", max_rounds=7)
    one, short = evaluate(lake, "run"), evaluate(lake, "short")
    with pytest.raises(LakeError, match="runs run and short cannot be compared: they have 30 and 7 rounds"):
        check_comparable(one, short)
    ingest(lake, [contest("x", "ada", "grace"), contest("y", "grace", "ada")], "others")
    rate_run(lake, run="others", dataset="others")
    with pytest.raises(LakeError, match="round 0 is contest 0 in the first and x in the second"):
        check_comparable(one, evaluate(lake, "others"))


def test_command__prints_json_with_the_fixed_keys(invoke: Command, lake: Lake) -> None:
    answer = invoke("evaluate", "--run", "run", "--skip-rounds", "3", "--format", "json", "--lake", lake.url)
    report = json.loads(answer.out)
    assert (answer.code, report["run"], report["rounds"]) == (0, "run", N_ROUNDS - 3)
    assert set(report["filters"]) == {"everyone", "experienced", "top100"}
    expected = by_hand(lake, "run", 3, "experienced")
    assert math.isnan(expected.pop("rank_information"))
    found = dict(report["filters"]["experienced"])
    assert found.pop("rank_information") is None
    assert sum(row["weight"] for row in report["reliability"]["experienced"]) >= found["weight"]
    assert found == pytest.approx(expected, rel=1e-10)
    share = invoke("evaluate", "--run", "run", "--skip-share", "0.1", "--format", "json", "--lake", lake.url)
    assert json.loads(share.out) == report
    two = invoke("evaluate", "--run", "run", "--run", "elo", "--format", "json", "--lake", lake.url)
    both = json.loads(two.out)
    assert [one["run"] for one in both["runs"]] == ["run", "elo"]
    assert {(rate["run"], rate["other"]) for rate in both["win_rates"]} == {("run", "elo")}


def test_command__prints_nulls_for_rounds_without_scores(invoke: Command, tmp_path: Path) -> None:
    made = lake_of(tmp_path / "lake", [contest("a", "ada", "grace")])
    rate_run(made)
    report = json.loads(invoke("evaluate", "--run", "run", "--format", "json", "--lake", made.url).out)
    assert report["filters"]["everyone"] == {"weight": 0} | dict.fromkeys(METRICS)
    assert "everyone" in invoke("evaluate", "--run", "run", "--lake", made.url).out


def test_command__prints_tables_and_writes_every_round(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    target = tmp_path / "scores.parquet"
    breakdowns = [word for name in ("era", "size", "experience", "rank-error") for word in ("--by", name)]
    runs = ("--run", "run", "--run", "elo")
    options = ("--pairs", "--output", target, "--workers", 2)
    answer = invoke("evaluate", *runs, *breakdowns, *options, "--lake", lake.url)
    assert answer.code == 0, answer.err
    for part in ("equal half", "by year", "by players", "by rounds before", "existing", "predicted better than elo"):
        assert part in answer.out, part
    rows = pq.read_table(target).to_pandas()
    assert len(rows) == 2 * 3 * N_ROUNDS
    experienced = rows[(rows["run"] == "run") & (rows["filter"] == "experienced") & (rows["weight"] > 0)]
    mean = np.average(experienced["pair_inversion"], weights=experienced["weight"])
    assert mean == pytest.approx(by_hand(lake, "run", 0, "experienced")["pair_inversion"])


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "Missing option '--run'"),
        (("--run", "run", "--run", "run"), 2, "--run run is given twice"),
        (("--run", "../run"), 2, "the name of a run must be"),
        (("--run", "run", "--skip-rounds", "1", "--skip-share", "0.1"), 2, "exclude each other"),
        (("--run", "run", "--skip-share", "1.5"), 2, "1.5 is not in the range"),
        (("--run", "run", "--scale", "0"), 2, "0.0 is not in the range"),
        (("--run", "run", "--output", "/nowhere/at/all.parquet"), 2, "there is no folder /nowhere/at"),
        (("--run", "nobody"), 1, "no run 'nobody'"),
        (("--run", "run", "--skip-rounds", "500"), 1, "none is left to score"),
    ],
)
def test_command__reports_errors_in_one_line(
    invoke: Command, lake: Lake, arguments: tuple[str, ...], code: int, says: str
) -> None:
    assert says in invoke.refuses("evaluate", *arguments, "--lake", lake.url, code=code)


# Several runs in one table


def scores_of(rng: np.random.Generator, n: int, shift: float = 0.0, common: Any = 0.0) -> RoundScores:
    """Scores of rounds of random sizes; every metric is ``common`` plus independent noise."""
    weight = rng.integers(2, 200, n)
    values = {name: common + shift + rng.normal(0.0, 1.0, n) for name in METRICS}
    sums = {name: values[name] * weight for name in SUMMED}
    each = np.ones(n, np.int64)
    return RoundScores(weight, sums, {name: values[name] for name in PER_ROUND}, each, np.zeros((n, 7, 1)))


@pytest.mark.parametrize(("degrees", "table"), [(2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042), (1000, 1.962)])
def test_interval__has_the_quantiles_of_the_printed_table(degrees: int, table: float) -> None:
    assert student_quantile(0.975, degrees) == pytest.approx(table, rel=0.01 if degrees < 4 else 1e-3)


def test_interval__of_equal_weights_is_the_paired_t_interval() -> None:
    rng = np.random.default_rng(1)
    one, other = scores_of(rng, 25), scores_of(rng, 25, 0.3)
    d = one.values["spearman_rho"] - other.values["spearman_rho"]
    expected = 2.0639 * float(np.std(d, ddof=1)) / math.sqrt(25)
    assert half_width(one, other, "spearman_rho") == pytest.approx(expected, rel=1e-4)


@pytest.mark.quick("cross_entropy")
@pytest.mark.parametrize("metric", ["pair_inversion", "cross_entropy", "kendall_tau_b"])
def test_interval__agrees_with_a_bootstrap_over_rounds(metric: str) -> None:
    rng = np.random.default_rng(2)
    hard = rng.normal(0.0, 5.0, 400)  # difficulty common to both; pairing removes it
    one, other = scores_of(rng, 400, common=hard), scores_of(rng, 400, common=hard)
    other = RoundScores(one.weight, {name: other.values.get(name, other.sums[name] / other.weight) * one.weight
                                     for name in SUMMED},
                        other.values, other.n_values, other.by_experience)  # fmt: skip
    draws = [rng.integers(0, 400, 400) for _ in range(2000)]
    spread = float(np.std([one.mean(metric, draw) - other.mean(metric, draw) for draw in draws]))
    assert half_width(one, other, metric) == pytest.approx(1.966 * spread, rel=0.08)


def test_interval__has_its_nominal_coverage() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(500):
        one, other = scores_of(rng, 40), scores_of(rng, 40, 0.5)
        d = one.mean("rank_deviation") - other.mean("rank_deviation")
        hits += abs(d + 0.5) <= half_width(one, other, "rank_deviation")
    assert 0.92 <= hits / 500 <= 0.975


def test_interval__is_nan_for_few_rounds_and_zero_for_equal_runs() -> None:
    rng = np.random.default_rng(4)
    two, three = scores_of(rng, 2), scores_of(rng, 3)
    assert math.isnan(half_width(two, scores_of(rng, 2), "pair_inversion"))
    assert half_width(three, three, "pair_inversion") == 0.0
    nothing = RoundScores(three.weight * 0, three.sums, three.values, three.n_values, three.by_experience)
    assert math.isnan(half_width(three, nothing, "pair_inversion"))


def test_differences__are_to_the_best_run_of_the_metric(lake: Lake) -> None:
    found = [evaluate(lake, run) for run in ("run", "elo")]
    rows = {(one.metric, one.run): one for one in differences(found, ["everyone"])}
    assert len(rows) == 2 * len(METRICS)
    for metric in METRICS:
        means = {one.run: one.filters["everyone"].mean(metric) for one in found}
        choose = max if metric in HIGHER_IS_BETTER else min
        best = choose(means, key=lambda run: means[run])
        other = next(run for run in means if run != best)
        assert rows[metric, best][3:] == (best, 0.0, 0.0, 0.0)
        row = rows[metric, other]
        assert row.best == best
        assert row.difference == means[other] - means[best]
        if metric == "rank_information":  # of one round
            assert math.isnan(row.low)
            continue
        assert row.low < row.difference < row.high
        if metric in EACH_ROUND:
            assert (row.low + row.high) / 2 == pytest.approx(row.difference)


@pytest.mark.slow
def test_command__compares_runs_in_one_table_and_marks_the_best(invoke: Command, lake: Lake) -> None:
    runs = ("--run", "run", "--run", "elo", "--lake", lake.url)
    text = invoke("evaluate", *runs).out
    assert text.count("┏") == 1
    assert "everyone" in text
    assert "predicted better" not in text
    heads = next(line for line in text.splitlines() if "pair inversion" in line)
    assert (heads.count("↑"), heads.count("↓")) == (6, 6)
    found = {run: evaluate(lake, run).filters["everyone"] for run in ("run", "elo")}
    rows = {line.split()[1]: line for line in text.splitlines() if line.startswith(("│ run ", "│ elo "))}
    assert rows["run"].count("*") + rows["elo"].count("*") == len(METRICS)
    for run, scores in found.items():
        assert f"{scores.mean('pair_inversion'):.2f} " in rows[run]
        assert f"{scores.mean('cross_entropy'):.4f} " in rows[run]
    assert len(re.findall(r"[+-][0-9.]+ ±[0-9.]+", text)) == len(METRICS) - 1  # one round has rank information
    both = invoke("evaluate", *runs, "--filter", "top100", "--filter", "experienced").out
    assert both.count("┏") == 2
    assert "experienced" in both
    assert "everyone" not in both
    assert invoke("evaluate", *runs, "--pairs").out.count("┏") == 2
    assert "pairs by the system's chance" not in text
    one = " ".join(invoke("evaluate", "--run", "elo", "--lake", lake.url).out.split())
    assert one.count("pairs by the system's chance") == 2  # not of the first hundred places
    error = found["elo"].mean("calibration_error")
    assert f"everyone: pairs by the system's chance of the favourite; expected calibration error {error:.2f} %" in one
    assert "give at least two --run" in invoke.refuses("evaluate", *runs[2:], "--pairs", code=2)
    assert text == invoke("evaluate", *runs).out


def test_command__json_of_several_runs_has_all_differences(invoke: Command, lake: Lake) -> None:
    runs = ("--run", "run", "--run", "elo", "--lake", lake.url)
    report = json.loads(invoke("evaluate", *runs, "--format", "json").out)
    assert list(report) == ["runs", "win_rates", "differences", "confidence"]
    experienced = [one["metric"] for one in report["differences"] if one["filter"] == "experienced"]
    unknown = 1 + len(CHANCE_METRICS)  # rank information of experienced players; chances of the first hundred places
    assert len(report["differences"]) == 2 * (len(METRICS) * len(LEAST) - unknown)
    assert "rank_information" not in experienced
    assert set(report["differences"][0]) == {"filter", "metric", "run", "best", "difference", "low", "high"}
    few = ("--skip-rounds", N_ROUNDS - 2, "--format", "json")
    report = json.loads(invoke("evaluate", *runs, *few).out, parse_constant=pytest.fail)
    assert None in [one["low"] for one in report["differences"]]


# Rounds of teams: one row a team, from a run, a frame and a search alike


TEAMS = draw_team_contests(7, 120, 8)


@pytest.fixture(scope="module")
def of_teams(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = lake_of(tmp_path_factory.mktemp("teams") / "lake", team_contests(TEAMS))
    rate_run(made, system="elo-mmx")
    return made


def test_run__is_scored_with_one_row_a_team(of_teams: Lake) -> None:
    scores = evaluate(of_teams, "run")
    rows = rated(of_teams).to_pandas().set_index(["contest_id", "player"])
    for number, (standings, *_) in enumerate(TEAMS):
        assert scores.n_players[number] == len(standings)
        teams = []
        for lo, _, members, shares in standings:
            own = rows.loc[[(str(number), f"p{member}") for member in members]]
            share = np.array(shares or [1.0] * len(members))
            if (own["n_before"] > 0).all():  # a team with a newcomer is a newcomer
                teams.append((lo, float(own["mu_prior"].to_numpy() @ share / share.sum())))
        pairs = [(one, other) for i, one in enumerate(teams) for other in teams[i + 1 :]]
        places, ratings = (np.sign([b[k] - a[k] for a, b in pairs]) for k in (0, 1))
        if np.any(places * ratings):
            tau = -(places @ ratings) / math.sqrt((places @ places) * (ratings @ ratings))
            assert scores.filters["everyone"].values["kendall_tau_b"][number] == pytest.approx(tau, abs=1e-12)
            assert scores.filters["everyone"].weight[number] == len(teams)


def test_frame_and_tune__have_the_scores_of_the_run(of_teams: Lake) -> None:
    run = evaluate(of_teams, "run").filters["everyone"].summary()
    history = rate_history(team_frame(TEAMS), "elo-mmx", columns={"team": "team", "share": "share"}, engine="serial")
    shares = team_frame(TEAMS).set_index(["contest", "player"])["share"]
    history["share"] = shares.loc[list(zip(history["contest"], history["player"], strict=True))].to_numpy()
    weights = team_frame(TEAMS).drop_duplicates("contest").set_index("contest")["weight"]
    history["weight"] = weights.loc[history["contest"]].to_numpy()
    frame = evaluate_history(history, columns={"team": "team", "share": "share"}, system="elo-mmx").loc["everyone"]
    for metric, value in run.items():
        assert frame[metric] == pytest.approx(value, rel=1e-12), metric
    searched = load_history(Dataset.open(of_teams, "games"))
    found = held_out_scores(searched, 0, "elo-mmx", {}, Serial(), "everyone", "rank_information")
    assert found == {metric: pytest.approx(run[metric], rel=1e-12) for metric in found}


def test_tune__chooses_between_the_rules_of_teams(of_teams: Lake) -> None:
    space = ("team=mean,best", "team_noise=team,members", "credit=joint,own")
    options = {"train_share": 0.5, "filter": "everyone", "metric": "rank_information", "name": "rules"}
    config = TuningConfig(dataset="games", system="elo-mmx", space=space, **options)
    with open_task_pool(1) as pool:
        report = tune(of_teams, config, pool, config.proposals())
    assert len(report.trials) == 8
    assert len({trial.scores["rank_information"] for trial in report.trials}) == 8


def test_teams__of_one_are_scored_as_individuals(of_teams: Lake, tmp_path: Path) -> None:
    history = rate_history(team_frame(TEAMS), "elo-mmx", columns={"team": "team"}, engine="serial")
    alone = history.assign(team=[str(k) for k in range(len(history))])
    pd.testing.assert_frame_equal(evaluate_history(alone, columns={"team": "team"}), evaluate_history(alone))


@pytest.mark.parametrize("settings", [{}, {"team": "best"}, {"team_noise": "members"}])
@pytest.mark.parametrize("name", ["elo-mmr", "elo-mms"])
def test_law__of_a_team_is_that_of_its_rating_and_of_one_member(name: str, settings: dict[str, str]) -> None:
    """Members of one skill: the mean is theirs; the deviation follows from the sums of variances."""
    system = SYSTEMS[name]
    params = system.params(**settings)
    standings = [(0, 0, [0, 1, 2], None), (1, 1, [3], None), (2, 2, [4, 5], [1.0, 3.0])]
    rounds = team_rounds([(standings, 0, 1.0, math.inf)], {k: k for k in range(6)})
    outcome = rate_rounds(system, params, system.newcomers(params, 6), rounds, Serial())
    entrants = Entrants.of(
        system, params, rounds.offsets, rounds.lo, outcome.mu_prior, outcome.sigma_prior, outcome.n_before,
        outcome.mu - outcome.mu_prior, rounds.conditions, rounds.teams,
    )  # fmt: skip
    law, sigma = entrants.law, outcome.sigma_prior[0]
    assert law is not None
    assert entrants.offsets.tolist() == [0, 3]
    assert entrants.lo.tolist() == [0, 1, 2]
    noise = law.deviation[1] ** 2 - sigma**2
    weights = [[1 / 3] * 3, [1.0], [1 / 2, 1 / 2] if "team" in settings else [1 / 4, 3 / 4]]
    for k, weight in enumerate(weights):
        squares = float(np.square(weight).sum())
        expected = squares * sigma**2 + noise * (squares if "team_noise" in settings else 1.0)
        assert law.deviation[k] ** 2 == pytest.approx(expected, rel=1e-12)
        if "team" not in settings:
            assert law.mean[k] == pytest.approx(law.mean[1], rel=1e-12)
    if "team" in settings:
        assert law.mean[0] > law.mean[2] > law.mean[1]


@pytest.mark.parametrize("settings", [{}, {"team_noise": "members"}])
def test_chances__of_teams_are_those_of_their_laws(settings: dict[str, str]) -> None:
    """Pairs of teams by their strengths, as normal laws of the variance of skill and noise; teams of one among them."""
    rng = np.random.default_rng(8)
    standings = [(lo, lo, [3 * lo, 3 * lo + 1][: 1 + lo % 2], None) for lo in range(6)]
    system = SYSTEMS["elo-mmx"]
    params = system.params(**settings)
    rounds = team_rounds([(standings, 0, 1.0, math.inf)], {k: k for k in range(18)})
    mu, sigma = rng.normal(1500.0, 300.0, rounds.n_rows), rng.uniform(300.0, 350.0, rounds.n_rows)
    entrants = Entrants.of(
        system, params, rounds.offsets, rounds.lo, mu, sigma, np.full(len(mu), 7, np.int32), np.zeros(len(mu)),
        rounds.conditions, rounds.teams,
    )  # fmt: skip
    found, law = entrants.pair_sums(FILTERS["experienced"]), entrants.law
    assert law is not None
    one, other = np.triu_indices(6, 1)
    chance = normal_win_probability(law.mean[one] - law.mean[other], law.deviation[one], law.deviation[other])
    assert found.weight.tolist() == [6]
    assert found.squared_error[0] / 6 == pytest.approx(np.square(1.0 - chance).mean(), rel=1e-9)
    assert found.cross_entropy[0] / 6 == pytest.approx(-np.log2(chance).mean(), rel=1e-9)


def test_faults__of_a_frame_are_refused() -> None:
    history = rate_history(team_frame(TEAMS), "elo-mmx", columns={"team": "team"}, engine="serial")
    with pytest.raises(ValueError, match="history has no column 'crew'"):
        evaluate_history(history, columns={"team": "crew"})
    for columns, message in (({"share": "lo"}, "the column of the teams, too"), ({"rank": "lo"}, "got 'rank'")):
        with pytest.raises(ValueError, match=message):
            evaluate_history(history, columns=columns)
    with pytest.raises(ValueError, match="share must be within"):
        evaluate_history(history.assign(share=0.0), columns={"team": "team", "share": "share"})
