"""The systems to compare, each with hyperparameters and where these come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ranklake.rating_kernels import SYSTEMS, System

from ..common.configuration.own_systems import check_own, code_digest, import_system, is_own
from ..common.configuration.settings import build_params, find_preset, find_system, params_to_json, parse_settings
from ..engines.protocols import EngineError
from ..experiments.published import TUNED, contenders
from ..rating.resolve import settings_of_each

ALL = "all"  # stands for all our systems
Provenance = Literal["default", "preset", "set", "published"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A system with hyperparameters.

    ``source``: the name of one of our systems, ``MODULE:NAME``, or a system as a value.
    ``settings``: the hyperparameters that are given; the others have their defaults.
    ``code``: digest of the code of the system; see :func:`.own_systems.code_digest`.
    """

    label: str
    source: str | System
    params: Any
    settings: Mapping[str, Any]
    provenance: Provenance
    code: str

    @property
    def own(self) -> bool:
        """Whether it is no system of ours."""
        return isinstance(self.source, System) or is_own(self.source)

    def system(self) -> System:
        """The system in this process, which may be a worker of a cluster.

        Raises EngineError: the worker cannot import it, or has other code.
        """
        try:
            system = _find(self.source)
        except ValueError as error:
            raise EngineError(
                f"a worker of the cluster cannot import it ({error}); install its package there"
            ) from error
        if self.code != code_digest(system):
            raise EngineError(
                f"the code of {self.label} has changed since the start, or a worker of the cluster has other code; "
                "the same command goes on with the same code everywhere"
            )
        return system

    def to_json(self) -> dict[str, Any]:
        """The system and its settings for JSON."""
        given = params_to_json(self.params, whole=True)
        return {
            "label": self.label, "system": self.label.split()[0] if self.own else self.source,
            "module": self.source if self.own and isinstance(self.source, str) else None,
            "provenance": self.provenance, "settings": {name: given[name] for name in self.settings}, "params": given,
        }  # fmt: skip


def candidates_of(
    systems: Sequence[str | System], settings: Sequence[str] = (), presets: Sequence[str] = ()
) -> list[Candidate]:
    """The systems of a call.

    ``systems``: each ``NAME`` or ``NAME KEY=VALUE ...`` with the name of one of our systems or ``MODULE:NAME``, a
    system as a value, or ``all``; by default all, if there are no presets.
    ``settings``: ``KEY=VALUE`` for a single system, else ``SYSTEM.KEY=VALUE``.
    Raises ValueError: an unknown system or preset, an invalid setting, or one system twice with the same settings.
    """
    asked = list(_asked(systems or (() if presets else (ALL,))))
    names = list(dict.fromkeys(_find(source).name for source, _ in asked))
    chosen = parse_settings(tuple(settings))
    if chosen and not names:
        raise ValueError("--set is for systems, and a preset has its own settings; give --system")
    own = {names[0]: chosen} if len(names) == 1 else dict(settings_of_each(names, chosen))
    found = [_candidate(source, {**own[_find(source).name], **given}) for source, given in asked]
    for name in presets:
        preset = find_preset(name)
        system = find_system(preset.system)
        params = build_params(system, preset.settings)
        found.append(Candidate(name, preset.system, params, preset.settings, "preset", code_digest(system)))
    by_name: dict[str, System] = {}
    for at, one in enumerate(found):
        if one.label in [before.label for before in found[:at]]:
            raise ValueError(f"--system {one.label!r} is given twice")
        system = _find(one.source)
        if by_name.setdefault(system.name, system) is not system:
            raise ValueError(f"two systems are called {system.name!r}; give one of them another name")
    return found


def published_for(history: str) -> list[Candidate]:
    """The systems with the hyperparameters that the authors of Elo-MMR publish for a history of this name, if any."""
    found = []
    for row in contenders(history, 0) if history in TUNED else ():
        if row.settings:
            system = find_system(row.system)
            params = build_params(system, row.settings)
            label = f"{row.label}, published"
            found.append(Candidate(label, row.system, params, row.settings, "published", code_digest(system)))
    return found


def _asked(systems: Sequence[str | System]) -> Iterator[tuple[str | System, dict[str, str]]]:
    for one in systems:
        if not isinstance(one, str):
            yield check_own(one, getattr(one, "name", type(one).__name__)), {}
        elif one == ALL:
            yield from ((name, {}) for name in SYSTEMS)
        else:
            name, *settings = one.split() or [""]
            yield name, parse_settings(tuple(settings))


def _candidate(source: str | System, settings: Mapping[str, str]) -> Candidate:
    system = _find(source)
    params = build_params(system, settings)
    label = " ".join((system.name, *(f"{name}={value}" for name, value in settings.items())))
    return Candidate(label, source, params, settings, "set" if settings else "default", code_digest(system))


def _find(source: str | System) -> System:
    if isinstance(source, System):
        return source
    return import_system(source) if is_own(source) else find_system(source)
