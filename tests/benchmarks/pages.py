"""The row about the pages of the server in a browser: what each costs a visitor."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from changes import RUN, published_lake
from timing import Best, Options, Result, SkippedRow, from_tests

from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.storage import Lake

PREVIEWED = 25_000
MOST_BYTES, MOST_ELEMENTS, MOST_SECONDS = 100_000, 10_000, 1.0  # of a page
AGAIN_SECONDS = 0.05  # of the same preview


def pages(options: Options) -> Iterator[Result]:
    """Bytes, elements and processor time of Chromium for each page, and a preview for the second time."""
    from_tests("playwright.sync_api")
    if from_tests("helpers.browser").chromium_program() is None:
        raise SkippedRow("no Chromium on this machine: apt-get install chromium")
    with published_lake(options) as lake:
        yield from measured(lake, RUN, options.repeats(3))


def measured(lake: str, run: str, repeats: int = 3) -> Iterator[Result]:
    """The results for a published run of a lake: the best of ``repeats`` loads of each page."""
    tools = from_tests("helpers.browser")
    opened = Lake.open(lake)
    with tools.chromium() as browser, tools.served_pages(opened) as address:
        published = open_published(opened, run)
        names = published.leaderboard_table.column("handle").to_pylist()
        result, preview = _preview(f"{address}/{run}/preview", names[:PREVIEWED], repeats)
        addresses = _addresses(published, names)
        load = lambda path: [tools.page_cost(browser, f"{address}{path}") for _ in range(repeats)]  # noqa: E731
        empty = min(cost.browser_seconds for cost in load("/healthz"))
        for what, path in (*addresses.items(), (f"preview of {min(PREVIEWED, len(names)):,} names", result)):
            yield _of_page(what, load(path), empty)
        yield preview


def _of_page(what: str, costs: list[Any], empty: float) -> Result:
    """The result of a page; ``empty``: processor seconds for an answer of 24 bytes."""
    least, seconds = costs[-1], Best(cost.browser_seconds for cost in costs)
    return Result(
        "pages",
        f"{what}: {least.document_bytes / 1e3:.1f} kB, {least.n_bytes / 1e3:.1f} kB with all files; "
        f"{least.elements:,} elements; processor time of Chromium, {empty:.2f} s for an answer without a page",
        seconds,
        targets={
            f"at most 100 kB: {least.document_bytes / 1e3:.1f} kB": least.document_bytes <= MOST_BYTES,
            f"at most 10,000 elements: {least.elements:,}": least.elements <= MOST_ELEMENTS,
            f"at most 1 s more than without: {seconds - empty:.2f} s": seconds - empty <= MOST_SECONDS,
        },
        figures={
            "document_bytes": least.document_bytes,
            "page_bytes": least.n_bytes,
            "elements": least.elements,
            "empty_seconds": empty,
        },
        case=what.partition(" of ")[0],
    )


def _addresses(run: PublishedRun, names: list[str]) -> dict[str, str]:
    """The pages by what they show: the largest contest, and the best players."""
    table, best = run.contests_table, names[:3]
    sizes = table.column("n_players").fill_null(0).to_pylist()
    largest = table.column("contest_id")[sizes.index(max(sizes))].as_py()
    return {
        "leaderboard": f"/{run.name}",
        f"contest of {max(sizes):,}": f"/{run.name}/c/{quote(largest, '')}",
        "last page of it": f"/{run.name}/c/{quote(largest, '')}?page={max(max(sizes) - 1, 0) // 200}",
        "list of contests": f"/{run.name}/contests",
        f"player of {run.history(best[0]).num_rows:,} rounds": f"/{run.name}/p/{quote(best[0], '')}",
        f"comparison of {len(best)}": f"/{run.name}/compare?{urlencode({'h': ','.join(best)})}",
        "distribution": f"/{run.name}/distribution",
    }


def _preview(address: str, names: list[str], repeats: int) -> tuple[str, Result]:
    """The address of a preview that the server keeps, and the time of the same form once more."""
    body = urlencode({"standings": "\n".join(names)}).encode()
    times, text = [], ""
    for _ in range(repeats + 1):
        began = time.perf_counter()
        with urllib.request.urlopen(urllib.request.Request(address, body, {"accept": "text/html"})) as answer:
            text = answer.read().decode()
        times.append(time.perf_counter() - began)
    again = Best(times[1:])
    found = re.search(r'name="result" value="(\w+)"', text)
    path = urlsplit(address).path + (f"?result={found[1]}" if found else "")
    return path, Result(
        "pages",
        f"preview of {len(names):,} names for the second time; the first one took {times[0]:.2f} s",
        again,
        targets={f"at most 50 ms: {1e3 * again:.0f} ms": again <= AGAIN_SECONDS},
        figures={"first_seconds": times[0]},
        case="preview again",
    )
