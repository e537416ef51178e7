"""A polite HTTP client: it names itself, limits its rate, retries transient errors, and stays with its host."""

from __future__ import annotations

from collections.abc import Callable, Collection
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential_jitter

from ..common.text import count, quoted
from ..sources.base import SourceError
from ..sources.sites.documents import Response
from .bounded import ExchangeError
from .pace import Clock, Pace
from .redaction import Secret
from .transport import Part, Transport, TransportResponse

ATTEMPTS = 6  # about a minute of back-off in all; longer faults are left to the next run
LONGEST_WAIT = 300.0  # seconds; a longer pause is left to the next run
MAX_BYTES = 2**28
MAX_REDIRECTS = 5
MAX_SECONDS = 600.0  # for one response, however slowly it arrives
DOCUMENT_SECONDS = 1800.0  # for one document with its redirects, attempts and the pauses between them
MAX_VALIDATOR = 512  # characters of an ETag or Last-Modified; longer ones would fill the index
TIMEOUT = httpx.Timeout(60.0, connect=20.0)
TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DEFAULT_PORTS = {"http": 80, "https": 443}


class _TransientError(Exception):
    """A fault that another attempt may not meet."""

    def __init__(self, rule: str, retry_after: float = 0.0) -> None:
        super().__init__(rule)
        self.retry_after = retry_after


