"""Results of problems for tests, ingested as files."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ranklake.flows.ingestion.results import ingest_results
from ranklake.flows.sources.problems.tables import TableOptions
from ranklake.storage import Dataset, Lake

RESULTS = ("contest", "player", "problem", "solved", "time")
PROBLEMS = ("problem", "name", "position", "tags", "url")
LONGEST = 1024  # characters of a player in a table
STRANGE = "<b>&/a c?d#e"
"""The id of a problem that a page or an address may take for something else."""


def solve(
    lake: Lake, results: Iterable[Sequence[Any]], problems: Iterable[Sequence[Any]] = (), dataset: str = "games"
) -> None:
    """Ingest rows of :data:`RESULTS`, and of :data:`PROBLEMS`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, header, rows in (("results", RESULTS, results), ("problems", PROBLEMS, problems)):
            paths.append(str(Path(folder, f"{name}.csv")))
            with open(paths[-1], "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([header, *rows])
        ingest_results(lake, paths[:1], dataset, TableOptions(), paths[1])


def solve_some(lake: Lake, contests: Sequence[str], dataset: str = "games", seed: int = 36) -> None:
    """Ingest results of three problems in each of some contests, of an easy, a fair and a hard one, and of one with a
    strange id that all have.
    """
    rng, opened = np.random.default_rng(seed), Dataset.open(lake, dataset)
    handles = opened.handles().to_pylist()
    results, problems = [], [(STRANGE, "=1+<i>", 4, "dp; <u>graphs", "https://example.org/?a=<")]
    for contest in contests:
        number = opened.contests.column("contest_id").to_pylist().index(contest)
        everybody = next(opened.standings(number, number + 1)).player.tolist()
        players = [player for player in everybody if len(handles[player]) <= LONGEST]
        for place, name in enumerate("ABC"):
            problems.append((f"{contest}-{name}", f"Task {name} of {contest}", place + 1, "dp" if place else "", ""))
            for player in players:
                solved = int(rng.random() < 0.8 - 0.3 * place)
                results.append((contest, handles[player], f"{contest}-{name}", solved, 60 * (place + 1)))
        results += [(contest, handles[player], STRANGE, 1, "") for player in players[:1]]
    solve(lake, results, problems, dataset)
