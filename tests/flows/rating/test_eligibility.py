"""Contests that rate a range of ratings: decided from the ratings at entry, recorded, and kept through corrections."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.builders import Killed, WatchedLake
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import commit_often, contest, copy_of, files, ingest, lake_of, rate_run, same_tables, synthetic
from helpers.rated_runs import folder, problems

from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.publication.content import Content
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.storage import Contest, DamagedError, Dataset, Lake, Run
from ranklake.storage.maintenance.compact import compact_run
from ranklake.storage.maintenance.verify import verify_run
from ranklake.storage.runs.entry_ratings import entry_files
from ranklake.storage.runs.run import concatenate_rounds

START = 1500.0  # rating of a newcomer of the system elo
LIMITS = (
    {},
    {"rated_below": START + 5.0},
    {"rated_above": START},
    {"rated_below": START},
    {"rated_above": START - 8.0, "rated_below": START + 8.0, "field_includes_unrated": True},
)
Flags = dict[tuple[str, str], bool]


def limited(contests: Sequence[Contest]) -> list[Contest]:
    """The contests, most of them with limits, and some with an unrated participant besides."""
    made = []
    for i, one in enumerate(contests):
        rated = np.arange(len(one)) != len(one) // 2 if i % 7 == 3 and len(one) > 2 else None
        made.append(dataclasses.replace(one, rated=rated, **LIMITS[i % len(LIMITS)]))  # type: ignore[arg-type]
    return made


CONTESTS = limited(synthetic(24, seed=5, n_players=16))
FEW = CONTESTS[:6]


@pytest.fixture(scope="module", autouse=True)
def many_small_files() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=25, snapshot_rows=60)
        yield


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, many_small_files: None) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS)
    rate_run(lake, system="elo")
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with ``CONTESTS``, rated by Elo as ``run``."""
    return copy_of(rated_once, tmp_path / "lake")


def rows_of(lake: Lake) -> pa.Table:
    """All rows of a run, also of unrated participants, with the names of the players."""
    tables = [table.replace_schema_metadata() for _, table in Run.open(lake, "run").iter_segments(unrated=True)]
    rows = concatenate_rounds(tables)
    handles = Dataset.open(lake, "games").handles().take(rows.column("player").combine_chunks())
    return rows.set_column(rows.schema.get_field_index("player"), "player", handles)


def flags_of(lake: Lake) -> Flags:
    """Whether each participant of a contest that is not skipped is rated."""
    rows = rows_of(lake)
    keys = zip(rows["contest_id"].to_pylist(), rows["player"].to_pylist(), strict=True)
    return dict(zip(keys, rows["rated"].to_pylist(), strict=True))


def decided(contests: Sequence[Contest], lake: Lake, known: Flags | None = None) -> list[Contest]:
    """The contests with their unrated participants in place of limits, by the rule in plain Python.

    Ratings after a round are those of the lake. ``known`` are decisions that stand; skipped contests have none.
    """
    after: dict[str, dict[str, float]] = {}
    for row in rows_of(lake).select(["contest_id", "player", "mu"]).to_pylist():
        after.setdefault(row["contest_id"], {})[row["player"]] = row["mu"]
    shown: dict[str, float] = {}
    made = []
    for one in contests:
        names, flags = one.handles.to_pylist(), []
        given = [True] * len(one) if one.rated is None else one.rated.tolist()
        for name, rated in zip(names, given, strict=True):
            rating = shown.get(name, START)
            default = rated and one.rated_above <= rating and rating < one.rated_below
            flags.append(default if known is None else known.get((one.contest_id, name), False))
        shown.update(after.get(one.contest_id, {}))
        rated = None if all(flags) else np.array(flags)
        made.append(dataclasses.replace(one, rated=rated, rated_above=-np.inf, rated_below=np.inf))
    return made


def rate_again(lake: Lake) -> None:
    config = RunConfig.of(Run.open(lake, "run"))
    rate(lake, config, Serial(), RateOptions(start=0))


def reversed_order(one: Contest) -> Contest:
    """The contest with its participants in the reverse order."""
    turned = contest(one.contest_id, *one.handles.to_pylist()[::-1], time_seconds=one.time_seconds, weight=one.weight)
    rated = None if one.rated is None else one.rated[::-1]
    return dataclasses.replace(turned, rated=rated, rated_above=one.rated_above, rated_below=one.rated_below)


