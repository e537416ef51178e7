"""The Prefect flows have the results of the functions, and show them; text from outside is escaped."""

from __future__ import annotations

import json
import logging
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from helpers.answers import leaderboard
from helpers.databases import Judge, sqlite_judge
from helpers.lakes import contest, files, ingest, lake_of, rate_run, rated, same_tables, synthetic
from helpers.markdown import MARKUP, read, texts
from helpers.server import Reply, serving
from helpers.site import Site
from helpers.tables import assert_published, over_years
from prefect import Flow, Task, flow
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.exceptions import Abort, ParameterTypeError, SignatureMismatchError
from prefect.flow_engine import run_flow
from prefect.logging.handlers import APILogWorker
from prefect.logging.loggers import flow_run_logger
from prefect.settings import PREFECT_API_URL
from prefect.states import Pending, StateType

import ranklake.flows.scheduling.deployments as deployments
import ranklake.flows.scheduling.flow_errors as flow_errors
from ranklake.flows.common.progress import ProgressLog
from ranklake.flows.common.text import visible as plain
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

CONTESTS = over_years(synthetic(24, seed=5))
RUN = "site-elo-mmr"
HOSTILE = "<script>alert(1)</script> [x](javascript:y) **b** | `c` http://evil.example \x00\x1b[31m\n# head"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site with the first 20 contests, which replaces every other site."""
    site = Site(CONTESTS[:20])
    monkeypatch.setattr(deployments, "bring_in", site.update)
    return site


def test_schemas__offer_the_engines_and_sources() -> None:
    for one in (deployments.rate_run, deployments.follow):
        assert one.parameters.properties["engine"]["anyOf"][0]["enum"] == ["serial", "threads", "dask"]
    for one in (deployments.ingest_source, deployments.follow):
        assert {"codeforces", "ctftime", "files"} <= set(one.parameters.properties["source"]["enum"])


def artifacts(kind: str = "markdown") -> list[dict[str, Any]]:
    """The artifacts of flows, oldest first."""
    return sorted((one for one in _all("artifacts") if one["type"] == kind), key=lambda one: str(one["created"]))


def logs() -> str:
    """All logs of flows."""
    APILogWorker.instance().drain()
    return "\n".join(one["message"] for one in _all("logs"))


def _all(what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := httpx.post(f"{PREFECT_API_URL.value()}/{what}/filter", json={"offset": len(found)}).json():
        found += page
    return found


# Results


def test_follow__has_the_result_of_the_function(site: Site, lake: Lake, tmp_path: Path) -> None:
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
    result = [one["message"] for one in records("codeforces")]
    assert any(line.startswith("data set site: 20 new") for line in result)
    assert any(line.startswith(f"run {RUN}: rated 20 rounds with ") for line in result)
    assert any(line.startswith(f"run {RUN}: published 20 rounds, ") for line in result)
    before = len(artifacts())
    deployments.follow(lake.url, "codeforces", "site")
    assert len(site.asked) == 2  # nothing is cached
    assert len(artifacts()) == before  # without a change there is no page


def test_flows__another_system_is_refused_unless_the_run_is_replaced(site: Site, lake: Lake) -> None:
    ingest(lake, CONTESTS[:18], "site")
    rate_run(lake, run="mine", dataset="site", system="glicko")
    said = "run mine exists with system glicko; requested was system elo"
    with pytest.raises(ValueError, match=said):
        deployments.rate_run(lake.url, "site", "mine", system="elo")
    with pytest.raises(ValueError, match=said):
        deployments.follow(lake.url, "codeforces", "site", ["mine"], system="elo")
    assert site.asked == []
    deployments.rate_run(lake.url, "site", "mine", system="glicko", engine="serial")
    assert Run.open(lake, "mine").config["system"] == "glicko"
    deployments.rate_run(lake.url, "site", "mine", system="elo", engine="serial", replace=True)
    assert Run.open(lake, "mine").config["system"] == "elo"


def test_flows__single_stages_have_the_same_result(site: Site, lake: Lake) -> None:
    deployments.ingest_source(lake.url, "codeforces", "site")
    deployments.rate_run(lake.url, "site", "mine", system="elo-mmr", settings=["rho=0.04"], engine="serial")
    deployments.publish_run(lake.url, "mine", maintain=True)
    assert Run.open(lake, "mine").config["params"]["rho"] == 0.04
    assert_published(lake, "mine")


def test_flows__post_what_has_changed(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKLAKE_WEBHOOK_SECRET", "shared-by-two")
    with serving() as receiver:
        receiver["/"] = Reply(b"", 204)
        for _ in range(2):
            deployments.follow(lake.url, "codeforces", "site", on_change=receiver.url)
        deployments.rate_run(lake.url, "site", "mine", system="elo", on_change=receiver.url)
        first, second = (json.loads(request.body)["data"] for request in receiver.requests)
        assert (first["runs"][0]["run"], first["runs"][0]["n_rounds"]) == (RUN, 20)
        assert (second["runs"][0]["run"], second["runs"][0]["version"]) == ("mine", None)
        assert all(request.headers["webhook-signature"].startswith("v1,") for request in receiver.requests)
    with pytest.raises(ParameterTypeError, match="must not have a user"):
        deployments.follow(lake.url, "codeforces", "site", on_change="https://user:word@host/hook")


def test_flows__rate_on_the_given_engine(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(deployments, "open_engine", lambda *where: asked.append(where) or Serial())
    deployments.follow(lake.url, "codeforces", "site", scheduler="tcp://there:8786")
    deployments.rate_run(lake.url, "site", engine="dask", workers=2)
    assert asked == [(None, None, "tcp://there:8786"), ("dask", 2, None)]


def test_follow__without_contests_or_ratings_is_no_failure(site: Site, lake: Lake) -> None:
    site.contests = []
    deployments.follow(lake.url, "codeforces", "site")
    site.contests = [CONTESTS[5], CONTESTS[6]]  # a contest of one player, and a tie of all
    deployments.follow(lake.url, "codeforces", "site")
    deployments.rate_run(lake.url, "site")
    assert not Path(lake.url, "published").exists()


def test_follow__accepts_a_folder_of_files(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for number, standings in enumerate([[["ada", 0, 0], ["bob", 1, 1]], [["bob", 0, 0], ["eve", 1, 1]]]):
        one = {"name": "", "time_seconds": 86_400 * number, "standings": standings}
        (tmp_path / "results" / f"{number}.json").write_text(json.dumps(one))
    options = {"order": "time", "on_error": "skip"}
    deployments.follow(lake.url, "files", "site", path=str(tmp_path / "results"), file_options=options)
    assert_published(lake, RUN)
    contests = artifacts()[-2]
    assert "| new | 2 |" in contests["data"]
    assert "2 of 2 files changed" in texts(contests["data"])[-1]


# Rescheduled runs


def deployed(lake: Lake, name: str, **parameters: Any) -> UUID:
    """A run of ``follow`` in a deployment with a concurrency limit of one, before its start by a worker."""
    with get_client(sync_client=True) as client:
        deployment = client.create_deployment(
            client.create_flow(deployments.follow), name, concurrency_limit=1, parameter_openapi_schema={}
        )
        parameters = {"lake": lake.url, "source": "codeforces", "dataset": "site", **parameters}
        run = client.create_flow_run_from_deployment(deployment, parameters=parameters)
        client.set_flow_run_state(run.id, Pending())
    return run.id


def used_slots(name: str) -> int:
    """The number of used concurrency slots of a deployment."""
    limits = httpx.post(f"{PREFECT_API_URL.value()}/v2/concurrency_limits/filter", json={}).json()
    found = httpx.get(f"{PREFECT_API_URL.value()}/deployments/name/follow/{name}").json()
    (taken,) = [limit["active_slots"] for limit in limits if found["id"] in limit["name"]]
    return int(taken)


def run_once(run: UUID) -> Any:
    """Run a flow as the process of a worker does; returns its state on the server."""
    with get_client(sync_client=True) as client:
        with suppress(Exception, Abort):
            flow_run = client.read_flow_run(run)
            run_flow(deployments.follow, flow_run=flow_run, error_logger=flow_run_logger(flow_run))
        return client.read_flow_run(run).state


def at_once(run: UUID) -> None:
    """Schedule a rescheduled run for now."""
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run, Pending(), force=True)


def test_follow__of_an_unreachable_site_is_rescheduled_and_frees_its_slot(
    site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_errors, "RETRY_SECONDS", [60.0])
    site.down = "does not answer"
    run = deployed(lake, "dead")
    assert used_slots("dead") == 1
    for seconds in flow_errors.RETRY_SECONDS:
        state = run_once(run)
        assert (state.type, state.name) == (StateType.SCHEDULED, "AwaitingRetry")
        left = state.state_details.scheduled_time - datetime.now(UTC)
        assert seconds - 60.0 < left.total_seconds() <= seconds
        assert "codeforces: does not answer" in state.message
        assert used_slots("dead") == 0
        at_once(run)
    assert run_once(run).type == StateType.FAILED
    assert len(site.asked) == 2
    assert used_slots("dead") == 0
    assert set(errors("codeforces")) == {"codeforces: does not answer"}  # no traceback


def test_follow__of_a_locked_data_set_is_rescheduled(site: Site, lake: Lake) -> None:
    deployments.ingest_source(lake.url, "codeforces", "site")
    run = deployed(lake, "second")
    with hold_lease(lake, layout.run_folder(RUN), "somebody else"):
        state = run_once(run)
    assert state.name == "AwaitingRetry"
    assert "somebody else" in state.message


def test_follow__is_not_rescheduled_for_permanent_errors(
    site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*arguments: Any, **options: Any) -> None:
        site.asked.append({})
        raise LakeError("damaged")

    monkeypatch.setattr(deployments, "bring_in", damaged)
    state = run_once(deployed(lake, "damaged"))
    assert state.type == StateType.FAILED
    assert len(site.asked) == 1
    assert errors("codeforces") == ["damaged"]


def test_follow__called_as_a_function_fails_at_once_and_nothing_is_rated(site: Site, lake: Lake) -> None:
    site.down = "does not answer"
    with pytest.raises(SourceError, match="codeforces: does not answer"):
        deployments.follow(lake.url, "codeforces", "site")
    assert len(site.asked) == 1
    assert not Path(lake.url, "runs").exists()


def test_tasks__are_neither_retried_inside_their_run_nor_cached() -> None:
    tasks = [value for value in vars(deployments).values() if isinstance(value, Task)]
    assert sorted(one.name for one in tasks) == ["ingest", "notify", "publish", "rate"]
    assert not any(one.retries for one in tasks)
    assert [one.name for one in tasks if "network" in one.tags] == ["ingest", "notify"]
    assert all(one.cache_policy == NO_CACHE and one.persist_result is False for one in tasks)
    found = [value for value in vars(deployments).values() if isinstance(value, Flow)]
    assert sorted(one.fn.__name__ for one in found) == sorted(deployments.__all__)
    assert not any(one.retries or one.persist_result for one in found)


# Logs of errors


def records(run_name: str) -> list[dict[str, Any]]:
    """The lines of the log of the last run of that name."""
    APILogWorker.instance().drain()
    run = max((one for one in _all("flow_runs") if one["name"] == run_name), key=lambda one: str(one["start_time"]))
    return [one for one in _all("logs") if one["flow_run_id"] == run["id"]]


def errors(run_name: str) -> list[str]:
    """The errors in that log, without Prefect's line about the state of a task, which repeats them."""
    result = [one["message"] for one in records(run_name) if one["level"] >= logging.ERROR]
    return [message for message in result if not message.startswith("Finished in state")]


