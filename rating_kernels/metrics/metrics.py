"""How well ratings before a round predicted its places.

Sources: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), section 6: pair
inversion, rank deviation, the filters. "An Elo-based rating system for TopCoder SRM": the log2 rank error. Kendall's
tau-b, Spearman's rho and cross-entropy as usual. First the rows that count are chosen and their places closed up
(:func:`keep`), then every one is scored against the others (:func:`score`); a round costs O(n log n).

Means are per participation: a round counts with the number of rows kept. Equal ratings predict a pair of places either
way as the paper's engine has it, which rewards coarse ratings: rounding them to integers wins 0.06 points of pair
inversion on Codeforces. ``pair_inversion_equal_half`` gives such a pair half a point and is neutral. Likewise a stable
sort leaves equal ratings in the order of the standings, which favours the prediction of rank deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.jit import exact, inner_exact
from ..core.standings import Floats, Ints, Longs
from .lattice import sum_opponents

__all__ = ["FILTERS", "HIGHER_IS_BETTER", "PER_ROW", "Filter", "Kept", "Scores", "keep", "score"]

PER_ROW = ("pair_inversion", "pair_inversion_equal_half", "rank_deviation", "log2_rank_error", "cross_entropy")
HIGHER_IS_BETTER = frozenset({"pair_inversion", "pair_inversion_equal_half", "kendall_tau_b", "spearman_rho"})
SCALE = 400.0  # rating points by which ten to one is predicted


@dataclass(frozen=True, slots=True)
class Filter:
    """Whose places are to be predicted.

    Attributes
    ----------
    name : str
        What it is called.
    least : int
        Rounds rated before; 0 takes newcomers, too, at the rating they begin with.
    top : int or None
        Of these, only places before this one; a tie group that straddles it is kept whole.
    """

    name: str
    least: int = 1
    top: int | None = None


FILTERS = {one.name: one for one in (Filter("everyone"), Filter("experienced", 5), Filter("top100", top=100))}


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows that count of consecutive rounds; a round with fewer than two, or in which all tie, has none.

    Attributes
    ----------
    offsets : int64[r + 1]
        Round ``i`` owns the rows ``offsets[i]:offsets[i + 1]``; their number is its weight.
    rows : int64[n]
        Which of the given rows they are.
    lo, hi : int32[n]
        Places among those kept.
    """

    offsets: Longs
    rows: Longs
    lo: Ints
    hi: Ints

    @property
    def weight(self) -> Longs:
        """Rows of each round."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Scores:
    """What :func:`score` finds; one entry a row kept, but the last two, one a round (NaN where there is no variation).

    Attributes
    ----------
    pair_inversion, pair_inversion_equal_half, rank_deviation : float64[n]
        Percent: opponents predicted correctly; the same, equal ratings counting half; places amiss, of those there are.
    log2_performance : float64[n]
        log2 of the expected over the actual rank; the log2 rank error is its absolute value.
    cross_entropy : float64[n]
        Bits a pair, over a player's opponents.
    kendall_tau_b, spearman_rho : float64[r]
        Between the order of ratings and places.
    """

    pair_inversion: Floats
    pair_inversion_equal_half: Floats
    rank_deviation: Floats
    log2_performance: Floats
    cross_entropy: Floats
    kendall_tau_b: Floats
    spearman_rho: Floats

    @property
    def log2_rank_error(self) -> Floats:
        """How far off the rank was, in doublings."""
        return np.abs(self.log2_performance)


def keep(offsets: npt.NDArray[np.integer], lo: Ints, counts: npt.NDArray[np.bool_], top: int | None = None) -> Kept:
    """Choose rows, and close their places up.

    Parameters
    ----------
    offsets, lo
        Rounds as in :class:`.Rounds`.
    counts : bool[n]
        Rows to be kept.
    top
        Of these, only the first places; see :class:`Filter`.
    """
    rows, ends = np.empty(len(lo), np.int64), np.zeros(len(offsets), np.int64)
    kept_lo, kept_hi = np.empty(len(lo), np.int32), np.empty(len(lo), np.int32)
    most = np.iinfo(np.int64).max if top is None else top
    _keep(np.asarray(offsets, np.int64), lo, counts, most, rows, kept_lo, kept_hi, ends)
    n = ends[-1]
    return Kept(ends, rows[:n], kept_lo[:n], kept_hi[:n])


def score(kept: Kept, mu: Floats, scale: float = SCALE, *, places: bool = True, probabilities: bool = True) -> Scores:
    """Score ratings against places.

    Parameters
    ----------
    mu : float64[n]
        Rating of each row kept, before the round.
    scale
        Of expected ranks and cross-entropy: a difference of so many points is ten to one.
    places, probabilities
        Whether to compute what compares orders, and what compares expected ranks and win probabilities; NaN if not.

    Raises
    ------
    ValueError
        ``mu`` is no finite number, or not one a row kept.
    """
    if len(mu) != len(kept.rows):
        raise ValueError(f"mu must have one entry a row kept, {len(kept.rows)}, got {len(mu)}")
    if len(mu) and not np.isfinite(mu).all():
        raise ValueError(f"ratings must be finite to predict anything, got {mu[~np.isfinite(mu)][0]}")
    n, r = len(mu), len(kept.offsets) - 1
    inversion, half, deviation = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    tau, rho = np.full(r, np.nan), np.full(r, np.nan)
    if places:
        _score_places(kept.offsets, kept.lo, kept.hi, mu, inversion, half, deviation, tau, rho)
    performance, entropy = np.full(n, np.nan), np.full(n, np.nan)
    if probabilities:
        _score_probabilities(kept.offsets, kept.lo, kept.hi, mu, math.log(10.0) / scale, performance, entropy)
    return Scores(inversion, half, deviation, performance, entropy, tau, rho)


@exact
def _keep(offsets, lo, counts, top, rows, kept_lo, kept_hi, ends):
    done = 0
    for r in range(len(offsets) - 1):
        begin, place = done, -1
        for i in range(offsets[r], offsets[r + 1]):
            if counts[i]:
                if place < 0 or lo[i] != lo[rows[done - 1]]:
                    place = done - begin
                if place >= top:
                    break
                rows[done], kept_lo[done] = i, place
                done += 1
        if place <= 0 or kept_lo[done - 1] == 0:  # nobody, or nobody told apart
            done = begin
        last = done - 1
        for i in range(done - 1, begin - 1, -1):
            if kept_lo[i] != kept_lo[last]:
                last = i
            kept_hi[i] = last - begin
        ends[r + 1] = done


@exact
def _score_places(offsets, lo, hi, mu, inversion, half, deviation, tau, rho):
    for r in range(len(offsets) - 1):
        a, b = offsets[r], offsets[r + 1]
        tau[r], rho[r] = math.nan, math.nan
        if b > a:
            tau[r], rho[r] = _score_round(
                lo[a:b], hi[a:b], mu[a:b], inversion[a:b], half[a:b], deviation[a:b]
            )  # fmt: skip


@inner_exact
def _score_round(lo, hi, mu, inversion, half, deviation):
    """Compare the order of ratings with the places of one round; gives tau and rho."""
    n = len(mu)
    order = np.argsort(-mu, kind="mergesort")  # stable
    # level 1 has the highest rating; ``higher`` rows are above a level, ``alike`` on it
    level, higher, alike, levels = np.empty(n, np.int64), np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64), 0
    for position in range(n):
        i = order[position]
        if position == 0 or mu[i] < mu[order[position - 1]]:
            levels += 1
            higher[levels] = position
        level[i] = levels
        alike[levels] += 1
        off = position - min(max(position, lo[i]), hi[i])
        deviation[i] = 100.0 * abs(off) / (n - 1)

    tree, seen = np.zeros(levels + 1, np.int64), np.zeros(levels + 1, np.int64)  # rows placed so far, by level
    wrong_pairs, equal_pairs, tied_pairs, first = 0, 0, 0, 0
    while first < n:
        stop = hi[first] + 1
        tied_pairs += (stop - first) * (stop - first - 1)
        for i in range(first, stop):  # better places with a lower rating
            inversion[i] = first - _up_to(tree, level[i])
            half[i] = seen[level[i]]
        for i in range(first, stop):
            seen[level[i]] += 1
            at = level[i]
            while at <= levels:
                tree[at] += 1
                at += at & -at
        for i in range(first, stop):
            one = level[i]
            wrong = inversion[i] + higher[one] - _up_to(tree, one - 1)  # and worse places with a higher one
            equal = alike[one] - (seen[one] - half[i])  # of another place
            wrong_pairs += wrong
            equal_pairs += equal
            inversion[i] = 100.0 * (n - 1 - wrong) / (n - 1)
            half[i] = inversion[i] - 50.0 * equal / (n - 1)
        first = stop

    alike_pairs, covariance, spread_places, spread_ratings = 0, 0.0, 0.0, 0.0
    for one in range(1, levels + 1):
        alike_pairs += alike[one] * (alike[one] - 1)
    for i in range(n):
        place = lo[i] + hi[i] - (n - 1.0)
        rank = 2.0 * higher[level[i]] + alike[level[i]] - n
        covariance += place * rank
        spread_places += place * place
        spread_ratings += rank * rank
    if levels == 1:
        return math.nan, math.nan
    pairs = float(n) * (n - 1.0)
    untied, unlike = pairs - tied_pairs, pairs - alike_pairs
    tau = (untied - equal_pairs - 2.0 * wrong_pairs) / (math.sqrt(untied) * math.sqrt(unlike))
    return tau, covariance / (math.sqrt(spread_places) * math.sqrt(spread_ratings))


@inner_exact
def _up_to(tree, level):
    """Rows in a Fenwick tree up to a level."""
    total = 0
    while level > 0:
        total += tree[level]
        level -= level & -level
    return total


@exact
def _score_probabilities(offsets, lo, hi, mu, rate, performance, entropy):
    longest = 0
    for r in range(len(offsets) - 1):
        longest = max(longest, offsets[r + 1] - offsets[r])
    x, logistic, log_cosh = np.empty(longest), np.empty(longest), np.empty(longest)
    for r in range(len(offsets) - 1):
        a, n = offsets[r], offsets[r + 1] - offsets[r]
        if n == 0:
            continue
        total = 0.0
        middle = mu[a]
        for i in range(n):
            x[i] = rate * (mu[a + i] - middle)
            total += x[i]
        sum_opponents(x[:n], lo[a : a + n], hi[a : a + n], logistic[:n], log_cosh[:n])
        first, better = 0, 0.0  # ``better``: the sum of x over better places
        while first < n:
            stop = hi[a + first] + 1
            tied = 0.0
            for i in range(first, stop):
                tied += x[i]
            worse, ties = total - better - tied, 0.5 * (stop - 1 - first)
            for i in range(first, stop):
                expected = 1.0 + max(logistic[i], 0.0) + ties
                performance[a + i] = math.log2(expected / (1.0 + first + ties))
                # ln(1 + e^d) = ln(2 cosh(d / 2)) + d / 2, and the second part of all pairs is a sum of x
                odd = 0.5 * (worse - (n - stop) * x[i] + first * x[i] - better)
                entropy[a + i] = (log_cosh[i] + odd) / (math.log(2.0) * (n - 1))
            better += tied
            first = stop
