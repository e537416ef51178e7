"""What the service answers to each address."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from ...http.server.bodies import Bodies
from ...http.server.parameters import Parameter
from ...http.server.problems import Problem
from ..engine import Answer, Conflict, LiveRuns
from ..log.records import Kind, LogUnavailableError, Record
from ..matches.match import Match, MatchError, check_name, error_of, read_match, split_batch
from .events import Event, Events, event_of, event_of_change
from .messages import Call, Response, conflict_of, problem_of, reply_to_match, respond, result_of
from .metrics import Metrics
from .openapi import document
from .proposals import balanced_teams, proposed_match
from .routes import Route, Routes
from .writer import Group, Writer, unavailable

MOST_BODY = 1 << 20  # bytes
MOST_HANDLES = 200
MOST_ROWS = 1_000
T = TypeVar("T")
_RUN = "/api/v1/runs/{run}"
_LIMIT = Parameter("limit", "integer", "Number of rows at most.", 100, 1, MOST_ROWS)
_START = Parameter("start", "integer", "Rows to skip.", 0, 0, 1e9)
_WHY = Parameter("why", "text", "The reason, for the log.", "", 0, 1_000)
_SINCE = Parameter(
    "since", "integer", "Sequence number after which events are wanted; by default the last.", None, 0, 1e18
)


class _Handles(msgspec.Struct, forbid_unknown_fields=True):
    handles: list[str]


class _Teams(msgspec.Struct, forbid_unknown_fields=True):
    teams: list[list[str]]


class _Parties(msgspec.Struct, forbid_unknown_fields=True):
    parties: list[list[str]]
    sizes: tuple[int, int] | None = None


class _Matches(msgspec.Struct):
    matches: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_HAS_MATCHES = msgspec.json.Decoder(_Matches)


@dataclass(frozen=True, slots=True)
class Handlers:
    """The answers, given what the service holds.

    ``names``: the runs. ``bodies``: bounds their bodies together. ``clock``: UTC seconds.
    """

    names: tuple[str, ...]
    writer: Writer
    events: Events
    metrics: Metrics
    bodies: Bodies
    clock: Callable[[], float]

    def routes(self) -> Routes:
        """All addresses."""
        new, known = (
            (201, "The match is accepted and rated."),
            (200, "The match was accepted before; its first result."),
        )
        several = (207, "What became of each match of a list.")
        accepted = ((202, "It is in the log."),)
        return Routes((
            Route("POST", f"{_RUN}/matches", "post_matches", "Accept a match, or a list of them.", "write",
                  self.post_matches, "Result", (new, known, several), (409, 413, 415, 422, 429, 503),
                  body="MatchOrMatches"),
            Route("GET", f"{_RUN}/matches/{{id}}", "get_match", "A match with its result.", "read", self.match,
                  "StoredMatch", errors=(503,)),
            Route("DELETE", f"{_RUN}/matches/{{id}}", "delete_match", "Remove a match: a correction.", "write",
                  self.delete_match, "Accepted", accepted, (409, 503), (_WHY,)),
            Route("GET", f"{_RUN}/players/{{handle}}", "get_player", "A player.", "read", self.player, "LivePlayer",
                  errors=(503,)),
            Route("POST", f"{_RUN}/players", "post_players", "Several players, of one state.", "read",
                  self.post_players, "LivePlayers", errors=(413, 415, 422, 503), body="Handles"),
            Route("PUT", f"{_RUN}/players/{{handle}}/ban", "ban_player", "Refuse matches with a player from now on.",
                  "write", self.ban, "Accepted", accepted, (422, 503), (_WHY,)),
            Route("DELETE", f"{_RUN}/players/{{handle}}/ban", "unban_player", "Accept matches with a player again.",
                  "write", self.unban, "Accepted", accepted, (422, 503), (_WHY,)),
            Route("POST", f"{_RUN}/quality", "post_quality", "The chances of a proposed match; nothing is written.",
                  "read", self.quality, "Quality", errors=(413, 415, 422, 503), body="Teams"),
            Route("POST", f"{_RUN}/balance", "post_balance", "Two even teams; parties stay together.", "read",
                  self.balance, "Balance", errors=(413, 415, 422, 503), body="Parties"),
            Route("GET", f"{_RUN}/leaderboard", "get_leaderboard", "Players, best first.", "read", self.leaderboard,
                  "LiveLeaderboard", errors=(503,), parameters=(_START, _LIMIT)),
            Route("GET", "/api/v1/runs", "list_runs", "The runs.", "read", self.runs, "LiveRuns"),
            Route("GET", "/api/v1/events", "watch_events", "Events of the log, as they come.", "read", self.watch,
                  errors=(410, 503), parameters=(_SINCE,), media="text/event-stream"),
            Route("GET", "/healthz", "get_health", "Whether the process works.", "open", self.health, "Health"),
            Route("GET", "/readyz", "get_readiness", "Whether the process takes matches.", "open", self.readiness,
                  "Health", errors=(503,)),
            Route("GET", "/metrics", "get_metrics", "Metrics for Prometheus.", "open", self.show_metrics,
                  media="text/plain"),
            Route("GET", "/openapi.json", "get_openapi", "This document.", "open", self.openapi),
        ), self.names)  # fmt: skip

    async def post_matches(self, call: Call) -> Response:
        run, runs = self._run(call), self._runs()
        async with self.bodies.read(call.request, MOST_BODY) as data:
            began = time.perf_counter()
            try:
                if _is_list(data):
                    return await self._accept_list(run, runs, data, call.by)
                match = read_match(data, runs.rules)
            except MatchError as error:
                self.metrics.refuse("invalid")
                raise problem_of(error) from None
            (found,) = await self._accept([match], call.by)
            self.metrics.add("answer", time.perf_counter() - began)
        if isinstance(found, Answer):
            return respond(result_of(found, run), 200 if found.known else 201)
        raise conflict_of(found) if isinstance(found, Conflict) else problem_of(found.error)

    async def _accept_list(self, run: str, runs: LiveRuns, data: bytes, by: str) -> Response:
        began = time.perf_counter()
        found: list[Match | MatchError] = []
        for sent in split_batch(data, runs.rules.limits):
            try:
                found.append(read_match(sent, runs.rules))
            except MatchError as error:
                found.append(error)
        matches = [one for one in found if isinstance(one, Match)]
        self.metrics.refuse("invalid", len(found) - len(matches))
        replies = iter(await self._accept(matches, by) if matches else [])
        results = []
        for at, one in enumerate(found):
            where = f"/matches/{at}"
            if isinstance(one, MatchError):
                problem = problem_of(one, where)
                results.append({"status": problem.status, "error": problem.document()})
            else:
                status, document = reply_to_match(next(replies), run, where)
                results.append({"status": status, ("result" if status < 300 else "error"): document})
        self.metrics.add("answer", time.perf_counter() - began)
        return respond({"results": results}, 207)

    async def _accept(self, matches: list[Match], by: str) -> Any:
        try:
            return await self.writer.accept(matches, by)
        except Problem as problem:
            self.metrics.refuse("queue" if problem.status == 429 else "unavailable", len(matches))
            raise

    def accepted(self, group: Group | Event) -> None:
        """Count a group, and tell those who wait for events of it, or of a change."""
        if isinstance(group, Event):
            self.events.add([group])
            return
        new = []
        for one in group.replies:
            if not isinstance(one, Answer):
                conflict = isinstance(one, Conflict)
                self.metrics.count("conflict") if conflict else self.metrics.refuse("invalid")
            elif one.known:
                self.metrics.count("duplicate")
            else:
                new.append(event_of(one.sequence, one.match))
        self.metrics.count("accepted", len(new))
        if new:
            self.metrics.add("append", group.append_seconds)
        self.metrics.add("rate", group.rate_seconds)
        self.events.add(new)

    async def match(self, call: Call) -> Response:
        run, runs, name = self._run(call), self._runs(), call.names["id"]
        try:
            found = await asyncio.to_thread(runs.match, run, name)
        except LogUnavailableError as error:
            raise unavailable(error.retry_after) from None
        if found is None:
            raise Problem(404, f"no match {name[:200]!r} in the log")
        return respond({"run": run, **_members(found)})

    async def delete_match(self, call: Call) -> Response:
        self._run(call)
        name, why, by, now = call.names["id"], call.values["why"], call.by, self.clock()
        if (await asyncio.to_thread(self._found, name)) is None:
            raise Problem(404, f"no match {name[:200]!r} in the log")
        try:
            found = await self.writer.change(
                lambda runs: event_of_change(runs.remove(name, why, by, now), "remove", name)
            )
        except MatchError as error:  # it is removed already, or released
            raise Problem(409, error.text) from None
        return respond({"sequence": found.sequence}, 202)

    def _found(self, name: str) -> Record | None:
        try:
            return self.writer.opened().log.find([name])[0]
        except LogUnavailableError as error:
            raise unavailable(error.retry_after) from None

    async def ban(self, call: Call) -> Response:
        return await self._ban(call, True)

    async def unban(self, call: Call) -> Response:
        return await self._ban(call, False)

    async def _ban(self, call: Call, banned: bool) -> Response:
        self._run(call)
        name, why, by, now = call.names["handle"], call.values["why"], call.by, self.clock()
        kind: Kind = "ban" if banned else "unban"
        try:
            check_name("/handle", name, self._runs().rules.limits)
        except MatchError as error:
            raise problem_of(error) from None
        found = await self.writer.change(lambda runs: event_of_change(runs.ban(name, banned, why, by, now), kind, name))
        return respond({"sequence": found.sequence}, 202)

    async def player(self, call: Call) -> Response:
        run, handle = self._run(call), call.names["handle"]
        runs = self._runs()
        found, sequence = await _at_once(runs, lambda: runs.player(run, handle))
        if found is None:
            raise Problem(404, f"no player {handle[:200]!r} with a rated match in run {run}")
        return respond({**self._state(run, sequence), **_members(found)})

    async def post_players(self, call: Call) -> Response:
        run, runs = self._run(call), self._runs()
        handles = (await self._read(call, _Handles)).handles
        if not 1 <= len(handles) <= MOST_HANDLES:
            raise _wrong("/handles", f"1 to {MOST_HANDLES} handles, got {len(handles):,}")
        found, sequence = await asyncio.to_thread(runs.players_of, run, handles)
        missing = [handle for handle, one in zip(handles, found, strict=True) if one is None]
        players = [one for one in found if one is not None]
        return respond({**self._state(run, sequence), "players": players, "missing": missing})

    async def quality(self, call: Call) -> Response:
        run, runs = self._run(call), self._runs()
        teams = (await self._read(call, _Teams)).teams
        try:
            return respond(await asyncio.to_thread(proposed_match, runs, run, teams, int(self.clock())))
        except MatchError as error:
            raise problem_of(error) from None

    async def balance(self, call: Call) -> Response:
        run, runs = self._run(call), self._runs()
        sent, now = await self._read(call, _Parties), int(self.clock())
        try:
            return respond(await asyncio.to_thread(balanced_teams, runs, run, sent.parties, sent.sizes, now))
        except MatchError as error:
            raise problem_of(error) from None

    async def leaderboard(self, call: Call) -> Response:
        run, runs = self._run(call), self._runs()
        start, limit = call.values["start"], call.values["limit"]
        board = await asyncio.to_thread(runs.leaderboard, run, start, limit)
        more = {"total": board.n_players, "start": start, "rows": board.players}
        return respond({**self._state(run, board.sequence), **more})

    async def runs(self, call: Call) -> Response:
        return respond({"runs": list(self.names)})

    async def watch(self, call: Call) -> Response:
        log = self.writer.opened().log
        since = call.values["since"]
        last = call.request.headers.get("last-event-id", "")  # of a client that connects again
        if last.isascii() and last.isdecimal() and len(last) < 19:
            since = int(last)
        if call.request.method == "HEAD":
            return Response(b"", media="text/event-stream")
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        events = await self.events.stream(log, since)
        return Response(b"", stream=self.events.listeners.stream(events, headers))

    async def health(self, call: Call) -> Response:
        return respond({"status": "ok"})

    async def readiness(self, call: Call) -> Response:
        self.writer.check()
        return respond({"status": "ready"})

    async def show_metrics(self, call: Call) -> Response:
        return Response(self.metrics.text(), media="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, call: Call) -> Response:
        return respond(document(self.routes().all, self.names))

    def _run(self, call: Call) -> str:
        """The run that the path names; raises Problem: the process does not have it."""
        name = call.names["run"]
        if name not in self.names:
            raise Problem(404, f"the process does not rate run {name[:100]!r}, but {', '.join(self.names)}",
                          runs=list(self.names))  # fmt: skip
        return name

    def _state(self, run: str, sequence: int) -> dict[str, Any]:
        return {"run": run, "sequence": sequence, "stale": self._runs().stale}

    def _runs(self) -> LiveRuns:
        return self.writer.opened().runs

    async def _read(self, call: Call, kind: type[Any]) -> Any:
        """The body, which is JSON of an object."""
        async with self.bodies.read(call.request, MOST_BODY) as data:
            try:
                return msgspec.json.decode(data, type=kind)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise problem_of(error_of(error)) from None


async def _at_once(runs: LiveRuns, ask: Callable[[], T]) -> T:
    """The result of a quick question: here, or in a thread while a group is rated, so that no other request waits."""
    if not runs.lock.acquire(blocking=False):
        return await asyncio.to_thread(ask)
    try:
        return ask()
    finally:
        runs.lock.release()


def _members(found: msgspec.Struct) -> dict[str, Any]:
    return msgspec.structs.asdict(found)


def _is_list(data: bytes) -> bool:
    """Whether a body is an object with ``matches``; other faults are found later."""
    if b"matches" not in data:
        return False
    try:
        return _HAS_MATCHES.decode(data).matches is not msgspec.UNSET
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


def _wrong(pointer: str, rule: str) -> Problem:
    return problem_of(MatchError(pointer, rule))
