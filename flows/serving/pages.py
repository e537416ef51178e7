"""The routes of the HTML pages, of the pictures to embed, and of the static files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from time import time
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..answers.leaderboard import BOTH_WAYS
from ..answers.run import PublishedRun
from ..http.server.parameters import Parameter, parse_form
from ..http.server.problems import Problem
from ..pages.colours import title_styles
from ..pages.files import package_files, static_digest
from ..pages.graph import VIEWS
from ..pages.links import ServerLinks
from ..pages.pictures import style_policy
from ..pages.render import POLICY, Templates
from ..pages.views import contest_list, home
from ..pages.views import contests as contests_page
from ..pages.views import distribution as distribution_page
from ..pages.views import groups as groups_page
from ..pages.views import leaderboard as leaderboard_page
from ..pages.views import periods as periods_page
from ..pages.views import players as players_page
from ..pages.views import preview as preview_page
from ..pages.views import run as run_page
from ..pages.views.graph_data import Window
from . import problem_pages
from .endpoints import MOST_COMPARED, Moved, check_title, group_of, no_contest, season_of
from .messages.responses import NOT_KEPT, TEXT, Body, respond, respond_if_changed, run_of
from .previews import FORM, MOST_REPEATED, MOST_STANDINGS, KeptPreview, read_form
from .shared_files import SharedFiles, links_of
from .state.served_runs import ServedRuns

_HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
_HTML = "text/html; charset=utf-8"
_NO_PREVIEW = (
    "This preview is not kept any more: the ratings have changed since, or many others have followed. Send the "
    "standings again."
)
_EMBEDDED = {"cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*"}

Context = Callable[[PublishedRun, ServerLinks, Mapping[str, Any]], dict[str, Any]]

_OF_GRAPH = (
    Parameter("view", "text", "What the graph shows: ratings, or places over time.", "rating", choices=tuple(VIEWS)),
    Parameter("from", "time", "The first day of the graph."),
    Parameter("to", "time", "The last day of the graph."),
)
_PLAYER = "/{run}/p/{handle}"
_CONTEST = "/{run}/c/{contest_id}"
PARAMETERS = {  # of the query, by route; a page sees no others
    "/{run}": (
        Parameter("q", "text", "Part of a handle, to find its page."),
        Parameter("to", "text", "Number of a row, or part of a handle, to find on the leaderboard.", None, 1, 1000),
        Parameter("page", "integer", "Number of the page of the leaderboard.", 0, 0, 9_999_999),
        Parameter("player", "text", "A handle whose row is marked.", "", 0, 1000),
        Parameter("active", "text", "Only players with a contest in this time before the last one.", "",
                  choices=(*leaderboard_page.ACTIVE, leaderboard_page.ALL)),
        Parameter("group", "text", "Only players with a value of an attribute, as `country:PL`.", None, 1, 1000),
        Parameter("title", "text", "Only players with this title.", None, 1, 1000),
        Parameter("at", "time", "The leaderboard at this time."),
        Parameter("season", "text", "Only the players of this season, at its end.", None, 0, 100),
        Parameter("order", "text", "Order of the rows, descending; after a - ascending.", "rating",
                  choices=BOTH_WAYS),
    ),
    "/{run}/contests": (
        Parameter("q", "text", "Part of the name or id of a contest.", "", 0, 100),
        Parameter("year", "integer", "Only contests of a year, UTC.", None, 1, 9998),
        Parameter("page", "integer", "Number of the page.", 0, 0, 9_999_999),
    ),
    "/{run}/compare": (
        Parameter("h", "handles", "Handles with commas between them.", (), 0, MOST_COMPARED),
        Parameter("page", "integer", "Number of the page of common contests.", 0, 0, 9_999_999),
        *_OF_GRAPH,
    ),
    _PLAYER: (Parameter("page", "integer", "Number of the page of the rounds.", 0, 0, 9_999_999), *_OF_GRAPH),
    "/{run}/distribution": (
        Parameter("handle", "text", "A player to show.", None, 1, 1000),
        Parameter("handle2", "text", "Another player to show.", None, 1, 1000),
        Parameter("active", "text", "Only players with a contest in this time before the end.", "",
                  choices=tuple(leaderboard_page.ACTIVE)),
        Parameter("year", "integer", "Ratings at the end of a year, UTC.", None, 1, 9998),
        Parameter("log", "text", "With a logarithmic axis.", "", choices=("0", "1")),
    ),
    _CONTEST: (
        Parameter("page", "integer", "Number of the page of the standings.", 0, 0, 9_999_999),
        Parameter("q", "text", "Only participants with this in the name.", "", 0, 100),
    ),
    "/{run}/preview": (
        Parameter("result", "text", "The digest of a preview that is kept.", None, 1, 100),
        Parameter("page", "integer", "Number of the page of its changes.", 0, 0, 9_999_999),
        Parameter("q", "text", "Only participants with this in the name.", "", 0, 100),
    ),
    **problem_pages.PARAMETERS,
}  # fmt: skip


class ServerPages:
    """The pages of a server."""

    def __init__(self) -> None:
        self._templates = Templates.shared()
        self._started = time()
        self._look = _digest(b"".join([static_digest().encode(), *package_files("templates").values()]))

    def routes(self) -> list[BaseRoute]:
        """Routes of all pages, after those of the API: a run may have any name."""
        contest, player = f"/{{run}}/c/{{contest_id:{TEXT}}}", f"/{{run}}/p/{{handle:{TEXT}}}"
        return [
            Route("/", self._runs),
            Route("/static/titles/{run}.css", self._titles),
            *SharedFiles(self._player, self._contest).routes(),
            Route("/{run}", self._first),
            self._page("/{run}/contests", "contests", _contests),
            self._page("/{run}/distribution", "distribution", _distribution, ("handle", "handle2", "year")),
            self._page("/{run}/groups", "groups", lambda run, links, _: groups_page.groups(run.groups_table, links)),
            self._page("/{run}/compare", "compare", _compare, ("h",)),
            self._page(problem_pages.LIST, "problems", problem_pages.listed),
            self._page(f"{problem_pages.LIST}/{{problem:{TEXT}}}", "problem", problem_pages.problem),
            Route("/{run}/preview", self._preview, methods=["GET", "POST"]),
            Route(f"{player}/graph.svg", self._picture("graph")),
            Route(f"{player}/badge.svg", self._picture("badge")),
            Route(f"{player}/problems", self._player_problems),
            Route(contest, self._contest),
            Route(player, self._player),
        ]

    def problem(self, request: Request, problem: Problem) -> Response:
        """An error as a page, with links to what is similar."""
        links = links_of(request)
        run, root = request.app.state.served.runs.get(links.run), links.root
        shown: dict[str, Any] = {
            "title": problem.document()["title"],
            "detail": problem.without_hint,
            "heading": "",
            "within": run is not None,
        }
        if run is None:
            near = [(one, ServerLinks(root, one).home) for one in problem.facts.get("runs", ())]
            html = self._templates.plain("error", near=near, root=root, **shown)
        else:
            facts, names = run_page.facts(run), problem.facts.get("near", ())
            if "contest_id" in request.path_params:
                near = [(one, links.contest(one)) for one in names]
            elif "problem" in request.path_params:
                near = [(one, links.problem(one)) for one in names]
            else:
                near = [(facts.name_of(one), links.player(one)) for one in names]
            if "last" in problem.facts:
                near, shown["heading"] = [("the last page", _last_page(request, problem))], "There is"
            html = self._templates.render("error", facts, links, near=near, **shown)
        headers = _HEADERS | {"cache-control": "no-store", "vary": "Accept"} | problem.headers
        return Response(html, problem.status, headers, media_type="text/html")

    def _page(self, path: str, template: str, context: Context, long: tuple[str, ...] = ()) -> Route:
        """The route of a page; with the parameters ``long`` it is a long computation."""

        async def answer(request: Request) -> Response:
            given = request.query_params
            return await self._render(request, template, context, path, any(given.get(name) for name in long))

        return Route(path, answer)

    async def _contest(self, request: Request) -> Response:
        """A contest, or a period of games; one whose id differs in case alone is elsewhere."""
        template = "period" if run_of(request).manifest.games else "contest"
        try:
            return await self._render(request, template, _contest, _CONTEST)
        except Moved as moved:
            return RedirectResponse(links_of(request).contest(moved.name), 301, _HEADERS)

    async def _runs(self, request: Request) -> Response:
        """All runs; the leaderboard if there is one run."""
        served: ServedRuns = request.app.state.served
        runs, root = served.runs, links_of(request).root
        if len(runs) == 1:
            return RedirectResponse(ServerLinks(root, *runs).home, 307, _HEADERS)

        def make() -> Body:
            cards = [home.card(run, ServerLinks(root, name)) for name, run in runs.items()]
            return Body(self._templates.plain("runs", cards=cards, root=root).encode(), _HTML)

        return await respond_if_changed(request, f"{served.etag}-{self._look}", served.time_seconds, make, _HEADERS)

    async def _first(self, request: Request) -> Response:
        """The leaderboard, or, with ``q``, the best match of a search without scripts."""
        run, given = run_of(request), _given(request, "/{run}")
        if given["to"] is not None:
            to = await request.app.state.workers.run(lambda: _jump(run, links_of(request), given), long=True)
            return RedirectResponse(to, 303, _HEADERS)
        if (wanted := given["q"]) is not None:
            search = lambda: run.search(wanted[:100], 1).column("handle").to_pylist()  # noqa: E731
            found = await request.app.state.workers.run(search, long=True)
            return RedirectResponse(links_of(request).player(found[0] if found else wanted), 303, _HEADERS)
        long = given["at"] is not None or bool(given["season"])
        return await self._render(request, "leaderboard", _leaderboard, "/{run}", long=long)

    async def _player(self, request: Request) -> Response:
        """A player, the same under an old name; several handles with commas are compared."""
        run, handle = run_of(request), request.path_params["handle"]
        if (current := run.handles.current(handle)) is None and "," in handle:
            parameter, *_ = PARAMETERS["/{run}/compare"]
            compare: Context = lambda run, links, given: _compare(run, links, {**given, "h": parameter.read(handle)})  # noqa: E731
            return await self._render(request, "compare", compare, _PLAYER, long=True)
        if current not in (None, handle):
            return RedirectResponse(links_of(request).player(current), 301, _HEADERS)
        return await self._render(request, "player", _one_player, _PLAYER, long=_of_places(request))

    async def _player_problems(self, request: Request) -> Response:
        """The problems that a player solves with a chance."""
        run, handle = run_of(request), request.path_params["handle"]
        if (current := run.handles.current(handle)) is None and (whole := f"{handle}/problems") in run.handles:
            request.path_params["handle"] = whole
            return await self._player(request)
        if current not in (None, handle):
            return RedirectResponse(links_of(request).player_problems(current), 301, _HEADERS)
        return await self._render(request, "player_problems", problem_pages.for_player, problem_pages.OF_PLAYER)

    async def _preview(self, request: Request) -> Response:
        """The form for a preview; by POST with the changes, or with the reason why there are none.

        Further pages of the changes have an address; they are those that are kept, and are not computed again.
        """
        run, previews, workers = run_of(request), request.app.state.previews, request.app.state.workers
        given = _given(request, "/{run}/preview")
        if request.method != "POST":
            if given["result"] is None:
                return await self._render(request, "preview", lambda run, links, given: preview_page.NONE | FORM)
            kept = previews.kept(run, given["result"])
            return await self._previewed(request, FORM, given, kept)
        async with request.app.state.bodies.read(request, MOST_STANDINGS) as body:
            form = await workers.run(lambda: read_form(body))
            try:
                result, kept = await workers.run(lambda: previews.of_form(run, form), long=True)
            except Problem as problem:
                response = await self._previewed(request, FORM | form | {"error": problem.detail}, given)
                response.status_code = problem.status
                response.headers.update(problem.headers)
                return response
            again = form
            if len(form["standings"]) + len(form["entrants"]) > MOST_REPEATED:
                again = {"teams": form["teams"], "long": True}
            return await self._previewed(request, FORM | again, given | {"result": result}, kept)

    async def _previewed(
        self, request: Request, form: Mapping[str, Any], given: Mapping[str, Any], kept: KeptPreview | None = None
    ) -> Response:
        """The form with a page of a preview, or with the reason why it is not there."""
        run, links = run_of(request), links_of(request)

        def html() -> Body:
            if kept is None:
                found = {"error": form["error"] or _NO_PREVIEW}
            else:
                found = preview_page.changes(run, links, kept.table, **given) | {"notes": kept.notes}
            page = self._templates.render(
                "preview", run_page.facts(run), links, **{**preview_page.NONE, **form, **found}
            )
            return Body(page.encode(), _HTML)

        response = await respond(request, html, _HEADERS | NOT_KEPT)
        if kept is None:
            response.status_code = 404
        return response

    def _picture(self, name: str) -> Callable[[Request], Any]:
        """The graph or the badge of a player, to embed in other pages."""

        def make(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> Body:
            return Body(players_page.picture(run, given["handle"], name, Window.given(given)).encode(), "image/svg+xml")

        async def answer(request: Request) -> Response:
            run, handle = run_of(request), request.path_params["handle"]
            if (current := run.handles.current(handle)) is None and (whole := f"{handle}/{name}.svg") in run.handles:
                request.path_params["handle"] = whole
                return await self._player(request)
            if current not in (None, handle):
                return RedirectResponse(links_of(request).picture(current, name), 301, _HEADERS)
            response = await self._conditional(request, make, _PLAYER, long=_of_places(request))
            response.headers.update(_EMBEDDED | {"content-security-policy": style_policy(run.titles)})
            return response

        return answer

    async def _render(
        self, request: Request, template: str, context: Context, path: str = "", long: bool = False
    ) -> Response:
        """A page from a template, with the ``PARAMETERS`` of a route; ``long`` as for :func:`respond`."""

        def make(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> Body:
            html = self._templates.render(template, run_page.facts(run), links, **context(run, links, given))
            return Body(html.encode(), _HTML)

        return await self._conditional(request, make, path, long)

    async def _conditional(
        self,
        request: Request,
        make: Callable[[PublishedRun, ServerLinks, Mapping[str, Any]], Body],
        path: str = "",
        long: bool = False,
    ) -> Response:
        """An answer about a run."""
        run, links, given = run_of(request), links_of(request), _given(request, path) | request.path_params
        etag, time_seconds = f"{run.manifest.etag}-{self._look}", run.manifest.time_seconds
        return await respond_if_changed(
            request, etag, time_seconds, lambda: make(run, links, given), _HEADERS, long=long
        )

    async def _titles(self, request: Request) -> Response:
        """The colours of the titles of a run, which change with a release or a publish."""
        data = title_styles(run_of(request).titles).encode()
        body = lambda: Body(data, "text/css")  # noqa: E731
        return await respond_if_changed(request, _digest(data), self._started, body, _HEADERS)


def _last_page(request: Request, problem: Problem) -> str:
    """The address of the last page of a list, for one whose ``page`` is beyond it; of a list without rows, the first.

    Pages may be numbered from 0 or from 1.
    """
    facts, query = problem.facts, dict(request.query_params)
    wanted, path = query.pop("page", ""), quote(str(request.scope["path"]))
    if wanted.isdecimal() and facts["total"]:
        query["page"] = str(int(wanted) + (facts["last"] - int(facts["value"])) // facts["limit"])
    return f"{path}?{urlencode(query)}" if query else path


def _given(request: Request, path: str) -> dict[str, Any]:
    """The ``PARAMETERS`` of a route; None or a default for each that is missing."""
    return parse_form(PARAMETERS.get(path, ()), request.query_params.multi_items())


def _choice(run: PublishedRun, given: Mapping[str, Any]) -> leaderboard_page.Choice:
    """What the parameters of a leaderboard choose; raises Problem."""
    if given["title"] is not None:
        check_title(run, given["title"])
    group = None if given["group"] is None else group_of(run, given["group"])
    return leaderboard_page.Choice.of(run, given, group, season_of(run, given["season"] or None))


def _leaderboard(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    return leaderboard_page.leaderboard(run, links, _choice(run, given), given["page"], given["player"])


def _jump(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> str:
    """The address of the row that a visitor looks for; that of the player's page, which is an error, without one."""
    found = _choice(run, given).find(run, given["to"])
    if found is None:
        return links.player(given["to"])
    choice, row, handle = found
    return f"{links.leaderboard(row // leaderboard_page.BOARD_ROWS, **choice.query(player=handle))}#here"


def _contests(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    return contest_list.contests(run, links, given["page"], given["year"], given["q"])


def _distribution(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    return distribution_page.of_run(run, links, given)


def _compare(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    return players_page.compare(run, links, run.handles.listed(given["h"]), given["page"], Window.given(given))


def _of_places(request: Request) -> bool:
    """Whether a graph shows places, which are counted for the first request."""
    return request.query_params.get("view") == "place"


def _one_player(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    return players_page.player(run, links, given["handle"], given["page"], Window.given(given))


def _contest(run: PublishedRun, links: ServerLinks, given: Mapping[str, Any]) -> dict[str, Any]:
    page = periods_page.period if run.manifest.games else contests_page.contest
    try:
        return page(run, links, given["contest_id"], given["page"], given["q"])
    except KeyError:
        raise no_contest(run, given["contest_id"]) from None


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
