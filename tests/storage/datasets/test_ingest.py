import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.builders import Killed, WatchedLake, content, contest, expected, field, ingest, tree

from ranklake.storage import Dataset, FormatError, Lake, LakeError
from ranklake.storage.maintenance.verify import verify_dataset

BEFORE = [
    contest("a", field("p", 5), url="https://example.org/a", ties=2),
    contest("big", field("p", 2500, 3), perf_ceiling=2400.0),
    contest("b", field("q", 3), weight=0.5),
    contest("c", field("q", 2)),
]
AFTER = [
    contest("a", field("p", 5), url="https://example.org/new", ties=2),  # a new address only
    contest("b", field("q", 4), weight=0.5),  # one more player
    contest("d", field("new", 2300)),
    contest("e", ["p1", "Q1"]),
]
MERGED = [AFTER[0], BEFORE[1], AFTER[1], AFTER[2], AFTER[3], BEFORE[3]]  # d and e follow b as they do in AFTER
N_WRITES = 5  # three standings files, a part of the player index, the table of contests


def test_ingest__added_contests_are_read_back(lake):
    assert ingest(lake, BEFORE) == ["new"] * 4
    assert content(lake) == expected(BEFORE)


def test_ingest__players_are_numbered_by_first_appearance(lake):
    ingest(lake, [contest("a", ["x", "y"]), contest("b", ["z", "y"])])
    assert Dataset.open(lake, "games").handles().to_pylist() == ["x", "y", "z"]
    ingest(lake, [contest("c", ["w", "x"])])
    assert Dataset.open(lake, "games").handles().to_pylist() == ["x", "y", "z", "w"]


def test_ingest__again_changes_nothing(lake, tmp_path):
    ingest(lake, BEFORE)
    before = tree(tmp_path / "lake")
    watched = WatchedLake(lake)
    assert ingest(watched, BEFORE) == ["unchanged"] * 4
    assert watched.writes == watched.deletions == []
    assert tree(tmp_path / "lake") == before


def test_ingest__of_nothing_makes_no_data_set(lake):
    ingest(lake, [])
    assert Dataset.names(lake) == []
    with pytest.raises(LakeError, match="no data set 'games'"):
        Dataset.open(lake, "games")


def test_ingest__merges_new_corrected_and_renamed_contests(lake):
    ingest(lake, BEFORE)
    assert ingest(lake, AFTER) == ["unchanged", "corrected", "new", "new"]
    assert content(lake) == expected(MERGED)


def test_ingest__a_new_title_alone_is_committed(lake):
    ingest(lake, [contest("a", ["x", "y"])])
    renamed = contest("a", ["x", "y"], name="Final", url="https://example.org")
    watched = WatchedLake(lake)
    assert ingest(watched, [renamed]) == ["unchanged"]
    assert watched.writes == ["games/contests/contests.parquet"]
    assert content(lake) == expected([renamed])


@pytest.mark.parametrize(
    "change",
    [{"time_seconds": 61}, {"weight": 2.0}, {"perf_ceiling": 1500.0}, {"ties": 2}],
    ids=lambda change: next(iter(change)),
)
def test_ingest__a_change_of_any_value_that_ratings_depend_on_is_a_correction(lake, change):
    ingest(lake, BEFORE)
    corrected = contest("c", field("q", 2), **change)
    assert ingest(lake, [corrected]) == ["corrected"]
    assert content(lake) == expected([*BEFORE[:3], corrected])


def test_ingest__a_repeated_contest_is_refused_and_the_others_are_ingested(lake):
    with Dataset.ingest(lake, "games") as body:
        body.add(BEFORE[0])
        with pytest.raises(ValueError, match="contest a is twice"):
            body.add(BEFORE[0])
        body.add(BEFORE[2])
    assert content(lake) == expected([BEFORE[0], BEFORE[2]])


def test_ingest__handles_are_taken_as_they_are(lake):
    handles = ["tourist", "Tourist", "tourist ", " tourist", "", " ", "\t", "007", "7", "7.0", "ünal", "u\u0308nal"]
    handles += ["王", "𝔸", "\u200b", "null", "None", "nan", "a,b", '"', "\u0000", "é" * 5000]
    ingest(lake, [contest("a", handles)])
    dataset = Dataset.open(lake, "games")
    assert dataset.handles().to_pylist() == handles
    assert [dataset.find(handle) for handle in handles] == list(range(len(handles)))
    assert dataset.find("TOURIST") is None
    assert ingest(lake, [contest("a", handles)]) == ["unchanged"]
    odd = [contest("none", []), contest("one", ["x"], perf_ceiling=math.inf), contest("", [], time_seconds=-5)]
    ingest(lake, odd)
    assert content(lake)[1:] == expected(odd)


