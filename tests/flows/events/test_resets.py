"""Resets between rounds: the same bits under every engine, after every stop and correction, and as by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.builders import Killed, WatchedLake
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import (
    contest,
    copy_of,
    lake_of,
    often,
    rate_run,
    rated,
    same_beliefs,
    same_tables,
    synthetic,
    to_rounds,
)

from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.events.start import season_event
from ranklake.flows.execution.rater import mean_of_rated
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.maintenance.freshness import freshness
from ranklake.rating_kernels import Reset
from ranklake.storage import Contest, Dataset, Event, Lake, Run
from ranklake.storage.lake.schemas import ATTRIBUTES
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.verify import verify_run

CONTESTS = synthetic(40, spice=False)
N = len(CONTESTS)
SMALL = often(segment_rows=30, snapshot_rows=60)
SYSTEMS = ("elo-mmr", "elo-r", "glicko2", "topcoder", "codeforces")
WIDEN = {"codeforces": 0.0, "elo": 0.0}


def time_before(place: int) -> int:
    """A time just before the end of the contest at a place."""
    return CONTESTS[place].time_seconds - 1


def start(lake: Lake, place: int, name: str = "2026", **reset: Any) -> Event:
    with Dataset.ingest(lake, "games") as body:
        return body.start_season(season_event(name, time_before(place), **reset))


def two_seasons(lake: Lake, system: str = "elo-mmr") -> None:
    """A soft reset around a rating after ten contests, and one around the mean of some players after thirty."""
    widen = WIDEN.get(system, 60.0)
    start(lake, 10, "a", keep=0.75, widen=widen, centre=1400.0)
    since = np.datetime64(CONTESTS[20].time_seconds, "s")
    start(lake, 30, "b", keep=0.5, widen=widen, centre="mean", who=f"active_since={since}", forget=True)


def by_hand(system: str, contests: Sequence[Contest] = CONTESTS) -> dict[str, Any]:
    """The numbers of all rounds with the resets of :func:`two_seasons`, by the kernels alone."""
    found, widen = find_system(system), WIDEN.get(system, 60.0)
    params = build_params(found, {})
    rounds, names = to_rounds(contests)
    beliefs = found.newcomers(params, len(names))
    parts = [rate_rounds(found, params, beliefs, rounds.part(0, 10), Serial())]
    found.reset(params, beliefs, np.flatnonzero(beliefs.n_rounds), Reset(1400.0, 0.75, widen))
    parts.append(rate_rounds(found, params, beliefs, rounds.part(10, 30), Serial()))
    mean = mean_of_rated(beliefs.mu, beliefs.n_rounds)
    chosen = np.flatnonzero(beliefs.last_time >= contests[20].time_seconds)
    found.reset(params, beliefs, chosen, Reset(mean, 0.5, widen, True))
    parts.append(rate_rounds(found, params, beliefs, rounds.part(30, len(contests)), Serial()))
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("mu_prior", "mu", "sigma")}


def last_beliefs(lake: Lake) -> dict[str, Any]:
    run = Run.open(lake, "run")
    return run.read_snapshot(run.snapshots()[-1])[0]


@pytest.fixture(scope="module")
def contests_alone(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_of(tmp_path_factory.mktemp("alone") / "lake", CONTESTS)


@pytest.fixture
def lake(tmp_path: Path, contests_alone: Lake) -> Lake:
    return copy_of(contests_alone, tmp_path / "lake")


# Against kernels


def check_by_hand(lake: Lake, system: str) -> None:
    two_seasons(lake, system)
    rate_run(lake, system=system, policy=SMALL, skip_uninformative=False)
    rows, wanted = rated(lake), by_hand(system)
    for name, values in wanted.items():
        assert np.array_equal(rows.column(name).to_numpy(), values), name


def test_run__has_the_numbers_of_kernels_and_resets_by_hand(lake: Lake) -> None:
    check_by_hand(lake, "elo-mmr")


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS[1:])
def test_run__has_the_numbers_of_kernels_and_resets_by_hand_for_each_system(lake: Lake, system: str) -> None:
    check_by_hand(lake, system)


def test_mean__is_that_of_players_with_a_round() -> None:
    mu, n_rounds = np.arange(200_000.0), np.zeros(200_000, np.int32)
    n_rounds[[3, 70_000, 199_999]] = 1, 2, 1
    assert mean_of_rated(mu, n_rounds) == (3.0 + 70_000.0 + 199_999.0) / 3
    assert mean_of_rated(mu, np.zeros_like(n_rounds)) == 0.0


# Law 3, and digests


def test_season__that_resets_nothing_changes_no_digest(lake: Lake) -> None:
    rate_run(lake, policy=SMALL)
    before = Run.open(lake, "run").segments().digests
    start(lake, 10, keep=1.0, widen=0.0)
    report = rate_run(lake, policy=SMALL, dry_run=True)
    assert (report.rated, report.why) == (0, "")
    start(lake, 20, "2027", keep=0.5)
    report = rate_run(lake, policy=SMALL)
    assert Run.open(lake, "run").segments().digests[:20] == before[:20]
    assert report.why == f"round 20, contest {CONTESTS[20].contest_id}, season 2027 now comes before it"


# Law 7


def check_engines(path: Path, contests: Lake, system: str) -> None:
    lakes = []
    for name, engine in (
        ("serial", Serial()),
        ("threads", Threads(2)),
        ("cluster", InProcessEngine(3)),
        ("lost", InProcessEngine(3, losses=(7, 15, 16))),
    ):
        lake = copy_of(contests, path / name)
        two_seasons(lake, system)
        rate_run(lake, system=system, engine=engine, policy=SMALL)
        lakes.append(lake)
    for other in lakes[1:]:
        assert same_tables(rated(lakes[0]), rated(other))
        assert same_beliefs(last_beliefs(lakes[0]), last_beliefs(other))


def test_engines__have_the_same_bits(tmp_path: Path, contests_alone: Lake) -> None:
    check_engines(tmp_path, contests_alone, "elo-mmr")


@pytest.mark.slow
@pytest.mark.parametrize("system", ["elo-r", "glicko2"])
def test_engines__have_the_same_bits_for_each_system(tmp_path: Path, contests_alone: Lake, system: str) -> None:
    check_engines(tmp_path, contests_alone, system)


@pytest.mark.slow
def test_run__that_resumes_at_any_round_has_the_same_bits(tmp_path: Path, lake: Lake) -> None:
    two_seasons(lake)
    whole = copy_of(lake, tmp_path / "whole")
    rate_run(whole, policy=SMALL)
    for stop in (*range(9, 13), 29, 30, 31, N):
        rate_run(lake, max_rounds=stop, policy=often(segment_rows=1, snapshot_rows=1))
    assert same_tables(rated(lake), rated(whole))
    assert same_beliefs(last_beliefs(lake), last_beliefs(whole))


@pytest.mark.slow
def test_rate__dead_at_any_of_its_writes_ends_as_if_undisturbed(tmp_path: Path) -> None:
    contests, policy = synthetic(21, n_players=10, size=8, spice=False), often(segment_rows=15, snapshot_rows=30)
    fresh = lake_of(tmp_path / "fresh", contests)
    record(fresh, {"player 0": "PL", "player 1": "PL"})
    with Dataset.ingest(fresh, "games") as body:
        for place, reset in ((9, {"who": "country=PL"}), (9, {"centre": "mean"}), (15, {"widen": 70.0})):
            time = contests[place].time_seconds - 1
            body.start_season(season_event(f"{place} {reset}", time, **{"keep": 0.5, **reset}))
    whole = copy_of(fresh, tmp_path / "whole")
    watched = WatchedLake(whole)
    rate_run(watched, policy=policy)
    assert any("/entry/reset-" in path for path in watched.writes)
    decision = next(at for at, path in enumerate(watched.writes) if "/entry/reset-" in path)
    for write in sorted({decision, decision + 1, *range(0, len(watched.writes), 4)}):
        lake = copy_of(fresh, tmp_path / str(write))
        with pytest.raises(Killed):
            rate_run(WatchedLake(lake, fail_at=write, done=write % 8 > 0, error=Killed()), policy=policy)
        rate_run(lake, policy=policy)
        assert same_tables(rated(lake), rated(whole))
        assert same_beliefs(last_beliefs(lake), last_beliefs(whole))
        assert Run.open(lake, "run").reset_players() == {0: ["player 0", "player 1"]}


# Laws 8 and 9


def test_season__added_in_the_past_and_removed_leaves_the_first_bits(tmp_path: Path, lake: Lake) -> None:
    rate_run(lake, policy=SMALL)
    first = copy_of(lake, tmp_path / "first")
    start(lake, 10, keep=0.5, widen=80)
    dry = rate_run(lake, dry_run=True, policy=SMALL)
    assert (dry.holds, dry.why) == (10, f"round 10, contest {CONTESTS[10].contest_id}, season 2026 now comes before it")
    report = rate_run(lake, policy=SMALL)
    assert report.kept <= 10
    with_season = rated(lake)
    assert not same_tables(with_season, rated(first))
    with Dataset.ingest(lake, "games") as body:
        body.remove_season("2026")
    state = freshness(Run.open(lake, "run"), Dataset.open(lake, "games"))
    assert (state.stale_from, state.why) == (
        10,
        f"contest {CONTESTS[10].contest_id}, season 2026 no longer comes before it",
    )
    rate_run(lake, policy=SMALL)
    assert same_tables(rated(lake), rated(first))
    assert same_beliefs(last_beliefs(lake), last_beliefs(first))
    with Dataset.ingest(lake, "games") as body:
        body.restore_season("2026")
    rate_run(lake, policy=SMALL)
    assert same_tables(rated(lake), with_season)


@pytest.mark.slow
@pytest.mark.parametrize("place", [9, 10, 11])
def test_correction__before_at_and_after_an_event_gives_the_run_of_the_history(
    tmp_path: Path, lake: Lake, place: int
) -> None:
    start(lake, 10, keep=0.5, widen=80, centre="mean")
    rate_run(lake, policy=SMALL)
    with Dataset.ingest(lake, "games") as body:
        body.remove(CONTESTS[place].contest_id)
    rate_run(lake, policy=SMALL)
    one_go = lake_of(tmp_path / "one go", [one for at, one in enumerate(CONTESTS) if at != place])
    start(one_go, 10, keep=0.5, widen=80, centre="mean")
    rate_run(one_go, policy=SMALL)
    assert same_tables(rated(lake).drop_columns("player"), rated(one_go).drop_columns("player"))


@pytest.mark.slow
def test_pending_event__is_applied_before_the_next_round(tmp_path: Path, contests_alone: Lake) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS[:20])
    start(lake, 20, keep=0.5, widen=80)
    assert rate_run(lake, policy=SMALL).rated == 20
    assert rate_run(lake, policy=SMALL).rated == 0
    with Dataset.ingest(lake, "games") as body:
        for one in CONTESTS[20:]:
            body.add(one)
    assert rate_run(lake, policy=SMALL).kept == 20
    whole = copy_of(contests_alone, tmp_path / "whole")
    start(whole, 20, keep=0.5, widen=80)
    rate_run(whole, policy=SMALL)
    assert same_tables(rated(lake), rated(whole))


# Players


def record(lake: Lake, values: dict[str, str]) -> None:
    rows = [{"handle": handle, "attribute": "country", "value": value} for handle, value in values.items()]
    with hold_lease(lake, "games", "attributes") as lease:
        Dataset.open(lake, "games").write_attributes(pa.Table.from_pylist(rows, schema=ATTRIBUTES), lease)


@pytest.mark.slow
def test_reset__of_an_attribute_records_its_players_with_the_run(lake: Lake) -> None:
    record(lake, {"player 0": "PL", "player 1": "PL", "player 2": "DE"})
    event = start(lake, 10, keep=0.0, centre=1000.0, who="country=PL")
    rate_run(lake, policy=SMALL)
    first = rated(lake)
    run = Run.open(lake, "run")
    assert run.reset_players() == {event.event_id: ["player 0", "player 1"]}
    assert list(verify_run(run)) == []
    for name, is_reset in (("player 0", True), ("player 2", False)):
        rows = [row for row in first.to_pylist() if row["player"] == name and row["round_index"] >= 10]
        before = [row for row in first.to_pylist() if row["player"] == name and row["round_index"] < 10]
        assert before
        assert (rows[0]["mu_prior"] == 1000.0) == is_reset

    record(lake, {"player 2": "PL"})
    assert rate_run(lake, policy=SMALL).rated == 0
    rate_run(lake, policy=SMALL, exclude=(CONTESTS[5].contest_id,))
    rate_run(lake, policy=SMALL, include=(CONTESTS[5].contest_id,))
    assert same_tables(rated(lake), first)

    other = rate_run(lake, policy=SMALL, run="other")
    assert other.rated == N
    assert Run.open(lake, "other").reset_players() == {event.event_id: ["player 2"]}


def test_inactive_player__is_reset_and_keeps_the_days_since_the_last_round(tmp_path: Path) -> None:
    day = 86_400
    contests = [contest(str(at), "ann", "bob", "cy", time_seconds=at * 100 * day) for at in (1, 2)]
    contests += [contest("3", "cy", "dan", "bob", time_seconds=300 * day)]
    contests += [contest("4", "ann", "cy", "dan", time_seconds=1000 * day)]
    lake = lake_of(tmp_path / "lake", contests)
    with Dataset.ingest(lake, "games") as body:
        body.start_season(season_event("x", 250 * day, keep=0.5, widen=50.0, centre=1500.0))
    rate_run(lake, system="glicko", policy=SMALL, period_days=1.0)
    rows = [row for row in rated(lake).to_pylist() if row["player"] == "ann"]
    params = build_params(find_system("glicko"), {"period_days": 1.0})
    assert rows[2]["mu_prior"] == 1500.0 + 0.5 * (rows[1]["mu"] - 1500.0)
    widened = min(rows[1]["sigma"] ** 2 + 50.0**2, params.sigma_init**2)
    drift = params.sig_drift**2 * 800
    assert rows[2]["sigma_prior"] == pytest.approx(min(np.sqrt(widened + drift), params.max_rd), rel=1e-12)


# Refusals


def test_reset__without_a_rule_is_refused_with_the_season(lake: Lake) -> None:
    start(lake, 10, keep=0.5, widen=60)
    for system, rule in (("elo", "no uncertainty to widen"), ("atcoder", "cannot be reset")):
        with pytest.raises(
            ValueError, match=f"season 2026 begins with a reset, and .*{rule}.*`ranklake season remove`"
        ):
            rate_run(lake, system=system)
