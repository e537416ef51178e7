"""`ranklake ingest SITE` and `ranklake normalise` as people use them."""

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

from ranklake.flows.sources.sites.codeforces import Codeforces
from ranklake.flows.sources.sites.site import SITES

TIMEOUT = 120.0


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name in ("FORCE_COLOR", "COLUMNS", "RANKLAKE_LAKE", "RANKLAKE_CONTACT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Codeforces, "interval_seconds", 0.0)
    return Command(monkeypatch, capsys)


@pytest.fixture
def site(server: Server) -> FakeCodeforces:
    fake = FakeCodeforces(server)
    fake.add(1, changes(1, ("tourist", 1), ("Petr", 2)))
    fake.add(2, changes(2, ("\x1b[31mred", 1), ("\u202egnp.exe", 2)))
    return fake


@pytest.mark.parametrize("source", [*SITES, "kaggle"])
def test_help__tells_usage_of_every_site(invoke: Command, source: str) -> None:
    answer = invoke("ingest", source, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert f"ingest {source} [OPTIONS]" in answer.out.splitlines()[0]


def test_ingest__rates_what_a_site_has_and_follows_it(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    lake = ("--lake", tmp_path / "lake")
    ingest = ("ingest", "codeforces", "--base-url", site.server.url, *lake)
    answer = invoke(*ingest)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("data set codeforces: 2 new contests; 3 requests, in ")
    assert invoke(*ingest).out.startswith("data set codeforces: 2 unchanged contests; 1 request, in ")
    assert invoke("normalise", "--source", "codeforces", *lake).out.startswith(
        "data set codeforces: 2 unchanged contests; nothing"
    )
    invoke("rate", "--dataset", "codeforces", *lake)
    board = invoke("leaderboard", "--run", "codeforces-elo-mmr", *lake).out
    assert "tourist" in board
    assert "\\x1b[31mred" in board  # names stay data, and are not let loose on a terminal
    assert "\\u202egnp.exe" in board
    assert not {"\x1b", "\u202e"} & set(board)


def test_verify__what_a_damaged_data_set_of_a_site_is_made_again_with(
    invoke: Command, site: FakeCodeforces, tmp_path: Path
) -> None:
    lake = ("--lake", tmp_path / "lake")
    assert invoke("ingest", "codeforces", "--base-url", site.server.url, "--dataset", "cf", *lake).code == 0
    (file,) = (tmp_path / "lake" / "cf" / "standings").iterdir()
    whole = file.read_bytes()
    mend = "ranklake normalise --source codeforces --dataset cf --rewrite"
    for harmed in (whole[:-7], b"", None):
        file.write_bytes(harmed) if harmed is not None else file.unlink()
        for command in (("verify",), ("rate", "--dataset", "cf")):
            answer = invoke(*command, *lake)
            assert answer.code == 1
            assert f"restore it, or `{mend}` makes it again\n" in answer.out + answer.err
        assert invoke(*mend.split()[1:], *lake).code == 0
        assert invoke("verify", *lake).code == 0
    (players,) = (tmp_path / "lake" / "cf" / "players").iterdir()
    players.unlink()
    commands = ("delete --dataset cf --with-runs", "normalise --source codeforces --dataset cf")
    said = " and ".join(f"`ranklake {command}`" for command in commands)
    assert f"restore it, or {said}\n" in invoke("verify", *lake).out
    for command in (f"{commands[0]} --yes", commands[1]):
        assert invoke(*command.split(), *lake).code == 0
    assert invoke("verify", *lake).code == 0


def test_ingest__tells_what_was_rejected_and_why(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    site.add(3, changes(3, ("\x1b[2J", 1), ("\x1b[2J", 2)))
    site.add(4, Reply(b"<html>\x1b[2J\x07 Just a moment"))
    answer = invoke("ingest", "codeforces", "--base-url", site.server.url, "--lake", tmp_path / "lake")
    assert answer.code == 0
    assert "2 new contests, 2 rejected; 5 requests" in answer.out
    fault, broken = sorted(answer.err.splitlines())
    assert fault.startswith("rejected: codeforces, contest 3 (")
    assert broken.startswith("rejected: codeforces, contest 4 (")
    assert "a web page where data should be" in broken
    assert (answer.out + answer.err).replace("\n", "").isprintable()


@pytest.mark.slow
def test_ingest__pauses_and_failures_are_told(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
    site.server.script("/api/contest.list", Reply(b"", 429, {"Retry-After": "0"}), Reply(b"", 403))
    ingest = ("ingest", "codeforces", "--base-url", site.server.url, "--lake", tmp_path / "lake")
    pause, code = Codeforces.pause_seconds, 1
    try:
        Codeforces.pause_seconds = 0.0
        answer = invoke(*ingest)
    finally:
        Codeforces.pause_seconds = pause
    assert (answer.code, answer.out) == (code, "")
    told, error = answer.err.splitlines()
    assert told.startswith("codeforces: HTTP 429; again in ")
    assert error == f"Error: codeforces, {site.server.url}api/contest.list: HTTP 403"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--base-url", "codeforces.com"), "a base URL is https://host/path, got 'codeforces.com'"),
        (("--base-url", "https://me:secret@codeforces.com"), "must be scheme, host and path alone"),
        (("--since", "yesterday"), "must be a time as 2020-01-31"),
        (("--dataset", "../x"), "the name of a data set must be"),
        (("--dataset", "raw"), "a data set must not be called"),
    ],
)
def test_ingest__wrong_use_is_told_before_anybody_is_asked(
    invoke: Command, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    answer = invoke("ingest", "codeforces", *arguments, "--lake", tmp_path / "lake")
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
    assert "secret" not in answer.err
    assert not (tmp_path / "lake").exists()


def test_ingest__interrupted_by_a_person_goes_on(invoke: Command, site: FakeCodeforces, tmp_path: Path) -> None:
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


def test_ingest__of_lichess_takes_what_is_named(invoke: Command, server: Server, tmp_path: Path) -> None:
    info: dict[str, Any] = {"id": "S1", "name": "S", "startsAt": "2023-11-01T02:00:00Z", "status": "finished"}
    server["/api/swiss/S1"] = info
    server["/api/swiss/S1/results"] = b'{"rank":1,"username":"ada"}\n{"rank":2,"username":"bob"}\n'
    there = ("--base-url", server.url, "--lake", tmp_path / "lake")
    assert "1 new contest; 2 requests" in invoke("ingest", "lichess", "--swiss", "S1", *there).out


def test_ingest__of_files_says_in_which_folder_they_must_be(invoke: Command, tmp_path: Path) -> None:
    lake = ("--lake", tmp_path / "lake")
    assert "is closed; --base-url must be the folder" in invoke("ingest", "topcoder", *lake).err
    assert (
        "must be a folder, got 'https://" in invoke("ingest", "kaggle", "--base-url", "https://kaggle.com", *lake).err
    )
    message = invoke.refuses("ingest", "topcoder", "--base-url", tmp_path, *lake)
    assert message == f"topcoder, {tmp_path}/dd_round_list.xml: no such file"


def test_ingest__counts_the_contests_that_a_site_lists_and_has_not(invoke: Command, tmp_path: Path) -> None:
    listed = "<row><round_id>7</round_id><full_name>n</full_name><date>2001-04-21 14:00</date></row>"
    (tmp_path / "dd_round_list.xml").write_text(f"<l>{listed}</l>")
    lake = ("--lake", tmp_path / "lake")
    for _ in range(2):
        answer = invoke("ingest", "topcoder", "--base-url", tmp_path, *lake)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out.startswith("data set topcoder: no contests, 1 not there (HTTP 403 or 404); ")
    told = invoke("normalise", "--source", "topcoder", *lake).out
    assert told.startswith("data set topcoder: no contests, 1 not there (HTTP 403 or 404); nothing asked")


def test_normalise__without_responses_or_of_no_site(invoke: Command, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    lake = ("--lake", tmp_path / "lake")
    assert "`ranklake ingest dmoj` fetches them" in invoke.refuses("normalise", "--source", "dmoj", *lake)
    assert "source must be one of codeforces, " in invoke("normalise", "--source", "x", *lake).err


def test_verify__reads_the_responses_and_says_what_mends_them(
    invoke: Command, site: FakeCodeforces, tmp_path: Path
) -> None:
    lake = ("--lake", tmp_path / "lake")
    ingest = ("ingest", "codeforces", "--base-url", site.server.url, *lake)
    invoke(*ingest)
    assert (
        invoke("verify", *lake).out
        == "all is well: 1 data set with 2 contests and 4 participations, 3 responses of 1 site\n"
    )
    folder = tmp_path / "lake" / "raw" / "codeforces" / "rating-changes"
    damaged, missing = folder / "1.0.zst", folder / "2.0.zst"
    damaged.write_bytes(damaged.read_bytes()[:-7])
    missing.unlink()
    answer = invoke("verify", *lake)
    assert answer.code == 1
    for path in (damaged, missing):
        place = path.relative_to(tmp_path / "lake")
        assert f"{place}: " in answer.out + answer.err
    assert (
        "delete it and raw/codeforces/index.json, and the next `ranklake ingest` of the site requests it again"
        in answer.out + answer.err
    )
    damaged.unlink()
    (tmp_path / "lake" / "raw" / "codeforces" / "index.json").unlink()
    assert "2 unchanged contests; 3 requests" in invoke(*ingest).out
    assert invoke("verify", *lake).code == 0
