"""The command `ranklake ingest games`: from files to a rated run, and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commands import Command

from ranklake.storage import Dataset, Lake

GAMES = """white,black,result,time
ann,bob,1-0,2024-01-01T10:00:00
bob,cat,1/2-1/2,2024-01-01T11:00:00
cat,ann,0-1,2024-01-02T10:00:00
dan,ann,*,2024-01-02T10:00:00
"""


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.csv"
    path.write_text(GAMES)
    return path


def test_games__are_ingested_rated_and_repeated(invoke: Command, games: Path, tmp_path: Path) -> None:
    lake = ("--lake", tmp_path / "lake")
    first = invoke("ingest", "games", games, "--dataset", "chess", *lake)
    assert (first.code, first.err) == (0, "left out: 1 game, unfinished (first: games.csv, row 4 (line 5))\n")
    assert first.out.startswith("data set chess: 2 new periods with 3 games, in ")
    again = invoke("ingest", "games", games, "--dataset", "chess", *lake)
    assert again.out.startswith("data set chess: 2 unchanged periods with 3 games, in ")
    assert invoke("rate", "--dataset", "chess", "--system", "elo", "--run", "r", *lake).code == 0
    board = invoke("leaderboard", "--run", "r", "--format", "csv", *lake).out
    assert [line.split(",")[1] for line in board.splitlines()[1:]] == ['"ann"', '"bob"', '"cat"']
    player = invoke("player", "bob", "--run", "r", "--format", "csv", *lake)
    assert player.code == 0
    assert player.out.count("2024-01-01") >= 2  # each game is a row
    assert '"cat"' in player.out
    assert "opponent" in invoke("player", "bob", "--run", "r", *lake).out


def test_advantages__are_a_column_or_one_number(invoke: Command, games: Path, tmp_path: Path) -> None:
    games.write_text(GAMES.replace("\n", ",20\n").replace("time,20", "time,home"))
    lake = ("--lake", tmp_path / "lake")
    plain = invoke("ingest", "games", games, "--dataset", "chess", *lake)
    assert plain.out.startswith("data set chess: 2 new periods")
    column = invoke("ingest", "games", games, "--column", "advantage=home", "--dataset", "chess", *lake)
    assert column.out.startswith("data set chess: 2 corrected periods")
    number = invoke("ingest", "games", games, "--advantage", "20", "--dataset", "chess", *lake)
    assert number.out.startswith("data set chess: 2 unchanged periods")
    other = invoke("ingest", "games", games, "--advantage=-5.5", "--dataset", "chess", *lake)
    assert other.out.startswith("data set chess: 2 corrected periods")
    parts = Dataset.open(Lake.open(tmp_path / "lake"), "chess").standings()
    assert [part.games.advantage.tolist() for part in parts if part.games] == [[-5.5, -5.5, 5.5]]


def test_periods__are_chosen(invoke: Command, games: Path, tmp_path: Path) -> None:
    invoke("ingest", "games", games, "--period", "month", "--dataset", "chess", "--lake", tmp_path / "lake")
    dataset = Dataset.open(Lake.open(tmp_path / "lake"), "chess")
    assert dataset.contests.column("contest_id").to_pylist() == ["2024-01"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere.csv",), 1, "no such file"),
        (("GAMES", "--column", "whites=a"), 2, "expected KEY=COLUMN"),
        (("GAMES", "--column", "result=outcome"), 1, "has no column 'outcome' for result"),
        (("GAMES", "--period", "decade"), 2, "decade"),
        (("GAMES", "--advantage", "much"), 2, "'much' is not a valid float"),
        (("GAMES", "--advantage", "nan"), 2, "advantage must be within -20000..20000 rating points, got nan"),
        (("GAMES", "--advantage", "35", "--column", "advantage=result"), 2, "give one of the two"),
        (("GAMES", "--column", "advantage=white"), 1, "row 1 (line 2): an advantage must be a number within"),
        (("https://example.org/games.csv",), 2, "PATH must be a file"),
        (("GAMES", "--encoding", "klingon"), 2, "unknown encoding 'klingon'"),
        (("GAMES", "--delimiter", ";;"), 2, "delimiter must be one character, as ';', or tab"),
        (("GAMES", "--column", "winner=white"), 1, "needs a column for loser; it has 'white', 'black', 'result', "),
        (("GAMES", "--on-error", "guess"), 2, "guess"),
    ],
)
def test_wrong_use__is_explained(
    invoke: Command, games: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    given = [str(games) if argument == "GAMES" else argument for argument in arguments]
    result = invoke("ingest", "games", *given, "--dataset", "chess", "--lake", tmp_path / "lake")
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.err


def test_refusals__of_what_games_do_not_have(invoke: Command, games: Path, tmp_path: Path) -> None:
    lake = ("--lake", tmp_path / "lake")
    invoke("ingest", "games", games, "--dataset", "chess", *lake)
    invoke("rate", "--dataset", "chess", "--system", "elo", "--run", "r", *lake)
    site = ("publish", "--run", "r", "--site", tmp_path / "site")
    for command in (("explain", "ann", "2024-01-01", "--run", "r"), site):
        result = invoke(*command, *lake)
        assert result.code == 1
        assert "rates periods of games" in result.err


def test_games__with_faults_are_skipped_on_request(invoke: Command, games: Path, tmp_path: Path) -> None:
    games.write_text(GAMES + "ann,bob,3-0,2024-01-03\nann,bob,1-0,2024-02-30\nann,bob\n", "utf-8")
    given = ("ingest", "games", games, "--dataset", "chess", "--lake", tmp_path / "lake")
    refused = invoke(*given)
    assert refused.code == 1
    assert "row 7" in refused.err
    assert not (tmp_path / "lake" / "chess" / "contests" / "contests.parquet").exists()
    taken = invoke(*given, "--on-error", "skip")
    assert taken.code == 0
    assert taken.out.startswith("data set chess: 2 new periods with 3 games, in ")
    assert len(taken.err.splitlines()) == 4
    assert "left out: 1 game, a result must be 1-0" in taken.err


def test_games__of_which_none_is_rated_say_why(invoke: Command, games: Path, tmp_path: Path) -> None:
    games.write_text("white,black,result,time\nann,bob,*,2024-01-01\n?,bob,1-0,2024-01-01\n")
    result = invoke("ingest", "games", games, "--dataset", "chess", "--lake", tmp_path / "lake")
    assert result.code == 1
    assert "no game that can be rated; nothing was ingested; left out: 1 game, unfinished (first: games" in result.err


def test_files__of_games_are_told_from_results(invoke: Command, games: Path, tmp_path: Path) -> None:
    result = invoke("ingest", "files", games, "--dataset", "chess", "--lake", tmp_path / "lake")
    assert result.code == 1
    assert "for tables with one game a row use `ranklake ingest games`" in result.err
