"""Errors before a cluster is connected: its address, the settings for certificates, and only one side with TLS."""

from __future__ import annotations

import logging
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from ranklake.flows.engines.protocols import EngineError

pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
pytest.importorskip("cryptography", reason="the extra cluster is not installed: no certificates to test with")
import dask.config
import distributed
from helpers.certificates import Authority
from helpers.timeouts import TIMEOUT

from ranklake.flows.engines import connection
from ranklake.flows.engines.connection import call_with_timeout, connect, disconnect

NOWHERE = "tls://127.0.0.1:1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "cluster")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handshake may take long on a slow machine."""
    monkeypatch.setattr(connection, "PROBE_SECONDS", TIMEOUT)


@pytest.fixture
def server(authority: Authority) -> Iterator[str]:
    """Host and port of a server that makes the handshake of TLS and ends the connection."""
    node, context = authority.sign("node"), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(node.certificate, node.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    accepted = listener.accept()[0]
                except OSError:
                    return
                accepted.settimeout(TIMEOUT)
                with accepted, suppress(OSError), context.wrap_socket(accepted, server_side=True):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def refusal(address: str, settings: Mapping[str, object]) -> str:
    with dask.config.set(settings), pytest.raises(EngineError) as caught:
        connect(address, 0.05)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_call_with_timeout__has_the_result_or_the_error_of_the_call() -> None:
    assert call_with_timeout(60.0, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        call_with_timeout(60.0, lambda: 1 // 0)
    ended = threading.Event()
    with pytest.raises(TimeoutError, match="no answer for 0 s"):
        call_with_timeout(0.01, ended.wait)
    ended.set()


@pytest.mark.parametrize(
    "address", ["tls://", "tcp://host", "host", "tls://host:port", "tcp://:1", "tcp://h:65536", "ftp://h:1"]
)
def test_connect__an_invalid_address_is_named(address: str) -> None:
    assert re.search(f"a scheduler's address is .*, got (tcp://)?{address}$", refusal(address, {}))


def test_connect__a_cluster_in_this_process_needs_no_port() -> None:
    assert "no Dask scheduler answers at inproc://nowhere" in refusal("inproc://nowhere", {})


def test_connect__names_missing_and_wrong_settings(authority: Authority, tmp_path: Path) -> None:
    said = refusal(NOWHERE, {})
    assert "have no distributed.comm.tls.ca-file and no distributed.comm.tls.client.cert" in said
    settings = authority.sign("driver").settings()
    gone = {"distributed.comm.tls.client.key": str(tmp_path / "gone")}
    assert f"cannot read {tmp_path / 'gone'} (distributed.comm.tls.client.key" in refusal(NOWHERE, settings | gone)
    foreign = {"distributed.comm.tls.client.key": str(authority.sign("foreign").key)}
    assert "no matching certificate and key in" in refusal(NOWHERE, settings | foreign)
    assert "Dask's settings for TLS are wrong" in refusal(NOWHERE, {"distributed.comm.tls.min-version": 9})


def test_connect__tcp_to_a_server_with_tls_names_the_address_with_tls(server: str) -> None:
    assert f"the scheduler at tcp://{server} requires TLS; use tls://{server} with" in refusal(f"tcp://{server}", {})


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
def test_connect__a_server_of_another_authority_is_refused(
    server: str, authority: Authority, tmp_path: Path, in_memory: bool
) -> None:
    other = Authority(tmp_path / "other")
    settings = authority.sign("driver", trusted=other).settings()
    if in_memory:
        settings = {name: Path(file).read_text(encoding="ascii") for name, file in settings.items()}
    named = "memory" if in_memory else str(other.path)
    assert f"signed by the CA in {named} (" in refusal(f"tls://{server}", settings)


def test_disconnect__logs_of_dask_are_left_out_until_its_end(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """A client that is closed while it connects again logs that after its status is closed."""

    class Client:
        status = "running"

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def close(self) -> None:
            self.status = "closed"
            distributed_log.error("reconnection cancelled")

    distributed_log = logging.getLogger("distributed.client")
    monkeypatch.setattr(distributed_log, "handlers", [caplog.handler])
    monkeypatch.setattr(distributed, "Client", Client)
    disconnect(connect("tcp://127.0.0.1:1", 1.0))
    assert "reconnection cancelled" not in caplog.messages
    distributed_log.error("of a client of others")
    assert "of a client of others" in caplog.messages
