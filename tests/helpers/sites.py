"""Files of a published site."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

__all__ = ["manifest", "unpacked"]


def unpacked(folder: Path, path: str) -> Any:
    """The value of a packed file of JSON."""
    return json.loads(gzip.decompress((folder / path).read_bytes()))


def manifest(folder: Path) -> dict[str, Any]:
    """The manifest of the newest version."""
    version = re.search(r'name="ranklake-version" content="(v/\d+/)"', (folder / "index.html").read_text("utf-8"))
    assert version is not None
    found: dict[str, Any] = json.loads((folder / version[1] / "manifest.json").read_bytes())
    return found
