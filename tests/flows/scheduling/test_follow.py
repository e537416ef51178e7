"""Following a source: its changes reach the published tables, also after unfinished work."""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from helpers.fake_codeforces import FakeCodeforces, changes
from helpers.lakes import files, ingest, lake_of, rate_run, rated, same_tables, stamps, start, synthetic
from helpers.server import FakeClock, serving
from helpers.site import Site, turned
from helpers.strategies import repeatable
from helpers.tables import assert_published, contents, over_years, same_content
from helpers.timeouts import TIMEOUT
from hypothesis import given
from hypothesis import strategies as st

import ranklake.flows.cli.commands.follow
import ranklake.flows.common.extras
import ranklake.flows.scheduling.follow
from ranklake.flows.cli.main import cli
from ranklake.flows.engines.serial import Serial
from ranklake.flows.http.client import ATTEMPTS
from ranklake.flows.ingestion.adding import How
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.source_update import SourceRequest
from ranklake.flows.publication.publish import publish
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.scheduling.follow import FollowReport, follow
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Contest, Dataset, Lake, LakeError, Run
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease

CONTESTS = over_years(synthetic(24, seed=5))
RUN = "site-elo-mmr"


@pytest.fixture
def site(follow_site: Callable[[list[Contest]], Site]) -> Site:
    """A site with the first 20 contests."""
    return follow_site(CONTESTS[:20])


def followed(lake: Lake, names: tuple[str, ...] = (), **options: bool) -> FollowReport:
    return follow(lake, SourceRequest("codeforces", "site"), resolve_runs(lake, "site", names), Serial(), **options)


def by_hand(path: Path, contests: list[Contest]) -> Lake:
    """A lake in which the contests were ingested, rated and published in separate steps."""
    lake = lake_of(path, contests, "site")
    rate_run(lake, run=RUN, dataset="site")
    publish(lake, RUN)
    return lake


# The function


def test_follow__equals_its_three_steps_in_sequence(site: Site, lake: Lake, tmp_path: Path) -> None:
    report = followed(lake)
    other = by_hand(tmp_path / "other", CONTESTS[:20])
    assert same_tables(rated(lake, RUN), rated(other, RUN))
    assert same_content(contents(lake, RUN), contents(other, RUN))
    assert report.ingested.new == 20
    assert report.changed
    assert [line.partition(":")[0] for line in report.lines()] == ["data set site", f"run {RUN}", f"run {RUN}"]


@pytest.mark.slow
def test_follow__without_new_contests_sends_one_request_and_writes_nothing(site: Site, lake: Lake) -> None:
    followed(lake)
    before = stamps(Path(lake.url))
    report = followed(lake)
    assert stamps(Path(lake.url)) == before
    assert not report.changed
    assert len(site.asked) == 2


@pytest.mark.slow
def test_follow__a_corrected_contest_reaches_the_tables(site: Site, lake: Lake, tmp_path: Path) -> None:
    followed(lake)
    site.contests[8] = turned(site.contests[8])
    site.contests.append(CONTESTS[20])
    report = followed(lake)
    assert (report.ingested.corrected, report.ingested.new) == (1, 1)
    other = by_hand(tmp_path / "other", site.contests)
    assert same_tables(rated(lake, RUN), rated(other, RUN))
    assert_published(lake, RUN)
    assert "contest 8, changed" in " ".join(report.lines())


@pytest.mark.slow
@pytest.mark.parametrize("left", ["ingested", "rated"])
def test_follow__completes_unfinished_work_without_new_contests(site: Site, lake: Lake, left: str) -> None:
    ingest(lake, CONTESTS[:20], "site")
    if left == "rated":
        rate_run(lake, run=RUN, dataset="site")
    report = followed(lake)
    assert not report.ingested.changed
    assert report.changed
    assert_published(lake, RUN)


