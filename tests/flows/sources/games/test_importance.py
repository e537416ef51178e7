"""K by the importance of a game: built-in and own tables, stored as weights, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.lakes import rated

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.importance import find_importance
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.reading import read_periods
from ranklake.rating_kernels import IMPORTANCE, SYSTEMS, Elo, rate_games
from ranklake.storage import Lake

HEAD = "white,black,result,date,importance"
GAMES = [
    "a,b,1-0,2026-01-01,World Cup finals",
    "b,c,1/2-1/2,2026-01-02,friendlies", "a,c,0-1,2026-01-03,Continental  Finals",
    "c,b,1-0,2026-01-04,qualifiers",
]  # fmt: skip
KS = [60.0, 20.0, 50.0, 40.0]


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def weights(path: Path, report: GamesReport | None = None, **options: object) -> list[float]:
    chosen = GamesOptions(**options)  # type: ignore[arg-type]
    periods = read_periods([str(path)], chosen, report or GamesReport())
    return np.concatenate([period.games.weight for period in periods]).tolist()


@pytest.mark.slow
def test_importance__is_the_k_of_a_game_under_k_1(tmp_path: Path, invoke: Command) -> None:
    path, lake = write(tmp_path / "games.csv", HEAD, *GAMES), ("--lake", str(tmp_path / "lake"))
    answer = invoke("ingest", "games", str(path), "--importance", "world-football", "--dataset", "g", *lake)
    assert "4 games with K by importance as weight: rate with `--system elo --set k=1` (first: games.csv" in answer.err
    assert invoke("rate", "--dataset", "g", "--system", "elo", "--set", "k=1", "--run", "r", *lake).code == 0
    beliefs = SYSTEMS["elo"].newcomers(Elo(), 3)
    rate_games(Elo(), beliefs, [0, 1, 0, 2], [1, 2, 2, 1], [1, 0.5, 0, 1], k=KS)
    rows = rated(Lake.open(tmp_path / "lake"), "r")
    final = dict(zip(rows.column("player").to_pylist(), rows.column("mu").to_pylist(), strict=True))
    assert [final[name] for name in "abc"] == beliefs.mu.tolist()


def test_table__of_importance_may_be_the_own_one(tmp_path: Path) -> None:
    own = write(tmp_path / "k.csv", "K;Importance;note", "12.5;League;x", "25; Cup  Final;y")
    games = write(tmp_path / "games.csv", HEAD, "a,b,1-0,2026-01-01,LEAGUE", "a,b,1-0,2026-01-02,cup final")
    assert weights(games, importance=find_importance(str(own))) == [12.5, 25.0]
    stored = tmp_path / "games.parquet"
    names = pa.array(["cup final", "league", "cup final"]).dictionary_encode()
    days = ["2026-01-01", "2026-01-02", "2026-01-03"]
    columns = {"white": list("aba"), "black": list("bcc"), "result": [1.0] * 3, "date": days, "level": names}
    pq.write_table(pa.table(columns), stored)
    chosen = {"importance": find_importance(str(own)), "columns": {"importance": "level"}}
    assert weights(stored, **chosen) == [25.0, 12.5, 25.0]


def test_column__of_importance_is_not_read_without_a_table(tmp_path: Path) -> None:
    assert weights(write(tmp_path / "games.csv", HEAD, *GAMES)) == [1.0] * 4
    assert find_importance("world-football") == dict(IMPORTANCE)


@pytest.mark.parametrize("name", ["world cup", ""])
def test_importance__that_is_unknown_is_refused_with_its_row_or_left_out(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "games.csv", HEAD, GAMES[0], f"b,c,1-0,2026-01-02,{name}")
    said = rf"games.csv, row 2 \(line 3\): importance must be one of world cup finals, .*, friendlies, got '{name}'; "
    with pytest.raises(SourceError, match=f"{said}correct it, or give --importance a file with a row for it"):
        weights(path, importance=IMPORTANCE)
    report = GamesReport()
    assert weights(path, report, importance=IMPORTANCE, on_error="skip") == [60.0]
    assert report.n_left_out == 1


@pytest.mark.parametrize(
    ("head", "options", "said"),
    [
        (HEAD.replace("importance", "level"), {}, "needs a column for importance; it has .*--column importance="),
        (HEAD.replace("date", "date,weight"), {}, "has a column 'weight', and --importance makes the weights of games"),
    ],
)
def test_columns__that_do_not_go_with_a_table_are_refused(
    tmp_path: Path, head: str, options: dict[str, object], said: str
) -> None:
    with pytest.raises(SourceError, match=said):
        weights(
            write(tmp_path / "games.csv", head, "a,b,1-0,2026-01-01,2,friendlies"), importance=IMPORTANCE, **options
        )


def test_options__that_exclude_each_other_are_refused(tmp_path: Path, invoke: Command) -> None:
    with pytest.raises(ValueError, match="--column importance= needs --importance"):
        GamesOptions(columns={"importance": "level"})
    with pytest.raises(ValueError, match="and so does --column weight=; give one of the two"):
        GamesOptions(columns={"weight": "w"}, importance=IMPORTANCE)
    pgn = write(
        tmp_path / "games.pgn", '[White "a"]', '[Black "b"]', '[Date "2026.01.01"]', '[Result "1-0"]', "", "1-0"
    )
    with pytest.raises(SourceError, match="--importance needs a column importance, and a PGN file has none"):
        weights(pgn, importance=IMPORTANCE)
    answer = invoke(
        "ingest", "games", str(pgn), "--importance", "chess", "--dataset", "g", "--lake", str(tmp_path / "l")
    )
    assert answer.code == 2
    assert "--importance must be world-football, or a CSV file with the columns importance and k" in answer.err


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["importance,K", "final,0"], "line 2: k is the weight of games and must be within .*, got 0"),
        (["importance,k", "final,big"], "line 2: k must be a number, got 'big'"),
        (["importance,k", "final,3", "Final,4"], "line 3: importance 'Final' is there twice"),
        (["importance,k", ",3"], "line 2: importance '' is empty"),
        (["importance,k"], "has no row"),
        (["name,k"], "has no column importance; it has 'name', 'k' and needs importance and k"),
    ],
)
def test_table__with_a_fault_is_refused_at_its_line(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        find_importance(str(write(tmp_path / "k.csv", *lines)))
