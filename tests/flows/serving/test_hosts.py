"""The header ``Host`` is in no answer: every redirect has a path alone, below the root path."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient

from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

HOSTS = ["evil.example", "a?x=evil", "a/evil/../", "[evil", "evil:99999", "<evil>"]
MOVED = {
    "/run/": "/run", "/run//": "/run", "/api/v1/runs/": "/api/v1/runs",
    "/api/v1/runs/run/?a=%2F/": "/api/v1/runs/run?a=%2F/",
    "/run/contests/?x=/": "/run/contests?x=/", "/%5Crun/": "/%5Crun", "/run/p/old%20one": "/run/p/player%201",
    "/api/v1/runs/run/players/old%20one/history?since=5": "/api/v1/runs/run/players/player%201/history?since=5",
    "/run?q=player+1": "/run/p/player%201", "/run/p/old%20one/badge.svg": "/run/p/player%201/badge.svg",
    "/": "/run",
}  # fmt: skip
OTHERS = ["//run/", "//run/contests/", "/nothing/at/all/", "/api/v1/runs/none", "/openapi.json", "/run", "/run/p/none",
          "/data/run/", "/healthz/x", "/run%2F"]  # fmt: skip


@pytest.mark.quick("True-*")
@pytest.mark.parametrize("root", ["", "/ratings"])
@pytest.mark.parametrize("html", [True, False])
def test_answers__have_no_host_and_redirect_to_paths(lake: Lake, root: str, html: bool) -> None:
    app = create_app(ServedRuns(lake), 0)
    with TestClient(app, root_path=root, follow_redirects=False, base_url="http://evil") as client:
        for number, (path, target) in enumerate({**MOVED, **dict.fromkeys(OTHERS, "")}.items()):
            headers = {"host": HOSTS[number % len(HOSTS)], "accept": "text/html" if html else "*/*"}
            # The client would take an address that begins with // for a host.
            answer = client.get(f"http://evil{root}{path}", headers=headers)
            assert answer.headers.get("location", "") == (target and root + target), path
            assert (answer.status_code in (301, 303, 307)) == bool(target), path
            assert "evil" not in answer.text + str(answer.headers), path
