"""A server in a thread of this process, and clients that send bytes to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from helpers.timeouts import TIMEOUT


@contextmanager
def listening(app: Any, bounds: Any = None) -> Iterator[int]:
    """The port of a server of an application."""
    from ranklake.flows.http.server.running import http_server

    server = http_server(app, bounds=bounds)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def connected(port: int, receive_bytes: int = 0) -> socket.socket:
    """A connection to a server; ``receive_bytes`` limits what the system keeps for a client that does not read."""
    client = socket.socket()
    client.settimeout(TIMEOUT)
    if receive_bytes:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.connect(("127.0.0.1", port))
    return client


def exchange(port: int, *pieces: bytes, more: Iterable[bytes] = ()) -> tuple[bytes, int]:
    """Send pieces, and then more until the server closes; returns its answers and the number of sent bytes."""
    with connected(port) as client:
        received, sent = bytearray(), 0
        reader = threading.Thread(target=_read, args=(client, received))
        reader.start()
        with suppress(OSError):
            for piece in pieces:
                client.sendall(piece)
                sent += len(piece)
            for piece in more:
                if not reader.is_alive():
                    break
                client.sendall(piece)
                sent += len(piece)
        reader.join()
    return bytes(received), sent


def request(path: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: evil.example", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def status_of(answer: bytes) -> int:
    """The status of the first answer; 0 without one."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def _read(client: socket.socket, received: bytearray) -> None:
    with suppress(OSError):
        while part := client.recv(65536):
            received += part
