"""Flags of countries by their codes."""

from __future__ import annotations

import pytest

from ranklake.flows.pages.flags import flag


@pytest.mark.parametrize(
    ("country", "code"),
    [
        ("PL", "PL"),
        ("pl", "PL"),
        ("POL", "PL"),
        ("ger", "DE"),
        ("DEU", "DE"),
        ("Poland", ""),
        ("", ""),
        ("<b", ""),
        ("XYZ", ""),
    ],
)
def test_flag__has_the_indicators_of_the_code(country: str, code: str) -> None:
    assert "".join(chr(ord(one) - 0x1F1E6 + ord("A")) for one in flag(country)) == code
