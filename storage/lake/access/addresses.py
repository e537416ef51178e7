"""Checks of the address of a lake. Without them fsspec reads some wrong addresses as another folder."""

from __future__ import annotations

import os
import re

from ..errors import AddressError

ADDRESS_FORMS = "a lake is at a folder, as data/lake, or in a bucket, as s3://bucket/lake"

_STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https", "memory")
_DRIVE = re.compile("[A-Za-z]:")


def check_address(url: str) -> None:
    """Refuse an address that names no folder, or that fsspec would read as a folder in the working folder.

    Raises AddressError: names the address and its fault.
    """
    if not url.strip():
        raise AddressError(f"the address of the lake is empty, got {url!r}; {ADDRESS_FORMS}")
    scheme, colon, rest = url.partition(":")
    if scheme in ("file", "local") and colon:
        path = rest.removeprefix("//")
        if not path.strip():
            raise AddressError(f"{url}: names no folder; {ADDRESS_FORMS}")
        if rest.startswith("//") and not path.startswith(("/", "~")) and not _DRIVE.match(path):
            full = f"{scheme}:///{path}"
            raise AddressError(f"{url}: {path.partition('/')[0]!r} would be a host; an absolute path is as in {full}")
    elif "::" in url:
        raise AddressError(f"{url}: a chain of file systems cannot hold a lake; {ADDRESS_FORMS}")
    elif scheme in _STORES and colon and not rest.startswith("//"):
        raise AddressError(f"{url}: {scheme}: must be followed by //; {ADDRESS_FORMS}")
    if url.startswith("~") and os.path.expanduser(url) == url:
        raise AddressError(f"{url}: no home folder is known for {url.partition('/')[0]!r}; give the whole path")
