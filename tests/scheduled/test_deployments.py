"""The Prefect flows do what the functions do, and show what became of it; what comes from outside stays data."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pipeline.lakes import contest, files, ingest, lake_of, made_up, rate_run, rated, same_tables
from pipeline.tables import assert_published, over_years
from prefect import Flow, Task, flow
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL
from scheduled.site import Site
from scheduled.test_markdown import MARKUP, read, texts
from sources.server import Reply, serving

import flows.deployments as deployments
from flows.engines.serial import Serial
from flows.show import plain
from flows.sources.base import SourceError
from storage import Lake, LakeError, Run, layout
from storage.lease import hold

pytestmark = pytest.mark.usefixtures("prefect_server")

CONTESTS = over_years(made_up(24, seed=5))
RUN = "site-elo-mmr"
HOSTILE = "<script>alert(1)</script> [x](javascript:y) **b** | `c` http://evil.example \x00\x1b[31m\n# head"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site with the first 20 contests, in place of every other; flows try again at once."""
    site = Site(CONTESTS[:20])
    monkeypatch.setattr(deployments, "bring_in", site.ingest_source)
    monkeypatch.setattr(deployments._ingest, "retry_delay_seconds", [0.0, 0.0, 0.0])
    return site


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


def artifacts(kind: str = "markdown") -> list[dict[str, Any]]:
    """What flows have shown, oldest first."""
    return sorted((one for one in _all("artifacts") if one["type"] == kind), key=lambda one: str(one["created"]))


def logs() -> str:
    """Everything flows have logged."""
    APILogWorker.instance().drain()
    return "\n".join(one["message"] for one in _all("logs"))


