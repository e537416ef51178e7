"""What an unauthenticated client is answered on the listening ports of some processes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress

import psutil
from distributed import Security

Port = tuple[str, int]
SECONDS = 60.0  # of an answer: a server of Dask writes first, or refuses
ALERT = b"\x15"  # the first byte of a record with which TLS refuses
REQUEST = b"GET /health HTTP/1.0\r\n\r\n"


def listening(pids: Iterable[int]) -> set[Port]:
    """Address and port of every listening socket of these processes."""
    connections = [one for pid in pids for one in psutil.Process(pid).net_connections("inet")]
    return {(one.laddr.ip, one.laddr.port) for one in connections if one.status == psutil.CONN_LISTEN}


def plain_answer(port: Port) -> bytes:
    """What comes back over plain TCP, alerts of TLS left out."""
    with socket.create_connection(port, SECONDS) as plain, suppress(OSError):
        plain.sendall(REQUEST)
        answer = plain.recv(1000)
        return b"" if answer.startswith(ALERT) else answer
    return b""


def context_of(security: Security | None) -> ssl.SSLContext:
    """A client with the certificate of ``security``, or with none, that accepts any server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if security is not None:
        context = security.get_connection_args("client")["ssl_context"]
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def answer(port: Port, context: ssl.SSLContext) -> bytes:
    """What comes back over TLS; nothing if the client is refused."""
    try:
        with socket.create_connection(port, SECONDS) as plain, context.wrap_socket(plain) as tls:
            return tls.recv(1000)
    except (ssl.SSLError, ConnectionError, TimeoutError):
        return b""
