"""The files of this package that browsers and templates read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib import resources
from types import MappingProxyType


@cache
def package_files(folder: str) -> Mapping[str, bytes]:
    """The sources of the ``templates``, or the style sheets, scripts and icons, which are ``static``, by name.

    They are read once in a process.
    """
    found = resources.files(__package__).joinpath(folder).iterdir()
    return MappingProxyType({file.name: file.read_bytes() for file in sorted(found, key=lambda file: file.name)})


@cache
def static_digest() -> str:
    """A digest of the static files: a folder of this name has the same files for ever."""
    return blake2b(b"".join(package_files("static").values()), digest_size=8).hexdigest()
