"""Drift of the level of ratings: measured in the pass, reported after `rate`, with the likely cause."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, rate_run

from ranklake.flows.common.configuration.settings import build_params
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.rating.commits.level import Level
from ranklake.flows.rating.report import RateReport
from ranklake.flows.scheduling.follow import Followed
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.storage import Contest

YEAR = 31_556_952


def games(players: list[list[int]], years: list[float]) -> Rounds:
    """Rounds without ties of these players at these times."""
    sizes = [len(one) for one in players]
    places = np.concatenate([np.arange(n) for n in sizes])
    times = [int(year * YEAR) for year in years]
    return Rounds.from_columns(np.cumsum([0, *sizes]), np.concatenate(players), places, places, times)


def outcome_of(mu: list[float]) -> Outcome:
    """An outcome with these ratings."""
    outcome = Outcome.empty(len(mu))
    outcome.mu[:], outcome.mu_prior[:] = mu, 0.0
    return outcome


def season(n_years: int, first: int = 0, races: int = 8, n_newcomers: int = 6, retired: int = 8) -> list[Contest]:
    """Races of 20 with a tie of the retired drivers; each year newcomers replace some drivers."""
    rng = np.random.default_rng([7, first])
    skill = np.random.default_rng(5).normal(0, 250, 400)
    made = []
    for year in range(first, first + n_years):
        drivers = np.arange(year * n_newcomers, year * n_newcomers + 20)
        for race in range(races):
            order = [f"driver {n}" for n in drivers[np.argsort(-rng.normal(skill[drivers], 200))]]
            time = int((20.0 + year + race / races) * YEAR)
            made.append(contest(f"{year}-{race}", *order[: 20 - retired], order[20 - retired :], time_seconds=time))
    return made


def test_drift__is_the_slope_of_the_yearly_means_of_active_players() -> None:
    rounds = games([[0, 1], [1, 2], [0, 2], [0, 3]], [30.1, 30.5, 31.2, 32.7])
    level = Level(5)
    level.add(rounds, outcome_of([10, 20, 40, 60, 70, 130, 100, 300]))
    # year 30: players 0, 1, 2 with 10, 40, 60; year 31: 70, 130; year 32: 100, 300
    means = [(30, 3, 110 / 3), (31, 2, 100.0), (32, 2, 200.0)]
    years, n, mean = (np.array(column, float) for column in zip(*means, strict=True))
    assert level.drift() == pytest.approx(np.polyfit(years, mean, 1, w=np.sqrt(n))[0])


@pytest.mark.parametrize("pieces", [1, 7, 40])
def test_drift__does_not_depend_on_batches(pieces: int) -> None:
    rng = np.random.default_rng(3)
    fields = [rng.choice(9, 3, replace=False).tolist() for _ in range(40)]
    rounds = games(fields, np.sort(rng.uniform(5, 12, 40)).tolist())
    outcome = outcome_of(rng.normal(1500, 300, rounds.n_rows).tolist())
    whole, cut = Level(9), Level(9)
    whole.add(rounds, outcome)
    bounds = np.linspace(0, 40, pieces + 1).astype(int)
    for start, stop in pairwise(bounds.tolist()):
        rows = rounds.offsets[start], rounds.offsets[stop]
        cut.add(rounds.part(start, stop), outcome.part(*rows))
    assert cut.drift() == whole.drift()
    assert (cut.rows, cut.tied_rows, cut.newcomers) == (whole.rows, whole.tied_rows, whole.newcomers)


def test_drift__is_nan_without_times_or_years() -> None:
    level = Level(3)
    level.add(games([[0, 1], [1, 2]], [0.0, 0.0]), outcome_of([1, 2, 3, 4]))
    assert math.isnan(level.drift())
    level.add(games([[0, 1], [1, 2]], [3.0, 4.5]), outcome_of([1, 2, 3, 4]))
    assert math.isnan(level.drift())  # two years
    assert math.isnan(Level(0).drift())


def test_drift__of_diverging_ratings_is_no_error() -> None:
    level = Level(2)
    for year, mu in enumerate((1500.0, 1e100, 1e308, math.inf)):
        level.add(games([[0, 1]], [30.0 + year]), outcome_of([mu, mu]))
        level.warning("glicko2", SYSTEMS["glicko2"].params())
    assert not math.isfinite(level.drift())


def test_drift__accepts_decreasing_times_and_times_before_1970() -> None:
    level = Level(2)
    level.add(games([[0, 1]] * 4, [-3.5, -1.5, -2.5, 0.5]), outcome_of([0, 0, 10, 10, 50, 50, 30, 30]))
    assert [(year, n, mean) for year, n, mean in level.years] == [(-4, 2, 0.0), (-2, 2, 50.0)]
    assert level.drift() > 0


def test_warning__names_the_causes_and_settings_that_drift_less() -> None:
    contests = season(12)
    drifts = {}
    for settings in ({}, {"tie_mode": "split"}, {"tie_mode": "split", "sigma_init": 100.0}):
        drifts[repr(settings)], said = of_season(contests, "elo-mmr", settings)
        if not settings:
            assert said.startswith(
                f"the mean rating of active players changed by {drifts['{}']:+.1f} points a year over 12"
            )
            assert "40% of participations are in ties, mostly at low places, with tie_mode=full" in said
            assert "newcomers begin below their level (mu_init 1500, +" in said
            assert "`--set tie_mode=split --set sigma_init=100`" in said
            assert "\n" not in said
    full, split, narrow = drifts.values()
    assert full > split > narrow > 0
    lenient, said = of_season(contests, "elo-mmr", {"tie_loss": 0.25, "tie_win": 0.75})
    assert lenient > split
    assert "40% of participations are in ties, which count as 0.75 of a win and 0.25 of a loss" in said
    assert "`--set tie_loss=0.5 --set tie_win=0.5 --set sigma_init=100`" in said
    assert "tie_mode" not in said
    drift, said = of_season(contests, "glicko-allpairs", {})
    assert abs(drift) < 10
    assert said == ""


def of_season(contests: list[Contest], name: str, settings: dict[str, Any]) -> tuple[float, str]:
    from helpers.lakes import to_rounds

    rounds, names = to_rounds(contests)
    system = SYSTEMS[name]
    params = build_params(system, settings)
    outcome = rate_rounds(system, params, system.newcomers(params, len(names)), rounds, Serial())
    level = Level(len(names))
    level.add(rounds, outcome)
    return level.drift(), level.warning(name, params)


@pytest.mark.slow
def test_rate__reports_the_drift(tmp_path: Path, invoke: Command) -> None:
    lake = lake_of(tmp_path / "lake", season(6))
    arguments = ("rate", "--dataset", "games", "--lake", lake.url)
    first = invoke(*arguments)
    assert "over 6 years" in first.err
    assert first.err.startswith("run games-elo-mmr: the mean rating of active players changed by +")
    again = invoke(*arguments)
    assert "rated 0" in again.out
    assert "`--level steady` keeps it from the ratings shown" in first.err
    assert "mean rating" not in invoke(*arguments, "--run", "steady", "--level", "steady").err
    assert "mean rating" not in again.err
    ingest(lake, season(1, 6))
    assert "mean rating" not in invoke(*arguments).err  # one year has no slope
    assert "mean rating" not in invoke(*arguments, "--system", "glicko-allpairs").err


def test_rate__after_an_interrupt_reports_the_drift_of_the_rest(tmp_path: Path) -> None:
    whole, parts = (lake_of(tmp_path / name, season(8)) for name in ("whole", "parts"))
    report = rate_run(whole)
    assert "over 8 years" in report.warnings[-1]
    assert rate_run(parts, max_rounds=4).warnings == ()
    assert "over 8 years" in rate_run(parts).warnings[-1]


def test_drift__is_in_the_report_of_follow() -> None:
    rated = RateReport(0, 0, 3, 0, rows=9, warnings=("the mean moved",))
    assert list(Followed("games-elo", rated, None).lines())[1:] == ["run games-elo: the mean moved"]
    assert len(list(Followed("games-elo", replace(rated, warnings=()), None).lines())) == 1
