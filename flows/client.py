"""A polite client: says who asks, keeps to a site's pace, tries again when that helps, and follows nobody elsewhere."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from flows.sources.base import SourceError, shown

__all__ = ["Answer", "Client", "Clock", "Pace"]

ATTEMPTS = 6  # about a minute of back-off in all; what lasts longer is for the next run
LONGEST_WAIT = 300.0  # seconds; a site that asks for more is asked again by the next run
MAX_BYTES = 2**28
MAX_REDIRECTS = 5
MAX_SECONDS = 600.0  # for one answer, however steadily it drips
TIMEOUT = httpx.Timeout(60.0, connect=20.0)
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530})
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Clock:
    """The time, and the patience to let it pass; tests bring their own."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class Pace:
    """When each host may be asked next; shared by all clients of a process, in any thread."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait(self, host: str, interval_seconds: float, clock: Clock) -> None:
        """Return when it is our turn; the next one's comes ``interval_seconds`` after ours began."""
        with self._lock:
            now = clock.monotonic()
            turn = max(now, self._next.get(host, now))
            self._next[host] = turn + interval_seconds
        if turn > now:
            clock.sleep(turn - now)

    def hold(self, host: str, seconds: float, clock: Clock) -> None:
        """Nobody's turn comes for some time: the host said so."""
        with self._lock:
            self._next[host] = max(self._next.get(host, 0.0), clock.monotonic() + seconds)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a site answered.

    Attributes
    ----------
    url : str
        What was asked for.
    status : int
        HTTP status; 304 has no body, what we have still holds.
    body : bytes
        As sent, its transfer encoding undone.
    time_seconds : int
        When, UTC since the epoch.
    etag, last_modified : str
        To ask again with; empty if the site sent none.
    """

    url: str
    status: int
    body: bytes
    time_seconds: int
    etag: str = ""
    last_modified: str = ""


class _PassingError(Exception):
    """A fault that may be gone at the next attempt."""

    def __init__(self, rule: str, retry_after: float = 0.0) -> None:
        super().__init__(rule)
        self.retry_after = retry_after


class Client:
    """Asks one site, one question at a time.

    Parameters
    ----------
    source
        Name of the site, for messages.
    base_url
        What paths are relative to.
    interval_seconds
        Least time from the beginning of a request to that of the next one to the same host.
    token
        Sent to the host of ``base_url`` as a bearer token; told to nobody else, and never kept.
    contact
        Where the site's people reach ours, for the user agent.
    pause_seconds
        Least time to wait after a 429 that does not say how long.
    max_bytes
        No answer may be longer.
    on_pause
        Called with the reason, and how long it is, before each pause after a fault.

    Raises
    ------
    ValueError
        The base URL is none, or holds a password, which would end up in files and messages.
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
        on_pause: Callable[[str], None] = lambda why: None,
    ) -> None:
        parts = _split(base_url)
        if parts is None:
            raise ValueError(f"a base URL is https://host/path, got {shown(base_url)}")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError(
                f"the base URL of {source} must be scheme, host and path alone; a token goes into the environment "
                f"variable RANKLAKE_{source.upper()}_TOKEN"
            )
        self.requests = 0
        self.clock = clock or Clock()
        self._source, self._base = source, base_url.rstrip("/") + "/"
        self._interval, self._pause, self._max_bytes = interval_seconds, pause_seconds, max_bytes
        self._pace = pace or (_SHARED_PACE if clock is None else Pace())
        self._token, self._on_pause = token, on_pause
        self._http = httpx.Client(headers={"User-Agent": _user_agent(contact)}, timeout=TIMEOUT, verify=_trusted())

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(
        self, path: str, *, etag: str = "", last_modified: str = "", accept: Collection[int] = frozenset({200})
    ) -> Answer:
        """The answer at a path below the base URL, or at an address of its own.

        Parameters
        ----------
        etag, last_modified
            Of what we have: the answer may then be a 304.
        accept
            HTTP statuses that are answers.

        Raises
        ------
        SourceError
            Any other status, no answer after several attempts, one that is too long, leads elsewhere or repeats the
            token; names the URL.
        """
        url = urljoin(self._base, path)
        headers = {"If-None-Match": etag} if etag else {}
        if last_modified:
            headers["If-Modified-Since"] = last_modified
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_wait,
            retry=retry_if_exception_type(_PassingError),
            sleep=self.clock.sleep,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            response, body = retrying(self._follow, url, headers)
        except _PassingError as error:
            times = f"after {ATTEMPTS} attempts" if error.retry_after <= LONGEST_WAIT else "for now"
            raise self._fault(url, f"{error} {times}; run again later, what was kept is not asked for again") from None
        if self._token and self._token.encode() in body:
            raise self._fault(url, "the answer repeats our access token; it was not kept")
        status = response.status_code
        if status != 304 and status not in accept:
            raise self._fault(url, f"HTTP {status} {_beginning(body)}".rstrip())
        if status == 304 and not (etag or last_modified):
            raise self._fault(url, "HTTP 304, though nothing was said to be known")
        headers_back = response.headers
        return Answer(
            url,
            status,
            body,
            int(self.clock.now()),
            headers_back.get("ETag", ""),
            headers_back.get("Last-Modified", ""),
        )

    def _tell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        self._on_pause(f"{self._source}: {error}; again in {state.upcoming_sleep:.0f} s")

    def _follow(self, url: str, headers: dict[str, str]) -> tuple[httpx.Response, bytes]:
        """One attempt, along redirects that stay with the host."""
        at = url
        for _ in range(MAX_REDIRECTS + 1):
            response, body = self._ask(at, headers)
            if not response.has_redirect_location:
                return response, body
            to = urljoin(at, response.headers["Location"])
            if not _same_host(at, to):
                host = shown((_split(to) or urlsplit("")).hostname or to)
                rule = f"leads to another host, {host}, and was not followed; if the site has moved, give --base-url"
                raise self._fault(url, rule)
            at = to
        raise self._fault(url, f"leads on and on, {MAX_REDIRECTS} times and more")

    def _ask(self, url: str, headers: dict[str, str]) -> tuple[httpx.Response, bytes]:
        host = urlsplit(url).netloc
        if self._token and _same_host(self._base, url):
            headers = headers | {"Authorization": f"Bearer {self._token}"}
        self._pace.wait(host, self._interval, self.clock)
        self.requests += 1
        began = self.clock.monotonic()
        body = bytearray()
        try:
            with self._http.stream("GET", url, headers=headers) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > self._max_bytes:
                        raise self._fault(url, f"the answer is longer than {self._max_bytes:,} bytes")
                    if self.clock.monotonic() - began > MAX_SECONDS:
                        raise _PassingError(f"no whole answer within {MAX_SECONDS:.0f} s")
        except httpx.RequestError as error:
            raise _PassingError(f"no answer ({_told(error)})") from error
        except httpx.InvalidURL as error:
            raise self._fault(url, f"no address to ask: {error}") from error
        if response.status_code in PASSING:
            seconds = self._retry_after(response)
            self._pace.hold(host, min(seconds, LONGEST_WAIT), self.clock)
            if seconds > LONGEST_WAIT:
                raise self._fault(
                    url, f"HTTP {response.status_code}: the site asks to wait {seconds:,.0f} s; run again then"
                )
            raise _PassingError(f"HTTP {response.status_code}", seconds)
        return response, bytes(body)

    def _retry_after(self, response: httpx.Response) -> float:
        told = response.headers.get("Retry-After", "").strip()
        least = self._pause if response.status_code == 429 else 0.0
        if told.isascii() and told.isdigit():
            return max(float(told[:9]), least)
        try:
            return max(parsedate_to_datetime(told).timestamp() - self.clock.now(), least)
        except (ValueError, TypeError, OverflowError):
            return least

    def _fault(self, url: str, rule: str) -> SourceError:
        return SourceError(rule, self._source, member=url)


