from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.builders import content, contest, expected, field, ingest

from ranklake.storage import DamagedError, Dataset, Lake, LakeError, MissingError, Run, StandingsPart
from ranklake.storage.datasets.tables.players import encode_handles
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.limits import Limits
from ranklake.storage.leases.acquire import hold_lease


@pytest.fixture
def games():
    """Forty games of two to four, enough for one shared file."""
    return [contest(f"g{i:02d}", field("p", 2 + i % 3, i)) for i in range(40)]


def test_open__error_of_a_missing_data_set_names_the_existing_ones(lake):
    with pytest.raises(MissingError, match=r"no data set 'x' in .*it has none yet; `ranklake ingest` makes one"):
        Dataset.open(lake, "x")
    for name in ("cf", "atp"):
        ingest(lake, [contest("a", ["x", "y"])], name)
    lake.write_bytes("raw/cf/1.json", b"{}")
    lake.write_bytes(".hidden/contests/contests.parquet", b"")
    with pytest.raises(LakeError, match=r"there are: atp, cf$"):
        Dataset.open(lake, "x")


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        (b"n_players", b"#", "its n_players is '#', no number"),
        (b"n_players", None, "its n_players is '', no number"),
        (b"n_players", b"\xb3", "its n_players is '\ufffd', no number"),
        (b"epoch", b"-1", "its epoch is '-1', no number"),
        (b"player_parts", None, "does not name its tables of players"),
        (b"kind", b"gamer", "its kind is 'gamer', which is none"),
    ],
)
def test_open__names_the_damage_of_the_metadata(lake, key, value, named):
    ingest(lake, [contest("a", ["x", "y"])])
    path = "games/contests/contests.parquet"
    table = pq.read_table(pa.BufferReader(lake.read_bytes(path)))
    metadata = {at: text for at, text in table.schema.metadata.items() if at != b"ranklake." + key}
    metadata |= {} if value is None else {b"ranklake." + key: value}
    file = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), file)
    lake.write_bytes(path, file.getvalue().to_pybytes())
    for attempt in (lambda: Dataset.open(lake, "games"), lambda: ingest(lake, [contest("b", ["x", "y"])])):
        with pytest.raises(DamagedError, match=rf"^{path}: {named}; "):
            attempt()


def test_ingest__a_missing_data_set_names_the_runs_over_it(lake):
    for run in ("b", "a"):
        Run.create(lake, run, {"dataset": "games"})
    with pytest.raises(DamagedError, match=r"\ba, b;"):
        ingest(lake, [contest("a", ["x", "y"])])


def test_ingest__can_take_over_from_a_running_holder(lake, monkeypatch):
    monkeypatch.setattr("ranklake.storage.datasets.dataset.WAIT_SECONDS", 0.0)
    lost = pytest.raises(LeaseHeldError, match="took over")
    with lost, hold_lease(lake, "games", "ingest into games"), Dataset.ingest(lake, "games", steal=True) as body:
        body.add(contest("a", ["x", "y"]))
    assert Dataset.open(lake, "games").contests.num_rows == 1


def test_standings__any_range_gives_the_same_contests(lake, games):
    ingest(lake, games)
    dataset = Dataset.open(lake, "games")
    whole = next(dataset.standings())
    assert (whole.offsets.dtype, whole.offsets[0]) == (np.int64, 0)
    for column in (whole.player, whole.lo, whole.hi):  # as the kernels need them
        assert column.dtype == np.int32
        assert column.flags.c_contiguous
        assert len(column) == whole.offsets[-1]
    for start, stop in [(0, 0), (0, 1), (3, 7), (39, 40), (40, 40), (10, None), (7, 3), (30, 99)]:
        parts = list(dataset.standings(start, stop))
        wanted = range(40)[start:stop]
        assert [part.first_contest + i for part in parts for i in range(len(part))] == list(wanted)
        if wanted:
            rows = slice(whole.offsets[wanted[0]], whole.offsets[wanted[-1] + 1])
            assert np.array_equal(parts[0].player, whole.player[rows])
            assert np.array_equal(parts[0].lo, whole.lo[rows])


@pytest.mark.parametrize(
    ("stretch_rows", "firsts"), [(1, [0, 1, 9, 11, 25, 26, 39]), (30, [0, 11, 25, 26, 39]), (99, [0])]
)
def test_standings__each_file_is_read_once(lake, games, monkeypatch, stretch_rows, firsts):
    lake.limits = Limits(view_rows=stretch_rows)
    ingest(lake, games)
    ingest(lake, [contest(f"g{i:02d}", field("q", 3)) for i in (0, 9, 10, 25, 39)])
    dataset = Dataset.open(lake, "games")
    read = []
    original = lake.read_bytes
    monkeypatch.setattr(lake, "read_bytes", lambda path: read.append(path) or original(path))
    assert [part.first_contest for part in dataset.standings()] == firsts
    # The shared file is read a second time, to check that its surplus rows are those of corrected contests.
    assert len(read) == 3
    assert len(set(read)) == 2


