"""The histogram of ratings, now or at the end of a year, of all players or of the active ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ...answers.distribution import counted, placed
from ...answers.distribution import distribution as bins_of
from ...answers.handles import NoPlayerError
from ...answers.run import PublishedRun
from ...common.times import AGES, parse_span, year_start
from ...results.ranks import last_end
from ...results.titles import Titles
from ..histogram import title_counts
from ..links import ServerLinks
from ..places import missing
from .contest_list import years_of
from .leaderboard import ACTIVE

Marks = Sequence[Mapping[str, Any]]


def distribution(shown: pa.Table, titles: Titles, marks: Marks = (), **more: Any) -> dict[str, Any]:
    """The histogram of the ratings of some rows of a leaderboard; see the template ``distribution``."""
    ratings = shown.column("rating").to_numpy()
    bins = bins_of(ratings)
    return {"bins": bins, "titles": title_counts(titles, ratings), "marks": marks, "form": None, "log": False,
            "notes": [], "title_link": None, **more}  # fmt: skip


def of_run(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    """The histogram of a run, for the values of the parameters of its page.

    ``handle``, ``handle2``: players who are marked; what is wrong with a name is a note.
    ``active``: only players with a contest in this time before the end, a key of :data:`ACTIVE`; empty for all.
    ``year``: at the end of a year, UTC. ``log``: whether the axis of the numbers is logarithmic.
    """
    year, active = given["year"], given["active"]
    at = None if year is None else year_start(year + 1) - 1
    board = run.table_at(at)
    since = (last_end(board) if at is None else at) - parse_span(active, AGES) if active else None
    shown = counted(board, since)
    marks: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for text in dict.fromkeys(filter(None, (given["handle"], given["handle2"]))):
        try:
            handle = run.handles.handle(run.handles.row(text))
        except NoPlayerError as error:
            notes.append({"text": text, "near": error.near, "year": None})
            continue
        if any(one["handle"] == handle for one in marks):
            continue
        one = placed(board, shown, handle)
        if one["rating"] is None:
            notes.append({"text": handle, "near": [], "year": year})
        else:
            marks.append(one | {"missing": _lacks(run, handle)})
    chosen = {"handle": given["handle"] or "", "handle2": given["handle2"] or "", "active": active, "year": year}
    form = chosen | {"spans": list(ACTIVE.items()), "years": [one for one, _ in years_of(run.ends)]}
    title_link = (lambda title: links.leaderboard(0, title=title, active=active or "all")) if year is None else None
    more = {"form": form, "log": given["log"] == "1", "notes": notes, "title_link": title_link}
    return distribution(shown, run.titles, marks, **more)


def _lacks(run: PublishedRun, handle: str) -> str | None:
    """What a provisional player lacks for a place now; None for others."""
    player = run.player(handle)
    return missing(run.places, player["n_rounds"], player["sigma"]) if player["provisional"] else None
