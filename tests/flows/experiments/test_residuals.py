"""Surprises: effects planted in synthetic histories are found again, and no others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import synthetic

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from ranklake.flows.evaluation import residuals
from ranklake.flows.evaluation.residuals import BinSummary, breakdowns, contest_classes, surprises
from ranklake.flows.experiments import find_experiment
from ranklake.flows.experiments.base import ExperimentContext, Report
from ranklake.flows.experiments.data import History, rate_history
from ranklake.flows.experiments.published import parse_contender
from ranklake.flows.plotting.figures import drawing
from ranklake.rating_kernels import SYSTEMS, Rounds

N_PLAYERS, N_ROUNDS, FIELD = 600, 90, 300
SYSTEM_NAMES = ("elo-mmr", "glicko-allpairs", "elo-mmx", "topcoder")


def planted(effect: str, seed: int = 4) -> History:
    """Stable skills, normal noise, and one effect; everyone begins at a random round."""
    draw = np.random.default_rng(seed)
    skill = draw.normal(1500.0, 250.0, N_PLAYERS)
    begins = draw.integers(0, N_ROUNDS - 20, N_PLAYERS)
    form, played, last_day = np.zeros(N_PLAYERS), np.zeros(N_PLAYERS, int), np.full(N_PLAYERS, -math.inf)
    day, players, lo, sizes, times, titles = 0.0, [], [], [], [], []
    for r in range(N_ROUNDS):
        day += 3.0
        here = np.flatnonzero(begins <= r)
        if effect == "rust":  # a third of the players is away for 20 rounds at a time
            here = here[(here % 3 != 0) | ((r + here) % 40 < 20)]
        field = draw.permutation(here)[:FIELD]
        if len(field) < 30:
            continue
        title = ("Educational Round", "Round (Div. 1)", "Round (Div.  2)", "Good bye")[r % 4]
        noise = np.full(len(field), 150.0)
        if effect == "low spread":
            noise = np.where(skill[field] < 1400.0, 300.0, 120.0)
        if effect == "class" and title.startswith("Educational"):
            noise *= 2.5
        shown = skill[field] + noise * draw.normal(0.0, 1.0, len(field))
        if effect == "learning":
            shown += 300.0 * (1.0 - np.exp(-played[field] / 12.0))
        if effect == "form":
            form[field] = 0.8 * form[field] + draw.normal(0.0, 120.0, len(field))
            shown += form[field]
        if effect == "rust":
            shown -= 250.0 * ((day - last_day[field] > 40.0) & np.isfinite(last_day[field]))
        order = field[np.argsort(-shown)]
        played[field] += 1
        last_day[field] = day
        players.append(order)
        lo.append(np.arange(len(order)))
        sizes.append(len(order))
        times.append(int(day * 86_400))
        titles.append(title)
    places = np.concatenate(lo)
    rounds = Rounds.from_columns(np.cumsum([0, *sizes]), np.concatenate(players), places, places, times)
    handles = pa.array([f"player {i}" for i in range(N_PLAYERS)])
    return History(effect, len(sizes), float(np.mean(sizes)), rounds, np.arange(len(sizes)), titles, handles)


def found(history: History, name: str) -> dict[str, list[BinSummary]]:
    system = SYSTEMS[name]
    outcome = rate_history(history, name).outcome
    some = surprises(system, system.params(), history.rounds, outcome)
    counts = np.repeat(history.index >= history.n_contests // 10, np.diff(history.rounds.offsets))
    return dict(breakdowns(some, contest_classes(history.titles), counts))


def means(groups: list[BinSummary]) -> list[float]:
    return [one.mean for one in groups]


@pytest.fixture(scope="module")
def plain() -> dict[str, dict[str, list[BinSummary]]]:
    return {name: found(planted("none"), name) for name in SYSTEM_NAMES}


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEM_NAMES)
def test_surprises__of_learners_are_positive_while_they_learn(name: str, plain: Any) -> None:
    """Learners gain on a field of which most have learned; newcomers begin far below it."""
    learned = {one.group: one for one in found(planted("learning"), name)["rounds"]}
    assert list(learned)[:6] == ["0", "1", "2", "3–4", "5–9", "10–19"]
    gain = {one.group: learned[one.group].mean - one.mean for one in plain[name]["rounds"] if one.group in learned}
    assert gain["0"] < -30.0
    learning = max(("5–9", "10–19"), key=lambda group: gain[group])
    assert gain[learning] - gain["50–99"] > 30.0 > 4.0 * learned[learning].error


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("name", SYSTEM_NAMES)
def test_surprises__spread_more_where_the_noise_is_larger(name: str, plain: Any) -> None:
    levels = found(planted("low spread"), name)["level"]
    assert len(levels) == 10
    control = plain[name]["level"]
    assert levels[0].spread / levels[-1].spread > 1.25 * control[0].spread / control[-1].spread
    classes = {one.group: one for one in found(planted("class"), name)["class"]}
    assert set(classes) == {"Educational", "Div 1", "Div 2", "other"}
    others = [classes[group].spread for group in ("Div 1", "Div 2", "other")]
    assert classes["Educational"].spread > 1.25 * max(others)
    assert max(others) < 1.1 * min(others)
    calm = {one.group: one.spread for one in plain[name]["class"]}
    assert max(calm.values()) < 1.1 * min(calm.values())


@pytest.mark.parametrize("name", SYSTEM_NAMES)
def test_surprises__of_an_autocorrelated_form_follow_the_last_one(name: str, plain: Any) -> None:
    def pooled(groups: list[BinSummary]) -> float:
        n = np.array([one.participations for one in groups])
        return float(n @ np.array([one.correlation for one in groups]) / n.sum())

    formed = found(planted("form"), name)
    assert pooled(formed["level"]) > pooled(plain[name]["level"]) + 0.12
    last = formed["last"]
    control = plain[name]["last"]
    assert means(last)[-1] - means(last)[0] > means(control)[-1] - means(control)[0] + 60.0


@pytest.mark.parametrize("name", SYSTEM_NAMES)
def test_surprises__after_a_long_break_show_rust(name: str) -> None:
    days = {one.group: one for one in found(planted("rust"), name)["days"]}
    assert days["45–120"].mean < days["2–5"].mean - 25.0
    assert set(days) >= {"2–5", "45–120"}


def test_surprises__are_performances_minus_expectations_in_the_players_order() -> None:
    history = planted("none")
    outcome = rate_history(history, "elo-mmr").outcome
    some = surprises(SYSTEMS["elo-mmr"], SYSTEMS["elo-mmr"].params(), history.rounds, outcome)
    assert np.array_equal(some.surprise, outcome.perf - outcome.mu_prior)
    player = history.rounds.player
    rows = np.flatnonzero(player == player[-1])
    z = some.surprise[rows] / some.deviation[rows]
    assert np.array_equal(some.last[rows[1:]], z[:-1])
    assert np.isnan(some.last[rows[0]])
    seconds = np.repeat(history.rounds.time_seconds, np.diff(history.rounds.offsets))[rows]
    assert some.days[rows[1:]] == pytest.approx(np.diff(seconds) / 86_400)
    assert np.isnan(some.days[rows[0]])


def test_surprises__of_the_true_model_have_the_predicted_spread(plain: Any) -> None:
    """Elo-MMR's own noise is larger than this one, but by the same factor at every level."""
    ratios = [one.spread / one.predicted for one in plain["elo-mmr"]["level"]]
    assert max(ratios) < 1.25 * min(ratios)


