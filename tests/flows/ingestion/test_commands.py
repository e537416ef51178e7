"""The commands `ranklake ingest SITE`, `ranklake ingest games` and `ranklake normalise`."""

from __future__ import annotations

import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.fake_codeforces import FakeCodeforces, changes
from helpers.lakes import start
from helpers.server import Reply, Server
from helpers.timeouts import TIMEOUT

from ranklake.flows.sources.sites.codeforces import Codeforces
from ranklake.flows.sources.sites.site import SITES
from ranklake.storage import Dataset, Lake


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Codeforces, "interval_seconds", 0.0)


@pytest.fixture
def site(server: Server) -> FakeCodeforces:
    fake = FakeCodeforces(server)
    fake.add(1, changes(1, ("tourist", 1), ("Petr", 2)))
    fake.add(2, changes(2, ("\x1b[31mred", 1), ("\u202egnp.exe", 2)))
    return fake


@pytest.mark.parametrize("source", [*SITES, "kaggle"])
def test_help__has_the_usage_of_every_site(invoke: Command, source: str) -> None:
    result = invoke("ingest", source, "--help")
    assert (result.code, result.err) == (0, "")
    assert f"ingest {source} [OPTIONS]" in result.out.splitlines()[0]


def test_ingest__of_a_site_is_rated_and_repeated(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    lake = ("--lake", tmp_path / "lake")
    ingest = ("ingest", "codeforces", "--base-url", site.server.url, *lake)
    result = invoke(*ingest)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("data set codeforces: 2 new contests; 3 requests, in ")
    assert invoke(*ingest).out.startswith("data set codeforces: 2 unchanged contests; 1 request, in ")
    assert invoke("normalise", "--source", "codeforces", *lake).out.startswith(
        "data set codeforces: 2 unchanged contests; no requests"
    )
    invoke("rate", "--dataset", "codeforces", *lake)
    board = invoke("leaderboard", "--run", "codeforces-elo-mmr", *lake).out
    assert "tourist" in board
    assert "\\x1b[31mred" in board  # control characters in names are escaped on a terminal
    assert "\\u202egnp.exe" in board
    assert not {"\x1b", "\u202e"} & set(board)


def test_verify__the_remedy_for_a_damaged_data_set_of_a_site_works(
    invoke: Command, site: FakeCodeforces, tmp_path: Path
) -> None:
    lake = ("--lake", tmp_path / "lake")
    assert invoke("ingest", "codeforces", "--base-url", site.server.url, "--dataset", "cf", *lake).code == 0
    (file,) = (tmp_path / "lake" / "cf" / "standings").iterdir()
    whole = file.read_bytes()
    remedy = "ranklake normalise --source codeforces --dataset cf --rewrite"
    for harmed in (whole[:-7], b"", None):
        file.write_bytes(harmed) if harmed is not None else file.unlink()
        for command in (("verify",), ("rate", "--dataset", "cf")):
            result = invoke(*command, *lake)
            assert result.code == 1
            assert f"restore it, or `{remedy}` makes it again\n" in result.out + result.err
        assert invoke(*remedy.split()[1:], *lake).code == 0
        assert invoke("verify", *lake).code == 0
    (players,) = (tmp_path / "lake" / "cf" / "players").iterdir()
    players.unlink()
    commands = ("delete --dataset cf --with-runs", "normalise --source codeforces --dataset cf")
    remedy = " and ".join(f"`ranklake {command}`" for command in commands)
    assert f"restore it, or {remedy}, without the corrections" in invoke("verify", *lake).out
    for command in (f"{commands[0]} --yes", commands[1]):
        assert invoke(*command.split(), *lake).code == 0
    assert invoke("verify", *lake).code == 0


def test_ingest__reports_rejected_contests_with_reasons(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    site.add(3, changes(3, ("\x1b[2J", 1), ("\x1b[2J", 2)))
    site.add(4, Reply(b"<html>\x1b[2J\x07 Just a moment"))
    result = invoke("ingest", "codeforces", "--base-url", site.server.url, "--lake", tmp_path / "lake")
    assert result.code == 0
    assert "2 new contests, 2 rejected; 5 requests" in result.out
    fault, broken = sorted(result.err.splitlines())
    assert fault.startswith("rejected: codeforces, contest 3 (")
    assert broken.startswith("rejected: codeforces, contest 4 (")
    assert "a web page where data should be" in broken
    assert (result.out + result.err).replace("\n", "").isprintable()


@pytest.mark.slow
def test_ingest__pauses_and_failures_are_reported(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    site.server.script("/api/contest.list", Reply(b"", 429, {"Retry-After": "0"}), Reply(b"", 403))
    ingest = ("ingest", "codeforces", "--base-url", site.server.url, "--lake", tmp_path / "lake")
    pause, code = Codeforces.pause_seconds, 1
    try:
        Codeforces.pause_seconds = 0.0
        result = invoke(*ingest)
    finally:
        Codeforces.pause_seconds = pause
    assert (result.code, result.out) == (code, "")
    message, error = result.err.splitlines()
    assert message.startswith("codeforces: HTTP 429; again in ")
    assert error == f"Error: codeforces, {site.server.url}api/contest.list: HTTP 403"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--base-url", "codeforces.com"), "a base URL is https://host/path, got 'codeforces.com'"),
        (("--base-url", "https://me:secret@codeforces.com"), "must be scheme, host and path alone"),
        (("--since", "yesterday"), "must be a time as 2020-01-31"),
        (("--dataset", "../x"), "the name of a data set must be"),
        (("--dataset", "raw"), "a data set must not be called"),
    ],
)
def test_ingest__wrong_use_is_an_error_before_any_request(
    invoke: Command, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = invoke("ingest", "codeforces", *arguments, "--lake", tmp_path / "lake")
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "secret" not in result.err
    assert not (tmp_path / "lake").exists()


@pytest.mark.slow
def test_ingest__interrupted_by_ctrl_c_can_be_continued(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    asked, over = threading.Event(), threading.Event()

    def hang() -> None:
        asked.set()
        over.wait(TIMEOUT)

    path, good = site.path(2), site.server.replies[site.path(2)]
    site.server[path] = Reply(b"{}", before=hang)
    arguments = ("ingest", "codeforces", "--base-url", site.server.url, "--lake", str(tmp_path / "lake"))
    fast = "from ranklake.flows.sources.sites.codeforces import Codeforces; Codeforces.interval_seconds = 0.0"
    process = start(*arguments, before=fast)
    try:
        assert asked.wait(TIMEOUT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        over.set()
    assert process.returncode == 1
    assert b"interrupted" in err
    site.server.replies[path] = good
    site.server.requests.clear()
    assert "2 new contests; 2 requests" in invoke(*arguments).out
    assert site.server.paths == ["/api/contest.list", path]


def test_ingest__of_lichess_requests_the_given_tournaments(invoke: Command, server: Server, tmp_path: Path) -> None:
    info: dict[str, Any] = {"id": "S1", "name": "S", "startsAt": "2023-11-01T02:00:00Z", "status": "finished"}
    server["/api/swiss/S1"] = info
    server["/api/swiss/S1/results"] = b'{"rank":1,"username":"ada"}\n{"rank":2,"username":"bob"}\n'
    there = ("--base-url", server.url, "--lake", tmp_path / "lake")
    assert "1 new contest; 2 requests" in invoke("ingest", "lichess", "--swiss", "S1", *there).out


def test_ingest__error_of_a_site_with_files_asks_for_their_folder(invoke: Command, tmp_path: Path) -> None:
    lake = ("--lake", tmp_path / "lake")
    assert "is closed; --base-url must be the folder" in invoke("ingest", "topcoder", *lake).err
    assert (
        "must be a folder, got 'https://" in invoke("ingest", "kaggle", "--base-url", "https://kaggle.com", *lake).err
    )
    message = invoke.refuses("ingest", "topcoder", "--base-url", tmp_path, *lake)
    assert message == f"topcoder, {tmp_path}/dd_round_list.xml: no such file"


def test_ingest__counts_listed_contests_without_results(invoke: Command, tmp_path: Path) -> None:
    listed = "<row><round_id>7</round_id><full_name>n</full_name><date>2001-04-21 14:00</date></row>"
    (tmp_path / "dd_round_list.xml").write_text(f"<l>{listed}</l>")
    lake = ("--lake", tmp_path / "lake")
    for _ in range(2):
        result = invoke("ingest", "topcoder", "--base-url", tmp_path, *lake)
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith("data set topcoder: no contests, 1 absent (HTTP 403 or 404); ")
    output = invoke("normalise", "--source", "topcoder", *lake).out
    assert output.startswith("data set topcoder: no contests, 1 absent (HTTP 403 or 404); no requests")


def test_normalise__without_responses_or_of_no_site(invoke: Command, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    lake = ("--lake", tmp_path / "lake")
    assert "`ranklake ingest dmoj` fetches them" in invoke.refuses("normalise", "--source", "dmoj", *lake)
    assert "source must be one of codeforces, " in invoke("normalise", "--source", "x", *lake).err


def test_verify__reads_the_responses_and_reports_remedies(
    invoke: Command, site: FakeCodeforces, tmp_path: Path
) -> None:
    lake = ("--lake", tmp_path / "lake")
    ingest = ("ingest", "codeforces", "--base-url", site.server.url, *lake)
    invoke(*ingest)
    assert (
        invoke("verify", *lake).out
        == "no problems: 1 data set with 2 contests and 4 participations, 3 responses of 1 site\n"
    )
    folder = tmp_path / "lake" / "raw" / "codeforces" / "rating-changes"
    damaged, missing = folder / "1.0.zst", folder / "2.0.zst"
    damaged.write_bytes(damaged.read_bytes()[:-7])
    missing.unlink()
    result = invoke("verify", *lake)
    assert result.code == 1
    for path in (damaged, missing):
        place = path.relative_to(tmp_path / "lake")
        assert f"{place}: " in result.out + result.err
    assert (
        "delete it and raw/codeforces/index.json, and the next `ranklake ingest` of the site requests it again"
        in result.out + result.err
    )
    damaged.unlink()
    (tmp_path / "lake" / "raw" / "codeforces" / "index.json").unlink()
    assert "2 unchanged contests; 3 requests" in invoke(*ingest).out
    assert invoke("verify", *lake).code == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ingest files faulty.csv", "time differs inside the contest"),
        ("ingest games faulty.csv", "column"),
        ("ingest games none.pgn", "no game that can be rated"),
        ("attributes faulty.csv", "no data set 'new'"),
        ("alias ann bob", "no data set 'new'"),
        ("amend 1 --remove ann", "no data set 'new'"),
        ("remove 1", "no data set 'new'"),
    ],
)
def test_command__that_fails_makes_no_folder_for_a_data_set(
    invoke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("faulty.csv").write_text("contest,player,rank,time\n1,ann,1,2020-01-01\n1,bob,2,2020-01-02\n")
    Path("none.pgn").write_text('[White "ann"]\n[Black "bob"]\n[Result "*"]\n\n*\n')
    Path("lake").mkdir()
    assert said in invoke.refuses(*command.split(), "--dataset", "new", "--lake", "lake")
    assert list(Path("lake").iterdir()) == []


# Games

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
    result = invoke("explain", "ann", "2024-01-01", "--run", "r", *lake)
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