_SHARED_PACE = Pace()
_BACK_OFF = wait_exponential_jitter(initial=1.0, max=60.0, jitter=2.0)


@cache
def _trusted() -> ssl.SSLContext:
    """Whom we trust: to read the certificates takes longer than many a request."""
    return httpx.create_ssl_context()


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    return max(_BACK_OFF(state), error.retry_after if isinstance(error, _PassingError) else 0.0)


def _user_agent(contact: str) -> str:
    try:
        number = version("ranklake")
    except PackageNotFoundError:
        number = "0"
    plain = "".join(c for c in contact if c.isascii() and c.isprintable())
    return f"ranklake/{number} (contest ratings{f'; {plain}' if plain else ''})"


def _split(url: str) -> SplitResult | None:
    """The parts of an address of the web; None if it is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in _DEFAULT_PORTS and parts.hostname else None


def _same_host(one: str, other: str) -> bool:
    """Whether ``other`` is at the host of ``one``, at the same port, or safer than that."""
    a, b = _split(one), _split(other)
    if a is None or b is None or a.hostname != b.hostname or b.username is not None:
        return False
    ports = [(parts.scheme, parts.port or _DEFAULT_PORTS[parts.scheme]) for parts in (a, b)]
    return ports[0] == ports[1] or ports == [("http", 80), ("https", 443)]


def _told(error: httpx.RequestError) -> str:
    words = str(error).strip()
    return words if words else type(error).__name__


def _beginning(body: bytes) -> str:
    """How an answer begins, for a message."""
    text = body[:200].decode("utf-8", "replace").strip()
    return shown(text) if text else ""
