"""A preview has the changes of a contest with unrated participants."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklake.flows.preview.reading import standings_from_file
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