def test_contest_classes__are_the_first_words_that_match() -> None:
    names = [
        "Codeforces Round 645 (Div. 2)",
        "Educational Codeforces Round 90 (Rated for Div. 2)",
        "Codeforces Global Round 10",
        "Codeforces Round 700 (Div. 1 + Div. 2)",
        "SRM 700 division 1",
        "Good Bye 2020",
    ]
    assert contest_classes(names) == ["Div 2", "Educational", "Global", "Div 1 + Div 2", "Div 1", "other"]
    assert contest_classes(["Grand Prix of Monaco", "Indianapolis 500"], "grand prix|[0-9]+") == ["Grand Prix", "500"]
    assert contest_classes(["a"], "") == ["other"]
    with pytest.raises(ValueError, match=r"pattern of contest classes: .*, got '\('"):
        contest_classes([], "(")


@pytest.mark.slow
def test_report__has_pictures_and_tables_of_several_systems() -> None:
    history = planted("learning")
    compared = [parse_contender("elo-mmr rho=0.2"), parse_contender("glicko-allpairs")]
    with drawing("a test"):
        report: Report = find_experiment("residuals").run(ExperimentContext([history], systems=compared))
    names = ("rounds", "days", "class", "level", "last")
    assert set(report.pictures) == {f"learning-{name}" for name in names}
    assert set(report.tables) == {"learning", *report.pictures}
    for table in report.tables.values():
        assert set(table.columns["system"]) == {"elo-mmr rho=0.2", "glicko-allpairs"}
    assert parse_contender("elo-mmr  rho=0.2").settings == {"rho": "0.2"}
    with pytest.raises(ValueError, match="elo-mmr has no parameter 'rhi'"):
        parse_contender("elo-mmr rhi=1")


@pytest.mark.slow
def test_command__compares_systems_of_any_history(invoke: Command, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "small", synthetic(60, n_players=50, size=45, spice=False))
    systems = ("--system", "elo-mmr", "--system", "elo-mmr rho=0.1 sig_limit=60", "--system", "glicko")
    answer = invoke("experiment", "accuracy", "--data", folder, *systems, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    rows = pq.read_table(tmp_path / "out" / "accuracy-small-evidence.parquet").to_pylist()
    assert len(rows) == 3 * 2 * 2
    assert {(row["part"], row["players"]) for row in rows} == {
        (part, group) for part in ("training", "test") for group in ("experienced", "everyone")
    }
    tested = [row for row in rows if row["part"] == "test" and row["players"] == "experienced"]
    assert all(0.0 < row["rank information, nats"] < 3.0 for row in tested)
    assert len({row["rank information, nats"] for row in tested}) == 3
    answer = invoke("experiment", "residuals", "--data", folder, *systems, "--class", "1|2", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    classes = pq.read_table(tmp_path / "out" / "residuals-small-class.parquet").column("contest class")
    assert {"1", "2"} <= set(classes.to_pylist())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("speed", "--system", "elo"), "experiment speed takes no --system"),
        (("accuracy", "--class", "x"), "experiment accuracy takes no --class"),
        (("residuals", "--class", "("), "pattern of contest classes"),
        (("residuals", "--system", "elo-mnr"), "system must be one of"),
        (("residuals", "--system", "elo", "--system", "elo"), "--system 'elo' is given twice"),
    ],
)
def test_command__refuses_options_that_do_not_fit(invoke: Command, arguments: Any, says: str) -> None:
    assert says in invoke.refuses("experiment", *arguments, code=2)


def test_labels__are_the_largest_classes_and_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residuals, "_MOST_CLASSES", 2)
    assert residuals._labels(["c", "b", "b", "a", "a", "other"]) == ["a", "b", "other"]
