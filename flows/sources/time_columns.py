"""Times of a table's column as UTC seconds. The format is detected for the whole column, not for single rows.

Numbers are Unix seconds if they lie in the years 1 to 2199; larger ones are milliseconds, microseconds or nanoseconds
by their size. The ranges do not overlap, and numbers between them are refused. Of data frames the messages name
functions of pandas instead of options of the command, and numbers are seconds or an error.
"""

from __future__ import annotations

import math
import re
import warnings
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..common.text import quoted
from ..common.times import FIRST_SECOND, LAST_SECOND, SMALLER_FROM, iso_seconds
from .base import SourceError
from .columns import (
    EXACT_FLOAT,
    Bools,
    Longs,
    as_names,
    as_numbers,
    check_text,
    decoded,
    is_blank,
    is_text,
    numbers_from_text,
)

TIME_FORMATS = ("auto", "unix", "unix-ms", "unix-us", "unix-ns", "iso", "yyyymmdd")
RULE = "a time must be a whole number of UTC seconds, a date such as 2024-01-31 or a timestamp"
MIXED = "the column mixes numbers and dates; most of its times are"

INT64_MAX = 2**63 - 1
_UNITS = {"unix": 1, "unix-ms": 10**3, "unix-us": 10**6, "unix-ns": 10**9}
_WORDS = {"unix": "seconds", "unix-ms": "milliseconds", "unix-us": "microseconds", "unix-ns": "nanoseconds"}
_CALENDAR_SHARE = 0.9  # minimum share of dates YYYYMMDD; of random numbers one in thirty is such a date
_DAYS = (
    "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y",
    "%d.%m.%y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%a, %d %b %Y", "%a %b %d %Y",
)  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S %z", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", ", %H:%M:%S")


class Seconds(NamedTuple):
    """A column of times.

    ``seconds`` are UTC; each of ``faults`` is a mask of rows without a valid time, and the rule that they break;
    ``form`` is the time format that was used, ``kind`` its description.
    """

    seconds: Longs
    faults: tuple[tuple[Bools, str], ...]
    form: str
    kind: str


def check_time_format(form: str) -> None:
    """Raise ``ValueError`` unless this is a time format: one of ``TIME_FORMATS`` or a pattern of ``strptime``."""
    if form in TIME_FORMATS:
        return
    rule = f"time format must be one of {', '.join(TIME_FORMATS)} or a pattern such as %d/%m/%Y, got {form!r}"
    if "%" not in form:
        raise ValueError(rule)
    try:
        with warnings.catch_warnings():  # from Python 3.13 on a pattern with a day and no year is one
            warnings.simplefilter("ignore", DeprecationWarning)
            datetime.strptime("", form)
    except ValueError as error:
        if "bad directive" in str(error) or "stray %" in str(error):
            raise ValueError(f"{rule}: {error}") from None
    except re.error:
        raise ValueError(f"{rule}: it has a directive twice") from None


def as_seconds(column: pa.ChunkedArray, name: str, source: str, form: str = "auto", *, frame: bool = False) -> Seconds:
    """Times of the column ``name`` as UTC seconds; ``form`` is a time format, see :func:`check_time_format`.

    Timestamps without a zone are UTC and, like dates, are rounded down to the second; they need no format. Numbers of a
    data ``frame`` are seconds, of any size in a column ``time_seconds``. Raises ``SourceError`` for a column whose type
    is no time, text that is not UTF-8, times that fit two formats, which are named, or numbers of a data frame in
    another form than seconds.
    """
    seconds = _read(column, name, source, form, frame)
    if frame and seconds.form not in ("unix", "iso"):
        remedy = f"{_remedy(seconds.form, frame)} makes datetimes of them"
        raise SourceError(f"{name} holds {seconds.kind}; numbers must be Unix seconds: {remedy}", source)
    return seconds


