"""The process of `ranklake rated`: the server, the thread of the runs, signals, and the end in good order."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...common.extras import need
from .tokens import Access

if TYPE_CHECKING:
    from ..engine import LiveRuns
    from .writer import Opened

_SWITCH_SECONDS = (
    0.0005  # in which the other thread gets its turn; Python's own 5 ms are longer than an answer may take
)
_LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How the process answers.

    ``port``: 0 takes a free one. ``batch``: matches that share one write to the log, at most.
    ``queue``: matches that wait for the log, at most.
    ``access``: who may ask; without tokens, ``host`` must be this machine.
    """

    host: str = "127.0.0.1"
    port: int = 8090
    batch: int = 256
    queue: int = 4_096
    access: Access = field(default_factory=lambda: Access(None))

    def __post_init__(self) -> None:
        if self.access.local and self.host not in _LOCAL:
            rule = f"--host {self.host} lets other machines change ratings: give --tokens FILE"
            raise ValueError(f"{rule}, with a line `name:sha256` for each client, or leave --host out")


def need_extra() -> None:
    """Raise ``MissingExtraError`` if a package of the extra ``rated`` is not installed."""
    for package in ("starlette", "uvicorn", "httptools", "prometheus_client"):
        need(package, "rated", "rating matches as they happen")


def run_service(
    names: Sequence[str],
    opening: Callable[[], AbstractContextManager[Opened]],
    options: ServiceOptions,
    on_start: Callable[[str, LiveRuns], None] = lambda address, runs: None,
) -> None:
    """Answer requests about runs until SIGINT or SIGTERM; then finish what is accepted, and close the runs.

    The socket listens before the runs are open: until then the answers are 503, and `/healthz` tells that the process
    works.

    ``names``: of the runs. ``opening``: opens them with their log; entered and left in a thread of its own.
    ``on_start``: called with the address when matches are accepted.

    Raises LakeError: the address is in use; and whatever ``opening`` raises, or the thread of the runs later.
    """
    from ...http.server.running import http_server, listening
    from .service import Service

    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.disable()  # until the runs are open: what is read for them stays, and collections would look at it in vain
    with listening(options.host, options.port) as (sockets, address):

        def ready() -> None:
            gc.collect()
            gc.freeze()  # or each full collection looks at all handles
            gc.enable()
            on_start(address, service.writer.opened().runs)

        def failed() -> None:
            server.should_exit = True

        service = Service(names, opening, options, ready, failed)
        server = http_server(service.app)
        try:
            server.run(sockets=sockets)
        finally:
            gc.enable()
        if (error := service.writer.failure) is not None:
            raise error
