"""Presets: what a site rates with, by its name, as a system with hyperparameters and the rule of its display rating.

A preset is only a shorter way to write settings: ``run.json`` records the system, all hyperparameters and the display.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from .hyperparameters import find_named
from .settings import build_params, find_system, params_to_json

PresetName = Literal["dmoj", "codechef"]


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


def _preset(
    name: PresetName, system: str, text: str, source: str, settings: Mapping[str, Any], **display: float
) -> Preset:
    return Preset(name, system, text, source, MappingProxyType(settings), MappingProxyType(display))


_SPREAD = 328.33  # standard deviation of a performance at DMOJ, whose other deviations are those for 212, scaled

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        _preset(
            "dmoj", "elo-mmr", "ratings of dmoj.ca", "DMOJ/online-judge, judge/ratings.py",
            {
                "rho": 1.0,
                "tie_mode": "split",
                "beta": _SPREAD,
                "gamma": math.sqrt(1219.047619) * _SPREAD / 212.0,
                "sigma_init": 350.0 * _SPREAD / 212.0,
            },
            deviations=1.0, minimum=1.0,
        ),
        _preset(
            "codechef", "elo-mmr", "the set-up for CodeChef of the authors of Elo-MMR", "Ebtekar and Liu's engine",
            {
                "rho": 0.1,
                "tie_mode": "split",
                "weight_limit": 0.2,
                "sig_limit": 80.0,
                "noob_delay": (0.6, 0.8),
                "history_len": 50,
                "mu_init": 1600.0,
                "sigma_init": 280.0,
            },
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
