"""Lists of problems: all with filters, those of a contest, and those for a player."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ....answers.leaderboard import Page
from ....answers.run import PublishedRun
from ...links import ServerLinks
from .drawing import seen
from .one import SIGNS, Contests

PROBLEM_ROWS = 200  # of a page of the list
_TAGS_LISTED = 200  # that a list to choose from has; of more, the tag is typed
ORDERS = {
    "difficulty": "the hardest",
    "-difficulty": "the easiest",
    "solved": "the most solved",
    "-solved": "the least solved",
    "-deviation": "the most certain",
}
"""Orders of a list in words: which is first."""


def problem_rows(
    rows: Sequence[Mapping[str, Any]], address: Callable[[str], str], contests: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Rows of the template ``problem_table``. ``address``: of a problem. ``contests``: their names by id."""
    return [
        {**row, "name": row["name"] or row["problem"], "address": address(row["problem"]), "seen": seen(row),
         "sign": SIGNS[row["bound"]], "contest_name": contests.get(row["contest"], row["contest"])}
        for row in rows
    ]  # fmt: skip


def listed(run: PublishedRun, links: ServerLinks, page: Page, given: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the list; ``given`` are the parameters of its address."""
    assert run.problems is not None
    names = ("contest", "tag", "q", "order", "min", "max")
    chosen = {name: _text(given[name]) for name in names if given[name] not in (None, "", "difficulty")}
    return {
        "rows": _rows(run, links, page), "total": page.total, "page": given["page"], "chosen": chosen,
        "n_pages": -(-page.total // PROBLEM_ROWS), "pages": partial(links.problems, **chosen),
        "form": {name: chosen.get(name, "") for name in names}, "all": run.problems.table.num_rows,
        **choices(run.problems.tags),
        "contest_name": contest_names(run, [given["contest"]])[given["contest"]] if given["contest"] else "",
    }  # fmt: skip


def choices(tags: Sequence[str]) -> dict[str, Any]:
    """What a list lets its readers choose from, given all tags."""
    few = list(tags) if len(tags) <= _TAGS_LISTED else []
    return {"tags": few, "tagged": bool(tags), "orders": list(ORDERS.items())}


def for_player(
    run: PublishedRun, links: ServerLinks, handle: str, page: Page, given: Mapping[str, Any]
) -> dict[str, Any]:
    """A page of the problems that a player solves with a chance."""
    chosen = {name: _text(given[name]) for name in ("chance", "width", "unsolved") if given[name] != ""}
    return {
        "handle": handle, "rows": _rows(run, links, page), "total": page.total, "page": given["page"],
        "n_pages": -(-page.total // PROBLEM_ROWS), "pages": partial(links.player_problems, handle, **chosen),
        "form": chosen | {"unsolved": given["unsolved"] == "1"}, "chosen": chosen,
        "chance": given["chance"], "width": given["width"],
    }  # fmt: skip


def of_contest(run: PublishedRun, links: ServerLinks, contest_id: str) -> list[dict[str, Any]]:
    """The rows of the problems of a contest, in its order; none without results."""
    if run.problems is None:
        return []
    return problem_rows(run.problems.of_contest(contest_id).to_pylist(), links.problem, {})


def contests_of(run: PublishedRun, links: ServerLinks, contest_ids: Sequence[str]) -> Contests:
    """Name, address and end of some contests."""
    table = _contests(run, contest_ids)
    columns = (table.column(name).to_pylist() for name in ("contest_id", "name", "time_seconds"))
    return [(name or key, links.contest(key), time or 0) for key, name, time in zip(*columns, strict=True)]


def contest_names(run: PublishedRun, contest_ids: Sequence[str]) -> dict[str, str]:
    """The names of some contests of the run, by id."""
    table = _contests(run, list(dict.fromkeys(contest_ids)))
    pairs = zip(table.column("contest_id").to_pylist(), table.column("name").to_pylist(), strict=True)
    return {key: name or key for key, name in pairs}


def _contests(run: PublishedRun, contest_ids: Sequence[str]) -> pa.Table:
    known = run.contests_table.column("contest_id")
    return run.contests_table.take(pc.index_in(pa.array(contest_ids, pa.string()), value_set=known.combine_chunks()))


def _rows(run: PublishedRun, links: ServerLinks, page: Page) -> list[dict[str, Any]]:
    rows = page.rows.to_pylist()
    return problem_rows(rows, links.problem, contest_names(run, [row["contest"] for row in rows]))


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