CORRECTED = [reversed_order(one) if i == 0 else one for i, one in enumerate(CONTESTS)]


def corrected(lake: Lake) -> Lake:
    """The lake after a correction of the first contest, rated again."""
    ingest(lake, CORRECTED[:1])
    report = rate_run(lake, system="elo")
    assert report.rated == len(CONTESTS)
    return lake


@pytest.mark.slow
def test_decisions__are_those_of_a_data_set_that_says_who_is_rated(lake: Lake, tmp_path: Path) -> None:
    explicit = decided(CONTESTS, lake)
    assert sum(0 < np.count_nonzero(one.rated) < len(one) for one in explicit if one.rated is not None) > 10
    plain = lake_of(tmp_path / "plain", explicit)
    rate_run(plain, system="elo")
    assert same_tables(rows_of(lake), rows_of(plain))
    assert [s.skipped for s in Run.open(lake, "run").segments().segments] == [
        s.skipped for s in Run.open(plain, "run").segments().segments
    ]
    assert problems(lake) == []


def test_record__has_the_rating_at_entry_of_every_participant_of_contests_with_limits(lake: Lake) -> None:
    record, after = Run.open(lake, "run").entry_ratings(), {}
    rows = {}
    for row in rows_of(lake).to_pylist():
        rows.setdefault(row["contest_id"], {})[row["player"]] = row["mu"]
    for one in CONTESTS:
        expected = [after.get(name, START) for name in one.handles.to_pylist()]
        found = record.of(one.contest_id, one.handles).tolist()
        assert found == expected if one.limited else np.isnan(found).all()
        after.update(rows.get(one.contest_id, {}))
    assert len(record) == sum(len(one) for one in CONTESTS if one.limited)


@pytest.mark.slow
def test_correction__changes_ratings_and_no_decision(lake: Lake, tmp_path: Path) -> None:
    before, ratings = flags_of(lake), rows_of(lake).column("mu")
    anew = lake_of(tmp_path / "anew", CORRECTED)
    rate_run(anew, system="elo")
    after = flags_of(corrected(lake))
    assert after == before != flags_of(anew)
    assert rows_of(lake).column("mu") != ratings
    plain = lake_of(tmp_path / "plain", decided(CORRECTED, lake, before))
    rate_run(plain, system="elo")
    assert same_tables(rows_of(lake), rows_of(plain))
    assert problems(lake) == []


@pytest.mark.slow
def test_correction__before_any_part_of_the_run_is_kept_or_compacted(lake: Lake) -> None:
    before = flags_of(lake)
    compact_run(Run.open(lake, "run"))
    run = Run.open(lake, "run")
    assert len(entry_files(lake, run.entry_folder)) == 1
    assert rate_run(lake, system="elo").rated == 0
    assert flags_of(corrected(lake)) == before
    assert problems(lake) == []


@pytest.mark.slow
def test_limits__that_are_corrected_decide_from_the_recorded_ratings(lake: Lake) -> None:
    corrected(lake)
    at = next(i for i, one in enumerate(CONTESTS) if one.rated_below == START + 5.0 and len(one) > 4)
    one = CONTESTS[at]
    ratings = Run.open(lake, "run").entry_ratings().of(one.contest_id, one.handles)
    bound = float(np.median(ratings))
    ingest(lake, [dataclasses.replace(one, rated_below=np.inf, rated_above=bound)])
    rate_run(lake, system="elo")
    flags = flags_of(lake)
    given = np.ones(len(one), np.bool_) if one.rated is None else one.rated
    wanted = ((ratings >= bound) & given).tolist()
    assert [flags[one.contest_id, name] for name in one.handles.to_pylist()] == wanted
    assert problems(lake) == []


