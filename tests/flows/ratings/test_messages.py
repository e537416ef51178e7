"""Errors and warnings of the notebook are in the words of Python: none names an option of the command."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranklake import Ratings, compare, evaluate_history, predict, preview, rate_history, smooth_history, tune

GOOD = pd.DataFrame({"contest": [1, 1, 2, 2], "player": list("abba"), "rank": [1, 2] * 2, "time": [100, 100, 200, 200]})
NEXT = pd.DataFrame({"player": ["a", "b"], "rank": [1, 2]})
RATINGS = Ratings.rate(GOOD)
DAY = 1_580_428_800


def times(*values: Any, name: str = "time") -> pd.DataFrame:
    """A contest of two at each time."""
    return pd.DataFrame(
        {
            "contest": np.repeat(np.arange(len(values)), 2), "player": ["a", "b"] * len(values),
            "rank": [1, 2] * len(values), name: [value for value in values for _ in "ab"],
        }
    )  # fmt: skip


INPUT: dict[str, pd.DataFrame] = {
    "milliseconds": times(DAY * 1000),
    "microseconds": times(DAY * 10**6),
    "milliseconds among seconds": times(DAY, DAY, DAY * 1000),
    "milliseconds as text": times(str(DAY * 1000)),
    "calendar": times(20240115),
    "years": times(2023, 2024),
    "months": times(202311),
    "fourteen digits": times(20240115120000),
    "day or month": times("01/02/2024"),
    "day first": times("13/02/2024"),
    "words": times("June"),
    "numbers among dates": times("2024-01-01", "2024-01-02", "5"),
    "no time": times(DAY, None),
    "half a second": times(0.5),
    "milliseconds as seconds": times(DAY * 1000, name="time_seconds"),
    "other names": times("2024-01-15", name="day"),
    "text of dates": times("2024-01-15", name="date"),
    "far away": times(10**16, name="time_seconds"),
    "another type": times(True),
    "times of one contest": GOOD.assign(contest=1, player=list("abcd")),
    "weights of one contest": GOOD.assign(weight=[1.0, 2.0, 1.0, 1.0]),
    "ceilings of one contest": GOOD.assign(perf_ceiling=[1.0, 2.0, 1.0, 1.0]),
    "limits": GOOD.assign(rated_above=1.0, rated_below=0.0),
    "rated": GOOD.assign(rated=["yes", "perhaps"] * 2),
    "weight": GOOD.assign(weight=-1.0),
    "weights as words": GOOD.assign(weight="much"),
    "a decimal comma": GOOD.assign(weight="1,5"),
    "places as words": GOOD.assign(rank=["first", "second"] * 2),
    "a missing place": GOOD.assign(rank=[1.0, np.nan] * 2),
    "impossible places": GOOD.drop(columns="rank").assign(lo=[0, 0] * 2, hi=[0, 1] * 2),
    "half a place": GOOD.drop(columns="rank").assign(lo=0.5, hi=0.5),
    "a player twice": GOOD.assign(player="a"),
    "no player": GOOD.assign(player=["a", None] * 2),
    "no contest": GOOD.assign(contest=[1, 1, None, None]),
    "no rows": GOOD[:0],
    "no columns": pd.DataFrame({"a,b": [1]}),
    "no column of places": GOOD.rename(columns={"rank": "finish"}),
    "similar names": GOOD.assign(Weight=1.0, WEIGHT=2.0),
    "one name twice": pd.concat([GOOD, GOOD[["rank"]]], axis=1),
}
CALLS: dict[str, Callable[[], Any]] = {
    "tune without trials": lambda: tune(GOOD, "elo", trials=None),
    "tune em": lambda: tune(GOOD, "elo", method="em"),
    "tune em of many values": lambda: tune(GOOD, "elo-mms", {"beta": [1, 2]}, method="em"),
    "tune em of duels": lambda: tune(times(*range(1, 20)), "elo-mms", method="em"),
    "tune no method": lambda: tune(GOOD, "elo", method="best"),
    "tune without points": lambda: tune(GOOD, "elo", {"k": "1:2"}, method="grid"),
    "tune without a grid": lambda: tune(GOOD, "glicko2", {"tau": "a"}),
    "tune of few contests": lambda: tune(GOOD, "elo", {"k": [1, 2]}),
    "tune a range": lambda: tune(GOOD, "elo", {"k": "2:1"}),
    "no system": lambda: rate_history(GOOD, "mmr"),
    "no hyperparameter": lambda: rate_history(GOOD, "elo", rho=1.0),
    "out of range": lambda: rate_history(GOOD, "elo", k=-1.0),
    "days without times": lambda: rate_history(GOOD.drop(columns="time"), drift_per_day=1.0),
    "games": lambda: rate_history(GOOD, "glicko2", games="simultaneous"),
    "no engine": lambda: rate_history(GOOD, engine="gpu"),
    "no workers": lambda: rate_history(GOOD, workers=0),
    "update again": lambda: RATINGS.update(GOOD),
    "update without times": lambda: RATINGS.update(GOOD.drop(columns="time").assign(contest=[8, 8, 9, 9])),
    "at before": lambda: RATINGS.leaderboard(at=1),
    "at no time": lambda: RATINGS.leaderboard(at="June"),
    "no player": lambda: RATINGS.player("z"),
    "predict before": lambda: RATINGS.predict(["a", "b"], time=1),
    "predict weight": lambda: predict(RATINGS, ["a", "b"], weight=-1.0),
    "preview before": lambda: RATINGS.preview(NEXT, time=1),
    "preview several": lambda: RATINGS.preview(GOOD),
    "preview titles": lambda: preview(RATINGS, NEXT, titles="none at all"),
    "preview twice": lambda: RATINGS.preview(NEXT.assign(player="a")),
    "evaluate from": lambda: evaluate_history(RATINGS.history, 99),
    "compare one": lambda: compare([]),
    "smooth": lambda: smooth_history(GOOD, beta=-1.0),
    "a setting twice": lambda: rate_history(GOOD, rank="rank", columns={"rank": "place"}),
    "two kinds of places": lambda: rate_history(GOOD.assign(score=1), columns={"rank": "rank", "score": "score"}),
    "a share alone": lambda: rate_history(GOOD, columns={"share": "rank"}),
    "no such column": lambda: rate_history(GOOD, time="day"),
    "no such key": lambda: rate_history(GOOD, columns={"date": "time"}),
}


def said(call: Callable[[], Any]) -> list[str]:
    """The messages of a call, of its error and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (ArithmeticError, ImportError, TypeError, ValueError) as error:
            return [str(error), *(str(warning.message) for warning in caught)]
    return [str(warning.message) for warning in caught]


def in_words_of_python(messages: list[str]) -> None:
    """At least one message; none with an option, except in a whole command between backticks."""
    assert messages
    for message in messages:
        assert "--" not in re.sub("`[^`]*`", "", message), message
        assert len(message.splitlines()) <= 6


@pytest.mark.parametrize("results", INPUT.values(), ids=INPUT.keys())
def test_results__faults_are_in_the_words_of_python(results: pd.DataFrame) -> None:
    in_words_of_python(said(lambda: rate_history(results)))
    more = said(lambda: rate_history(results, on_error="skip", duplicates="best"))
    more += said(lambda: RATINGS.preview(results.drop(columns="contest", errors="ignore")))
    in_words_of_python([*more, "perhaps nothing is said"])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_calls__faults_are_in_the_words_of_python(call: Callable[[], Any]) -> None:
    in_words_of_python(said(call))
