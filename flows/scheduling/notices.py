"""What a follow tells: notices of changed ratings for a webhook and a command of the operator, and Markdown pages about
contests and runs, in which names from outside are escaped.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ranklake.storage import Lake
from ranklake.storage.lake import layout

from ..answers.rated_run import RatedRun
from ..common.text import cell, message, quoted
from ..common.text import markdown as escape
from ..http.webhook import Webhook, WebhookError
from ..ingestion.report import SourceReport
from ..publication.root import plain_path, read_manifest, read_published
from ..results.ranks import chosen
from .follow import Followed

KIND = "ratings.changed"
COMMAND_SECONDS = 600.0
_MOST_PENDING = 1000  # undelivered notices that are kept

Notice = Mapping[str, Any]
Send = Callable[[Notice], None]


class CommandError(ChildProcessError):
    """The command of the operator failed."""


def notice_of(lake: Lake, dataset: str, ingested: SourceReport | None, runs: Sequence[Followed]) -> Notice | None:
    """The notice of what a follow has changed; None if it changed nothing.

    Returns dict: ``dataset``; ``contests``, the number of ``new, corrected, removed, moved`` ones; and ``runs``, a list
    of the changed runs: ``run``; ``version`` of its published state (None if it has no index); ``n_rounds`` in all;
    ``first_changed``, the first round with new or other ratings, from 0 (None if there is none); ``first_rated_again``,
    the same round if it had ratings before, else None; ``why`` they were rated again.
    """
    changed = [_about(lake, followed) for followed in runs if followed.changed]
    if not changed and not (ingested is not None and ingested.changed):
        return None
    kinds = ("new", "corrected", "removed", "moved")
    contests = {kind: 0 if ingested is None else getattr(ingested, kind) for kind in kinds}
    return {"dataset": dataset, "contests": contests, "runs": changed}


def _about(lake: Lake, followed: Followed) -> dict[str, Any]:
    rated = followed.rated
    manifest = None if followed.published is None else read_manifest(lake, followed.run)
    return {
        "run": followed.run,
        "version": None if manifest is None else manifest.etag,
        "n_rounds": rated.kept + rated.rated,
        "first_changed": rated.holds if rated.rated or rated.why else None,
        "first_rated_again": rated.holds if rated.why else None,
        "why": rated.why,
    }


class Notifier:
    """Delivers notices in order. Those that a receiver did not accept are kept, and delivered before the next ones.

    ``command`` is a command with its arguments. It gets each notice as JSON on its standard input; no shell expands it.
    Raises ``ValueError`` if it is empty, has an open quotation, or does not exist.
    """

    def __init__(self, webhook: Webhook | None = None, command: str | None = None) -> None:
        self._channels: list[tuple[Send, deque[Notice]]] = []
        if webhook is not None:
            self._add(lambda notice: webhook.post(KIND, notice))
        if command is not None:
            try:
                words = shlex.split(command, posix=os.name != "nt")
            except ValueError as error:
                raise ValueError(f"the command {quoted(command)} cannot be read: {error}") from None
            if not words:
                raise ValueError("the command of --exec is empty")
            if shutil.which(words[0].strip('"')) is None:
                raise ValueError(f"the command {quoted(words[0])} does not exist, or is not executable")
            self._add(lambda notice: _run(words, notice))

    def _add(self, send: Send) -> None:
        self._channels.append((send, deque(maxlen=_MOST_PENDING)))

    def deliver(self, notice: Notice | None) -> None:
        """Deliver the kept notices and this one; ``WebhookError`` or ``CommandError`` if a receiver did not accept a
        notice, after the others got theirs.
        """
        failures: list[OSError] = []
        for send, pending in self._channels:
            if notice is not None:
                pending.append(notice)
            try:
                while pending:
                    send(pending[0])
                    pending.popleft()
            except (WebhookError, CommandError) as error:
                failures.append(error)
        if failures:
            raise failures[0]


def _run(words: Sequence[str], notice: Notice) -> None:
    """Run the command with a notice on its standard input; raises :class:`CommandError` unless it exits with 0."""
    text = json.dumps({"type": KIND, "data": notice}, allow_nan=False)
    try:
        done = subprocess.run(words, input=text.encode(), timeout=COMMAND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CommandError(f"command {quoted(words[0])}: not finished within {COMMAND_SECONDS:.0f} s") from None
    except OSError as error:
        raise CommandError(f"command {quoted(words[0])}: {error.strerror or error}") from None
    if done.returncode:
        raise CommandError(f"command {quoted(words[0])}: exit code {done.returncode}")


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
    """The first ranked players, by the published leaderboard if there is one; ``LakeError`` without ratings."""
    latest = plain_path(run, read_published(lake, run))
    if not lake.exists(latest):
        return chosen(RatedRun(lake, run).leaderboard(), "hide").slice(0, n)
    board = pq.read_table(pa.BufferReader(lake.read_bytes(latest)), use_threads=False)
    return (chosen(board, "hide") if "provisional" in board.column_names else board).slice(0, n)
