"""Read files of games as periods: one pass over the files, and one over the periods."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ranklake.storage.datasets.tables.games import Period

from ..archives.zips import unpacked
from ..base import OnError, SourceError
from ..files.inputs import Input, damage_of, files_of, format_of
from ..lake_tables import is_delta
from ..limits import Limits
from ..options import check_delimiter, check_encoding
from ..time_columns import check_time_format
from .advantages import check_advantage
from .batch import GamesReport
from .periods import PERIODS, Spool
from .pgn import read_pgn
from .tables import read_table

_FORMS = ("csv", "tsv", "parquet")
_COMPRESSED = ("", ".gz", ".bz2", ".zst", ".xz")
_RULE = "games are read from .parquet, .csv, .tsv and .pgn files, the texts also as .gz .bz2 .zst .xz, and from .zip"


@dataclass(frozen=True)
class GamesOptions:
    """How files of games are read.

    ``columns``: see :func:`.tables.parse_columns`.
    ``period``: one of :data:`.periods.PERIODS`.
    ``time_format``: see :func:`ranklake.flows.sources.time_columns.check_time_format`.
    ``delimiter``: of CSV files: one character, or ``tab``; None finds it from the header.
    ``advantage``: rating points by which every game favours its first player; None: those of a column, or none. See
    :data:`.advantages.GAME_ADVANTAGE`.
    ``limits``: ``expanded`` holds for each compressed file.
    ``encoding``: of texts, as Python names encodings.
    ``on_error``: ``stop`` at the first game with an invalid value, or ``skip`` such games.
    Raises ValueError: the period, the time format or the encoding is unknown, or the advantage is out of range or
    beside a column of advantages.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    period: str = "day"
    time_format: str = "auto"
    delimiter: str | None = None
    limits: Limits = field(default_factory=Limits)
    advantage: float | None = None
    encoding: str = "utf-8"
    on_error: OnError = "stop"

    def __post_init__(self) -> None:
        check_time_format(self.time_format)
        check_encoding(self.encoding)
        if self.period not in PERIODS:
            raise ValueError(f"period must be one of {', '.join(PERIODS)}, got {self.period!r}")
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))
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
    file, or one period. ``paths`` are files or patterns (``.parquet``, ``.csv``, ``.tsv``, ``.pgn``; the texts also as
    .gz .bz2 .zst .xz; archives ``.zip`` of these) or folders of Delta tables; ``on_batch`` is called with the number of
    games so far.

    Raises ``ValueError`` if a path is an address, ``SourceError`` if a file or a value is invalid; names file and row.
    """
    check_paths(paths)
    files = [file for path in paths for file in files_of(path)]
    for file in files:
        if file.suffix.lower() != ".zip":
            _form(file)  # before hours of reading
    with tempfile.TemporaryDirectory(prefix="ranklake-") as folder:
        spool = Spool(Path(folder), options.period)
        for source in (source for file in files for source in _inputs(file, options, report, Path(folder))):
            before = report.games + report.n_left_out
            with damage_of(source.name):
                for games in _batches(source, options, report):
                    if games.num_rows:
                        spool.add(games)
                    on_batch(report.games)
            if report.games + report.n_left_out == before:
                report.note("file", "without a game", 1, source.name)
        for period in spool.periods():
            yield period if options.advantage is None else _with_advantage(period, options.advantage)


def _inputs(file: Path, options: GamesOptions, report: GamesReport, folder: Path) -> Iterator[Input]:
    """The file, or the files of games in an archive, which are unpacked into a folder while they are read."""
    if file.suffix.lower() != ".zip":
        yield Input(file, file.name, _form(file), options.limits)
        return
    n_files = 0
    for name, path in unpacked(file, folder, options.limits):
        if _form_by_name(name) is None:
            report.note("other file", "in an archive not read", 1, f"{file.name}, {name}")
            continue
        n_files += 1
        yield Input(path, f"{file.name}, {name}", _form_by_name(name) or "", options.limits)
    if not n_files:
        raise SourceError(f"an archive without files of games; {_RULE}", file.name)


def _form(file: Path) -> str:
    if is_delta(file):
        return "delta"
    form = None if file.is_dir() else _form_by_name(file.name)
    if form is None:
        raise SourceError(f"{_RULE}; give files, or a pattern such as 'games/*.parquet'", file.name)
    return form


def _form_by_name(name: str) -> str | None:
    if any(name.lower().endswith(f".pgn{ending}") for ending in _COMPRESSED):
        return "pgn"
    form = format_of(Path(name))
    return form if form in _FORMS else None


def _batches(source: Input, options: GamesOptions, report: GamesReport) -> Iterator[pa.Table]:
    if source.form == "pgn":
        return read_pgn(
            source, report, on_error=options.on_error, encoding=options.encoding, time_format=options.time_format
        )
    return read_table(
        source,
        options.columns,
        report,
        on_error=options.on_error,
        time_format=options.time_format,
        delimiter=options.delimiter,
        encoding=options.encoding,
        advantage=options.advantage,
    )


def _with_advantage(period: Period, advantage: float) -> Period:
    return replace(period, games=replace(period.games, advantage=np.full(len(period), advantage)))
