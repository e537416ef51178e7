"""The files of this package that browsers and templates read."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib import resources


def package_files(folder: str) -> dict[str, bytes]:
    """The sources of the ``templates``, or the style sheets, scripts and icons, which are ``static``, by name."""
    found = resources.files(__package__).joinpath(folder).iterdir()
    return {file.name: file.read_bytes() for file in sorted(found, key=lambda file: file.name)}


@cache
def static_digest() -> str:
    """A digest of the static files: a folder of this name has the same files for ever."""
    return blake2b(b"".join(package_files("static").values()), digest_size=8).hexdigest()
