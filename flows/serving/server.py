"""Run the server in this process until it is stopped."""

from __future__ import annotations

import errno
import gc
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from ranklake.storage import Lake, LakeError

from ..common.extras import need

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

    from .connection import Bounds

_GRACE_SECONDS = 5  # for requests under way when the server is stopped
# uvloop accepts one connection of a socket between two rounds of requests, so that under load new clients of one socket
# waited for seconds.
_N_SOCKETS = 1 if sys.platform == "win32" else 32
_OTHER_FILES = 256  # open files that are no connections: the index, the sockets that listen, a file for each thread


def serve(
    lake: Lake,
    runs: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int = 8080,
    root_path: str = "",
    refresh_seconds: float = 2.0,
    public_url: str = "",
    on_start: Callable[[str, list[str]], None] = lambda address, runs: None,
) -> None:
    """Serve published runs by HTTP until SIGINT or SIGTERM.

    ``runs``: names; all published runs of the lake if empty.
    ``port``: 0 takes a free one.
    ``root_path``: path below which a proxy shows the server; the proxy removes it from requests.
    ``public_url``: as for :func:`ranklake.flows.serving.app.create_app`.
    ``on_start``: called with the address and the names of the runs when the server accepts connections.
    Raises LakeError: a run is not published, an index is damaged, or the address is in use.
    Raises MissingExtraError: a package of the extra ``serve`` is not installed.
    """
    for package in ("starlette", "uvicorn", "httptools", "jinja2", "prometheus_client"):
        need(package, "serve", "serving")
    from .app import create_app
    from .state.served_runs import ServedRuns

    served = ServedRuns(lake, runs)
    gc.freeze()  # or each full collection looks at all handles
    with _listen(host, port) as listener:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}{root_path}"
        server = http_server(create_app(served, refresh_seconds, public_url), root_path)
        on_start(address, list(served.runs))
        server.run(sockets=[listener, *(listener.dup() for _ in range(_N_SOCKETS - 1))])


def http_server(app: Starlette, root_path: str = "", bounds: Bounds | None = None) -> uvicorn.Server:
    """The server of an application, not started; by default with as many connections as the process may have files."""
    import uvicorn

    from .connection import BOUNDS, connection_type

    bounds = bounds or replace(BOUNDS, connections=_most_connections(BOUNDS.connections))
    config = uvicorn.Config(
        app, http=connection_type(bounds), root_path=root_path, log_level="warning", access_log=False,
        server_header=False, proxy_headers=False, timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=bounds.idle_seconds,  # type: ignore[arg-type]  # any number
        lifespan="on", ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)
    handle_exit = server.handle_exit

    def end(sig: int, frame: FrameType | None) -> None:
        app.state.end_streams()  # the server waits for open connections before it ends the application
        handle_exit(sig, frame)

    server.handle_exit = end  # type: ignore[method-assign]
    return server


def _most_connections(wanted: int) -> int:
    """The number of connections for which there are open files; the soft limit is raised for them."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft not in (resource.RLIM_INFINITY, hard) and soft < wanted + _OTHER_FILES:
        least = wanted + _OTHER_FILES
        more = least if hard == resource.RLIM_INFINITY else min(least, hard)
        with suppress(OSError, ValueError):  # a system may allow fewer
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
    return wanted if soft == resource.RLIM_INFINITY else min(wanted, max(soft - _OTHER_FILES, soft // 2))


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]  # Python repeats the address
        raise LakeError(f"cannot listen on {host} port {port}: {reason}; {_remedy(error)}") from error


def _remedy(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "end the program that listens there, or choose another --port"
    if isinstance(error, PermissionError):
        return "ports below 1024 need privileges: choose another --port"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "--host is a name or an address of this machine: 127.0.0.1 for this machine alone, 0.0.0.0 for all"
    return "choose another --host or --port"
