"""A benchmark from Python: histories in frames or files, and a frame of results."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ranklake.rating_kernels import System

from ..common.arguments import checked
from ..common.metric_names import COMPARED_METRICS
from ..common.text import described
from ..engines.task_pool import open_whole_pool
from ..frames.notebook import warn_user
from .candidates import candidates_of
from .finished import FinishedCells
from .histories import HistorySource, source_of, sources_of
from .measures import FILTERS
from .report import check_report, write_report
from .run import BenchmarkRequest, Watching, run_benchmark, threads_of


@checked
def benchmark(
    histories: Any,
    systems: Sequence[str | System] = (),
    *,
    games: Sequence[str | os.PathLike[str]] = (),
    presets: Sequence[str] = (),
    published: bool = False,
    columns: Mapping[str, str] | None = None,
    skip_share: float = 0.1,
    metric: str = "pair_inversion",
    filter: str = "experienced",
    output: str | os.PathLike[str] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
) -> pd.DataFrame:
    """Compare rating systems on histories: accuracy, calibration, seconds and drift of the level.

    Parameters
    ----------
    histories
        A mapping from names to histories, or a list of paths. A history is a frame of results as for
        :func:`ranklake.rate_history`, or the path of files as ``ranklake ingest files`` reads them; in a list, a folder
        stands for all tables and archives in it.
    systems
        Each ``"NAME"`` or ``"NAME KEY=VALUE ..."``, where the name is that of one of our systems, ``all``, or
        ``MODULE:NAME`` for a system of your own; or that system itself. By default all. A module is imported, which
        executes its code.
    games
        Paths of histories of one-to-one games, as ``ranklake ingest games`` reads them.
    presets
        Names of presets, as further systems.
    published
        Also the hyperparameters that the authors of Elo-MMR publish for a history of this name, such as ``codeforces``.
    columns
        What the frames and tables call their columns, by key, as for :func:`ranklake.rate_history`.
    skip_share
        Share of each history at the start that is rated and not scored.
    metric, filter
        The metric and the group that order the systems: ``pair_inversion``, ``pair_inversion_equal_half``,
        ``rank_deviation``, ``rank_information``, ``rank_likelihood``, ``own_cross_entropy``, ``brier``,
        ``calibration_error``, or of games ``log_loss3``, ``brier3`` or ``ranked_probability``, of ``everyone`` or
        ``experienced``.
    output
        Folder for ``report.html``, ``report.json`` and the finished results, after which the same call continues; by
        default nothing is written.
    engine, workers, scheduler
        ``serial``, ``threads`` or ``dask``, the number of workers, and the address of a Dask cluster. On a cluster each
        worker rates by one system at a time.

    Returns
    -------
    pd.DataFrame
        One row a history and system, best first in each history: ``history, system, provenance, status, reason,
        seconds, drift``, each metric of both groups as ``pair_inversion_everyone``, and ``difference, low, high`` to
        the best system with the 95 % interval of a paired bootstrap over rounds. ``attrs["report"]`` has everything, as
        ``report.json``.

    Raises
    ------
    ValueError
        An unknown system, preset, metric or group, an invalid setting, two histories of one name, or none.

    Warns
    -----
    UserWarning
        A history could not be read; the others are compared.
    """
    sources = [*_sources(histories, columns or {}), *sources_of((), [os.fspath(path) for path in games], (), {})]
    candidates = candidates_of(systems, (), presets)
    request = BenchmarkRequest(sources, candidates, published, skip_share, metric, filter)
    threads = threads_of(engine, workers, scheduler)
    if output is not None:
        check_report()
    finished = FinishedCells(None if output is None else Path(output), skip_share)
    with open_whole_pool(engine, workers, scheduler) as pool:
        document = run_benchmark(request, finished, pool, threads, Watching())
    for failed in document["unreadable"]:
        warn_user(f"history {failed['name']} could not be read: {failed['reason']}")
    if output is not None:
        write_report(document, Path(output))
    frame = pd.DataFrame(
        [_row(history["name"], row, document) for history in document["histories"] for row in history["systems"]]
    )
    frame.attrs["report"] = document
    return frame


def _sources(histories: Any, columns: Mapping[str, str]) -> list[HistorySource]:
    named = [f"{key}={column}" for key, column in columns.items()]
    if isinstance(histories, Mapping):
        return [
            source_of(str(name), os.fspath(place), named, {})
            if isinstance(place, str | os.PathLike)
            else HistorySource(str(name), place, columns)
            for name, place in histories.items()
        ]
    if isinstance(histories, str | os.PathLike) or not isinstance(histories, Sequence):
        rule = "a mapping from names to frames or paths, or a list of paths"
        raise TypeError(f"histories must be {rule}, got {described(histories)}")
    return sources_of([os.fspath(path) for path in histories], (), named, {})


def _row(history: str, row: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    scores, differences = row.get("scores", {}), row.get("differences", {}).get(document["filter"], {})
    numbers = {name: row.get(name) for name in ("seconds", "drift")}
    numbers |= {
        f"{metric}_{group}": scores.get(group, {}).get(metric) for group in FILTERS for metric in COMPARED_METRICS
    }
    numbers |= {name: differences.get(document["metric"], {}).get(name) for name in ("difference", "low", "high")}
    head = {"history": history, "system": row["label"]}
    head |= {name: row[name] for name in ("provenance", "status", "reason")}
    return head | {name: math.nan if value is None else value for name, value in numbers.items()}
