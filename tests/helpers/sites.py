"""Files of a published site."""

from __future__ import annotations

import gzip
import json
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

from ranklake.storage import Lake


def published(lake: Lake, folder: Path) -> Path:
    """The site of a run, published below a folder."""
    from ranklake.flows.site.publish import publish_site

    publish_site(lake, "run", str(folder / "site"))
    return folder / "site"


def unpacked(folder: Path, path: str) -> Any:
    """The value of a packed file of JSON."""
    return json.loads(gzip.decompress((folder / path).read_bytes()))


def histories(folder: Path, level: dict[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """The histories of a level of a site: the columns of each player."""
    found = {}
    for number in range(level["shards"]):
        file = unpacked(folder, f"{level['folder']}{number:04}.json.gz")
        handles, edges = file.pop("handle"), [0, *accumulate(file.pop("rows"))]
        for handle, start, stop in zip(handles, edges[:-1], edges[1:], strict=True):
            found[handle] = {name: values[start:stop] for name, values in file.items()}
    return found


def version(folder: Path) -> Path:
    """The folder of the newest version."""
    found = re.search(r'name="ranklake-version" content="(v/\d+/)"', (folder / "index.html").read_text("utf-8"))
    assert found is not None
    return folder / found[1]


def manifest(folder: Path) -> dict[str, Any]:
    """The manifest of the newest version."""
    found: dict[str, Any] = json.loads((version(folder) / "manifest.json").read_bytes())
    return found
