"""The rows that rating writes, its report, and contests that it skips."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from helpers.lakes import SPICE, contest, files, ingest, lake_of, rate_run, rated, synthetic
from helpers.rated_runs import CONTESTS_MADE, SEGMENT_ROWS, folder, fresh

from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.threads import Threads
from ranklake.flows.rating.report import Progress
from ranklake.storage import Dataset, Lake, MissingError, Run
from ranklake.storage.lake.limits import Limits
from ranklake.storage.lake.schemas import CONTESTS


@pytest.mark.quick("three-threads")
def test_rate__engines_and_files_of_standings_change_no_byte(tmp_path: Path, engine: Engine) -> None:
    contests = synthetic(30, seed=4, large=11)
    serial, other = (lake_of(tmp_path / name, contests) for name in ("serial", "other"))
    large = lake_of(tmp_path / "large files", contests, limits=Limits(file_rows=10_000))
    rate_run(serial)
    rate_run(other, engine=engine)
    assert files(folder(serial, "")) == files(folder(other, ""))
    with Threads(engine.workers, block_size=17) as blocks:
        rate_run(large, engine=blocks)
    assert files(folder(serial, "rounds")) == files(folder(large, "rounds"))


def test_rate__reports_its_result_and_progress_by_batches_as_large_as_segments(lake: Lake) -> None:
    result: list[Progress] = []
    report = rate_run(lake, on_progress=result.append)
    n_rows = Run.open(lake, "run").read_rounds().num_rows
    alone = sum(1 for i in range(60) if i % SPICE == 5)
    tied = sum(1 for i in range(60) if i % SPICE == 6 and len(CONTESTS_MADE[i]) > 2)
    assert (report.kept, report.replayed, report.rated, report.why) == (0, 0, 60, "")
    assert (report.rows, report.skipped) == (n_rows, alone + tied)
    assert report.line().startswith(f"rated 60 rounds with {n_rows} participations in ")
    assert f"; {alone} contests skipped: one participant only; {tied} contests skipped: all part" in report.line()
    assert [p.rounds for p in result] == sorted({p.rounds for p in result})
    assert {p.n_rounds for p in result} == {60}
    assert {p.n_rows for p in result} == {sum(map(len, CONTESTS_MADE))}
    assert (result[-1].rounds, result[-1].rows) == (60, result[-1].n_rows)
    assert result[0].shown() == (result[0].rows, result[0].n_rows, f"{result[0].rounds} of 60 contests")
    sizes = np.array([len(contest) for contest in CONTESTS_MADE])
    rows = np.array([sizes[start:stop].sum() for start, stop in pairwise([0, *(p.rounds for p in result)])])
    assert len(rows) > 3
    assert (rows[:-1] >= SEGMENT_ROWS).all()
    assert (rows < SEGMENT_ROWS + 24 + sizes.max()).all()  # and the last file


def test_rate__reports_how_often_invariants_of_the_system_are_violated(lake: Lake) -> None:
    report = rate_run(lake, system="codeforces", max_rounds=9)
    overtaken = "overtaken by a lower place"
    assert report.violations.keys() == {overtaken, "gained less than a lower place"}
    assert f"; {overtaken}: {report.violations[overtaken]:,}; gained less" in report.line()


def test_rate__uninformative_contests_are_stored_as_skipped_without_rows(tmp_path: Path) -> None:
    contests = [
        contest("alone", "ann"),
        contest("first", "bob", "cy"),
        contest("tied", ["bob", "cy", "dan"]),
        contest("second", "cy", "bob"),
    ]
    lake = lake_of(tmp_path / "lake", contests)
    report = rate_run(lake)
    assert (report.rated, report.skipped, report.rows) == (4, 2, 4)
    (segment,) = Run.open(lake, "run").segments().segments
    assert segment.contest_ids == ("alone", "first", "tied", "second")
    assert segment.skipped == (0, 2)
    assert segment.rows == (0, 2, 0, 2)
    rows = rated(lake)
    assert rows.column("round_index").to_pylist() == [1, 1, 3, 3]
    assert rows.column("n_before").to_pylist() == [0, 0, 1, 1]
    assert set(rows.column("player").to_pylist()) == {"bob", "cy"}


def test_rate__uninformative_contests_can_be_rated(tmp_path: Path) -> None:
    contests = [contest("alone", "ann"), contest("tied", ["bob", "cy", "dan"]), contest("first", "bob", "ann")]
    lake = lake_of(tmp_path / "lake", contests)
    report = rate_run(lake, skip_uninformative=False)
    assert (report.rated, report.skipped, report.rows) == (3, 0, 6)
    (segment,) = Run.open(lake, "run").segments().segments
    assert (segment.skipped, segment.rows) == ((), (1, 3, 2))
    mu = rated(lake).column("mu").to_numpy()
    assert len(set(mu[1:4])) == 1
    assert np.all(np.isfinite(mu))


def test_rate__a_history_of_uninformative_contests_has_rounds_without_rows(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest(str(i), ["ann", "bob", "cy"]) for i in range(5)])
    report = rate_run(lake)
    assert (report.rated, report.skipped, report.rows) == (5, 5, 0)
    assert Run.open(lake, "run").segments().stop_round == 5
    assert Run.open(lake, "run").read_rounds().num_rows == 0
    ingest(lake, [contest("5", "ann", "bob")])
    assert rate_run(lake).rated == 1
    assert rated(lake).column("n_before").to_pylist() == [0, 0]


def test_rate__uses_weight_and_ceiling(tmp_path: Path) -> None:
    plain, heavy, low = (
        fresh(tmp_path / name, [contest("0", "ann", "bob", "cy", **more)])
        for name, more in (("plain", {}), ("heavy", {"weight": 4.0}), ("low", {"perf_ceiling": 1510.0}))
    )
    mu = {lake: rated(lake).column("mu").to_numpy() for lake in (plain, heavy, low)}
    perf = rated(low).column("perf").to_numpy()
    assert mu[heavy][0] > mu[plain][0] > mu[low][0]
    assert perf.max() <= 1510.0


def test_rate__a_contest_earlier_than_the_one_before_is_rated_in_its_place(tmp_path: Path) -> None:
    times = [1_000_000, 2_000_000, 500_000, -3_000_000, 2_000_000]
    contests = [contest(str(i), "ann", "bob", time_seconds=time) for i, time in enumerate(times)]
    lake = fresh(tmp_path, contests, drift_per_day=40.0)
    rows = rated(lake).filter(pc.equal(rated(lake).column("player"), "ann"))
    assert rows.column("contest_id").to_pylist() == list("01234")
    before, after = rows.column("sigma").to_numpy()[:-1], rows.column("sigma_prior").to_numpy()[1:]
    assert np.all(after >= before)  # time does not decrease


def test_rate__a_missing_data_set_is_reported_with_the_existing_ones(lake: Lake) -> None:
    with pytest.raises(MissingError, match=r"no data set 'other' .* there are: games"):
        rate_run(lake, dataset="other")
    assert Run.names(lake) == []


def test_rate__a_data_set_without_contests_gives_a_run_without_rounds(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    assert ingest(lake, []) == []
    assert Dataset.names(lake) == []  # without contests there is no commit
    facts = {"player_parts": "", "n_players": "0"}
    lake.write_table("games/contests/contests.parquet", CONTESTS.empty_table(), "contests", metadata=facts)
    report = rate_run(lake)
    assert (report.kept, report.rated, report.rows, report.why) == (0, 0, 0, "")
    assert Run.open(lake, "run").segments().segments == ()
