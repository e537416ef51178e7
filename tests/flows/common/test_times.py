"""Times of every door, and rounds until a time."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranklake.flows.common.times import FIRST_SECOND, LAST_SECOND, NoTimeError, count_until, parse_time, spelled
from ranklake.rating_kernels.core.limits import TIME_SECONDS

DAY = 1_580_428_800  # 2020-01-31

EQUAL: list[Any] = [
    "2020-01-31", "20200131", "2020-01-31T00:00", "2020-01-31 00:00:00.9", "2020-01-31T00:00Z",
    "2020-01-31T03:00+03:00", "2020-01-30T23:00-01:00", "1580428800",
    DAY, float(DAY), DAY + 0.75, np.int64(DAY), np.float64(DAY), date(2020, 1, 31), datetime(2020, 1, 31),
    datetime(2020, 1, 31, tzinfo=UTC), datetime(2020, 1, 31, 5, tzinfo=timezone(timedelta(hours=5))),
    pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-31", tz="UTC"),
    pd.Timestamp("2020-01-31 01:00", tz="Europe/Paris"), pd.Timestamp("2020-01-31 00:00:00.999999999"),
    np.datetime64("2020-01-31"), np.datetime64("2020-01-31T00:00:00.5", "ns"),
]  # fmt: skip
WRONG: list[Any] = [
    "01/02/2026", "13/02/2026", "01.02.2026", "June", "2020", "2020-06", "", "soon", "2020-02-30", "nan", "NaT", "now",
    "12345678901234567890", "1e9", "1,580,428,800", "0001-01-01T00:00+05:00",
    None, float("nan"), float("inf"), True, np.True_, pd.NaT, pd.NA, np.datetime64("NaT"), np.datetime64(10**12, "Y"),
    Decimal(DAY), timedelta(1), np.timedelta64(1, "D"), [DAY], b"2020-01-31", pd.Period("2020-01", "M"), 10**5000,
]  # fmt: skip


@pytest.mark.parametrize("value", EQUAL, ids=repr)
def test_time__has_one_meaning_in_all_forms(value: Any) -> None:
    assert parse_time(value) == DAY


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (-5_000_000_000, -5_000_000_000), ("-5000000000", -5_000_000_000), ("1811-07-23", -5_000_054_400),
        (0, 0), (5, 5), (7_258_118_399, 7_258_118_399),
        (-0.5, -1), (datetime(1969, 12, 31, 23, 59, 59, 500_000), -1), (np.datetime64(-1, "ns"), -1),
        ("0001-01-01", -62_135_596_800), ("9999-12-31", 253_402_214_400),
    ],
)  # fmt: skip
def test_time__may_be_before_1900_and_of_far_years(value: Any, seconds: int) -> None:
    assert parse_time(value) == seconds


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_time__other_values_are_errors_with_the_forms(value: Any) -> None:
    with pytest.raises(NoTimeError, match=r"^at must be a time as 2020-01-31, .* or 1580428800") as caught:
        parse_time(value, "at")
    assert ", got " in str(caught.value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1_700_000_000_000, "divide milliseconds by 1,000, got 1700000000000"),
        ("1700000000000", "divide milliseconds by 1,000, got '1700000000000'"),
        (1.7e15, "divide microseconds by 1,000,000, got"),
        (np.int64(1_700_000_000 * 10**9), "divide nanoseconds by 1,000,000,000, got"),
        ("20240131120000", "as seconds of the years 1 to 2199, got"),
        (-1_000_000_000_000, "divide milliseconds by 1,000, got"),
        (-(7 * 10**10), "as seconds of the years 1 to 2199, got"),
    ],
)
def test_time__numbers_in_other_units_are_errors_with_a_hint(value: Any, hint: str) -> None:
    with pytest.raises(NoTimeError, match=hint):
        parse_time(value)


def test_time__of_any_door_is_one_that_contests_may_have() -> None:
    assert TIME_SECONDS.contains(FIRST_SECOND)
    assert TIME_SECONDS.contains(LAST_SECOND)
    assert parse_time("0001-01-01") == FIRST_SECOND
    assert [spelled(DAY), spelled(-(10**14))] == ["2020-01-31 00:00:00 UTC", "-100000000000000 s"]


@pytest.mark.parametrize(("at", "count"), [(99, 0), (100, 1), (250, 4), (300, 5), (10**6, 5)])
def test_rounds_until_a_time__include_those_before_the_last_one_that_had_ended(at: int, count: int) -> None:
    ends = np.array([100, 300, 0, 200, 300, 0])  # the clock goes back, and 0 is unknown

    assert count_until(ends, at) == count
