"""A server of an application in this process: its socket, its connections, its end."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from ranklake.storage import LakeError

if TYPE_CHECKING:
    import uvicorn

    from .connection import Bounds

_GRACE_SECONDS = 5  # for requests under way when the server is stopped
# uvloop accepts one connection of a socket between two rounds of requests, so that under load new clients of one socket
# waited for seconds.
_N_SOCKETS = 1 if sys.platform == "win32" else 32
_OTHER_FILES = 256  # open files that are no connections: an index, the sockets that listen, a file for each thread


@contextmanager
def listening(host: str, port: int, root_path: str = "") -> Iterator[tuple[list[socket.socket], str]]:
    """Sockets that listen, and the address of the server, below ``root_path``; port 0 takes a free one.

    Raises LakeError: the address is in use, or no address of this machine.
    """
    with ExitStack() as opened:
        listener = opened.enter_context(_listen(host, port))
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}{root_path}"
        yield [listener, *(opened.enter_context(listener.dup()) for _ in range(_N_SOCKETS - 1))], address


def http_server(app: Any, root_path: str = "", bounds: Bounds | None = None) -> uvicorn.Server:
    """The server of an application, not started; by default with as many connections as the process may have files.

    ``app.state.end_streams`` is called when the server is told to end.
    """
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
