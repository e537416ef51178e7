"""Rating a data set in a lake: results, kept rounds, and rounds rated again after changes or damage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.lakes import (
    NUMBERS,
    SPICE,
    commit_often,
    contest,
    copy_of,
    files,
    ingest,
    lake_of,
    rate_run,
    rated,
    rated_in_memory,
    same_beliefs,
    same_tables,
    stamps,
    synthetic,
)
from helpers.strategies import histories, repeatable
from hypothesis import given
from hypothesis import strategies as st

import ranklake.flows.rating.commits.snapshot_schedule
import ranklake.flows.rating.rate
import ranklake.storage.datasets.ingest
import ranklake.storage.datasets.tables.standings
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.rating.report import Progress
from ranklake.storage import Contest, DamagedError, Dataset, FormatError, Lake, LakeError, MissingError, Run
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.parquet import encode
from ranklake.storage.lake.schemas import CONTESTS
from ranklake.storage.leases.acquire import hold_lease

SEGMENT_ROWS = 30


@pytest.fixture(scope="module", autouse=True)
def many_small_files() -> Iterator[None]:
    """Segments and standings files of a few rounds, divided by size only."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=SEGMENT_ROWS, segment_seconds=np.inf)
        patch.setattr(ranklake.storage.datasets.ingest, "_FILE_ROWS", 24)
        patch.setattr(ranklake.storage.datasets.tables.standings, "_VIEW_ROWS", 1)  # read a file at a time
        yield


CONTESTS_MADE = synthetic(60)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, many_small_files: None) -> Lake:
    return lake_of(tmp_path_factory.mktemp("ingested") / "lake", CONTESTS_MADE)


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, ingested: Lake) -> Lake:
    lake = copy_of(ingested, tmp_path_factory.mktemp("rated") / "lake")
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, ingested: Lake) -> Lake:
    """A lake with ``CONTESTS_MADE``, not rated."""
    return copy_of(ingested, tmp_path / "lake")


