"""A contest of LeetCode: the changes of all ratings from a recorded file, to 0.05 points.

The file is Parquet with the columns ``contests`` (number of contests before), ``rank``, ``old`` and ``new``, one row a
participant. The variable LEETCODE_CONTEST names a recorded one; otherwise it is the file in tests/data, which the plain
Python version made.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.data import sample
from twins.leetcode import Twin

from ranklake import rate_history

SAMPLE = "leetcode/synthetic-contest.parquet"
POINTS = 0.05  # the site's computation is this exact


def read(path: Path) -> pd.DataFrame:
    """The participants by rank, with ``player`` and ``new`` ratings."""
    return pd.read_parquet(path).sort_values("rank", kind="stable").reset_index(names="player")


def rate(frame: pd.DataFrame, **beliefs: pd.Series) -> pd.Series:
    known = pd.DataFrame({"player": frame["player"], "mu": frame["old"]}).assign(**beliefs)
    return rate_history(frame[["player", "rank"]].assign(contest="contest"), system="leetcode", beliefs=known)["mu"]


def test_leetcode__has_the_recorded_changes() -> None:
    frame = read(Path(os.environ.get("LEETCODE_CONTEST") or sample(SAMPLE)))
    wrong = np.abs(rate(frame, n_rounds=frame["contests"]) - frame["new"])
    assert wrong.max() <= POINTS, f"{(wrong > POINTS).sum()} of {len(frame)}: {frame[wrong > POINTS].head()}"


def test_leetcode__without_the_numbers_of_contests_has_other_changes() -> None:
    """Beliefs of ``mu`` alone are those of players in their first contest."""
    frame = read(sample(SAMPLE))
    new, first = rate(frame), frame["contests"] == 0
    assert np.abs(new - frame["new"])[first].max() <= POINTS
    assert np.abs(new - frame["new"])[~first].max() > 10.0


def test_sample__is_that_of_the_plain_version() -> None:
    frame = read(sample(SAMPLE))
    rank, names = frame["rank"], frame["player"].astype(str)
    lo, hi = np.searchsorted(rank, rank, "left"), np.searchsorted(rank, rank, "right") - 1
    assert (rank == lo + 1).all()
    twin = Twin(initial_state=dict(zip(names, zip(frame["old"], frame["contests"], strict=True), strict=True)))
    outcomes = twin.rate(list(zip(names, lo.tolist(), hi.tolist(), strict=True)))
    assert [one.mu for one in outcomes] == pytest.approx(frame["new"].tolist(), abs=1e-9)
