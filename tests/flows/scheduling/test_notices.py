"""Notices of a follow: what changed, to a webhook and to a command, and again if a receiver failed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers.documents import ROOT, blocks_of
from helpers.lakes import synthetic
from helpers.server import Reply, serving
from helpers.site import Site, turned

import ranklake.flows.http.webhook as webhooks
from ranklake.flows.cli.main import cli
from ranklake.flows.engines.serial import Serial
from ranklake.flows.ingestion.source_update import SourceRequest
from ranklake.flows.publication.root import read_manifest
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.scheduling import notices
from ranklake.flows.scheduling.follow import follow
from ranklake.flows.scheduling.notices import CommandError, Notice, Notifier, notice_of
from ranklake.storage import Contest, Lake

CONTESTS = synthetic(12, seed=5, n_players=12, size=6)
RUN = "site-elo-mmx"


@pytest.fixture
def site(follow_site: Callable[[list[Contest]], Site]) -> Site:
    """A site with the first 10 contests."""
    return follow_site(CONTESTS[:10])


def noticed(lake: Lake, **options: Any) -> Notice | None:
    runs = resolve_runs(lake, "site", systems=["elo-mmx"])
    report = follow(lake, SourceRequest("codeforces", "site"), runs, Serial(), **options)
    return notice_of(lake, "site", report.ingested, report.runs)


def version(lake: Lake) -> str:
    manifest = read_manifest(lake, RUN)
    assert manifest is not None
    return manifest.etag


@pytest.mark.slow
def test_notice__has_versions_rounds_and_the_first_round_rated_again(site: Site, lake: Lake) -> None:
    about = {"run": RUN, "n_rounds": 10, "first_changed": 0, "first_rated_again": None, "why": ""}
    counts = {"new": 10, "corrected": 0, "removed": 0, "moved": 0}
    first = noticed(lake)
    assert first == {"dataset": "site", "contests": counts, "runs": [about | {"version": version(lake)}]}
    assert noticed(lake) is None
    site.contests = [turned(one) if i == 7 else one for i, one in enumerate(CONTESTS[:11])]
    again = noticed(lake)
    assert again is not None
    (run,) = again["runs"]
    assert (again["contests"]["new"], again["contests"]["corrected"]) == (1, 1)
    assert (run["n_rounds"], run["first_changed"], run["first_rated_again"]) == (11, 7, 7)
    assert "contest 7, changed" in run["why"]
    assert run["version"] == version(lake) != first["runs"][0]["version"]
    site.contests.append(CONTESTS[11])
    appended = noticed(lake)
    assert appended is not None
    assert (appended["runs"][0]["first_changed"], appended["runs"][0]["first_rated_again"]) == (11, None)
    site.contests = site.contests[:10]
    unpublished = noticed(lake, publish=False)
    assert unpublished is not None
    assert unpublished["runs"][0]["version"] is None


def test_notice__has_the_keys_of_the_manual(site: Site, lake: Lake) -> None:
    notice = noticed(lake)
    assert notice is not None
    (example,) = blocks_of((ROOT / "docs" / "follow.md").read_text(encoding="utf-8"), "json")
    listed = json.loads(example)
    assert listed["data"].keys() == notice.keys()
    assert listed["data"]["contests"].keys() == notice["contests"].keys()
    assert listed["data"]["runs"][0].keys() == notice["runs"][0].keys()
    assert listed["type"] == notices.KIND


def test_notifier__keeps_the_latest_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(notices, "_MOST_PENDING", 2)
    notifier = Notifier(command=sys.executable)
    (channel,) = notifier._channels
    for n in range(3):
        channel[1].append({"n": n})
    notifier._channels = [(sent.append, channel[1])]
    notifier.deliver(None)
    assert sent == [{"n": 1}, {"n": 2}]


def test_notifier__delivers_again_what_a_receiver_did_not_accept(tmp_path: Path) -> None:
    program = tmp_path / "hook.py"
    program.write_text(
        "import json, pathlib, sys\n"
        "log = pathlib.Path(sys.argv[1])\n"
        "data = json.load(sys.stdin)['data']\n"
        "sys.exit(3) if not (log.parent / 'up').exists() else log.open('a').write(f\"{data['n']}\\n\")\n"
    )
    command = f'"{sys.executable}" "{program}" "{tmp_path / "log"}"'.replace("\\", "/")
    notifier = Notifier(command=command)
    for n in range(2):
        with pytest.raises(CommandError, match="exit code 3"):
            notifier.deliver({"n": n})
    (tmp_path / "up").touch()
    notifier.deliver(None)
    notifier.deliver({"n": 2})
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2"]


def test_notifier__a_command_is_bounded_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "COMMAND_SECONDS", 0.2)
    with pytest.raises(CommandError, match="not finished within"):
        Notifier(command=f'"{sys.executable}" -c "import time; time.sleep(60)"'.replace("\\", "/")).deliver({})


def test_notifier__a_command_that_disappeared_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices.shutil, "which", str)
    with pytest.raises(CommandError, match="command '/no/such/command'"):
        Notifier(command="/no/such/command").deliver({})


def test_notifier__refuses_commands_that_do_not_exist() -> None:
    for command, message in (
        ("", "is empty"),
        ("'open", "cannot be read"),
        ("/no/such/command a", "'/no/such/command' does not exist"),
        ("no-such-command", "does not exist"),
    ):
        with pytest.raises(ValueError, match=message):
            Notifier(command=command)


# The command


def invoke(lake: Lake, *arguments: str) -> Result:
    words = ["follow", "--source", "codeforces", "--dataset", "site", "--system", "elo-mmx", "--lake", lake.url]
    return CliRunner().invoke(cli, [*words, *arguments])


def test_command__posts_once_for_each_change(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(webhooks.SECRET, "shared-by-two")
    with serving() as receiver:
        receiver["/"] = Reply(b"", 204)
        for _ in range(2):
            assert invoke(lake, "--on-change", receiver.url).exit_code == 0
        (request,) = receiver.requests
        notice = json.loads(request.body)
        assert notice["type"] == "ratings.changed"
        assert notice["data"]["runs"][0]["version"] == version(lake)
        assert request.headers["webhook-signature"].startswith("v1,")
        site.contests.append(CONTESTS[10])
        receiver["/"] = Reply(b"", 410)
        done = invoke(lake, "--on-change", receiver.url)
        assert done.exit_code == 1
        assert f"run {RUN}: published 11 rounds" in done.stdout  # the work is done and reported
        assert isinstance(done.exception, webhooks.WebhookError)


def test_command__refuses_invalid_receivers_before_any_work(site: Site, lake: Lake) -> None:
    for option, value in (("--on-change", "elsewhere"), ("--exec", "'open"), ("--exec", "no-such-command")):
        assert invoke(lake, option, value).exit_code == 2
    assert site.asked == []
