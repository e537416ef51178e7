"""Web addresses: their parts, and whether two have the same host."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


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