def test_standings__consecutive_parts_joined_are_the_whole(lake, games):
    ingest(lake, games)
    whole = next(Dataset.open(lake, "games").standings())
    parts = [whole.contests(start, stop) for start, stop in [(3, 4), (4, 11), (11, 30)]]
    joined, expected = StandingsPart.concat(parts), whole.contests(3, 30)
    assert joined.is_plain
    assert joined.first_contest == 3
    for name in ("offsets", "player", "lo", "hi"):
        assert np.array_equal(getattr(joined, name), getattr(expected, name))
        assert getattr(joined, name).dtype == getattr(expected, name).dtype
    assert joined.points is None
    parts[1] = replace(parts[1], points=np.arange(float(len(parts[1].player))))
    before, n = len(parts[0].player), len(parts[1].player)
    points = StandingsPart.concat(parts).points
    assert points[before : before + n].tolist() == list(range(n))
    assert np.isnan(points[:before]).all()
    assert np.isnan(points[before + n :]).all()
    assert len(points) == len(joined.player)


def test_standings__corrected_contests_keep_their_place(lake, games):
    ingest(lake, games)
    for i in (5, 5, 6, 0):
        games[i] = contest(f"g{i:02d}", field(f"new{i}", 3 + len(games[i])))
        ingest(lake, [games[i]])
    assert content(lake) == expected(games)


def wrong_files(table):
    """A contest that is corrected after its file was written, other content of the file, and what is said about it."""
    n = table.num_rows
    whole = rf": has \d+ rows, its contests have {n} players"
    for wrong in (table.slice(1), pa.concat_tables([table, table.slice(0, 1)]), table.slice(0, 0)):
        yield None, wrong, whole
    yield "g39", pa.concat_tables([table.slice(1), table.slice(0, 1)]), ""  # shifted
    yield "g00", table.slice(0, n - 1), rf": has \d+ rows, its contests have {n - 2} players"  # g00 had two rows
    yield "g00", table.slice(2), rf": has \d+ rows, its contests end at row {n}"


@pytest.mark.slow
def test_standings__a_file_with_other_rows_is_damage(tmp_path, games):
    for number in range(6):
        lake = Lake.open(tmp_path / str(number), create=True)
        ingest(lake, games)
        path = f"games/standings/{lake.list('games/standings')[0]}"
        corrected, wrong, said = list(wrong_files(lake.read_table(path, "standings")))[number]
        if corrected is not None:
            ingest(lake, [contest(corrected, field("q", 3))])
            assert content(lake)
        lake.write_table(path, wrong, "standings")
        with pytest.raises(DamagedError, match=path + said):
            list(Dataset.open(lake, "games").standings())
        lake.delete(path)
        with pytest.raises(MissingError, match=path):
            list(Dataset.open(lake, "games").standings())


def test_players__inconsistent_parts_are_damage(lake):
    ingest(lake, [contest("a", ["x", "y"])])
    (file,) = lake.list("games/players")
    data = lake.read_bytes(f"games/players/{file}")
    lake.write_bytes(f"games/players/{file}", data[:50] + bytes([data[50] ^ 1]) + data[51:])
    with pytest.raises(
        DamagedError, match=rf"games/players/{file}: does not match the digest in its name; restore it, or `"
    ):
        Dataset.open(lake, "games").handles()
    contests, (other, part) = Dataset.open(lake, "games").contests, encode_handles(1, pa.array(["y"]))
    lake.write_bytes(f"games/players/{other}", part)
    facts = {"player_parts": other, "n_players": "2"}
    lake.write_table("games/contests/contests.parquet", contests, "contests", metadata=facts)
    with pytest.raises(DamagedError, match=rf"games/players/{other}: does not hold the players from 0 on, of 2"):
        Dataset.open(lake, "games").handles()


def test_players__uncommitted_parts_are_ignored_and_then_deleted(lake):
    ingest(lake, [contest("a", ["x", "y"])])
    for part in ("000001", "000002"):
        lake.write_bytes(f"games/players/{part}.parquet", b"torn")
    assert Dataset.open(lake, "games").handles().to_pylist() == ["x", "y"]
    assert Dataset.open(lake, "games").n_leftover() == 2
    before = lake.list("games/players")
    ingest(lake, [contest("b", ["z", "y"])])
    assert Dataset.open(lake, "games").n_leftover() == 0
    assert Dataset.open(lake, "games").handles().to_pylist() == ["x", "y", "z"]
    assert len(lake.list("games/players")) == 2  # with the replaced file, for running readers
    assert not set(before[1:]) & set(lake.list("games/players"))


@pytest.mark.slow
def test_players__parts_stay_few_after_many_small_ingests(lake):
    lake.limits = Limits(part_players=8)
    for number in range(30):
        ingest(lake, [contest(f"c{number}", [f"x{number}", f"y{number}"])])
    handles = Dataset.open(lake, "games").handles().to_pylist()
    assert handles == [f"{name}{number}" for number in range(30) for name in "xy"]
    assert len(lake.list("games/players")) <= 60 / 8 + 2
