"""Addresses of the web: their parts, and whether two are of one host."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

__all__ = ["is_loopback", "same_host", "split_url"]

_DEFAULT_PORTS = {"http": 80, "https": 443}


def split_url(url: str) -> SplitResult | None:
    """The parts of an address of the web; None if it is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in _DEFAULT_PORTS and parts.hostname else None


def same_host(one: str, other: str) -> bool:
    """Whether ``other`` is at the host of ``one``, at the same port, or safer than that."""
    a, b = split_url(one), split_url(other)
    if a is None or b is None or a.hostname != b.hostname or b.username is not None:
        return False
    ports = [(parts.scheme, parts.port or _DEFAULT_PORTS[parts.scheme]) for parts in (a, b)]
    return ports[0] == ports[1] or ports == [("http", 80), ("https", 443)]


def is_loopback(hostname: str) -> bool:
    """Whether a name or an address is of this machine."""
    try:
        return ip_address(hostname).is_loopback
    except ValueError:
        return hostname == "localhost" or hostname.endswith(".localhost")
