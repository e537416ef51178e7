"""What a run is to compute, and how: frozen, checked when built, passed down by hand."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranklake.rating_kernels import SYSTEMS, System
from ranklake.storage import Run
from ranklake.storage.lake.layout import run_file
from ranklake.storage.lake.remedies import damaged

from ..common.skipping import Skipping
from ..common.titles import TitlesChoice
from .chain import NUMERICS, config_digest

__all__ = [
    "RunConfig",
    "build_params",
    "convert_fields",
    "default_run",
    "find_system",
    "parse_settings",
]


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run: a system with its hyperparameters over a data set.

    Attributes
    ----------
    dataset, run : str
        Names in the lake.
    system : str
        A key of ``SYSTEMS``.
    params : object
        The system's hyperparameters.
    skip_uninformative : bool or None
        Whether contests of three or more in which all tie are passed over, or (False) nothing is, a contest of one
        participant included. None is what the run records already, and for a new run the system's own rule.
    exclude, include : tuple of str
        Contests that the run is to pass over from now on; those it is to rate again. Others stay as the run has them.
    titles : Titles, "auto" or None
        Titles to record in ``run.json``; "auto" removes the record, None leaves it. No rating depends on them.
    replace : bool
        A run of that name which computes something else is rated anew; otherwise that is refused.
    recorded : Skipping or None
        The rule of an existing run, where it goes on as it is.
    """

    dataset: str
    run: str
    system: str
    params: Any
    skip_uninformative: bool | None = None
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    titles: TitlesChoice = None
    replace: bool = False
    recorded: Skipping | None = None

    @classmethod
    def of(cls, run: Run) -> RunConfig:
        """What a run computes, as its ``run.json`` says.

        Raises
        ------
        DamagedError
            It does not say what this release can compute.
        """
        try:
            facts = run.config
            system = find_system(facts["system"])
            params = build_params(system, facts["params"])
            recorded = Skipping.from_json(facts)
            return cls(facts["dataset"], run.name, system.name, params, recorded=recorded)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(run_file(run.name), f"not what this release can rate ({error})") from error

    def to_json(self) -> dict[str, Any]:
        """What ``run.json`` says of the computation; beside it stand the contests it excludes and the titles."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "params": _params_to_json(self.params),
            **self.skipping.to_json(),
            "numerics": NUMERICS,
        }

    @property
    def skipping(self) -> Skipping:
        """Which contests are passed over because of their places."""
        return self.recorded or Skipping.of(find_system(self.system), self.skip_uninformative)

    def allows(self, rule: Skipping) -> bool:
        """Whether the rule of an existing run may stay: nothing else is asked for, or nothing that it does not skip."""
        asked = self.skip_uninformative
        return asked is None or self.skipping == rule or (asked and rule.two_tied)

    @property
    def digest(self) -> bytes:
        """Of all that rows depend on beside the contests, the data set that numbers the players included."""
        return config_digest(self.to_json())


def default_run(dataset: str, system: str, settings: Mapping[str, Any], skip_uninformative: bool | None = None) -> str:
    """A run's name when none is given: the same for the same choices; ``system`` may have more words after its name."""
    told = {key: str(value) for key, value in settings.items()}
    own = SYSTEMS[system].skips_all_tied if system in SYSTEMS else None
    if skip_uninformative is False or (skip_uninformative and not own):
        told["skip_uninformative"] = str(skip_uninformative).lower()
    if not told:
        return f"{dataset}-{system}"
    text = json.dumps(told, sort_keys=True, allow_nan=False)
    return f"{dataset}-{system}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def find_system(name: str) -> System:
    """The system called ``name``.

    Raises
    ------
    ValueError
        Names the systems there are.
    """
    if name not in SYSTEMS:
        from ..common.hyperparameters import near_names

        near = near_names(name, SYSTEMS)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"system must be one of {', '.join(SYSTEMS)}, got {name!r}{meant}")
    return SYSTEMS[name]


def build_params(system: System, settings: Mapping[str, Any]) -> Any:
    """The system's hyperparameters from settings as a keyboard, JSON or Python gives them.

    Raises
    ------
    ValueError
        An unknown name, a value of the wrong kind, or one that the system refuses.
    """
    return system.params(**convert_fields(system.params, settings, system.name))


def convert_fields(kind: type[Any], settings: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Settings as values of the types that a dataclass declares for its fields.

    Raises
    ------
    ValueError
        An unknown name, or a value of the wrong kind; names the ``owner`` of the fields.
    """
    hints = typing.get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]
    for name in settings:
        if name not in known:
            raise ValueError(f"{owner} has no parameter {name!r}; it has {', '.join(known)}")
    return {name: _convert(name, value, hints[name]) for name, value in settings.items()}


def parse_settings(texts: tuple[str, ...]) -> dict[str, str]:
    """``("rho=1", "sig_limit=70")`` as a dictionary.

    Raises
    ------
    ValueError
        A text that is not ``key=value``, or a key that comes twice.
    """
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"a setting is key=value, got {text!r}")
        if key.strip() in settings:
            raise ValueError(f"{key.strip()} is set twice")
        settings[key.strip()] = value.strip()
    return settings


def _params_to_json(params: Any) -> dict[str, Any]:
    """Hyperparameters as JSON can hold them: infinity is "inf", a tuple a list."""
    return {
        key: "inf" if value == math.inf else list(value) if isinstance(value, tuple) else value
        for key, value in dataclasses.asdict(params).items()
    }


def _convert(name: str, value: Any, kind: Any) -> Any:
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if types.NoneType in kinds and (value is None or (isinstance(value, str) and value.lower() == "none")):
        return None
    kind = next(k for k in kinds if k is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value)
        return tuple(_convert(name, part, typing.get_args(kind)[0]) for part in parts)
    if typing.get_origin(kind) is typing.Literal:
        kind = str  # the class itself says which words it takes
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
    raise ValueError(f"{name} must be {words}, got {value!r}")
