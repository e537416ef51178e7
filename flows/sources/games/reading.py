"""Read files of games as periods: one pass over the files, and one over the periods."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ranklake.storage.datasets.tables.games import Period

from ..base import SourceError
from ..files.inputs import Input, damage_of, files_of, format_of
from ..limits import Limits
from ..time_columns import check_time_format
from .advantages import check_advantage
from .batch import GamesReport, drop_unfinished
from .periods import PERIODS
from .pgn import read_pgn
from .spool import Spool
from .tables import read_table

__all__ = ["GamesOptions", "check_paths", "read_periods"]

_FORMS = ("csv", "tsv", "parquet")
_COMPRESSED = ("", ".gz", ".bz2", ".zst", ".xz")


@dataclass(frozen=True)
class GamesOptions:
    """How files of games are read.

    Attributes
    ----------
    columns : dict of str to str
        See :func:`.tables.parse_columns`.
    period : str
        One of :data:`.periods.PERIODS`.
    time_format : str
        See :func:`ranklake.flows.sources.time_columns.check_time_format`.
    delimiter : str or None
        Of CSV files; None: a comma, or tab in ``.tsv`` files.
    advantage : float or None
        Rating points by which every game favours its first player; None: those of a column, or none. See
        :data:`.advantages.GAME_ADVANTAGE`.
    limits : Limits
        ``expanded`` holds for each compressed file.

    Raises
    ------
    ValueError
        The period or the time format is unknown, the advantage is out of range, or beside a column of advantages.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    period: str = "day"
    time_format: str = "auto"
    delimiter: str | None = None
    limits: Limits = field(default_factory=Limits)
    advantage: float | None = None

    def __post_init__(self) -> None:
        check_time_format(self.time_format)
        if self.period not in PERIODS:
            raise ValueError(f"period must be one of {', '.join(PERIODS)}, got {self.period!r}")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {self.delimiter!r}")
        check_advantage(self.advantage, self.columns)


def check_paths(paths: Sequence[str]) -> None:
    """Raise ``ValueError`` for an address; the message has only its scheme, because addresses may contain passwords."""
    for path in paths:
        scheme, separator, _ = path.partition("://")
        if separator:
            raise ValueError(f"PATH must be a file on this machine, got an address {scheme}://...; download it first")


def read_periods(
    paths: Sequence[str],
    options: GamesOptions,
    report: GamesReport,
    on_batch: Callable[[int], None] = lambda games: None,
) -> Iterator[Period]:
    """The periods of all files together, in order of time.

    The games are sorted into periods in temporary files, which take about 60 bytes a game. Memory holds a batch of a
    file, or one period.

    Parameters
    ----------
    paths
        Files or patterns: ``.parquet``, ``.csv``, ``.tsv``, ``.pgn``; the texts also as .gz .bz2 .zst .xz.
    on_batch
        Called after each batch with the number of games so far.

    Raises
    ------
    ValueError
        A path is an address.
    SourceError
        A file is missing, of another format or damaged, or a value is invalid; names file and row.
    """
    check_paths(paths)
    inputs = [_input(file, options) for path in paths for file in files_of(path)]
    with tempfile.TemporaryDirectory(prefix="ranklake-") as folder:
        spool = Spool(Path(folder), options.period)
        for source in inputs:
            with damage_of(source.name):
                for batch in _batches(source, options, report):
                    games = drop_unfinished(batch, report)
                    if games.num_rows:
                        spool.add(games)
                    on_batch(report.games)
        for period in spool.periods():
            yield period if options.advantage is None else _with_advantage(period, options.advantage)


def _input(file: Path, options: GamesOptions) -> Input:
    name = file.name.lower()
    if any(name.endswith(f".pgn{ending}") for ending in _COMPRESSED):
        return Input(file, file.name, "pgn", options.limits)
    form = format_of(file)
    if file.is_dir() or form not in _FORMS:
        rule = "games are read from .parquet, .csv, .tsv and .pgn files, the texts also as .gz .bz2 .zst .xz"
        raise SourceError(f"{rule}; give files, or a pattern such as 'games/*.parquet'", file.name)
    return Input(file, file.name, form, options.limits)


def _batches(source: Input, options: GamesOptions, report: GamesReport) -> Iterator[pa.Table]:
    if source.form == "pgn":
        return read_pgn(source, report)
    return read_table(source, options.columns, options.time_format, options.delimiter, options.advantage)


def _with_advantage(period: Period, advantage: float) -> Period:
    return replace(period, games=replace(period.games, advantage=np.full(len(period), advantage)))
