"""Pages in a browser, Chromium of the system driven by Playwright: servers of them, what they cost, their faults."""

from __future__ import annotations

import functools
import http.server
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from ranklake.storage import Lake

_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(document.body.scrollHeight))))"


def chromium_program() -> str | None:
    """The program of the system; None without one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window; the test is skipped without Playwright or Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    program = chromium_program()
    if program is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served_pages(lake: Lake) -> Iterator[str]:
    """A server of the published runs of a lake; its address, without a slash at the end."""
    uvicorn = pytest.importorskip("uvicorn")
    from ranklake.flows.serving.app import create_app
    from ranklake.flows.serving.state.served_runs import ServedRuns

    server = uvicorn.Server(uvicorn.Config(create_app(ServedRuns(lake), 0), log_level="error", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def served_files(folder: Path) -> Iterator[str]:
    """A server of the files of a folder; its address, with a slash at the end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def new_page(browser: Any, host: str, errors: list[str], **context: Any) -> Any:
    """An empty page in a new window.

    ``errors`` gets what the console says, errors of scripts, dialogs, and requests to other hosts.
    ``context``: options of the window, as ``color_scheme``, ``viewport`` and ``java_script_enabled``.
    """
    page = browser.new_context(**context).new_page()
    page.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: (errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda r: None if r.url.startswith(host) else errors.append(r.url))
    return page


@dataclass(frozen=True, slots=True)
class PageCost:
    """What a page costs a visitor who has nothing of it yet.

    ``browser_seconds``: processor seconds of all processes of the browser until the page is drawn.
    ``elements``: elements of the document.
    ``document_bytes``, ``n_bytes``: bytes of the document, and of all answers, as they were sent (compressed).
    """

    browser_seconds: float
    elements: int
    document_bytes: int
    n_bytes: int


def page_cost(browser: Any, address: str, complete: str = "body") -> PageCost:
    """Load a page in a new window; it is complete with a selector, and when it is drawn.

    The window has shown an empty page of the same host before: the start of its processes does not count.
    """
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(urljoin(address, "/none"))
    page.wait_for_load_state("networkidle")
    page.evaluate(_DRAWN)
    finished: list[Any] = []
    page.on("requestfinished", lambda request: finished.append(request))
    before = _process_seconds(browser)
    page.goto(address)
    page.wait_for_selector(complete)
    page.wait_for_load_state("networkidle")
    page.evaluate(_DRAWN)
    after = _process_seconds(browser)
    sizes = {request: request.sizes()["responseBodySize"] for request in finished}
    document = sum(size for request, size in sizes.items() if request.is_navigation_request())
    elements = page.evaluate("document.getElementsByTagName('*').length")
    page.context.close()
    seconds = sum(value - before.get(process, 0.0) for process, value in after.items())
    return PageCost(seconds, elements, document, sum(sizes.values()))


def _process_seconds(browser: Any) -> dict[int, float]:
    """Processor seconds of each process of the browser until now."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {process["id"]: process["cpuTime"] for process in found}


def axe(page: Any) -> list[str]:
    """The faults of accessibility that axe-core finds on an open page, a line each: the rule and the elements."""
    module = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no package axe-playwright-python")
    found = module.Axe().run(page).response["violations"]
    return [f"{rule['id']}: {', '.join(str(node['target'][0]) for node in rule['nodes'][:5])}" for rule in found]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
