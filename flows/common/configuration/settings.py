"""Settings of dataclasses from text, JSON or Python values: hyperparameters of systems, options of file sources."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ranklake.rating_kernels import SYSTEMS, System
from ranklake.rating_kernels.inference.period_games import SEQUENTIAL, SIMULTANEOUS

from ..text import described
from .hyperparameters import find_named, own_fields_first


def find_system(name: str) -> System:
    """The system called ``name``; ``ValueError`` lists all names."""
    return find_named("system", name, SYSTEMS)


def build_params(system: System, settings: Mapping[str, Any]) -> Any:
    """The system's hyperparameters from settings: text from a command line, JSON or Python values; ``ValueError`` for
    an unknown name, a wrong type, or a value that the system refuses.
    """
    return system.params(**convert_fields(system.params, settings, system.name))


def build_contest_params(system: System, settings: Mapping[str, Any]) -> Any:
    """As :func:`build_params`, for contests; ``ValueError`` also if the hyperparameters are for periods of games."""
    params = build_params(system, settings)
    check_simultaneous(params, "contests are rated here")
    return params


def rates_simultaneously(params: Any) -> bool:
    """Whether hyperparameters are for periods of games, which are all rated at the same time."""
    return bool(getattr(params, "games", SEQUENTIAL) == SIMULTANEOUS)


def check_simultaneous(params: Any, where: str) -> None:
    """Raise ``ValueError`` if hyperparameters are for periods of games; ``where`` says what is rated instead."""
    if rates_simultaneously(params):
        raise ValueError(
            f"games={SIMULTANEOUS} is for the periods of a data set of games, as `ranklake rate` rates them; {where}, "
            "and a contest is always one period"
        )


def params_to_json(params: Any, *, whole: bool = False) -> dict[str, Any]:
    """Hyperparameters as JSON: infinity is "inf", a tuple is a list; :func:`build_params` is the inverse.

    A hyperparameter that the system did not have at first is left out if it has its default (:func:`.limits.later`),
    unless the dictionary must be ``whole``.
    """
    values = {field: getattr(params, field.name) for field in dataclasses.fields(params)}
    return {
        field.name: "inf" if value == math.inf else list(value) if isinstance(value, tuple) else value
        for field, value in values.items()
        if whole or not (field.metadata.get("later") and value == field.default)
    }


def convert_fields(kind: type[Any], settings: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Convert settings to the types that a dataclass declares for its fields; ``ValueError`` names the ``owner`` of the
    fields.
    """
    hints = typing.get_type_hints(kind)
    known = [field.name for field in own_fields_first(kind)]
    for name in settings:
        if name not in known:
            raise ValueError(f"{owner} has no parameter {name!r}; it has {', '.join(known)}")
    return {name: _convert(name, value, hints[name]) for name, value in settings.items()}


def parse_settings(texts: tuple[str, ...]) -> dict[str, str]:
    """Parse ``("rho=1", "sig_limit=70")`` into a dictionary; ``ValueError`` for another form, or a repeated key."""
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"a setting is key=value, got {text!r}")
        if key.strip() in settings:
            raise ValueError(f"{key.strip()} is set twice")
        settings[key.strip()] = value.strip()
    return settings


def _convert(name: str, value: Any, kind: Any) -> Any:
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if types.NoneType in kinds and (value is None or (isinstance(value, str) and value.lower() == "none")):
        return None
    kind = next(k for k in kinds if k is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, str | Sequence):
            raise ValueError(f"{name} must be a list of numbers, got {described(value)}")
        parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value)
        return tuple(_convert(name, part, typing.get_args(kind)[0]) for part in parts)
    if typing.get_origin(kind) is typing.Literal:
        kind = str  # the class checks the text
    if kind is bool and isinstance(value, str):
        if value.lower() not in ("true", "false"):
            raise ValueError(f"{name} must be true or false, got {value!r}")
        return value.lower() == "true"
    try:
        if kind is not int:
            return kind(value)
        if float(value) == int(float(value)):
            return int(float(value))
    except (TypeError, ValueError, OverflowError):
        pass
    words = {int: "a whole number", float: "a number"}.get(kind, f"a {kind.__name__}")
    raise ValueError(f"{name} must be {words}, got {described(value)}")


SystemName = Literal[
    "elo-mmr",
    "elo-mmx",
    "elo-mms",
    "elo-r",
    "codeforces",
    "cf-general",
    "leetcode",
    "atcoder",
    "topcoder",
    "elo-srm",
    "elo",
    "glicko",
    "glicko2",
    "glicko-allpairs",
    "trueskill",
    "bar",
]
