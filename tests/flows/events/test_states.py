"""What doors say of ratings across resets: they are those of the beliefs that the run holds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from helpers.lakes import copy_of, lake_of, often, rate_run, synthetic

from ranklake.flows.answers.explanations.explanation import Explanation, explain
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.answers.run_prediction import predict_run
from ranklake.flows.events.start import season_event
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.display import Display
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.storage import Chain, Dataset, Lake, Run

CONTESTS = synthetic(40, spice=False)
N = len(CONTESTS)
SMALL = often(segment_rows=30, snapshot_rows=1e9)
PLACES = (10, 25, 33)


def start(lake: Lake, place: int, **reset: object) -> None:
    time = CONTESTS[place].time_seconds - 1 if place < N else CONTESTS[-1].time_seconds + 1
    with Dataset.ingest(lake, "games") as body:
        body.start_season(season_event(f"from {place}", time, **reset))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def seasons(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with three resets, one of them around the mean of some players."""
    lake = lake_of(tmp_path_factory.mktemp("seasons") / "lake", CONTESTS)
    start(lake, 10, keep=0.75, widen=60, centre=1400.0)
    start(lake, 25, keep=0.5, centre="mean", who=f"active_since={np.datetime64(CONTESTS[15].time_seconds, 's')}")
    start(lake, 33, keep=0.5, widen=500, forget=True)
    return lake


def beliefs_before(seasons: Lake, folder: Path, stop: int, system: str) -> dict[str, np.ndarray]:
    """The beliefs after the rounds before ``stop``, without the resets that follow."""
    lake = copy_of(seasons, folder / f"until {stop}")
    rate_run(lake, system=system, max_rounds=stop)
    return Run.open(lake, "run").read_snapshot(stop - 1)[0]


def same(board: pa.Table, lake: Lake, columns: dict[str, np.ndarray]) -> None:
    """The board has the ratings of these beliefs, to the bit."""
    player = board.column("player").to_numpy()
    display = Display.of(Run.open(lake, "run"))
    mu, sigma, n_rounds = (np.asarray(columns[name])[player] for name in ("mu", "sigma", "n_rounds"))
    assert np.array_equal(board.column("mu").to_numpy(), mu)
    assert np.array_equal(board.column("sigma").to_numpy(), sigma)
    assert np.array_equal(board.column("rating").to_numpy(), display.rating(mu, sigma, n_rounds))
    assert board.num_rows == int(np.count_nonzero(np.asarray(columns["n_rounds"])))


def check_states(seasons: Lake, path: Path, system: str) -> None:
    lake = copy_of(seasons, path / "lake")
    rate_run(lake, system=system, policy=SMALL)
    publish(lake, "run")
    index = open_published(lake, "run")
    for stop in (9, 10, 11, 24, 25, 26, 33, 39):
        wanted = beliefs_before(seasons, path, stop, system)
        for rows in (RatedRun(lake, "run")._rounds(), index):
            same(rows.board(rows.states_before(stop)), lake, wanted)
    same(RatedRun(lake, "run").leaderboard(), lake, Run.open(lake, "run").read_snapshot(N - 1)[0])


def test_leaderboard__at_any_round_has_the_beliefs_of_the_run(seasons: Lake, tmp_path: Path) -> None:
    check_states(seasons, tmp_path, "elo-mmr")


@pytest.mark.slow
@pytest.mark.parametrize("system", ["topcoder", "glicko2"])
def test_leaderboard__at_any_round_has_the_beliefs_of_each_system(seasons: Lake, tmp_path: Path, system: str) -> None:
    check_states(seasons, tmp_path, system)


