"""Who may ask: tokens of a file, where no token is written, and how often each may ask.

A line of the file is ``name:sha256``, the SHA-256 of the token in hexadecimal digits; names are for people, and in the
records of the log. Empty lines and lines that begin with ``#`` are ignored.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from ...http.server.problems import Problem

MOST_TOKENS = 1_000
_LINE = re.compile(r"([A-Za-z0-9._-]{1,64}):([0-9a-fA-F]{64})")
_LOCAL = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)


def read_tokens(path: Path) -> dict[str, bytes]:
    """The digests of the tokens of a file, by their names.

    Raises ValueError: a line has another form, a name is there twice, or there is no token or too many; names the line.
    Raises OSError: the file cannot be read.
    """
    found: dict[str, bytes] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if (parts := _LINE.fullmatch(line)) is None:  # the line may be a token: it is not shown
            rule = "a line is `name:sha256`, with 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints them"
            raise ValueError(f"{path}, line {number}: {rule}")
        if parts[1] in found:
            raise ValueError(f"{path}, line {number}: there is a token of the name {parts[1]} already")
        found[parts[1]] = bytes.fromhex(parts[2])
        if len(found) > MOST_TOKENS:
            raise ValueError(f"{path}: more than {MOST_TOKENS:,} tokens")
    if not found:
        raise ValueError(f"{path}: no token; a line is `name:sha256`")
    return found


class Access:
    """Checks of requests.

    ``path``: the file of tokens; None: whoever reaches the process may ask, which must be this machine alone.
    ``public_read``: whether requests that change nothing need no token.
    ``requests_per_second``: of one token. ``clock``: seconds.

    Raises as :func:`read_tokens`.
    """

    def __init__(
        self,
        path: Path | None,
        public_read: bool = False,
        requests_per_second: float = 10_000.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._public_read, self._rate, self._clock = path, public_read, requests_per_second, clock
        self._left: dict[str, tuple[float, float]] = {}  # by token: requests, and the time at which they were left
        if public_read and path is None:
            raise ValueError("--public-read is for --tokens: without them every request of this machine is answered")
        self._digests = {} if path is None else read_tokens(path)

    @property
    def local(self) -> bool:
        """Whether there are no tokens, and this machine alone may ask."""
        return self._path is None

    def reload(self) -> int:
        """Read the file again; returns the number of tokens. If it raises, as :func:`read_tokens`, nothing changes."""
        if self._path is not None:
            self._digests = read_tokens(self._path)
            self._left = {name: left for name, left in self._left.items() if name in self._digests}
        return len(self._digests)

    def check(self, headers: Mapping[bytes, bytes], writes: bool) -> str:
        """The name of the token of a request; empty if none is needed.

        Raises Problem: it needs one, the token is unknown, or it has asked too often.
        """
        if self._path is None:
            _check_local(headers)
            return ""
        given = headers.get(b"authorization")
        if given is None:
            if self._public_read and not writes:
                return ""
            raise Problem(401, "the request needs the header `Authorization: Bearer TOKEN`")
        scheme, _, token = given.partition(b" ")
        digest, found = sha256(token.strip()).digest(), ""
        for name, known in self._digests.items():  # all of them: the time tells nothing
            if hmac.compare_digest(known, digest):
                found = name
        if scheme.lower() != b"bearer" or not found:
            raise Problem(401, "the token is not known; the header is `Authorization: Bearer TOKEN`")
        self._count(found)
        return found

    def _count(self, name: str) -> None:
        now = self._clock()
        left, since = self._left.get(name, (self._rate, now))
        left = min(left + (now - since) * self._rate, self._rate)
        if left < 1.0:
            self._left[name] = left, now
            raise Problem(429, f"at most {self._rate:,.0f} requests a second of one token")
        self._left[name] = left - 1.0, now


def _check_local(headers: Mapping[bytes, bytes]) -> None:
    """Refuse what a browser sends for a page of another host, which may resolve its own name to this machine."""
    for name in (b"host", b"origin"):
        value = headers.get(name, b"localhost").decode("latin-1")
        if _LOCAL.fullmatch(value.partition("://")[2] or value) is None:
            what = "the process has no tokens and answers this machine alone, under the names localhost and 127.0.0.1"
            raise Problem(403, f"{what}; `--tokens FILE` lets others ask")