@pytest.mark.slow
def test_follow__applies_a_manual_correction(site: Site, lake: Lake) -> None:
    followed(lake)
    loser = CONTESTS[10].handles[-1].as_py()
    with Dataset.ingest(lake, "site") as ingesting:
        ingesting.disqualify("10", loser, "cheating")
    report = followed(lake)
    assert not report.ingested.changed
    assert report.runs[0].rated.why
    assert_published(lake, RUN)
    assert (loser, "10") not in {(row["player"], row["contest_id"]) for row in rated(lake, RUN).to_pylist()}


@pytest.mark.slow
def test_follow__updates_several_runs(site: Site, lake: Lake) -> None:
    ingest(lake, CONTESTS[:18], "site")
    rate_run(lake, run="mine", dataset="site", system="glicko", sigma_init=300.0, exclude=("3",))
    before = Run.open(lake, "mine").config
    report = followed(lake, ("mine", "fresh"))
    assert [one.run for one in report.runs] == ["mine", "fresh"]
    assert Run.open(lake, "mine").config == before
    assert Run.open(lake, "fresh").config["system"] == "elo-mmr"
    for run in ("mine", "fresh"):
        assert Run.open(lake, run).segments().stop_round == 20
        assert_published(lake, run)


def test_follow__without_publishing_only_rates(site: Site, lake: Lake) -> None:
    report = followed(lake, publish=False)
    assert Run.open(lake, RUN).segments().stop_round == 20
    assert report.runs[0].published is None
    assert not Path(lake.url, "published").exists()


def test_follow__of_a_site_without_contests_is_no_failure(site: Site, lake: Lake) -> None:
    site.contests = []
    assert list(followed(lake).lines())[-1] == "data set site: no contests yet, nothing to rate"
    site.contests = CONTESTS[:1]
    assert followed(lake).runs[0].published is not None


def test_follow__publishes_nothing_without_ratings(site: Site, lake: Lake) -> None:
    site.contests = [CONTESTS[5], CONTESTS[6]]  # a contest of one player, and a tie of all
    for _ in range(2):
        assert followed(lake).runs[0].published is None
    site.contests.append(CONTESTS[7])
    assert followed(lake).runs[0].published is not None


def test_follow__of_an_unreachable_site_rates_nothing(site: Site, lake: Lake) -> None:
    followed(lake)
    before = stamps(Path(lake.url))
    site.contests.append(CONTESTS[20])
    site.down = "does not answer"
    with pytest.raises(SourceError, match="codeforces: does not answer"):
        followed(lake)
    assert stamps(Path(lake.url)) == before


def test_follow__without_the_extra_publish_fails(site: Site, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> None:
        raise ModuleNotFoundError(f"no {package}", name=package)

    monkeypatch.setattr(ranklake.flows.common.extras, "import_module", missing)
    with pytest.raises(ranklake.flows.common.extras.MissingExtraError, match=r"pip install 'ranklake\[publish\]'"):
        followed(lake)
    assert site.asked == []


@pytest.mark.slow
@repeatable(8)
@given(st.data())
def test_follow__after_any_changes_of_a_site_equals_a_new_lake(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("law")
    lake, site = Lake.open(path / "lake", create=True), Site()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranklake.flows.scheduling.follow, "update", site.update)
        for _ in range(data.draw(st.integers(1, 4))):
            chosen = data.draw(st.sets(st.integers(0, 9), min_size=1))
            flipped = data.draw(st.sets(st.sampled_from(sorted(chosen))))
            site.contests = [turned(CONTESTS[i]) if i in flipped else CONTESTS[i] for i in sorted(chosen)]
            if data.draw(st.booleans()):
                followed(lake)
            else:
                followed(lake, publish=False)
        report = followed(lake)
    fresh = lake_of(path / "fresh", site.contests, "site")
    rate_run(fresh, run=RUN, dataset="site")
    assert same_tables(rated(lake, RUN), rated(fresh, RUN))
    if report.runs[0].published is not None:
        assert_published(lake, RUN)


# The runs


def test_resolve_runs__has_the_default_name_of_rate(lake: Lake) -> None:
    (run,) = resolve_runs(lake, "site", systems=["glicko"], settings=["sigma_init=300"])
    assert run.run.startswith("site-glicko-")
    assert (run.system, run.params.sigma_init) == ("glicko", 300.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ("a", "b"), "systems": ["elo"]}, "a system and settings need one run, got 2"),
        ({"names": ("../x",)}, "the name of a run must be"),
        ({"systems": ["elo2"]}, "system must be one of"),
        ({"settings": ["rho=-1"]}, "rho must be"),
        ({"names": ("other",)}, "run other exists with data set games; requested was data set site. Add --replace"),
    ],
    ids=["two-runs", "name", "system", "setting", "other-data-set"],
)
def test_resolve_runs__refuses_invalid_arguments(lake: Lake, arguments: dict, message: str) -> None:
    ingest(lake, CONTESTS[:2])
    rate_run(lake, run="other")
    with pytest.raises(ValueError, match=message):
        resolve_runs(lake, "site", **arguments)


