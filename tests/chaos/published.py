"""A small published lake, and the application that serves it, for the length of the suite."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chaos.world import World
from helpers.lakes import contest, lake_of, rate_run, synthetic
from helpers.names import STRANGE
from helpers.wire import listening

from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset


class Log(logging.Handler):
    """All lines of the log since the last look."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def application(world: World) -> Any:
    """The application over the run ``run``."""
    return world.once("application", lambda: _application(world))


def port(world: World, bounds: Any) -> int:
    """The port of a server of the application with bounds."""
    number: int = world.once("port", lambda: listening(application(world), bounds))
    return number


@contextmanager
def watched() -> Iterator[Log]:
    """The log of this process, for the length of the block."""
    log, root = Log(), logging.getLogger()
    root.addHandler(log)
    try:
        yield log
    finally:
        root.removeHandler(log)


def _application(world: World) -> Any:
    from ranklake.flows.serving.app import create_app
    from ranklake.flows.serving.state.served_runs import ServedRuns

    contests = [*synthetic(20), contest("last/1", *STRANGE, "player 1", time_seconds=10**9)]
    lake = lake_of(world.fresh_folder("published") / "lake", contests)
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("old one", "player 1", None, "renamed")
    rate_run(lake)
    publish(lake, "run")
    return create_app(ServedRuns(lake), 0)
