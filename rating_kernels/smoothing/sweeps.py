"""Sweeps over a whole history until every skill at every round agrees with all rounds before and after.

The first sweep is a filter: rounds in order, each performance found against the beliefs before the round; with teams
(:mod:`.teams`) it is a sweep from equal means instead. Every later sweep finds all performances against the cavities,
the beliefs given all other rounds, and then all cavities from the performances. Rounds are independent of each other
given the cavities, players given the performances. Two methods make the sweeps converge fast: the common level is
solved for (:mod:`.common_level`), and all other changes are extrapolated (:mod:`.mixing`). A sweep costs
O(participations).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.beliefs import Map, serial_map
from ..core.standings import Floats, Rounds
from ..core.system import ConvergenceError
from ..inference.skewed import Law
from .chain import ShownWeights, smooth_players
from .common_level import CommonLevel
from .dates import log_gains
from .estimation import ESTIMATED, estimate
from .evidence import Evidence
from .mixing import Mixing
from .params import Smoothing, drift, model, noise
from .recursion import PlayerRows, Skills
from .resolution import settle
from .rounds import filter_rounds, measure_moves, solve_rounds, update_means
from .teams import settle_weights, solve_teams
from .transitions import RoundReset, transitions

SWEEPS = 100  # after which a smoothing fails
MEAN_MOVE = 0.5  # rating points: converged if the mean of no round moves by more in a sweep
SPREAD = 1.0  # rating points: and no difference between two players of a round
PERIOD = 8  # sweeps, after which extrapolation begins anew: there, the means alone are the state

Solve = Callable[[Floats, Floats, Floats], None]
"""Writes the performances of all rounds, given mean and variance of all cavities: ``solve(mean, variance, perf)``."""


@dataclass(frozen=True, slots=True)
class Smoothed:
    """Smoothed skills: one entry a participation, in the order of the rounds' rows.

    ``perf`` (float64[n]): performance against the field's cavities, rating points.
    ``smooth_mu``, ``smooth_sigma`` (float64[n]): belief about the skill at the round, given all rounds.
    ``cavity_mu``, ``cavity_sigma`` (float64[n]): the same, given all rounds but this one.
    ``log_gain`` (float64[n]): of the product of the gains of the player's earlier rounds; see :mod:`.dates`.
    """

    perf: Floats
    smooth_mu: Floats
    smooth_sigma: Floats
    cavity_mu: Floats
    cavity_sigma: Floats
    log_gain: Floats


class Smoother:
    """The smoothing of one history, sweep by sweep.

    ``rounds``: all rounds, in order; at least two participants each, players or teams. Where they have advantages,
    performances are found in the field of strengths.
    ``map``: divides the work; does not change the bits of the result.
    ``solve``: computes the performances of all rounds, for example on workers; by default ``map`` divides them.
    ``resets``: those between the rounds, in order.
    ``sweeps``: sweeps done so far.
    ``mean_move``, ``spread``: of the last sweep: the largest change of a round's mean, and of the difference of two
    players of a round.
    """

    def __init__(
        self, params: Smoothing, rounds: Rounds, n_players: int, map: Map = serial_map, solve: Solve | None = None,
        resets: Sequence[RoundReset] = (),
    ) -> None:  # fmt: skip
        _check_advantages(rounds)
        self.params, self.rounds, self.sweeps = params, rounds, 0
        self.mean_move, self.spread = np.inf, np.inf
        self._n_players, self._map = n_players, map
        self._solve = solve or (
            lambda mean, variance, perf: solve_performances(params, rounds, map, mean, variance, perf)
        )
        self._variance, self._ranked = params.sigma_init**2, params.resolution == "rank"
        size = np.int32 if rounds.n_rows <= np.iinfo(np.int32).max else np.int64
        order: Any = np.argsort(rounds.player, kind="stable").astype(size)
        starts = np.concatenate(([0], np.cumsum(np.bincount(rounds.player, minlength=n_players))))
        round_of = np.repeat(np.arange(len(rounds), dtype=np.int32), np.diff(rounds.offsets))
        self._rows, self._model, self._drift = PlayerRows(starts, order, round_of), model(params, rounds), drift(params)
        self._noise = noise(params, rounds)
        if resets:
            found = transitions(resets, params, self._rows, self._model, self._noise, self._drift)
            self._drift = self._drift._replace(resets=found)
        self._weights = ShownWeights(False, self._noise.weight)
        self._mean, self._perf, self._cavity_variance = (np.zeros(rounds.n_rows) for _ in range(3))
        self._image = self._mean
        if rounds.teams is not None:
            weight, self._cavity_variance = settle_weights(params, rounds, map, self._cavities)
            self._weights = ShownWeights(True, weight)
        elif self._ranked:
            self._cavity_variance = self._settle(self._noise.hidden)
        self._removed = self._cavity_variance  # those by which rounds are left out of the means
        if self._ranked and params.tie_mode == "split":
            self._removed = self._settle(1.0 / rounds.participants)
        self._level: CommonLevel | None = None
        self._mixing = Mixing()

    @property
    def converged(self) -> bool:
        """Whether all changes in the last sweep are within the tolerances."""
        return self.mean_move <= MEAN_MOVE and self.spread <= SPREAD

    @property
    def is_checkpoint(self) -> bool:
        """Whether ``mean`` is all of the state, so that :meth:`restore` continues with the same bits."""
        return self.sweeps > 0 and (self.sweeps - 1) % PERIOD == 0 and not self.converged

    @property
    def mean(self) -> Floats:
        """The cavity means from which the next sweep begins, less ``mu_init``; float64[n], overwritten by sweeps."""
        return self._mean

    def restore(self, sweeps: int, mean: Floats) -> None:
        """Continue after a checkpoint: the number of sweeps, and the :attr:`mean` there."""
        self._mean[:] = mean
        self._smooth(np.zeros(self.rounds.n_rows), np.zeros(self.rounds.n_rows))
        self.sweeps, self._mixing = sweeps, Mixing()

    def sweep(self) -> None:
        """One sweep over the whole history.

        Raises ConvergenceError: a performance or the skills of a player were not found, numbers are not finite, or
        :data:`SWEEPS` sweeps were not enough.
        """
        if self.sweeps == 0:
            if self.rounds.teams is None:
                self._filter()
            else:
                self._solve(self._mean, self._cavity_variance, self._perf)
            self._smooth(self._perf, self._mean)
            self.sweeps = 1
            return
        if self._level is None:
            self._level = CommonLevel(
                self.rounds.offsets, self._rows, self._model, self._weights, self._drift, self._variance, self._map
            )
        if self.is_checkpoint:
            self._mixing = Mixing()
        image = self._mean.copy()  # from which means of places that show a share move on
        self._solve(self._mean, self._cavity_variance, self._perf)
        self._smooth(self._perf, image)
        self._smooth(self._perf, image, self._level.shift(self._moves(image)[0]))
        mean_move, spread = self._moves(image)
        self.mean_move, self.spread = float(np.max(np.abs(mean_move))), float(np.max(spread))
        if not np.isfinite(self.mean_move + self.spread):
            raise ConvergenceError("a smoothed rating is not a number")
        self.sweeps += 1
        self._image = image
        if self.sweeps >= SWEEPS and not self.converged:
            raise ConvergenceError(
                f"not converged after {SWEEPS} sweeps: the mean of a round still moves by {self.mean_move:.3g} points "
                f"(at most {MEAN_MOVE}), the difference of two of its players by {self.spread:.3g} (at most {SPREAD})"
            )
        if self.converged:
            self._mean, self._mixing = image, Mixing()
        else:
            self._mean = self._mixing.mix(self._mean, image)

    def result(self) -> Smoothed:
        """The beliefs after the last sweep."""
        variance = self._noises()
        gain = self._removed / (self._removed + variance)
        smooth = self._perf - self._image
        smooth *= gain
        smooth += self._image
        if self._removed is not self._cavity_variance:
            gain = self._cavity_variance / (self._cavity_variance + variance)
        if self._ranked:
            hidden = np.repeat(self._noise.hidden, np.diff(self.rounds.offsets))
            variance += hidden * self._cavity_variance
            precision = (1.0 - hidden) / variance
        else:
            precision = 1.0 / variance
        log_gain = np.empty(self.rounds.n_rows)
        log_gains(*self._rows, precision, self._model, self._drift, self._variance, log_gain)
        variance *= gain
        del gain, precision
        if self.params.skewed:
            self._update(smooth)
        start = self.params.mu_init
        smooth += start
        return Smoothed(
            self._perf + start, smooth, np.sqrt(variance, out=variance),
            self._image + start, np.sqrt(self._cavity_variance), log_gain,
        )  # fmt: skip

    def estimate(self, estimated: Container[str] = ESTIMATED) -> Smoothing:
        """Hyperparameters that explain the performances of the last sweep better; see :func:`.estimation.estimate`.

        Their noise is normal.

        Raises ValueError: the rounds have teams, or are all too small.
        """
        if self.rounds.teams is not None:
            raise ValueError("hyperparameters cannot be estimated from contests of teams")
        params, sizes = self.params, np.diff(self.rounds.offsets)
        evidence = Evidence(
            sizes, self._rows, self._model, self._noise.weight, self._perf, params.practice_rounds, params.sigma_init,
            self._map, self._drift.resets,
        )  # fmt: skip
        return estimate(params.with_normal_noise(), evidence, estimated)

    def _filter(self) -> None:
        rounds, params = self.rounds, self.params
        variance = np.empty(rounds.n_rows) if self._ranked else self._cavity_variance
        failed = filter_rounds(
            rounds.columns, self._noise, rounds.perf_ceiling - params.mu_init, params.tie_mode == "split",
            self._n_players, self._model, self._drift, params.law, self._variance,
            Skills(self._mean, variance), self._perf,
        )  # fmt: skip
        _check(rounds, failed)

    def _smooth(self, perf: Floats, mean: Floats, shift: Floats | None = None) -> None:
        """Write the cavity means from performances; with ``shift`` add their change from common shifts of rounds."""
        starts, n = self._rows.starts, self.rounds.n_rows
        shifts = np.empty(0) if shift is None else shift
        cavities = Skills(mean, self._removed)

        def work(first: int, last: int) -> None:  # players whose rows begin in a range of rows
            start, stop = np.searchsorted(starts[:-1], (first, last))
            failed = smooth_players(
                start, stop, self._rows, self._model, self._weights, self._drift, self.params.law, self._variance,
                self._ranked, shifts, perf, cavities,
            )  # fmt: skip
            if failed >= 0:
                raise ConvergenceError("no skills found", int(self._rows.order[starts[failed]]))

        self._map(work, n)

    def _settle(self, hidden: Floats) -> Floats:
        """The variances of the cavities if places hide a share of performances, one of each round."""
        sizes, (members, weights) = np.diff(self.rounds.offsets), self._weights
        given = weights if members else np.repeat(weights, sizes)
        rows = np.repeat(hidden, sizes), np.repeat(self._model.spread, sizes)
        return settle(self._cavities, lambda variance: given, np.zeros(self.rounds.n_rows), *rows)[1]

    def _cavities(self, weights: Floats) -> Floats:
        """The variances of the cavities if the performance of each row has a weight; results do not matter."""
        starts, n = self._rows.starts, self.rounds.n_rows
        cavities, perf, law = Skills(np.empty(n), np.empty(n)), np.zeros(n), Law(1.0, 1.0, True)
        shown = ShownWeights(True, weights)

        def work(first: int, last: int) -> None:  # players whose rows begin in a range of rows
            start, stop = np.searchsorted(starts[:-1], (first, last))
            smooth_players(
                start, stop, self._rows, self._model, shown, self._drift, law, self._variance, False, np.empty(0), perf,
                cavities,
            )  # fmt: skip

        self._map(work, n)
        return cavities.variance

    def _noises(self) -> Floats:
        """The variance of the noise of each performance."""
        members, weights = self._weights
        sizes = np.diff(self.rounds.offsets)
        if members:
            return np.repeat(self._model.spread, sizes) / weights
        return np.repeat(self._noise.variance, sizes)

    def _update(self, smooth: Floats) -> None:
        """Write the smoothed means of skewed performances; in one thread, since the engine may be closed."""
        (members, weights), offsets, share = self._weights, self.rounds.offsets, self._model.share
        if members:  # each row has a law of its own
            offsets, share = np.arange(len(weights) + 1), np.repeat(share, np.diff(offsets))
        failed = update_means(
            0, len(weights), offsets, weights, share, self.params.law, Skills(self._image, self._removed),
            self._perf, smooth,
        )  # fmt: skip
        if failed >= 0:
            raise ConvergenceError("no smoothed skill found", int(offsets[failed]))

    def _moves(self, image: Floats) -> tuple[Floats, Floats]:
        mean_move, spread = np.empty(len(self.rounds)), np.empty(len(self.rounds))

        def work(start: int, stop: int) -> None:
            measure_moves(start, stop, self.rounds.offsets, self._mean, image, mean_move, spread)

        self._map(work, len(self.rounds), mean_move, spread)
        return mean_move, spread


def solve_performances(
    params: Smoothing, rounds: Rounds, map: Map, mean: Floats, variance: Floats, perf: Floats
) -> None:
    """Write the performances of all rounds against the beliefs of their participants, relative to ``mu_init``.

    Raises ConvergenceError: a performance was not found; names the first row of the round.
    """
    if rounds.teams is not None:
        solve_teams(params, rounds, map, mean, variance, perf)
        return
    starts, ceiling, split = rounds.offsets[:-1], rounds.perf_ceiling - params.mu_init, params.tie_mode == "split"
    of_rounds, strength = noise(params, rounds), rounds.strengths(mean)

    def work(first: int, last: int) -> None:  # rounds that begin in a range of rows
        start, stop = np.searchsorted(starts, (first, last))
        failed = solve_rounds(
            start, stop, rounds.offsets, rounds.lo, of_rounds, ceiling, split, strength, variance, perf
        )
        _check(rounds, failed)

    map(work, rounds.n_rows)
    if len(rounds.advantage):
        perf -= rounds.advantage


def _check_advantages(rounds: Rounds) -> None:
    """Raise ``ValueError`` if a round with advantages has teams or a ceiling."""
    mask = rounds.with_advantages
    if (mask & (rounds.of_teams | np.isfinite(rounds.perf_ceiling))).any():
        raise ValueError("a round with advantages must have neither teams nor a performance ceiling")


def _check(rounds: Rounds, failed: int) -> None:
    if failed >= 0:
        raise ConvergenceError("no performance found", int(rounds.offsets[failed]))