def test_resolve_runs__of_an_existing_run_have_its_configuration(lake: Lake) -> None:
    ingest(lake, CONTESTS[:2], "site")
    rate_run(lake, run=RUN, dataset="site", system="elo", k=16.0)  # under the default name of another system
    for systems, settings in (((), ()), (("elo",), ("k=16",)), ((), ("k=16",))):
        (run,) = resolve_runs(lake, "site", [RUN], systems, settings)
        assert (run.system, run.params.k) == ("elo", 16.0)
    assert resolve_runs(lake, "site")[0].system == "elo"
    with pytest.raises(ValueError, match="exists with system elo; requested was system elo-mmr"):
        resolve_runs(lake, "site", systems=["elo-mmr"])
    (run,) = resolve_runs(lake, "site", systems=["elo-mmr"], replace=True)
    assert (run.run, run.system, run.replace) == (RUN, "elo-mmr", True)


# The command


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["follow", *arguments])


def test_command__follows_and_reports(site: Site, lake: Lake) -> None:
    arguments = ("--source", "codeforces", "--dataset", "site", "--lake", lake.url)
    arguments += ("--since", "2020-01-01", "--base-url", "http://127.0.0.1:1")
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["data set site", f"run {RUN}", f"run {RUN}"]
    assert site.asked[0] == {
        "source": "codeforces", "dataset": "site", "since": "2020-01-01", "base_url": "http://127.0.0.1:1"
    }  # fmt: skip
    assert "published already: 20 rounds" in invoke(*arguments, "--engine", "serial").stdout


@pytest.mark.parametrize("every", [(), ("--every", "1h")])
def test_command__logs_each_attempt_and_its_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ranklake.flows.http.client.Clock", FakeClock)

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=stop)
    monkeypatch.setattr(ranklake.flows.cli.commands.follow, "time", clock)
    with serving() as gone:
        url = gone.url
    done = invoke("--source", "codeforces", "--base-url", url, "--lake", str(tmp_path / "lake"), *every)
    said = re.findall(r"^(.*)codeforces: no response \(.*refused\); again in \d+ s$", done.stderr, re.MULTILINE)
    assert len(said) == ATTEMPTS - 1
    assert all(before.endswith(" UTC ") == bool(every) for before in said)


@pytest.mark.slow
def test_command__another_system_is_refused_before_any_request(site: Site, lake: Lake) -> None:
    ingest(lake, CONTESTS[:18], "site")
    rate_run(lake, run="mine", dataset="site", system="elo", k=16.0)
    arguments = ["--source", "codeforces", "--dataset", "site", "--run", "mine", "--lake", lake.url]
    for other in (["--system", "elo-mmr"], ["--set", "k=20"]):
        done = invoke(*arguments, *other)
        assert done.exit_code == 2
        assert "run mine exists with" in done.stderr
        assert "Add --replace" in done.stderr
        assert site.asked == []
    assert invoke(*arguments, "--set", "k=16").exit_code == 0
    assert Run.open(lake, "mine").config["params"]["k"] == 16.0
    done = invoke(*arguments, "--set", "k=20", "--replace")
    assert "run mine: kept 0 rounds rated before (other parameters), rated 20" in done.stdout
    assert Run.open(lake, "mine").config["params"]["k"] == 20.0


