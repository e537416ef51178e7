"""Connections to the scheduler of a Dask cluster, with the certificates of Dask's own settings.

Before a connection with TLS, a separate one finds what Dask does not name: a certificate that one side refuses, or a
scheduler without TLS. A scheduler with TLS ends a connection without it at once, and is looked at then.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from types import ModuleType
from typing import Any, TypeVar
from weakref import WeakSet

from ..common.extras import need
from .actors import one_line
from .protocols import EngineError

T = TypeVar("T")

PROBE_SECONDS = 2.0  # timeout for each answer to the separate connection
PAGE = "docs/cluster.md"

_open: set[str] = set()  # addresses already warned about
_clients: WeakSet[Any] = WeakSet()  # of :func:`connect`, until the end of :func:`disconnect`

log = logging.getLogger("ranklake.cluster")


def connect(address: str, seconds: float, security: Any = None, **options: Any) -> Any:
    """A Dask client of the scheduler at ``address``, which answers within so many seconds.

    ``security``: a ``distributed.Security``; by default that of Dask's settings (``distributed.comm.tls``).
    Raises MissingExtraError: Dask is not installed.
    Raises EngineError: the address is invalid, no scheduler answers, one side refuses the other's certificate, or only
    one side uses TLS.
    """
    distributed = import_dask("a Dask cluster")
    if "://" not in address:
        address = f"tcp://{address}"
    scheme, place = address.partition("://")[0], _place(address)
    try:
        distributed.comm.registry.get_backend(scheme)
    except ValueError:
        raise EngineError(f"a scheduler's address is tls://host:8786 or tcp://host:8786, got {address}") from None
    if security is None:
        security = _security_of_settings(distributed, address)
    if place is not None and security is not None:  # faults that a retry would not change
        if scheme == "tcp" and security.require_encryption:
            raise EngineError(
                f"{address} is not encrypted, and Dask's settings require it (distributed.comm.require-encryption); "
                f"start scheduler and workers with certificates, and connect to tls:// ({PAGE})"
            )
        context = _context(security, scheme, address)
        if context is not None and scheme == "tls":
            _try_tls(place, context, address, security)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).addFilter(_is_of_others)
    try:
        client = call_with_timeout(
            seconds + 1.0,
            lambda: distributed.Client(address, timeout=seconds, security=security, set_as_default=False, **options),
        )
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        if place is not None and scheme == "tcp" and _speaks_tls(place):
            raise EngineError(
                f"the scheduler at {address} requires TLS; use tls://{address[6:]} with a certificate of its cluster "
                f"({PAGE})"
            ) from error
        raise EngineError(
            f"no Dask scheduler answers at {address} ({one_line(error)}); start one with `dask scheduler`, or "
            "look up its address, which it prints at its start"
        ) from error
    _clients.add(client)
    if place is not None and scheme == "tcp" and address not in _open and not _is_loopback(place[0]):
        _open.add(address)
        log.warning(
            "the connection to %s is neither encrypted nor authenticated: anyone who reaches the cluster's ports can "
            "run code there and here; use tls:// (%s)",
            address,
            PAGE,
        )
    return client


def disconnect(client: Any) -> None:
    """Close a client of :func:`connect`. Until the end, Dask logs what it cancels, also after the status is closed."""
    try:
        client.close()
    finally:
        _clients.discard(client)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether Dask logs something while no connection of :func:`connect` is open; the engine itself reports losses."""
    if _clients:
        log.debug("%s: %s", record.name, record.getMessage())
    return not _clients


def import_dask(purpose: str) -> ModuleType:
    """The package ``distributed``, which reads the user's settings when it is imported.

    Raises MissingExtraError, EngineError: it is not installed; its settings cannot be read.
    """
    try:
        return need("distributed", "cluster", purpose)
    except ValueError as error:
        raise EngineError(f"Dask's settings cannot be read: {one_line(error)}") from error


def call_with_timeout(seconds: float | None, call: Callable[[], T], to_its_end: bool = False) -> T:
    """The result of a call that has no timeout of its own; one that takes longer goes on in the background.

    ``to_its_end``: an interrupt is raised after the call. A cluster that is started or closed halfway fails at the end
    of the process, where Dask closes it again.
    """
    result: Future[T] = Future()

    def work() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    try:
        threading.Thread(target=work, name="ranklake-call", daemon=True).start()
        wait([result], seconds)
    except BaseException:
        if to_its_end:
            wait([result], seconds)
        raise
    if not result.done():
        raise TimeoutError(f"no answer for {seconds:.0f} s")
    return result.result()


