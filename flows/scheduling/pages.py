"""Markdown pages about ingested contests and rated runs; names from outside are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ranklake.storage import Lake
from ranklake.storage.lake import layout

from ..answers.rated_run import RatedRun
from ..common.text import cell, message
from ..common.text import markdown as escape
from ..ingestion.report import SourceReport
from ..publication.root import plain_path, read_root

MOST = 50  # rejected contests that are listed


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; cells are escaped and shortened."""
    lines = [head, ["---"] * len(head)]
    lines += [[escape(cell(text)) for text in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def place(lake: Lake, path: str) -> str:
    """The address of a path in the lake, as a link if the lake is in an object store."""
    uri = lake.uri(path)
    return escape(uri) if lake.local else f"[{escape(uri)}]({quote(uri, safe=':/')})"


def ingested_page(report: SourceReport) -> str:
    """The page of an ingest: counts, and the rejected contests with reasons."""
    counts = [(kind, f"{getattr(report, kind):,}") for kind in ("new", "corrected", "removed", "unchanged")]
    parts = [f"## {escape(report.source)} to {escape(report.dataset)}", table(("contests", "number"), counts)]
    parts += [f"Compared with the earlier data set; {escape(message(report.cost()))}."]
    if report.rejected:
        left = len(report.rejected) - MOST
        parts += [f"### {len(report.rejected):,} rejected", table(("contest", "why"), report.rejected[:MOST])]
        parts += [f"and {left:,} more, in the log"] if left > 0 else []
    return "\n\n".join(parts) + "\n"


def run_page(lake: Lake, run: str, lines: Iterable[str], top: pa.Table) -> str:
    """The page of a run: its report, the best players, and the addresses of its tables."""
    form = RatedRun(lake, run).format
    rows = [
        (f"{row['place']:,}", row["handle"], form.rating(row["rating"]), form.belief(row["mu"]), f"{row['n_rounds']:,}")
        for row in top.to_pylist()
    ]
    parts = [f"## Run {escape(run)}", "\n".join(f"* {escape(message(line))}" for line in lines)]
    parts += [f"### The {len(rows)} best", table(("place", "handle", "rating", "mu", "rounds rated"), rows)]
    parts += [f"The run: {place(lake, layout.run_folder(run))}"]
    if lake.exists(layout.published_folder(run)):
        parts += [f"Its published tables: {place(lake, layout.published_folder(run))}"]
    return "\n\n".join(parts) + "\n"


def best(lake: Lake, run: str, n: int = 20) -> pa.Table:
    """The first rows of the leaderboard, from the published one if there is one; ``LakeError`` without ratings."""
    latest = plain_path(run, read_root(lake, run))
    if lake.exists(latest):
        return pq.read_table(pa.BufferReader(lake.read_bytes(latest)), use_threads=False).slice(0, n)
    return RatedRun(lake, run).leaderboard().slice(0, n)
