"""A steady level: the mean of displayed ratings stays, and so does the order of players, at every door."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.answers import SOURCES, OfRounds, rows_of
from helpers.commands import Command
from helpers.data import shared
from helpers.lakes import contest, ingest, lake_of, often, rate_run, rated, same_tables, synthetic
from helpers.tables import assert_published, over_years
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklake import Ratings, preview
from ranklake.flows.answers.explanations.explanation import explain
from ranklake.flows.answers.leaderboard import leaderboard
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.experiments.data import from_file
from ranklake.flows.plotting.quantiles import quantiles_over_time
from ranklake.flows.publication.export import export_rows
from ranklake.flows.publication.publish import publish
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.flows.rating.report import RateReport
from ranklake.flows.results.display import Display
from ranklake.flows.results.level_shifts import MONTH, LevelShifts
from ranklake.flows.site.publish import publish_site
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Lake, LakeError, Run

CONTESTS = over_years(synthetic(72, n_players=25))
YEARS = 6


def rate_level(lake: Lake, level: str | None = "steady", run: str = "run") -> RateReport:
    """Bring a run up to date; everybody gains by taking part, so that the level rises."""
    params = build_params(find_system("elo-mms"), {"practice": 60.0, "practice_rounds": 1000.0})
    return rate(lake, RunConfig("games", run, "elo-mms", params, level=level), Serial(), RateOptions(policy=often()))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same ratings twice: ``run`` with a steady level, ``free`` without."""
    lake = lake_of(tmp_path_factory.mktemp("level") / "lake", CONTESTS)
    rate_level(lake)
    rate_level(lake, None, "free")
    return lake


