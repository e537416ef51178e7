"""Settings of dataclasses from text, JSON or Python values: hyperparameters of systems, options of file sources.

A preset, what a site rates with by its name, is only a shorter way to write settings: ``run.json`` records the system,
all hyperparameters and the display.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from ranklake.rating_kernels import SYSTEMS, System
from ranklake.rating_kernels.core.limits import Limits, limits_of, value_before
from ranklake.rating_kernels.core.margins import MarginParams
from ranklake.rating_kernels.inference.period_games import SEQUENTIAL, SIMULTANEOUS

from ..text import described, listed
from ..times import spelled
from .hyperparameters import find_named, own_fields_first
from .tables import numbers_of


def find_system(name: str) -> System:
    """The system called ``name``; ``ValueError`` lists all names."""
    return find_named("system", name, SYSTEMS)


def build_params(system: System, settings: Mapping[str, Any]) -> Any:
    """The system's hyperparameters from settings: text from a command line, JSON or Python values; ``ValueError`` for
    an unknown name, a wrong type, or a value that the system refuses.
    """
    check_margin_rule(system, settings)
    return system.params(**convert_fields(system.params, settings, system.name))


def check_margin_rule(system: System, names: Collection[str]) -> None:
    """Raise ``ValueError`` if hyperparameters of margins are among ``names``, and the system has no rule for them."""
    if not system.margins and any(field.name in names for field in dataclasses.fields(MarginParams)):
        able = [name for name, other in SYSTEMS.items() if other.margins]
        rule = f"{system.name} has no rule for margins of victory"
        raise ValueError(f"{rule}; {listed(able)} have one")


def check_uncertainty(system: System, what: str) -> None:
    """Raise ``ValueError`` if a system has no uncertainty of skills, which ``what`` needs."""
    if not system.uncertainty:
        able = [name for name, other in SYSTEMS.items() if other.uncertainty]
        raise ValueError(f"{what} needs the uncertainty of skills, which {system.name} has not; {listed(able)} have it")


def check_rounds_matter(system: System, what: str) -> None:
    """Raise ``ValueError`` if a system explains all games at once, so that no round has a change of its own."""
    if system.all_games is not None:
        raise ValueError(f"{system.name} explains all games at once, and has no {what}")


def build_contest_params(system: System, settings: Mapping[str, Any]) -> Any:
    """As :func:`build_params`, where one contest or game is rated after the other; ``ValueError`` also if the
    hyperparameters are for periods of games.
    """
    params = build_params(system, settings)
    check_simultaneous(system, params, "here one contest or game is rated after the other")
    return params


def rates_simultaneously(params: Any) -> bool:
    """Whether hyperparameters are for periods of games, which are all rated at the same time."""
    return bool(getattr(params, "games", SEQUENTIAL) == SIMULTANEOUS)


def check_simultaneous(system: System, params: Any, where: str) -> None:
    """Raise ``ValueError`` if the hyperparameters of a system are for periods of games; ``where`` says what is rated
    instead: contests, each of which would be one period, or one game after the other.
    """
    if rates_simultaneously(params):
        chosen = system.name if system.periods else f"games={SIMULTANEOUS}"
        raise ValueError(f"{chosen} is for the periods of a data set of games, as `ranklake rate` rates them; {where}")


def params_to_json(params: Any, *, whole: bool = False) -> dict[str, Any]:
    """Hyperparameters as JSON: infinity is "inf", a tuple is a list; with :func:`recorded_settings`,
    :func:`build_params` is the inverse.

    A hyperparameter that the system did not have at first is left out if it has the value of before
    (:func:`.limits.later`), or has the older name (:func:`.limits.in_place_of`), unless the dictionary must be
    ``whole``.
    """
    fields = {field.name: field for field in dataclasses.fields(params)}
    values = {name: getattr(params, name) for name in fields}
    for name, older, said in () if whole else _older_names(type(params)):
        for key, value in said.items():
            if values[name] == value:
                values[older], values[name] = key, None
    return {
        name: "inf" if value == math.inf else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if whole or not (fields[name].metadata.get("later") and value == value_before(fields[name]))
    }


def recorded_settings(system: System, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded hyperparameters, with those that :func:`params_to_json` left out: of a run, a publication, a file.

    Settings of a user are not recorded ones: what they leave out has its default.
    """
    later = (field for field in dataclasses.fields(system.params) if field.metadata.get("later"))
    return {field.name: value_before(field) for field in later} | renamed_settings(system, recorded)


