"""The description of the first invalid round names the change of its contest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ranklake.flows.rating.chain import first_break


@pytest.mark.parametrize(
    ("at", "rated", "present", "before", "exclude", "text"),
    [
        (1, ["a", "b"], ["a", "b"], [], [], "contest b, changed"),
        (1, ["a", "b"], ["a", "b"], [], ["b"], "contest b, is excluded"),
        (1, ["a", "b"], ["a", "b"], ["b"], [], "contest b, is included again"),
        (0, ["a", "b"], ["b"], [], [], "contest a, was removed"),
        (1, ["a", "b"], ["a"], [], [], "contest b, was removed"),
        (1, ["a", "b"], ["a", "c", "b"], [], [], "contest c, was inserted"),
        (0, ["a", "b"], ["b", "a"], [], [], "contest b, was moved here"),
    ],
)
def test_first_break__says_what_happened_to_the_contest(
    at: int, rated: list[str], present: list[str], before: list[str], exclude: list[str], text: str
) -> None:
    chain: Any = SimpleNamespace(segments=[SimpleNamespace(contest_ids=rated)])
    dataset: Any = SimpleNamespace(contests=pa.table({"contest_id": present}))
    assert first_break(at, chain, dataset, before, exclude) == text
