"""Requests: their paths, the run they name, and whether the client is a browser."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request

from ...answers.handles import NoPlayerError
from ...answers.run import PublishedRun
from .problems import Problem

TEXT = "text"
"""A variable of a path that takes any text is written {handle:text}: handles and ids of contests may have slashes and
line ends, and Starlette's own `path` ends at a line end."""


class _Text(Convertor[str]):
    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(TEXT, _Text())


def path_of(request: Request) -> str:
    """The path of a request below the root path; ``request.url`` would have the header ``Host`` in it."""
    return str(request.scope["path"]).removeprefix(request.scope.get("root_path", ""))


def query_of(request: Request) -> str:
    """The query of a request with its question mark."""
    query = request.scope["query_string"].decode("latin-1")
    return f"?{query}" if query else ""


def run_of(request: Request) -> PublishedRun:
    """The current state of the run that a path names; raises Problem: it is not published."""
    name, runs = request.path_params["run"], request.app.state.served.runs
    if name not in runs:
        command = f"; `ranklake publish --run {name}` publishes a run" if name.isascii() and len(name) < 100 else ""
        raise Problem(404, f"run {name[:100]!r} is not published{command}", runs=list(runs))
    found: PublishedRun = runs[name]
    return found


async def missing_player(request: Request, error: NoPlayerError, run_name: str) -> Problem:
    """The error about a player that a run does not have; without similar handles if too many searches wait."""
    try:
        near = await request.app.state.workers.run(lambda: error.near, long=True)
    except Problem:
        near = []
    return Problem.no_player(error.handle, near, run_name)


def prefers_html(headers: Mapping[str, str]) -> bool:
    """Whether the header ``Accept`` names HTML, as that of a browser does, and not JSON with a greater weight."""
    weights = {}
    for item in headers.get("accept", "").lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        weight = next((part.partition("=")[2] for part in parameters if part.startswith("q=")), "1")
        try:
            weights[kind] = float(weight)
        except ValueError:
            weights[kind] = 0.0
    html = weights.get("text/html", 0.0)
    return html > 0.0 and html >= max(weights.get(f"application/{kind}", 0.0) for kind in ("json", "problem+json"))
