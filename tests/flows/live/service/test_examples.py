"""The clients of docs/examples: against the service, and against a server that fails at first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("uvicorn")
from helpers.live_process import rated
from helpers.timeouts import TIMEOUT

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
TOKEN = "a-token-of-a-game"


def program(name: str) -> list[str]:
    """The command of an example; the test is skipped without its program."""
    if name.endswith(".py"):
        return [sys.executable, str(EXAMPLES / name)]
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js on this machine: apt-get install nodejs")
    return [node, str(EXAMPLES / name)]


def printed(name: str, *arguments: str) -> str:
    environment = os.environ | {"RANKLAKE_TOKEN": TOKEN}
    command = [*program(name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_clients__print_the_ratings_that_follow_a_match(tmp_path: Path) -> None:
    program("live.mjs")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"game:{sha256(TOKEN.encode()).hexdigest()}\n", encoding="utf-8", newline="")
    with rated(tmp_path, "--tokens", str(tokens)) as (_, run, _):
        address = run.partition("/api/")[0]
        # Elo of K = 32: a win between equals moves 16 points, and a draw then 0.5 - 1 / (1 + 10^(-32 / 400)) of 32.
        assert printed("live.py", address, "run", "ada", "bo", "1") == "ada: 1516 (+16)\nbo: 1484 (-16)\n"
        assert printed("live.mjs", address, "run", "ada", "bo", "0.5") == "ada: 1515 (-1)\nbo: 1485 (+1)\n"


@pytest.mark.parametrize("name", ["live.py", "live.mjs"])
def test_client__sends_the_same_match_again_after_no_answer_and_503(name: str) -> None:
    sent: list[bytes] = []

    class Reluctant(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.rfile.read(int(self.headers["Content-Length"])))
            if len(sent) == 1:
                return  # no answer: it may have been accepted
            status, answer = (503, {"detail": "full"}) if len(sent) == 2 else (201, {"players": []})
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Retry-After", "0.01")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        log_message: Callable[..., None] = lambda *_: None

    with HTTPServer(("127.0.0.1", 0), Reluctant) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            assert printed(name, f"http://127.0.0.1:{server.server_port}", "run", "ada", "bo", "0") == ""
        finally:
            server.shutdown()
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert json.loads(sent[0]).items() >= {"a": "ada", "b": "bo", "score": 0}.items()
