"""Benchmarks of ranklake beside the engine of Elo-MMR's authors, in one run on one machine.

    python tests/benchmarks/run.py [ROW ...] [--data DIR] [--limit N] [--exact] [--json FILE]

The exit code is 1 if a target was missed. README.md beside this file describes the rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from against_peer import codeforces_200, codeforces_all, ctf, reddit, tennis
from changes import corrections, publish, site
from choosing import choosing
from databases import sql
from frames import frames
from from_sites import normalise
from ideas import elo_mms_ideas
from million import million, systems_million
from on_cluster import cluster
from phases import profile
from prediction import evaluation, grid_search, paper_table_2, previews
from rich.console import Console
from rich.table import Table
from serving import serving
from shell import shell
from smoothing import smoothing, smoothing_doubling, smoothing_duels
from systems import elo_mms, systems_200, systems_all, systems_others
from teams import teams
from timing import Options, Result, SkippedRow
from with_lake import codeforces_lake, start, tennis_lake

ROWS: dict[str, Callable[[Options], Iterator[Result]]] = {
    "codeforces-200": codeforces_200,
    "ctf": ctf,
    "reddit": reddit,
    "codeforces-all": codeforces_all,
    "codeforces-lake": codeforces_lake,
    "corrections": corrections,
    "publish": publish,
    "sql": sql,
    "site": site,
    "shell": shell,
    "serve": serving,
    "normalise": normalise,
    "million": million,
    "teams": teams,
    "tennis": tennis,
    "tennis-lake": tennis_lake,
    "evaluate": evaluation,
    "preview": previews,
    "search-grid": grid_search,
    "table-2": paper_table_2,
    "choosing": choosing,
    "systems-200": systems_200,
    "systems-all": systems_all,
    "elo-mms": elo_mms,
    "elo-mms-ideas": elo_mms_ideas,
    "systems-million": systems_million,
    "systems-others": systems_others,
    "frames": frames,
    "cluster": cluster,
    "smoothing": smoothing,
    "smoothing-doubling": smoothing_doubling,
    "smoothing-duels": smoothing_duels,
    "start": start,
    "profile": profile,
}
DATA = Path(__file__).parents[2].parent / "shared" / "data"
PACKAGES = ("ranklake", "Elo-MMR-Py", "numpy", "numba", "pyarrow")


def main() -> int:
    """Measure the requested rows, in the order of the table."""
    options, names, target = _arguments()
    console = Console() if Console().is_terminal else Console(width=190)
    machine = _machine()
    results: list[Result] = []
    for name in [name for name in ROWS if not names or name in names]:
        console.print(f"measuring {name} ...", style="dim")
        try:
            results += ROWS[name](options)
        except SkippedRow as why:
            console.print(f"{name} skipped: {why}", style="yellow", markup=False)
    console.print(_table(results, machine, judged=options.limit is None))
    if target is not None:
        lines = [{**asdict(result), "ratio": result.ratio} for result in results]
        target.write_text(json.dumps({"machine": machine, "limit": options.limit, "results": lines}, indent=1) + "\n")
    missed = [text for result in results for text, met in result.targets.items() if not met]
    return 1 if missed and options.limit is None else 0


def _arguments() -> tuple[Options, list[str], Path | None]:
    parser = argparse.ArgumentParser(description="Benchmarks of ranklake beside the authors' engine.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"all by default: {', '.join(ROWS)}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the real data sets (../shared/data)")
    parser.add_argument("--limit", type=int, help="number of contests of each history; targets are not checked")
    parser.add_argument(
        "--exact", action="store_true", help="also the exact mode of the peer on all of Codeforces (half an hour)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    given = parser.parse_args()
    unknown = sorted(set(given.rows) - set(ROWS))
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; rows are {', '.join(ROWS)}")
    if given.limit is not None and given.limit < 1:
        parser.error(f"--limit must be >= 1, got {given.limit}")
    return Options(given.data, given.limit, given.exact), given.rows, given.json


def _machine() -> dict[str, str | int | float]:
    """Properties of the machine, with the load before the start."""
    facts: dict[str, str | int | float] = {
        "cores": os.cpu_count() or 1,
        "load before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def _table(results: list[Result], machine: dict[str, str | int | float], *, judged: bool) -> Table:
    table = Table(title=", ".join(f"{name} {value}" for name, value in machine.items()), show_lines=True)
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


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