def _all(what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := httpx.post(f"{PREFECT_API_URL.value()}/{what}/filter", json={"offset": len(found)}).json():
        found += page
    return found


# What flows do


def test_follow__does_what_the_function_does(site: Site, lake: Lake, tmp_path: Path) -> None:
    deployments.follow(lake.url, "codeforces", "site")
    other = lake_of(tmp_path / "other", CONTESTS[:20], "site")
    rate_run(other, run=RUN, dataset="site")
    assert same_tables(rated(lake, RUN), rated(other, RUN))
    assert_published(lake, RUN)
    contests, run = artifacts()[-2:]
    assert (contests["key"], run["key"]) == ("contests-site", "run-site-elo-mmr")
    assert "| new | 20 |" in contests["data"]
    assert f"The run: {lake.uri(f'runs/{RUN}')}" in texts(run["data"])
    assert run["data"].count("| 1 |") == 1
    before = len(artifacts())
    deployments.follow(lake.url, "codeforces", "site")
    assert len(site.asked) == 2  # nothing is cached
    assert len(artifacts()) == before  # nothing has changed, nothing is shown


def test_follow__keeps_runs_as_they_are_and_starts_those_that_are_not_there(site: Site, lake: Lake) -> None:
    ingest(lake, CONTESTS[:18], "site")
    rate_run(lake, run="mine", dataset="site", system="glicko", sigma_init=300.0)
    deployments.follow(lake.url, "codeforces", "site", ["mine", "fresh"], maintain=True)
    assert [Run.open(lake, run).config["system"] for run in ("mine", "fresh")] == ["glicko", "elo-mmr"]
    for run in ("mine", "fresh"):
        assert Run.open(lake, run).segments().stop_round == 20
        assert_published(lake, run)


def test_flows__each_stage_alone_comes_to_the_same(site: Site, lake: Lake) -> None:
    deployments.ingest_source(lake.url, "codeforces", "site")
    deployments.rate_run(lake.url, "site", "mine", system="elo-mmr", settings=["rho=0.04"], engine="serial")
    deployments.publish_run(lake.url, "mine", maintain=True)
    assert Run.open(lake, "mine").config["params"]["rho"] == 0.04
    assert_published(lake, "mine")


def test_flows__rate_where_they_are_told(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(deployments, "open_engine", lambda *where: asked.append(where) or Serial())
    deployments.follow(lake.url, "codeforces", "site", scheduler="tcp://there:8786")
    deployments.rate_run(lake.url, "site", engine="dask", workers=2)
    assert asked == [(None, None, "tcp://there:8786"), ("dask", 2, None)]


def test_follow__of_a_site_without_contests_or_of_nobody_rated_is_no_failure(site: Site, lake: Lake) -> None:
    site.contests = []
    deployments.follow(lake.url, "codeforces", "site")
    site.contests = [CONTESTS[5], CONTESTS[6]]  # of one player, and of equals
    deployments.follow(lake.url, "codeforces", "site")
    deployments.rate_run(lake.url, "site")
    assert not Path(lake.url, "published").exists()


# What is tried again


def test_ingest__is_tried_again_while_the_site_is_down(site: Site, lake: Lake) -> None:
    def comes_back(*arguments: Any, **options: Any) -> Any:
        site.down = "does not answer" if len(site.asked) < 2 else ""
        return site.ingest_source(*arguments, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(deployments, "bring_in", comes_back)
        deployments.follow(lake.url, "codeforces", "site")
    assert len(site.asked) == 3
    assert_published(lake, RUN)


def test_ingest__is_given_up_in_the_end_and_nothing_is_rated(site: Site, lake: Lake) -> None:
    site.down = "does not answer"
    with pytest.raises(SourceError, match="codeforces: does not answer"):
        deployments.follow(lake.url, "codeforces", "site")
    assert len(site.asked) == 1 + len(deployments.RETRY_SECONDS)
    assert not Path(lake.url, "runs").exists()


def test_ingest__is_not_tried_again_for_what_no_waiting_mends(
    site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*arguments: Any, **options: Any) -> None:
        site.asked.append({})
        raise LakeError("damaged")

    monkeypatch.setattr(deployments, "bring_in", damaged)
    with pytest.raises(LakeError, match="damaged"):
        deployments.ingest_source(lake.url, "codeforces", "site")
    assert len(site.asked) == 1


def test_tasks__only_those_on_the_network_are_tried_again_and_none_is_cached() -> None:
    tasks = [value for value in vars(deployments).values() if isinstance(value, Task)]
    assert sorted(one.name for one in tasks) == ["ingest", "publish", "rate"]
    assert [one.name for one in tasks if one.retries] == ["ingest"]
    assert [one.name for one in tasks if "network" in one.tags] == ["ingest"]
    assert all(one.cache_policy == NO_CACHE and one.persist_result is False for one in tasks)
    found = [value for value in vars(deployments).values() if isinstance(value, Flow)]
    assert sorted(one.fn.__name__ for one in found) == sorted(deployments.__all__)
    assert not any(one.retries or one.persist_result for one in found)


def test_rate__does_not_wait_for_another_writer(site: Site, lake: Lake) -> None:
    deployments.ingest_source(lake.url, "codeforces", "site")
    with hold(lake, layout.run_folder(RUN), "somebody else"), pytest.raises(LakeError, match="somebody else"):
        deployments.rate_run(lake.url, "site")


# What is asked for


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "chess"},
        {"dataset": "runs"},
        {"dataset": "../x"},
        {"runs": ["a/b"]},
        {"since": "once"},
        {"workers": 0},
        {"publish": "perhaps"},
        {"no_such": 1},
        {"system": "chess"},
        {"settings": ["rho=-1"]},
        {"engine": "magic"},
        {"scheduler": "tcp://there:8786", "engine": "threads"},
        {"scheduler": "tcp://there:8786", "workers": 2},
    ],
    ids=lambda wrong: "-".join(map(str, wrong)),
)
def test_follow__refuses_wrong_parameters_before_it_asks(site: Site, lake: Lake, wrong: dict[str, Any]) -> None:
    with pytest.raises((ParameterTypeError, SignatureMismatchError, TypeError, ValueError)):
        deployments.follow(**{"lake": lake.url, "source": "codeforces", "dataset": "site", **wrong})
    assert site.asked == []
    assert files(Path(lake.url)) == {}