@pytest.mark.slow
def test_command__updates_a_stale_run_and_names_the_first_round(site: Site, lake: Lake) -> None:
    followed(lake)
    site.contests = [turned(one) if i == 16 else one for i, one in enumerate(site.contests)]
    done = invoke("--source", "codeforces", "--dataset", "site", "--lake", lake.url)
    assert f"run {RUN}: kept " in done.stdout
    assert "(round 16, contest 16, changed)" in done.stdout
    assert_published(lake, RUN)


def two_sites(monkeypatch: pytest.MonkeyPatch) -> dict[str, Site]:
    """Codeforces, which is unreachable, and CTFtime."""
    sites = {"codeforces": Site(CONTESTS[:5]), "ctftime": Site(CONTESTS[:5])}
    sites["codeforces"].down = "does not answer"

    def update(lake: Lake, request: SourceRequest, how: How) -> SourceReport:
        return sites[request.source].update(lake, request, how)

    monkeypatch.setattr(ranklake.flows.scheduling.follow, "update", update)
    return sites


@pytest.mark.slow
def test_command__an_error_of_one_source_does_not_stop_the_others(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sites = two_sites(monkeypatch)
    arguments = ("--source", "codeforces", "--source", "ctftime", "--engine", "serial", "--lake", lake.url)
    done = invoke(*arguments)
    assert done.exit_code == 1
    assert "Error: codeforces: does not answer\n" in done.stderr
    assert_published(lake, "ctftime-elo-mmr")
    sites["codeforces"].down = ""
    assert invoke(*arguments).exit_code == 0
    assert_published(lake, "codeforces-elo-mmr")


@pytest.mark.slow
def test_every__logs_one_line_a_pass_and_each_warning_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    sites, now = two_sites(monkeypatch), [0.0]
    rejected = [(one, f"ctftime, contest {one}: it has no participants") for one in "78"]
    of_pass = [rejected[:1], rejected[:1], [], rejected[:1], rejected]  # the third pass reads nothing
    follow_once = ranklake.flows.scheduling.follow.update

    def update(lake: Lake, request: SourceRequest, how: How) -> SourceReport:
        if request.source == "ctftime":
            assert now[0] == 3600.0 * (5 - len(of_pass))
            sites["ctftime"].rejected = of_pass.pop(0)
        elif not of_pass:
            raise KeyboardInterrupt
        return follow_once(lake, request, how)

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(ranklake.flows.scheduling.follow, "update", update)
    monkeypatch.setattr(
        ranklake.flows.cli.commands.follow, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    )
    arguments = ("--source", "codeforces", "--source", "ctftime", "--engine", "serial", "--every", "1h")
    done = invoke(*arguments, "--lake", lake.url)
    assert done.exit_code == 0, done.output
    said = [line.partition(" UTC ")[2] for line in done.stdout.splitlines()]
    assert [line for line in said if ": rejected: " in line] == [
        f"data set ctftime: rejected: ctftime, contest {contest}: it has no participants" for contest in (7, 8)
    ]
    assert len([line for line in said if "nothing new, 5 contests" in line]) == 4
    assert len(said) == 1 + 3 + 4 + 1 + 1  # one rejected, the first pass, four without changes, one rejected, the end
    errors = [line.partition(" UTC ")[2] for line in done.stderr.splitlines() if "Error" in line]
    assert errors == ["Error: codeforces: does not answer"] * 5


BEFORE = f"""
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
import ranklake.flows.scheduling.follow
from helpers.lakes import synthetic
from helpers.site import Site
from helpers.fake_codeforces import FakeCodeforces, changes
from helpers.server import serving
site = Site(synthetic(5))
ask = site.update
def update(*arguments, **options):
    site.down = "does not answer" if len(site.asked) == 1 else ""
    return ask(*arguments, **options)
ranklake.flows.scheduling.follow.update = update
"""


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], queue.Queue[str]]]:
    """The command with --every, and its output by line; in the second pass the site is unreachable."""
    arguments = ["follow", "--source", "codeforces", "--dataset", "site", "--every", "1s", "--lake", tmp_path / "lake"]
    with start(*map(str, arguments), before=BEFORE, stderr=subprocess.STDOUT) as process:
        lines: queue.Queue[str] = queue.Queue()
        assert process.stdout is not None
        said = process.stdout

        def read() -> None:
            for line in said:
                lines.put(line.decode())
            lines.put("")

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield process, lines
        finally:
            process.kill()
            reader.join()


