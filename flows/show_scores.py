"""Tables of scores for people on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from .compare import WinRate
from .evaluate import Evaluation
from .scores import METRICS
from .search import SearchReport

__all__ = ["BREAKDOWNS", "evaluation_tables", "search_table", "win_table"]

BREAKDOWNS = ("era", "size", "experience", "rank-error")
_HEADS = {
    "pair_inversion": "pair inversion %",
    "pair_inversion_equal_half": "equal half %",
    "rank_deviation": "rank deviation %",
    "log2_rank_error": "log2 rank error",
    "cross_entropy": "cross-entropy",
    "kendall_tau_b": "tau-b",
    "spearman_rho": "rho",
}


def evaluation_tables(found: Evaluation, breakdowns: Sequence[str]) -> Iterator[Table]:
    """Every filter, then the breakdowns asked for."""
    first = f"{found.first_round:,}" if found.first_round else "0"
    title = f"{found.run}: rounds {first} to {found.first_round + len(found) - 1:,} foretold by the ratings before them"
    yield _scores(title, "filter", {name: scores.summary() for name, scores in found.filters.items()})
    for breakdown in (name for name in BREAKDOWNS if name in breakdowns):
        if breakdown == "rank-error":
            yield _rank_errors(found)
            continue
        head = {"era": "year", "size": "players", "experience": "rounds before"}[breakdown]
        for name, scores in found.filters.items():
            rows = (
                scores.experience() if breakdown == "experience"
                else found.by_era(name) if breakdown == "era"
                else found.by_size(name)
            )  # fmt: skip
            yield _scores(f"{found.run}, {name}, by {head}", head, rows)


def win_table(one: str, other: str, rates: Sequence[WinRate], filter: str) -> Table:
    """How often one run is better than another, under one filter."""
    table = Table(title=f"{filter}: rounds that {one} foretold better than {other}, %, equal ones by half")
    table.add_column("rounds")
    table.add_column("how many", justify="right")
    for metric in METRICS:
        table.add_column(_HEADS[metric].removesuffix(" %"), justify="right")
    by_class: dict[str, dict[str, WinRate]] = {}
    for rate in rates:
        if rate.filter == filter:
            by_class.setdefault(rate.rounds, {})[rate.metric] = rate
    for name, found in by_class.items():
        told = [f"{found[metric].percent:.1f}" if metric in found else "" for metric in METRICS]
        table.add_row(name, f"{max(rate.n_rounds for rate in found.values()):,}", *told)
    return table


def search_table(report: SearchReport, metric: str) -> Table:
    """The best of a search, with their scores on the training rounds and on the others."""
    share = f"tuned on the first {report.n_train:,} of {report.n_contests:,} contests, tested on the others"
    table = Table(title=f"best {_HEADS[metric]}, {share}")
    table.add_column("", justify="right")
    table.add_column("hyperparameters", overflow="fold")
    for part in ("tuned", "tested"):
        for name in ("pair_inversion", "rank_deviation"):
            table.add_column(f"{_HEADS[name].removesuffix(' %')}, {part}", justify="right")
    for place, found in enumerate(report.best, 1):
        scores = [part.get(name) for part in (found.train, found.test) for name in ("pair_inversion", "rank_deviation")]
        told = ["ran away" if score is None else f"{score:.3f}" for score in scores]
        table.add_row(str(place), " ".join(f"{name}={value}" for name, value in found.settings.items()), *told)
    return table


def _scores(title: str, head: str, rows: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(title=title)
    table.add_column(head)
    table.add_column("weight", justify="right")
    for metric in METRICS:
        table.add_column(_HEADS[metric], justify="right")
    for name, row in rows.items():
        table.add_row(name, f"{row['weight']:,}", *(_number(metric, row.get(metric)) for metric in METRICS))
    return table


def _rank_errors(found: Evaluation) -> Table:
    table = Table(title=f"{found.run}, log2 rank errors of everybody, newcomers included")
    table.add_column("rounds, this one counted")
    for head in ("participations", "mean change", "mean P", "mean E"):
        table.add_column(head, justify="right")
    for row in found.rank_errors():
        if row.participations:
            table.add_row(
                row.name, f"{row.participations:,}", f"{row.gain:.2f}", f"{row.performance:.4f}", f"{row.error:.4f}"
            )
    return table


def _number(metric: str, value: float | None) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.2f}" if metric.startswith(("pair", "rank")) else f"{value:.4f}"
