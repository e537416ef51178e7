"""Every public function with wrong arguments: the error is a sentence of ours, and never one of a library."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.documents import ROOT

import ranklake
from ranklake import Dataset, Lake, Ratings, Run
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
