"""The commands of README.md that lead from an archive of contests to pages in a browser."""

from __future__ import annotations

import io
import json
import re
import shlex
import tarfile
from html import unescape
from pathlib import Path

import httpx
import pytest
from helpers.documents import README, blocks_of
from helpers.lakes import start
from helpers.timeouts import TIMEOUT

pytest.importorskip("uvicorn")
pytest.importorskip("deltalake")

PLAYERS = ["tourist", "Petr", "Um_nik", "jiangly", "neal"]


def archive(path: Path, n_contests: int = 12) -> None:
    """Contests of the same players, each with another winner."""
    with tarfile.open(path, "w:xz") as found:
        for number in range(n_contests):
            ordered = PLAYERS[number % 2 :] + PLAYERS[: number % 2]
            standings = [[handle, place, place] for place, handle in enumerate(ordered)]
            about = {"name": f"Round {number}", "url": f"https://codeforces.com/contest/{number}/standings"}
            about |= {"time_seconds": 1_500_000_000 + number * 86_400, "standings": standings}
            data = json.dumps(about).encode()
            member = tarfile.TarInfo(f"codeforces/{number}.json")
            member.size = len(data)
            found.addfile(member, io.BytesIO(data))


@pytest.mark.slow
def test_readme__three_commands_lead_to_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in blocks_of(README.read_text("utf-8"), "sh") if "ranklake serve" in block)
    install, follow, serve = (shlex.split(line) for line in block.splitlines())
    assert install == ["pip", "install", ".[publish,serve]"]
    archive(tmp_path / "codeforces.tar.xz")
    monkeypatch.chdir(tmp_path)
    with start(*follow[1:]) as following:
        assert following.wait(TIMEOUT) == 0
    with start(*serve[1:], "--port", "0") as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().decode().split()[-1]
            with httpx.Client(base_url=address, timeout=TIMEOUT, follow_redirects=True) as client:
                look(client)
        finally:
            process.kill()


def look(client: httpx.Client) -> None:
    """Find tourist, compare with Petr, and preview a contest, without scripts."""
    board = client.get("/")
    run = board.url.path.strip("/")
    assert re.findall("<h1>(.*?)</h1>", board.text) == ["Leaderboard"]
    found = client.get(f"/{run}?q=TOUR")
    assert re.findall("<h1 [^>]*>(.*?)</h1>", found.text) == ["tourist"]
    assert '<g class="bands">' in found.text
    both = client.get(f"/{run}/compare?h=tourist, Petr").text
    assert re.findall(r"<small>(\d+ : \d+)</small>", both) == ["6 : 6"] * 2
    assert re.findall("<small data-total>(.*?)</small>", both) == ["12"]
    preview = client.post(f"/{run}/preview", data={"standings": "1 Petr\n2 tourist\n3 somebody new"}).text
    shown = re.findall(r"<tr[^>]*><td>(\d+)<td>(?:<a [^>]*>)?([^<]*)", preview)
    assert [unescape(handle).strip() for _, handle in shown] == ["Petr", "tourist", "somebody new"]
    assert [place for place, _ in shown] == ["1", "2", "3"]