@pytest.fixture
def undisturbed(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with ``CONTESTS_MADE``, rated in one call."""
    return copy_of(rated_once, tmp_path / "undisturbed")


def folder(lake: Lake, what: str = "rounds", run: str = "run") -> Path:
    return Path(lake.url) / "runs" / run / what


def manifests(lake: Lake) -> list[Path]:
    return sorted(folder(lake).glob("*.json"))


def fresh(tmp_path: Path, contests: list[Contest], **options: Any) -> Lake:
    """A new lake with these contests, rated."""
    lake = lake_of(tmp_path / "fresh", contests)
    rate_run(lake, **options)
    return lake


# Results


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rho": float("inf"), "tie_mode": "split"},
        {"rho": 0.04, "noob_delay": (0.6, 0.8), "drift_per_day": 30.0},
        {"beta": 200.0, "gamma": 35.0, "history_len": 3, "mu_init": 1200.0},
    ],
    ids=lambda settings: ",".join(settings) or "defaults",
)
@pytest.mark.parametrize("skip_uninformative", [True, False], ids=["skipping", "keeping"])
def test_rate__rows_in_the_lake_are_those_of_the_kernels_to_the_bit(
    tmp_path: Path, settings: dict[str, Any], skip_uninformative: bool
) -> None:
    contests = synthetic(50, seed=3, large=20)
    lake = lake_of(tmp_path / "lake", contests)
    rate_run(lake, skip_uninformative=skip_uninformative, **settings)
    outcome, labels = rated_in_memory(contests, skip_uninformative, **settings)
    rows = rated(lake)
    for name, expected in labels.items():
        assert rows.column(name).to_pylist() == expected
    for name in NUMBERS:
        assert np.array_equal(rows.column(name).to_numpy().view(np.int64), getattr(outcome, name).view(np.int64))
    assert rows.column("n_before").to_pylist() == outcome.n_before.tolist()


def test_rate__every_engine_writes_the_same_files(tmp_path: Path, engine: Engine) -> None:
    contests = synthetic(30, seed=4, large=11)
    serial, other = (lake_of(tmp_path / name, contests) for name in ("serial", "other"))
    rate_run(serial)
    rate_run(other, engine=engine)
    assert files(folder(serial, "")) == files(folder(other, ""))


def test_rate__block_size_and_files_of_standings_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contests = synthetic(30, seed=4, large=11)
    one = lake_of(tmp_path / "one", contests)
    monkeypatch.setattr(ranklake.storage.datasets.ingest, "_FILE_ROWS", 10_000)
    other = lake_of(tmp_path / "other", contests)
    rate_run(one)
    with Threads(3, block_size=17) as engine:
        rate_run(other, engine=engine)
    assert files(folder(one, "rounds")) == files(folder(other, "rounds"))


def test_rate__reports_its_result_and_progress(lake: Lake) -> None:
    from ranklake.flows.common.settings import build_params, find_system
    from ranklake.flows.rating.config import RunConfig

    result: list[Progress] = []
    config = RunConfig("games", "run", "elo-mmr", build_params(find_system("elo-mmr"), {}))
    report = ranklake.flows.rating.rate.rate(lake, config, Serial(), on_progress=result.append)
    n_rows = Run.open(lake, "run").read_rounds().num_rows
    alone = sum(1 for i in range(60) if i % SPICE == 5)
    tied = sum(1 for i in range(60) if i % SPICE == 6 and len(CONTESTS_MADE[i]) > 2)
    assert (report.kept, report.replayed, report.rated, report.why) == (0, 0, 60, "")
    assert (report.rows, report.skipped) == (n_rows, alone + tied)
    assert report.line().startswith(f"rated 60 rounds with {n_rows} participations in ")
    assert f"; {alone} contests skipped: one participant only; {tied} contests skipped: all part" in report.line()
    assert [p.rounds for p in result] == sorted({p.rounds for p in result})
    assert {p.n_rounds for p in result} == {60}
    assert (result[-1].rounds, result[-1].rows) == (60, n_rows)


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
    tied = rated(lake).filter(pc.equal(rated(lake).column("contest_id"), "tied"))
    assert len(set(tied.column("mu").to_pylist())) == 1
    assert np.all(np.isfinite(rated(lake).column("mu").to_numpy()))


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


# Kept rounds


def test_rate__a_second_time_rates_nothing_and_writes_nothing(undisturbed: Lake) -> None:
    before = stamps(Path(undisturbed.url))
    report = rate_run(undisturbed)
    assert (report.kept, report.replayed, report.rated, report.rows, report.why) == (60, 0, 0, 0, "")
    assert stamps(Path(undisturbed.url)) == before


@pytest.mark.parametrize("cuts", [[0], [1], [17], [5, 6, 30], [59, 60], list(range(1, 60, 4))], ids=str)
def test_rate__in_several_calls_equals_one_call(lake: Lake, undisturbed: Lake, cuts: list[int]) -> None:
    for done, until in zip([0, *cuts], cuts, strict=False):
        report = rate_run(lake, max_rounds=until)
        assert (report.kept, report.rated) == (done, until - done)
        assert Run.open(lake, "run").segments().stop_round == until
    assert rate_run(lake).kept == cuts[-1]
    assert same_tables(rated(lake), rated(undisturbed))


def test_rate__max_rounds_removes_nothing_and_may_exceed_the_history(undisturbed: Lake) -> None:
    before = stamps(Path(undisturbed.url))
    for max_rounds in (0, 10, 60, 1000):
        assert rate_run(undisturbed, max_rounds=max_rounds).kept == 60
    assert stamps(Path(undisturbed.url)) == before


def test_rate__small_contests_share_segments_that_close_at_a_size(undisturbed: Lake) -> None:
    segments = Run.open(undisturbed, "run").segments().segments
    assert len(segments) > 5
    assert max(len(segment.rows) for segment in segments) > 3
    for segment in segments[:-1]:
        assert segment.n_rows >= SEGMENT_ROWS > segment.n_rows - segment.rows[-1]


def test_rate__a_segment_of_slow_rounds_closes_early(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_seconds=-1.0)
    rate_run(lake)
    assert len(Run.open(lake, "run").segments().segments) > len(CONTESTS_MADE) * 6 / SEGMENT_ROWS
    monkeypatch.undo()
    assert rate_run(lake).rated == 0


@pytest.mark.parametrize("last", range(1, 8))
def test_rate__interruptions_do_not_change_the_ends_of_segments(lake: Lake, undisturbed: Lake, last: int) -> None:
    rate_run(lake)
    for path in manifests(lake)[last:]:
        path.unlink()
    report = rate_run(lake)
    assert report.kept == int(manifests(undisturbed)[last].stem)
    assert files(folder(lake)) == files(folder(undisturbed))


# Rounds rated again


def test_rate__other_hyperparameters_rate_the_run_again(tmp_path: Path, lake: Lake) -> None:
    rate_run(lake)
    report = rate_run(lake, rho=0.04, replace=True)
    assert (report.kept, report.rated, report.why) == (0, 60, "other parameters")
    assert "kept 0 rounds rated before (other parameters), rated 60 rounds" in report.line()
    assert json.loads(folder(lake, "run.json").read_text())["params"]["rho"] == 0.04
    other = fresh(tmp_path, CONTESTS_MADE, rho=0.04)
    assert files(folder(lake, "")) == files(folder(other, ""))
    assert rate_run(lake, rho=0.04).rated == 0


def test_rate__keeping_uninformative_contests_is_another_configuration(lake: Lake) -> None:
    rate_run(lake)
    report = rate_run(lake, skip_uninformative=False, replace=True)
    assert (report.kept, report.rated, report.why) == (0, 60, "other parameters")


def test_rate__does_not_change_another_run(lake: Lake) -> None:
    rate_run(lake)
    before = stamps(folder(lake, ""))
    rate_run(lake, run="other", rho=5.0)
    assert stamps(folder(lake, "")) == before
    assert Run.names(lake) == ["other", "run"]


def changed(one: Contest) -> dict[str, Contest]:
    """Corrections of a contest, by kind."""
    facts = {"contest_id": one.contest_id, "name": one.name, "url": one.url, "time_seconds": one.time_seconds}
    n, handles = len(one), one.handles.to_pylist()
    places = {"lo": one.lo, "hi": one.hi}
    return {
        "order": Contest(**facts, handles=pa.array(handles[::-1]), **places),
        "all tied": Contest(
            **facts, handles=one.handles, lo=np.zeros(n, dtype=np.int32), hi=np.full(n, n - 1, dtype=np.int32)
        ),
        "disqualified": Contest(
            **facts, handles=pa.array(handles[1:]), **dict.fromkeys(["lo", "hi"], np.arange(n - 1, dtype=np.int32))
        ),
        "newcomer": Contest(**facts, handles=pa.array(["nobody yet", *handles[1:]]), **places),
        "weight": Contest(**facts, handles=one.handles, **places, weight=2.5),
        "ceiling": Contest(**facts, handles=one.handles, **places, perf_ceiling=1400.0),
        "time": Contest(**facts | {"time_seconds": one.time_seconds + 86_400}, handles=one.handles, **places),
    }


@pytest.mark.parametrize("what", changed(CONTESTS_MADE[29]))
@pytest.mark.parametrize("at", [0, 29])
def test_rate__a_corrected_contest_is_rated_again_with_all_after_it(
    tmp_path: Path, lake: Lake, what: str, at: int
) -> None:
    rate_run(lake, drift_per_day=5.0)
    before = stamps(folder(lake))
    corrected = changed(CONTESTS_MADE[at])[what]
    assert ingest(lake, [corrected]) == ["corrected"]
    report = rate_run(lake, drift_per_day=5.0)
    assert report.why == f"round {at}, contest {at}, changed"
    assert report.kept <= at
    assert report.kept + report.rated == 60
    kept = {name: stamp for name, stamp in before.items() if int(name[:6]) < report.kept}
    assert len(kept) == 2 * len([path for path in manifests(lake) if int(path.stem) < report.kept])
    assert kept.items() <= stamps(folder(lake)).items()
    assert at - report.kept < SEGMENT_ROWS  # at most its segment
    contests = [*CONTESTS_MADE[:at], corrected, *CONTESTS_MADE[at + 1 :]]
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests, drift_per_day=5.0)))


def test_rate__an_undone_correction_gives_the_first_files_again(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake)
    for one in (changed(CONTESTS_MADE[29])["order"], CONTESTS_MADE[29]):
        ingest(lake, [one])
        rate_run(lake)
    assert files(folder(lake)) == files(folder(undisturbed))


def test_rate__a_new_title_rates_nothing_again(undisturbed: Lake) -> None:
    before = stamps(folder(undisturbed, ""))
    one = CONTESTS_MADE[29]
    renamed = Contest("29", "A better title", "https://x.org", one.time_seconds, one.handles, one.lo, one.hi)
    ingest(undisturbed, [renamed])
    assert rate_run(undisturbed).rated == 0
    assert stamps(folder(undisturbed, "")) == before


@pytest.mark.parametrize("n_more", [1, 40])
def test_rate__appended_contests_leave_earlier_rounds_unchanged(tmp_path: Path, n_more: int) -> None:
    contests = synthetic(60 + n_more)
    assert [one.content_digest for one in contests[:60]] == [one.content_digest for one in CONTESTS_MADE]
    lake = lake_of(tmp_path / "lake", contests[:60])
    rate_run(lake)
    before = stamps(folder(lake))
    ingest(lake, contests[60:])
    report = rate_run(lake)
    assert (report.kept, report.replayed, report.rated, report.why) == (60, 0, n_more, "")
    assert before.items() <= stamps(folder(lake)).items()
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests)))


def test_rate__removed_last_contests_remove_their_rounds(tmp_path: Path, undisturbed: Lake) -> None:
    ingest(undisturbed, CONTESTS_MADE[:31], "shorter")
    report = rate_run(undisturbed, dataset="shorter", replace=True)
    assert report.kept <= 31
    assert report.why
    assert Run.open(undisturbed, "run").segments().stop_round == 31
    assert same_tables(rated(undisturbed), rated(fresh(tmp_path, CONTESTS_MADE[:31])))


def test_rate__rounds_with_other_player_numbers_are_not_kept(
    tmp_path: Path,
) -> None:
    lake = lake_of(tmp_path / "lake", [contest("0", "ann", "bob")], "one")
    ingest(lake, [contest("0", "zoe", "ann")], "other")
    ingest(lake, [contest("0", "ann", "bob")], "other")  # the same content, but zoe has number 0
    rate_run(lake, dataset="one")
    rate_run(lake, dataset="other", replace=True)
    assert rated(lake).column("player").to_pylist() == ["ann", "bob"]


# Damage


def remove(path: Path) -> None:
    path.unlink()


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.slow
@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("damage", [remove, tear])
@pytest.mark.parametrize("snapshots", ["with", "without"])
def test_rate__a_damaged_segment_is_rated_again_with_all_after_it(
    lake: Lake, undisturbed: Lake, where: str, suffix: str, damage: Any, snapshots: str
) -> None:
    rate_run(lake)
    found = manifests(lake)
    path = found[{"first": 0, "middle": len(found) // 2, "last": -1}[where]]
    damage(path.with_suffix(suffix))
    if snapshots == "without":
        Run.open(lake, "run").prune_snapshots(0)
    report = rate_run(lake)
    assert report.kept == report.replayed == int(path.stem)
    assert report.rated == 60 - report.kept
    if not (damage is remove and suffix == ".json" and where == "last"):  # an uncommitted round
        assert report.why
    assert files(folder(lake)) == files(folder(undisturbed))
    assert Run.open(lake, "run").snapshots() == [59]
    assert same_beliefs(Run.open(lake, "run").read_snapshot(59)[0], Run.open(undisturbed, "run").read_snapshot(59)[0])


def test_rate__a_missing_segment_is_reported_with_its_place(lake: Lake) -> None:
    rate_run(lake)
    first, second, *_ = manifests(lake)[2:]
    first.unlink()
    report = rate_run(lake)
    assert report.kept == int(first.stem)
    assert report.why.count("\n") == 0
    assert second.name in report.why


def test_rate__removes_the_incomplete_files_of_a_crash(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake, max_rounds=20)
    stop = Run.open(lake, "run").segments().stop_round
    (folder(lake) / f"{stop:06d}.parquet").write_bytes(b"half a fi")
    (folder(lake) / ".tmp-0123456789abcdef").write_bytes(b"half a fi")
    orphan = folder(lake, "snapshots") / "000019"
    (orphan / "manifest.json").unlink()
    rate_run(lake)
    assert same_tables(rated(lake), rated(undisturbed))
    assert Run.open(lake, "run").snapshots() == [59]


def test_rate__adds_a_missing_last_snapshot(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake)
    Run.open(lake, "run").prune_snapshots(0)
    assert rate_run(lake).kept == 60
    assert files(folder(lake, "")) == files(folder(undisturbed, ""))


def tamper(lake: Lake, number: int, column: str) -> None:
    """Change the last bit of one stored value, and its digest in the manifest."""
    manifest = manifests(lake)[number]
    path = manifest.with_suffix(".parquet")
    table = lake.read_table(str(path.relative_to(lake.url)), "rounds")
    values = table.column(column).to_numpy().copy()
    values[3] = np.nextafter(values[3], np.inf)
    index = table.schema.get_field_index(column)
    data = encode(table.set_column(index, table.schema.field(index), pa.array(values)), "rounds")
    facts = json.loads(manifest.read_text())
    path.write_bytes(data)
    manifest.write_text(json.dumps({**facts, "file_size": data.size, "file_digest": digest_of(data)}))


@pytest.mark.parametrize("column", ["mu", "sigma"])
def test_rate__fails_if_replayed_rounds_have_other_ratings(tmp_path: Path, column: str) -> None:
    contests = synthetic(70)
    lake = lake_of(tmp_path / "lake", contests[:60])
    rate_run(lake)
    tamper(lake, 3, column)
    Run.open(lake, "run").prune_snapshots(0)
    ingest(lake, contests[60:])
    before = stamps(folder(lake))
    first, after = (int(path.stem) for path in manifests(lake)[3:5])
    problem = (
        rf"rounds/{first:06d}\.parquet: rounds {first}-{after - 1}, .* {column} than stored.*--from {first}` rates"
    )
    with pytest.raises(LakeError, match=problem):
        rate_run(lake)
    assert stamps(folder(lake)) == before


def test_rate__fails_for_an_unreadable_performance_with_its_place(lake: Lake) -> None:
    rate_run(lake, max_rounds=40)
    Run.open(lake, "run").prune_snapshots(0)
    path = manifests(lake)[1].with_suffix(".parquet")
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(DamagedError, match=path.name):
        rate_run(lake)


# Snapshots


@pytest.fixture
def snapshots_often(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, snapshot_rows=100, max_snapshots=4)


def test_rate__the_end_of_a_run_has_a_snapshot(undisturbed: Lake) -> None:
    assert Run.open(undisturbed, "run").snapshots() == [59]
    columns, digest = Run.open(undisturbed, "run").read_snapshot(59)
    assert digest == Run.open(undisturbed, "run").segments().last_digest
    rows = rated(undisturbed).to_pylist()
    handles = Dataset.open(undisturbed, "games").handles().to_pylist()
    last = {row["player"]: row for row in rows}
    for player, handle in enumerate(handles):
        if handle in last:
            assert columns["mu"][player] == last[handle]["mu"]
            assert columns["n_rounds"][player] == last[handle]["n_before"] + 1


@pytest.mark.usefixtures("snapshots_often")
def test_rate__takes_snapshots_and_prunes_old_ones(lake: Lake) -> None:
    rate_run(lake)
    found = Run.open(lake, "run").snapshots()
    assert len(found) == 4
    assert found[-1] == 59
    ends = np.cumsum(Dataset.open(lake, "games").contests.column("n_players").to_numpy())[found]
    assert all(100 <= rows <= 150 for rows in np.diff(ends, prepend=0)[:-1])
    assert {number + 1 for number in found} <= {s.stop_round for s in Run.open(lake, "run").segments().segments}
    assert sorted(path.name for path in folder(lake, "snapshots").iterdir()) == [f"{n:06d}" for n in found]


@pytest.mark.slow
@pytest.mark.usefixtures("snapshots_often")
def test_rate__a_growing_run_keeps_snapshots_over_its_history(lake: Lake) -> None:
    for stop in range(1, 61):
        rate_run(lake, max_rounds=stop)
    run = Run.open(lake, "run")
    *older, last_but_one, last = run.snapshots()
    assert (last_but_one, last) == (58, 59)
    assert len(older) == 2
    ends = np.cumsum(Dataset.open(lake, "games").contests.column("n_players").to_numpy())
    assert all(60 <= rows <= 240 for rows in np.diff(ends[[*older, last]], prepend=0))


def test_rate__a_slow_system_has_a_snapshot_every_few_seconds(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranklake.flows.rating.commits.snapshot_schedule, "_STOPS", 30_000)
    clock = iter(range(0, 10_000, 2))  # each reading of the clock is two seconds later
    monkeypatch.setattr(ranklake.flows.rating.rate.time, "perf_counter", lambda: float(next(clock)))
    rate_run(lake)
    assert len(Run.open(lake, "run").snapshots()) > 4


@pytest.mark.usefixtures("snapshots_often")
@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_rate__beliefs_from_a_snapshot_are_those_of_the_whole_history(tmp_path: Path, keep: int) -> None:
    contests = synthetic(80, seed=6)
    lake = lake_of(tmp_path / "lake", contests[:60])
    rate_run(lake, rho=0.3)
    Run.open(lake, "run").prune_snapshots(keep)
    ingest(lake, contests[57:])  # 57 to 59 are unchanged
    report = rate_run(lake, rho=0.3)
    assert (report.kept, report.replayed, report.rated) == (60, 0 if keep else 60, 20)
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests, rho=0.3)))


@pytest.mark.usefixtures("snapshots_often")
def test_rate__a_correction_resumes_from_the_newest_snapshot_before_it(tmp_path: Path, lake: Lake) -> None:
    rate_run(lake)
    *_, older, newer, _ = Run.open(lake, "run").snapshots()
    at = newer + 2
    corrected = changed(CONTESTS_MADE[at])["weight"]
    ingest(lake, [corrected])
    report = rate_run(lake)
    assert newer < report.kept <= at
    assert report.replayed == report.kept - newer - 1 < report.kept
    contests = [*CONTESTS_MADE[:at], corrected, *CONTESTS_MADE[at + 1 :]]
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests)))
    assert older < newer


@pytest.mark.usefixtures("snapshots_often")
def test_rate__a_snapshot_of_another_history_is_not_used(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake, max_rounds=30)
    run = Run.open(lake, "run")
    last = run.snapshots()[-1]
    columns, _ = run.read_snapshot(last)
    columns["mu"][:] = 0.0
    run.write_snapshot(last, columns, "0" * 32)
    assert rate_run(lake).replayed > 0
    assert same_tables(rated(lake), rated(undisturbed))


@pytest.mark.parametrize("damage", [remove, tear])
@pytest.mark.parametrize("name", ["part-0000.arrow", "manifest.json"])
def test_rate__a_damaged_snapshot_is_reported_and_an_older_one_used(
    lake: Lake, undisturbed: Lake, name: str, damage: Any
) -> None:
    rate_run(lake, max_rounds=20)
    rate_run(lake, max_rounds=30)
    damage(folder(lake, "snapshots") / "000029" / name)
    report = rate_run(lake)
    assert report.replayed == 10
    if (name, damage) != ("manifest.json", remove):  # without its manifest, a snapshot is not committed
        assert report.line().endswith("; damaged snapshot removed, an older one used: runs/run/snapshots/000029")
    assert Run.open(lake, "run").snapshots() == [19, 59]
    assert same_tables(rated(lake), rated(undisturbed))


def test_rate__a_snapshot_of_a_newer_format_is_an_error(lake: Lake) -> None:
    rate_run(lake, max_rounds=30)
    path = folder(lake, "snapshots") / "000029" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(FormatError, match=r"snapshots/000029/manifest\.json is format 2, .*; update ranklake"):
        rate_run(lake)


def test_rate__snapshots_do_not_make_segments_depend_on_interruptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # skipped rounds count for standings files and not for segments: these end at different rounds
    commit_often(monkeypatch, snapshot_rows=100)
    lake = lake_of(tmp_path / "lake", synthetic(80, seed=9))
    rate_run(lake)
    undisturbed = files(folder(lake))
    for last in range(1, 12):
        run = Run.open(lake, "run")
        run.truncate(run.segments().segments[last].first_round)
        rate_run(lake)
        assert files(folder(lake)) == undisturbed


# Random sequences


STEPS = st.one_of(
    st.tuples(st.just("rate some"), st.integers(0, 8)),
    st.tuples(st.just("append"), st.integers(1, 2)),
    st.tuples(st.just("correct"), st.integers(0, 7)),
    st.tuples(st.just("lose manifest"), st.integers(0, 7)),
    st.tuples(st.just("lose data"), st.integers(0, 7)),
    st.tuples(st.just("lose snapshots"), st.integers(0, 2)),
    st.tuples(st.just("other parameters"), st.just(0)),
)


@pytest.mark.slow
@repeatable(60)
@given(histories(max_rounds=8), st.lists(STEPS, max_size=6))
def test_rate__after_any_events_equals_an_undisturbed_run(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], steps: list[tuple[str, int]]
) -> None:
    contests = []
    for i, round in enumerate(history):
        groups: dict[int, list[str]] = {}
        for player, lo, _ in round.standings:
            groups.setdefault(lo, []).append(player)
        tied = [groups[lo] for lo in sorted(groups)]
        more = {"weight": round.weight, "perf_ceiling": round.perf_ceiling}
        contests.append(contest(str(i), *tied, time_seconds=round.time, **more))
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=6, snapshot_rows=12)
        patch.setattr(ranklake.storage.datasets.ingest, "_FILE_ROWS", 9)
        path = tmp_path_factory.mktemp("any")
        n = (len(contests) + 1) // 2
        lake = lake_of(path / "lake", contests[:n])
        rate_run(lake)
        for what, number in steps:
            run = Run.open(lake, "run")
            segments = sorted(folder(lake).glob("*.json"))
            if what == "rate some":
                rate_run(lake, max_rounds=number, replace=True)
            elif what == "append":
                ingest(lake, contests[n : n + number])
                n = min(n + number, len(contests))
            elif what == "correct":
                at = number % n
                contests[at] = contest(str(at), *contests[at].handles.to_pylist()[::-1], "somebody else", weight=0.7)
                ingest(lake, [contests[at]])
            elif what.startswith("lose") and what != "lose snapshots" and segments:
                lost = segments[number % len(segments)]
                (lost if what == "lose manifest" else lost.with_suffix(".parquet")).unlink(missing_ok=True)
            elif what == "lose snapshots":
                run.prune_snapshots(number)
            elif what == "other parameters":
                rate_run(lake, max_rounds=2, rho=0.5, replace=True)
        rate_run(lake, replace=True)
        assert same_tables(rated(lake), rated(fresh(path, contests[:n])))


def test_rate__of_a_run_under_another_lease_is_refused_without_steal(lake: Lake) -> None:
    lost = pytest.raises(LeaseHeldError, match="took over")
    with lost, hold_lease(lake, "runs/run", "rate run"):
        with pytest.raises(LeaseHeldError, match=r"runs/run: .* holds the lease, last heartbeat"):
            rate_run(lake)
        rate_run(lake, steal=True)


def test_rate__commits_nothing_after_the_loss_of_its_lease(lake: Lake) -> None:
    def lose(progress: Progress) -> None:
        with hold_lease(lake, "runs/run", "rate run", steal=True):
            pass

    with pytest.raises(LeaseHeldError, match="took over from this process"):
        rate_run(lake, on_progress=lose)
    assert Run.open(lake, "run").segments().stop_round == 0
