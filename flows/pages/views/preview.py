"""The changes of a contest that is not rated yet, in pages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...answers.run import PublishedRun
from ..links import ServerLinks
from ..rows import first_rows, page_edges
from .contests import PAGE_ROWS, check_page, named

NONE: dict[str, Any] = {"q": "", "page": 0, "n_pages": 0, "n_found": 0, "n_all": 0, "first": 0, "address": None}
"""Of the template ``preview`` without changes."""


def changes(
    run: PublishedRun, links: ServerLinks, table: pa.Table, result: str, page: int = 0, q: str = ""
) -> dict[str, Any]:
    """A page of changes.

    ``table``: all changes, with the columns of a preview. ``result``: the digest under which they are kept.
    ``page``, ``q``: as for :func:`.contests.standings`, which has the same pages; raises as that.
    """
    names = {name: table.column(name).to_pylist() for name in ("handle", "team") if name in table.column_names}
    n_all = _participants(names)
    if q:
        rows = list(named(names, q, run.names))
        table, names = (
            table.take(pa.array(rows, pa.int64())),
            {name: [values[i] for i in rows] for name, values in names.items()},
        )
    edges = page_edges(names.get("team", ()), table.num_rows, PAGE_ROWS)
    check_page(page, edges, PAGE_ROWS)
    shown = table.slice(edges[page], edges[page + 1] - edges[page]) if len(edges) > 1 else table
    if not run.has_performance:
        shown = shown.drop_columns("perf")
    return {
        "rows": shown.to_pydict(), "q": q, "page": page, "n_pages": len(edges) - 1, "n_found": _participants(names),
        "n_all": n_all, "first": edges[page], "n_rows": table.num_rows, "result": result,
        "address": lambda number, q=q: links.preview(result, number, q),
    }  # fmt: skip


def _participants(names: dict[str, list[Any]]) -> int:
    """Their number: teams count as one."""
    return len(first_rows(names["team"])) if "team" in names else len(names["handle"])
