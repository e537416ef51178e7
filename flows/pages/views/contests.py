"""The standings of a contest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.storage.names.folding import fold

from ...answers.contests import LEADERBOARD_PLACES
from ...answers.leaderboard import check_start
from ...answers.run import PublishedRun
from ...common.finite import finite_rows
from ..links import ServerLinks
from ..rows import first_rows, page_edges
from .problems.lists import of_contest

PAGE_ROWS = 200  # of a page of standings
MOVERS = 5  # of the largest gains, and of the largest losses

_STANDINGS = ("place", "handle", "rating", "change")

Columns = Mapping[str, Sequence[Any]]
Steps = tuple[tuple[str, str] | None, tuple[str, str] | None]
"""Name and address of the contest before another one, and of the one after it."""
NO_STEPS: Steps = (None, None)


def contest(run: PublishedRun, links: ServerLinks, contest_id: str, page: int = 0, q: str = "") -> dict[str, Any]:
    """A page of the standings of a contest, which is no period of games; raises as :meth:`PublishedRun.contest`.

    ``page``, ``q``: as for :func:`standings`.
    """
    about, found = run.contest(contest_id)
    table = found.rows
    rows = finite_rows(table.select([*_STANDINGS, *(["perf"] if run.has_performance else [])])).to_pydict()
    if not all(rated := table.column("rated").to_pylist()):
        rows["rated"] = rated
    if table.column("team").null_count < table.num_rows:
        rows["team"] = table.column("team").to_pylist()
    if table.column("leaderboard_place").null_count < table.num_rows:
        rows |= {name: table.column(name).to_pylist() for name in LEADERBOARD_PLACES}
    steps = steps_of(run, links, contest_id)
    address = lambda number, q=q: links.contest(contest_id, page=number, q=q)  # noqa: E731
    own = [] if page or q else of_contest(run, links, contest_id)
    more: dict[str, Any] = {"names": run.names, "steps": steps, "address": address, "problems": own}
    return standings(about, rows, found.total, page, q, PAGE_ROWS, **more)


def steps_of(run: PublishedRun, links: ServerLinks, contest_id: str) -> Steps:
    """The rated contests before and after one."""
    table = run.contests_table.select(["contest_id", "name", "skipped"])
    keys, rated = table.column("contest_id").to_pylist(), [not one for one in table.column("skipped").to_pylist()]
    at = keys.index(contest_id)
    near = (range(at - 1, -1, -1), range(at + 1, len(keys)))
    before, after = (next((i for i in some if rated[i]), None) for some in near)
    names = table.column("name")
    first, last = (
        None if i is None else (names[i].as_py() or keys[i], links.contest(keys[i])) for i in (before, after)
    )
    return first, last


def standings(
    about: Mapping[str, Any],
    rows: Columns,
    n_rows: int,
    page: int = 0,
    q: str = "",
    most: int = PAGE_ROWS,
    names: Mapping[str, str] = MappingProxyType({}),
    steps: Steps = NO_STEPS,
    address: Callable[..., str] = lambda number, q="": "",
    data: str = "",
    problems: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A page of the standings of a contest.

    ``about``: ``contest_id, name, url, time_seconds``.
    ``rows``: columns as for :func:`ranklake.flows.pages.rows.standing_rows`, of all rows.
    ``n_rows``: number of all rows, also of those that ``rows`` has not.
    ``page``: its number, from 0. ``q``: only rows with each word of it in the name; a team is found with all its
    members by any of its names.
    ``most``: rows of the page, perhaps more so that no team is divided.
    ``names``: display names by handle, which are searched as well.
    ``steps``: the contests before and after.
    ``address``: of a page by its number, with the ``q``; other pages are found with another ``q``.
    ``data``: address of all rows as data.
    ``problems``: the rows of the template ``problem_table``.
    Raises as :func:`shown_rows`.
    """
    found = rows if not q else select(rows, named(rows, q, names))
    edges = page_edges(found.get("team", ()), len(found["handle"]), most)
    counts = {"n_players": _count(rows, n_rows), "n_rows": n_rows, **_counts(rows)}
    known = {**about, **counts, "name": about["name"] or about["contest_id"]}
    gains, losses = ([], []) if page or q else movers(rows)
    return {
        "contest": known, "rows": shown_rows(found, edges, page, most), "q": q, "page": page,
        "n_pages": len(edges) - 1, "n_found": _count(found), "first": edges[page], "gains": gains, "losses": losses,
        "previous": steps[0], "next": steps[1], "address": address, "data": data,
        "problems": problems,
    }  # fmt: skip