@pytest.mark.parametrize("name", deployments.__all__)
def test_flows__refuse_an_address_with_a_password_and_do_not_repeat_it(site: Site, name: str) -> None:
    there = {"dataset": "site"} if name == "rate_run" else {"run": RUN} if name == "publish_run" else {}
    there = there or {"source": "codeforces"}
    with pytest.raises(ValueError, match="must not hold a password") as raised:
        getattr(deployments, name)(lake="sftp://me:sesame@example.invalid/lake", **there)
    assert "sesame" not in str(raised.value)
    assert "sesame" not in logs()


@pytest.mark.parametrize("lake", ["", "lake", "./lake"])
def test_follow__refuses_a_lake_that_would_be_where_the_worker_happens_to_be(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the lake must be a full path or an address"):
        deployments.follow(lake, "codeforces", "site")
    assert list(tmp_path.iterdir()) == []


# What is shown


def test_pages__hostile_names_stay_data(site: Site, lake: Lake) -> None:
    site.contests = [contest(HOSTILE.replace("\x00", ""), HOSTILE, "bob"), contest("1", "bob", HOSTILE)]
    site.rejected = [(HOSTILE, HOSTILE)]
    deployments.follow(lake.url, "codeforces", "site")
    contests, run = artifacts()[-2:]
    for page in (contests["data"], run["data"]):
        assert not {part.type for part in read(page)} & MARKUP
        assert plain(HOSTILE) in texts(page)
    assert all(one.isprintable() for one in logs().splitlines() if "evil.example" in one)


@pytest.mark.parametrize("every", [0.0, 60.0], ids=["always", "never"])
def test_progress__is_shown_now_and_then(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch, every: float) -> None:
    before = len(artifacts("progress"))
    monkeypatch.setattr(deployments, "PROGRESS_SECONDS", every)
    deployments.ingest_source(lake.url, "codeforces", "site")
    shown = artifacts("progress")[before:]
    assert [one["data"] for one in shown] == ([] if every else [100.0])


def test_progress__bars_are_seldom_renewed(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, updates = iter(range(10_000)), []
    monkeypatch.setattr(deployments, "time", SimpleNamespace(monotonic=lambda: next(clock) / 10))
    monkeypatch.setattr(deployments, "create_progress_artifact", lambda *_, **__: updates.append("made") or uuid4())
    monkeypatch.setattr(deployments, "update_progress_artifact", lambda *_: updates.append("renewed"))

    @flow
    def long_work() -> None:
        with deployments._shown("work", "pieces") as tell:
            for i in range(200):  # at least 20 s by that clock, and at most 40
                tell(i, 200, "")

    long_work()
    assert 5 <= len(updates) <= 21


@pytest.mark.parametrize("names", [("a.b", "a-b"), ("A", "a"), ("x", "x_"), ("run-a", "a")], ids=str)
def test_keys__no_two_names_share_one(names: tuple[str, str]) -> None:
    keys = [deployments._key("run", name) for name in names]
    assert keys[0] != keys[1]
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in keys)


# Secrets


def test_ingest__an_access_token_is_told_to_the_site_alone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    token = "open-sesame-0123456789"
    monkeypatch.setenv("RANKLAKE_CODEFORCES_TOKEN", token)
    monkeypatch.setattr(deployments._ingest, "retries", 0)
    before = len(artifacts())
    with serving() as server:
        for reply in (Reply(f"no such key: {token}".encode(), 403), {"status": "FAILED", "comment": token}):
            server["/api/contest.list"] = reply
            with pytest.raises(SourceError) as raised:
                deployments.ingest_source(lake.url, "codeforces", base_url=server.url)
            assert token not in str(raised.value)
        assert server.requests[0].headers["Authorization"] == f"Bearer {token}"
    assert token not in logs()
    assert token not in str(artifacts()[before:])
    assert token not in "".join(capfd.readouterr())
    assert not any(token.encode() in data for data in files(Path(lake.url)).values())
