"""Read files of games as periods: one pass over the files, and one over the periods."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ranklake.storage.datasets.tables.games import Period

from ..archives.archive import unpacked
from ..base import SourceError
from ..files.inputs import Input, damage_of, files_of, format_of
from ..lake_tables import is_delta
from .batch import GamesReport
from .options import GamesOptions
from .periods import Spool
from .pgn import read_pgn
from .tables import read_table

_FORMS = ("csv", "tsv", "jsonl", "json", "parquet")
_COMPRESSED = ("", ".gz", ".bz2", ".zst", ".xz")
_RULE = (
    "games are read from .parquet, .csv, .tsv, .jsonl, .json and .pgn files, the texts also as .gz .bz2 .zst .xz, and "
    "from .zip"
)


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
    file, or one period. ``paths`` are files or patterns (``.parquet``, ``.csv``, ``.tsv``, ``.jsonl``, ``.json``,
    ``.pgn``; the texts also as .gz .bz2 .zst .xz; archives ``.zip`` of these, but for ``.json``) or folders of Delta
    tables; ``on_batch`` is called with the number of games so far.

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
                for games in (read_pgn if source.form == "pgn" else read_table)(source, options, report):
                    if games.num_rows:
                        spool.add(games)
                    on_batch(report.games)
            if report.games + report.n_left_out == before:
                report.note("file", "without a game", 1, source.name)
        for period in spool.periods():
            if options.advantage is not None:
                advantages = np.full(len(period), options.advantage)
                period = replace(period, games=replace(period.games, advantage=advantages))
            yield period


def _inputs(file: Path, options: GamesOptions, report: GamesReport, folder: Path) -> Iterator[Input]:
    """The file, or the files of games in an archive, which are unpacked into a folder while they are read."""
    if file.suffix.lower() != ".zip":
        yield Input(file, file.name, _form(file), options.limits)
        return
    n_files = 0
    for name, path in unpacked(file, folder, options.limits):
        if _form_by_name(name) in (None, "json"):  # in an archive it may tell about the games
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
