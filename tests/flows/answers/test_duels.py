"""The pages of players of contests of two: games, although no period has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.games import as_contests, as_periods, ingest_periods, league
from helpers.lakes import rate_run

from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.flows.pages.views import rounds
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.storage import Contest, Dataset, Lake
from ranklake.storage.lake.limits import Limits

GAMES = [game._replace(weight=1.0) for game in league(80, n_players=8)]


def _published(path: Path, contests: list[Contest] | None) -> PublishedRun:
    """A run of the games as contests of two; of periods if there are None."""
    lake = Lake.open(path / "lake", create=True, limits=Limits(index_rows=50))
    if contests is None:
        ingest_periods(lake, as_periods(GAMES), "duels")
    else:
        with Dataset.ingest(lake, "duels") as adding:
            for contest in contests:
                adding.add(contest)
    rate_run(lake, run="run", dataset="duels", system="elo")
    publish(lake, "run")
    return open_published(lake, "run")


def test_duels__have_the_record_of_the_same_games_in_periods(tmp_path: Path) -> None:
    duels = _published(tmp_path / "duels", as_contests(GAMES))
    periods = _published(tmp_path / "periods", None)
    assert (duels.of_two, duels.manifest.games, periods.of_two) == (True, False, True)
    for handle in ("p0", "p3", "p7"):
        found = rounds.rounds_of(duels, handle)
        one, other = rounds.record_of(found), rounds.record_of(rounds.rounds_of(periods, handle))
        assert one is not None
        assert other is not None
        best, expected = one.pop("best"), other.pop("best")
        assert one == other
        assert (best["opponent"], best["rating"]) == (expected["opponent"], pytest.approx(expected["rating"]))
        rows = rounds.joined(found, RatingFormat(duels.titles, duels.manifest.decimals))
        assert [row["n_games"] for row in rows] == [1] * len(found)
        assert rows[-1]["title"] == rows[-1]["contest_id"]


def test_contests_of_two__among_larger_ones_are_rounds(tmp_path: Path) -> None:
    *contests, larger = as_contests(GAMES)
    names = [*larger.handles.to_pylist(), "p90"]

    places = np.arange(3, dtype=np.int32)
    facts = larger.contest_id, larger.name, larger.url, larger.time_seconds
    run = _published(tmp_path, [*contests, Contest(*facts, pa.array(names), places, places)])
    found = rounds.rounds_of(run, names[0])
    assert (run.of_two, rounds.record_of(found), found[-1]["place"]) == (False, None, 1)
