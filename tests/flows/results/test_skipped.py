"""A run whose contests were all skipped: every door says why, and what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, rate_run

import ranklake
from ranklake.storage import Lake, LakeError

ALONE = [contest("1", "ann"), contest("2", "bob")]
TIED = contest("3", ["ann", "bob", "cid"])
UNRATED = contest("4", "ann", "bob", rated=np.zeros(2, np.bool_))
WON = contest("5", "ann", "bob")
RUN = "run run has no rated rounds"
KINDS = {
    "alone": (ALONE, {}, "; 2 contests skipped: one participant only"),
    "tied": (
        [TIED], {},
        "; 1 contest skipped: all participants tied; `ranklake rate --run run --replace --keep-uninformative` rates "
        "ties",
    ),
    "unrated": (
        [UNRATED, ALONE[0]], {},
        "; 1 contest skipped: one participant only; 1 contest skipped: no rated participant",
    ),
    "excluded": (
        [WON], {"exclude": ("5",)},
        "; 1 contest skipped: excluded; `ranklake rate --run run --include CONTEST` includes one again",
    ),
    "not yet": (
        [*ALONE, WON], {"max_rounds": 2},
        "; 2 contests skipped: one participant only; `ranklake rate --run run` rates the other 1 contest",
    ),
    "no rounds": ([WON], {"max_rounds": 0}, " yet; `ranklake rate --run run` makes them"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_leaderboard__says_why_nothing_was_rated(tmp_path: Path, kind: str) -> None:
    contests, options, why = KINDS[kind]
    lake = lake_of(tmp_path / "lake", contests)
    rate_run(lake, **options)
    with pytest.raises(LakeError) as error:
        leaderboard(lake, "run")
    assert str(error.value) == RUN + why


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("skipped") / "lake", ALONE)
    rate_run(lake)
    return lake


@pytest.mark.parametrize(
    "words",
    [
        ("leaderboard",),
        ("leaderboard", "--at", "2020-01-01"),
        ("leaderboard", "--all-time"),
        ("player", "ann"),
        ("explain", "ann", "1"),
        ("predict", "ann", "bob"),
        ("teamrate", "ann", "bob"),
        ("evaluate",),
        ("smooth",),
        ("publish",),
        ("publish", "--site", "site"),
        ("export", "--what", "ratings", "-o", "x.parquet"),
        ("plot", "distribution", "-o", "x.png"),
        ("plot", "player", "ann", "-o", "x.png"),
    ],
    ids="-".join,
)
def test_command__says_why_nothing_was_rated(invoke: Command, alone: Lake, words: tuple[str, ...]) -> None:
    said = invoke.refuses(*words, "--run", "run", "--lake", alone.url)
    assert f"{RUN}; 2 contests skipped: one participant only" in said


def test_notebook__says_why_nothing_was_rated(alone: Lake) -> None:
    results = pd.DataFrame({"contest": ["1", "2"], "player": ["ann", "bob"], "rank": 1})
    with pytest.warns(UserWarning, match="no contest was rated; 2 contests skipped: one participant only"):
        ratings = ranklake.Ratings.rate(results)
    assert len(ratings) == 0
    with pytest.warns(UserWarning, match="no contest was rated; 1 contest skipped: all participants tied"):
        ranklake.rate_history(pd.DataFrame({"contest": "1", "player": ["ann", "bob", "cid"], "rank": 1}))
    with pytest.raises(LakeError, match="2 contests skipped: one participant only"):
        ranklake.Lake(alone.url).run("run").ratings()


def test_run__that_rates_a_later_contest_is_shown(tmp_path: Path, invoke: Command) -> None:
    lake = lake_of(tmp_path / "lake", ALONE)
    rate_run(lake)
    ingest(lake, [*ALONE, WON])
    rate_run(lake)
    assert invoke("leaderboard", "--run", "run", "--lake", lake.url).code == 0
