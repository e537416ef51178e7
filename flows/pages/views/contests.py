"""The standings of a contest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...answers.run import PublishedRun
from ...common.finite import finite_json
from ..links import ServerLinks
from ..rows import first_rows, whole_teams

_STANDINGS = ("place", "handle", "perf", "rating", "change")

Columns = Mapping[str, Sequence[Any]]


def contest(run: PublishedRun, links: ServerLinks, contest_id: str) -> dict[str, Any]:
    """A contest with all standings, or the first games of a period; raises as :meth:`PublishedRun.contest`."""
    about, page = run.contest(contest_id)
    table = page.rows
    rows = {name: [finite_json(value) for value in table.column(name).to_pylist()] for name in _STANDINGS}
    if not all(rated := table.column("rated").to_pylist()):
        rows["rated"] = rated
    if table.column("team").null_count < table.num_rows:
        rows["team"] = table.column("team").to_pylist()
    further = {} if page.next is None else {"all": links.standings(contest_id)}
    return standings(about | further, rows, page.total)


def standings(
    about: Mapping[str, Any], rows: Columns, n_rows: int, most: int | None = None, data: str = ""
) -> dict[str, Any]:
    """A contest and its standings.

    ``about``: ``contest_id, name, url, time_seconds``.
    ``rows``: columns as for :func:`ranklake.flows.pages.rows.standing_rows`.
    ``n_rows``: number of all rows.
    ``most``: rows on the page, perhaps more so that no team is divided; by default all.
    ``data``: address of all rows, if the page has not all.
    """
    team = rows.get("team", [])
    shown = rows if most is None else {name: values[: whole_teams(team, most)] for name, values in rows.items()}
    n_players = len(first_rows(team)) if team else n_rows
    known = {**about, "name": about["name"] or about["contest_id"], "n_players": n_players, "n_rows": n_rows}
    return {"contest": known, "rows": shown, "data": data if n_rows > len(shown["handle"]) else ""}
