"""The level of ratings: the mean rating of the players active in a year, and its drift from year to year.

A rating pass computes it: it needs a few numbers per year and one per player. A player is active in
the years of their rated rounds, and counts with the rating after the last round of the year. The drift is the slope of
the yearly means, weighted by the number of players. A round whose time is unknown (0) belongs to the year of the round
before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Rounds

LARGEST_DRIFT = 10.0  # maximum drift without a warning, points a year, for a sigma_init of 350
LEAST_YEARS = 3
_YEAR = 31_556_952  # seconds
_UNKNOWN = -(2**31)  # year of a round whose time is unknown
_TIES, _NEWCOMERS = 0.05, 0.3  # minimum shares of a cause that is named
_SMALL_SCALE = 35.0  # a smaller sigma_init has a scale such as TrueSkill's, 25 and 25 / 3
_NARROW = 100.0  # the advised sigma_init instead of 350; measured in docs/choosing.md


@dataclass(slots=True)
class Level:
    """The level of the ratings over the rounds added so far, of a data set of so many players.

    ``years``: the complete years: year, active players, their mean rating.
    ``rows``, ``tied_rows``, ``newcomers``: participations; those in ties; first ones.
    ``tied_low``: sum over tied participations of the distance of their place below the middle, from -1/2 to 1/2.
    ``gained``, ``gained_by_newcomers``: sum of all changes of ratings; sum of the changes in first participations;
    rating points.
    """

    n_players: int
    years: list[tuple[int, int, float]] = field(default_factory=list)
    rows: int = 0
    tied_rows: int = 0
    newcomers: int = 0
    tied_low: float = 0.0
    gained: float = 0.0
    gained_by_newcomers: float = 0.0
    _year: int = _UNKNOWN
    _mu: npt.NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._mu = np.full(self.n_players, np.nan)  # ratings of the players active in the open year

    @np.errstate(all="ignore")  # ratings may diverge
    def add(self, rounds: Rounds, outcome: Outcome) -> None:
        """Add the next rated rounds."""
        if not rounds.n_rows:
            return
        new = np.flatnonzero(outcome.n_before == 0)
        self.rows += rounds.n_rows
        self.newcomers += len(new)
        self.gained += float(outcome.mu.sum() - outcome.mu_prior.sum())
        self.gained_by_newcomers += float((outcome.mu[new] - outcome.mu_prior[new]).sum())
        tied = rounds.hi > rounds.lo
        if n_tied := int(np.count_nonzero(tied)):
            self.tied_rows += n_tied
            places = np.add.reduceat(np.where(tied, rounds.lo + rounds.hi, 0), rounds.offsets[:-1], dtype=np.int64)
            self.tied_low += float((0.5 * places / np.maximum(np.diff(rounds.offsets) - 1, 1)).sum()) - 0.5 * n_tied
        # a round of unknown time, or earlier than the round before, belongs to the current year
        year = np.where(rounds.time_seconds == 0, _UNKNOWN, rounds.time_seconds // _YEAR)
        year = np.maximum.accumulate(np.concatenate(([self._year], year)))[1:]
        bounds = [0, *(np.flatnonzero(np.diff(year)) + 1).tolist(), len(year)]
        for start, stop in pairwise(bounds):
            if start < stop and year[start] > _UNKNOWN:
                if year[start] > self._year > _UNKNOWN:
                    self.years = self._means()
                    self._mu[:] = np.nan
                self._year = int(year[start])
                rows = slice(rounds.offsets[start], rounds.offsets[stop])
                self._mu[rounds.player[rows]] = outcome.mu[rows]  # the last round of a player in the year

    @np.errstate(all="ignore")
    def drift(self) -> float:
        """Slope of the yearly means, rating points a year; NaN with fewer than ``LEAST_YEARS`` years."""
        means = self._means()
        if len(means) < LEAST_YEARS:
            return math.nan
        year, n, mean = (np.array(column, dtype=np.float64) for column in zip(*means, strict=True))
        year -= np.average(year, weights=n)
        return float((n * year * (mean - mean[0])).sum() / (n * year * year).sum())

    def warning(self, system: str, params: Any) -> str:
        """A warning if the level drifted, with the likely causes and settings with less drift; otherwise empty."""
        drift, unit = self.drift(), params.sigma_init / 350.0 if 0.0 < params.sigma_init < _SMALL_SCALE else 1.0
        if math.isnan(drift) or abs(drift) <= LARGEST_DRIFT * unit:
            return ""
        means = self._means()
        n_years = means[-1][0] - means[0][0] + 1
        shown = f"{drift:+,.1f}" if abs(drift) < 1e6 else f"{drift:+.1e}"
        causes, advice = self._causes(params, drift, unit), self._advice(params, drift)
        text = f"the mean rating of active players changed by {shown} points a year over {n_years} years"
        text += f"; likely cause: {' and '.join(causes)}" if causes else ""
        options = [" ".join(f"--set {setting}" for setting in advice)] if advice else []
        options += ["--system glicko-allpairs" if system != "glicko-allpairs" else "--system elo"]
        remedies = " or ".join(f"`{option}`" for option in options)
        return (
            f"{text}; the drift is smaller with {remedies}, and `--level steady` keeps it from the ratings shown, "
            "see docs/choosing.md"
        )

    def _causes(self, params: Any, drift: float, unit: float) -> list[str]:
        causes = []
        if self._full_ties(params, drift):
            side = "low" if drift > 0 else "high"
            share = self.tied_rows / self.rows
            causes.append(f"{share:.0%} of participations are in ties, mostly at {side} places, with tie_mode=full")
        if self._unequal_ties(params, drift):
            counts = f"{params.tie_win:g} of a win and {params.tie_loss:g} of a loss"
            causes.append(f"{self.tied_rows / self.rows:.0%} of participations are in ties, which count as {counts}")
        if self._by_newcomers(drift):
            side = "below" if drift > 0 else "above"
            mean = self.gained_by_newcomers / self.newcomers
            causes.append(
                f"newcomers begin {side} their level (mu_init {params.mu_init:g}, {mean:+,.3g} points in a first round)"
            )
        if not causes and self.gained * drift > 0 and abs(self.gained) < 1e6 * self.rows * unit:
            causes.append(f"the system changes ratings by {self.gained / self.rows:+,.2g} points a participation")
        return causes

    def _advice(self, params: Any, drift: float) -> list[str]:
        advice = ["tie_mode=split"] if self._full_ties(params, drift) else []
        if self._unequal_ties(params, drift):
            advice += ["tie_loss=0.5", "tie_win=0.5"]
        narrower = params.sigma_init > _NARROW and hasattr(params, "tie_mode")
        if narrower and self._by_newcomers(drift):
            advice.append(f"sigma_init={_NARROW:g}")
        return advice

    def _full_ties(self, params: Any, drift: float) -> bool:
        """Full ties pull a tie group towards the middle of the field: low places up, high places down."""
        full = getattr(params, "tie_mode", "") == "full" and self.tied_rows > _TIES * self.rows
        return full and self.tied_low * drift > 0

    def _unequal_ties(self, params: Any, drift: float) -> bool:
        """Ties of more win than loss raise everyone who ties; of more loss, lower."""
        loss, win = getattr(params, "tie_loss", None) or 0.0, getattr(params, "tie_win", None) or 0.0
        return self.tied_rows > _TIES * self.rows and (win - loss) * drift > 0

    def _by_newcomers(self, drift: float) -> bool:
        return self.gained * drift > 0 and self.gained_by_newcomers / self.gained > _NEWCOMERS

    @np.errstate(all="ignore")
    def _means(self) -> list[tuple[int, int, float]]:
        """The complete years and the open one."""
        if self._year == _UNKNOWN:
            return self.years
        mu = self._mu[~np.isnan(self._mu)]
        return [*self.years, (self._year, len(mu), float(mu.mean()) if len(mu) else math.nan)]
