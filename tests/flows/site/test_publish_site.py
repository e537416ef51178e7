"""A published site: complete, of one version, written again only where it changed, and switched at once."""

from __future__ import annotations

import gzip
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.answers import leaderboard
from helpers.lakes import contest, ingest, lake_of, rate_run, synthetic
from helpers.sites import manifest, published, unpacked

from ranklake.flows.cli.main import cli
from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.results.titles import Title, Titles
from ranklake.flows.site import parts, publish
from ranklake.flows.site.publish import SiteReport, publish_site
from ranklake.flows.site.shared import Shared
from ranklake.flows.site.writer import SiteFiles
from ranklake.storage import Lake, LakeError, Run

CONTESTS = synthetic(24)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rated") / "lake"
    rate_run(lake_of(folder, CONTESTS[:20]))
    return folder


@pytest.fixture
def lake(rated: Path, tmp_path: Path) -> Lake:
    return Lake.open(str(shutil.copytree(rated, tmp_path / "lake")))


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a site."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def site(lake: Lake, tmp_path: Path) -> Path:
    """The published site of the lake."""
    return published(lake, tmp_path)


def add_rounds(lake: Lake, *numbers: int) -> None:
    for number in numbers:
        ingest(lake, CONTESTS[number : number + 1])
        rate_run(lake)


def test_site__has_every_player_and_contest(lake: Lake, tmp_path: Path) -> None:
    site = tmp_path / "site"
    report = publish_site(lake, "run", str(site))
    board, about = leaderboard(lake, "run"), manifest(site)
    assert report.rounds == about["rounds"] == 20
    assert about["players"] == board.num_rows
    (key,) = about["leaderboard"]["files"]
    page = unpacked(site, f"data/leaderboard/000-{key}.json.gz")
    assert page["handle"] == board.column("handle").to_pylist()
    assert page["rating"] == [round(value) for value in board.column("rating").to_pylist()]
    html = (site / "v/000001/leaderboard/000.html").read_text("utf-8")
    assert [name for name in page["handle"] if f">{name}</a>" not in html] == []
    contests = unpacked(site, about["contests"])
    assert contests["contest_id"] == [str(i) for i in range(20)]
    skipped = {index for segment in Run.open(lake, "run").segments().segments for index in segment.skipped}
    assert {i for i, address in enumerate(contests["page"]) if not address} == skipped
    assert all((site / address).is_file() for address in contests["page"] if address)


def test_site__later_pages_of_players_have_smaller_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(tmp_path / "lake", [contest(key, "ada", "bob", "cid", "&dan") for key in "12"])
    rate_run(lake)
    titles = Titles("one", (Title("low", -math.inf, "#808080"),))
    for n_full in (1, 0):
        monkeypatch.setattr("ranklake.flows.site.boards.FULL_PAGES", n_full)
        publish_site(lake, "run", str(tmp_path / f"{n_full}"), titles=titles, shared=Shared(most=0))
        html = (tmp_path / f"{n_full}/v/000001/leaderboard/000.html").read_text("utf-8")
        rows = html.partition("<tbody")[2].partition("</table>")[0].split("<tr>")[1:]
        assert all(("<svg" in row, "±" in row, "<td>low<td>" in row) == (bool(n_full),) * 3 for row in rows)
        assert ["<a href" in row for row in rows] == [bool(n_full)] * 3 + [True], (
            "a script makes those of plain handles"
        )
        assert ("Title of all 4 players of this page: low." in html) == (not n_full)


def test_site__every_link_of_a_page_leads_to_a_file(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        base = re.search(r'<base href="([^"]*)">', text)
        assert base is not None
        root = site if page.name == "404.html" else (page.parent / base[1]).resolve()  # 404: shown at any address
        assert root == site
        for address in re.findall(r'(?:href|src|action|data-rows)="([^"#]*)', text.replace(base[0], "")):
            if address and "://" not in address:
                assert (root / address.partition("?")[0]).is_file(), f"{page}: {address}"


def test_site__contest_has_changes_of_the_shown_ratings(site: Path) -> None:
    last: dict[str, int] = {}
    files = {path.name.partition("-")[0]: path for path in (site / "data/contests").iterdir()}
    for number in sorted(files, key=int):
        rows = json.loads(gzip.decompress(files[number].read_bytes()))
        for handle, rating, change in zip(rows["handle"], rows["rating"], rows["change"], strict=True):
            assert change == (rating - last[handle] if handle in last else None)
            last[handle] = rating


def test_site__large_pages_and_scripts_have_compressed_copies(site: Path) -> None:
    pages = [site / "v/000001" / name for name in ("contests.html", "distribution.html", "leaderboard/000.html")]
    texts = [*pages, *(path for path in site.glob("static/*/*") if path.suffix in (".css", ".js", ".svg"))]
    assert len(texts) > 10
    for path in texts:
        assert gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()) == path.read_bytes()
        with pa.CompressedInputStream(pa.OSFile(f"{path}.zst"), "zstd") as packed:
            assert packed.read() == path.read_bytes()
    assert not list(site.glob("*.gz"))


