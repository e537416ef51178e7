"""The pages of docs/ingest: the index leads to each of them, and what they say about places and lake tables is true."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.documents import ROOT, blocks_of

FOLDER = ROOT / "docs" / "ingest"


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def test_index__leads_to_each_page() -> None:
    index = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        assert f"](ingest/{path.name})" in index, path.name
        assert f"\ningest/{path.stem}\n" in index, path.name


def test_lake_tables__are_exported_by_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltalake = pytest.importorskip("deltalake", reason="the extra publish is not installed")
    (example,) = blocks_of(page("lake-tables"), "python")
    monkeypatch.chdir(tmp_path)
    deltalake.write_deltalake("results", pa.table({"contest": ["a", "a"], "player": ["ada", "bob"], "rank": [1, 2]}))
    deltalake.DeltaTable("results").delete("player = 'bob'")
    exec(compile(example, "lake-tables.md", "exec"), {})
    assert pq.read_table("results.parquet").column("player").to_pylist() == ["ada"]
