"""The routes of what browsers, crawlers and readers of feeds ask beside the pages: icons, cards, feeds, maps, logos."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from itertools import islice
from mimetypes import guess_type
from time import time

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..answers.run import PublishedRun
from ..http.server.problems import Problem
from ..pages.feeds import ATOM, MANIFEST, MOST_ADDRESSES, XML, manifest, robots, sitemap, sitemap_index
from ..pages.files import package_files, static_digest
from ..pages.links import CARD, FEED, ServerLinks
from ..pages.links import MANIFEST as MANIFEST_NAME
from ..pages.views import shared
from .endpoints import no_contest
from .messages.responses import SAFE, TEXT, Body, respond_if_changed, run_of

_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
_EMBEDDED = {"cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*"}
_LOGO = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_IS_NUMBER = re.compile(r"[0-9]{1,6}").fullmatch
_ROOT_FILES = {"/favicon.ico": "favicon.ico", "/apple-touch-icon.png": "icon-180.png"}

Make = Callable[[PublishedRun, ServerLinks], Body]
Handler = Callable[[Request], Awaitable[Response]]


class SharedFiles:
    """These routes. ``page`` answers with the page of a player or a contest, whose name may end as that of a file."""

    def __init__(self, player_page: Handler, contest_page: Handler) -> None:
        self._files, self._started = package_files("static"), time()
        self._player_page, self._contest_page = player_page, contest_page

    def routes(self) -> list[BaseRoute]:
        """Before the routes of the pages."""
        contest, player = f"/{{run}}/c/{{contest_id:{TEXT}}}", f"/{{run}}/p/{{handle:{TEXT}}}"
        return [
            *(Route(path, self._root_file(name)) for path, name in _ROOT_FILES.items()),
            Route("/robots.txt", self._robots),
            Route("/sitemap.xml", self._index),
            Route("/static/{name}", self._static),
            Route("/static/{digest}/{name}", self._static),
            Route("/{run}/sitemap-{number}.xml", self._sitemap),
            Route(f"/{{run}}/{MANIFEST_NAME}", self._manifest),
            Route(f"/{{run}}/{FEED}", self._feed),
            Route("/{run}/logo-{digest}", self._logo),
            Route(f"{player}/{CARD}", self._of_player(CARD)),
            Route(f"{player}/{FEED}", self._of_player(FEED)),
            Route(f"{contest}/{CARD}", self._contest_card),
        ]

    def _root_file(self, name: str) -> Handler:
        async def answer(request: Request) -> Response:
            return await self._file(request, name, SAFE)

        return answer

    async def _static(self, request: Request) -> Response:
        """A file, kept for ever by its address; without a release in it, or by that of another one, briefly."""
        name = request.path_params["name"]
        if name not in self._files:
            raise Problem(404, f"there is no file {name[:100]!r}")
        lasting = request.path_params.get("digest") == static_digest()
        return await self._file(request, name, SAFE | _FOR_EVER if lasting else SAFE)

    async def _file(self, request: Request, name: str, headers: dict[str, str]) -> Response:
        kind = "text/javascript" if name.endswith(".js") else guess_type(name)[0] or "application/octet-stream"
        body = Body(self._files[name], kind)
        return await respond_if_changed(request, static_digest(), self._started, lambda: body, headers, quick=True)

    async def _robots(self, request: Request) -> Response:
        links = links_of(request)
        body = Body(
            robots(links.root, links.absolute(f"{links.root}/sitemap.xml")).encode(), "text/plain; charset=utf-8"
        )
        return await respond_if_changed(request, static_digest(), self._started, lambda: body, SAFE)

    async def _index(self, request: Request) -> Response:
        """The maps of all runs."""
        served, root = request.app.state.served, _with_address(request)
        found = [
            f"{root}/{name}/sitemap-{number}.xml"
            for name, run in served.runs.items()
            for number in range(-(-shared.n_addresses(run) // MOST_ADDRESSES))
        ]
        body = lambda: Body(sitemap_index(found[:MOST_ADDRESSES]).encode(), XML)  # noqa: E731
        return await respond_if_changed(request, served.etag, served.time_seconds, body, SAFE)

    async def _sitemap(self, request: Request) -> Response:
        run, text = run_of(request), request.path_params["number"]
        _with_address(request)
        number = int(text) if _IS_NUMBER(text) else -1
        if not 0 <= number * MOST_ADDRESSES < shared.n_addresses(run):
            raise Problem(404, f"run {run.name} has no map {text[:20]!r}; /sitemap.xml lists all")

        def make(run: PublishedRun, links: ServerLinks) -> Body:
            start = number * MOST_ADDRESSES
            return Body(sitemap(islice(shared.addresses(run, links), start, start + MOST_ADDRESSES)).encode(), XML)

        return await self._about_run(request, make, long=True)

    async def _manifest(self, request: Request) -> Response:
        def make(run: PublishedRun, links: ServerLinks) -> Body:
            icons = [(links.static(f"icon-{size}.png"), f"{size}x{size}", "image/png") for size in (180, 512)]
            if (logo := run.brand.logo) is not None:
                icons.insert(0, (links.logo(logo.name), "any", logo.media_type))
            return Body(manifest(run.brand.title or run.name, run.brand.description, links.home, icons), MANIFEST)

        return await self._about_run(request, make)

    async def _feed(self, request: Request) -> Response:
        def make(run: PublishedRun, links: ServerLinks) -> Body:
            return Body(shared.contest_feed(run, links).encode(), ATOM)

        return await self._about_run(request, make, long=True)

    async def _logo(self, request: Request) -> Response:
        logo = run_of(request).brand.logo
        if logo is None or f"logo-{request.path_params['digest']}" != logo.name:
            raise Problem(404, "the run has no such logo")
        return await self._about_run(request, lambda run, links: Body(logo.data, logo.media_type), _FOR_EVER | _LOGO)

    def _of_player(self, name: str) -> Handler:
        """The card or the feed of a player."""

        async def answer(request: Request) -> Response:
            run, handle = run_of(request), request.path_params["handle"]
            if (current := run.handles.current(handle)) is None and (whole := f"{handle}/{name}") in run.handles:
                request.path_params["handle"] = whole
                return await self._player_page(request)
            if current not in (None, handle):
                return RedirectResponse(f"{links_of(request).player(str(current))}/{name}", 301, SAFE)

            def make(run: PublishedRun, links: ServerLinks) -> Body:
                if name == FEED:
                    return Body(shared.player_feed(run, links, handle).encode(), ATOM)
                return Body(shared.card_of_player(run, handle), "image/png")

            return await self._about_run(request, make, _EMBEDDED, long=True)

        return answer

    async def _contest_card(self, request: Request) -> Response:
        run, contest_id = run_of(request), request.path_params["contest_id"]
        if run.has_contest(whole := f"{contest_id}/{CARD}"):
            request.path_params["contest_id"] = whole
            return await self._contest_page(request)
        if not run.has_contest(contest_id):
            raise no_contest(run, contest_id)
        make: Make = lambda run, links: Body(shared.card_of_contest(run, contest_id), "image/png")  # noqa: E731
        return await self._about_run(request, make, _EMBEDDED, long=True)

    async def _about_run(
        self, request: Request, make: Make, headers: dict[str, str] | None = None, long: bool = False
    ) -> Response:
        """An answer about the current state of a run; it sees no query."""
        run, links = run_of(request), links_of(request)
        etag = f"{run.manifest.etag}-{static_digest()}"
        body = lambda: make(run, links)  # noqa: E731
        return await respond_if_changed(
            request, etag, run.manifest.time_seconds, body, SAFE | (headers or {}), long=long
        )


def links_of(request: Request) -> ServerLinks:
    """The links of a request: below its root path, with the public address that the operator has named."""
    run = request.path_params.get("run", "")
    return ServerLinks(request.scope.get("root_path", ""), run, request.app.state.public)


def _with_address(request: Request) -> str:
    """The public address; raises Problem without one."""
    public: str = request.app.state.public
    if not public:
        raise Problem(404, "a map has absolute addresses: start the server with --public-url")
    return public