def _read(column: pa.ChunkedArray, name: str, source: str, form: str, frame: bool) -> Seconds:
    column = decoded(column)
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return _from_type(column)
    numbers = column
    if is_text(column.type):
        check_text(column, "time", source)
        numbers = numbers_from_text(column)
    if form == "iso" or "%" in form:
        return _from_text(as_names(column, "time", source), form)
    if form != "auto" or not is_text(column.type):
        return _from_numbers(numbers, name, source, form, frame)
    numeric = ~pc.is_null(numbers).to_numpy()
    if numeric.all():
        return _from_numbers(numbers, name, source, form, frame)
    texts = _from_text(column.cast(pa.string()), "iso")
    dated = ~texts.faults[0][0] & ~numeric
    if not numeric.any() and not dated.any():
        _offer_patterns(column, source, frame)
    if np.count_nonzero(numeric) > np.count_nonzero(dated):
        read = _from_numbers(numbers, name, source, form, frame)
        return read._replace(faults=((dated, f"{MIXED} numbers"), *read.faults))
    return texts._replace(faults=((numeric, f"{MIXED} dates"), *texts.faults))


def _from_type(column: pa.ChunkedArray) -> Seconds:
    kind = "dates" if pa.types.is_date(column.type) else "timestamps"
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    missing = pc.is_null(column).to_numpy()
    seconds = np.floor_divide(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(), ticks)
    return Seconds(seconds, ((missing, RULE),), "iso", kind)


def _from_numbers(column: pa.ChunkedArray, name: str, source: str, form: str, frame: bool) -> Seconds:
    values, bad = as_numbers(column, "time", source)
    if values.dtype.kind == "f":
        bad = bad | ~((np.floor(values) == values) & (abs(values) <= EXACT_FLOAT))
    elif values.dtype == np.uint64:
        bad = bad | (values > INT64_MAX)
    whole: Longs = np.where(bad, 0, values).astype(np.int64)
    guessed = form == "auto" and not (frame and name == "time_seconds")
    if form == "auto":
        form = _guess(whole, ~bad, name, source, frame) if guessed else "unix"
    plausible = _plausible(whole, form) if guessed else np.ones(len(whole), bool)
    if form == "yyyymmdd":
        seconds, plausible = _from_calendar(whole)
        faults = ((bad, RULE), (~bad & ~plausible, "a time must be a date of the calendar as YYYYMMDD"))
        return Seconds(seconds, faults, form, "dates YYYYMMDD")
    rule = f"most times are Unix {_WORDS[form]} of the years 1 to 2199 ({_remedy(form, frame)} takes any)"
    return Seconds(
        np.floor_divide(whole, _UNITS[form]), ((bad, RULE), (~bad & ~plausible, rule)), form, f"Unix {_WORDS[form]}"
    )