def _count(rows: Columns, n_rows: int | None = None) -> int:
    """Number of participants: teams count as one."""
    if "team" in rows:
        return len(first_rows(rows["team"]))
    return len(rows["handle"]) if n_rows is None else n_rows


def _counts(rows: Columns) -> dict[str, int]:
    """``n_new`` and ``n_unrated``: players who were not rated before, and participants who are not now."""
    n_unrated = rows["rated"].count(False) if "rated" in rows else 0
    rated = rows.get("rated") or repeat(True)
    n_new = sum(change is None and counts for change, counts in zip(rows["change"], rated, strict=False))
    return {"n_new": n_new, "n_unrated": n_unrated}


def named(rows: Columns, q: str, names: Mapping[str, str], starts: Sequence[int] | None = None) -> Iterator[int]:
    """The rows of the participants in whose names each word of ``q`` is; a team is found with all its members.

    ``rows``: with ``handle``, and in a contest of teams ``team``. ``names``: display names by handle.
    ``starts``: the first row of each group of rows that is found as one; by default of each participant.
    """
    words, handles, team = fold(q).split(), rows["handle"], rows.get("team")
    if starts is None:
        starts = range(len(handles)) if team is None else first_rows(team)
    for start, stop in zip(starts, [*starts[1:], len(handles)], strict=True):
        some = handles[start:stop]
        own = [*some, *(names[handle] for handle in some if handle in names), (team and team[start]) or ""]
        text = "\n".join(map(fold, own))
        if all(word in text for word in words):
            yield from range(start, stop)


def shown_rows(found: Columns, edges: Sequence[int], page: int, most: int) -> Columns:
    """The rows of a page; raises as :func:`check_page`."""
    check_page(page, edges, most)
    return select(found, range(*edges[page : page + 2])) if len(edges) > 1 else found


def check_page(page: int, edges: Sequence[int], most: int) -> None:
    """Raise ``BeyondEndError`` unless there is a page, or it is the first one; ``edges`` as of :func:`page_edges`."""
    check_start(page * most, min((len(edges) - 1) * most, edges[-1]), most)


def select(rows: Columns, chosen: Iterable[int]) -> Columns:
    """Some rows."""
    some = list(chosen)
    return {name: [values[i] for i in some] for name, values in rows.items()}


def movers(rows: Columns) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rated participants with the largest gains, and with the largest losses: ``handle, before, rating``."""
    change = np.array(rows["change"], float)  # NaN for newcomers
    if "rated" in rows:
        change[~np.array(rows["rated"], bool)] = np.nan
    first, last = (
        [{"handle": rows["handle"][i], "rating": rows["rating"][i], "before": rows["rating"][i] - rows["change"][i]}
         for i in _largest(by)] for by in (change, -change)
    )  # fmt: skip
    return first, last


def _largest(change: npt.NDArray[np.float64]) -> list[int]:
    """The rows of the largest positive values, the largest first."""
    rows = np.flatnonzero(change > 0)
    if len(rows) > MOVERS:
        rows = rows[change[rows] >= np.partition(change[rows], -MOVERS)[-MOVERS]]
    found: list[int] = rows[np.argsort(-change[rows], kind="stable")][:MOVERS].tolist()
    return found
