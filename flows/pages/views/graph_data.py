"""What the graph of players shows, and its data as the script reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ...answers.run import PublishedRun
from ...common.finite import finite_json
from ...events.seasons import Season
from ...results.titles import Titles
from ..axes import DAY
from ..graph import VIEWS, Span, clamped, whole_span
from ..links import day

_COLUMNS = {
    "ids": "contest_id", "names": "name", "times": "time_seconds", "n": "n_players",
    **{name: name for name in ("place", "perf", "mu", "sigma", "rating")},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """What of a graph is shown: one of ``VIEWS``, from the day of one time to that of another, UTC seconds."""

    view: str = "rating"
    first: int | None = None
    last: int | None = None

    @classmethod
    def given(cls, given: Mapping[str, Any]) -> Window:
        """From the parameters ``view``, ``from`` and ``to`` of a page."""
        return cls(given["view"], given["from"], given["to"])

    def span(self, whole: Span) -> Span:
        """The times within the ``whole``."""
        first = whole[0] if self.first is None else max(self.first, whole[0])
        last = whole[1] if self.last is None else min(self.last + DAY - 1, whole[1])
        return clamped((first, last), whole)


ALL = Window()
"""The ratings, all of them."""


def graph_data(
    run: PublishedRun, players: Mapping[str, list[dict[str, Any]]], window: Window = ALL, **query: str
) -> dict[str, Any]:
    """The data of the graph and of its script, given the rounds of each player; ``query``: of the page's address.

    ``span``: the times that are shown. ``views``: the query of the page in each view.
    """
    period, _ = run.past_periods
    columns = [_places(run, handle) for handle in players] if period and window.view == "place" else []
    view = "place" if any(one["times"] for one in columns) else "rating"
    if view == "rating":  # also of players who never had a place
        columns = [
            {"handle": handle, "name": run.names.get(handle, handle)}
            | {name: [row[of] for row in rounds] for name, of in _COLUMNS.items()}
            for handle, rounds in players.items()
        ]
    days = {"from": window.first, "to": window.last}
    query |= {name: day(time) for name, time in days.items() if time is not None}
    return {
        "run": {"titles": ladder(run.titles), "decimals": run.manifest.decimals, **season_marks(run.seasons)},
        "players": columns,
        "view": view,
        "span": window.span(whole_span([time for one in columns for time in one["times"]])),
        "views": {name: urlencode(query | {"view": name}) for name in VIEWS} if period else {},
        "period": period,
    }


def season_marks(seasons: Sequence[Season]) -> dict[str, Any]:
    """The ``seasons`` as the graph reads them: ``time, name, reset`` of each; nothing without any."""
    marks = [{"time": one.start_seconds, "name": one.name, "reset": one.resets} for one in seasons]
    return {"seasons": marks} if marks else {}


def _places(run: PublishedRun, handle: str) -> dict[str, Any]:
    found = run.places_over_time(handle).to_pydict()
    about = {"handle": handle, "name": run.names.get(handle, handle)}
    return about | {"times": found["time_seconds"], "places": found["place"], "of": found["n_ranked"]}


def ladder(titles: Titles) -> list[dict[str, Any]]:
    """The titles as the scripts read them, lowest first; the lowest minimum may be None."""
    return [{"name": title.name, "minimum": finite_json(title.minimum)} for title in titles.ladder]
