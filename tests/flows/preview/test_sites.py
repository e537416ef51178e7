"""Previews with the rules of LeetCode and AtCoder, against their plain versions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.data import sample
from helpers.frames import frame_of
from helpers.lakes import synthetic
from twins import atcoder, leetcode

from ranklake import preview, rate_history


def ranked(names: list[str], ranks: np.ndarray) -> list[tuple[str, int, int]]:
    """Standings as the plain versions take them."""
    lo, hi = np.searchsorted(ranks, ranks, "left"), np.searchsorted(ranks, ranks, "right") - 1
    return list(zip(names, lo.tolist(), hi.tolist(), strict=True))


def test_preview__has_the_changes_of_leetcode() -> None:
    """From ratings and numbers of contests alone, as the site shows them before a contest."""
    frame = pd.read_parquet(sample("leetcode/synthetic-contest.parquet")).sort_values("rank", kind="stable")
    frame["player"] = [f"player {i}" for i in range(len(frame))]
    before = frame.rename(columns={"old": "mu", "contests": "n_rounds"}).set_index("player")[["mu", "n_rounds"]]
    state = {name: (row.mu, row.n_rounds) for name, row in zip(before.index, before.itertuples(), strict=True)}
    expected = leetcode.Twin(initial_state=state).rate(ranked(frame["player"].tolist(), frame["rank"].to_numpy()))
    found = preview(before, frame[["player", "rank"]], system="leetcode").set_index("player")
    assert found["rating"].loc[[one.player for one in expected]].tolist() == pytest.approx(
        [one.mu for one in expected], abs=1e-8
    )
    assert found["change"].loc[frame["player"]].to_numpy() == pytest.approx(
        (frame["new"] - frame["old"]).to_numpy(), abs=0.05
    )


def test_preview__has_the_ratings_of_atcoder() -> None:
    """The displayed ratings before and after, of newcomers and of low ratings too, and performances below a cap."""
    contests, twin = synthetic(20, spice=False), atcoder.Twin()
    shown: dict[str, float] = {}
    for contest in contests:
        rows = zip(contest.handles.to_pylist(), contest.lo.tolist(), contest.hi.tolist(), strict=True)
        shown |= {one.player: one.rating for one in twin.rate(list(rows))}
    _, beliefs = rate_history(frame_of(contests), system="atcoder", engine="serial", return_beliefs=True)
    names = [*list(shown)[:30], "newcomer", "another"]
    ranks = np.sort(np.random.default_rng(2).integers(1, 20, len(names)))
    expected = twin.rate(ranked(names, ranks), ceiling=1400.0)
    standings = pd.DataFrame({"player": names, "rank": ranks, "perf_ceiling": 1400.0})
    found = preview(beliefs, standings).set_index("player").loc[names]
    assert found["rating_before"].tolist() == pytest.approx([shown.get(name, 0.0) for name in names], abs=1e-6)
    assert found["rating"].tolist() == pytest.approx([one.rating for one in expected], abs=1e-6)
    assert found["perf"].tolist() == [one.perf for one in expected]
    assert found["perf"].max() == 1400.0
    assert found["rating"].min() < 400.0
