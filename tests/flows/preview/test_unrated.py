"""A preview has the changes of a contest with unrated participants."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from helpers.answers import leaderboard
from helpers.lakes import contest, ingest, lake_of, rate_run, rated, synthetic

from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import standings_from_file
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.options import ReadOptions

RESULTS = "player,rank,rated\nguest,1,false\na,2,\nb,2,true\nother,2,no\nc,5,1\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(RESULTS)
    return path


def test_unrated__outside_the_field_are_left_out(path: Path) -> None:
    found = standings_from_file(path, entrants=["a", "guest", "late"])
    assert list(found.players) == ["a", "b", "c", "late"]
    assert (found.lo.tolist(), found.hi.tolist(), found.n_placed) == ([0, 0, 2, 3], [1, 1, 2, 3], 3)


def test_unrated__in_the_field_stay(path: Path) -> None:
    found = standings_from_file(path, ReadOptions(field_includes_unrated=True))
    assert list(found.players) == ["guest", "a", "b", "other", "c"]
    assert found.lo.tolist() == [0, 1, 1, 1, 4]


def test_unrated__alone_are_an_error(path: Path) -> None:
    path.write_text("player,rank,rated\na,1,false\nb,2,false\n")
    with pytest.raises(SourceError, match="contest results: no participant is rated"):
        standings_from_file(path)


def test_limits__decide_as_when_the_contest_is_rated(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(12))
    rate_run(lake, system="elo")
    ratings = {row["handle"]: row["rating"] for row in leaderboard(lake, "run").to_pylist()}
    names = [*sorted(ratings)[:9], "newcomer"]
    bound = float(np.median([ratings[name] for name in names[:9]]))
    path = tmp_path / "next.csv"
    rows = [f"{name},{i},{bound!r}\n" for i, name in enumerate(names, start=1)]
    path.write_text("player,rank,rated_below\n" + "".join(rows))
    standings = standings_from_file(path, entrants=[*names, "late"], time_seconds=9_000_000)
    placed = dataclasses.replace(standings_from_file(path, time_seconds=9_000_000), rated_below=bound)
    preview = RunPreview.open(lake, "run")
    found = preview.preview(placed).table()
    expected = [name for name in names if ratings.get(name, 1500.0) < bound]
    assert found["handle"].to_pylist() == expected
    assert 1 < len(expected) < 9
    assert preview.preview(standings).table()["handle"].to_pylist()[: len(expected)] == expected
    ingest(lake, [contest("next", *names, time_seconds=9_000_000, rated_below=bound)])
    rate_run(lake, system="elo")
    last = rated(lake).filter(np.asarray(rated(lake)["contest_id"]) == "next")
    assert last["player"].to_pylist() == expected
    assert found["mu"].to_pylist() == last["mu"].to_pylist()


def test_limits__without_a_rating_between_them_are_an_error(tmp_path: Path, path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(5))
    rate_run(lake, system="elo")
    path.write_text("player,rank,rated_above\nnew,1,9000\nother,2,9000\n")
    with pytest.raises(ValueError, match=r"is rated: the contest rates ratings of at least 9000$"):
        RunPreview.open(lake, "run").preview(standings_from_file(path))


def test_limits__with_unrated_in_the_field_leave_nobody_out(path: Path) -> None:
    path.write_text("player,rank,rated_below\na,1,1500\nb,2,1500\n")
    assert standings_from_file(path).limited
    assert not standings_from_file(path, ReadOptions(field_includes_unrated=True)).limited
