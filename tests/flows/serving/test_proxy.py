"""The server behind nginx with the configuration of ``deploy``: links, redirects, files, handles, and a kill."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import quote, urljoin

import httpx
import pytest
from helpers.documents import ROOT, blocks_of
from helpers.lakes import contest, lake_of, rate_run, synthetic
from helpers.ratings_server import free_port, serving
from helpers.timeouts import TIMEOUT

from ranklake.flows.publication.publish import publish
from ranklake.flows.serving.previews import MOST_STANDINGS
from ranklake.storage import Dataset, Lake

pytest.importorskip("uvicorn")
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="no nginx on this machine: apt-get install nginx"),
]

CONFIG = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
BELOW = ("--root-path", "/ratings")
MANY = {"rate=50r/s": "rate=10000r/s"}  # requests of one client
STRANGE = ["a/b c?d#e", "100% a%2Fb", "a//b", "../up", "<script>", "Zoë", "a+b&c=d", ";x"]
FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("proxy") / "lake", [contest("last/1", *STRANGE, "player 1"), *synthetic(8)])
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("old one", "player 1", None, "renamed")
    rate_run(lake)
    publish(lake, "run")
    return lake


@contextmanager
def proxied(folder: Path, port: int, changes: Mapping[str, str] = MANY) -> Iterator[str]:
    """nginx before the server on a port, with changes of its configuration; its address, with ``/ratings``."""
    outside = free_port()
    addresses = {"serve:8080": f"127.0.0.1:{port}", "listen 8080": f"listen 127.0.0.1:{outside}"}
    folder.mkdir()
    with nginx(folder, CONFIG, {**changes, **addresses, "/var/cache/nginx": str(folder)}):
        yield f"http://127.0.0.1:{outside}/ratings"


@contextmanager
def nginx(folder: Path, text: str, changes: Mapping[str, str]) -> Iterator[None]:
    """nginx with changes of a configuration."""
    assert NGINX is not None
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in FOLDERS)
    main = f"daemon off; master_process off; pid {folder}/pid; error_log stderr notice;\nevents {{}}\n"
    main += f"http {{\naccess_log off;\n{paths}include {folder}/site.conf;\n}}\n"
    (folder / "nginx.conf").write_text(main)
    command = [NGINX, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            while line and "event method" not in line:  # its port is open by then
                line = process.stderr.readline()
            assert line, "nginx refused its configuration"
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield
        finally:
            process.kill()


@pytest.fixture(scope="module")
def address(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, folder = free_port(), tmp_path_factory.mktemp("nginx") / "nginx"
    with serving(lake, *BELOW, port=port), proxied(folder, port) as address:
        yield address


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=TIMEOUT) as client:
        yield client


def test_proxy__every_link_and_file_of_all_pages_is_below_the_path(address: str, client: httpx.Client) -> None:
    root = address.removesuffix("/ratings")
    todo, seen, kinds = [f"{root}/"], set(), set()
    while todo and len(seen) < 400:
        url = todo.pop()
        if url in seen:
            continue
        seen.add(url)
        response = client.get(url, follow_redirects=True)
        assert response.status_code == 200, url
        assert all(str(one.url).startswith((f"{root}/ratings", f"{root}/")) for one in response.history)
        kind = response.headers["content-type"].partition(";")[0]
        kinds.add(kind)
        if kind != "text/html":
            continue
        for link in map(unescape, re.findall(r'(?:href|src|action)="([^"#]+)"', response.text)):
            if "://" not in link and not link.startswith("data:"):
                found = urljoin(str(response.url), link)
                assert found.startswith(address), (url, link)
                todo.append(found)
    assert len(seen) > 50
    assert kinds >= {"text/html", "text/css", "text/javascript"}


@pytest.mark.parametrize("handle", STRANGE)
def test_proxy__every_handle_has_an_address(address: str, client: httpx.Client, handle: str) -> None:
    name = quote(handle, "")
    response = client.get(f"{address}/api/v1/runs/run/players/{name}")
    assert (response.status_code, response.json()["handle"]) == (200, handle)
    assert client.get(f"{address}/run/p/{name}").status_code == 200
    assert client.get(f"{address}/api/v1/runs/run/contests/last%2F1").json()["contest_id"] == "last/1"


@pytest.mark.parametrize("path", ["/run/p/", "/api/v1/runs/run/players/"])
def test_proxy__an_old_name_moves_below_the_path(address: str, client: httpx.Client, path: str) -> None:
    response = client.get(f"{address}{path}old%20one")
    assert (response.status_code, response.headers["location"]) == (301, f"/ratings{path}player%201")
    assert client.get(response.headers["location"].replace("/ratings", address, 1)).status_code == 200


def test_proxy__conditional_ranges_and_bodies_pass(address: str, client: httpx.Client) -> None:
    first = client.get(f"{address}/run")
    again = client.get(f"{address}/run", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    part = client.get(f"{address}/data/run/latest.parquet", headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"PAR1")
    posted = client.post(f"{address}/api/v1/runs/run/players", json={"handles": ["player 1"]})
    assert posted.json()["players"][0]["handle"] == "player 1"
    assert client.post(f"{address}/api/v1/runs/run/preview", content=b" " * (MOST_STANDINGS + 1)).status_code == 413
    assert client.get(f"{address}/metrics").status_code == 404
    assert client.get(f"{address}/openapi.json").json()["servers"] == [{"url": "/ratings"}]
    with client.stream("GET", f"{address}/api/v1/runs/run/events") as stream:
        assert next(stream.iter_lines()) == "event: version"  # not held back


def test_proxy__shares_answers_of_each_encoding_among_origins(address: str, client: httpx.Client) -> None:
    for encoding in ("identity", "gzip", "zstd"):
        for origin in ({}, {"origin": "https://a.example"}):
            headers = {"accept-encoding": encoding, **origin}
            with client.stream("GET", f"{address}/api/v1/runs/run/leaderboard", headers=headers) as response:
                assert response.headers.get("content-encoding", "identity") == encoding
                assert response.headers["access-control-allow-origin"] == "*"


def test_proxy__limits_the_requests_of_a_client(lake: Lake, tmp_path: Path, client: httpx.Client) -> None:
    port, few = free_port(), {"rate=50r/s": "rate=1r/m", "burst=200": "burst=3"}
    with serving(lake, *BELOW, port=port), proxied(tmp_path / "nginx", port, few) as address:
        statuses = [client.get(f"{address}/run").status_code for _ in range(6)]
    assert statuses == [200] * 4 + [429] * 2


def test_proxy__example_of_the_page_has_tls_and_limits_of_a_client(lake: Lake, tmp_path: Path) -> None:
    certificates = pytest.importorskip("helpers.certificates")
    made = certificates.Authority(tmp_path / "authority").sign("ratings.example.org")
    (example,) = blocks_of((ROOT / "docs" / "serving.md").read_text(encoding="utf-8"), "nginx")
    port, outside = free_port(), free_port()
    changes = {"127.0.0.1:8080": f"127.0.0.1:{port}", "listen 443": f"listen 127.0.0.1:{outside}",
               "limit_conn connections 50": "limit_conn connections 1",
               "/etc/ssl/ratings.pem": str(made.certificate), "/etc/ssl/ratings.key": str(made.key)}  # fmt: skip
    trust = ssl.create_default_context(cafile=made.ca)
    trust.check_hostname = False
    with (
        serving(lake, port=port),
        nginx(tmp_path, example, changes),
        httpx.Client(base_url=f"https://127.0.0.1:{outside}", verify=trust, timeout=TIMEOUT) as client,
    ):
        assert client.get("/").headers["location"] == "/run"
        assert client.get("/run/").headers["location"] == "/run"
        name = quote("100% a%2Fb", "")
        assert client.get(f"/api/v1/runs/run/players/{name}").json()["handle"] == "100% a%2Fb"
        assert client.get("/metrics").status_code == 404
        with client.stream("GET", "/api/v1/runs/run/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: version"
            assert client.get("/run").status_code == 429


def test_proxy__a_killed_server_fails_no_request_for_a_stored_answer(lake: Lake, tmp_path: Path) -> None:
    port = free_port()
    paths = ("/run", "/run/p/player%201", "/api/v1/runs/run/leaderboard", "/api/v1/runs/run/players/player%202")
    statuses: list[int] = []
    ended = threading.Event()
    served = threading.Semaphore(0)

    def ask(address: str) -> None:
        with httpx.Client(timeout=TIMEOUT) as client:
            while not ended.is_set():
                statuses.extend(client.get(f"{address}{path}").status_code for path in paths)
                served.release()

    with proxied(tmp_path / "nginx", port) as address, httpx.Client(timeout=TIMEOUT) as client:  # noqa: SIM117
        with serving(lake, *BELOW, port=port) as (process, _):
            for path in paths:
                assert client.get(f"{address}{path}").status_code == 200
            threads = [threading.Thread(target=ask, args=(address,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            try:
                _wait(served, 20)
                process.kill()
                process.wait()
                _wait(served, 20)
                assert client.get(f"{address}/run/p/player%203").status_code == 502  # not stored
                with serving(lake, *BELOW, port=port):
                    _wait(served, 20)
                    assert client.get(f"{address}/run/p/player%203").status_code == 200
            finally:
                ended.set()
                for thread in threads:
                    thread.join()
    assert set(statuses) == {200}


def _wait(served: threading.Semaphore, n: int) -> None:
    for _ in range(n):
        assert served.acquire(timeout=TIMEOUT)