def test_late_participant__is_decided_beside_the_recorded_ones(lake: Lake) -> None:
    before = flags_of(lake)
    at = next(i for i, one in enumerate(CONTESTS) if one.rated_above == START and len(one) > 4 and one.rated is None)
    one, recorded = CONTESTS[at], len(Run.open(lake, "run").entry_ratings())
    late = contest(one.contest_id, *one.handles.to_pylist(), "late", time_seconds=one.time_seconds)
    ingest(lake, [dataclasses.replace(late, rated_above=one.rated_above)])
    rate_run(lake, system="elo")
    after = flags_of(lake)
    assert after.pop((one.contest_id, "late")) is True  # a newcomer
    assert after == before
    assert len(Run.open(lake, "run").entry_ratings()) == recorded + 1


@pytest.mark.slow
def test_alias__keeps_the_decisions_about_the_player(lake: Lake) -> None:
    before = flags_of(lake)
    with Dataset.ingest(lake, "games") as adding:
        adding.alias("player 3", "renamed")
    corrected(lake)
    assert flags_of(lake) == {
        (i, "renamed" if name == "player 3" else name): flag for (i, name), flag in before.items()
    }
    assert problems(lake) == []


@pytest.mark.slow
def test_other_hyperparameters__decide_anew(lake: Lake, tmp_path: Path) -> None:
    rate_run(lake, system="elo", replace=True, k=90.0)
    fresh = lake_of(tmp_path / "fresh", CONTESTS)
    rate_run(fresh, system="elo", k=90.0)
    assert files(folder(lake, "rounds")) == files(folder(fresh, "rounds"))
    assert files(folder(lake, "entry")) == files(folder(fresh, "entry"))


@pytest.mark.slow
def test_new_run__of_the_same_name_decides_anew(lake: Lake) -> None:
    corrected(lake)
    entry = folder(lake, "entry")
    shutil.copytree(entry, Path(lake.url) / "left")
    Run.open(lake, "run").delete()
    assert not entry.exists()
    shutil.copytree(Path(lake.url) / "left", entry)  # as after an interrupted deletion
    rate_run(lake, system="elo")
    anew = lake_of(Path(lake.url) / "anew", CORRECTED)
    rate_run(anew, system="elo")
    assert flags_of(lake) == flags_of(anew)


@pytest.mark.parametrize("make", [lambda: Threads(3), lambda: InProcessEngine(2)], ids=["threads", "workers"])
def test_engines__decide_and_record_the_same(rated_once: Lake, tmp_path: Path, make: object) -> None:
    engine: Engine = make()  # type: ignore[operator]
    lake = lake_of(tmp_path / "lake", CONTESTS)
    rate_run(lake, system="elo", engine=engine)
    for part in ("rounds", "entry"):
        assert files(folder(lake, part)) == files(folder(rated_once, part))


@pytest.mark.quick("with")
@pytest.mark.parametrize("snapshots", [0, 9], ids=["without", "with"])
def test_stops__between_rounds_change_no_decision(rated_once: Lake, tmp_path: Path, snapshots: int) -> None:
    """With snapshots, the ratings at entry after a stop are those of the restored beliefs."""
    lake = lake_of(tmp_path / "lake", CONTESTS)
    for stop in (5, 11, None):
        report = rate_run(lake, system="elo", max_rounds=stop)
        assert (report.replayed > 0) == (report.kept > 0 and not snapshots)
        Run.open(lake, "run").prune_snapshots(snapshots)
    assert flags_of(lake) == flags_of(rated_once)
    assert same_tables(rows_of(lake), rows_of(rated_once))
    assert len(Run.open(lake, "run").entry_ratings()) == len(Run.open(rated_once, "run").entry_ratings())


@pytest.mark.slow
@pytest.mark.parametrize(
    "done", [pytest.param(False, marks=pytest.mark.slow, id="before"), pytest.param(True, id="after")]
)
def test_crash__at_any_write_changes_no_file_after_the_next_rating(tmp_path: Path, done: bool) -> None:
    ingested = lake_of(tmp_path / "ingested", FEW)
    whole = WatchedLake(copy_of(ingested, tmp_path / "whole"))
    rate_run(whole, system="elo")
    wanted = files(folder(whole, ""))
    places = [i for i, path in enumerate(whole.writes) if "/entry/" in path or "/rounds/" in path]
    assert sum("/entry/" in whole.writes[i] for i in places) > 1
    for at in places:
        lake = copy_of(ingested, tmp_path / f"{at}")
        with pytest.raises(Killed):
            rate_run(WatchedLake(lake, fail_at=at, done=done, error=Killed()), system="elo")
        rate_run(lake, system="elo", steal=True)
        assert files(folder(lake, "")) == wanted, whole.writes[at]