def test_ingest__slices_of_a_larger_array_are_digested_and_stored_alone(lake):
    handles = pa.array(field("p", 10))
    lo = np.array([0, 1], np.int32)
    whole = [contest(str(start), field("p", 2, start)) for start in (0, 2, 8)]
    sliced = [type(one)(one.contest_id, one.name, "", 60, handles[int(one.contest_id) :][:2], lo, lo) for one in whole]
    ingest(lake, sliced)
    assert content(lake) == expected(whole)
    assert ingest(lake, whole) == ["unchanged"] * 3


def test_ingest__points_are_stored_and_digested_where_there_are_some(lake):
    plain = [contest(name, ["x", "y", "z"]) for name in "ab"]
    unknown, scored, other = (
        replace(plain[0], points=np.array(values)) for values in ([np.nan] * 3, [3.0, np.nan, -0.0], [3.0, np.nan, 1.0])
    )
    assert len({one.content_digest for one in (plain[0], unknown)}) == 1
    assert len({one.content_digest for one in (plain[0], scored, other)}) == 3
    assert ingest(lake, plain) == ["new", "new"]
    assert ingest(lake, [unknown, plain[1]]) == ["unchanged", "unchanged"]
    assert ingest(lake, [scored, plain[1]]) == ["corrected", "unchanged"]
    assert ingest(lake, [replace(scored, points=np.abs(scored.points)), plain[1]]) == ["unchanged", "unchanged"]
    dataset = Dataset.open(lake, "games")
    files = [lake.read_bytes(f"games/standings/{file}") for file in dataset.contests.column("file").to_pylist()]
    assert ["points" in pq.read_schema(pa.BufferReader(data)).names for data in files] == [True, False]
    points = [part.contest(at).points for part in dataset.standings() for at in range(part.first_contest, 2)]
    assert np.array_equal(points[0], [3.0, np.nan, 0.0], equal_nan=True)
    assert list(verify_dataset(dataset)) == []


def test_ingest__small_contests_share_files_and_large_ones_do_not(lake):
    games = [contest(f"g{i}", [f"p{i}", f"p{i + 1}"]) for i in range(1500)]
    games[1200:1200] = [contest("big", field("b", 2000))]
    ingest(lake, games)
    dataset = Dataset.open(lake, "games")
    sizes = [(part.first_contest, len(part), len(part.player)) for part in dataset.standings()]
    assert sizes == [(0, 1000, 2000), (1000, 200, 400), (1200, 1, 2000), (1201, 300, 600)]
    assert len(lake.list("games/standings")) == 4
    assert content(lake) == expected(games)


