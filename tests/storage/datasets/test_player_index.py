"""The index of players numbers handles as a dict would: in order of first appearance, and exactly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ranklake.storage.datasets.tables.player_index import PlayerIndex

ODD = ["", " ", "a", "a\0", "\0a", "\0", "aa", "A", "ünal", "u\u0308nal", "王", "é" * 5000, "a" * 70_000]


def strings(names: list[str]) -> pa.StringArray:
    return pa.array(names, pa.string())


def numbered(names: list[str], numbers: dict[str, int]) -> list[int]:
    """The numbers that a dict gives."""
    return [numbers.setdefault(name, len(numbers)) for name in names]


def test_players__known_and_odd_names_keep_their_numbers() -> None:
    index = PlayerIndex(strings(ODD[:5]))
    assert index.rows(strings(ODD)).tolist() == list(range(len(ODD)))
    assert index.rows(strings(ODD[::-1])).tolist() == list(range(len(ODD)))[::-1]
    assert index.since(0).to_pylist() == ODD
    assert index.since(len(ODD)).to_pylist() == []
    assert index.known(["a", "b", "", "b", "王"]) == [2, 0, 10]
    assert (len(index), index.rows(strings([])).tolist(), index.known([])) == (len(ODD), [], [])
    names = strings([f"p{i}" for i in range(100)])  # slices of a larger array are read alone
    index = PlayerIndex(names[10:20])
    assert index.rows(names[15:25]).tolist() == list(range(5, 15))
    assert index.since(8).to_pylist() == [f"p{i}" for i in range(18, 25)]


@pytest.mark.parametrize("n_known", [0, 1, 700, 30_000])
def test_players__batches_are_numbered_as_by_a_dict(n_known: int) -> None:
    random = np.random.default_rng(5)
    known = [f"known{i}" for i in range(n_known)]
    numbers = {name: i for i, name in enumerate(known)}
    index = PlayerIndex(strings(known))
    for size in (1, 2, 3, 500, 5_000, 1, 20_000):
        names = [f"{'known' if i % 3 else 'new'}{i}" for i in random.integers(0, 40_000, size).tolist()]
        assert index.rows(strings(names)).tolist() == numbered(names, numbers)
    assert index.since(0).to_pylist() == list(numbers)
    assert len(index) == len(numbers)


def test_players__handles_with_one_hash_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlayerIndex, "_hash", lambda self, handles: np.full(len(handles), 2**64 - 1, np.uint64))
    index, numbers = PlayerIndex(strings(["x", "y"])), {"x": 0, "y": 1}
    for names in (["z", "y", "z"], [f"p{i}" for i in range(30)], ["y", "p7", "q"]):
        assert index.rows(strings(names)).tolist() == numbered(names, numbers)
    assert index.known(["q", "r"]) == [33]


def test_players__hashes_are_few_enough_to_a_slot_and_of_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"player{i}" for i in range(50_000)]
    index = PlayerIndex(strings(names))
    hashes = index._hash(strings(names))
    assert len(np.unique(hashes)) == len(names)
    assert np.bincount(index._slot(hashes)).max() < 16  # a random function has 7 or 8
    whole = index._hash(strings(ODD))
    monkeypatch.setattr("ranklake.storage.datasets.tables.player_index._BLOCK", 2)
    assert np.array_equal(index._hash(strings(ODD)), whole)
