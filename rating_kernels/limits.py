"""What a hyperparameter may be: its range, its choices and its unit, kept with the field of the parameter class.

``dataclasses.field(default=..., metadata=positive("rating points"))`` states it where the default stands. The class
itself refuses other values when it is built; a test holds both together. Rules that join several fields are not here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass

__all__ = [
    "POINTS",
    "Limits",
    "choice",
    "finite",
    "fraction",
    "limits_of",
    "non_negative",
    "positive",
    "switch",
    "whole",
]

POINTS = "rating points"


@dataclass(frozen=True, slots=True)
class Limits:
    """The values that a hyperparameter may have.

    Attributes
    ----------
    kind : str
        "number", "whole number", "choice", "switch" (true or false).
    unit : str
        Of a number; empty for a pure one.
    low, high : float
        Ends of the range; infinite for none.
    closed : str
        The ends that belong to the range: "", "low", "high" or "both".
    choices : tuple of str
        The words, if it is a choice.
    """

    kind: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    closed: str = ""
    choices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The range in a few characters."""
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "switch":
            return "true, false"
        low = "" if self.low == -math.inf else f"{'>=' if self.closed in ('low', 'both') else '>'} {self.low:g}"
        high = "" if self.high == math.inf else f"{'<=' if self.closed in ('high', 'both') else '<'} {self.high:g}"
        parts = [part for part in (low, high) if part] or ["any finite"]
        if self.high == math.inf and self.closed in ("high", "both"):
            parts.append("inf")
        return ", ".join(parts)

    def hold(self, value: float) -> bool:
        """Whether a number lies in the range."""
        above = value > self.low or (self.closed in ("low", "both") and value == self.low)
        return above and (value < self.high or (self.closed in ("high", "both") and value == self.high))


def limits_of(field: Field[object]) -> Limits:
    """The limits of a field of a parameter class."""
    limits: Limits = field.metadata["limits"]
    return limits


def positive(unit: str = "", infinite: bool = False) -> Mapping[str, Limits]:
    """A number > 0."""
    return {"limits": Limits("number", unit, 0.0, closed="high" if infinite else "")}


def non_negative(unit: str = "", infinite: bool = False) -> Mapping[str, Limits]:
    """A number >= 0."""
    return {"limits": Limits("number", unit, 0.0, closed="both" if infinite else "low")}


def finite(unit: str = "") -> Mapping[str, Limits]:
    """Any finite number."""
    return {"limits": Limits("number", unit)}


def fraction() -> Mapping[str, Limits]:
    """A number between 0 and 1, both excluded."""
    return {"limits": Limits("number", "", 0.0, 1.0)}


def whole(low: int, high: float = math.inf, unit: str = "") -> Mapping[str, Limits]:
    """A whole number from ``low`` to ``high``."""
    return {"limits": Limits("whole number", unit, low, high, "low" if math.isinf(high) else "both")}


def choice(*words: str) -> Mapping[str, Limits]:
    """One of some words."""
    return {"limits": Limits("choice", choices=words)}


def switch() -> Mapping[str, Limits]:
    """True or false."""
    return {"limits": Limits("switch")}
