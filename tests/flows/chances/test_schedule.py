"""The rounds before which a refit is due: by the rule itself, and whatever is rated first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.common.refits import refit_rounds


def due_by_the_rule(counts: list[int]) -> list[int]:
    """One round after the other, in whole numbers."""
    found, before, last = [], 0, 0
    for round_index, n in enumerate([*counts, 0]):
        if before >= 20 and 10 * before >= 11 * last:
            found.append(round_index)
            last = before
        before += n
    return found


@given(st.lists(st.integers(0, 40), max_size=60))
def test_refits__are_due_at_twenty_games_and_a_tenth_more(counts: list[int]) -> None:
    assert refit_rounds(np.array(counts, np.int64)) == due_by_the_rule(counts)


@given(st.lists(st.integers(0, 40), max_size=40), st.lists(st.integers(0, 40), max_size=10))
def test_refits__of_a_history_are_those_of_its_continuation(counts: list[int], more: list[int]) -> None:
    both = refit_rounds(np.array([*counts, *more], np.int64))
    assert [due for due in both if due <= len(counts)] == refit_rounds(np.array(counts, np.int64))


def test_refits__of_a_million_games_are_few() -> None:
    assert len(refit_rounds(np.ones(1_000_000, np.int64))) < 120
