"""Players who never met, not even through others: found, and said wherever ratings are compared."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from time import process_time

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.games import Game, as_periods, ingest_periods
from helpers.lakes import contest, ingest, lake_of, rate_run
from helpers.sites import manifest, unpacked
from hypothesis import given
from hypothesis import strategies as st

import ranklake
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.pages import views
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.components import Components, components_line
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Dataset, Lake, Run

Ints = npt.NDArray[np.int32]
TWO = [
    contest("1", "ann", "bob", time_seconds=86_400),
    contest("2", "bob", "cid", time_seconds=172_800),
    contest("3", "dot", "eva", time_seconds=259_200),
    contest("4", "flo", time_seconds=345_600),  # skipped
]
LINE = "2 components of players never met: 3 and 2 players; ratings of different components do not compare"
APART = "'ann' and 'eva' never met, not even through others: their ratings do not compare"


def rows(rounds: list[list[int]]) -> tuple[npt.NDArray[np.int64], Ints]:
    sizes = [len(one) for one in rounds]
    first = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    return first, np.array([player for one in rounds for player in one], np.int32)


@given(st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4).map(list), max_size=9))
def test_components__are_those_of_the_naive_closure(rounds: list[list[int]]) -> None:
    found = Components.find(12, *rows(rounds))
    components: list[set[int]] = []
    for one in rounds:
        apart = [component for component in components if component.isdisjoint(one)]
        components = [*apart, set(one).union(*(component for component in components if not component.isdisjoint(one)))]
    expected = np.full(12, -1)
    for component in components:
        expected[list(component)] = min(component)
    assert found.of.tolist() == expected.tolist()
    assert found.sizes == tuple(sorted(map(len, components), reverse=True))


@pytest.mark.parametrize("shape", ["crowds", "chain"])
def test_components__of_a_large_history_are_found_at_once(shape: str) -> None:
    rng, n = np.random.default_rng(3), 100_000
    if shape == "crowds":
        player, first = rng.permutation(np.tile(np.arange(n), 10)).astype(np.int32), np.arange(0, 10 * n, 500)
    else:
        order = rng.permutation(n)
        player, first = np.stack([order[:-1], order[1:]], 1).ravel().astype(np.int32), np.arange(0, 2 * n - 2, 2)
    began = process_time()
    assert Components.find(n, first, player).sizes == (n,)
    assert process_time() - began < 1.0


@pytest.mark.bound("ranklake.flows.results.components._MOST_SHOWN")
def test_line__names_the_largest_components() -> None:
    assert components_line([]) == components_line([7]) == ""
    assert components_line([5000, 12]).startswith("2 components of players never met: 5,000 and 12 players; ")
    assert ": 9, 5 and 2 players; " in components_line([9, 5, 2])
    assert components_line([9, 5, 3, 2, 2]).startswith(
        "5 components of players never met: 9, 5, 3 and 2 smaller components; "
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", TWO)
    rate_run(lake)
    return lake


@pytest.mark.parametrize("published", [False, True])
def test_command__says_that_components_never_met(
    lake: Lake, invoke: Command, published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if published:
        publish(lake, "run")
        assert open_published(lake, "run").facts["components"] == [3, 2]
    words = ("--run", "run", "--lake", lake.url)
    assert invoke("leaderboard", *words).err == f"{LINE}\n"
    assert invoke("leaderboard", "--at", "1970-01-03", *words).err == ""  # bob met ann, and nobody else played
    assert f"run run: {LINE}\n" in invoke("runs", "--lake", lake.url).out
    monkeypatch.setattr("ranklake.flows.cli.commands.maintenance._MOST_ROWS", 1)
    assert (LINE in invoke("runs", "--lake", lake.url).out) == published
    assert invoke("smooth", *words).err.endswith(f"run run: {LINE}\n")
    assert invoke("predict", "ann", "cid", *words).err == ""
    assert invoke("predict", "ann", "cid", "eva", *words).err == f"{APART}\n"
    assert invoke("predict", "ann", "flo", *words).err == ""  # a newcomer
    assert APART in invoke("predict", "ann+bob", "eva+dot", *words).err
    assert invoke("teamrate", "ann", "cid", *words).err == ""
    assert invoke("teamrate", "ann", "eva", *words).err == f"{APART}\n"


def test_figure__says_that_players_never_met(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    said = invoke("plot", "player", "ann", "eva", "--run", "run", "--lake", lake.url, "-o", tmp_path / "x.svg")
    assert APART in said.err
    with pytest.warns(UserWarning, match=APART):
        ranklake.Ratings.open(lake.url, "run").plot_player("ann", "eva")


def test_leaderboard_page__says_that_components_never_met(lake: Lake, tmp_path: Path) -> None:
    publish(lake, "run")
    publish_site(lake, "run", str(tmp_path / "site"))
    assert views.facts(open_published(lake, "run")).components == LINE
    assert LINE in (tmp_path / "site" / "index.html").read_text("utf-8")
    files = manifest(tmp_path / "site")["leaderboard"]["files"]
    board = unpacked(tmp_path / "site", f"data/leaderboard/000-{files[0]}.json.gz")
    assert dict(zip(board["handle"], board["component"], strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cid": 0,
        "dot": 3,
        "eva": 3,
    }


def test_server__says_that_players_never_met(lake: Lake) -> None:
    pytest.importorskip("starlette")
    from helpers.api import client_of

    publish(lake, "run")
    with client_of(lake) as client:
        for handles, note in (("ann,cid", ""), ("ann,eva", APART), ("cid,ann,eva", APART.replace("ann", "cid"))):
            for path in ("compare", "teamrate"):
                assert client.get(f"/api/v1/runs/run/{path}", params={"handles": handles}).json()["note"] == note
            page = unescape(client.get("/run/compare", params={"h": handles}).text)
            assert (note in page) if note else ("never met" not in page)


def test_components__that_meet_are_one(lake: Lake, invoke: Command) -> None:
    publish(lake, "run")
    ingest(lake, [contest("5", "ann", "dot", time_seconds=432_000)])
    rate_run(lake)
    assert RatedRun(lake, "run").component_sizes() == (5,)  # the index is of earlier rounds
    publish(lake, "run")
    published = RatedRun(lake, "run")
    assert (published.component_sizes(), published.component_note([0, 4], ["ann", "eva"])) == ((5,), "")
    assert invoke("leaderboard", "--run", "run", "--lake", lake.url).err == ""


@pytest.mark.parametrize(("in_field", "sizes"), [(False, (2, 2)), (True, (4,))])
def test_unrated_participants__connect_those_who_compete_with_them(
    tmp_path: Path, in_field: bool, sizes: tuple[int, ...]
) -> None:
    facts = {"rated": np.array([True, False, True]), "field_includes_unrated": in_field}
    met = [contest("5", "ann", "guest", "bob", **facts), contest("6", "dot", "guest", "eva", time_seconds=1, **facts)]
    lake = lake_of(tmp_path / "lake", met)
    rate_run(lake)
    found = Components.of_run(Run.open(lake, "run"), Dataset.open(lake, "games"))
    assert found.sizes == sizes
    publish(lake, "run")
    published = open_published(lake, "run").components
    assert published is not None
    assert published.sizes == sizes


def test_games__of_a_period_connect_their_two_players(tmp_path: Path) -> None:
    games = [Game("ann", "bob", 0.5, 1), Game("dot", "eva", 1.0, 2), Game("bob", "cid", 1.0, 3)]
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    ingest_periods(lake, as_periods(games), "games")
    rate_run(lake, system="elo")
    assert Components.of_run(Run.open(lake, "run"), Dataset.open(lake, "games")).sizes == (3, 2)
    publish(lake, "run")
    published = open_published(lake, "run").components
    assert published is not None
    assert published.sizes == (3, 2)


def test_notebook__says_that_components_never_met(lake: Lake) -> None:
    frame = pd.DataFrame(
        {"contest": list("112233"), "player": ["ann", "bob", "bob", "cid", "dot", "eva"], "rank": [1, 2] * 3}
    )
    for ratings in (ranklake.Ratings.rate(frame), ranklake.Ratings.open(lake.url, "run")):
        assert ratings.components == (3, 2)
        for show in (ratings.leaderboard, ratings.smooth):
            with pytest.warns(UserWarning, match=LINE):
                show()
        for predict in (ratings.predict, lambda players, of=ratings: ranklake.predict(of, players)):
            with pytest.warns(UserWarning, match=APART):
                predict(["ann", "cid", "eva"])
            predict(["ann", "cid"])
        with pytest.raises(ValueError, match="history has none of these rounds"):
            ratings.evaluate(rounds=[9])
        with pytest.raises(ValueError, match="first_round must be >= 0, got -1"):
            ratings.evaluate(-1)
    joined = pd.DataFrame({"contest": "9", "player": ["ann", "eva"], "rank": [1, 2]})
    assert ranklake.Ratings.rate(frame).update(joined).components == (5,)
