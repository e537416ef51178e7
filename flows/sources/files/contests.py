"""Contests from files: folders and archives of the reference format, tables of results."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from ranklake.storage.datasets.tables.contests import Contest

from ...common.text import count
from ..absences import Absent
from ..archives.archive import ARCHIVES, open_members
from ..archives.members import Member
from ..base import IngestReport, Order, SourceError, filter_contests
from ..lake_tables import is_delta
from ..options import ReadOptions
from .inputs import STDIN, TABLES, Input, check_address, files_of, format_of, standard_input, tables_in
from .json_tables import contests_in
from .reference import parse_reference, reference_time
from .scoreboards import as_reference
from .tables import read_tables


def read_contests(
    path: str | os.PathLike[str] | Sequence[str], options: ReadOptions | None = None, report: IngestReport | None = None
) -> Iterator[Contest]:
    """Checked contests from a folder, archive or table, in the order in which they are to be rated.

    ``path``: a folder, ``.tar``, ``.tar.gz``, ``.tar.xz`` or ``.zip`` of ``N.json`` files in the reference format; a
    table of results, one row a participation, as ``.csv``, ``.tsv``, ``.jsonl``, ``.json`` (each also compressed as
    ``.gz``, ``.bz2``, ``.zst`` or ``.xz``) or ``.parquet``; the folder of a Delta table; a folder of nothing but tables
    or a pattern such as ``results/*.csv``, read in order of name as one table; or ``-``, a table from standard input. A
    ``.jsonl`` or ``.json`` file may hold contests of the reference format instead. Several tables are read in the given
    order as one. The ``report`` is filled while contests are read.

    Raises ``ValueError`` for a setting that does not apply to this kind of path, or an address in place of a path.
    Raises ``SourceError`` at once if the path cannot be read, else from the iterator; it names the file, the contest,
    the rows and the rule.
    """
    options = ReadOptions() if options is None else options
    report = IngestReport() if report is None else report
    paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else list(path)
    source = paths[0] if len(paths) == 1 else f"{paths[0]} and others"
    with _memory_of(source):
        items = _items(paths, options, report)
    return _filtered(items, options, report, source)


def _filtered(
    items: Iterable[Contest | SourceError], options: ReadOptions, report: IngestReport, source: str
) -> Iterator[Contest]:
    with _memory_of(source):
        yield from filter_contests(
            items, report, on_error=options.on_error, dedupe=options.dedupe, in_field=options.field_includes_unrated
        )
    if not report.contests and report.left_out:
        n, first = len(report.left_out), report.left_out[0].reason
        raise SourceError(f"no contests: {count(n, 'contest')} left out, the first one because of this: {first}")


@contextmanager
def _memory_of(source: str) -> Iterator[None]:
    """Raise a lack of memory as an error that names the source."""
    try:
        yield
    except MemoryError:
        remedy = "use a machine with more memory, or ingest it in parts of whole contests"
        raise SourceError(f"not enough memory to read it; {remedy}", os.path.basename(source) or source) from None


def _items(paths: list[str], options: ReadOptions, report: IngestReport) -> Iterable[Contest | SourceError]:
    """Contests of the files at the paths; a contest with a fault is its error."""
    if paths == [STDIN]:
        return _from_stdin(options, report)
    for path in paths:
        check_address(path)
    files = files_of(*paths)
    folder = next((file for file in files if file.is_dir() and not is_delta(file)), None)
    if len(paths) > 1 and (no_table := folder or next(filter(_is_archive, files), None)):
        raise SourceError("several paths must all be tables; ingest a folder or an archive by itself", no_table.name)
    single = files[0] if len(files) == 1 else None
    tables = tables_in(folder, options.input_format, report, options.limits) if single and single is folder else []
    if single and tables:
        return _from_tables(tables, options, report, single.name)
    if single and (single is folder or (_is_archive(single) and options.input_format is None)):
        return _from_members(lambda: open_members(single, report, options.limits), single.name, options, report)
    inputs = []
    for file in files:
        form = (not file.is_dir() and options.input_format) or format_of(file)
        if form is None:
            known = ", ".join((*ARCHIVES, *TABLES))
            rule = (
                f"unknown kind of file; a folder or one of {known} can be read, a table also as .gz, .bz2, .zst or .xz"
            )
            raise SourceError(f"{rule}; give its format with --input-format", file.name)
        inputs.append(Input(file, file.name if single is not None else str(file), form, options.limits))
    return _from_tables(inputs, options, report, single.name if single is not None else " ".join(paths))


def _is_archive(file: Path) -> bool:
    return file.name.lower().endswith(ARCHIVES)


def _from_stdin(options: ReadOptions, report: IngestReport) -> Iterator[Contest | SourceError]:
    with standard_input(options.input_format, options.limits) as source:
        yield from _from_tables([source], options, report, source.name)


def _from_tables(
    inputs: list[Input], options: ReadOptions, report: IngestReport, source: str
) -> Iterable[Contest | SourceError]:
    forms = {table.form for table in inputs}
    if options.delimiter is not None and not forms <= {"csv", "tsv"}:
        raise ValueError(f"a delimiter applies to CSV and TSV only; {source} is {min(forms - {'csv', 'tsv'})}")
    if options.encoding != "utf-8" and (binary := min(forms & {"parquet", "delta"}, default=None)):
        raise ValueError(f"an encoding applies to text only; {source} is {binary}")
    if len(inputs) == 1 and forms <= {"json", "jsonl"}:
        members = contests_in(inputs[0], options, report)
        if members is not None:
            as_given = options if options.order is not None else dataclasses.replace(options, order="given")
            return _from_members(lambda: nullcontext(members), source, as_given, report)
    return read_tables(inputs, options, report, source)


def _from_members(
    opening: Callable[[], AbstractContextManager[list[Member]]], source: str, options: ReadOptions, report: IngestReport
) -> Iterator[Contest | SourceError]:
    """Contests of the reference format; settings of tables are refused."""
    standard = ReadOptions()
    for name in ("columns", "duplicates", "time_format"):
        if getattr(options, name) != getattr(standard, name):
            rule = f"the setting {name} applies to tables only"
            raise ValueError(f"{rule}; {source} holds contests of the reference format")
    return _read_reference(opening, source, options, report)


def _read_reference(
    opening: Callable[[], AbstractContextManager[list[Member]]], source: str, options: ReadOptions, report: IngestReport
) -> Iterator[Contest | SourceError]:
    order = options.order or "number"
    with opening() as members:
        if not members:
            rule = "no contests: there is no .json file in it; tables in an archive must be unpacked first"
            raise SourceError(rule, source)
        _check_stems(members, source)
        report.there = len(members)
        if order == "number":
            _note_gaps(sorted(m.number for m in members if m.number is not None), report)
        ordered, faults = _in_order(members, order, source, options.absent)
        yield from faults
        for member in ordered:
            try:
                raw = _read(member, source, options.absent)
                item = parse_reference(raw, member.stem, source=source, member=member.name, limits=options.limits)
                del raw
            except SourceError as error:
                yield error
            else:
                yield item


def _read(member: Member, source: str, absent: Absent) -> bytes | bytearray:
    """A member in the reference format; damage is a fault of its contest, so that other contests can still be read."""
    try:
        raw = member.read()
    except SourceError as error:
        raise SourceError(error.rule, source, member.stem, member.name) from error.__cause__
    return as_reference(raw, member.stem, source, member.name, absent) or raw


def _in_order(
    members: list[Member], order: Order, source: str, absent: Absent
) -> tuple[list[Member], list[SourceError]]:
    """Members in rated order, and a fault for each member without a place in this order."""
    if order == "given":
        return members, []
    keyed: list[tuple[int, int, Member]] = []
    faults: list[SourceError] = []
    for position, member in enumerate(members):
        number = member.number
        if order == "time":
            try:
                raw = _read(member, source, absent)
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
            raise SourceError(f"contest {member.stem} has two files: {first[key]} and {member.name}", source)
        first[key] = member.name


def _note_gaps(numbers: list[int], report: IngestReport) -> None:
    gaps = [(a + 1, b - 1) for a, b in zip([-1, *numbers], numbers, strict=False) if b - a > 1]
    if gaps:
        missing = sum(b - a + 1 for a, b in gaps)
        first = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in gaps[:5]) + (", ..." if len(gaps) > 5 else "")
        report.notes.append(f"the numbering has gaps: {first} ({missing:,} missing in all)")
