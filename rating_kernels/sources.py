"""Which kernels these are: a digest of their sources, alike wherever the same release is installed."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

__all__ = ["sources_digest"]


def sources_digest() -> str:
    """16 hex digits of all modules of this package, by name."""
    digest = blake2b(digest_size=8)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
