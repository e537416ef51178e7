"""A site on this machine that responds to some requests with the exact bytes of a case, at a given rate."""

from __future__ import annotations

import base64
import socket
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from chaos.shrinking import BYTES

HOLD_SECONDS = 5.0  # a connection is held for this time without a response; the client's timeout is shorter
_GZIP = 31  # as zlib counts formats and windows
PIECES = 200  # maximum number of pieces of a slow response


class AnswerServer:
    """Responds to requests in their order: with the responses of ``honest``, by path, or of ``replies``, by number.

    A reply has a ``head`` (latin-1), a ``body`` (bytes), ``mebibytes`` (of zeros, gzipped ``layers`` times, after the
    body), a ``pace`` (seconds between bytes) and an ``end`` (``close``, ``reset`` or ``hold``).
    """

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        self.honest: dict[str, bytes] = {}
        self.replies: dict[int, dict[str, Any]] = {}
        self.requests = 0
        self.ended = threading.Event()

    def script(self, replies: dict[int, dict[str, Any]]) -> None:
        """Set the replies from now on, and count requests from 0. Large bodies are made here, not at the request."""
        for reply in replies.values():
            _zeros(reply["mebibytes"], reply["layers"])
        self.replies, self.requests = replies, 0

    def serve(self) -> None:
        """Serve until the socket is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(HOLD_SECONDS)
            request = b""
            while b"\r\n\r\n" not in request:
                piece = connection.recv(65536)
                if not piece:
                    return
                request += piece
            path = request.split(b" ")[1].decode("latin-1")
            number, self.requests = self.requests, self.requests + 1
            reply = self.replies.get(number)
            if reply is not None:
                self._misbehave(connection, reply)
                return
            body = self.honest.get(path)
            status = "404 Not Found" if body is None else "200 OK"
            head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body or b'')}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode() + (body or b""))

    def _misbehave(self, connection: socket.socket, reply: dict[str, Any]) -> None:
        data = reply["head"].replace("{url}", self.url).encode("latin-1", "replace")
        data += base64.b64decode(reply["body"][BYTES]) + _zeros(reply["mebibytes"], reply["layers"])
        if reply["pace"]:
            size = max(len(data) // PIECES, 1)
            for start in range(0, len(data), size):
                connection.sendall(data[start : start + size])
                if self.ended.wait(reply["pace"]):
                    return
        else:
            connection.sendall(data)
        if reply["end"] == "hold":
            self.ended.wait(HOLD_SECONDS)
        elif reply["end"] == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def answer_server() -> Iterator[AnswerServer]:
    """A server on the loopback, for the length of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = AnswerServer(listening)
        thread = threading.Thread(target=made.serve)
        thread.start()
        try:
            yield made
        finally:
            made.ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@cache
def _zeros(mebibytes: int, layers: int) -> bytes:
    """Gzipped zeros, made in pieces because the memory of this process is measured."""
    if not mebibytes:
        return b""
    squeeze, piece = zlib.compressobj(wbits=_GZIP), bytes(2**20)
    data = b"".join(squeeze.compress(piece) for _ in range(mebibytes)) + squeeze.flush()
    for _ in range(layers - 1):
        data = zlib.compress(data, wbits=_GZIP)
    return data
