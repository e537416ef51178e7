"""The list of contests by year, with their winners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ...answers.contests import winners
from ...answers.run import PublishedRun
from ...common.times import year_of, year_start
from ..links import ServerLinks

CONTEST_ROWS = 200  # of a page of the list

Columns = Mapping[str, Sequence[Any]]


def contests(
    run: PublishedRun, links: ServerLinks, page: int = 0, year: int | None = None, q: str = ""
) -> dict[str, Any]:
    """Page ``page`` of the contests, from 0, latest first.

    ``year``: only contests that ended in it, UTC. ``q``: only contests with this part of the name or id.
    """
    within = (None, None) if year is None else (year_start(year), year_start(year + 1))
    found = run.contests(page * CONTEST_ROWS, CONTEST_ROWS, q, *within)
    columns = found.rows.to_pydict()
    keys = zip(columns["contest_id"], columns["skipped"], strict=True)
    addresses = ["" if skipped else links.contest(key) for key, skipped in keys]
    rounds = columns["round_index"]
    best = winners(run, rounds)
    rows = list_of_contests(columns | {"winner": [best.get(index) for index in rounds]}, addresses)

    def address(number: int, **changed: str) -> str:
        return links.contests(number, **({"year": "" if year is None else str(year), "q": q} | changed))

    years = [(one, n, address(0, year=str(one)), one == year) for one, n in years_of(run.ends)]
    return {
        "years": years, "sections": by_year(rows), "page": page, "n_pages": -(-found.total // CONTEST_ROWS),
        "pages": address, "total": found.total, "form": {"q": q, "year": year}, "games": run.manifest.games,
    }  # fmt: skip


def list_of_contests(columns: Columns, addresses: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the template ``contests``; a contest without a page has no address.

    ``columns``: ``contest_id, name, time_seconds, n_players, winner``, of periods of games also ``n_games``.
    """
    names = ("time_seconds", "winner", *(["n_games"] if "n_games" in columns else []))
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True)]
    called = zip(rows, *(columns[name] for name in ("contest_id", "name", "n_players")), addresses, strict=True)
    return [row | {"name": name or key, "n_players": n or 0, "address": to} for row, key, name, n, to in called]


def by_year(rows: Sequence[dict[str, Any]]) -> list[tuple[int | None, list[dict[str, Any]]]]:
    """Rows of the list in sections of one year each; None of contests without a time."""
    return [(year, list(part)) for year, part in groupby(rows, key=lambda row: year_of(row["time_seconds"]))]


def site_pages(
    columns: Columns, addresses: Sequence[str], address: Callable[[int], str], most: int
) -> list[dict[str, Any]]:
    """The pages of the list on a site, latest contests first; ``address`` is that of a page.

    ``columns``, ``addresses``: as for :func:`list_of_contests`, oldest first.
    ``most``: the newest ones that are listed.
    """
    rows = list_of_contests(columns, addresses)[-most:][::-1]
    starts = range(0, max(len(rows), 1), CONTEST_ROWS)
    first: dict[int, int] = {}  # the first row of each year
    for i, row in enumerate(rows):
        if (year := year_of(row["time_seconds"])) is not None:
            first.setdefault(year, i)
    ends = np.array([row["time_seconds"] or 0 for row in rows], np.int64)
    years = [(year, n, f"{address(first[year] // CONTEST_ROWS)}#y{year}", False) for year, n in years_of(ends)]
    return [
        {"years": years, "sections": by_year(rows[start : start + CONTEST_ROWS]), "page": page, "n_pages": len(starts),
         "pages": address, "total": len(rows), "form": None, "games": "n_games" in columns}
        for page, start in enumerate(starts)
    ]  # fmt: skip


def years_of(ends: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """The years of some ends, UTC seconds, 0 if unknown, and how many there are in each; the latest year first."""
    known = ends[ends != 0]
    years, counts = np.unique(known.astype("M8[s]").astype("M8[Y]").astype(np.int64) + 1970, return_counts=True)
    return [(year, n) for year, n in zip(years.tolist(), counts.tolist(), strict=True) if 0 < year < 9999][::-1]
