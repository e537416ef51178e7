"""The graph of a problem: the chance of a solve by skill, and the shares that were seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....answers.problems.chances import solve_chances
from ....results.rating_format import RatingFormat
from ...axes import multiples

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 960, 340, 12, 12, 30, 34
_CURVE, _TICKS = 121, 10
_SMALLEST, _LARGEST = 4.0, 13.0  # radius of a point


def chance_graph(
    difficulty: float, scale: float, bands: Sequence[Mapping[str, Any]], form: RatingFormat
) -> dict[str, Any]:
    """The geometry for the template ``chances.svg``.

    ``bands``: as of :meth:`.PublishedProblems.problem`. The area of a point is proportional to the number counted, but
    the smallest points are larger.
    """
    met = [band for band in bands if band["counted"]]
    low: float = min([difficulty - scale, *(band["low"] for band in met)])
    high: float = max([difficulty + scale, *(band["high"] for band in met)])

    def x(rating: float) -> float:
        return round(_LEFT + (rating - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 2)

    def y(chance: float) -> float:
        return round(_TOP + (1.0 - chance) * (_HEIGHT - _TOP - _BOTTOM), 2)

    skills = np.linspace(low, high, _CURVE)
    line = zip(skills.tolist(), solve_chances(skills, difficulty, scale).tolist(), strict=True)
    most = max((band["counted"] for band in met), default=1.0)
    points = [
        {"x": x(0.5 * (band["low"] + band["high"])), "y": y(band["share"]),
         "r": round(max(_LARGEST * math.sqrt(band["counted"] / most), _SMALLEST), 2),
         "label": f"{form.rating(band['low'])} to {form.rating(band['high'])}: {seen(band)}"}
        for band in met
    ]  # fmt: skip
    return {
        "width": _WIDTH, "height": _HEIGHT, "base": _HEIGHT - _BOTTOM,
        "curve": "M" + "L".join(f"{x(skill)} {y(chance)}" for skill, chance in line), "points": points,
        "levels": [{"y": y(share), "text": f"{100 * share:.0f} %"} for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        "ticks": [{"x": x(value), "text": form.rating(value)} for value in multiples(low, high, _TICKS)],
        "mark": {"x": x(difficulty), "y": y(0.5), "text": form.rating(difficulty)},
    }  # fmt: skip


def seen(band: Mapping[str, Any]) -> str:
    """How many of a band solved it."""
    return f"{band['solved']:,.6g} of {band['counted']:,.6g}"