@pytest.mark.parametrize("error", [EngineError("no workers"), ValueError("rho must be > 0, got -1")], ids=type)
def test_log__has_the_message_of_an_expected_error_once(
    site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(deployments, "bring_in", broken)
    assert run_once(deployed(lake, f"log-{type(error).__name__}")).type == StateType.FAILED
    assert errors("codeforces") == [str(error)]


def test_log__has_the_traceback_of_an_unexpected_error(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(deployments, "bring_in", broken)
    assert run_once(deployed(lake, "bug")).type == StateType.FAILED
    assert any("Traceback" in one["message"] and "surprise" in one["message"] for one in records("codeforces"))


def test_log__names_a_wrong_parameter_without_traceback(site: Site, lake: Lake) -> None:
    run = deployed(lake, "wrong", dataset="../x")
    assert run_once(run).type == StateType.FAILED
    APILogWorker.instance().drain()
    result = [one["message"] for one in _all("logs") if one["flow_run_id"] == str(run)]
    assert [one for one in result if "the name of a data set must be" in one and "got '../x'" in one]
    assert not [one for one in result if "Traceback" in one]


def test_rate__does_not_wait_for_another_writer(site: Site, lake: Lake) -> None:
    deployments.ingest_source(lake.url, "codeforces", "site")
    with hold_lease(lake, layout.run_folder(RUN), "somebody else"), pytest.raises(LakeError, match="somebody else"):
        deployments.rate_run(lake.url, "site")


# Parameters


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
def test_follow__refuses_wrong_parameters_before_any_request(site: Site, lake: Lake, wrong: dict[str, Any]) -> None:
    with pytest.raises((ParameterTypeError, SignatureMismatchError, TypeError, ValueError)):
        deployments.follow(**{"lake": lake.url, "source": "codeforces", "dataset": "site", **wrong})
    assert site.asked == []
    assert files(Path(lake.url)) == {}


@pytest.mark.parametrize("name", deployments.__all__)
def test_flows__refuse_an_address_with_a_password_and_do_not_repeat_it(site: Site, name: str) -> None:
    there = {"dataset": "site"} if name == "rate_run" else {"run": RUN} if name == "publish_run" else {}
    there = there or {"source": "codeforces"}
    with pytest.raises(ValueError, match="must not have a password") as raised:
        getattr(deployments, name)(lake="sftp://me:sesame@example.invalid/lake", **there)
    assert "sesame" not in str(raised.value)
    assert "sesame" not in logs()


@pytest.mark.parametrize("lake", ["", "lake", "./lake"])
def test_follow__refuses_a_relative_path_of_a_lake(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the lake must be an absolute path or an address"):
        deployments.follow(lake, "codeforces", "site")
    assert list(tmp_path.iterdir()) == []


# Pages and progress


def test_pages__escape_hostile_names(site: Site, lake: Lake) -> None:
    site.contests = [contest(HOSTILE.replace("\x00", ""), HOSTILE, "bob"), contest("1", "bob", HOSTILE)]
    site.rejected = [(HOSTILE, HOSTILE)]
    deployments.follow(lake.url, "codeforces", "site")
    contests, run = artifacts()[-2:]
    for page in (contests["data"], run["data"]):
        assert not {part.type for part in read(page)} & MARKUP
        assert plain(HOSTILE) in texts(page)
    assert all(one.isprintable() for one in logs().splitlines() if "evil.example" in one)


@pytest.mark.parametrize("every", [0.0, 60.0], ids=["always", "never"])
def test_progress__is_shown_at_intervals(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch, every: float) -> None:
    before = len(artifacts("progress"))
    monkeypatch.setattr(deployments, "PROGRESS_SECONDS", every)
    deployments.ingest_source(lake.url, "codeforces", "site")
    shown = artifacts("progress")[before:]
    assert [one["data"] for one in shown] == ([] if every else [100.0])


def test_progress__bars_are_updated_at_intervals(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, updates = iter(range(10_000)), []
    monkeypatch.setattr(deployments, "time", SimpleNamespace(monotonic=lambda: next(clock) / 10))
    monkeypatch.setattr(deployments, "create_progress_artifact", lambda *_, **__: updates.append("made") or uuid4())
    monkeypatch.setattr(deployments, "update_progress_artifact", lambda *_: updates.append("renewed"))

    @flow
    def long_work() -> None:
        with deployments._shown("work", "pieces") as tell:
            for i in range(200):  # 20 to 40 s on that clock
                tell(i, 200, "")

    long_work()
    assert 5 <= len(updates) <= 21


def test_progress__is_logged_at_every_tenth_and_not_with_every_bar(
    site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter(range(100_000))
    clock = lambda: 3.0 * next(seconds)  # noqa: E731
    monkeypatch.setattr(deployments, "ProgressLog", lambda what, units: ProgressLog(what, units, clock))

    @flow(name="first-ingest", flow_run_name="first ingest")
    def first_ingest() -> None:
        with deployments._shown("ingesting codeforces", "responses") as tell:
            for i in range(1200):
                tell(i, 1200, f"asking codeforces for {i}")

    first_ingest()
    result = [one["message"] for one in records("first ingest") if "ingesting" in one["message"]]
    assert 10 <= len(result) <= 30
    assert any("600 of 1,200 responses (50 %), 0.33 a second, 31 min left" in line for line in result)


@pytest.mark.parametrize("names", [("a.b", "a-b"), ("A", "a"), ("x", "x_"), ("run-a", "a")], ids=str)
def test_keys__of_different_names_differ(names: tuple[str, str]) -> None:
    keys = [deployments._key("run", name) for name in names]
    assert keys[0] != keys[1]
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in keys)


# Secrets


def test_ingest__sends_an_access_token_to_the_site_only(
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


# Databases

QUERY = "select contest, player, place as rank, time from results"


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """A database with five contests."""
    judge = sqlite_judge(tmp_path)
    judge.sql("create table results (contest integer, player text, place integer, time bigint)")
    for number in range(1, 6):
        for place, player in enumerate(("ada", "grace", "linus"), 1):
            judge.sql(f"insert into results values ({number}, '{player}', {place}, {1_700_000_000 + number})")
    return judge


def test_follow__reads_a_database_and_publishes_into_one(judge: Judge, lake: Lake) -> None:
    where = {"database": {"url": judge.url, "query": QUERY}, "to": {"url": judge.url, "prefix": "rated_"}}
    deployments.follow(lake.url, "sql", "judge", ["judge"], system="elo", **where)
    stored = judge.sql("select handle, rating from rated_leaderboard order by place")
    board = leaderboard(lake, "judge")
    assert stored == list(zip(board["handle"].to_pylist(), board["rating"].to_pylist(), strict=True))
    assert not lake.exists(f"{layout.published_folder('judge')}/latest.json")
    deployments.ingest_source(lake.url, "sql", "copy", database=where["database"])
    deployments.rate_run(lake.url, "copy", "copy", system="elo")
    deployments.publish_run(lake.url, "copy", to={"url": judge.url, "prefix": "copy_"})
    assert judge.sql("select handle, rating from copy_leaderboard order by place") == stored


def test_follow__of_a_database_without_an_answer_is_rescheduled(judge: Judge, lake: Lake) -> None:
    run = deployed(lake, "away", source="sql", database={"url": judge.url, "query": "select * from absent"})
    state = run_once(run)
    assert state.name == "AwaitingRetry"
    assert "no such table: absent" in logs()


@pytest.mark.parametrize("name", ["ingest_source", "follow", "publish_run"])
@pytest.mark.parametrize("url", ["postgresql://me:sesame@db/judge", "mariadb://db/judge?password=sesame"])
def test_flows__refuse_a_database_with_a_password_and_do_not_repeat_it(lake: Lake, name: str, url: str) -> None:
    given: list[dict[str, Any]] = [{"to": {"url": url}}] if name != "ingest_source" else []
    given += [{"database": {"url": url, "query": QUERY}}] if name != "publish_run" else []
    for one in given:
        there = {"run": RUN} if name == "publish_run" else {"source": "sql", "dataset": "judge"}
        other = {"database": {"url": "sqlite:////srv/judge.db", "query": QUERY}} if "run" not in there else {}
        with pytest.raises(ValueError, match="must not have a password; set it in the worker's environment") as raised:
            getattr(deployments, name)(lake=lake.url, **there, **(other | one))
        assert "sesame" not in str(raised.value)
    assert "sesame" not in logs()
    assert files(Path(lake.url)) == {}
