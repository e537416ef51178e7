"""Unrated participants in a lake: recorded with a performance, and without any influence on ratings."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.answers import leaderboard
from helpers.lakes import contest, ingest, lake_of, often, rate_run, rated, same_tables, synthetic
from helpers.rated_runs import problems

from ranklake.flows.common.adapters import places_among_rated
from ranklake.flows.evaluation.tuning.history import load_history
from ranklake.flows.publication.content import Content
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.reference import parse_reference
from ranklake.flows.sources.options import ReadOptions
from ranklake.rating_kernels import Rounds
from ranklake.storage import Contest, Dataset, Lake, Run
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.maintenance.compact import compact_run

OFTEN = often(segment_rows=30, snapshot_rows=60)

CONTESTS = synthetic(24, seed=3)


def with_unrated(one: Contest, seed: int, in_field: bool = False) -> Contest:
    """The contest with some visitors without a rating at random places, and its first player unrated."""
    rng = np.random.default_rng(seed)
    groups: dict[int, list[str]] = {}
    for handle, lo in zip(one.handles.to_pylist(), one.lo.tolist(), strict=True):
        groups.setdefault(2 * lo, []).append(handle)
    for guest in range(3):
        groups.setdefault(int(rng.integers(-1, 2 * len(one))), []).append(f"guest {guest}")
    made = contest(one.contest_id, *(groups[at] for at in sorted(groups)), time_seconds=one.time_seconds)
    out = np.array([not handle.startswith("guest") for handle in made.handles.to_pylist()])
    facts = {"weight": one.weight, "perf_ceiling": one.perf_ceiling, "field_includes_unrated": in_field}
    return dataclasses.replace(made, rated=out, **facts)  # type: ignore[arg-type]


MIXED = [one if i % 3 == 0 else with_unrated(one, i) for i, one in enumerate(CONTESTS)]


@pytest.fixture
def lakes(tmp_path: Path) -> tuple[Lake, Lake]:
    """A lake with unrated participants, and one without them; both rated as ``run``."""
    lakes = lake_of(tmp_path / "mixed", MIXED), lake_of(tmp_path / "plain", CONTESTS)
    for lake in lakes:
        rate_run(lake, policy=OFTEN)
    return lakes


def unrated_rows(lake: Lake) -> pa.Table:
    tables = [table for _, table in Run.open(lake, "run").iter_segments(unrated=True) if "rated" in table.column_names]
    return pa.concat_tables([table.replace_schema_metadata() for table in tables]).filter(pc.invert(pc.field("rated")))


@pytest.mark.slow
def test_ratings__have_the_bits_of_a_data_set_without_the_unrated(lakes: tuple[Lake, Lake]) -> None:
    mixed, plain = lakes
    assert same_tables(rated(mixed), rated(plain))
    boards = [leaderboard(lake, "run").drop_columns("player") for lake in lakes]
    assert boards[0].equals(boards[1])


def test_unrated__have_rows_with_a_performance_and_the_belief_of_before(lakes: tuple[Lake, Lake]) -> None:
    rows = unrated_rows(lakes[0])
    wanted = [
        i for i in range(len(CONTESTS)) if i % 3 and len(CONTESTS[i]) > 1 and CONTESTS[i].hi[0] < len(CONTESTS[i]) - 1
    ]
    assert rows.column("round_index").unique().to_pylist() == wanted
    assert rows.num_rows == 3 * len(wanted)
    assert rows.column("perf").null_count == 0
    assert set(rows.column("n_before").to_pylist()) == {0}
    assert set(rows.column("mu").to_pylist()) == {1500.0}


@pytest.mark.slow
def test_lake__is_the_same_after_a_merge_a_rewrite_and_a_verification(lakes: tuple[Lake, Lake]) -> None:
    lake = lakes[0]
    before = unrated_rows(lake), rated(lake)
    assert problems(lake) == []
    assert compact_run(Run.open(lake, "run"))[1] == 1
    assert same_tables(unrated_rows(lake), before[0])
    assert same_tables(rated(lake), before[1])
    assert problems(lake) == []


@pytest.mark.slow
def test_rate__resumes_where_a_contest_has_other_unrated_participants(lakes: tuple[Lake, Lake], tmp_path: Path) -> None:
    lake = lakes[0]
    turned = dataclasses.replace(MIXED[13], rated=np.arange(len(MIXED[13])) > 1)
    ingest(lake, [turned])
    report = rate_run(lake, policy=OFTEN)
    assert (report.kept <= 13, report.rated >= 11) == (True, True)
    whole = lake_of(tmp_path / "whole", [turned if i == 13 else one for i, one in enumerate(MIXED)])
    rate_run(whole, policy=OFTEN)
    assert same_tables(rated(lake), rated(whole))


def test_field_includes_unrated__rated_players_compete_with_all(tmp_path: Path) -> None:
    first = [contest("1", "a", "b", "c", time_seconds=86_400)]
    second = contest("2", "guest", "a", "b", "c", time_seconds=2 * 86_400)
    shown = dataclasses.replace(second, rated=np.array([False, True, True, True]), field_includes_unrated=True)
    boards = []
    for name, last in (("field", shown), ("all", second)):
        rate_run(lake := lake_of(tmp_path / name, [*first, last]), policy=OFTEN)
        boards.append({row["handle"]: row["mu"] for row in leaderboard(lake, "run").to_pylist()})
    assert boards[0] == {handle: boards[1][handle] for handle in "abc"}


def test_digest__changes_with_unrated_participants_alone() -> None:
    plain = contest("1", "a", "b")
    assert dataclasses.replace(plain, rated=np.array([True, True])).content_digest == plain.content_digest
    assert dataclasses.replace(plain, field_includes_unrated=True).content_digest == plain.content_digest
    out = dataclasses.replace(plain, rated=np.array([True, False]))
    other = dataclasses.replace(plain, rated=np.array([False, True]))
    in_field = dataclasses.replace(out, field_includes_unrated=True)
    assert len({one.content_digest for one in (plain, out, other, in_field)}) == 4


def test_files__without_unrated_participants_have_no_new_column(lakes: tuple[Lake, Lake]) -> None:
    mixed, plain = lakes
    for lake in lakes:
        dataset = Dataset.open(lake, "games")
        assert dataset.contests.column("field_includes_unrated").null_count == len(CONTESTS)
        assert not metadata_of(dataset.contests.schema).keys() - {"format", "table", "player_parts", "n_players"}
    path = next(iter(plain.list("games/standings")))
    assert "rated" not in pq.read_schema(pa.BufferReader(plain.read_bytes(f"games/standings/{path}"))).names
    assert b"unrated" not in plain.read_bytes("runs/run/rounds/000000.json")
    assert any(b"unrated" in mixed.read_bytes(f"runs/run/rounds/{name}") for name in mixed.list("runs/run/rounds"))


@pytest.mark.slow
def test_disqualified__is_neither_rated_nor_unrated(lakes: tuple[Lake, Lake]) -> None:
    lake = lakes[0]
    at = next(i for i, one in enumerate(MIXED) if one.rated is not None and len(CONTESTS[i]) > 3)
    with Dataset.ingest(lake, "games") as adding:
        adding.disqualify(str(at), "guest 1")
    rate_run(lake, policy=OFTEN)
    handles = Dataset.open(lake, "games").handles()
    rows = unrated_rows(lake)
    here = rows.filter(pc.equal(rows.column("round_index"), at)).column("player")
    assert sorted(handles.take(here.combine_chunks()).to_pylist()) == ["guest 0", "guest 2"]
    assert problems(lake) == []


def test_places__of_unrated_are_those_among_the_rated() -> None:
    rounds = Rounds.from_columns([0, 5], [0, 1, 2, 3, 4], [0, 1, 1, 1, 4], [0, 3, 3, 3, 4])
    rounds = dataclasses.replace(rounds, roles=np.array([1, 0, 1, 0, 1], dtype=np.uint8))
    lo, hi = places_among_rated(rounds)
    assert (lo.tolist(), hi.tolist()) == ([0, 0, 0, 0, 2], [0, 1, 2, 1, 2])


def test_published_ratings__have_all_participations_and_whether_they_are_rated(lakes: tuple[Lake, Lake]) -> None:
    tables = [pa.Table.from_batches(list(Content(lake, "run").ratings(0))) for lake in lakes]
    mixed, plain = (table.drop_columns(["player", "n_before"]) for table in tables)
    assert mixed.filter(pc.field("rated")).equals(plain)
    out = mixed.filter(pc.invert(pc.field("rated")))
    assert out.num_rows == unrated_rows(lakes[0]).num_rows > 0
    assert set(out.column("handle").to_pylist()) == {"guest 0", "guest 1", "guest 2"}


def test_search__has_the_history_without_the_unrated(lakes: tuple[Lake, Lake]) -> None:
    one, other = (load_history(Dataset.open(lake, "games")) for lake in lakes)
    for name in ("offsets", "lo", "hi", "time_seconds", "weight", "perf_ceiling"):
        assert np.array_equal(getattr(one.rounds, name), getattr(other.rounds, name))


@pytest.mark.parametrize("spelled", ["false", "No", " 0 ", "FALSE"])
def test_table__has_a_column_rated(tmp_path: Path, spelled: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(f"contest,player,rank,rated\n1,a,2,true\n1,b,1,{spelled}\n1,c,3,\n2,a,1,yes\n2,b,2,1\n")
    first, second = read_contests(path)
    assert (first.handles.to_pylist(), first.rated.tolist()) == (["b", "a", "c"], [False, True, True])  # type: ignore[union-attr]
    assert (second.rated, second.field_includes_unrated) == (None, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rated\n1,a,2,true\n1,b,1,maybe\n",
         r"row 2.*rated must be true or false, or empty for true, got rated = 'maybe'"),
        ("rated,crew\n1,a,1,true,red\n1,b,1,false,red\n1,c,2,true,\n",
         "contest 1: a contest of teams has unrated participants"),
    ],
    ids=["value", "teams"],
)  # fmt: skip
def test_table__with_wrong_unrated_participants_is_a_fault(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(f"contest,player,rank,{text}")
    options = ReadOptions.parse(["team=crew"] if "crew" in text else [])
    with pytest.raises(SourceError, match=why):
        list(read_contests(path, options=options))


def test_reference__has_unrated_handles() -> None:
    known = {"name": "x", "time_seconds": 5, "standings": [["a", 0, 0], ["b", 1, 1]]}
    read = parse_reference(json.dumps(known | {"unrated": ["b"], "field_includes_unrated": True}).encode(), "1")
    assert read.rated is not None
    assert (read.rated.tolist(), read.field_includes_unrated) == ([True, False], True)
    assert parse_reference(json.dumps(known).encode(), "1").rated is None
    with pytest.raises(SourceError, match="the unrated player 'z' is not in the standings"):
        parse_reference(json.dumps(known | {"unrated": ["z"]}).encode(), "1")
    with pytest.raises(SourceError, match=r"not the reference format: .*unrated"):
        parse_reference(json.dumps(known | {"unrated": "b"}).encode(), "1")
