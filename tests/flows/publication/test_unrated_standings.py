"""Unrated participants in published standings, and consumers of a run that decides otherwise when it is rated anew."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.answers import player_history
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, rate_run
from helpers.sites import manifest, unpacked

from ranklake.flows.answers.explanations.explanation import explain
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.links import ServerLinks
from ranklake.flows.pages.views import contests as contests_page
from ranklake.flows.pages.views import players as players_page
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.publish import publish
from ranklake.flows.site.content import SiteContent
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake, Run

FIRST = contest("1", "ada", "ben", "cid", time_seconds=86_400)
SECOND = contest("2", "ada", ["cid", "dot"], "ben", "eva", time_seconds=172_800, rated_below=1505.0,
                 rated=np.array([True, True, True, True, False]))  # fmt: skip
THIRD = contest("3", "ben", "cid", time_seconds=259_200)
NAMES = ("place", "handle", "rated", "rating_before", "rating")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """In contest 2 ada is unrated with a rating of 1,516, eva is unrated without one, and dot is a rated newcomer."""
    lake = lake_of(tmp_path / "lake", [FIRST, SECOND, THIRD])
    rate_run(lake, system="elo")
    return lake


def standings(lake: Lake, contest_id: str) -> list[tuple[Any, ...]]:
    _, page = open_published(lake, "run").contest(contest_id)
    return [tuple(row[name] for name in NAMES) for row in page.rows.to_pylist()]


def test_standings__have_unrated_participants_with_a_mark(lake: Lake) -> None:
    publish(lake, "run")
    rows = standings(lake, "2")
    rating = {handle: after for _, handle, _, _, after in rows}
    assert rows == [
        (1, "cid", True, 1484.0, rating["cid"]),
        (1, "dot", True, None, rating["dot"]),
        (1, "ada", False, 1516.0, 1516.0),
        (3, "ben", True, 1500.0, rating["ben"]),
        (4, "eva", False, None, None),
    ]
    assert [row[2] for row in standings(lake, "1")] == [True] * 3
    published = open_published(lake, "run")
    assert published.contest("2")[1].rows["change"].to_pylist()[2] == 0.0
    page = published.contest("2", 1, 3)[1]
    assert (page.rows["handle"].to_pylist(), page.total, page.next) == (["dot", "ada", "ben"], 5, 4)
    links = ServerLinks("", "run")
    shown = contests_page.contest(published, links, "2")
    assert (shown["contest"]["n_players"], shown["rows"]["rated"]) == (5, [True, True, False, True, False])
    assert "rated" not in contests_page.contest(published, links, "1")["rows"]
    assert [row["handle"] for row in published.leaderboard(0, 9).rows.to_pylist() if row["n_rounds"]] == [
        *published.leaderboard(0, 9).rows.column("handle").to_pylist()
    ]
    assert {one["handle"] for one in published.leaderboard(0, 9).rows.to_pylist()} == {"ada", "ben", "cid", "dot"}


def test_places__are_of_the_rated_participants_at_every_door(lake: Lake, tmp_path: Path, invoke: Command) -> None:
    before = player_history(lake, "run", "ben").rows
    publish(lake, "run")
    after, published = RatedRun(lake, "run").player("ben").rows, open_published(lake, "run")
    publish_site(lake, "run", str(tmp_path / "site"))
    contests = unpacked(tmp_path / "site", manifest(tmp_path / "site")["contests"])
    shown = players_page.player(published, ServerLinks("", "run"), "ben")["rounds"]
    for rows in (before.to_pylist(), after.to_pylist(), published.history("ben").to_pylist()):
        assert [(row["lo"] + 1, row["n_players"]) for row in rows] == [(2, 3), (3, 3), (1, 2)]
    assert [(row["place"], row["n_players"]) for row in shown] == [(2, 3), (3, 3), (1, 2)]
    assert contests["n_players"] == [3, 3, 2]
    assert "place 3 of 3" in invoke("explain", "ben", "2", "--run", "run", "--lake", lake.url).out
    assert explain(lake, "run", "ben", "2")[0].n_players == 3


def test_index__of_a_run_without_unrated_participants_has_no_file_of_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [FIRST, THIRD])
    rate_run(lake, system="elo")
    publish(lake, "run")
    tables = open_published(lake, "run")
    assert tables.manifest.unrated is None
    assert tables.unrated_table.num_rows == 0


def test_site__has_the_same_standings(lake: Lake, tmp_path: Path) -> None:
    publish_site(lake, "run", str(tmp_path / "site"))
    contests = unpacked(tmp_path / "site", manifest(tmp_path / "site")["contests"])
    first, second, _ = ((tmp_path / "site" / page).read_text("utf-8") for page in contests["page"])
    rows = re.findall(r"<tr[^>]*><td>(\d)<td>(?:<a [^>]*>)?(\w+)(?:</a>)?<td>([^<]*)<td>([^<]*)<td>(\w*)", second)
    assert rows[2] == ("1", "ada", "1516", "1516", "unrated")
    assert rows[4] == ("4", "eva", "–", "–", "unrated")
    assert [row[1] for row in rows] == ["cid", "dot", "ada", "ben", "eva"]
    assert "unrated" not in first
    assert not re.search(r"<a [^>]*>eva", second)
    data = next((tmp_path / "site/data/contests").glob("2-*"))
    assert unpacked(tmp_path / "site", str(data.relative_to(tmp_path / "site")))["rated"] == [
        True,
        True,
        False,
        True,
        False,
    ]


@pytest.mark.slow
def test_consumers__notice_that_a_run_was_rated_anew_with_other_decisions(lake: Lake, tmp_path: Path) -> None:
    """The decisions of the deleted run were made before a correction; all chain digests are as before."""
    ingest(lake, [contest("1", "cid", "ben", "ada", time_seconds=86_400)])
    rate_run(lake, system="elo")
    publish(lake, "run")
    site, chain = SiteContent(lake, "run"), Run.open(lake, "run").segments()
    before = (
        standings(lake, "2"),
        site.key(),
        site.level_key(0, 2, 5),
        site.level_key(0, 3, 5),
        site.round_key(0, np.arange(3, dtype=np.int32)),
    )
    Run.open(lake, "run").delete()
    rate_run(lake, system="elo")
    assert Run.open(lake, "run").segments().last_digest == chain.last_digest
    report = publish(lake, "run")
    assert (report.kept, standings(lake, "2")) != (3, before[0])
    rows = pa.Table.from_batches(list(Content(lake, "run").ratings(0)))
    of_second = {row["handle"]: row["mu"] for row in rows.to_pylist() if row["contest_id"] == "2" and row["rated"]}
    found = standings(lake, "2")
    assert {handle: rating for _, handle, rated, _, rating in found if rated} == of_second
    assert "ada" in of_second
    assert "cid" not in of_second
    anew = SiteContent(lake, "run")
    assert anew.key() != before[1]
    assert anew.level_key(0, 2, 5) != before[2]
    assert anew.level_key(0, 3, 5) != before[3]
    assert anew.round_key(0, np.arange(3, dtype=np.int32)) == before[4]
