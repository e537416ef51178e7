"""Answers to the golden vectors of components of who met whom (system ``components``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import twins.components as slow
from golden.runner import Answers, Vector, check_names

from ranklake.flows.results.components import Components
from ranklake.flows.results.meetings import join
from ranklake.storage.runs.components import Meetings


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; ``step_by_step``, contest by contest, the last one first."""
    return [_components(names, rows, step_by_step) for names, rows in _given(vector)]


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    return [_named(names, slow.closure(rows)) for names, rows in _given(vector)]


def _given(vector: Vector) -> list[tuple[list[str], list[list[int]]]]:
    """The names of the players, sorted, and the indices of the players of each contest."""
    check_names(vector, (), ("contests",))
    found = []
    for history in vector["contests"]:
        names = sorted({name for contest in history["contests"] for name in contest})
        found.append((names, [[names.index(name) for name in contest] for contest in history["contests"]]))
    return found


def _components(names: Sequence[str], contests: list[list[int]], step_by_step: bool) -> dict[Any, Any]:
    roots = np.arange(len(names), dtype=np.int32)
    for part in [[one] for one in reversed(contests)] if step_by_step else [contests]:
        player = np.array([player for contest in part for player in contest], np.int32)
        roots = join(roots, np.cumsum([0, *map(len, part)])[:-1], player)
    found = Components.numbered(Meetings(roots, np.ones(len(names), np.int32)))
    return _named(names, [np.flatnonzero(found.of == number).tolist() for number in range(len(found.sizes))])


def _named(names: Sequence[str], components: Sequence[Sequence[int]]) -> dict[Any, Any]:
    named = [[names[player] for player in component] for component in components]
    return {"player": {"components": named, "sizes": [len(component) for component in components]}}
