"""Every public function with wrong arguments: the error is a sentence of ours, and names no option of the command."""

from __future__ import annotations

import inspect
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.documents import ROOT
from helpers.frames import small

import ranklake
from ranklake import (
    Dataset,
    Lake,
    Ratings,
    Run,
    compare,
    evaluate_history,
    predict,
    preview,
    rate_history,
    smooth_history,
    tune,
)
from ranklake.flows.common.arguments import checked
from ranklake.storage import LakeError

RESULTS = pd.DataFrame(
    {
        "contest": ["a", "a", "b", "b", "c", "c"],
        "player": ["x", "y", "x", "y", "y", "z"],
        "rank": [1, 2, 1, 2, 1, 2],
        "time": np.repeat([86_400, 172_800, 259_200], 2),
    }
)
NEXT = RESULTS.assign(contest=RESULTS["contest"] + "2", time=RESULTS["time"] + 10**6)
ALL = Ratings.rate(RESULTS, engine="serial")


def smoothed() -> Ratings:
    ratings = Ratings.rate(RESULTS, engine="serial")
    ratings.smooth(engine="serial")
    return ratings


WRONG = (
    None, -1, 1.5, float("nan"), True, 10**30, "word", "", b"x", [], [1], [[1]], {1: 2}, {"x": [1]}, {1}, object(), len,
    np.arange(3), pd.Series([1, 2]), pd.DataFrame(), pd.DataFrame({"q": [1]}),
)  # fmt: skip
COLUMNS = {
    "contest": (..., None, [[1]] * 6, object()),
    "player": (..., [1, "x", None, 2.5, "y", b"z"], [{"a": 1}] * 6, [True, False] * 3, object()),
    "rank": (..., "x", [1, "2", 3, None, 1.5, b"x"], [[1]] * 6, pd.Timestamp("2020-01-01"), 1j, True),
    "time": (True, "June", [[1]] * 6, object(), pd.Timedelta(1, "D")),
    "weight": ("x", [[1]] * 6, object()),
    "rated": ("perhaps", [[1]] * 6),
    "rated_below": ("x", [[1]] * 6),
}
DOORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "rate_history": (ranklake.rate_history, {"results": RESULTS, "engine": "serial", "rho": 1.0}),
    "Ratings.rate": (Ratings.rate, {"results": RESULTS, "engine": "serial", "beliefs": None}),
    "smooth_history": (ranklake.smooth_history, {"results": RESULTS, "engine": "serial", "beta": 160.0}),
    "tune": (ranklake.tune, {"results": RESULTS, "space": {"rho": [1.0]}, "trials": 1, "workers": 1}),
    "evaluate_history": (ranklake.evaluate_history, {"history": ALL.history}),
    "compare": (ranklake.compare, {"ratings": {"one": ALL}}),
    "predict": (ranklake.predict, {"beliefs": ALL, "players": ["x", "y"]}),
    "team_rating": (ranklake.team_rating, {"beliefs": ALL, "players": ["x", "y"]}),
    "preview": (ranklake.preview, {"ratings": ALL, "standings": RESULTS[:2]}),
    "systems": (ranklake.systems, {}),
    "evaluate": (ranklake.evaluate, {"lake": "none", "name": "x"}),
    "Ratings.open": (Ratings.open, {"lake": "none", "run": "x"}),
    "Ratings.load": (Ratings.load, {"path": ROOT / "README.md"}),
    "Lake.open": (Lake.open, {"url": "none"}),
    "Run.open": (Run.open, {"lake": "none", "name": "x"}),
    "Dataset.open": (Dataset.open, {"lake": "none", "name": "x"}),
    "leaderboard": (ALL.leaderboard, {}),
    "groups": (ALL.groups, {"by": {"x": "g"}}),
    "player": (ALL.player, {"player": "x"}),
    "plot_player": (lambda player: ALL.plot_player(player), {"player": "x"}),
    "Ratings.predict": (ALL.predict, {"players": ["x", "y"]}),
    "Ratings.preview": (ALL.preview, {"standings": RESULTS[:2]}),
    "update": (ALL.update, {"results": NEXT, "engine": "serial"}),
    "Ratings.evaluate": (ALL.evaluate, {}),
    "smooth": (ALL.smooth, {"engine": "serial"}),
    "between": (smoothed().between, {"player": "x", "start": 86_400, "end": 259_200}),
    "chance": (ALL.predict(["x", "y"]).chance, {"player": "x", "opponent": "y"}),
    "outcomes": (ALL.predict(["x", "y"]).outcomes, {"player": "x"}),
    "place_needed": (ALL.predict(["x", "y"]).place_needed, {"player": "x", "rating": 1500.0}),
}
FRAMES = ("results", "standings", "history")


