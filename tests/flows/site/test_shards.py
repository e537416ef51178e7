"""The data of a site: levels of rounds, files of histories, pages of the leaderboard, search."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers.answers import leaderboard, player_history
from helpers.lakes import contest, lake_of, rate_run, synthetic
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.site.content import SiteContent
from ranklake.flows.site.shards import (
    HISTORY,
    board_pages,
    history_shards,
    levels,
    numbers,
    search_buckets,
    search_lists,
    shard_count,
)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> SiteContent:
    lake = lake_of(tmp_path_factory.mktemp("lake"), synthetic(20))
    rate_run(lake)
    return SiteContent(lake, "run")


@pytest.fixture(scope="module")
def lake_path(content: SiteContent) -> Path:
    return Path(content._run.lake.url)


def test_numbers__are_rounded_and_finite() -> None:
    values = np.array([1.26, -0.4, np.nan, -np.inf])
    assert numbers(values, 0) == [1, 0, None, None]
    assert numbers(values, 1) == [1.3, -0.4, None, None]


@given(st.lists(st.integers(0, 9_000), max_size=60))
def test_levels__are_all_rounds_and_the_newer_ones_are_few(sizes: list[int]) -> None:
    rows = np.array(sizes, np.int64)
    found = levels(rows)
    assert [i for start, stop in found for i in range(start, stop) if rows[i]] == np.flatnonzero(rows).tolist()
    if len(found) == 2:
        newest = rows[found[1][0] :].sum()
        assert newest <= max(4_096, rows.sum() / 8) + rows.max()


def test_levels__old_rounds_stay_while_new_ones_are_added() -> None:
    rows = np.full(2_000, 500)
    cuts = [levels(rows[:n])[0][1] for n in range(1_000, 2_000)]
    assert len(set(cuts)) < 20
    assert cuts == sorted(cuts)


def test_shard_count__is_a_power_of_two_near_4096_rows() -> None:
    assert [shard_count(n) for n in (1, 4_095, 4_096, 100_000)] == [1, 1, 2, 32]


def test_history__equals_the_history_of_the_player(content: SiteContent, lake_path: Path) -> None:
    from ranklake.storage import Lake

    shards = 4
    found = {}
    for number, file in history_shards(content, 0, content.n_rounds, shards):
        edges = np.cumsum([0, *file["rows"]]).tolist()
        for handle, start, stop in zip(file["handle"], edges[:-1], edges[1:], strict=True):
            assert zlib.crc32(handle.encode()) % shards == number
            found[handle] = {name: file[name][start:stop] for name in HISTORY}
    lake = Lake.open(lake_path)
    board = leaderboard(lake, "run")
    assert sorted(found) == sorted(board.column("handle").to_pylist())
    for handle in board.column("handle").to_pylist()[:5]:
        rows = player_history(lake, "run", handle).rows
        assert np.cumsum(found[handle]["contest"]).tolist() == rows.column("round_index").to_pylist()
        assert found[handle]["place"] == [lo + 1 for lo in rows.column("lo").to_pylist()]
        rating = np.cumsum(found[handle]["change"])
        assert rating.tolist() == [round(value) for value in rows.column("rating").to_pylist()]
        assert (rating + found[handle]["margin"]).tolist() == [round(value) for value in rows.column("mu").to_pylist()]
        for name in ("sigma", "perf"):
            np.testing.assert_allclose(found[handle][name], rows.column(name), atol=0.5001)


def test_board_pages__have_every_player_once(
    content: SiteContent, lake_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ranklake.storage import Lake

    monkeypatch.setattr("ranklake.flows.site.shards.PAGE_ROWS", 7)
    board = leaderboard(Lake.open(lake_path), "run")
    pages = list(board_pages(board, 0))
    assert {len(page["handle"]) for page in pages[:-1]} == {7}
    assert [handle for page in pages for handle in page["handle"]] == board.column("handle").to_pylist()


def test_board_pages__have_percentiles_rounded_down(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [contest("1", "ada", ["bob", "cid"], "dan", "eve", "fay")])
    rate_run(lake, system="elo")
    (page,) = board_pages(leaderboard(lake, "run"), 0)
    assert page["percentile"] == [100.0, 60.0, 60.0, 40.0, 20.0, 0.0]


def test_search__finds_prefixes_best_first() -> None:
    found = search_buckets(["Émile", "emma", "E", "bob"], [4, 3, 2, 1])
    assert found["em"] == {"handle": ["Émile", "emma"], "rating": [4, 3]}
    assert found["e"]["handle"] == ["Émile", "emma", "E"]
    assert set(found) == {"em", "e", "bo", "b"}


def test_search__lists_of_all_players_are_cut_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.site.shards.LIST_ROWS", 2)
    found = list(search_lists(["a", "b", "c"], [3, 2, 1]))
    assert found == [{"handle": ["a", "b"], "rating": [3, 2]}, {"handle": ["c"], "rating": [1]}]
    (named, _) = search_lists(["a", "b", "c"], [3, 2, 1], {"b": "Bob"})
    assert named["name"] == [None, "Bob"]
