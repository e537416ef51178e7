"""A request with what its address says, and an answer; the JSON of matches, their results and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ...http.server.problems import Problem
from ..engine import Answer, Conflict

if TYPE_CHECKING:
    from ..engine import Reply
    from ..matches.answers import Result
    from ..matches.match import MatchError

_ENCODER = msgspec.json.Encoder()


@dataclass(slots=True)
class Call:
    """A request.

    ``names``: the variables of its path. ``values``: the parameters of its query. ``by``: the name of its token.
    """

    request: Request
    names: Mapping[str, str]
    values: Mapping[str, Any]
    by: str


class Response(NamedTuple):
    """An answer: a body, or a stream."""

    body: bytes
    status: int = 200
    media: str = "application/json"
    stream: StreamingResponse | None = None


def respond(facts: Any, status: int = 200) -> Response:
    """An answer in JSON; numbers that are not finite are null."""
    return Response(_ENCODER.encode(facts), status)


def problem_of(error: MatchError, where: str = "") -> Problem:
    """The error about a match; ``pointer`` is the place of the value in the body, which has the match at ``where``."""
    return Problem(422, str(error), pointer=where + error.pointer, rule=error.text)


def result_of(answer: Answer, run: str) -> dict[str, Any]:
    """The JSON of the result of a match; with several runs, those of the others by their names."""
    results = answer.results
    found = {"id": answer.match.id, "sequence": answer.sequence, **_numbers(results.get(run))}
    if len(results) > 1:
        found["runs"] = {name: _numbers(result) for name, result in results.items()}
    return found


def reply_to_match(found: Reply, run: str, where: str = "") -> tuple[int, dict[str, Any]]:
    """The status and the JSON of the reply to one match; ``where``: as of :func:`problem_of`."""
    if isinstance(found, Answer):
        return (200 if found.known else 201), result_of(found, run)
    problem = conflict_of(found) if isinstance(found, Conflict) else problem_of(found.error, where)
    return problem.status, problem.document()


def conflict_of(found: Conflict) -> Problem:
    """The error about a match whose id another one has."""
    detail = f"match {found.id} is in the log with another content: {found.pointer or 'the match'} differs"
    return Problem(409, detail, pointer=found.pointer, sequence=found.sequence)


def _numbers(result: Result | None) -> dict[str, Any]:
    if result is None:
        return {"players": [], "expected": []}
    found: dict[str, Any] = {"players": result.players, "expected": result.expected}
    return {**found, "skipped": result.skipped} if result.skipped else found
