"""Title, description, logo and words that a run keeps, and what a publish shows of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.api import TestClient
from helpers.commands import Command
from helpers.lakes import copy_of, lake_of, rate_run, synthetic

from ranklake.flows.answers.run import open_published
from ranklake.flows.common.brand import Brand
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.publication.publish import publish
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake, Run

CONTESTS = synthetic(8, spice=False, n_players=12, size=6)
WORDS = 'player = "driver"\nplayers = "drivers"\ncontest = "race"\ncontests = "races"\n'
STRANGE = "<b>'\"&"


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    rate_run(lake := lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS))
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated: Lake) -> Lake:
    return copy_of(rated, tmp_path / "lake")


def test_brand__is_kept_and_changed_without_another_round(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(WORDS, "utf-8")
    digests = Run.open(lake, "run").segments().digests
    words = Brand("", "", "driver", "drivers", "race", "races")
    for given, expected in (
        (("--brand", str(tmp_path / "words.toml")), words),
        ((), words),
        (("--title", "Formula"), words.changed({"title": "Formula"})),
        (("--brand", "none", "--description", "All of it."), Brand(description="All of it.")),
        (("--brand", "none"), Brand()),
    ):
        said = invoke("rate", "--run", "run", *given, "--lake", lake.url)
        assert "rated 0 rounds" in said.out
        assert Brand.of_run(Run.open(lake, "run")) == expected
    assert "brand" not in Run.open(lake, "run").config
    assert Run.open(lake, "run").segments().digests == digests
    said = invoke("rate", "--run", "run", "--title", "a\nb", "--lake", lake.url)
    assert (said.code, "--title must be one line" in said.err) == (2, True)


def test_server__shows_names_words_and_title_and_keeps_handles_in_addresses(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        f'handle,name,country\nplayer 1,"{STRANGE.replace(chr(34), chr(34) * 2)}",PL\n'
    )
    record_attributes(lake, "games", str(tmp_path / "people.csv"))
    publish(lake, "run", brand={"title": STRANGE, "player": "driver", "players": "drivers"})
    run = open_published(lake, "run")
    assert (run.brand.title, run.names) == (STRANGE, {"player 1": STRANGE})
    with TestClient(create_app(ServedRuns(lake), 0)) as client:
        facts = client.get("/api/v1/runs/run").json()
        rows = client.get("/api/v1/runs/run/leaderboard").json()["rows"]
        one = client.get("/api/v1/runs/run/players/player%201").json()
        found = client.get("/api/v1/runs/run/search", params={"q": "player 1"}).json()["rows"]
        page = client.get("/run").text
        groups = client.get("/run/groups").text
    assert (facts["title"], facts["brand"]["players"]) == (STRANGE, "drivers")
    assert {row["handle"]: row["name"] for row in rows if row["name"]} == {"player 1": STRANGE}
    assert (one["handle"], one["name"]) == ("player 1", STRANGE)
    assert found[0]["name"] == STRANGE
    assert '<a href="/run/p/player%201">&lt;b&gt;&#x27;&quot;&amp;</a> <small class=country><span' in page
    assert "Find a driver" in page
    assert "<b>" not in page
    assert re.findall(r"<h2>([^<]*)</h2>", groups) == ["country"]


def test_publish__has_a_new_version_for_another_brand(lake: Lake) -> None:
    publish(lake, "run")
    before = open_published(lake, "run").manifest.etag
    publish(lake, "run")
    assert open_published(lake, "run").manifest.etag == before
    publish(lake, "run", brand={"title": "Formula"})
    assert open_published(lake, "run").manifest.etag != before
