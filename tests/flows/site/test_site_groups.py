"""A site of players with attributes: countries beside names, groups with their players, and who is active."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from helpers.answers import leaderboard
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.sites import manifest, published, unpacked, version

from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.pages.views import groups as groups_page
from ranklake.flows.results.groups import groups_of
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.player_attributes import player_attributes

pytest.importorskip("jinja2")
QUARTER = 91 * 86_400
CONTESTS = [replace(one, name="", time_seconds=(i + 1) * QUARTER) for i, one in enumerate(synthetic(16, spice=False))]
COUNTRIES = {f"player {i}": ("PL", "a b", "a-b", "<i>")[i // 2 % 4] for i in range(0, 40, 2)}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    rate_run(lake, system="elo")
    return lake


def record(lake: Lake, folder: Path, countries: dict[str, str]) -> None:
    lines = ["handle,country", *(f"{handle},{country}" for handle, country in countries.items())]
    (folder / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))


def players(page: Path) -> list[tuple[str, str]]:
    """Handle and country of each row of a leaderboard, as shown."""
    rows = re.findall(
        r"<td><a href=\"[^\"]*\">([^<]*)</a>(?: <small[^>]*>(?:<span.*?</span> )?([^<]*)</small>)?<td",
        page.read_text("utf-8"),
    )
    return [(unescape(handle), unescape(country)) for handle, country in rows]


def test_site__without_attributes_has_no_groups(lake: Lake, tmp_path: Path) -> None:
    site = published(lake, tmp_path)
    found = version(site)
    assert not (found / "groups.html").exists()
    assert "Groups" not in (site / "index.html").read_text("utf-8")
    about = manifest(site)
    assert "groups" not in about
    assert all(unpacked(site, about["contests"])["name"])  # the ids of contests without names
    (key,) = about["leaderboard"]["files"]
    assert "country" not in unpacked(site, f"data/leaderboard/000-{key}.json.gz")


def test_site__shows_countries_and_the_players_of_each_group(lake: Lake, tmp_path: Path) -> None:
    record(lake, tmp_path, COUNTRIES)
    site, board = published(lake, tmp_path), leaderboard(lake, "run")
    found, handles = version(site), board.column("handle").to_pylist()
    expected = [(handle, COUNTRIES.get(handle, "")) for handle in handles]
    assert players(found / "leaderboard/000.html") == expected
    active = set(players(found / "active.html"))
    assert players(site / "index.html") == players(found / "active.html") == [one for one in expected if one in active]
    about = manifest(site)
    (key,) = about["leaderboard"]["files"]
    assert unpacked(site, f"data/leaderboard/000-{key}.json.gz")["country"] == [COUNTRIES.get(one) for one in handles]
    groups = groups_of(board, player_attributes(Dataset.open(lake, "games"))).to_pylist()
    html = (found / "groups.html").read_text("utf-8")
    links = re.findall(r'<td><a href="([^"]*/groups/[^"]*)">([^<]*)</a><td', html)
    assert [unescape(value) for _, value in links] == [row["value"] for row in groups]
    for address, value in links:
        of = unescape(value)
        members = [(handle, of) for handle in handles if COUNTRIES.get(handle) == of]
        every = [
            one for one in re.findall(r'href="([^"]*)"', (site / address).read_text("utf-8")) if "-all.html" in one
        ]
        assert players(site / address) == [one for one in members if one in active]
        assert players(site / (every or [address])[0]) == members
        shown = f"All {len(members)}</a>" if every else f"{len(members)} player"
        assert shown in (site / address).read_text("utf-8")
    shown = unpacked(site, about["groups"])
    for name in ("attribute", "value", "place", "n_players", "best"):
        assert shown[name] == [row[name] for row in groups]
    assert shown["rating"] == pytest.approx([row["rating"] for row in groups], abs=0.5)


@pytest.mark.slow
def test_site__of_many_groups_has_pages_of_the_best(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups_page, "MOST_GROUPS", 2)
    record(lake, tmp_path, COUNTRIES)
    site = published(lake, tmp_path)
    assert "The first 2 of 4 groups." in (version(site) / "groups.html").read_text("utf-8")
    assert len([path for path in (version(site) / "groups").iterdir() if "-all." not in path.name]) == 2


@pytest.mark.slow
def test_site__of_changed_attributes_is_a_new_version(lake: Lake, tmp_path: Path) -> None:
    site = published(lake, tmp_path)
    record(lake, tmp_path, COUNTRIES)
    assert publish_site(lake, "run", str(site)).version == "v/000002"
    files = json.loads((version(site) / "files.json").read_bytes())
    for page in (path for path in files if path.startswith("contests/")):
        assert 'data-page="groups"' in (site / page).read_text("utf-8")
    assert not publish_site(lake, "run", str(site)).written
    record(lake, tmp_path, COUNTRIES | {"player 0": "DE"})
    report = publish_site(lake, "run", str(site))
    assert (report.version, report.kept > 0) == ("v/000003", True)
    assert ("player 0", "DE") in players(version(site) / "leaderboard/000.html")


@pytest.mark.slow
def test_site__has_the_players_who_were_active_within_a_year(lake: Lake, tmp_path: Path) -> None:
    site, board = published(lake, tmp_path), leaderboard(lake, "run").to_pylist()
    found = version(site)
    last = max(row["last_time_seconds"] for row in board)
    expected = [row["handle"] for row in board if row["last_time_seconds"] >= last - 31_557_600]
    assert [handle for handle, _ in players(found / "active.html")] == expected
    assert 0 < len(expected) < len(board)
    assert f'href="{found.relative_to(site).as_posix()}/active.html"' in (site / "index.html").read_text("utf-8")


def test_site__without_times_has_nobody_active(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [replace(one, time_seconds=0) for one in CONTESTS[:3]])
    rate_run(lake, system="elo")
    publish_site(lake, "run", str(tmp_path / "site"))
    assert not (version(tmp_path / "site") / "active.html").exists()
    assert "active.html" not in (tmp_path / "site/index.html").read_text("utf-8")