@pytest.mark.slow
def test_publish__writes_a_lost_copy_again(lake: Lake, site: Path) -> None:
    copy = next(site.glob("static/*/site.css.gz"))
    before = copy.read_bytes()
    copy.unlink()
    add_rounds(lake, 20, 21)
    publish_site(lake, "run", str(site))
    assert copy.read_bytes() == before


def test_publish__without_a_change_writes_nothing(lake: Lake, site: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    report = publish_site(lake, "run", str(site))
    assert report.written == 0
    assert "already" in report.line()
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before


def test_publish__of_one_more_round_rewrites_only_what_changed(lake: Lake, site: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (site / "data/contests").iterdir()}
    add_rounds(lake, 21)
    publish_site(lake, "run", str(site))
    after = {path: path.stat().st_mtime_ns for path in (site / "data/contests").iterdir()}
    assert before.items() <= after.items()
    assert [path.name.partition("-")[0] for path in after.keys() - before.keys()] == ["21"]


@pytest.mark.slow
def test_publish__keeps_old_levels_of_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.site.shards._SHARD_ROWS", 16)
    lake = lake_of(tmp_path / "lake", CONTESTS[:20])
    rate_run(lake)
    site = published(lake, tmp_path)
    first = manifest(site)["histories"]
    add_rounds(lake, 21)
    report = publish_site(lake, "run", str(site))
    second = manifest(site)["histories"]
    assert len(first) == len(second) == 2
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert report.kept >= first[0]["shards"]


def test_publish__after_a_correction_replaces_later_contests(lake: Lake, site: Path) -> None:
    before = set(content(site / "data/contests"))
    changed = contest("10", "player 1", "player 2", "player 3", time_seconds=CONTESTS[10].time_seconds)
    ingest(lake, [changed])
    rate_run(lake)
    publish_site(lake, "run", str(site))
    after = set(content(site / "data/contests"))
    kept = {int(path.partition("-")[0]) for path in before & after}
    assert max(path for path in kept if path < 10) == 9
    pages = unpacked(site, manifest(site)["contests"])["page"]
    assert all((site / page).is_file() for page in pages if page)


class Stopped(Exception):
    """A publish was stopped."""


def test_publish__switches_versions_at_once(
    lake: Lake, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(site)
    add_rounds(lake, 20, 21)
    write = Lake.write_bytes
    for last in ("ranklake-site.json", "manifest.json", "files.json", "index.html"):

        def stop(self: Lake, path: str, data: Any, *, last: str = last, **more: Any) -> None:
            if self.url.endswith("site") and path.endswith(last):
                raise Stopped
            write(self, path, data, **more)

        monkeypatch.setattr(Lake, "write_bytes", stop)
        with pytest.raises(Stopped):
            publish_site(lake, "run", str(site))
        shown = {path: data for path, data in before.items() if not path.startswith(("p/", "feed.atom"))}
        assert shown.items() <= content(site).items()  # readers see the version before, complete
    monkeypatch.setattr(Lake, "write_bytes", write)
    report = publish_site(lake, "run", str(site))
    assert report.version == "v/000002"
    publish_site(lake, "run", str(tmp_path / "new"))
    assert manifest(site) == manifest(tmp_path / "new")
    new = content(tmp_path / "new").items()
    assert {path: data for path, data in new if not path.startswith(("v/", "index"))}.items() <= content(site).items()


def test_publish__last_write_is_the_switch(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[str] = []
    write = Lake.write_bytes
    monkeypatch.setattr(
        Lake,
        "write_bytes",
        lambda self, path, data, **more: (
            (paths.append(path) if self.url.endswith("site") else None) or write(self, path, data, **more)
        ),
    )
    publish_site(lake, "run", str(tmp_path / "site"))
    assert paths[0] == "ranklake-site.json"
    assert paths[-1] == "index.html"
    assert paths.count("index.html") == 1


@pytest.mark.slow
def test_publish__keeps_the_version_before_and_removes_older_ones(lake: Lake, site: Path) -> None:
    first = content(site)
    add_rounds(lake, 20, 21)
    publish_site(lake, "run", str(site))
    stable = {path for path in first if path.startswith(("data/", "v/", "contests/", "static/"))}
    assert stable <= content(site).keys()
    add_rounds(lake, 22, 23)
    report = publish_site(lake, "run", str(site))
    assert report.removed > 0
    assert sorted(path.name for path in (site / "v").iterdir()) == ["000002", "000003"]
    assert not (stable <= content(site).keys())


def test_publish__refuses_a_folder_of_something_else(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "site/data").mkdir(parents=True)
    (tmp_path / "site/data/mine.txt").write_text("precious")
    with pytest.raises(LakeError, match="is no site of ranklake; name another folder"):
        publish_site(lake, "run", str(tmp_path / "site"))
    assert (tmp_path / "site/data/mine.txt").read_text() == "precious"


@pytest.mark.slow
def test_publish__refuses_the_site_of_another_run(lake: Lake, tmp_path: Path) -> None:
    publish_site(lake, "run", str(tmp_path / "site"))
    rate_run(lake, run="other", system="elo")
    with pytest.raises(LakeError, match=r"is the site of run run, not of other; .*--afresh"):
        publish_site(lake, "other", str(tmp_path / "site"))
    publish_site(lake, "other", str(tmp_path / "site"), rebuild=True)
    assert manifest(tmp_path / "site")["run"] == "other"


def test_site__of_a_system_without_performances_shows_none(lake: Lake, tmp_path: Path) -> None:
    rate_run(lake, run="plain", system="elo")
    publish_site(lake, "plain", str(tmp_path / "plain"))
    about = manifest(tmp_path / "plain")
    assert about["has_performance"] is False
    pages = [*(tmp_path / "plain/contests").glob("*.html"), tmp_path / "plain/player.html"]
    assert len(pages) > 10
    assert not any("Performance" in page.read_text("utf-8") for page in pages)
    assert not any("perf" in unpacked(tmp_path / "plain", f"data/contests/{path.name}")
                   for path in (tmp_path / "plain/data/contests").iterdir())  # fmt: skip


@pytest.mark.slow
def test_publish__afresh_repairs_a_damaged_file(lake: Lake, site: Path) -> None:
    good = content(site)
    damaged = next((site / "data/histories").rglob("*.gz"))
    damaged.write_bytes(b"damaged")
    publish_site(lake, "run", str(site), rebuild=True)
    assert damaged.read_bytes() == good[damaged.relative_to(site).as_posix()]


def test_publish__escapes_hostile_names(tmp_path: Path) -> None:
    names = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202eb", "x" * 10_000, "ada"]
    lake = lake_of(tmp_path / "lake", [contest(name[:200], *names, time_seconds=i) for i, name in enumerate(names)])
    rate_run(lake)
    publish_site(lake, "run", str(tmp_path / "site"))
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text("utf-8")
        assert "<script>" not in text
        assert "<img" not in text
        assert "\u202e" not in text


def test_publish__without_jinja_names_the_extra(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ranklake\[serve\]'"):
        publish_site(lake, "run", str(tmp_path / "site"))


def test_command__publishes_a_site(lake: Lake, tmp_path: Path) -> None:
    arguments = ["publish", "--run", "run", "--site", str(tmp_path / "site"), "--lake", lake.url]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "site of 20 rounds written in" in done.output
    assert (tmp_path / "site/index.html").is_file()
    assert CliRunner().invoke(cli, [*arguments, "--maintain"]).exit_code == 2


def test_report__is_one_line() -> None:
    report = SiteReport(1_194, "v/000002", 30, 5_000, 12, 4_500_000, 3.21)
    assert report.line() == (
        "site of 1,194 rounds written in 3.2 s: 30 files (4.5 MB), 5,000 unchanged, 12 old ones removed; "
        "version v/000002"
    )


@pytest.mark.slow
def test_site__of_no_titles_and_decimals_is_written(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS[:6])
    rate_run(lake, system="trueskill")
    publish_site(lake, "run", str(tmp_path / "site"))
    about = manifest(tmp_path / "site")
    assert about["titles"] == []
    assert isinstance(about["decimals"], int)


def test_files__of_one_name_are_written_once(tmp_path: Path) -> None:
    with SiteFiles(str(tmp_path / "site"), "run") as files:
        files.start("run")
        for _ in range(3):
            files.put("data/a-1.json.gz", lambda: b"a")
        files.switch({}, "<html>")
    assert files.written == 2  # and the list of files


def test_site__of_too_many_rounds_is_refused_and_older_contests_have_no_page(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "MAX_ROUNDS", 19)
    with pytest.raises(LakeError, match="a site has at most 19 rounds, run run has 20"):
        publish_site(lake, "run", str(tmp_path / "site"))
    monkeypatch.undo()
    monkeypatch.setattr(parts, "MAX_CONTESTS", 3)
    monkeypatch.setattr("ranklake.flows.site.writer._WAITING", 0)  # each file is waited for
    publish_site(lake, "run", str(tmp_path / "site"))
    contests = unpacked(tmp_path / "site", manifest(tmp_path / "site")["contests"])
    assert not any(contests["page"][:17])
    assert any(contests["page"][17:])
