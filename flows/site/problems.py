"""The problems of a site: a page for each, kept while it does not change; a list of all; and data for scripts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..answers.problems.published import PublishedProblems
from ..common.text import slug
from ..pages.links import SiteLinks
from ..pages.render import RunFacts, Templates
from ..pages.views.problems import lists, one
from .content import SiteContent, digest
from .shards import encode, numbers
from .writer import SiteFiles, compress

PROBLEM_PAGES = 20_000  # the newest problems have pages, and are in the list
FOLDER = "problems"
SHELLS = ("problem.html", "player-problems.html")  # pages that a script fills
_DECIMALS = 6  # of numbers for scripts, which round them as pages do

_Rows = list[dict[str, Any]]
_Links = Callable[[str], SiteLinks]


class SiteProblems:
    """The problems of a site; :attr:`there` says whether it has any.

    ``look``: digest of the templates, scripts and style sheets. ``links``: of a page that belongs to no version.
    """

    def __init__(self, content: SiteContent, files: SiteFiles, look: str, links: _Links) -> None:
        self._content, self._files, self._look, self._links = content, files, look, links
        self._pages: dict[str, str] = {}
        self.there = bool(content.problem_inputs)

    def write(self, run: RunFacts) -> None:
        """Write the page of each problem that has changed."""
        for row in self._rows if self.there else ():
            found = self._problems.problem(row["problem"])
            contests = self._contests_of(row["rounds"])
            key = digest(self._look, found, contests)
            path = f"{FOLDER}/{slug(row['problem'])}-{key}.html"
            self._pages[row["problem"]] = path
            if not self._files.has(path):
                context = one.problem(found, contests, self._content.format)
                html = Templates.shared().render("problem", run, self._links(path), **context)
                self._files.put(path, html.encode)

    def of_contest(self, contest_id: str) -> _Rows:
        """The problems of a contest, as its page shows them."""
        if not self.there:
            return []
        rows = self._problems.of_contest(contest_id).to_pylist()
        return lists.problem_rows(rows, self._address, {})

    def list_pages(self, links: Callable[[str], SiteLinks]) -> dict[str, dict[str, Any]]:
        """What the template ``problems`` reads for each page of the list, by its path in the version."""
        about, most = self._content.about, lists.PROBLEM_ROWS
        names = dict(zip(about["contest_id"], (name or "" for name in about["name"]), strict=True))
        names = {key: name or key for key, name in names.items()}
        n, found = len(self._rows), {}
        starts = range(0, max(n, 1), most)
        for page, start in enumerate(starts):
            path = f"{FOLDER}/{page:03}.html" if page else f"{FOLDER}.html"
            rows = lists.problem_rows(self._rows[start : start + most], self._address, names)
            found[path] = {
                "rows": rows, "total": n, "all": n, "page": page, "n_pages": len(starts), "chosen": {},
                "pages": links(path).problems, "contest_name": "", **lists.choices(self._problems.tags),
                "form": dict.fromkeys(("contest", "tag", "q", "order", "min", "max"), ""),
            }  # fmt: skip
        return found

    def data(self) -> bytes:
        """All problems in order of the list, one list a column; ``contest`` is the index of a round."""
        columns: dict[str, Any] = {"scale": self._problems.scale, "uncertainty": self._problems.uncertainty}
        columns |= {name: [row[name] for row in self._rows] for name in ("problem", "name", "bound", "tags")}
        for name in ("difficulty", "deviation", "counted", "solved"):
            values = [np.nan if row[name] is None else row[name] for row in self._rows]
            columns[name] = numbers(np.array(values, np.float64), _DECIMALS)
        columns["contest"] = [row["rounds"][0] for row in self._rows]
        columns["page"] = [self._pages[row["problem"]] for row in self._rows]
        return compress(encode(columns))

    def shells(self, run: RunFacts) -> dict[str, str]:
        """The pages that a script fills."""
        if not self.there:
            return {}
        render, (problem, player) = Templates.shared().render, SHELLS
        form = {"chance": "0.8", "width": "0.05", "unsolved": False}
        none: dict[str, Any] = {"handle": None, "rows": [], "page": 0, "form": form}
        return {
            problem: render("problem", run, self._links(problem), problem=None),
            player: render("player_problems", run, self._links(player), **none),
        }

    @cached_property
    def _problems(self) -> PublishedProblems:
        tables = self._content.problem_tables
        contest_ids = self._content.contests.column("contest_id")
        return PublishedProblems(tables, tables.problems, tables.solves, contest_ids)

    @cached_property
    def _rows(self) -> _Rows:
        """The problems with pages, hardest first."""
        rows: _Rows = self._problems.table.to_pylist()
        newest = sorted((row["rounds"][-1] for row in rows), reverse=True)[:PROBLEM_PAGES]
        return [row for row in rows if row["rounds"][-1] >= newest[-1]][:PROBLEM_PAGES]

    def _address(self, problem: str) -> str:
        """The page of a problem; of one without a page, the page of a script that says so."""
        return self._pages.get(problem) or self._links("").problem(problem)

    def _contests_of(self, rounds: list[int]) -> one.Contests:
        about, links = self._content.about, self._links("")
        return [
            (about["name"][at] or about["contest_id"][at], links.contest(about["contest_id"][at]),
             about["time_seconds"][at] or 0)
            for at in rounds
        ]  # fmt: skip
