"""The display rating of a run: the conservative number that people are shown, and how it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.limits import finite
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import Dataset, Lake, Run

from ..common.settings import build_params, find_system
from ..common.titles import RatingFormat, TitlesChoice, titles_of

__all__ = ["Display", "rating_format"]

_DEVIATIONS = finite()["limits"]
_DIGITS = 3  # significant digits of a newcomer's sigma that a rating shown has


@dataclass(frozen=True, slots=True)
class Display:
    """The conservative rating people are shown: ``mu - deviations * (sigma - sigma_limit)``, rating points.

    A newcomer must prove himself before he ranks high; for a veteran, whose sigma is near its limit, it is ``mu``. Some
    systems add an offset while a player is new.
    """

    system: System
    params: Any
    deviations: float

    def __post_init__(self) -> None:
        check_value("deviations", self.deviations, _DEVIATIONS)

    @classmethod
    def of(cls, run: Run, deviations: float | None = None) -> Display:
        """As the run's system defines it; ``deviations`` instead of the system's own."""
        system = find_system(run.config["system"])
        params = build_params(system, run.config["params"])
        return cls(system, params, system.deviations if deviations is None else deviations)

    @property
    def decimals(self) -> int:
        """Decimals of a rating for people: what three digits of a newcomer's ``sigma_init`` have.

        For 350 rating points none, for TrueSkill's 8.33 two. Systems without sigma have as many as four digits of
        ``mu_init``.
        """
        sigma, mu = abs(float(self.params.sigma_init)), abs(float(self.params.mu_init))
        scale, digits = (sigma, _DIGITS) if sigma else (mu, _DIGITS + 1)
        return max(0, digits - 1 - math.floor(math.log10(scale))) if scale else 0

    def rating(self, mu: Any, sigma: Any, n_rounds: Any) -> Any:
        shown = mu - self.deviations * (sigma - self.system.sigma_limit(self.params))
        return shown if self.system.offset is None else shown + self.system.offset(self.params, n_rounds)


def rating_format(lake: Lake, run_name: str, titles: TitlesChoice = None) -> RatingFormat:
    """How the ratings of a run are written for people.

    Raises
    ------
    LakeError
        There is no such run, or its data set is gone.
    """
    run = Run.open(lake, run_name)
    display, dataset = Display.of(run), Dataset.open(lake, run.config["dataset"])
    return RatingFormat(titles_of(run, dataset, display.params.mu_init, titles), display.decimals)