def test_crash__of_a_merge_loses_no_rating(rated_once: Lake, tmp_path: Path) -> None:
    names = [one.handles for one in CONTESTS]
    record = Run.open(rated_once, "run").entry_ratings()
    for number, (fail_at, error) in enumerate([(0, Killed()), (-1, None)]):
        lake = copy_of(rated_once, tmp_path / f"{number}")
        watched = WatchedLake(lake, fail_at=fail_at, done=True, error=error)
        if error is None:
            Run.open(watched, "run").merge_entry_ratings()
        else:
            with pytest.raises(Killed):
                Run.open(watched, "run").merge_entry_ratings()
        found = Run.open(lake, "run").entry_ratings()
        for one, handles in zip(CONTESTS, names, strict=True):
            a, b = (each.of(one.contest_id, handles) for each in (found, record))
            assert np.array_equal(a, b, equal_nan=True)
        assert rate_run(lake, system="elo").rated == 0


def test_damage__of_the_record_is_named_with_its_remedy(lake: Lake) -> None:
    path = next(iter(folder(lake, "entry").iterdir()))
    path.write_bytes(path.read_bytes()[:-1])
    named = f"{path.name}: does not match the digest in its name; restore it; or delete it"
    assert any(named in problem for problem in verify_run(Run.open(lake, "run")))
    ingest(lake, CORRECTED[:1])
    before = files(folder(lake, "rounds"))
    with pytest.raises(DamagedError, match=path.name):
        rate_run(lake, system="elo")
    assert files(folder(lake, "rounds")) == before


@pytest.mark.slow
def test_record__that_is_lost_is_a_problem_with_its_remedy(lake: Lake) -> None:
    for path in folder(lake, "entry").iterdir():
        path.unlink()
    found = problems(lake)
    assert found
    for problem in found:
        assert re.fullmatch(
            r"runs/run/entry[^:]*: has not all ratings at entry of contest \d+(, and of \d+ more)?; "
            "restore it; or delete it, and `ranklake rate --run run --from 0` records new ratings at entry",
            problem,
        )
    rate_again(lake)
    assert problems(lake) == []


def test_excluded_contest__is_not_decided(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", FEW)
    at = next(i for i, one in enumerate(FEW) if one.limited and len(one) > 2)
    rate_run(lake, system="elo", exclude=(str(at),))
    record = Run.open(lake, "run").entry_ratings()
    assert np.isnan(record.of(str(at), FEW[at].handles)).all()
    assert len(record) == sum(len(one) for i, one in enumerate(FEW) if one.limited and i != at)


def test_published_ratings__say_who_was_rated(lake: Lake) -> None:
    table = pa.Table.from_batches(list(Content(lake, "run").ratings(0)))
    keys = zip(table["contest_id"].to_pylist(), table["handle"].to_pylist(), strict=True)
    assert dict(zip(keys, table["rated"].to_pylist(), strict=True)) == flags_of(lake)


def test_run__over_contests_without_limits_has_no_record(tmp_path: Path) -> None:
    lake = lake_of(
        tmp_path / "lake", [dataclasses.replace(one, rated_above=-np.inf, rated_below=np.inf) for one in FEW]
    )
    rate_run(lake, system="elo")
    assert not folder(lake, "entry").exists()
    schema = Dataset.open(lake, "games").contests
    assert pc.all(pc.is_null(schema.column("rated_below"))).as_py()


def test_offset__of_new_players_is_part_of_the_rating_at_entry(tmp_path: Path) -> None:
    first = contest("1", "a", "b", "c", "d", time_seconds=86_400, rated_below=1.0)
    second = contest("2", "a", "b", "c", "d", "new", time_seconds=2 * 86_400, rated_above=1.0)
    lake = lake_of(tmp_path / "lake", [first, second])
    rate_run(lake, system="codeforces", display_2020=True)
    flags = flags_of(lake)
    assert [flags["1", name] for name in "abcd"] == [True] * 4  # a newcomer is shown with 0
    assert flags["2", "a"]
    assert not flags["2", "new"]
