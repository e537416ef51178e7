"""Digests of the prefixes of a sequence locate its first change."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.publication.states import PrefixDigests, as_bytes, digest_of_rows


def sequence(values: list[int]) -> np.ndarray:
    return as_bytes(np.array(values, dtype=np.int32))


def common(one: list[int], other: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


values = st.lists(st.integers(0, 2), max_size=40)


@pytest.mark.slow
@repeatable(200)
@given(before=values, after=values)
def test_prefix_digests__locate_the_first_changed_row(before: list[int], after: list[int]) -> None:
    digests = PrefixDigests.from_json(json.loads(json.dumps(asdict(PrefixDigests.of(sequence(before))))))
    assert digests.kept(sequence(after)) == common(before, after)
    assert digests.kept(sequence(before)) == len(before)


@repeatable(100)
@given(before=values, data=st.data())
def test_prefix_digests__of_a_long_sequence_show_a_change_at_most_a_step_early_and_never_late(
    before: list[int], data: st.DataObject
) -> None:
    after = before[: data.draw(st.integers(0, len(before)))] + data.draw(values)
    digests = PrefixDigests.of(sequence(before), most=4)
    assert len(digests.digests) <= 4 * 12
    same, kept = common(before, after), digests.kept(sequence(after))
    assert same - digests.step < kept <= same
    if before == after[: len(before)]:
        assert kept == len(before)


def test_prefix_digests__of_another_seed_keep_nothing() -> None:
    assert PrefixDigests.of(sequence([1, 2, 3]), "a").kept(sequence([1, 2, 3]), "b") == 0


def test_prefix_digests__of_wrong_types_are_refused() -> None:
    for facts in ({}, {"rows": 1, "step": 1}, {"rows": "many", "step": 1, "digests": ""}):
        with pytest.raises((KeyError, ValueError)):
            PrefixDigests.from_json(facts)
    assert PrefixDigests.from_json({"rows": 3, "step": 0, "digests": "abc"}).kept(sequence([1, 2, 3])) == 0


def test_digest_of_rows__differs_by_value_and_not_by_memory_layout() -> None:
    whole = pa.table(
        {"name": ["a", "", None, "ü", "b"], "n": [1, None, 0, 4, 5], "is": [True, None, False, True, True]}
    )
    pieces = pa.concat_tables([whole.slice(0, 2), whole.slice(2)])
    assert digest_of_rows(pieces) == digest_of_rows(whole) == digest_of_rows(whole.take([0, 1, 2, 3, 4]))
    assert digest_of_rows(whole.slice(1, 3)) == digest_of_rows(whole.take([1, 2, 3]))
    others = (
        whole.set_column(0, "name", pa.array(["a", None, "", "ü", "b"])),
        whole.set_column(0, "name", pa.array(["a", "", None, "üb", ""])),
        whole.set_column(1, "n", pa.array([1, 0, None, 4, 5])),
        whole.slice(0, 4),
    )
    assert len({digest_of_rows(table) for table in (whole, *others)}) == 5
