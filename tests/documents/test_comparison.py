"""The tables of docs/choosing.md: bold where no system is better, intervals, and rows in the order of their places."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from helpers.documents import ROOT


@pytest.fixture
def comparison(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("comparison")


def row(label: str, score: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    found = {"best": "b", "difference": (low + high) / 2, "low": low, "high": high}
    metrics = ("pair_inversion", "own_cross_entropy")
    return {
        "label": label, "status": "rated", "drift": 12.34,
        "scores": {"experienced": {**dict.fromkeys(metrics, score), "calibration_error": 2.0}},
        "differences": {"experienced": dict.fromkeys(metrics, found)},
    } | more  # fmt: skip


def test_tables__show_intervals_and_what_is_not_worse(comparison: Any) -> None:
    systems = [
        row("a", 70.0, -3.0, -1.0),
        row("b", 72.0, 0.0, 0.0, drift=-1e9),
        row("c k=1", 71.9, -0.5, 0.3, drift=None),
        {"label": "d", "status": "diverges"},
        {"label": "e", "status": "not possible"},
    ]
    order, chances, level = comparison.tables({"histories": [{"name": "f1", "systems": systems}]}).split("\n\n")
    assert order.split("\n") == [
        "| pair inversion, % | Formula 1 |",
        "| --- | --- |",
        "| `b` | **72.00** |",
        "| `c` with `k=1` | **71.90** |",
        "| `a` | 70.00 (−3.00 to −1.00) |",
        "| `d` | diverges |",
    ]
    assert "| `a` | 70.0000 (−3.0000 to −1.0000); 2.0 |" in chances
    assert [line.split("|")[2].strip() for line in level.split("\n")[2:]] == [
        "diverges", "–", "+12.3", "diverges",
    ]  # fmt: skip


def test_page__has_the_tables_of_one_report_for_every_system(comparison: Any) -> None:
    from ranklake import SYSTEMS

    text = Path(comparison.PAGE).read_text("utf-8")
    order, chances, level = text.partition(comparison.BEGIN)[2].partition(comparison.END)[0].strip().split("\n\n")
    for table in (order, chances, level):
        names = [line.split("|")[1].strip() for line in table.split("\n")[2:]]
        assert {name.split("`")[1] for name in names} == set(SYSTEMS) - {"fide", "bt"}  # for periods of games alone
        assert len(set(names)) == len(names)
