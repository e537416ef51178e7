"""Fixtures that several folders share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from platforms import reason_to_skip

from ranklake.flows.compilation.compile import compile_parts
from ranklake.flows.engines.base import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.warm import PARTS, SCORES

ENGINES = {
    "serial": Serial,
    "one-thread": lambda: Threads(1),
    "two-threads": lambda: Threads(2),
    "three-threads": lambda: Threads(3),
}

# What starts the tests in the background may ignore Ctrl-C, and so would every process they start: some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels once before several processes run the tests: each would compile what it meets first."""
    if getattr(session.config.option, "numprocesses", None):
        compile_parts([*(f"{system}.{part}" for system in SYSTEMS for part in PARTS), SCORES])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, what Windows cannot run."""
    for item in items if os.name == "nt" else ():
        file = item.path.relative_to(Path(__file__).parent).as_posix()
        if reason := reason_to_skip(f"{file}::{item.name}"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine of one machine in turn."""
    with ENGINES[request.param]() as opened:
        yield opened
