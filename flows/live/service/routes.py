"""The addresses of the service: their names, variables and rules; found by the parts of a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from ...http.server.parameters import Parameter
from ...http.server.problems import Problem

if TYPE_CHECKING:
    from .messages import Call, Response

Access = Literal["open", "read", "write"]
LONGEST_ADDRESS = 4_000  # characters of a path


@dataclass(frozen=True, slots=True)
class Route:
    """An address.

    ``path``: with its variables, as in an OpenAPI document. ``name``: of the operation, which clients have.
    ``access``: whether anybody may ask, or who may read, or who may write.
    ``statuses``: of its answers besides errors, with what each means; ``schema``: of the first one.
    ``errors``: statuses of its own errors.
    """

    method: str
    path: str
    name: str
    summary: str
    access: Access
    handler: Callable[[Call], Awaitable[Response]]
    schema: str = ""
    statuses: tuple[tuple[int, str], ...] = ((200, "The answer."),)
    errors: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    media: str = "application/json"


class Routes:
    """Routes by the parts of their paths; of ``runs``, those without another variable are found at once."""

    def __init__(self, routes: tuple[Route, ...], runs: Sequence[str] = ()) -> None:
        self.all = routes
        self._plain = {
            (route.method, route.path.format(run=run).encode()): (route, {"run": run} if "{" in route.path else {})
            for route in routes
            if route.path.replace("{run}", "").count("{") == 0
            for run in runs
        }
        self._found: dict[tuple[str, ...], dict[str, Route]] = {}
        for route in routes:
            self._found.setdefault(_shape(route.path.split("/")[1:]), {})[route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """The route of a request and the values of its variables; raises Problem: there is none.

        ``raw_path``: as the client wrote it, because handles and ids may have slashes.
        """
        if (plain := self._plain.get((method, raw_path))) is not None:
            return plain
        if len(raw_path) > LONGEST_ADDRESS:
            raise Problem(404, f"an address has at most {LONGEST_ADDRESS:,} characters")
        parts = raw_path.decode("latin-1").split("/")[1:]
        methods = self._found.get(_shape(parts))
        if methods is None:
            raise Problem(404, "there is no such address; /openapi.json lists all")
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise Problem(405, f"{method} is not possible here, only {' and '.join(methods)}")
        names = route.path.split("/")[1:]
        values = {name[1:-1]: _text(part) for name, part in zip(names, parts, strict=True) if name[:1] == "{"}
        return route, values


def _shape(parts: list[str]) -> tuple[str, ...]:
    """The parts of a path without its variables, which are the run, and the name after the kind of a thing."""
    if parts[:3] != ["api", "v1", "runs"]:
        return tuple(parts)
    return tuple("" if at in (3, 5) else part for at, part in enumerate(parts))


def _text(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise Problem(404, "an address is UTF-8, percent-encoded") from None
