"""What the graph of players shows, and its data as the script reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...answers.run import PublishedRun
from ...common.finite import finite_json
from ...results.titles import Titles
from ..axes import DAY
from ..graph import Span, clamped, whole_span

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
    columns = [
        {
            "handle": handle,
            "name": run.names.get(handle, handle),
            **{name: [row[of] for row in rounds] for name, of in _COLUMNS.items()},
        }
        for handle, rounds in players.items()
    ]
    return {
        "run": {"titles": ladder(run.titles), "decimals": run.manifest.decimals},
        "players": columns,
        "view": "rating",
        "span": window.span(whole_span([time for one in columns for time in one["times"]])),
        "views": {},
        "period": "",
    }


def ladder(titles: Titles) -> list[dict[str, Any]]:
    """The titles as the scripts read them, lowest first; the lowest minimum may be None."""
    return [{"name": title.name, "minimum": finite_json(title.minimum)} for title in titles.ladder]
