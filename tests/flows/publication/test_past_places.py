"""Places over time: periods of a history, and the number of players above each."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.flows.publication.past_places import PastPlaces, periods, snapshot
from ranklake.flows.results.places import PlaceOptions

DAY = 86_400


@pytest.mark.parametrize(
    ("days", "most", "name", "last"),
    [
        ([0, 10, 40, 70], 240, "month", [1, 2, 3]),
        ([0, 10, 40, 400], 2, "quarter", [2, 3]),
        ([1, 400, 800, 1200], 2, "decade", [3]),
        ([-400, -399, 10], 240, "month", [1, 2]),
        ([40, 10, 100], 240, "month", [1, 2]),  # a clock that went back
    ],
)
def test_periods__are_the_shortest_that_are_few_enough(days: list[int], most: int, name: str, last: list[int]) -> None:
    found, rounds = periods(np.array(days) * DAY + 1, most)
    assert (found, rounds.tolist()) == (name, last)


def test_periods__of_unknown_times_are_none() -> None:
    assert periods(np.zeros(3, np.int64))[1].tolist() == []
    assert periods(np.zeros(0, np.int64))[1].tolist() == []
    assert periods(np.array([0, 0, DAY]))[1].tolist() == [2]


@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("places", [PlaceOptions(), PlaceOptions(min_rounds=3, max_sigma=80.0)])
def test_places__are_those_counted_one_by_one(decimals: int, places: PlaceOptions) -> None:
    rng, rows = np.random.default_rng(11), {}
    played = np.sort(np.array([(r, p) for r in range(20) for p in rng.permutation(12)[:5]]), axis=0)[:, 0]
    rows = {"round_index": played, "player": rng.integers(0, 12, len(played))}
    _, first = np.unique(np.stack(list(rows.values())), axis=1, return_index=True)
    rows = {name: values[np.sort(first)] for name, values in rows.items()}
    rows |= {"rating": rng.normal(1500, 3, len(first)), "sigma": rng.uniform(60, 100, len(first))}
    rows["n_rounds"] = np.array([np.sum(rows["player"][: i + 1] == p) for i, p in enumerate(rows["player"])])
    rounds = np.array([3, 9, 19])
    past = PastPlaces.of(rounds, decimals, places, rows)
    for k, after in enumerate(rounds):
        last = {p: i for i, (r, p) in enumerate(zip(rows["round_index"], rows["player"], strict=True)) if r <= after}
        ranked = {
            p: round(float(rows["rating"][i]), decimals)
            for p, i in last.items()
            if rows["n_rounds"][i] >= places.min_rounds and rows["sigma"][i] <= places.max_sigma
        }
        assert past.totals[k] == len(ranked)
        for player in range(12):
            own = {name: values[rows["player"] == player] for name, values in rows.items()}
            at, place = past.of_player(own)
            above = sum(rating > ranked[player] for rating in ranked.values()) if player in ranked else None
            assert dict(zip(at.tolist(), place.tolist(), strict=True)).get(k) == (None if above is None else above + 1)


def test_snapshot__counts_shown_ratings() -> None:
    levels, counts = snapshot(np.array([1500.4, 1499.6, 3000.0, np.nan]), 0)
    assert levels.tolist()[1:] == [1500, 3000]
    assert counts.tolist() == [1, 2, 1]
