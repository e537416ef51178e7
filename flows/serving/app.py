"""The ASGI application: routes of the API, errors, and the headers of every answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route

from ..answers.handles import NoPlayerError
from ..answers.leaderboard import BeyondEndError
from ..answers.run import PublishedRun
from ..common.text import quoted
from ..http.server.bodies import Bodies
from ..http.server.counts import ENDPOINT, Counting, RequestCounts
from ..http.server.parameters import parse
from ..http.server.problems import Problem
from ..http.server.streams import Listeners
from .endpoints import ENDPOINTS, MOST_HANDLES, Endpoint, Moved, many_players
from .messages.data_files import data_file
from .messages.responses import (
    NOT_KEPT,
    SAFE,
    TEXT,
    encoding_for,
    kept_bodies,
    missing_player,
    path_of,
    prefers_html,
    query_of,
    render,
    respond,
    respond_if_changed,
    run_of,
)
from .openapi import openapi
from .pages import ServerPages
from .previews import MOST_STANDINGS, Previews
from .state.answer_cache import MOST_CACHED, AnswerCache
from .state.metrics import Metrics
from .state.served_runs import ServedRuns
from .state.versions import version_events
from .state.workers import Workers

_LOG = logging.getLogger(__name__)
_API = "/api/v1/runs"
_NO_PAGES = ("/api/", "/data/")  # programs ask there
MOST_BODY = 1 << 20  # bytes of a request with handles

Handler = Callable[[Request], Awaitable[Response]]


def create_app(served: ServedRuns, refresh_seconds: float = 2.0, public_url: str = "") -> Starlette:
    """The application over published runs; 0 ``refresh_seconds`` never ask for a new version.

    ``public_url``: absolute address of the server for its readers, without a slash at the end; empty if not known.

    Handlers find what they share in ``app.state``.
    """
    return _Api(served, refresh_seconds, public_url).app()


class _Api:
    def __init__(self, served: ServedRuns, refresh_seconds: float, public_url: str) -> None:
        self._served, self._refresh_seconds, self._public = served, refresh_seconds, public_url
        self._cache = kept_bodies(MOST_CACHED)
        self._requests, self._listeners = RequestCounts(), Listeners()
        self._metrics = Metrics(self._requests, served, self._cache)
        self._previews, self._workers, self._bodies = Previews(served.lake), Workers(), Bodies()

    def app(self) -> Starlette:
        pages = ServerPages()
        routes = [
            self._route("/healthz", self._health),
            self._route("/metrics", self._show_metrics),
            self._route("/openapi.json", self._openapi),
            self._route(_API, self._runs),
            *(self._route(_path(endpoint), self._of_run(endpoint)) for endpoint in ENDPOINTS),
            self._route(f"{_API}/{{run}}/events", self._events),
            self._route("/data/{run}/{path:path}", self._data),
            Route(f"{_API}/{{run}}/players", self._counted("players", self._post_players), methods=["POST"]),
            Route(f"{_API}/{{run}}/preview", self._counted("preview", self._preview), methods=["POST"]),
            *pages.routes(),
        ]
        cors = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["GET", "HEAD", "POST"],
                          expose_headers=["ETag", "Last-Modified"])  # fmt: skip
        errors: Any = {
            Problem: _on_problem, NoPlayerError: _on_no_player, BeyondEndError: _on_beyond_end,
            HTTPException: _on_http, Exception: _on_bug,
        }  # fmt: skip
        middleware = [Middleware(Counting, self._requests), Middleware(AnswerCache, self._served, self._cache), cors]
        app = Starlette(routes=routes, middleware=middleware, exception_handlers=errors, lifespan=self._lifespan)
        app.router.redirect_slashes = False
        app.state.end_streams, app.state.served, app.state.pages = self._listeners.close, self._served, pages
        app.state.public = self._public
        app.state.previews, app.state.workers, app.state.bodies = self._previews, self._workers, self._bodies
        return app

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        if self._refresh_seconds:
            self._served.start(self._refresh_seconds)
        try:
            yield
        finally:
            self._listeners.close()
            await run_in_threadpool(self._served.close)

    def _route(self, path: str, handler: Handler) -> Route:
        return Route(path, self._counted(path, handler), methods=["GET"])  # and HEAD

    def _counted(self, name: str, handler: Handler) -> Handler:
        async def counted(request: Request) -> Response:
            request.scope[ENDPOINT] = name
            return await handler(request)

        return counted

    def _of_run(self, endpoint: Endpoint) -> Handler:
        async def answer(request: Request) -> Response:
            run = run_of(request)
            values = dict(parse(endpoint.parameters, request.query_params.multi_items()))
            if endpoint.variable:
                values[endpoint.variable] = request.path_params[endpoint.variable]
            try:
                return await respond_if_changed(
                    request, run.manifest.etag, run.manifest.time_seconds,
                    lambda: render(endpoint.answer(run, values), values.get("format") or "json", _about(run)),
                    quick=endpoint.quick and not endpoint.is_long(values), long=endpoint.is_long(values),
                )  # fmt: skip
            except Moved as moved:
                path = endpoint.path.replace(f"{{{endpoint.variable}}}", quote(moved.name, safe=""))
                root = request.scope.get("root_path", "")
                return RedirectResponse(f"{root}{_API}/{run.name}{path}{query_of(request)}", 301, SAFE)

        return answer

    async def _runs(self, request: Request) -> Response:
        parse((), request.query_params.multi_items())
        runs = self._served.runs
        return await respond_if_changed(
            request, self._served.etag, self._served.time_seconds,
            lambda: render({"runs": [run.facts for run in runs.values()]}, "json", {}),
        )  # fmt: skip

    async def _post_players(self, request: Request) -> Response:
        """The same as GET for more handles than an address has room for."""
        run, rule = run_of(request), f"must be a JSON object with a list `handles` of 1 to {MOST_HANDLES} texts"
        try:
            async with self._bodies.read(request, MOST_BODY) as data:
                handles = msgspec.json.decode(data, type=_Handles).handles
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Problem(400, f"the body {rule}: {error}", rule=rule) from None
        if not 1 <= len(handles) <= MOST_HANDLES:
            raise Problem.of_parameter("handles", f"{len(handles)} handles", rule)
        answer = lambda: render(many_players(run, handles), "json", _about(run))  # noqa: E731
        return await respond(request, answer, SAFE | NOT_KEPT, long=True)

    async def _preview(self, request: Request) -> Response:
        """The change of every participant of a contest that is not rated yet."""
        parse((), request.query_params.multi_items())
        run = run_of(request)
        async with self._bodies.read(request, MOST_STANDINGS) as data:
            encoding = encoding_for(request.headers.get("accept-encoding", ""))
            answer = lambda: self._previews.answer(run, data, encoding)  # noqa: E731
            return await respond(request, answer, SAFE | NOT_KEPT, long=True)

    async def _events(self, request: Request) -> Response:
        """A stream of events, one for each new version."""
        parse((), request.query_params.multi_items())
        name = run_of(request).name
        headers = SAFE | {"cache-control": "no-store", "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(headers=headers, media_type="text/event-stream")
        events = version_events(self._listeners, lambda: self._served.runs.get(name))
        return self._listeners.stream(events, headers)

    async def _data(self, request: Request) -> Response:
        path = request.path_params["path"]
        response = data_file(self._served.lake, run_of(request), path, request.headers)
        response.headers.update(SAFE)
        return response

    async def _health(self, request: Request) -> Response:
        body = render({"status": "ok", "runs": len(self._served.runs)}, "json", {})
        return Response(body.data, headers=SAFE | {"cache-control": "no-store"}, media_type=body.media_type)

    async def _show_metrics(self, request: Request) -> Response:
        return Response(
            self._metrics.text(), headers=SAFE | {"cache-control": "no-store"}, media_type="text/plain; version=0.0.4"
        )

    async def _openapi(self, request: Request) -> Response:
        root, runs = request.scope.get("root_path", ""), list(self._served.runs)
        return await respond_if_changed(
            request, self._served.etag, self._served.time_seconds,
            lambda: render(openapi(root, runs), "json", {}),
        )  # fmt: skip


class _Handles(msgspec.Struct):
    handles: list[str]


def _path(endpoint: Endpoint) -> str:
    """The route; a variable may have any text."""
    return f"{_API}/{{run}}" + endpoint.path.replace("}", f":{TEXT}}}")


def _without_slash(request: Request) -> str:
    """The address of a request without slashes at its end, if there is a page; else empty.

    Starlette's own redirect has the header ``Host`` in it and, behind a proxy, another scheme.
    """
    raw, path = request.scope["raw_path"].decode("latin-1"), str(request.scope["path"])
    if not raw.endswith("/") or raw.startswith("//"):  # which names a host
        return ""
    scope = {**request.scope, "path": path.rstrip("/")}
    found = any(route.matches(scope)[0] is not Match.NONE for route in request.app.routes)
    return raw.rstrip("/") + query_of(request) if found else ""


def _about(run: PublishedRun) -> dict[str, Any]:
    return {"run": run.name, "version": run.manifest.etag}


async def _on_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    pages: ServerPages = request.app.state.pages
    if not path_of(request).startswith(_NO_PAGES) and prefers_html(request.headers):
        return await run_in_threadpool(pages.problem, request, problem)
    body = msgspec.json.encode(problem.document())
    headers = SAFE | {"cache-control": "no-store", "vary": "Accept"} | problem.headers
    return Response(body, problem.status, headers, media_type="application/problem+json")


async def _on_no_player(request: Request, error: Exception) -> Response:
    assert isinstance(error, NoPlayerError)
    return await _on_problem(request, await missing_player(request, error, run_of(request)))


async def _on_beyond_end(request: Request, error: Exception) -> Response:
    assert isinstance(error, BeyondEndError)
    facts: dict[str, Any] = {
        "value": str(error.start),
        "rule": f"must be less than {error.total:,}, the number of rows, or 0",
    }
    facts |= {"total": error.total, "last": error.last, "limit": error.limit}
    return await _on_problem(request, Problem(404, str(error), parameter="start", **facts))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and (address := _without_slash(request)):
        return RedirectResponse(address, 307, SAFE)
    detail = {404: "there is no such address; /openapi.json lists all", 405: f"{request.method} is not possible here"}
    response = await _on_problem(request, Problem(error.status_code, detail.get(error.status_code, error.detail)))
    response.headers.update(error.headers or {})
    return response


async def _on_bug(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s failed", request.method, quoted(path_of(request)), exc_info=error)
    return await _on_problem(request, Problem(500, "the server failed; its log has the reason"))