def _security_of_settings(distributed: Any, address: str) -> Any:
    """Dask's security settings; None if they name a function that loads them, which Dask then calls."""
    from dask import config

    if config.get("distributed.client.security-loader", None):
        return None
    try:
        return distributed.Security()
    except (ValueError, TypeError, ImportError) as error:
        raise EngineError(f"Dask's settings for TLS are wrong ({one_line(error)}); see {PAGE}") from error


def _place(address: str) -> tuple[str, int] | None:
    """Host and port; None for addresses without them: clusters in this process and other transports."""
    scheme, _, rest = address.partition("://")
    if scheme not in ("tcp", "tls"):
        return None
    host, _, port = rest.rstrip("/").rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise EngineError(f"a scheduler's address is {scheme}://host:8786, with a port, got {address}")
    return host.strip("[]"), int(port)


def _context(security: Any, scheme: str, address: str) -> ssl.SSLContext | None:
    config = security.get_tls_config_for_role("client")
    files = {"ca-file": config["ca_file"], "client.cert": config["cert"], "client.key": config["key"]}
    missing = [name for name, given in files.items() if not given and name != "client.key"]
    if missing:  # the key may be in the certificate's file
        if scheme == "tls":
            raise EngineError(
                f"{address} needs certificates, and Dask's settings have no "
                f"{' and no '.join(f'distributed.comm.tls.{name}' for name in missing)}; set them in a file of "
                f"~/.config/dask or as DASK_DISTRIBUTED__COMM__TLS__CA_FILE and the like ({PAGE})"
            )
        return None
    for name, given in files.items():
        if given and "\n" not in given and not os.access(given, os.R_OK):
            raise EngineError(f"cannot read {given} (distributed.comm.tls.{name} of Dask's settings)")
    try:
        context: ssl.SSLContext = security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:
        named = ", ".join(given if "\n" not in given else name for name, given in files.items() if given)
        raise EngineError(f"no matching certificate and key in {named} ({one_line(error)}); see {PAGE}") from error
    return context


def _try_tls(place: tuple[str, int], context: ssl.SSLContext, address: str, security: Any) -> None:
    """Raise ``EngineError`` if a handshake fails; a scheduler that does not answer at all is left to Dask.

    Dask's own errors do not tell: a refused client sees the alert or only an end of file, as it writes before it reads,
    and a client that meets a scheduler without TLS can then not be closed for twice its timeout.
    """
    error = _handshake(place, context)
    if not isinstance(error, ssl.SSLError):
        return
    if isinstance(error, ssl.SSLCertVerificationError):
        raise EngineError(
            f"the certificate of the scheduler at {address} is refused: {error.verify_message}; it must be valid now "
            f"and signed by the CA in {_named(security.tls_ca_file)} ({PAGE})"
        ) from error
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if "alert" in reason:
        raise EngineError(
            f"the scheduler at {address} refuses the certificate {_named(security.tls_client_cert)} ({reason}); it "
            f"must be valid now and signed by the cluster's CA ({PAGE})"
        ) from error
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"):
        raise EngineError(
            f"the scheduler at {address} does not use TLS; start it with certificates ({PAGE}), or use "
            f"tcp://{address[6:]} where every machine on the network is trusted"
        ) from error
    raise EngineError(f"no TLS with the scheduler at {address} ({reason}); see {PAGE}") from error


def _named(given: str) -> str:
    return "memory" if "\n" in given else given


def _speaks_tls(place: tuple[str, int]) -> bool:
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    error = _handshake(place, anybody)
    return error is None or (isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""))


def _handshake(place: tuple[str, int], context: ssl.SSLContext) -> OSError | None:
    """The error of a connection, of a handshake of TLS, or of the server's answer to it; None without an error."""
    try:
        with socket.create_connection(place, PROBE_SECONDS) as plain, context.wrap_socket(plain) as tls:
            tls.recv(1)  # only now the server has accepted or refused this client
    except OSError as error:  # also that of TLS
        return error
    return None


def _is_loopback(host: str) -> bool:
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
