"""Official Codeforces rounds: all new ratings are equal to the integer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.data import sample, shared

from ranklake import rate_history

ROUNDS = {  # data, number of participants
    917: (lambda: sample("codeforces/rating-changes-917.json.gz"), 423),
    1326: (lambda: sample("codeforces/round-1326.json.gz"), 10_630),
    1342: (lambda: shared("codeforces-api/round-1342-edu-86-data.json.gz"), 14_939),
}


def read(path: Path) -> pd.DataFrame:
    """``player, rank, old, new``, from the form of the site or from ``[handle, points, penalty, old, change]``."""
    rows = json.loads(gzip.decompress(path.read_bytes()))
    if isinstance(rows[0], dict):
        columns = {"handle": "player", "rank": "rank", "oldRating": "old", "newRating": "new"}
        return pd.DataFrame(rows)[list(columns)].rename(columns=columns)
    frame = pd.DataFrame(rows, columns=["player", "points", "penalty", "old", "change"])
    rank = frame.groupby([-frame["points"], frame["penalty"]]).ngroup() + 1  # numbers the groups in their order
    return frame.assign(rank=rank, new=frame["old"] + frame["change"])


def rate(frame: pd.DataFrame, **options: object) -> pd.DataFrame:
    return rate_history(
        frame[["player", "rank"]].assign(contest="round"),
        system="codeforces",
        beliefs=dict(zip(frame["player"], frame["old"], strict=True)),
        **options,
    )


@pytest.mark.parametrize("contest", ROUNDS)
def test_codeforces__equals_the_official_ratings(contest: int) -> None:
    find, people = ROUNDS[contest]
    frame = read(find())
    history = rate(frame)
    assert len(history) == len(frame) == people
    new = history.set_index("player")["mu"]
    wrong = frame[frame["new"].to_numpy() != new.loc[frame["player"]].to_numpy()]
    assert wrong.empty, f"{len(wrong)} of {people} differ: {wrong.head()}"
    assert set(history.attrs["violations"].values()) == {0}


@pytest.mark.parametrize(
    ("contest", "other"),
    [
        (1326, {"need_excludes_self": False}),
        (1326, {"tie_rank": "avg"}),
        (1326, {"rule": "none"}),
        (1342, {"rule": "oct2015"}),
    ],
    ids=str,
)
def test_codeforces__with_other_variants_differs_from_official_ratings(contest: int, other: dict[str, object]) -> None:
    frame = read(ROUNDS[contest][0]())
    new = rate(frame, **other).set_index("player")["mu"]
    assert np.count_nonzero(frame["new"].to_numpy() != new.loc[frame["player"]].to_numpy()) > 100