def plain_shifts(ends: list[int], ratings: list[list[float]], decimals: int) -> list[float]:
    """The shift of each round, by the definition: a loop over months, and over all rounds of each."""
    month, months = None, []
    for end in ends:
        month = (end // MONTH if month is None else max(month, end // MONTH)) if end else month
        months.append(month)
    shifts, first, reference, shift, done = [], None, None, 0.0, None
    for month, own in zip(months, ratings, strict=True):
        if month is not None and own and month != done:
            first, done = month if first is None else first, month
            earlier = [
                (m, r) for m, r in zip(months, ratings, strict=True) if m is not None and month - 12 <= m < month
            ]
            window = [rating for _, of_round in earlier for rating in of_round]
            if month >= first + 12 and window:
                mean = sum(window) / len(window)
                reference = mean if reference is None else reference
                shift = round(mean - reference, decimals)
        shifts.append(shift)
    return shifts


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_shifts__are_those_of_a_loop_and_known_beforehand(data: st.DataObject) -> None:
    """Ratings are multiples of 1/8, so that sums are exact; the shift of a round depends on earlier rounds alone."""
    n = data.draw(st.integers(0, 40))
    months = np.cumsum(data.draw(st.lists(st.integers(-1, 5), min_size=n, max_size=n))).tolist()
    unknown = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    ends = [0 if hidden else (m + 30) * MONTH + 5 for m, hidden in zip(months, unknown, strict=True)]
    one = st.integers(0, 24_000).map(lambda eighths: eighths / 8)
    ratings = data.draw(st.lists(st.lists(one, max_size=3), min_size=n, max_size=n))
    sums, counts = np.array([sum(r) for r in ratings]), np.array([len(r) for r in ratings], np.int64)

    def measured(stop: int) -> LevelShifts:
        return LevelShifts.measure(np.array(ends[:stop], np.int64), sums[:stop], counts[:stop], 3)

    found = measured(n)
    assert found.at(np.arange(n)).tolist() == pytest.approx(plain_shifts(ends, ratings, 3), abs=1.1e-3)
    stop = data.draw(st.integers(0, n))
    assert list(zip(measured(stop).rounds, measured(stop).shifts, strict=True)) == found.before(stop)


def test_level__ratings_stay_to_the_bit(lake: Lake) -> None:
    assert same_tables(rated(lake), rated(lake, "free"))
    assert rate_level(lake, "steady", "free").rated == 0
    assert rate_level(lake, "free", "free").rated == 0
    assert "display" not in Run.open(lake, "free").config
    rate_level(lake, None)
    assert Run.open(lake, "run").config["display"] == {"level": "steady"}


@pytest.mark.parametrize("source", SOURCES)
def test_level__order_of_players_at_a_time_stays(lake: Lake, source: str) -> None:
    """One number is between the displayed ratings of all players, now and at any time; percentiles are the same."""
    free, steady = rows_of("lake", lake, "free"), rows_of(source, lake)
    shift, found = Display.of(Run.open(lake, "run")).shift, set()
    assert shift is not None
    times = [one.time_seconds for one in CONTESTS]
    for at in (*times[::9], None):
        before, after = leaderboard(free, at), leaderboard(steady, at)
        stop = len(times) if at is None else sum(time <= at for time in times)
        expected = float(shift.at(stop - 1))
        for name in ("handle", "place", "percentile", "mu", "sigma", "n_rounds"):
            assert before.column(name).equals(after.column(name))
        moved = pc.subtract(before.column("rating"), after.column("rating")).to_numpy()
        np.testing.assert_allclose(moved, expected, atol=1e-9)
        found.add(expected)
    assert len(found) > YEARS


def test_level__mean_of_participants_stays(lake: Lake) -> None:
    """After the first year, whose mean is the reference, and the second, which it corrects."""
    year = np.array([one.time_seconds // (12 * MONTH) for one in CONTESTS])

    def means(run: str) -> list[float]:
        rows = pa.Table.from_batches(export_rows(lake, run, "ratings"))
        of_year = year[rows.column("round_index").to_numpy()]
        shown = rows.column("rating").to_numpy() + 0.0
        return [float(shown[of_year == one].mean()) for one in range(1, YEARS)]

    free, steady = np.array(means("free")), np.array(means("run"))
    assert free[-1] - free[1] > 200
    assert np.ptp(steady[1:]) < 0.25 * np.ptp(free[1:])


@pytest.mark.slow
def test_level__mean_of_participants_stays_over_half_a_century_of_tennis() -> None:
    """docs/choosing.md: 133 points from the first to the last fifth, and 7 with the shifts."""
    columns = Columns.parse(("contest=contest_id", "player=player_id", "time=time"))
    history = from_file(shared("tennis_atp.parquet"), ReadOptions(columns=columns))
    system, rounds = find_system("elo-mms"), history.rounds
    params = build_params(system, {})
    mu = rate_rounds(system, params, system.newcomers(params, len(history.handles)), rounds, Serial()).mu
    sizes = np.diff(rounds.offsets)
    shifts = LevelShifts.measure(rounds.time_seconds, np.add.reduceat(mu, rounds.offsets[:-1]), sizes, 0)
    shown = mu - np.repeat(shifts.at(np.arange(len(rounds))), sizes)
    free, steady = ([part.mean() for part in np.array_split(values, 5)] for values in (mu, shown))
    assert np.ptp(free) > 100
    assert np.ptp(steady) < 10


def shown_rows(table: Any, contest: str) -> dict[str, float]:
    rows = {name: table[name] for name in (contest, "player", "rating")}
    keys = [f"{one}/{player}" for one, player in zip(rows[contest], rows["player"], strict=True)]
    return dict(zip(keys, rows["rating"], strict=True))


@pytest.mark.slow
def test_level__doors_show_the_same_ratings(lake: Lake, tmp_path: Path) -> None:
    """Lake, index, API, export, notebook and site: after each round, and now."""
    publish(lake, "run")
    exported = pa.Table.from_batches(export_rows(lake, "run", "ratings"))
    rows: Mapping[str, Any] = exported.rename_columns({"handle": "player", "player": "number"}).to_pydict()
    of_lake = shown_rows(rows, "contest_id")
    ratings = Ratings.open(lake, "run")
    assert shown_rows(ratings.history.to_dict("list"), "contest") == of_lake
    ratings.save(tmp_path / "saved")
    loaded = Ratings.load(tmp_path / "saved")
    published, rounds = open_published(lake, "run"), OfRounds(lake, "run")
    board = rounds.leaderboard().select(["handle", "rating"]).to_pylist()
    assert published.facts["level"] == "steady"
    assert published.leaderboard_table.select(["handle", "rating"]).to_pylist() == board
    for notebook in (ratings, loaded):
        frame = notebook.leaderboard()
        assert [{"handle": h, "rating": r} for h, r in zip(frame.player, frame.rating, strict=True)] == board
    for row in board[:5]:
        histories = (one.player(row["handle"]).rows for one in (rounds, RatedRun(lake, "run")))
        one, other = (table.select(["contest_id", "rating"]).to_pylist() for table in histories)
        assert one == other
        assert {f"{r['contest_id']}/{row['handle']}": r["rating"] for r in one}.items() <= of_lake.items()
    publish_site(lake, "run", str(tmp_path / "site"))
    (page,) = (tmp_path / "site/data/leaderboard").glob("*.json.gz")
    on_site = json.loads(gzip.decompress(page.read_bytes()))
    assert dict(zip(on_site["handle"], on_site["rating"], strict=True)) == {
        row["handle"]: round(row["rating"]) for row in board
    }


def test_level__next_round_begins_at_the_leaderboard(lake: Lake) -> None:
    """Predictions are those of the free level; ratings before and after a preview are displayed as all others."""
    board = OfRounds(lake, "run").leaderboard()
    names, shown = (board.column(name).to_pylist()[:4] for name in ("handle", "rating"))
    ratings, free = Ratings.open(lake, "run"), Ratings.open(lake, "free")
    assert ratings.predict(names).rating.tolist() == shown
    assert np.array_equal(ratings.predict(names).chances(), free.predict(names).chances())
    standings = {"player": names, "rank": [1, 2, 3, 4]}
    time = CONTESTS[-1].time_seconds + 9
    rows = [preview(of, pa.table(standings), time=time) for of in (ratings, Run.open(lake, "run"))]
    for found in rows:
        assert found.column("rating_before").to_pylist() == pytest.approx(shown, abs=0)
    further = {"contest": ["next"] * 4, "time": [time] * 4}
    updated = ratings.update(pa.table(standings | further))
    after = dict(zip(*(updated.history[name][-4:] for name in ("player", "rating")), strict=True))
    assert after == dict(zip(rows[0].column("player").to_pylist(), rows[0].column("rating").to_pylist(), strict=True))


@pytest.mark.slow
def test_level__parts_of_a_change_have_the_shift(lake: Lake) -> None:
    shifted = 0
    for row in rated(lake).to_pylist()[-40:]:
        found, _ = explain(lake, "run", row["player"], row["contest_id"])
        parts = found.from_mu + found.from_sigma_before + found.from_sigma + found.from_offset + found.from_shift
        assert parts == pytest.approx(found.change, abs=1e-9)
        shifted += found.from_shift < 0
    assert shifted > 20


def test_level__quantiles_over_time_are_shifted(lake: Lake) -> None:
    tables = [quantiles_over_time(lake, run)[0] for run in ("run", "free")]
    moved = pc.subtract(tables[1].column("q50"), tables[0].column("q50")).to_pylist()
    assert moved[0] == 0 < moved[-1] == pytest.approx(float(Display.of(Run.open(lake, "run")).shift.at()), abs=1e-9)


@pytest.mark.slow
def test_level__publishes_follow_rounds_and_corrections(tmp_path: Path) -> None:
    """A publish of new rounds, of a correction, and of another choice leaves the tables of a publish of everything."""
    lake = lake_of(tmp_path / "lake", CONTESTS[:50])
    rate_level(lake)
    assert publish(lake, "run").added > 0
    ingest(lake, CONTESTS[50:])
    rate_level(lake, None)
    report = publish(lake, "run")
    assert report.kept == 50
    assert_published(lake)
    later = CONTESTS[-1].time_seconds + 40 * 86_400
    ingest(lake, [contest("alone", "player 1", time_seconds=later)])
    rate_level(lake, None)
    assert publish(lake, "run").kept == 72  # without a rating
    assert_published(lake)
    corrected = CONTESTS[30]
    handles = corrected.handles.to_pylist()[::-1]
    ingest(lake, [contest(corrected.contest_id, *handles, time_seconds=corrected.time_seconds)])
    rate_level(lake, None)
    assert publish(lake, "run").kept == 30
    assert_published(lake)
    rate_level(lake, "free")
    assert publish(lake, "run").kept == 0
    assert_published(lake)


def test_level__who_is_rated_does_not_depend_on_it(tmp_path: Path) -> None:
    limited = [replace(one, rated_below=1500.0) if i % 3 == 2 else one for i, one in enumerate(CONTESTS)]
    lake = lake_of(tmp_path / "lake", limited)
    rate_level(lake)
    rate_level(lake, None, "free")
    assert same_tables(rated(lake), rated(lake, "free"))
    assert rated(lake).num_rows < sum(map(len, CONTESTS))


def test_level__commands_store_it_and_refuse_data_without_times(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    undated = lake_of(tmp_path / "undated", [replace(one, time_seconds=0) for one in CONTESTS[:4]])
    told = invoke.refuses("rate", "--dataset", "games", "--level", "steady", "--lake", undated.url)
    assert "data set games has no times" in told
    invoke("rate", "--run", "free", "--level", "steady", "--lake", lake.url)
    line = invoke(
        "explain", CONTESTS[-1].handles[0].as_py(), CONTESTS[-1].contest_id, "--run", "free", "--lake", lake.url
    )
    assert "steady level" in line.out
    invoke("rate", "--run", "free", "--level", "free", "--lake", lake.url)
    rate_run(undated, system="elo-srm")
    config = Path(undated.url) / "runs/run/run.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"display": {"level": "other"}}))
    with pytest.raises(LakeError, match="level must be steady, got 'other'"):
        Display.of(Run.open(undated, "run"))
