"""Fixtures of the tests of clusters and of sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from helpers.server import Server, serving

from ranklake.flows.engines import relay
from ranklake.flows.engines.actors import DaskActorGroup

Strike = Callable[..., None]
StrikeMessage = Callable[[str, Callable[[DaskActorGroup], None], float], list[int]]


@pytest.fixture
def strike(monkeypatch: pytest.MonkeyPatch) -> Strike:
    """Call a function once, before the first call of a phase to workers of Dask.

    This call has a timeout of ``seconds``. All others keep theirs: they may be slow.
    """

    def at(phase: str, blow: Callable[[], object], seconds: float | None = None) -> None:
        call_all, struck = DaskActorGroup.call_all, []

        def watched(self: DaskActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
            if not struck and any(name == phase for name, _ in [*to_all, *calls[0]]):
                struck.append(phase)
                blow()
                limits = self._cluster.limits
                limits = limits if seconds is None else replace(limits, reply_seconds=seconds)
                with monkeypatch.context() as patch:
                    patch.setattr(self._cluster, "limits", limits)
                    return call_all(self, calls, rows, to_all)
            return call_all(self, calls, rows, to_all)

        monkeypatch.setattr(DaskActorGroup, "call_all", watched)

    return at


@pytest.fixture
def strike_message(monkeypatch: pytest.MonkeyPatch) -> StrikeMessage:
    """Call a function once, after the third chunk of the first message of a phase; returns the chunks sent by then.

    This message has a timeout of ``seconds``. All others keep theirs: they may be slow.
    """

    def at(phase: str, blow: Callable[[DaskActorGroup], None], seconds: float) -> list[int]:
        call_all, send = DaskActorGroup.call_all, relay.Outbox.send
        groups, sent, struck = list[DaskActorGroup](), list[int](), list[int]()

        def watched(self: DaskActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
            if any(name == phase for name, _ in to_all):
                groups.append(self)
                if not struck:
                    with monkeypatch.context() as patch:
                        patch.setattr(self._cluster, "limits", replace(self._cluster.limits, reply_seconds=seconds))
                        return call_all(self, calls, rows, to_all)
            return call_all(self, calls, rows, to_all)

        async def sending(self: relay.Outbox, chunk: relay.Chunk) -> None:
            await send(self, chunk)
            if groups and not struck:
                sent.append(chunk.number)
                if len(sent) == 3:
                    assert len(set(sent)) == 1
                    struck.extend(sent)
                    blow(groups[0])

        monkeypatch.setattr(DaskActorGroup, "call_all", watched)
        monkeypatch.setattr(relay.Outbox, "send", sending)
        return struck

    return at


@pytest.fixture
def server() -> Iterator[Server]:
    """A site on this machine that answers nothing yet."""
    with serving() as opened:
        yield opened
