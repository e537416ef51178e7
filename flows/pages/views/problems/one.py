"""One problem: its difficulty, the chance by skill, and who solved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....answers.problems.chances import solve_chances
from ....results.rating_format import RatingFormat
from .drawing import chance_graph, seen

Contests = Sequence[tuple[str, str, int]]
"""Name, address and end of each contest, UTC seconds, 0 if unknown."""


def problem(found: Mapping[str, Any], contests: Contests, form: RatingFormat) -> dict[str, Any]:
    """The page of a problem; see the template ``problem``.

    ``found``: as of :meth:`.PublishedProblems.problem`. ``contests``: that used it, in rated order.
    """
    difficulty, scale, bands = found["difficulty"], found["scale"], []
    for band in found["bands"]:
        middle = 0.5 * (band["low"] + band["high"])
        bands.append({**band, "seen": seen(band), "chance": float(solve_chances(middle, difficulty, scale))})
    graph = None if difficulty is None else chance_graph(difficulty, scale, bands, form)
    return {"problem": {**found, "name": found["name"] or found["problem"]}, "contests": contests, "bands": bands,
            "graph": graph, "sign": SIGNS[found["bound"]], "seen": seen(found)}  # fmt: skip


SIGNS = {"above": "> ", "below": "< ", None: ""}
"""Before the difficulty of a problem that nobody, or that everybody, solved."""
