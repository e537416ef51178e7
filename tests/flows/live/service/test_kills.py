"""The process is killed at any moment under load: what was acknowledged is there, and all can be sent again."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
from helpers.live_fork import forks
from helpers.live_matches import MemoryLog, config_of
from helpers.live_service import duel
from helpers.timeouts import TIMEOUT

from ranklake.flows.live.engine import LiveRuns
from ranklake.flows.live.log.opening import open_log
from ranklake.storage import Lake

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="forks, and signals of POSIX")]

TURNS = int(os.environ.get("RANKLAKE_KILLS", "8"))  # 200 take some minutes
CLIENTS = 4


class Client:
    """A client that knows what it has sent and what was acknowledged."""

    def __init__(self, number: int) -> None:
        self.number, self.n = number, 0
        self.acknowledged: dict[str, bytes] = {}
        self.open: list[str] = []  # sent, without an answer

    def body(self, name: str) -> bytes:
        dice = random.Random(name)
        a, b = dice.sample(range(12), 2)
        return json.dumps(duel(name, f"p{a}", f"p{b}", dice.choice([0, 0.5, 1]))).encode()

    def send(self, session: http.client.HTTPConnection, name: str) -> tuple[int, bytes]:
        session.request("POST", "/api/v1/runs/run/matches", self.body(name))
        answer = session.getresponse()
        return answer.status, answer.read()

    def load(self, port: int) -> None:
        """Send new matches until the process is gone."""
        session = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        with suppress(OSError, http.client.HTTPException):
            while True:
                self.n += 1
                self.open.append(f"{self.number}-{self.n}")
                status, data = self.send(session, self.open[-1])
                assert status == 201, data
                self.acknowledged[self.open.pop()] = data
        session.close()

    def send_again(self, port: int, since: int) -> None:
        """Send the last of what was acknowledged after a number, and what was not: the answers are the same."""
        session = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        for name in list(self.acknowledged)[since:][-20:]:
            assert self.send(session, name) == (200, self.acknowledged[name])
        for name in self.open:
            status, data = self.send(session, name)
            assert status in (200, 201), data
            self.acknowledged[name] = data
        self.open.clear()
        session.close()


def test_process__killed_under_load_loses_no_acknowledged_match(tmp_path: Path) -> None:
    clients, dice = [Client(number) for number in range(CLIENTS)], random.Random(2026)
    arguments = ["rated", "--run", "run", "--dataset", "games", "--system", "elo", "--lake", str(tmp_path / "lake"),
                 "--log", f"file:{tmp_path / 'log'}", "--port", "0"]  # fmt: skip
    with forks() as forked:
        seen = [0] * CLIENTS
        for turn in range(TURNS + 1):
            child, line = forked.begin(arguments)
            found = re.search(r":(\d+)/; the last one has number ([\d,]+)", line)
            assert found, line
            port = int(found[1])
            for number, client in enumerate(clients):
                client.send_again(port, seen[number])
                seen[number] = len(client.acknowledged)
            threads = [threading.Thread(target=client.load, args=(port,)) for client in clients]
            if turn < TURNS:
                for thread in threads:
                    thread.start()
                time.sleep(dice.uniform(0.0, 0.08))
                os.kill(child, signal.SIGKILL)
                for thread in threads:
                    thread.join()
            else:
                os.kill(child, signal.SIGTERM)
                assert forked.line().startswith("stopped")
            assert forked.line() == "ended"
    acknowledged = {name: data for client in clients for name, data in client.acknowledged.items()}
    log = open_log(f"file:{tmp_path / 'log'}", "games")
    records = list(log.read(1))
    log.close()
    assert Counter(record.id for record in records) == Counter(acknowledged.keys())
    assert [json.loads(acknowledged[record.id])["sequence"] for record in records] == list(range(1, len(records) + 1))
    again = Lake.open(str(tmp_path / "again"), create=True)
    with LiveRuns.open(again, [config_of("run", "elo", "games")], MemoryLog(records), now=records[-1].received) as runs:
        for record in records[-50:]:
            stored = runs.match("run", record.id)
            assert stored is not None
            mu = [player.mu for player in stored.result.players]
            assert mu == [player["mu"] for player in json.loads(acknowledged[record.id])["players"]]
