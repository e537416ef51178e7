"""Digest of the kernels' sources, equal for all installations of one release."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

__all__ = ["sources_digest"]


def sources_digest() -> str:
    """16 hex digits of all modules of ``ranklake.rating_kernels`` and of its packages, by path."""
    digest = blake2b(digest_size=8)
    kernels = Path(__file__).parents[1]
    for path in sorted(file.relative_to(kernels).as_posix() for file in kernels.rglob("*.py")):
        digest.update(path.encode() + b"\0" + (kernels / path).read_bytes())
    return digest.hexdigest()
