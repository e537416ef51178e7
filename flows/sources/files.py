"""Contests from files: folders and archives of the reference format, tables of results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

from flows.normalise import parse_reference, reference_time
from flows.sources.archives import ARCHIVES, Member, open_members
from flows.sources.base import IngestReport, OnError, Order, SourceError, screen
from flows.sources.tables import TABLES, Columns, read_table
from storage.contests import Contest

__all__ = ["Columns", "read_contests"]


def read_contests(
    path: str | os.PathLike[str],
    *,
    order: Order | None = None,
    columns: Columns | None = None,
    on_error: OnError = "stop",
    dedupe: bool = False,
    report: IngestReport | None = None,
) -> Iterator[Contest]:
    """Checked contests from a folder, archive or table, in the order in which they are to be rated.

    Parameters
    ----------
    path
        A folder, ``.tar``, ``.tar.gz``, ``.tar.xz`` or ``.zip`` of ``N.json`` files in the reference format, or a
        ``.csv`` or ``.parquet`` of results, one row a participation.
    order
        ``number``: by file number, in tables by contest id. ``time``: by time, then number, in tables first appearance.
        ``given``: as the archive has them, a folder by name, a table by first appearance. By default ``number``, for
        tables ``given``.
    columns
        What a table calls its columns; by default as :class:`Columns` has them.
    on_error
        ``stop`` at the first contest with a fault, or ``skip`` it and list it in the report. Damage to the file as a
        whole always stops.
    dedupe
        Drop contests that repeat an earlier one, see :func:`flows.sources.base.screen`.
    report
        Filled while contests are read.

    Raises
    ------
    SourceError
        At once if the path is of no use, else from the iterator; names the file, the contest, the rows and the rule.
    """
    for what, value, known in (("order", order or "given", get_args(Order)), ("on_error", on_error, get_args(OnError))):
        if value not in known:
            raise ValueError(f"{what} must be one of {', '.join(known)}, got {value!r}")
    path, report = Path(path), IngestReport() if report is None else report
    if not path.exists():
        raise SourceError("no such file or folder", str(path))
    items: Iterable[Contest | SourceError]
    if path.is_dir() or path.name.lower().endswith(ARCHIVES):
        items = _read_reference(path, order or "number", report)
    elif path.name.lower().endswith(TABLES):
        items = read_table(path, columns=columns or Columns(), order=order or "given")
    else:
        known_kinds = ", ".join((*ARCHIVES, *TABLES))
        raise SourceError(f"unknown kind of file; a folder or one of {known_kinds} can be read", path.name)
    return screen(items, report, on_error=on_error, dedupe=dedupe)


def _read_reference(path: Path, order: Order, report: IngestReport) -> Iterator[Contest | SourceError]:
    with open_members(path, report) as members:
        if not members:
            raise SourceError("no contests: there is no .json file in it", path.name)
        _check_stems(members, path.name)
        if order == "number":
            _note_holes(sorted(m.number for m in members if m.number is not None), report)
        ordered, faults = _in_order(members, order, path.name)
        yield from faults
        for member in ordered:
            raw = member.read()  # damage to the archive is not this contest's fault: it always stops
            try:
                item: Contest | SourceError = parse_reference(raw, member.stem, source=path.name, member=member.name)
            except SourceError as error:
                item = error
            yield item


def _in_order(members: list[Member], order: Order, source: str) -> tuple[list[Member], list[SourceError]]:
    """Members in rated order, and a fault for each that has no place in it."""
    if order == "given":
        return members, []
    keyed: list[tuple[int, int, Member]] = []
    faults: list[SourceError] = []
    for position, member in enumerate(members):
        number = member.number
        if order == "time":
            raw = member.read()
            try:
                time = reference_time(raw, member.stem, source=source, member=member.name)
            except SourceError as error:
                faults.append(error)
            else:
                keyed.append((time, position if number is None else number, member))
        elif number is None:
            rule = "the file's name is no number, so the contest has no place; order by time or as given"
            faults.append(SourceError(rule, source, member.stem, member.name))
        else:
            keyed.append((number, 0, member))
    return [member for *_, member in sorted(keyed, key=lambda key: key[:2])], faults


def _check_stems(members: list[Member], source: str) -> None:
    first: dict[str | int, str] = {}
    for member in members:
        # 7.json and 007.json would be two contests with one place in the order
        key = member.stem if member.number is None else member.number
        if key in first:
            raise SourceError(f"contest {member.stem} is there twice: {first[key]} and {member.name}", source)
        first[key] = member.name


def _note_holes(numbers: list[int], report: IngestReport) -> None:
    gaps = [(a + 1, b - 1) for a, b in zip([-1, *numbers], numbers, strict=False) if b - a > 1]
    if gaps:
        missing = sum(b - a + 1 for a, b in gaps)
        first = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in gaps[:5]) + (", ..." if len(gaps) > 5 else "")
        report.notes.append(f"the numbering has holes: {first} ({missing:,} missing in all)")
