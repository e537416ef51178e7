"""A server of raw bytes on the loopback: it sends what a test yields, and breaks the protocol on request."""

from __future__ import annotations

import datetime
import ipaddress
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import pytest

from ranklake.flows.http.pace import Clock

Talk = Callable[[bytes], Iterator[bytes]]  # from the head of a request to the pieces that are sent
PIECE_SECONDS = 0.002  # between two pieces
GIVE_UP_SECONDS = 60.0  # until an endless response ends: a client without a deadline fails its test, and does not hang


class NoSleep(Clock):
    """The real time, without the pauses between requests."""

    def sleep(self, seconds: float) -> None:
        pass


@dataclass
class RawServer:
    """What a test knows of its server: the port, and the heads of the requests that arrived."""

    port: int
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


def response(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole response with its length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def drip(first: bytes, again: bytes) -> Talk:
    """A response that begins with ``first`` and goes on with ``again`` without an end."""

    def talk(head: bytes) -> Iterator[bytes]:
        yield first
        yield from repeat(again)

    return talk


@contextmanager
def _accepting(
    serve: Callable[[socket.socket], None], server: RawServer, over: threading.Event, listener: socket.socket
) -> Iterator[None]:
    """Serve each connection in a thread of its own; at the end ``over`` is set and all threads have ended."""
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            if over.is_set():
                connection.close()
                return
            server.connections += 1
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield
    finally:
        over.set()
        with suppress(OSError):  # it wakes the thread that accepts
            socket.create_connection(("127.0.0.1", server.port), 1.0).close()
        for thread in [accepting, *threads]:
            thread.join()
        listener.close()


@contextmanager
def raw_serving(talk: Talk, context: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """A server that responds to each request with the pieces of ``talk``; with ``context`` it speaks TLS.

    The connection stays open between responses. It is closed when ``talk`` yields ``b""``.
    """
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    server = RawServer(listener.getsockname()[1])

    def serve(plain: socket.socket) -> None:
        with suppress(OSError), plain:
            plain.settimeout(GIVE_UP_SECONDS)
            connection = plain if context is None else context.wrap_socket(plain, server_side=True)
            with connection:
                while head := _head(connection):
                    server.heads.append(head)
                    give_up = Clock().monotonic() + GIVE_UP_SECONDS
                    for piece in talk(head):
                        if not piece or over.is_set() or Clock().monotonic() > give_up:
                            return
                        connection.sendall(piece)
                        over.wait(PIECE_SECONDS)

    with _accepting(serve, server, over, listener):
        yield server


@contextmanager
def relay(
    port: int,
    whole_bytes: int | None = None,
    *,
    connect: bool = False,
    context: ssl.SSLContext | None = None,
    lost_after: int | None = None,
) -> Iterator[RawServer]:
    """Pass connections on to a port of this machine; what comes back goes on byte by byte after ``whole_bytes``.

    Each connection is reset when ``lost_after`` bytes have passed, in both directions together.

    With ``connect`` it is a proxy, which is told the port first; with ``context`` that is reached by TLS.
    """
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    server = RawServer(listener.getsockname()[1])

    def pass_on(client: socket.socket, site: socket.socket) -> None:
        """In one thread for both directions: two threads cannot use one connection of TLS at a time."""

        def readable() -> list[socket.socket]:
            if isinstance(client, ssl.SSLSocket) and client.pending():  # decrypted bytes that were not read yet
                return [client]
            return select.select([client, site], [], [], GIVE_UP_SECONDS)[0]

        passed = sent = 0
        while ready := readable():
            if lost_after is not None and passed + sent >= lost_after:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if client in ready:
                if not (data := client.recv(65536)):
                    return
                site.sendall(data)
                sent += len(data)
            if site in ready:
                if not (data := site.recv(65536 if whole_bytes is None or passed < whole_bytes else 1)):
                    return
                client.sendall(data)
                passed += len(data)
                over.wait(0 if whole_bytes is None else PIECE_SECONDS)

    def serve(plain: socket.socket) -> None:
        with suppress(OSError), plain:
            plain.settimeout(GIVE_UP_SECONDS)
            client = plain if context is None else context.wrap_socket(plain, server_side=True)
            with client, socket.create_connection(("127.0.0.1", port), GIVE_UP_SECONDS) as site:
                if connect:
                    server.heads.append(_head(client))
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                pass_on(client, site)

    with _accepting(serve, server, over, listener):
        yield server


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server with a certificate for 127.0.0.1, and of a client that trusts it."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=str(path))


def _head(connection: socket.socket) -> bytes:
    """The head of the next request; nothing if the client has closed the connection."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            return b""
        head += piece
    return head
