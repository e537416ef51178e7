"""The pages of problems: what their addresses take, and what they show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..answers.run import PublishedRun
from ..http.server.parameters import Parameter
from ..pages.links import ServerLinks
from ..pages.views.problems import lists, one
from ..results.rating_format import RatingFormat
from .endpoints import chosen_problems, one_problem, problems_of

LIST = "/{run}/problems"
OF_PLAYER = "/{run}/p/{handle}/problems"
_PAGE = Parameter("page", "integer", "Number of the page.", 0, 0, 9_999_999)
PARAMETERS = {
    LIST: (
        Parameter("q", "text", "Part of the name or id of a problem.", "", 0, 100),
        Parameter("contest", "text", "Only problems of the contest with this id.", None, 1, 1000),
        Parameter("tag", "text", "Only problems with this tag.", None, 1, 1000),
        Parameter("min", "number", "Lowest difficulty.", None, -1e12, 1e12),
        Parameter("max", "number", "Difficulties below this one.", None, -1e12, 1e12),
        Parameter("order", "text", "Order of the rows.", "difficulty", choices=tuple(lists.ORDERS)),
        _PAGE,
    ),
    OF_PLAYER: (
        Parameter("chance", "number", "The chance of a solve.", 0.8, 0, 1, between=True),
        Parameter("width", "number", "Greatest difference from it.", 0.05, 0, 1),
        Parameter("unsolved", "text", "Only problems that the player has not solved in full.", "", choices=("1",)),
        _PAGE,
    ),
}


def listed(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the list; raises Problem as :func:`chosen_problems`."""
    limit = lists.PROBLEM_ROWS
    page = chosen_problems(run, {**given, "start": given["page"] * limit, "limit": limit})
    return lists.listed(run, links, page, given)


def problem(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    """One problem; raises Problem: there is none with this id."""
    found = one_problem(run, given["problem"])
    contests = lists.contests_of(run, links, found["contest_ids"])
    return one.problem(found, contests, RatingFormat(run.titles, run.manifest.decimals))


def for_player(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    """The problems for a player; raises Problem: the run has none, and as :meth:`PublishedRun.player`."""
    problems_of(run)
    limit, choice = lists.PROBLEM_ROWS, {name: given[name] for name in ("chance", "width")}
    start = given["page"] * limit
    page = run.problems_for(given["handle"], start, limit, **choice, unsolved=given["unsolved"] == "1")
    return lists.for_player(run, links, given["handle"], page, given)
