"""Benchmarks of ranklake beside the engine of Elo-MMR's authors, in one run on one machine.

    python tests/benchmarks/run.py [ROW ...] [--quick] [--data DIR] [--limit N] [--exact] [--json FILE]

The exit code is 1 if a target was missed. README.md beside this file describes the rows.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from records import append, machine, records
from rich.console import Console
from rich.table import Table
from timing import DATA, GAMES, Options, Result, SkippedRow

ROWS = {  # module and function; a row imports its module alone, so that commits without other modules can be measured
    "codeforces-200": "against_peer.codeforces_200",
    "ctf": "against_peer.ctf",
    "reddit": "against_peer.reddit",
    "codeforces-all": "against_peer.codeforces_all",
    "codeforces-lake": "with_lake.codeforces_lake",
    "corrections": "changes.corrections",
    "publish": "changes.publish",
    "sql": "databases.sql",
    "site": "changes.site",
    "shell": "shell.shell",
    "serve": "serving.serving",
    "live": "live.live",
    "pages": "pages.pages",
    "normalise": "from_sites.normalise",
    "million": "million.million",
    "contests": "contests.contests",
    "games": "games.games",
    "margins": "games.margins",
    "chances": "chances.chances",
    "bradley-terry": "bradley_terry.bradley_terry",
    "joint-maximum": "item_response.joint_maximum",
    "teams": "teams.teams",
    "tennis": "against_peer.tennis",
    "tennis-lake": "with_lake.tennis_lake",
    "evaluate": "prediction.evaluation",
    "preview": "prediction.previews",
    "search-grid": "prediction.grid_search",
    "table-2": "prediction.paper_table_2",
    "choosing": "choosing.choosing",
    "level": "choosing.level",
    "places": "places.sureness",
    "systems-200": "systems.systems_200",
    "systems-all": "systems.systems_all",
    "elo-mms": "systems.elo_mms",
    "elo-mms-ideas": "ideas.elo_mms_ideas",
    "elo-mmr-laws": "laws.elo_mmr_laws",
    "systems-million": "million.systems_million",
    "systems-others": "systems.systems_others",
    "frames": "frames.frames",
    "updates": "frames.updates",
    "cluster": "on_cluster.cluster",
    "links": "shaped_links.links",
    "smoothing": "smoothing.smoothing",
    "smoothing-doubling": "smoothing.smoothing_doubling",
    "smoothing-duels": "smoothing.smoothing_duels",
    "smoothing-resolution": "smoothing.smoothing_resolution",
    "start": "with_lake.start",
    "profile": "phases.profile",
    "profile-lake": "layers.profile_lake",
}
QUICK = 60  # contests of each history in a quick run


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the requested rows, in the order of the table."""
    given = _arguments(arguments)
    console = Console() if Console().is_terminal else Console(width=190)
    facts = machine()
    results: list[Result] = []
    began, cpu_began = time.perf_counter(), _processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        limit = QUICK if given.quick and given.limit is None else given.limit
        options = Options(given.data, limit, given.exact, given.quick, Path(folder), given.games)
        for name in [name for name in ROWS if not given.rows or name in given.rows]:
            console.print(f"measuring {name} ...", style="dim", end=" ")
            row_began, row_cpu_began = time.perf_counter(), _processor_seconds()
            try:
                results += row(name)(options)
            except SkippedRow as why:
                console.print(f"skipped: {why}", style="yellow", markup=False)
            else:
                console.print(_spent(row_began, row_cpu_began), style="dim")
            gc.unfreeze()  # of best_of
    console.print(_table(results, facts, judged=limit is None))
    console.print(f"all rows: {_spent(began, cpu_began)}", style="dim")
    if given.json is not None:
        append(given.json, records(results, options, given.commit))
    missed = [text for result in results for text, met in result.targets.items() if not met]
    return 1 if missed and limit is None else 0


def row(name: str) -> Callable[[Options], Iterator[Result]]:
    """The function that measures a row."""
    module, _, function = ROWS[name].partition(".")
    found: Callable[[Options], Iterator[Result]] = getattr(importlib.import_module(module), function)
    return found


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmarks of ranklake beside the authors' engine.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"all by default: {', '.join(ROWS)}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the real data sets (../shared/data)")
    parser.add_argument("--limit", type=int, help="number of contests of each history; targets are not checked")
    parser.add_argument(
        "--quick", action="store_true", help=f"measure everything once, with the first {QUICK} contests of each history"
    )
    parser.add_argument(
        "--exact", action="store_true", help="also the exact mode of the peer on all of Codeforces (half an hour)"
    )
    parser.add_argument(
        "--games", type=int, default=GAMES, metavar="N", help="games of the row games, by default ten million"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also append the numbers to this history")
    parser.add_argument("--commit", help="the commit in the history, by default that of the imported package")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.rows) - set(ROWS))
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; rows are {', '.join(ROWS)}")
    if given.limit is not None and given.limit < 1:
        parser.error(f"--limit must be >= 1, got {given.limit}")
    if given.games < 1:
        parser.error(f"--games must be >= 1, got {given.games}")
    return given


def _table(results: list[Result], facts: Mapping[str, object], *, judged: bool) -> Table:
    table = Table(title=", ".join(f"{name} {value}" for name, value in facts.items()), show_lines=True)
    for column in ("row", "what"):
        table.add_column(column)
    for column in ("ours, s", "peer, s", "ratio", "max |Δmu|"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("target")
    table.add_column("met")
    for r in results:
        met = (
            ["[green]yes[/]" if met else "[red]NO[/]" for met in r.targets.values()]
            if judged
            else ["-"] * len(r.targets)
        )
        difference = (
            "" if r.difference is None else "players differ" if math.isinf(r.difference) else f"{r.difference:.1e}"
        )
        ratio = "" if r.ratio is None else f"{r.ratio:.1f}x"
        table.add_row(
            r.name, r.what, _seconds(r.ours), _seconds(r.peer), ratio, difference, "\n".join(r.targets), "\n".join(met)
        )  # fmt: skip
    return table


def _spent(began: float, cpu_began: float) -> str:
    seconds, cpu_seconds = time.perf_counter() - began, _processor_seconds() - cpu_began
    return f"{seconds:.1f} s, {cpu_seconds:.1f} s of processor time"


def _processor_seconds() -> float:
    """Processor time of this process and of those that it has started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