def arguments(door: Callable[..., Any], given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments of a call, each in turn with each wrong value; and frames with wrong columns."""
    named = [one.name for one in inspect.signature(door).parameters.values() if one.kind != one.VAR_KEYWORD]
    for name in dict.fromkeys([*given, *named]):
        if name not in ("path", "create", "on_progress"):
            yield from (given | {name: value} for value in WRONG)
    for name in given.keys() & set(FRAMES) - {"history"}:
        for column, values in COLUMNS.items():
            frame = RESULTS[:2] if name == "standings" else given[name]
            for value in values:
                wrong = frame.drop(columns=column) if value is ... else frame.assign(**{column: _of(value, len(frame))})
                yield given | {name: wrong}


def _of(value: Any, n: int) -> Any:
    return value[:n] if isinstance(value, list) else [value] * n


@pytest.mark.quick(
    "Ratings.rate",
    "compare",
    "predict",
    "team_rating",
    "systems",
    "evaluate",
    "*.open",
    "Ratings.load",
    "leaderboard",
    "player",
    "plot_player",
    "between",
    "chance",
    "outcomes",
    "place_needed",
    "Ratings.evaluate",
    "Ratings.predict",
    "evaluate_history",
)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", DOORS)
def test_door__answers_wrong_arguments_in_words(name: str) -> None:
    door, given = DOORS[name]
    for wrong in arguments(door, given):
        try:
            door(**wrong)
        except Exception as error:
            fault = _fault(error)
            if fault:
                raise AssertionError(f"{fault}: {error!r}, for {wrong}") from error


def _fault(error: Exception) -> str:
    """What is wrong with an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not any(f"/{folder}/" in last.filename for folder in ("flows", "storage", "rating_kernels")):
        return "of a library"
    if not (last.line or "").startswith("raise ") or not isinstance(error, ValueError | TypeError | LakeError):
        return "not raised on purpose"
    return "too long" if len(str(error)) > 1_000 or "\n" in str(error) else ""


def test_checked__names_the_argument_the_rule_and_the_value() -> None:
    @checked
    def door(n: int, names: list[str] | None = None, *, share: float | None = None, what: Any = None) -> None: ...

    door(np.int64(3), share=np.float32(0.5), what=door)
    for wrong, said in [
        ({"n": 1.5}, "n must be a whole number, got 1.5"),
        ({"n": True}, "n must be a whole number, got True"),
        ({"n": 1, "share": "half"}, "share must be a number or None, got 'half'"),
        ({"n": 1, "share": pd.DataFrame({"a": [1]})}, "share must be .*, got a value of the type DataFrame"),
        ({}, "door: missing a required argument: 'n'"),
        ({"n": 1, "m": 2}, "door: got an unexpected keyword argument 'm'"),
    ]:
        with pytest.raises(TypeError, match=said):
            door(**wrong)


# Words


GOOD = pd.DataFrame({"contest": [1, 1, 2, 2], "player": list("abba"), "rank": [1, 2] * 2, "time": [100, 100, 200, 200]})
STANDINGS = pd.DataFrame({"player": ["a", "b"], "rank": [1, 2]})
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
    "milliseconds as seconds": times(DAY * 1000, name="time_seconds"),
    "other names": times("2024-01-15", name="day"),
    "text of dates": times("2024-01-15", name="date"),
    "far away": times(10**16, name="time_seconds"),
    "another type": times(True),
    "ceilings of one contest": GOOD.assign(perf_ceiling=[1.0, 2.0, 1.0, 1.0]),
    "limits": GOOD.assign(rated_above=1.0, rated_below=0.0),
    "rated": GOOD.assign(rated=["yes", "perhaps"] * 2),
    "weights as words": GOOD.assign(weight="much"),
    "a decimal comma": GOOD.assign(weight="1,5"),
    "half a place": GOOD.drop(columns="rank").assign(lo=0.5, hi=0.5),
    "no columns": pd.DataFrame({"a,b": [1]}),
    "similar names": GOOD.assign(Weight=1.0, WEIGHT=2.0),
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
    "preview before": lambda: RATINGS.preview(STANDINGS, time=1),
    "preview several": lambda: RATINGS.preview(GOOD),
    "preview titles": lambda: preview(RATINGS, STANDINGS, titles="none at all"),
    "preview twice": lambda: RATINGS.preview(STANDINGS.assign(player="a")),
    "evaluate from": lambda: evaluate_history(RATINGS.history, 99),
    "compare one": lambda: compare([]),
    "smooth": lambda: smooth_history(GOOD, beta=-1.0),
    "a setting twice": lambda: rate_history(GOOD, rank="rank", columns={"rank": "place"}),
    "a share alone": lambda: rate_history(GOOD, columns={"share": "rank"}),
    "no such column": lambda: rate_history(GOOD, time="day"),
    "no such key": lambda: rate_history(GOOD, columns={"date": "time"}),
}