@pytest.mark.slow
def test_pending_reset__is_on_the_leaderboard_and_published_until_it_is_rated(seasons: Lake, tmp_path: Path) -> None:
    lake = copy_of(seasons, tmp_path / "lake")
    rate_run(lake, policy=SMALL)
    publish(lake, "run")
    before = RatedRun(lake, "run").leaderboard()
    start(lake, N, keep=0.0, centre=1000.0)
    opened = RatedRun(lake, "run")
    assert opened.leaderboard().column("mu").unique().to_pylist() == [1000.0]
    assert opened.leaderboard(at=CONTESTS[-1].time_seconds).column("mu").to_pylist() == before.column("mu").to_pylist()
    assert opened.leaderboard(at=CONTESTS[-1].time_seconds + 1).column("mu").unique().to_pylist() == [1000.0]
    assert opened.leaderboard().column("max_rating").to_pylist() != [1000.0] * before.num_rows
    publish(lake, "run")
    index = open_published(lake, "run")
    assert index.table_at().column("mu").unique().to_pylist() == [1000.0]
    assert index.table_at(CONTESTS[-1].time_seconds + 1).column("mu").unique().to_pylist() == [1000.0]
    assert index.table_at(CONTESTS[-1].time_seconds).column("mu").to_pylist() == before.column("mu").to_pylist()

    with Dataset.ingest(lake, "games") as body:
        body.remove_season(f"from {N}")
    publish(lake, "run")
    table = open_published(lake, "run").table_at()
    assert table.select(["handle", "mu"]).to_pylist() == before.select(["handle", "mu"]).to_pylist()


@pytest.mark.slow
def test_mean__that_no_manifest_has_is_found_from_the_rounds(
    seasons: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = copy_of(seasons, tmp_path / "lake")
    rate_run(lake)
    rounds, display = RatedRounds(lake, "run"), Display.of(Run.open(lake, "run"))
    known = rounds.known_resets(display)
    resets = [
        msgspec.structs.replace(one, centre=None) if one.round_index == 25 else one for one in rounds.chain.resets
    ]
    monkeypatch.setattr(Chain, "resets", property(lambda self: resets))
    assert rounds.resets(display.params)[1].reset.centre is None
    found = rounds.known_resets(display)
    assert [one.reset.centre for one in found] == [one.reset.centre for one in known]


# Doors


def test_explain__across_a_reset_lists_it_as_a_step(seasons: Lake, tmp_path: Path) -> None:
    lake = copy_of(seasons, tmp_path / "lake")
    rate_run(lake)
    rows = Run.open(lake, "run").read_rounds().to_pylist()
    handles = Dataset.open(lake, "games").handles().to_pylist()
    player, before, first = next(
        (row["player"], *last)
        for row in rows
        if row["round_index"] >= 33 and row["n_before"]
        for last in [[one for one in rows if one["player"] == row["player"]]]
        for last in [(*[one for one in last if one["round_index"] < 33][-1:], row)]
        if len(last) == 2 and last[0]["n_before"] + 1 == row["n_before"] and last[0]["round_index"] >= 25
    )
    found, _ = explain(lake, "run", handles[player], str(first["round_index"]), caps=True)
    assert isinstance(found, Explanation)
    (step,) = found.resets
    assert (step.season, step.time_seconds) == ("from 33", CONTESTS[33].time_seconds - 1)
    assert (step.mu_before, step.sigma_before) == (before["mu"], before["sigma"])
    assert (step.mu, found.mu_before, found.mu_prior) == (first["mu_prior"],) * 3
    assert step.mu == 1500.0 + 0.5 * (before["mu"] - 1500.0)
    history = RatedRun(lake, "run").player(handles[player])
    rounds = history.rows.column("round_index").to_pylist()
    assert found.change == pytest.approx(history.changes[rounds.index(first["round_index"])])
    assert found.change == pytest.approx(found.rating - found.rating_before)
    assert found.change == pytest.approx(found.from_mu + found.from_sigma_before + found.from_sigma + found.from_offset)
    assert found.caps is not None
    assert found.caps.largest_fall < first["mu"] - first["mu_prior"] < found.caps.largest_rise
    later, _ = explain(lake, "run", handles[rows[-1]["player"]], str(N - 1))
    assert isinstance(later, Explanation)


def test_predict_and_preview__begin_after_a_pending_reset(seasons: Lake, tmp_path: Path) -> None:
    lake = copy_of(seasons, tmp_path / "lake")
    rate_run(lake)
    start(lake, N, keep=0.0, centre=1234.0)
    names = Dataset.open(lake, "games").handles().to_pylist()[:3]
    mus = predict_run(lake, "run", names)[0].table()["mu"].tolist()
    assert mus == [1234.0] * 3
    earlier, _ = predict_run(lake, "run", names, time_seconds=CONTESTS[-1].time_seconds)
    assert 1234.0 not in earlier.table()["mu"].tolist()
    for among in (None, names):
        opened = RunPreview.open(lake, "run", among=among)
        mu = dict(zip(opened.handles.to_pylist(), opened.columns["mu"], strict=False))
        assert [mu[name] for name in names] == [1234.0] * 3
