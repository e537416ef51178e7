"""Run a benchmark: every system on every history, finished cells first; the answer is a document for JSON and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

from ranklake.rating_kernels.warm import CHANCES, SCORES
from ranklake.storage import LakeError

from ..common.finite import finite_json
from ..common.metric_names import COMPARED_METRICS
from ..common.progress import ProgressCallback, not_shown
from ..compilation.compile import CompileCallback, announce, compile_parts, parts_for
from ..engines.factory import choose_engine
from ..engines.task_pool import TaskPool
from ..sources.base import SourceError
from .candidates import Candidate, published_for
from .cells import Cell, measure
from .finished import FinishedCells
from .histories import BenchmarkHistory, HistorySource
from .measures import FILTERS, differences, is_better_first, measures, reliability

FORMAT = 1  # of the document
UNREADABLE = (SourceError, LakeError, ValueError, OSError)


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """What is compared, and how.

    ``published``: whether histories whose name has published hyperparameters also have the systems with these.
    ``skip_share``: the first share of each history, which is rated and not scored.
    ``metric``, ``filter``: what orders the systems, best first.
    Raises ValueError: there is no history, two have one name, there is no such metric or filter, or the share is out of
    range.
    """

    sources: Sequence[HistorySource]
    candidates: Sequence[Candidate]
    published: bool = False
    skip_share: float = 0.1
    metric: str = "pair_inversion"
    filter: str = "experienced"

    def __post_init__(self) -> None:
        for name, value, known in (("metric", self.metric, COMPARED_METRICS), ("filter", self.filter, FILTERS)):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if not 0.0 <= self.skip_share < 1.0:
            raise ValueError(f"skip_share must be at least 0 and below 1, got {self.skip_share}")
        names = [source.name for source in self.sources]
        if not names:
            raise ValueError("give at least one history: files or folders, or a --dataset of a --lake")
        if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
            raise ValueError(f"two histories are called {twice!r}; give one of them another name, as NAME=PATH")

    def candidates_for(self, history: str) -> list[Candidate]:
        """The systems on a history of this name."""
        return [*self.candidates, *(published_for(history) if self.published else ())]


@dataclass(frozen=True, slots=True)
class Watching:
    """Whom a benchmark tells of its progress.

    ``on_progress``: called with the number of finished cells, that of all cells, and a text.
    ``on_line``: called with a line about what cannot be read or was left out, and about the cells that were finished.
    """

    on_progress: ProgressCallback = not_shown
    on_compile: CompileCallback = announce
    on_line: Callable[[str], None] = lambda line: None


def threads_of(engine: str | None = None, workers: int | None = None, scheduler: str | None = None) -> int | None:
    """Threads of each system by an engine: one on the workers of a cluster; None for one on each core.

    Raises ValueError: as :func:`.factory.choose_engine`.
    """
    return workers if choose_engine(engine, workers, scheduler) == "threads" else 1


def run_benchmark(
    request: BenchmarkRequest, finished: FinishedCells, pool: TaskPool, workers: int | None, watching: Watching
) -> dict[str, Any]:
    """The document of a benchmark: :data:`FORMAT`, what was asked, the histories with a result for each system, and
    the histories that could not be read with the reasons.

    ``workers``: see :func:`threads_of`.
    Raises EngineError, OSError: a worker has other code, or the cluster lost a system too often. Finished cells stay.
    """
    asked = [request.candidates_for(source.name) for source in request.sources]
    histories, unreadable, n_kept, total = [], [], 0, sum(map(len, asked))
    for at, (source, candidates) in enumerate(zip(request.sources, asked, strict=True)):
        done = sum(map(len, asked[:at]))
        watching.on_progress(done, total, f"reading {source.name}")
        try:
            history = source.read(partial(_reading, watching, source.name, done, total))
        except UNREADABLE as error:
            reason = str(error).partition("\n")[0]
            unreadable.append({"name": source.name, "reason": reason})
            watching.on_line(f"{source.name}: {reason}")
            continue
        if history.left_out:
            first, *others = history.left_out
            watching.on_line(f"{source.name}: left out: {first}" + (f"; and {len(others):,} more" if others else ""))
        cells = {one.label: cell for one in candidates if (cell := finished.find(history, one)) is not None}
        n_kept += len(cells)
        missing = [one for one in candidates if one.label not in cells]
        if missing:
            _compile(missing, history, watching.on_compile)
            watching.on_progress(done + len(cells), total, source.name)
        jobs = [(one, request.skip_share, workers) for one in missing]
        for number, cell in pool.run(measure, history, jobs):
            one = missing[number]
            finished.keep(history, one, cell)
            cells[one.label] = cell
            watching.on_progress(done + len(cells), total, f"{source.name}, {one.label}")
        histories.append(_history_document(request, history, candidates, cells))
    if n_kept:
        watching.on_line(f"{n_kept:,} of {total:,} results were there already")
    document: dict[str, Any] = {
        "format": FORMAT, "release": metadata.version("ranklake"), "skip_share": request.skip_share,
        "metric": request.metric, "filter": request.filter, "histories": histories, "unreadable": unreadable,
    }  # fmt: skip
    return document


def _reading(watching: Watching, name: str, done: int, total: int, _: int, __: int | None, text: str) -> None:
    watching.on_progress(done, total, f"reading {name}: {text}")


def has_failed(document: Mapping[str, Any]) -> bool:
    """Whether a history could not be read, or the code of a system of another package failed."""
    failed = [row for history in document["histories"] for row in history["systems"] if row["status"] == "failed"]
    return bool(failed or document["unreadable"])


def _compile(candidates: Sequence[Candidate], history: BenchmarkHistory, on_compile: CompileCallback) -> None:
    """Compile the missing kernels of our systems; those of others are compiled where they are called."""
    sizes = np.diff(history.rounds.offsets)
    names = dict.fromkeys(str(one.source) for one in candidates if not one.own)
    compile_parts([*(part for name in names for part in parts_for(name, sizes)), SCORES, CHANCES], on_compile)


def _history_document(
    request: BenchmarkRequest, history: BenchmarkHistory, candidates: Sequence[Candidate], cells: Mapping[str, Cell]
) -> dict[str, Any]:
    found = {
        filter: differences({label: cell.sums[filter] for label, cell in cells.items() if cell.sums})
        for filter in FILTERS
    }
    rows = []
    for one in candidates:
        cell, result = cells[one.label], dict[str, Any]()
        if cell.status == "rated":
            result = {"seconds": cell.seconds, "machine": cell.machine, "drift": cell.drift}
            for name in ("scores", "reliability", "differences"):
                result[name] = {}
            for filter, sums in cell.sums.items():
                total, compared = sums.sum(axis=0), found[filter].items()
                result["scores"][filter] = {name: float(value) for name, value in measures(total).items()}
                result["reliability"][filter] = reliability(total)
                result["differences"][filter] = {
                    metric: by_label[one.label]._asdict() for metric, by_label in compared if one.label in by_label
                }
        rows.append(one.to_json() | {"status": cell.status, "reason": cell.reason} | finite_json(result))
    rows.sort(key=lambda row: is_better_first(row, request.filter, request.metric))
    scored = history.n_results - int(np.floor(history.n_results * request.skip_share))
    return history.facts() | {"scored": scored, "systems": rows}
