"""Calls that workers pass on to others: groups, replies in order, and workers that do not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ranklake.flows.engines import fan_out
from ranklake.flows.engines.fan_out import Lost, call_group, group_message, groups, unreached
from ranklake.flows.engines.serialization import deserialize, serialize


@pytest.mark.parametrize("n", [1, 2, 16, 17, 25, 26, 100, 1000])
def test_groups__have_every_worker_once_and_few_calls_each(n: int) -> None:
    found = groups(n)
    assert [worker for members in found for worker in members] == list(range(n))
    most = max(len(found), max(map(len, found)))
    assert most == (n if n <= 16 else int(np.ceil(np.sqrt(n))))


def test_call_group__returns_all_replies_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also large arrays, which travel as frames of their own."""
    messages = {worker: serialize([worker, np.arange(100_000) + worker]) for worker in range(3)}
    lost = Lost("c", "it has not answered for 3 s", False)

    async def call(address: str, key: str, method: str, frames: Sequence[Any], seconds: float) -> Any:
        assert (key, method, seconds) == (f"key {address}", "do", 3.0)
        worker, numbers = deserialize(frames)
        return lost if address == "c" else serialize((worker, int(numbers.sum()), numbers))

    async def here(method: str, frames: Sequence[Any]) -> Any:
        return await call("a", "key a", method, frames, 3.0)

    monkeypatch.setattr(fan_out, "_call", call)
    message = group_message("do", 3.0, messages[0], [("b", "key b", messages[1]), ("c", "key c", messages[2])])
    replies = deserialize(asyncio.run(call_group(here, message)))
    assert replies[2] == lost
    for worker, reply in enumerate(map(deserialize, replies[:2])):
        assert reply[:2] == (worker, int(np.arange(100_000).sum()) + worker * 100_000)
        assert np.array_equal(reply[2], np.arange(100_000) + worker)


def test_unreached__names_the_workers_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def call(address: str, key: str, method: str, frames: Sequence[Any], seconds: float) -> Any:
        return None if address == "b" else Lost(address, "refused", False)

    monkeypatch.setattr(fan_out, "_call", call)
    assert asyncio.run(unreached([("a", "1"), ("b", "2"), ("c", "3")], 1.0)) == ["a", "c"]