def until(lines: queue.Queue[str], text: str) -> list[str]:
    """The lines up to one with a text."""
    give_up = time.monotonic() + TIMEOUT
    said = [lines.get(timeout=TIMEOUT)]
    while text not in said[-1]:
        assert said[-1], f"ended without {text!r}: {said}"
        assert time.monotonic() < give_up, f"never said {text!r}: {said}"
        said.append(lines.get(timeout=TIMEOUT))
    return said


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_command__continues_after_an_error_and_ends_cleanly(
    loop: tuple[subprocess.Popen[bytes], queue.Queue[str]], ending: signal.Signals, tmp_path: Path
) -> None:
    process, lines = loop
    assert any("5 new" in line for line in until(lines, "new versions of players"))
    until(lines, "UTC Error: codeforces: does not answer")
    (again,) = until(lines, "up to date")
    assert re.fullmatch(
        r"[-0-9]{10} [:0-9]{8} UTC data set site: nothing new, 5 contests; 1 request; run site-elo-mmr up to date\n",
        again,
    )
    process.send_signal(ending)
    said = until(lines, "stopped")
    assert not any("Traceback" in line for line in said)
    assert process.wait(timeout=TIMEOUT) == 0
    assert_published(Lake.open(tmp_path / "lake"), RUN)


@pytest.mark.slow
def test_command__loads_no_server(site: Site) -> None:
    code = "import ranklake.flows.cli.main, ranklake.flows.scheduling.follow, sys; print('prefect' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_follow__a_second_writer_gets_the_name_of_the_first(site: Site, lake: Lake) -> None:
    followed(lake)
    before = files(Path(lake.url, "published"))
    site.contests.append(CONTESTS[20])
    with hold_lease(lake, layout.run_folder(RUN), "somebody else"), pytest.raises(LakeError, match="somebody else"):
        followed(lake)
    assert files(Path(lake.url, "published")) == before
    followed(lake)
    assert_published(lake, RUN)


# A site with HTTP requests

COUNT_SLEEP = """
import atexit
from ranklake.flows.http.pace import Clock
slept = [0.0]
Clock.sleep = lambda self, seconds: slept.append(seconds)
atexit.register(lambda: print(sum(slept), file=sys.stderr))
"""


@pytest.mark.slow
def test_command__without_new_contests_sends_at_most_two_requests(tmp_path: Path) -> None:
    with serving() as server:
        codeforces = FakeCodeforces(server)
        codeforces.add(1, changes(1, ("ada", 1), ("bob", 2)))
        arguments = ("follow", "--source", "codeforces", "--base-url", server.url, "--lake", str(tmp_path / "lake"))
        for _ in range(2):
            asked = len(server.requests)
            with start(*arguments, before=COUNT_SLEEP) as process:
                out, err = process.communicate(timeout=TIMEOUT)
            assert process.returncode == 0, err
        assert len(server.requests) - asked <= 2
        assert float(err) < 5.0  # seconds of sleep
    assert b"1 unchanged contest" in out
    assert b"published already: 1 round\n" in out
    assert_published(Lake.open(tmp_path / "lake"), "codeforces-elo-mmr")
