"""Run the server in this process until it is stopped."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from ranklake.storage import Lake

from ..common.extras import need


def serve(
    lake: Lake,
    runs: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int = 8080,
    root_path: str = "",
    refresh_seconds: float = 2.0,
    public_url: str = "",
    on_start: Callable[[str, list[str]], None] = lambda address, runs: None,
) -> None:
    """Serve published runs by HTTP until SIGINT or SIGTERM.

    ``runs``: names; all published runs of the lake if empty.
    ``port``: 0 takes a free one.
    ``root_path``: path below which a proxy shows the server; the proxy removes it from requests.
    ``public_url``: as for :func:`ranklake.flows.serving.app.create_app`.
    ``on_start``: called with the address and the names of the runs when the server accepts connections.
    Raises LakeError: a run is not published, an index is damaged, or the address is in use.
    Raises MissingExtraError: a package of the extra ``serve`` is not installed.
    """
    for package in ("starlette", "uvicorn", "httptools", "jinja2", "prometheus_client"):
        need(package, "serve", "serving")
    from ..http.server.running import http_server, listening
    from .app import create_app
    from .state.served_runs import ServedRuns

    served = ServedRuns(lake, runs)
    gc.freeze()  # or each full collection looks at all handles
    with listening(host, port, root_path) as (sockets, address):
        server = http_server(create_app(served, refresh_seconds, public_url), root_path)
        on_start(address, list(served.runs))
        server.run(sockets=sockets)