def messages_of(call: Callable[[], Any]) -> list[str]:
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


def beliefs_frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"mu": [1500.0, 1600.0], **columns}, index=["a", "b"])


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ([1, 2], "results must be a pandas, Polars, Arrow, DuckDB or Dask frame, got .1, 2."),
        (None, "results must be .* got None"),
        (small(contest=...), "results: there is no column contest among the columns 'player', 'rank'"),
        (small(player=...), "there is no column player among the columns 'contest', 'rank'"),
        (small(rank=..., Rank=[1] * 6, RANK=[1] * 6), r"'Rank', 'RANK' have .*: columns=\{'rank': 'Rank'\}"),
        (small(rank=...), "there is no column rank .or lo and hi, or score. among"),
        (small(rank=..., lo=[0, 1, 1, 0, 1, 2]), "there is no column hi among"),
        (small()[:0], "no contests: the table has no rows"),
        (pd.concat([small(), small()[["rank"]]], axis=1), "the table has two columns 'rank'"),
        (small(contest=[1, 1, None, 2, 2, 2]), "results, row 3 .index 2.: the row names no contest"),
        (small(player=["a", None, "c"] * 2), "contest 1, row 2 .index 1.: a player needs a name"),
        (small(player=list("aacbca")), "contest 1, rows 1 and 2 .index 0, 1.: player 'a' is listed twice"),
        (
            small(player=["a", 2, "c"] * 2),
            "column 'player': the values .* must be all texts, .* got 'a' in row 0 and 2 in row 1",
        ),
        (small(player=[True, False, True] * 2), "the player column holds true and false; it must hold names"),
        (
            small(rank=[1, 2, np.nan, 1, 2, 3]),
            "contest 1, row 3 .index 2.: a place must be a finite number, got rank =",
        ),
        (small(rank=[1, 2, np.inf, 1, 2, 3]), "contest 1, row 3 .index 2.: a place must be a finite number"),
        (small(rank=list("123x23")), "contest 2, row 4 .index 3.: a place must be a finite number, got rank = 'x'"),
        (small(rank=..., lo=[0, 1, 2, 0, 1, 1], hi=[0, 1, 2, 0, 1, 2]), "contest 2, .*a tie group shares one lo"),
        (small(rank=..., lo=[0, 1, 3, 0, 1, 2], hi=[0, 1, 3, 0, 1, 2]), "contest 1, .*lo = 3 is outside the field"),
        (small(weight=[1, 1, 1, 0, 0, 0]), "contest 2, row 4 .index 3.: a weight must be within .*, got weight = 0"),
        (small(weight=[1, 2, 1, 1, 1, 1]), "contest 1, rows 1 and 2 .index 0, 1.: weight differs inside the"),
        (small(time_seconds=[1, 1, 2, 5, 5, 5]), "contest 1, .*time_seconds differs inside the contest: 1 and 2"),
        (small(time_seconds=[0.5] * 6), "contest 1, row 1 .index 0.: a time must be a whole number"),
        (small(perf_ceiling=[-np.inf] * 6), "contest 1, row 1 .index 0.: a ceiling must be within "),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_results__with_a_fault_are_refused_in_one_line(frame: Any, said: str) -> None:
    in_one_line(lambda: rate_history(frame), said)
    if isinstance(frame, pd.DataFrame):
        at_other_doors(frame)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"system": "elo-mnr"}, "system must be one of elo-mmr"),
        ({"engine": "steam"}, "engine must be one of serial, threads, dask, got 'steam'"),
        ({"workers": 0}, "workers must be >= 1, got 0"),
        ({"roh": 1.0}, "elo-mmr has no parameter 'roh'; it has rho"),
        ({"rho": -1.0}, "rho must be within .*, got -1.0"),
        ({"rho": None}, "rho must be a number, got None"),
        ({"beta": 200.0}, "beta and gamma go together"),
        ({"noob_delay": (0.5, 0.0)}, r"noob_delay\[1\] must be within "),
        ({"beliefs": {"a": np.nan}}, "beliefs of player 'a': mu must be within .*, got nan"),
        ({"beliefs": pd.DataFrame({"rating": [1.0]}, index=["a"])}, "beliefs need a column mu, got rating"),
        ({"beliefs": beliefs_frame(sigma=[1.0, 0.0])}, "player 'b': sigma must be within .*, got 0"),
        ({"beliefs": beliefs_frame(n_rounds=[-1, 2])}, "player 'a': n_rounds must be a count >= 0, got -1"),
        ({"beliefs": 5}, "beliefs must be"),
        ({"beliefs": {"a": "high"}}, "beliefs of player 'a'"),
        ({"beliefs": beliefs_frame(n_rounds=[0.5, 2])}, "player 'a': n_rounds must be a count"),
        ({"beliefs": beliefs_frame(n_rounds=[1e12, 2])}, "player 'a': n_rounds must be a count"),
        ({"beliefs": beliefs_frame().set_axis(["a", "a"])}, "beliefs name player 'a' twice"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_options__that_are_wrong_are_refused_in_one_line(options: dict[str, Any], said: str) -> None:
    in_one_line(lambda: rate_history(small(), **options), said)


def in_one_line(call: Callable[[], Any], said: str) -> None:
    """A ``ValueError`` in words of Python, without the address of an object."""
    with pytest.raises(ValueError, match=said) as caught:
        call()
    assert str(caught.value).count("\n") == 0
    assert "object at 0x" not in str(caught.value)
    in_words_of_python([str(caught.value)])


def at_other_doors(results: pd.DataFrame) -> None:
    """Where faulty contests are left out, and where a contest is previewed."""
    more = messages_of(lambda: rate_history(results, on_error="skip", duplicates="best"))
    more += messages_of(lambda: RATINGS.preview(results.drop(columns="contest", errors="ignore")))
    in_words_of_python([*more, "perhaps nothing is said"])


@pytest.mark.parametrize("results", INPUT.values(), ids=INPUT.keys())
def test_results__faults_are_in_the_words_of_python(results: pd.DataFrame) -> None:
    in_words_of_python(messages_of(lambda: rate_history(results)))
    at_other_doors(results)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_calls__faults_are_in_the_words_of_python(call: Callable[[], Any]) -> None:
    in_words_of_python(messages_of(call))
