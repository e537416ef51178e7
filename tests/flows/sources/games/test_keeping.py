"""Columns of tables that a data set of games keeps: read, stored, read back, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.reading import read_periods
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.tables.games import Period
from ranklake.storage.datasets.tables.kept import Kept, join_kept

TABLE = (
    "white,black,result,date,league,neutral\n"
    "a,b,1-0,2026-01-01,E0,false\nc,b,0-1,2026-01-01, E1 ,true\na,c,1/2-1/2,2026-01-02,E0,false\nb,c,0-1,2026-01-03,,\n"
)


def read(path: Path, **options: object) -> list[Period]:
    return list(read_periods([str(path)], GamesOptions(**options), GamesReport()))  # type: ignore[arg-type]


def values(kept: Kept | None, name: str) -> list[str | None]:
    assert kept is not None
    names, codes = kept.values(name)
    return [None if code < 0 else names[code] for code in codes.tolist()]


def test_kept_columns__are_stored_and_read_back(tmp_path: Path, invoke: Command) -> None:
    path, lake = tmp_path / "games.csv", tmp_path / "lake"
    path.write_text(TABLE)
    options = ("--dataset", "g", "--lake", str(lake))
    assert invoke("ingest", "games", str(path), "--keep", "league", "--keep", "neutral", *options).code == 0
    parts = list(Dataset.open(Lake.open(lake), "g").standings())
    kept = join_kept([part.games.kept for part in parts if part.games], [len(part.player) // 2 for part in parts])
    assert kept is not None
    assert kept.names() == ["league", "neutral"]
    assert values(kept, "league") == ["E0", "E1", "E0", None]
    assert values(kept, "neutral") == ["false", "true", "false", None]
    assert [part.games.swapped.tolist() for part in parts if part.games] == [[False, True, False, True]]
    again = invoke("ingest", "games", str(path), "--keep", "league", "--keep", "neutral", *options)
    assert "3 unchanged" in again.out
    changed = invoke("ingest", "games", str(path), "--keep", "league", *options)
    assert "2 corrected" in changed.out  # the third has no value of either column


def test_kept_columns__may_be_numbers_and_dictionaries(tmp_path: Path) -> None:
    path, days = tmp_path / "games.parquet", ["2026-01-01"] * 3
    games = {"white": ["a", "b", "c"], "black": ["b", "c", "a"], "result": [1.0, 0.5, 0.0], "date": days}
    surface, division = pa.array(["clay", None, "clay"]).dictionary_encode(), pa.array([1, 2, None])
    pq.write_table(pa.table({**games, "surface": surface, "division": division}), path)
    [period] = read(path, keep=("surface", "division"))
    assert values(period.games.kept, "surface") == ["clay", None, "clay"]
    assert values(period.games.kept, "division") == ["1", "2", None]
    assert read(path)[0].games.kept is None


def test_digest__covers_kept_columns_and_not_their_storage() -> None:
    one = Kept(("a", "b", "c"), np.array([1, 0, -1, 1], np.int32))
    same = Kept(("b", "a"), np.array([0, 1, -1, 0], np.int32))
    assert one.content() == same.content()
    assert one.content() != one.take([1, 0, 2, 3]).content()
    assert Kept(("a",), np.array([-1], np.int32)).content() == b""
    joined = join_kept([None, one, same], [1, 4, 4])
    assert joined is not None
    assert joined.column().to_pylist() == [None, "b", "a", None, "b", "b", "a", None, "b"]


@pytest.mark.parametrize(
    ("keep", "rule"),
    [
        (("surface",), "games.csv: has no column 'surface' for --keep; it has 'white', 'black'"),
        (("",), "--keep needs the name of a column"),
        (("league", "league"), "--keep league is given twice"),
    ],
)
def test_kept_columns__are_refused(tmp_path: Path, keep: tuple[str, ...], rule: str) -> None:
    path = tmp_path / "games.csv"
    path.write_text(TABLE)
    with pytest.raises((SourceError, ValueError), match=rule):
        read(path, keep=keep)


def test_kept_columns__of_pgn_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n[Date "2026.01.01"]\n\n1-0\n')
    with pytest.raises(SourceError, match="--keep names columns of tables, and a PGN file has none"):
        read(path, keep=("league",))