def renamed_settings(system: System, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the hyperparameters in place of older names, unless both are given."""
    renamed = dict(settings)
    for name, older, said in _older_names(system.params):
        for key, value in said.items():
            if settings.get(older) is key and settings.get(name) is None:
                renamed[name], renamed[older] = value, None
    return renamed


def _older_names(kind: type[Any]) -> list[tuple[str, str, Mapping[Any, Any]]]:
    """The hyperparameters in place of older ones: name, older name, and their values by the older one's."""
    return [(field.name, *field.metadata["older"]) for field in dataclasses.fields(kind) if "older" in field.metadata]


def convert_fields(kind: type[Any], settings: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Convert settings to the types that a dataclass declares for its fields; ``ValueError`` names the ``owner`` of the
    fields.
    """
    hints = _types(kind)  # type: ignore[arg-type]  # a class is hashable
    known = [field.name for field in own_fields_first(kind)]
    for name in settings:
        if name not in known:
            raise ValueError(f"{owner} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
    tables = {field.name: limits for field in dataclasses.fields(kind) if (limits := _table(field)) is not None}
    values = {
        name: value if name not in tables else numbers_of(name, value, tables[name].choices)
        for name, value in settings.items()
    }
    return {name: _convert(name, value, hints[name]) for name, value in values.items()}


def _table(field: dataclasses.Field[Any]) -> Limits | None:
    """The limits of a field whose value is a table."""
    limits: Limits | None = field.metadata.get("limits")
    return limits if limits is not None and limits.kind == "table" else None


@cache
def _types(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


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
    "elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces", "cf-general", "leetcode", "atcoder", "topcoder", "elo-srm",
    "elo", "fide", "glicko", "glicko2", "glicko-allpairs", "trueskill", "bar", "bt",
]  # fmt: skip


def chosen_of(params: Any, named: Collection[str] = ()) -> dict[str, Any]:
    """The hyperparameters that are ``named`` or differ from their defaults."""
    values = {field: getattr(params, field.name) for field in dataclasses.fields(params)}
    return {field.name: value for field, value in values.items() if field.name in named or value != field.default}


def check_times(kind: type[Any], chosen: Mapping[str, Any], where: str) -> None:
    """Refuse hyperparameters that act by the days between contests, where contests have no times.

    Their unit tells which ones these are. A default that was not ``chosen`` is not refused: it adds nothing; nor are
    None and 0. ``where`` says what has no times, and the remedy.
    """
    for field in dataclasses.fields(kind):
        value = chosen.get(field.name)
        if value and limits_of(field).unit.endswith(("day", "days")):
            raise ValueError(f"{field.name} = {value:g} counts the days between contests, and {where}")


def check_to_come(params: Any, seconds: int, *ends: int) -> None:
    """Raise ``ValueError`` for a time of a contest to come that is before the last rated contest, or the only one that
    is known if days count.

    ``ends`` are the ends of the last contest in rated order and of the latest one, as clocks of sources may go back;
    none without rated contests. Times are UTC seconds, 0 is unknown.
    """
    if not seconds:
        return
    last = min(filter(None, ends), default=0)
    if ends and not last:
        check_first_times(params, "the rated contests have no times: give none to the contest to come either")
    if last and seconds < last:
        raise ValueError(
            f"the contest to come cannot end at {spelled(seconds)}: the ratings are those after the last contest, "
            f"which ended at {spelled(last)}; give a later time, or none"
        )


def check_first_times(params: Any, where: str) -> None:
    """Refuse the first times after contests without, if any hyperparameter counts days, by default or not."""
    check_times(type(params), params_to_json(params, whole=True), where)


PresetName = Literal["dmoj", "codechef", "sonas"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A named configuration.

    ``system``: a key of ``SYSTEMS``.
    ``text``, ``source``: what it is, in a line; where the numbers come from.
    ``settings``: hyperparameters that differ from the system's defaults.
    ``display``: ``deviations`` and ``minimum`` of the display rating; empty for those of the system.
    """

    name: PresetName
    system: str
    text: str
    source: str
    settings: Mapping[str, Any]
    display: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """The preset for JSON, with all hyperparameters."""
        params = params_to_json(build_params(find_system(self.system), self.settings))
        return {
            "name": self.name, "description": self.text, "source": self.source, "system": self.system,
            "params": params, "display": dict(self.display),
        }  # fmt: skip


_SPREAD = 328.33  # standard deviation of a performance at DMOJ, whose other deviations are those for 212, scaled

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "dmoj", "elo-mmr", "ratings of dmoj.ca", "DMOJ/online-judge, judge/ratings.py",
            {"rho": 1.0, "tie_mode": "split", "beta": _SPREAD, "gamma": math.sqrt(1219.047619) * _SPREAD / 212.0,
             "sigma_init": 350.0 * _SPREAD / 212.0},
            {"deviations": 1.0, "minimum": 1.0},
        ),
        Preset(
            "codechef", "elo-mmr", "the set-up for CodeChef of the authors of Elo-MMR", "Ebtekar and Liu's engine",
            {"rho": 0.1, "tie_mode": "split", "weight_limit": 0.2, "sig_limit": 80.0, "noob_delay": (0.6, 0.8),
             "history_len": 50, "mu_init": 1600.0, "sigma_init": 280.0},
            {},
        ),
        Preset(
            "sonas", "elo", "Sonas's proposal for chess: a straight line, and a K of 24 for everybody",
            "Sonas, \"The Sonas Rating Formula\" (ChessBase, 2002)",
            {"k": 24.0, "cdf": "linear", "certain_lead": 425.0},
            {},
        ),
    )
}  # fmt: skip


def find_preset(name: str) -> Preset:
    """The preset called ``name``; ``ValueError`` lists all names."""
    return find_named("preset", name, PRESETS)


def choose_preset(
    name: str | None, system: str | None, settings: Mapping[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """The system and the settings of a preset, under the given settings; without a preset, those that are given.

    ``elo-srm`` has a hyperparameter called ``preset``, whose words are no names of presets: such a word is a setting.
    ``ValueError`` if there is no such preset, or it is one of another system.
    """
    if name is None:
        return system, dict(settings)
    from ranklake.rating_kernels.systems.elo_srm import PRESETS as ROWS  # with the kernels of that system

    if name in ROWS:
        return system, {**settings, "preset": name}
    preset = find_preset(name)
    if system not in (None, preset.system):
        raise ValueError(f"preset {name} is one of {preset.system}, not of {system}; omit the system")
    return preset.system, {**preset.settings, **settings}


def display_of_preset(name: str | None) -> dict[str, float]:
    """The numbers of a preset's display rating; empty for those of the system."""
    preset = None if name is None else PRESETS.get(name)
    return {} if preset is None else dict(preset.display)
