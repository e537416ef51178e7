"""The hyperparameters of a run's smoothing: those of its system that have the same meaning, and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranklake.rating_kernels.inference.elo_mm import EloMMParams, rates
from ranklake.rating_kernels.inference.skewed import noise_variance
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.systems.elo_mms import EloMMS

from ..common.settings import convert_fields

__all__ = ["params_of"]

_SHARED = ("tie_mode", "mu_init", "sigma_init", "practice", "practice_rounds")
_DEFAULTS = Smoothing()


def params_of(system_params: Any, settings: Mapping[str, Any]) -> Smoothing:
    """The hyperparameters of a smoothing.

    ``settings`` have precedence over those of the run's system. Elo-MMR and Elo-MMchi determine all: beta and the drift
    are those in a round of weight 1, and practice is 0. So does Elo-MMS: beta is the standard deviation of its skewed
    performances in a large round of weight 1, drift and practice are its own. Other systems determine the level and the
    spread of newcomers; all other values are the defaults of :class:`Smoothing`, scaled to that spread.

    Raises
    ------
    ValueError
        An unknown name, or a value out of range.
    """
    given: dict[str, Any] = {}
    if isinstance(system_params, EloMMParams):
        a, b, c, d, _ = rates(system_params)
        given = {"beta": (a + b) ** 0.5, "gamma": c**0.5, "drift_per_day": d, "practice": 0.0}
    elif isinstance(system_params, EloMMS):
        variance: float = noise_variance(1.0, system_params.beta, system_params.skew, 1.0)  # type: ignore[no-untyped-call]
        beta = variance**0.5
        given = {"beta": beta, "gamma": system_params.gamma, "drift_per_day": system_params.drift_per_day}
    else:
        scale = system_params.sigma_init / _DEFAULTS.sigma_init if system_params.sigma_init > 0.0 else 1.0
        given = {name: getattr(_DEFAULTS, name) * scale for name in ("beta", "gamma", "practice", "sigma_init")}
        given["drift_per_day"] = _DEFAULTS.drift_per_day * scale**2
    for name in _SHARED:
        value = getattr(system_params, name, None)
        if value is not None and not (name == "sigma_init" and value == 0.0):
            given[name] = value
    given["tie_mode"] = given.get("tie_mode") if given.get("tie_mode") in ("full", "split") else "full"
    return Smoothing(**given | convert_fields(Smoothing, settings, "smoothing"))
