"""EloSRM's tables: rounds that one rule predicts better, divisions of an event."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake.flows.evaluation.evaluations import evaluate_runs
from ranklake.flows.experiments.base import Report
from ranklake.flows.experiments.data import History, from_lake
from ranklake.flows.experiments.papers import srm
from ranklake.storage import Contest, Lake


def divisions(n: int, late: int = 0) -> list[Contest]:
    """Events of two divisions of one time; that of the last ``late`` second divisions is another one."""
    made = []
    for i, one in enumerate(synthetic(2 * n, n_players=60, spice=False)):
        event, division = divmod(i, 2)
        time = 86_400 * (event + 1) + 60 * (division and event >= n - late)
        made.append(replace(one, name=f"SRM {event} Division {division + 1}", time_seconds=time))
    return made


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_of(tmp_path_factory.mktemp("srm"), divisions(20, late=3))


@pytest.fixture(scope="module")
def history(lake: Lake) -> History:
    return from_lake(lake, "games")


@pytest.fixture(scope="module")
def report(history: History) -> Report:
    return run("srm", history)


@pytest.mark.slow
def test_srm__counts_the_rounds_that_evaluate_counts(lake: Lake, report: Report) -> None:
    """Tables 2 and 4: tau, rho and error, for all rounds, divisions and sizes."""
    for name in ("Elo", "Elo2"):
        rate_run(lake, run=name, system="elo-srm", preset=name, skip_uninformative=True)
    (one,) = [
        {(rate.rounds, rate.metric): rate for rate in rates if rate.filter == "everyone"}
        for *_, rates in evaluate_runs(lake, ["Elo2", "Elo"]).win_rates()
    ]
    table = rows(report, "games-elo2-elo")
    assert [row["rounds"] for row in table] == ["all", "division 1", "division 2", "2-16 players"]
    for row in table:
        for heading, metric in zip(("tau", "rho", "error"), srm._METRICS, strict=True):
            rate = one[row["rounds"], metric]
            assert (row[heading], row["number"]) == (rate.percent, rate.n_rounds)
    assert [table[0][f"printed, {name}"] for name in ("number", "tau", "rho", "error")] == [1950, 58.4, 57.3, 64.6]


def test_srm__states_what_was_found(report: Report) -> None:
    table = {row["row"]: row["error"] for row in rows(report, "games")}
    falls = [label for before, label in zip(table, list(table)[1:], strict=False) if table[label] < table[before]]
    assert f"the error falls with {', '.join(falls)};" in finding(report)


def test_srm__warns_of_divisions_of_two_times(history: History, report: Report, tmp_path: Path) -> None:
    assert srm.split_events(history) == 3
    assert any("3 events of games have two times" in part for part in report.parts if isinstance(part, str))
    together = from_lake(lake_of(tmp_path, divisions(20)), "games")
    assert srm.split_events(together) == 0
    assert int(history.rounds.event[-1]) == int(together.rounds.event[-1]) + 3


def test_printed__tables_add_up() -> None:
    """Rounds by division, and ratings by experience and by division."""
    for table in srm._COMPARED.values():
        counts = np.array([row[0] for row in table])
        assert counts[1:3].sum() == counts[0]
        assert counts[3:].sum() == counts[0] - 1  # as printed
    ratings = {name: row[0] for name, row in srm._GROUPS.items()}
    by_experience = ("first", "2-7", "8-24", "25-74", "75-199", "200+")
    assert sum(ratings[name] for name in by_experience) == ratings["all"]
    halves = sum(count for name, count in ratings.items() if "half" in name)
    assert halves == ratings["existing"] == ratings["existing, division 1"] + ratings["existing, division 2"]
