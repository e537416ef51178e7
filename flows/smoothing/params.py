"""The hyperparameters of smoothing that correspond to those of a system, and the reverse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ranklake.rating_kernels.inference.elo_mm import EloMMParams, rates
from ranklake.rating_kernels.smoothing.estimation import ESTIMATED
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.systems.elo_mms import EloMMS

from ..common.configuration.settings import convert_fields

_SHARED = (
    "tie_mode", "mu_init", "sigma_init", "practice", "practice_rounds", "team", "team_noise", "credit",
)  # fmt: skip
_OF_ELO_MMS = ("beta", "skew", "lower", "duel", "resolution", "gamma", "drift_per_day")
_DEFAULTS = Smoothing()
_LEAST_GAMMA = 0.1  # rating points: without any drift sig_limit would be 0


def params_of(system_params: Any, settings: Mapping[str, Any]) -> Smoothing:
    """The hyperparameters of a smoothing.

    ``settings`` have precedence over those of the run's system. Elo-MMR and Elo-MMchi determine all: beta and the drift
    are those in a round of weight 1, and practice is 0. So does Elo-MMS: noise, resolution, drift and practice are its
    own. Other systems determine the level and the spread of newcomers; all other values are the defaults of
    :class:`Smoothing`, scaled to that spread.

    Raises ValueError: an unknown name, a value out of range, or ties of the system that smoothing has not.
    """
    given: dict[str, Any] = {}
    if isinstance(system_params, EloMMParams):
        a, b, c, d, _ = rates(system_params)
        given = {"beta": (a + b) ** 0.5, "gamma": c**0.5, "drift_per_day": d, "practice": 0.0}
    elif isinstance(system_params, EloMMS):
        given = {name: getattr(system_params, name) for name in _OF_ELO_MMS}
    else:
        scale = system_params.sigma_init / _DEFAULTS.sigma_init if system_params.sigma_init > 0.0 else 1.0
        given = {name: getattr(_DEFAULTS, name) * scale for name in ("beta", "gamma", "practice", "sigma_init")}
        given["drift_per_day"] = _DEFAULTS.drift_per_day * scale**2
    for name in _SHARED:
        value = getattr(system_params, name, None)
        if value is not None and not (name == "sigma_init" and value == 0.0):
            given[name] = value
    if getattr(system_params, "tie_loss", None) is not None and "tie_mode" not in settings:
        weights = f"tie_loss={system_params.tie_loss:g} and tie_win={system_params.tie_win:g}"
        raise ValueError(f"smoothing has no {weights} as the run has: set tie_mode=full or tie_mode=split")
    given["tie_mode"] = given.get("tie_mode") if given.get("tie_mode") in ("full", "split") else "full"
    return Smoothing(**given | convert_fields(Smoothing, settings, "smoothing"))


def estimated_of(system_params: Any) -> tuple[str, ...]:
    """The hyperparameters of smoothing that also determine those of the system."""
    if isinstance(system_params, EloMMS):
        return ESTIMATED
    if isinstance(system_params, EloMMParams) and system_params.beta is None:
        return tuple(name for name in ESTIMATED if name != "practice")
    if isinstance(system_params, EloMMParams):
        raise ValueError("estimates are for weight_limit, sig_limit and drift_per_day; beta and gamma exclude these")
    raise ValueError("only the hyperparameters of elo-mmr, elo-mmx and elo-mms can be estimated by smoothing")


def settings_of(system_params: Any, params: Smoothing) -> dict[str, float]:
    """The hyperparameters of the system for which :func:`params_of` gives ``params``, of those that it estimates.

    Six digits, so that settings are short. A skew stays as it is: noises correspond by their variance.
    """
    if isinstance(system_params, EloMMS):
        normal = params.with_normal_noise(), params_of(system_params, {}).with_normal_noise()
        beta = system_params.beta * normal[0].beta / normal[1].beta
        values = {"beta": beta} | {name: getattr(params, name) for name in ("gamma", "drift_per_day", "practice")}
    else:  # beta^2 = s^2 + (s^2 + d) / u and gamma^2 = u s^2, with u = weight_limit, s = sig_limit
        beta2, gamma2, drift = params.beta**2, max(params.gamma, _LEAST_GAMMA) ** 2, params.drift_per_day
        u = (gamma2 + drift + math.sqrt((gamma2 + drift) ** 2 + 4.0 * beta2 * gamma2)) / (2.0 * beta2)
        values = {"weight_limit": u, "sig_limit": math.sqrt(gamma2 / u), "drift_per_day": drift}
    return {name: float(f"{value:.6g}") for name, value in values.items()}
