"""Types of options: what they accept."""

from __future__ import annotations

import click
import pytest

from ranklake.flows.cli.terminal.options import AGE, SPAN


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7_200), ("3d", 259_200)])
def test_span__is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert SPAN.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "h", "0h", "1", "1.5h", "-1h", "1H", "1w", "1h ", "99999999s"])
def test_span__of_any_other_form_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be a duration as 90s, 15m, 1h or 1d, got"):
        SPAN.convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("90d", 7_776_000), ("2w", 1_209_600), ("1y", 31_557_600)])
def test_age__is_in_days_weeks_or_years(text: str, seconds: int) -> None:
    assert AGE.convert(text, None, None) == seconds


def test_age__of_seconds_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="must be a duration as 90d, 26w or 1y, got '90s'"):
        AGE.convert("90s", None, None)
