"""Fixtures of the tests of clusters and of sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.server import Server, serving

from ranklake.flows.engines.actors import DaskActorGroup

Strike = Callable[..., None]


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
                with monkeypatch.context() as patch:
                    patch.setattr(self._cluster, "timeout", seconds or self._cluster.timeout)
                    return call_all(self, calls, rows, to_all)
            return call_all(self, calls, rows, to_all)

        monkeypatch.setattr(DaskActorGroup, "call_all", watched)

    return at


@pytest.fixture
def server() -> Iterator[Server]:
    """A site on this machine that answers nothing yet."""
    with serving() as opened:
        yield opened
