"""Many clients at once: the order of the log explains every answer."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("starlette")
from helpers.live_matches import MemoryLog
from helpers.live_service import RUN, Clock, duel, live_service

CLIENTS, REQUESTS, PLAYERS = 16, 15, 10


@pytest.mark.slow
def test_answers__of_sixteen_clients_are_those_of_the_order_of_the_log(tmp_path: Path) -> None:
    log, results, players = MemoryLog(), dict[int, Any](), dict[tuple[int, str], Any]()

    def ask(number: int) -> None:
        dice = random.Random(number)
        for at in range(REQUESTS):
            sent = []
            for part in range(dice.choice([1, 1, 1, 4])):
                a, b = dice.sample(range(PLAYERS), 2)
                sent.append(duel(f"{number}-{at}-{part}", f"p{a}", f"p{b}", dice.choice([0, 0.5, 1])))
            if len(sent) == 1:
                found = [client.post(f"{RUN}/matches", json=sent[0]).json()]
            else:
                listed = client.post(f"{RUN}/matches", json={"matches": sent}).json()["results"]
                found = [one["result"] for one in listed]
                assert [one["sequence"] for one in found] == sorted(one["sequence"] for one in found)
            results.update((one["sequence"], one) for one in found)
            handle = f"p{dice.randrange(PLAYERS)}"
            seen = client.get(f"{RUN}/players/{handle}")
            if seen.status_code == 200:
                assert seen.json()["sequence"] >= found[-1]["sequence"]  # a client sees what it was answered
                players[seen.json()["sequence"], handle] = seen.json()

    with live_service(tmp_path / "many", log, runs=("run", "other")) as client, ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(ask, range(CLIENTS)))
    assert sorted(results) == list(range(1, len(log.records) + 1))
    with live_service(tmp_path / "one", runs=("run", "other"), clock=Clock()) as alone:
        for record in log.records:
            sent = _sent(record.body)
            assert alone.post(f"{RUN}/matches", json=sent).json() == results[record.sequence]
            for sequence, handle in players:
                if sequence == record.sequence:
                    assert alone.get(f"{RUN}/players/{handle}").json() == players[sequence, handle]


def _sent(body: bytes) -> Any:
    """The match of a record, as a client could send it."""

    return msgspec.json.decode(body)["match"]
