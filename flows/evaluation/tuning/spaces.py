"""The space of a search: a list of values or a range for each hyperparameter, checked before any rating."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.margins import NO_MARGIN

from ...common.configuration.settings import (
    build_contest_params,
    build_params,
    check_margin_rule,
    convert_fields,
    parse_settings,
)

_CORNERS = 4096  # maximum number of combinations passed to the checks of the system


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``, uniform or logarithmic; a grid has ``count`` of them."""

    low: float
    high: float
    log: bool = False
    count: int | None = None
    whole: bool = False

    def at(self, share: float) -> float:
        """The number at a share of the range, from 0 to 1."""
        if self.log:
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        return self.near(value)

    def near(self, value: float) -> float:
        """The value rounded to a number with few digits, inside the range."""
        value = min(max(float(f"{value:.6g}"), self.low), self.high)
        return float(round(value)) if self.whole else value

    def points(self, name: str) -> list[float]:
        """The numbers of a grid."""
        if self.count is None:
            raise ValueError(f"{name} is a range; a grid needs values, as {name}=a,b,c, or a number of points, as "
                             f"{name}={self.low:g}:{self.high:g}{':log' if self.log else ''}:9")  # fmt: skip
        if self.count == 1:
            return [self.at(0.0)]
        return list(dict.fromkeys(self.at(i / (self.count - 1)) for i in range(self.count)))


Axis = Range | tuple[Any, ...]
Space = Mapping[str, Axis]


def parse_space(system: System, texts: Sequence[str]) -> dict[str, Axis]:
    """``("rho=0.04,1,inf", "weight_limit=0.05:0.5:log")`` as axes."""
    space: dict[str, Axis] = {}
    hints, settings = typing.get_type_hints(system.params), parse_settings(tuple(texts))
    check_margin_rule(system, settings)
    for name, text in settings.items():
        if name not in hints:
            convert_fields(
                system.params, {name: text}, system.name
            )  # raises for an unknown name, and lists the known ones
        if ":" in text:
            space[name] = _range(name, text, whole=int in (hints[name], *typing.get_args(hints[name])))
        else:
            words = [word.strip() for word in text.split(",")]
            if "" in words:
                raise ValueError(f"{name} must be values a,b,c or a range lo:hi, got {text!r}")
            values = [convert_fields(system.params, {name: word}, system.name)[name] for word in words]
            if len(set(values)) < len(values):
                raise ValueError(f"{name} has a value twice in {text!r}")
            space[name] = tuple(values)
    ends = [(axis.at(0.0), axis.at(1.0)) if isinstance(axis, Range) else axis for axis in space.values()]
    corners = (dict(zip(space, point, strict=True)) for point in product(*ends))
    check_settings(system, islice(corners, _CORNERS))
    return space


def check_settings(system: System, settings: Any) -> None:
    """Raise ``ValueError`` if the system refuses any of the settings; the message has the settings and the reason."""
    for one in settings:
        try:
            if system.all_games is None:
                build_contest_params(system, one)
            elif build_params(system, one).covariates:
                raise ValueError("trials do not read covariates of games; leave them out")
        except ValueError as error:
            raise ValueError(f"{system.name} with {' '.join(as_texts(one))}: {error}") from None


def chosen_in(system: System, texts: Sequence[str]) -> dict[str, Any]:
    """For each hyperparameter of a space the last value that is neither None nor 0, if there is one."""
    axes = parse_space(system, texts).items()
    values = {name: (axis.low, axis.high) if isinstance(axis, Range) else axis for name, axis in axes}
    return {name: next(filter(None, reversed(points)), None) for name, points in values.items()}


def margin_in(system: System, texts: Sequence[str]) -> str:
    """A margin of a space, other than "none" if there is one."""
    axis = parse_space(system, texts).get("margin", ())
    return next((str(word) for word in axis if word != NO_MARGIN), NO_MARGIN) if isinstance(axis, tuple) else NO_MARGIN


def grid(space: Space) -> list[dict[str, Any]]:
    """Every combination of the axes' values."""
    axes = [axis.points(name) if isinstance(axis, Range) else axis for name, axis in space.items()]
    return [dict(zip(space, point, strict=True)) for point in product(*axes)]


def draw(space: Space, seed: int, trial: int) -> dict[str, Any]:
    """The settings of one trial of a random search; independent of earlier draws."""
    shares = np.random.default_rng([seed, trial]).random(len(space))
    return {
        name: axis.at(share) if isinstance(axis, Range) else axis[min(int(share * len(axis)), len(axis) - 1)]
        for (name, axis), share in zip(space.items(), shares.tolist(), strict=True)
    }


def as_texts(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings as exact texts for ``--set``."""
    return tuple(f"{name}={_text(value)}" for name, value in settings.items())


def as_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as the texts of a trial."""
    return dict(text.split("=", 1) for text in as_texts(settings))


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _range(name: str, text: str, whole: bool) -> Range:
    rule = f"{name} must be a range lo:hi, lo:hi:log or, for a grid, lo:hi:log:9, got {text!r}"
    words = [word.strip() for word in text.split(":")]
    try:
        low, high = float(words[0]), float(words[1])
        rest = words[2:]
        log = bool(rest) and rest[0] == "log"
        counts = [int(word) for word in rest[int(log) :]]
    except ValueError:
        raise ValueError(rule) from None
    if len(counts) > 1 or (counts and counts[0] < 1):
        raise ValueError(rule)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{name} must be a range from a lower to a higher finite number, got {text!r}")
    if log and low <= 0:
        raise ValueError(f"{name} must begin above 0 to be searched by its logarithm, got {text!r}")
    return Range(low, high, log, counts[0] if counts else None, whole)
