"""A client of `ranklake rated` in one file: it sends a match until the answer is certain, and prints the new ratings.

    RANKLAKE_TOKEN=... python live.py http://127.0.0.1:8090 ladder ada bo 1

The arguments: the address, the run, two players, and the score of the first one: 1, 0.5 or 0. It needs httpx alone.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from typing import Any

import httpx

GIVE_UP_SECONDS = 60.0
LATER = {429, 503}  # too many wait; the service starts, ends, or has no disk


def send(client: httpx.Client, run: str, match: dict[str, Any]) -> dict[str, Any]:
    """The result of a match. The id makes it safe to send again: an accepted match has its first answer."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while True:
        pause = 1.0
        try:
            response = client.post(f"/api/v1/runs/{run}/matches", json=match)
            if response.status_code not in LATER:
                response.raise_for_status()
                result: dict[str, Any] = response.json()
                return result
            pause = float(response.headers.get("Retry-After", pause))
        except httpx.TransportError:  # no answer: it may have been accepted, or not
            pass
        if time.monotonic() + pause > deadline:
            raise TimeoutError("the service takes no matches; keep this one, with its id, and send it later")
        time.sleep(pause)


if __name__ == "__main__":
    address, run, a, b, score = sys.argv[1:]
    token = os.environ.get("RANKLAKE_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=address, headers=headers) as client:
        sent = send(client, run, {"id": uuid.uuid4().hex, "a": a, "b": b, "score": float(score)})
    for player in sent["players"]:
        print(f"{player['player']}: {player['rating']:.0f} ({player['change']:+.0f})")
