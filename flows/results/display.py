"""The display rating of a run: a conservative number, after a round or after some time without another one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Prior, Rounds, System
from ranklake.rating_kernels.core.limits import TIME_SECONDS, finite
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import DamagedError, Run
from ranklake.storage.lake.layout import run_file

from ..common.configuration.settings import build_params, find_system, recorded_settings
from ..compilation.compile import announce_compilation
from .level_shifts import STEADY, LevelShifts
from .places import RECORDED

_DEVIATIONS = finite()["limits"]
_DIGITS = 3  # significant digits of sigma_init that a displayed rating has


@dataclass(frozen=True, slots=True)
class Display:
    """The display rating: ``mu - deviations * (sigma - sigma_limit)``, at least ``minimum``, rating points.

    Newcomers rank low until their sigma falls; near its limit the display rating is ``mu``. Some systems add an offset
    while a player is new. ``run.json`` may have the numbers of a preset
    (:mod:`ranklake.flows.common.configuration.settings`), and a steady level: the same ``shift`` lowers all ratings.
    """

    system: System
    params: Any
    deviations: float
    minimum: float = -math.inf
    shift: LevelShifts | None = None

    def __post_init__(self) -> None:
        check_value("deviations", self.deviations, _DEVIATIONS)
        if self.minimum != -math.inf:
            check_value("minimum", self.minimum, _DEVIATIONS)

    @classmethod
    def of(cls, run: Run, deviations: float | None = None) -> Display:
        """The display rating of a run; ``deviations`` replaces those of its preset or of its system.

        Raises ``DamagedError`` if the numbers in ``run.json`` are invalid.
        """
        found = cls.at_entry(run)
        if deviations is not None:
            found = replace(found, deviations=deviations)
        steady = run.config.get("display", {}).get("level") == STEADY
        return replace(found, shift=LevelShifts.of_run(run, found.decimals)) if steady else found

    @classmethod
    def at_entry(cls, run: Run) -> Display:
        """The display rating without a shift, which decides who is rated in contests for a range of ratings."""
        system, params = system_of(run)
        try:
            recorded: dict[str, Any] = dict(run.config.get("display", {}))
            recorded.pop(RECORDED, None)
            if (level := recorded.pop("level", STEADY)) != STEADY:
                raise ValueError(f"level must be {STEADY}, got {level!r}")
            return cls(system, params, **({"deviations": system.deviations} | recorded))
        except (TypeError, ValueError) as error:
            path = run_file(run.name)
            raise DamagedError(f"{path}: the display rating is invalid: {error}", path=path) from error

    @classmethod
    def named(
        cls,
        system: str,
        params: Mapping[str, Any],
        deviations: float,
        minimum: float | None = None,
        shift: LevelShifts | None = None,
    ) -> Display:
        """The display rating of a system by its name, with recorded hyperparameters; ``minimum`` None is none."""
        found = find_system(system)
        built = build_params(found, recorded_settings(found, params))
        return cls(found, built, deviations, -math.inf if minimum is None else minimum, shift)

    @property
    def decimals(self) -> int:
        """Decimals of a displayed rating: those of ``sigma_init`` in three significant digits.

        None for 350 rating points, two for TrueSkill's 8.33. Systems without sigma have those of ``mu_init`` in four
        significant digits.
        """
        sigma, mu = abs(float(self.params.sigma_init)), abs(float(self.params.mu_init))
        scale, digits = (sigma, _DIGITS) if sigma else (mu, _DIGITS + 1)
        return max(0, digits - 1 - math.floor(math.log10(scale))) if scale else 0

    @property
    def sigma_limit(self) -> float:
        """The ``sigma`` near which the display rating is ``mu``, rating points."""
        return float(self.system.sigma_limit(self.params))

    def of_belief(self, mu: Any, sigma: Any) -> Any:
        """The part of the display rating that follows from the belief: without offset and minimum."""
        return mu - self.deviations * (sigma - self.sigma_limit)

    def rating(self, mu: Any, sigma: Any, n_rounds: Any, round_index: Any = None) -> Any:
        """The display rating of beliefs after a round of the run; by default after its last one."""
        shown = self.of_belief(mu, sigma)
        if self.system.offset is not None:
            shown = shown + self.system.offset(self.params, mu, n_rounds)
        if self.shift is not None:
            shown = shown - self.shift.at(round_index)
        return shown if self.minimum == -math.inf else np.maximum(shown, self.minimum)


def system_of(run: Run) -> tuple[System, Any]:
    """The system of a run with its hyperparameters."""
    system = find_system(run.config["system"])
    return system, build_params(system, recorded_settings(system, run.config["params"]))


Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def idle_rating(
    display: Display, mu: Floats, sigma: Floats, n_rounds: npt.NDArray[np.int32], last: Longs, at: int, last_round: int
) -> tuple[Floats, Floats]:
    """The standard deviation and the display rating of each player at a time; see :func:`idle_sigma`.

    ``last_round``: the last round before that time.
    Raises ``ValueError`` if ``at`` is out of range.
    """
    check_value("at", at, TIME_SECONDS)
    sigma = idle_sigma(display.system, display.params, mu, sigma, n_rounds, last, at)
    return sigma, display.rating(mu, sigma, n_rounds, last_round)


def idle_sigma(
    system: System, params: Any, mu: Floats, sigma: Floats, n_rounds: npt.NDArray[np.int32], last: Longs, at: int
) -> Floats:
    """The standard deviation of each belief at a time after the player's last round, without another round.

    ``mu``, ``sigma``, ``n_rounds``: the belief after the last round of each player.
    ``last``: end of that round, UTC seconds; 0 if unknown, and then no days pass.
    ``at``: the time, UTC seconds; before ``last``, no days pass.
    Returns ``float64[n]``: rating points. Systems whose uncertainty does not depend on time return ``sigma`` to the
    bit.

    The diffusion before a round has a part for the round and one for the days. The second is the difference of the
    prior variances of a round at ``at`` with the days, and without. State beyond ``mu`` and ``sigma`` is that of a
    player with this belief by ``System.state``: the volatility of Glicko-2 is its initial value.
    """
    without = np.full(len(mu), at, dtype=np.int64)
    with_days = np.where(last == 0, at, last)
    grown = _prior_variance(system, params, mu, sigma, n_rounds, with_days, at)
    grown -= _prior_variance(system, params, mu, sigma, n_rounds, without, at)
    return np.where(grown > 0.0, np.sqrt(sigma * sigma + np.maximum(grown, 0.0)), sigma)


def _prior_variance(
    system: System, params: Any, mu: Floats, sigma: Floats, n_rounds: npt.NDArray[np.int32], last: Longs, at: int
) -> Floats:
    """The variance that each player would bring to a round of weight 1 at a time."""
    n = len(mu)
    store = system.newcomers(params, n)
    store.mu[:], store.sigma[:], store.n_rounds[:], store.last_time[:] = mu, sigma, n_rounds, last
    for name, values in system.state(params, mu, sigma).items():
        store.state[name][:] = values
    row = np.arange(n)
    prior = Prior(np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int32))
    with announce_compilation(system.name):
        system.prior(params, store, Rounds.from_columns([0, n], row, row, row, [at]), 0, n, prior)
    return prior.sigma * prior.sigma