@pytest.mark.quick("1-*-error0", "2-*-error1")
@pytest.mark.parametrize("error", [LakeError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("number", range(N_WRITES))
def test_ingest__torn_write_leaves_the_old_state(lake, tmp_path, number, first, error):
    if not first:
        ingest(lake, BEFORE)
    before = tree(tmp_path / "lake")
    watched = WatchedLake(lake, fail_at=number, error=error)
    with pytest.raises(type(error)):
        ingest(watched, BEFORE if first else AFTER)
    assert len(watched.writes) == number + 1
    assert tree(tmp_path / "lake") == before
    ingest(lake, BEFORE if first else AFTER)
    assert content(lake) == expected(BEFORE if first else MERGED)


@pytest.mark.quick("1-*", "4-*")
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("number", range(N_WRITES))
def test_ingest__killed_at_any_write_is_all_or_nothing_and_can_be_repeated(lake, tmp_path, number, done):
    twin = Lake.open(tmp_path / "twin", create=True)
    for target in (lake, twin):
        ingest(target, BEFORE)
    ingest(twin, AFTER)
    with pytest.raises(Killed):
        ingest(WatchedLake(lake, fail_at=number, done=done, error=Killed()), AFTER)
    committed = done and number == N_WRITES - 1
    assert content(lake) == expected(MERGED if committed else BEFORE)
    ingest(lake, AFTER)
    assert tree(tmp_path / "lake") == tree(tmp_path / "twin")


def test_ingest__player_numbers_in_leftover_files_are_not_reused(lake):
    ingest(lake, [contest("a", ["x", "y"])])
    with pytest.raises(Killed):
        ingest(WatchedLake(lake, fail_at=1, error=Killed()), [contest("b", ["u", "v"])])
    ingest(lake, [contest("c", field("w", 2000)), contest("b", ["u", "v"])])
    assert content(lake)[2] == expected([contest("b", ["u", "v"])])[0]


def test_ingest__that_raises_before_its_commit_leaves_the_old_state_and_after_it_keeps_its_files(lake, tmp_path):
    ingest(lake, BEFORE)
    before = tree(tmp_path / "lake")

    def source():
        yield from AFTER
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ingest(lake, source())
    assert tree(tmp_path / "lake") == before
    with pytest.raises(KeyboardInterrupt):
        ingest(WatchedLake(lake, fail_at=N_WRITES - 1, done=True, error=KeyboardInterrupt()), AFTER)
    assert content(lake) == expected(MERGED)


def test_ingest__write_that_fails_once_is_repeated_at_the_end(lake):
    watched = WatchedLake(lake, fail_at=0)
    with Dataset.ingest(watched, "games") as body:
        with pytest.raises(LakeError, match="disk full"):
            body.add(BEFORE[1])
        body.add(BEFORE[2])
    assert content(lake) == expected(BEFORE[1:3])


def test_ingest__replaced_files_stay_for_open_readers_until_the_next_commit(lake):
    ingest(lake, [contest("a", ["x", "y"])])
    opened = Dataset.open(lake, "games")
    old_file = opened.contests.column("file")[0].as_py()
    ingest(lake, [contest("a", ["y", "x"])])
    assert [part.player.tolist() for part in opened.standings()] == [[0, 1]]
    assert old_file in lake.list("games/standings")
    lake.write_bytes("games/contests/.tmp-0123", b"torn")
    ingest(lake, [contest("b", ["x", "y"])])
    assert old_file not in lake.list("games/standings")
    assert (len(lake.list("games/standings")), lake.list("games/contests")) == (2, ["contests.parquet"])


def test_ingest__into_a_newer_format_stops(lake, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ranklake.storage.lake.parquet.FORMAT_VERSION", 2)
        ingest(lake, BEFORE)
    before = tree(tmp_path / "lake")
    problem = r"games/contests/contests\.parquet is format 2, this code reads 1; update ranklake"
    with pytest.raises(FormatError, match=problem), Dataset.ingest(lake, "games"):
        pass
    assert tree(tmp_path / "lake") == before


def test_ingest__bad_name_is_refused(lake):
    for name in ("raw", "a/b", "", ".x"):
        with pytest.raises(ValueError, match="data set must"), Dataset.ingest(lake, name):
            pass


def test_ingest__a_confirmed_contest_is_put_in_the_source_s_order_without_being_read(lake):
    one, two, three = (contest(name, ["a", "b"]) for name in "123")
    with Dataset.ingest(lake, "d") as ingest:
        for each in (one, three):
            ingest.add(each)
    with Dataset.ingest(lake, "d") as ingest:
        assert ingest.confirm("1")
        assert not ingest.confirm("2")
        ingest.add(two)
        assert ingest.confirm("3")
    assert Dataset.open(lake, "d").contests.column("contest_id").to_pylist() == ["1", "2", "3"]
    with Dataset.ingest(lake, "d", mirror=True) as ingest:
        ingest.confirm("2")
    assert Dataset.open(lake, "d").contests.column("contest_id").to_pylist() == ["2"]


def test_ingest__rewriting_unchanged_contests_leaves_the_same_bytes(lake, tmp_path):
    ingest(lake, BEFORE)
    ingest(lake, AFTER)
    states = []
    for _ in range(2):  # the first one puts contests that came in two ingests into one file
        with Dataset.ingest(lake, "games", rewrite=True) as again:
            assert [again.add(one) for one in MERGED] == ["unchanged"] * 6
        states.append(tree(tmp_path / "lake"))
    assert states[0] == states[1]
