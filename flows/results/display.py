"""The display rating of a run: a conservative number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.limits import finite
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import Dataset, Lake, Run

from ..common.settings import build_params, find_system
from ..common.titles import TitlesChoice
from .rating_format import RatingFormat
from .run_titles import titles_of

__all__ = ["Display", "rating_format"]

_DEVIATIONS = finite()["limits"]
_DIGITS = 3  # significant digits of sigma_init that a displayed rating has


@dataclass(frozen=True, slots=True)
class Display:
    """The display rating: ``mu - deviations * (sigma - sigma_limit)``, rating points.

    Newcomers rank low until their sigma falls; near its limit the display rating is ``mu``. Some systems add an offset
    while a player is new.
    """

    system: System
    params: Any
    deviations: float

    def __post_init__(self) -> None:
        check_value("deviations", self.deviations, _DEVIATIONS)

    @classmethod
    def of(cls, run: Run, deviations: float | None = None) -> Display:
        """The display rating of a run; ``deviations`` replaces the default of its system."""
        system = find_system(run.config["system"])
        params = build_params(system, run.config["params"])
        return cls(system, params, system.deviations if deviations is None else deviations)

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
        return shown if self.system.offset is None else shown + self.system.offset(self.params, mu, n_rounds)


def rating_format(lake: Lake, run_name: str, titles: TitlesChoice = None) -> RatingFormat:
    """The format of the ratings of a run.

    Raises
    ------
    LakeError
        The run or its data set is missing.
    """
    run = Run.open(lake, run_name)
    display, dataset = Display.of(run), Dataset.open(lake, run.config["dataset"])
    return RatingFormat(titles_of(run, dataset, display.params.mu_init, titles), display.decimals)