def _guess(values: Longs, good: Bools, name: str, source: str, frame: bool) -> str:
    """The time format of a column of whole numbers; ``SourceError`` if two are likely, or none is."""
    known = pa.array(values[good]).unique().to_numpy()  # a contest's time is in all its rows
    if not len(known):
        return "unix"
    rows = (int(np.flatnonzero(good)[0]) + 1,)
    told_seconds = re.search("second|unix|epoch", name.casefold()) is not None
    _, calendar = _from_calendar(known)
    if np.count_nonzero(calendar) >= _CALENDAR_SHARE * len(known):
        if told_seconds:
            at = int(np.flatnonzero(calendar)[0])
            day = day_of(_from_calendar(known[at : at + 1])[0][0])
            raise SourceError(_two(name, int(known[at]), "yyyymmdd", day, frame), source, rows=rows)
        return "yyyymmdd"
    years, months = (known >= 1900) & (known <= 2100), (known // 100 >= 1900) & (known // 100 <= 2100)
    if not told_seconds and years.all():
        raise SourceError(_two(name, int(known[0]), "%Y", f"the year {known[0]}", frame), source, rows=rows)
    if not told_seconds and (months & (known % 100 >= 1) & (known % 100 <= 12)).all():
        month = f"{known[0] // 100}-{known[0] % 100:02}"
        raise SourceError(_two(name, int(known[0]), "%Y%m", month, frame), source, rows=rows)
    fits = {form: int(np.count_nonzero(_plausible(known, form))) for form in _UNITS}
    form = max(fits, key=lambda one: fits[one])  # of equals the largest unit
    if not fits[form]:
        rule = f"{name} = {known[0]} is no Unix time of the years 1 to 2199 in any unit"
        remedy = "--time-format unix, unix-ms or a pattern such as %Y%m%d%H%M%S"
        if frame:
            remedy = f"{_remedy('%Y%m%d%H%M%S', frame)} reads a pattern, a column time_seconds has seconds of any year"
        raise SourceError(f"{rule}; {remedy}", source, rows=rows)
    return form


def _plausible(values: Longs, form: str) -> Bools:
    """Which numbers are times of the years 1 to 2199 in the unit of a format, from 1973 on in units below a second."""
    if form not in _UNITS:
        return np.ones(len(values), bool)
    first = FIRST_SECOND if form == "unix" else SMALLER_FROM
    return (values >= first * _UNITS[form]) & (values // _UNITS[form] <= LAST_SECOND)


def _from_calendar(values: Longs) -> tuple[Longs, Bools]:
    """Numbers YYYYMMDD as seconds, and a mask of the valid dates of the years 1900 to 2100."""
    year, month, day = values // 10_000, values // 100 % 100, values % 100
    good = (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0)
    start, stop = ((months + k).astype("M8[M]").astype("M8[D]").astype(np.int64) for k in (0, 1))
    good &= (day >= 1) & (day <= stop - start)
    return np.where(good, (start + day - 1) * 86_400, 0), good


def _from_text(column: pa.ChunkedArray, form: str) -> Seconds:
    """Texts as times of one format; each distinct text is parsed once."""
    encoded = column.dictionary_encode().combine_chunks()
    texts = pc.utf8_trim_whitespace(encoded.dictionary)
    stamps = (
        _iso_stamps(texts)
        if form == "iso"
        else pa.array([_stamp(text, form) for text in texts.to_pylist()], pa.int64())
    )
    seconds = stamps.take(encoded.indices)
    rule = RULE if form == "iso" else f"a time must match --time-format {form}"
    kind = "dates or times as ISO 8601" if form == "iso" else f"times as {form}"
    return Seconds(pc.fill_null(seconds, 0).to_numpy(), ((seconds.is_null().to_numpy(False), rule),), form, kind)


def _iso_stamps(texts: pa.StringArray) -> pa.Int64Array:
    for kind in (pa.timestamp("s"), pa.timestamp("s", "UTC")):  # Arrow parses a zone only into a type with a zone
        try:
            return texts.cast(kind).cast(pa.int64())
        except pa.ArrowInvalid:
            continue
    return pa.array([_stamp(text, "iso") for text in texts.to_pylist()], pa.int64())


def _stamp(text: str, form: str) -> int | None:
    if form == "iso":
        return iso_seconds(text)
    try:
        moment = datetime.strptime(text, form)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return math.floor(moment.timestamp())


def _offer_patterns(column: pa.ChunkedArray, source: str, frame: bool) -> None:
    """Raise an error that names the patterns that fit all times of a column, if there are any."""
    texts = [text for text in pc.unique(pc.utf8_trim_whitespace(column)).to_pylist() if text]
    patterns = [day + clock for day in _DAYS for clock in _CLOCKS] if texts else []
    for text in texts:
        patterns = [pattern for pattern in patterns if _stamp(text, pattern) is not None]
    if not patterns:
        return
    row = int(np.flatnonzero(~is_blank(column))[0])
    text = column[row].as_py()
    readings = " or ".join(f"{day_of(_stamp(text.strip(), one) or 0)} ({_remedy(one, frame)})" for one in patterns[:2])
    rule = "could be" if len(patterns) > 1 else "is not ISO 8601; is it"
    raise SourceError(f"the time {quoted(text)} {rule} {readings}", source, rows=(row + 1,))


def _two(name: str, value: int, form: str, other: str, frame: bool) -> str:
    return (
        f"{name} = {value} could be {other} ({_remedy(form, frame)}) or the second {value:,} "
        f"after the start of 1970 ({_remedy('unix', frame)})"
    )


def _remedy(form: str, frame: bool) -> str:
    """What reads times of a form: an option of the command, or a function of pandas for data frames."""
    if not frame:
        return f"--time-format {form!r}" if "%" in form else f"--time-format {form}"
    if form == "unix":
        return "a column time_seconds"
    if form in _UNITS:
        return f"pandas.to_datetime(..., unit={form.removeprefix('unix-')!r})"
    return f"pandas.to_datetime(..., format={'%Y%m%d' if form == 'yyyymmdd' else form!r})"


def day_of(seconds: Any) -> str:
    """The day of a time, as 2024-01-31."""
    return str(np.datetime64(int(seconds), "s").astype("M8[D]"))
