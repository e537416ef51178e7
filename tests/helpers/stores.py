"""An object store for tests: moto's server in a process of its own, and a proxy before it that counts and fails."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from helpers.tables import ORDER, TABLES
from helpers.timeouts import TIMEOUT

from ranklake.storage import Lake

CONDITIONS = ("if-none-match", "if-match")
# Answers instead of the store's: to any request, and to one with a condition
_ANSWERS = {
    "refuse": (503, "SlowDown", "Reduce your request rate."),
    "throttle": (429, "TooManyRequests", "Reduce your request rate."),
}
_OF_CONDITIONS = {
    "unimplemented": (501, "NotImplemented", "A header you provided implies functionality that is not implemented"),
    "conflict": (409, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflict."),
}
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


@contextmanager
def server(folder: Path, **variables: str) -> Iterator[str]:
    """Start a store on a free port of this machine; its address."""
    log = folder / "moto.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as out, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, **variables}
    ) as process:  # fmt: skip
        try:
            give_up = time.monotonic() + TIMEOUT
            while (found := re.search(rb"Running on (http://127\.0\.0\.1:[0-9]+)", log.read_bytes())) is None:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < give_up, "the store did not start"
                time.sleep(0.02)
            yield found[1].decode()
        finally:
            process.kill()


def environment(address: str) -> dict[str, str]:
    """What tells every client where the store is, and who asks."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "3",
        "FSSPEC_S3": json.dumps({"config_kwargs": {"read_timeout": TIMEOUT}}),  # of a slow or held request
    }


def objects(url: str) -> dict[str, bytes]:
    """Every object of a lake except leases, and its bytes, by its path in the lake."""
    import s3fs

    store, root = s3fs.S3FileSystem(skip_instance_cache=True), url.removeprefix("s3://")
    names = [name for name in store.find(root) if "/lease-" not in name]
    return {name.removeprefix(f"{root}/"): store.cat_file(name) for name in names}


def published_in(url: str) -> dict[str, pa.Table]:
    """The published tables of the run ``run`` in a store, each in order; empty if nothing was published."""
    from deltalake import DeltaTable

    options = {"allow_http": "true"}
    found = {
        name: DeltaTable(f"{url}/published/run/{name}", storage_options=options).to_pyarrow_table()
        for name in (TABLES if Lake.open(url).list("published/run") else ())
    }
    return {name: table.sort_by([(column, "ascending") for column in ORDER[name]]) for name, table in found.items()}


def is_lease_put(request: str) -> bool:
    """Whether a request writes a lease, as heartbeats do: these come by time."""
    return request.startswith("PUT") and "/lease-" in request


class Proxy(ThreadingHTTPServer):
    """Passes requests on to a store.

    ``seen``: ``METHOD key`` of each request, ``LIST prefix`` of listings; as they came. ``fault``: what to do with such
    a request: ``""`` pass it on, ``"lose"`` its answer, ``"refuse"`` or ``"throttle"`` it; if it has a condition,
    ``"ignore"`` all, or ``"ignore If-Match"``; answer ``"unimplemented"`` or ``"conflict"``; ``"odd"``, answer a
    condition that is not true with a code of no standard. ``on_loss``: called when the store has answered, before the
    client knows of the loss.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.host = urlsplit(address).netloc
        self.seen: list[str] = []
        self.fault: Callable[[str], str] = lambda _: ""
        self.on_loss: Callable[[], None] = lambda: None
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is none of ours."""


@contextmanager
def proxy(address: str) -> Iterator[Proxy]:
    """A proxy before the store at ``address``."""
    with Proxy(address) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@contextmanager
def reachable(folder: Path) -> Iterator[Proxy]:
    """A store behind a proxy, which every client of this process and of those it starts talks to."""
    with server(folder) as address, proxy(address) as made, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(made.address).items():
            patch.setenv(name, value)
        yield made


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer is two writes: the second would wait 40 ms for an acknowledgement
    server: Proxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        _, _, path, query, _ = urlsplit(self.path)
        prefix = re.search("prefix=([^&]*)", query)
        what = f"LIST {prefix[1] if prefix else ''}" if "list-type" in query else f"{self.command} {path}"
        self.server.seen.append(what)
        fault = self.server.fault(what)
        headers = dict(self.headers.items())
        conditions = [name for name in headers if name.lower() in CONDITIONS]
        if fault in _ANSWERS or (conditions and fault in _OF_CONDITIONS):
            self._answer_error(*(_ANSWERS | _OF_CONDITIONS)[fault])
            return
        for name in conditions if fault.startswith("ignore") else ():
            if fault in ("ignore", f"ignore {name}"):
                del headers[name]
        connection = http.client.HTTPConnection(self.server.host, timeout=TIMEOUT)
        try:
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data, headers = answer.read(), dict(answer.getheaders())
        finally:
            connection.close()
        if fault == "lose":
            self.server.on_loss()
            self.close_connection = True
            self.connection.close()
            return
        if fault == "odd" and answer.status == 412:
            self._answer_error(412, "ConditionNotMet", "The object is another one.")
            return
        self._answer(answer.status, headers, data)

    def _answer_error(self, status: int, code: str, message: str) -> None:
        self._answer(status, {}, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())

    def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        for name, value in headers.items():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""
