"""`ranklake rated` whose log is in PostgreSQL, which goes away and comes back."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest
from helpers.database_servers import Server
from helpers.databases import server_judge
from helpers.timeouts import TIMEOUT

pytest.importorskip("uvicorn")
from helpers.live_process import rated
from helpers.live_service import duel

pytestmark = pytest.mark.slow


def test_database__that_goes_away_loses_no_acknowledged_match(tmp_path: Path, postgresql: Server) -> None:
    accepted: set[str] = set()
    statuses: Counter[int] = Counter()
    over = threading.Event()

    def send(client: int, address: str) -> None:
        with httpx.Client(timeout=TIMEOUT) as session:
            for at in range(1_000_000):
                match = duel(f"{client}-{at}", f"p{client}", f"q{at % 7}")
                while not over.is_set():
                    answer = session.post(f"{address}/matches", json=match)
                    statuses[answer.status_code] += 1
                    if answer.status_code in (200, 201):
                        accepted.add(match["id"])
                        break
                    over.wait(min(float(answer.headers["Retry-After"]), 0.2))
                if over.is_set():
                    return

    def wait_for(more: int) -> None:
        before = len(accepted)
        while len(accepted) < before + more:
            assert not over.wait(0.01)

    with server_judge(postgresql) as judge:
        with rated(tmp_path, "--log", judge.url) as (process, address, _):
            threads = [threading.Thread(target=send, args=(client, address)) for client in range(3)]
            for thread in threads:
                thread.start()
            try:
                wait_for(50)
                postgresql.stop(signal.SIGQUIT)  # a crash
                while not statuses[503]:
                    assert httpx.get(f"{address}/players/p0", timeout=TIMEOUT).status_code == 200  # reading goes on
                postgresql.start()
                wait_for(20)
            finally:
                over.set()
                for thread in threads:
                    thread.join()
            process.terminate()
            _, error = process.communicate(timeout=TIMEOUT)
            assert (process.returncode, b"Traceback" in error) == (0, False)
        stored = [name for (name,) in judge.sql("select id from ranklake_log order by sequence")]
        assert statuses.keys() == {201, 503}
        assert len(stored) == len(set(stored))
        assert accepted <= set(stored)
