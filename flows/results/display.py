"""The display rating of a run: a conservative number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.limits import finite
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import DamagedError, Run
from ranklake.storage.lake.layout import run_file

from ..common.configuration.settings import build_params, find_system

_DEVIATIONS = finite()["limits"]
_DIGITS = 3  # significant digits of sigma_init that a displayed rating has


@dataclass(frozen=True, slots=True)
class Display:
    """The display rating: ``mu - deviations * (sigma - sigma_limit)``, at least ``minimum``, rating points.

    Newcomers rank low until their sigma falls; near its limit the display rating is ``mu``. Some systems add an offset
    while a player is new. ``run.json`` may have the numbers of a preset
    (:mod:`ranklake.flows.common.configuration.presets`).
    """

    system: System
    params: Any
    deviations: float
    minimum: float = -math.inf

    def __post_init__(self) -> None:
        check_value("deviations", self.deviations, _DEVIATIONS)
        if self.minimum != -math.inf:
            check_value("minimum", self.minimum, _DEVIATIONS)

    @classmethod
    def of(cls, run: Run, deviations: float | None = None) -> Display:
        """The display rating of a run; ``deviations`` replaces those of its preset or of its system.

        Raises ``DamagedError`` if the numbers in ``run.json`` are invalid.
        """
        system = find_system(run.config["system"])
        params = build_params(system, run.config["params"])
        recorded = run.config.get("display", {})
        try:
            usual = cls(system, params, **({"deviations": system.deviations} | recorded))
        except (TypeError, ValueError) as error:
            path = run_file(run.name)
            raise DamagedError(f"{path}: the display rating is invalid: {error}", path=path) from error
        return usual if deviations is None else replace(usual, deviations=deviations)

    @classmethod
    def named(cls, system: str, params: Mapping[str, Any], deviations: float, minimum: float | None = None) -> Display:
        """The display rating of a system by its name; ``minimum`` None is none."""
        found = find_system(system)
        return cls(found, build_params(found, params), deviations, -math.inf if minimum is None else minimum)

    @property
    def decimals(self) -> int:
        """Decimals of a displayed rating: those of ``sigma_init`` in three significant digits.

        None for 350 rating points, two for TrueSkill's 8.33. Systems without sigma have those of ``mu_init`` in four
        significant digits.
        """
        sigma, mu = abs(float(self.params.sigma_init)), abs(float(self.params.mu_init))
        scale, digits = (sigma, _DIGITS) if sigma else (mu, _DIGITS + 1)
        return max(0, digits - 1 - math.floor(math.log10(scale))) if scale else 0

    def of_belief(self, mu: Any, sigma: Any) -> Any:
        """The part of the display rating that follows from the belief: without offset and minimum."""
        return mu - self.deviations * (sigma - self.system.sigma_limit(self.params))

    def rating(self, mu: Any, sigma: Any, n_rounds: Any) -> Any:
        shown = self.of_belief(mu, sigma)
        if self.system.offset is not None:
            shown = shown + self.system.offset(self.params, mu, n_rounds)
        return shown if self.minimum == -math.inf else np.maximum(shown, self.minimum)