class Client:
    """Requests documents of one site, one at a time.

    ``interval_seconds``: minimum time between the starts of two requests to the same host.
    ``token``: bearer token for the host of ``base_url`` only. It is never stored: a response that repeats it is an
    error, and so is plain HTTP to another machine.
    ``contact``: contact address in the user agent.
    ``pause_seconds``: minimum pause after a 429.
    ``max_bytes``: limit of a decoded response.
    ``on_retry``: called with the reason and the length of each pause before a retry.
    Raises ValueError: the base URL is invalid, or holds a password, which would get into files and messages; or the
    token is invalid, or would be sent unencrypted.
    """

    def __init__(
        self,
        source: str,
        base_url: str,
        *,
        interval_seconds: float,
        token: str = "",
        contact: str = "",
        pause_seconds: float = 0.0,
        max_bytes: int = MAX_BYTES,
        clock: Clock | None = None,
        pace: Pace | None = None,
        on_retry: Callable[[str], None] = lambda why: None,
    ) -> None:
        parts = split_url(base_url)
        if parts is None:
            raise ValueError(f"a base URL is https://host/path, got {quoted(base_url)}")
        variable = f"RANKLAKE_{source.upper()}_TOKEN"
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError(
                f"the base URL of {source} must be scheme, host and path alone; a token goes into the environment "
                f"variable {variable}"
            )
        self._secret = Secret(token, variable)
        if token and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise ValueError(f"{variable} would be sent unencrypted to {base_url}; use https://, or unset the variable")
        self.requests = 0
        self.clock = clock or Clock()
        self._source, self._base = source, base_url.rstrip("/") + "/"
        self._interval, self._pause = interval_seconds, pause_seconds
        self._pace = pace or (_SHARED_PACE if clock is None else Pace())
        self._on_retry = on_retry
        self._http = Transport(
            {"User-Agent": _user_agent(contact)}, max_bytes=max_bytes, timeout=TIMEOUT, monotonic=self.clock.monotonic
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(
        self, path: str, *, etag: str = "", last_modified: str = "", accept: Collection[int] = frozenset({200})
    ) -> Response:
        """The response at a path below the base URL, or at a full URL.

        ``etag``, ``last_modified``: validators of the stored response: the new one may then be a 304.
        ``accept``: HTTP statuses that are not errors.
        Raises SourceError: any other status, no response after several attempts or within half an hour, or a response
        that is too long, redirects to another host, repeats the token or has a coding that was not offered; names the
        URL.
        """
        url = urljoin(self._base, path)
        headers = {"If-None-Match": etag} if etag else {}
        if last_modified:
            headers["If-Modified-Since"] = last_modified
        end = self.clock.monotonic() + DOCUMENT_SECONDS
        retrying = Retrying(
            stop=lambda state: state.attempt_number >= ATTEMPTS or self.clock.monotonic() + state.upcoming_sleep >= end,
            wait=_wait,
            retry=retry_if_exception_type(_TransientError),
            sleep=self.clock.sleep,
            before_sleep=self._report_retry,
            reraise=True,
        )
        try:
            response = retrying(self._follow, url, headers, end, accept)
        except _TransientError as error:
            attempts = retrying.statistics["attempt_number"]
            times = f"after {count(attempts, 'attempt')}"
            raise self._fault(url, f"{error} {times}; run again later, stored responses are kept") from None
        status, body = response.status, response.body
        if self._secret.is_in(body):
            rule = (
                "the response repeats our access token and was not stored; revoke it, and use the site without a token"
            )
            raise self._fault(url, rule)
        if status != 304 and status not in accept:
            raise self._fault(url, f"HTTP {status} {_beginning(body)}".rstrip())
        if status == 304 and not (etag or last_modified):
            raise self._fault(url, "HTTP 304, but the request had no validators")
        now, validators = int(self.clock.now()), [self._validator(response, name) for name in ("etag", "last-modified")]
        return Response(url, status, body, now, *validators)

    def _report_retry(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        self._on_retry(self._secret.redact(f"{self._source}: {error}; again in {state.upcoming_sleep:.0f} s"))

    def _follow(self, url: str, headers: dict[str, str], end: float, accept: Collection[int]) -> TransportResponse:
        """One attempt, with redirects within the host."""
        at = url
        for _ in range(MAX_REDIRECTS + 1):
            response = self._request(at, headers, end, accept)
            location = response.headers.get("location", "")
            if response.status not in REDIRECTS or not location:
                return response
            try:
                to = urljoin(at, location)
            except ValueError:  # for example http://[
                raise self._fault(url, f"leads to what is no address, {quoted(location)}") from None
            if not same_host(at, to):
                host = quoted(self._secret.redact((split_url(to) or urlsplit("")).hostname or to))
                rule = f"leads to another host, {host}, and was not followed; if the site has moved, give --base-url"
                raise self._fault(url, rule)
            if self._secret.is_in(to):
                raise self._fault(url, "leads to an address that repeats our access token, and was not followed")
            at = to
        raise self._fault(url, f"leads on and on, {MAX_REDIRECTS} times and more")

    def _request(self, url: str, headers: dict[str, str], end: float, accept: Collection[int]) -> TransportResponse:
        host = urlsplit(url).netloc
        if self._secret and same_host(self._base, url):
            headers = headers | {"Authorization": f"Bearer {self._secret.value}"}
        self._pace.wait(host, self._interval, self.clock)
        self.requests += 1

        def part(status: int) -> Part:
            if status in TRANSIENT_STATUSES or status in REDIRECTS:
                return "none"
            return "whole" if status in accept else "beginning"

        left = end - self.clock.monotonic()
        if left <= 0:
            raise _TransientError(f"no whole response within {DOCUMENT_SECONDS:.4g} s")
        try:
            response = self._http.request("GET", url, headers, min(MAX_SECONDS, left), part)
        except ExchangeError as error:
            if error.transient and self.clock.monotonic() >= end - 0.01:
                raise _TransientError(f"no whole response within {DOCUMENT_SECONDS:.4g} s") from error
            if error.transient:
                raise _TransientError(str(error)) from error
            raise self._fault(url, str(error)) from None
        if response.status in TRANSIENT_STATUSES:
            seconds = self._retry_after(response)
            self._pace.delay(host, min(seconds, LONGEST_WAIT), self.clock)
            if seconds > LONGEST_WAIT:
                raise self._fault(
                    url, f"HTTP {response.status}: the site asks to wait {seconds:,.0f} s; run again then"
                )
            raise _TransientError(f"HTTP {response.status}", seconds)
        return response

    def _retry_after(self, response: TransportResponse) -> float:
        value = response.headers.get("retry-after", "").strip()
        least = self._pause if response.status == 429 else 0.0
        if value.isascii() and value.isdigit():
            return max(float(value[:9]), least)
        try:
            return max(parsedate_to_datetime(value[:64]).timestamp() - self.clock.now(), least)
        except (ValueError, TypeError, OverflowError):
            return least

    def _validator(self, response: TransportResponse, name: str) -> str:
        """A validator for the next request, if it can be stored and sent back."""
        value = response.headers.get(name, "")
        valid = response.status in (200, 304)  # a later 304 would confirm any other status
        plain = valid and value.isascii() and value.isprintable() and len(value) <= MAX_VALIDATOR
        return value if plain and not self._secret.is_in(value) else ""

    def _fault(self, url: str, rule: str) -> SourceError:
        return SourceError(self._secret.redact(rule), self._source, member=self._secret.redact(url))


_SHARED_PACE = Pace()
_BACK_OFF = wait_exponential_jitter(initial=1.0, max=60.0, jitter=2.0)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    return max(_BACK_OFF(state), error.retry_after if isinstance(error, _TransientError) else 0.0)


def split_url(url: str) -> SplitResult | None:
    """The parts of an http or https address; None for any other text."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in _DEFAULT_PORTS and parts.hostname else None


def same_host(url: str, other: str) -> bool:
    """Whether ``other`` has the host of ``url`` and the same port, or upgrades it from http to https."""
    a, b = split_url(url), split_url(other)
    if a is None or b is None or a.hostname != b.hostname or b.username is not None:
        return False
    ports = [(parts.scheme, parts.port or _DEFAULT_PORTS[parts.scheme]) for parts in (a, b)]
    return ports[0] == ports[1] or ports == [("http", 80), ("https", 443)]


def is_loopback(hostname: str) -> bool:
    """Whether a host name or IP address is that of this machine."""
    try:
        return ip_address(hostname).is_loopback
    except ValueError:
        return hostname == "localhost" or hostname.endswith(".localhost")


def _user_agent(contact: str) -> str:
    try:
        number = version("ranklake")
    except PackageNotFoundError:
        number = "0"
    plain = "".join(c for c in contact if c.isascii() and c.isprintable())
    return f"ranklake/{number} (contest ratings{f'; {plain}' if plain else ''})"


def _beginning(body: bytes) -> str:
    """The first characters of a response, for a message."""
    text = body[:200].decode("utf-8", "replace").strip()
    return quoted(text) if text else ""
