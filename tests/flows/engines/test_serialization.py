"""Messages arrive unchanged, and stay valid after their frames."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from ranklake.flows.engines.serialization import LARGE, deserialize, embed, serialize

SMALL_ARRAY = np.arange(7, dtype=np.int32)
LARGE_ARRAY = np.arange(LARGE, dtype=np.float64)


def test_serialize__copies_small_arrays_and_not_large_ones() -> None:
    frames = serialize([("put", (SMALL_ARRAY, {"mu": LARGE_ARRAY}))])
    assert len(frames) == 2
    assert np.shares_memory(frames[1], LARGE_ARRAY)
    ((name, (small, columns)),) = deserialize(frames)
    assert name == "put"
    assert small.tobytes() == SMALL_ARRAY.tobytes()
    assert small.dtype == np.int32
    assert small.flags.writeable
    assert np.shares_memory(columns["mu"], LARGE_ARRAY)


def test_serialize__accepts_any_array() -> None:
    for array in (LARGE_ARRAY[::2], LARGE_ARRAY.reshape(2, -1).T, np.empty(0), LARGE_ARRAY.reshape(4, -1)):
        assert np.array_equal(deserialize(serialize(array)), array)


def test_embed__a_message_inside_another_is_serialised_once() -> None:
    to_all = embed(serialize(["receive_priors", LARGE_ARRAY, SMALL_ARRAY]))
    for turn in (1, 2):
        frames = serialize((turn, to_all, ["finish_round"]))
        assert np.shares_memory(frames[1], LARGE_ARRAY)
        number, inner, own = deserialize(frames)
        assert (number, own) == (turn, ["finish_round"])
        name, large, small = deserialize(inner)
        assert name == "receive_priors"
        assert np.shares_memory(large, LARGE_ARRAY)
        assert np.array_equal(small, SMALL_ARRAY)


@pytest.mark.slow
def test_deserialize__arrays_stay_valid_after_the_message_is_collected() -> None:
    """The message is part of a reference cycle, as messages of tasks are."""
    arrived: list[Any] = []
    for _ in range(50):
        array = LARGE_ARRAY.copy()
        inner = embed(serialize([array]))
        frames: list[Any] = list(serialize((inner, array)))
        cycle: list[Any] = [frames, inner, [memoryview(piece)[1:] for piece in frames]]
        cycle.append(cycle)
        arrived += deserialize(frames)[1:]
        del array, inner, frames, cycle
        gc.collect()
    assert all(np.array_equal(one, LARGE_ARRAY) for one in arrived)
