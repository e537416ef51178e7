"""Players who never met, not even through others: found, and said wherever ratings are compared."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from random import Random
from time import process_time

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.games import Game, as_periods, ingest_periods
from helpers.lakes import contest, ingest, lake_of, rate_run
from helpers.sites import manifest, unpacked
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.components import closure

import ranklake
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.views import run as run_page
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.components import Components
from ranklake.flows.results.meetings import join
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.runs.components import Meetings

Ints = npt.NDArray[np.int32]
TWO = [
    contest("1", "ann", "bob", time_seconds=86_400),
    contest("2", "bob", "cid", time_seconds=172_800),
    contest("3", "dot", "eva", "gus", time_seconds=259_200),
    contest("4", "flo", time_seconds=345_600),  # skipped
]
LINE = "2 groups of players never met (3 and 3 players, such as 'ann' and 'dot'): their ratings cannot be compared"
LISTED = f"{LINE}. `ranklake runs --components` lists them."
APART = "'ann' and 'eva' never met, not even through others: their ratings cannot be compared"


def rows(rounds: list[list[int]]) -> tuple[npt.NDArray[np.int64], Ints]:
    sizes = [len(one) for one in rounds]
    first = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    return first, np.array([player for one in rounds for player in one], np.int32)


def found(n: int, rounds: list[list[int]]) -> Components:
    first, player = rows(rounds)
    roots = join(np.arange(n, dtype=np.int32), first, player)
    return Components.numbered(Meetings(roots, np.bincount(player, minlength=n).astype(np.int32)))


ROUNDS = st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4).map(list), max_size=9)


@settings(deadline=None)
@given(ROUNDS, st.integers(0, 9), st.randoms(use_true_random=False))
def test_components__are_those_of_the_naive_closure_in_any_order(
    rounds: list[list[int]], known: int, random: Random
) -> None:
    expected = np.full(12, -1)
    for number, players in enumerate(closure(rounds)):
        expected[players] = number
    assert found(12, rounds).of.tolist() == expected.tolist()
    assert found(12, rounds).sizes == tuple(map(len, closure(rounds)))
    shuffled = [random.sample(one, len(one)) for one in random.sample(rounds, len(rounds))]
    assert found(12, shuffled).of.tolist() == expected.tolist()
    earlier = join(np.arange(12, dtype=np.int32), *rows(rounds[:known]))
    assert join(earlier, *rows(rounds[known:])).tolist() == join(np.arange(12, dtype=np.int32), *rows(rounds)).tolist()


@pytest.mark.parametrize("shape", ["crowds", "chain"])
def test_components__of_a_large_history_are_found_at_once(shape: str) -> None:
    rng, n = np.random.default_rng(3), 100_000
    if shape == "crowds":
        player, first = rng.permutation(np.tile(np.arange(n), 10)).astype(np.int32), np.arange(0, 10 * n, 500)
    else:
        order = rng.permutation(n)
        player, first = np.stack([order[:-1], order[1:]], 1).ravel().astype(np.int32), np.arange(0, 2 * n - 2, 2)
    began = process_time()
    assert not join(np.arange(n, dtype=np.int32), first, player).any()
    assert process_time() - began < 1.0


def test_large_component__has_more_than_two_players_and_a_hundredth_of_those_who_count() -> None:
    def sized(*sizes: int) -> Components:
        of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return Components(of, np.ones(len(of), np.int32))

    assert sized(3, 2).large == (0,)
    assert sized(3, 3).large == (0, 1)
    assert sized(396, 4).large == (0,)  # a hundredth
    assert sized(395, 4).large == (0, 1)
    assert sized(1, 1, 1).large == ()
    few = np.array([0, 0, 0, 0, 1, 1, 1], np.int32), np.array([9, 9, 9, 9, 1, 9, 9], np.int32)
    assert (Components(*few).large, Components(*few, min_rounds=2).large) == ((0, 1), (0,))


@pytest.mark.bound("ranklake.flows.results.components._MOST_SHOWN")
def test_line__names_the_largest_components_and_a_player_of_each() -> None:
    def line(*sizes: int) -> str:
        of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return Components(of, np.ones(len(of), np.int32)).line(lambda rows: [f"p{row}" for row in rows])

    assert line() == line(7) == line(7, 2) == ""
    assert line(4210, 310).startswith("2 groups of players never met (4,210 and 310 players, such as 'p0' and 'p4210')")
    assert "(9, 5 and 3 players, such as 'p0', 'p9' and 'p14')" in line(9, 5, 3)
    assert "5 groups of players never met (9, 5, 4 and 2 smaller groups, such as 'p0', 'p9'" in line(9, 5, 4, 3, 3)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", TWO)
    rate_run(lake)
    return lake


@pytest.mark.quick("True")
@pytest.mark.parametrize("published", [False, True])
def test_command__says_that_components_never_met(
    lake: Lake, invoke: Command, published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if published:
        publish(lake, "run")
        facts = open_published(lake, "run").facts
        assert (facts["components"], facts["note"]) == ([3, 3], LINE)
    words = ("--run", "run", "--lake", lake.url)
    assert invoke("leaderboard", *words).err == f"{LISTED}\n"
    assert invoke("leaderboard", "--at", "1970-01-03", *words).err == ""  # bob met ann, and nobody else played
    assert f"run run: {LISTED}\n" in invoke("runs", "--lake", lake.url).out
    monkeypatch.setattr("ranklake.flows.cli.commands.maintenance._MOST_ROWS", 1)
    assert (LINE in invoke("runs", "--lake", lake.url).out) == published
    assert invoke("smooth", *words).err.endswith(f"run run: {LISTED}\n")
    assert invoke("predict", "ann", "cid", *words).err == ""
    assert invoke("predict", "ann", "cid", "eva", *words).err == f"{APART}\n"
    assert invoke("predict", "ann", "flo", *words).err == ""  # a newcomer
    assert APART in invoke("predict", "ann+bob", "eva+dot", *words).err
    assert invoke("teamrate", "ann", "cid", *words).err == ""
    assert invoke("teamrate", "ann", "eva", *words).err == f"{APART}\n"


@pytest.mark.slow
def test_figure__says_that_players_never_met(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    said = invoke("plot", "player", "ann", "eva", "--run", "run", "--lake", lake.url, "-o", tmp_path / "x.svg")
    assert APART in said.err
    with pytest.warns(UserWarning, match=APART):
        ranklake.Ratings.open(lake.url, "run").plot_player("ann", "eva")


def test_leaderboard_page__says_that_components_never_met(lake: Lake, tmp_path: Path) -> None:
    publish(lake, "run")
    publish_site(lake, "run", str(tmp_path / "site"))
    assert run_page.facts(open_published(lake, "run")).components == LINE
    assert LINE in unescape((tmp_path / "site" / "index.html").read_text("utf-8"))
    files = manifest(tmp_path / "site")["leaderboard"]["files"]
    board = unpacked(tmp_path / "site", f"data/leaderboard/000-{files[0]}.json.gz")
    assert dict(zip(board["handle"], board["component"], strict=True)) == {
        "ann": 0,
        "bob": 0,
        "cid": 0,
        "dot": 1,
        "eva": 1,
        "gus": 1,
    }


def test_server__says_that_players_never_met(lake: Lake) -> None:
    pytest.importorskip("starlette")
    from helpers.api import client_of

    publish(lake, "run")
    with client_of(lake) as client:
        for handles, note in (("ann,cid", ""), ("ann,eva", APART), ("cid,ann,eva", APART.replace("'ann'", "'cid'"))):
            for path in ("compare", "teamrate"):
                assert client.get(f"/api/v1/runs/run/{path}", params={"handles": handles}).json()["note"] == note
            page = unescape(client.get("/run/compare", params={"h": handles}).text)
            assert (note in page) if note else ("never met" not in page)


def test_components__that_meet_are_one(lake: Lake, invoke: Command) -> None:
    publish(lake, "run")
    ingest(lake, [contest("5", "ann", "dot", time_seconds=432_000)])
    rate_run(lake)
    before = RatedRun(lake, "run").components()
    assert before is not None
    assert before.sizes == (6,)  # the index is of earlier rounds
    publish(lake, "run")
    published = RatedRun(lake, "run")
    assert published.component_note([0, 4], ["ann", "eva"]) == published.components_line() == ""
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
        {
            "contest": list("1122333"), "player": ["ann", "bob", "bob", "cid", "dot", "eva", "gus"],
            "rank": [1, 2, 1, 2, 1, 2, 3],
        }
    )  # fmt: skip
    for ratings in (ranklake.Ratings.rate(frame), ranklake.Ratings.open(lake.url, "run")):
        assert ratings.components == (3, 3)
        for show in (ratings.leaderboard, ratings.evaluate, ratings.smooth):
            with pytest.warns(UserWarning, match=re.escape(LINE)):
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
    assert ranklake.Ratings.rate(frame).update(joined).components == (6,)
