"""Measures of how well ratings before a round predicted its places.

Sources: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), section 6: pair
inversion, rank deviation, the filters. "An Elo-based rating system for TopCoder SRM": the log2 rank error. Kendall's
tau-b, Spearman's rho and cross-entropy as usual. First the relevant rows are selected and their places renumbered
(:func:`keep`), then each row is scored against the others (:func:`score`); a round costs O(n log n).

Means are per participation: a round has the number of its selected rows as weight. As in the paper's engine, a pair of
equal ratings counts as predicted correctly, which rewards coarse ratings: rounding to integers gains 0.06 points of
pair inversion on Codeforces. ``pair_inversion_equal_half`` counts such a pair as half and is neutral. Likewise a stable
sort keeps equal ratings in the order of the standings, which improves rank deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.jit import exact, inner_exact
from ..core.standings import Floats, Ints, Longs
from .lattice import sum_opponents

PER_ROW = ("pair_inversion", "pair_inversion_equal_half", "rank_deviation", "log2_rank_error", "cross_entropy")
LAW_METRICS = ("rank_information", "rank_likelihood")  # of the prior laws of performances
HIGHER_IS_BETTER = frozenset(
    {"pair_inversion", "pair_inversion_equal_half", "kendall_tau_b", "spearman_rho", *LAW_METRICS}
)
SCALE = 400.0  # rating points that predict odds of ten to one


@dataclass(frozen=True, slots=True)
class Filter:
    """Participations whose places are predicted.

    ``name``: name of the filter.
    ``least``: minimum number of rounds rated before; 0 includes newcomers at their initial rating.
    ``top``: of these, only places before this one; a tie group across the limit is included completely.
    """

    name: str
    least: int = 1
    top: int | None = None


FILTERS = {filter.name: filter for filter in (Filter("everyone"), Filter("experienced", 5), Filter("top100", top=100))}


@dataclass(frozen=True, slots=True)
class Kept:
    """The selected rows of consecutive rounds; a round with fewer than two rows has none, nor one in which all tie.

    ``offsets`` (int64[r + 1]): round ``i`` has the rows ``offsets[i]:offsets[i + 1]``; their number is its weight.
    ``rows`` (int64[n]): indices of the selected rows.
    ``lo``, ``hi`` (int32[n]): places among the selected rows.
    """

    offsets: Longs
    rows: Longs
    lo: Ints
    hi: Ints

    @property
    def weight(self) -> Longs:
        """Number of rows of each round."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Scores:
    """Results of :func:`score`: one entry a row; in the last two one a round (NaN without variation).

    ``pair_inversion``, ``pair_inversion_equal_half``, ``rank_deviation`` (float64[n]): percent: opponents predicted
    correctly; the same with equal ratings as half; distance between predicted and actual place, of the largest
    possible.
    ``log2_performance`` (float64[n]): log2 of the expected over the actual rank; the log2 rank error is its absolute
    value.
    ``cross_entropy`` (float64[n]): bits a pair, over a player's opponents.
    ``kendall_tau_b``, ``spearman_rho`` (float64[r]): between the order of ratings and places.
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
        """Error of the rank, in doublings."""
        return np.abs(self.log2_performance)


def keep(
    offsets: npt.NDArray[np.integer],
    lo: Ints,
    counts: npt.NDArray[np.bool_],
    top: int | None = None,
    *,
    all_tied: bool = False,
) -> Kept:
    """Select rows and renumber their places.

    ``offsets``, ``lo``: rounds as in :class:`.Rounds`.
    ``counts`` (bool[n]): mask of the rows to select.
    ``top``: of these, only the first places; see :class:`Filter`.
    ``all_tied``: whether a round in which all selected rows tie keeps them.
    """
    rows, ends = np.empty(len(lo), np.int64), np.zeros(len(offsets), np.int64)
    kept_lo, kept_hi = np.empty(len(lo), np.int32), np.empty(len(lo), np.int32)
    most = np.iinfo(np.int64).max if top is None else top
    _keep(np.asarray(offsets, np.int64), lo, counts, most, all_tied, rows, kept_lo, kept_hi, ends)
    n = ends[-1]
    return Kept(ends, rows[:n], kept_lo[:n], kept_hi[:n])


def score(kept: Kept, mu: Floats, scale: float = SCALE, *, places: bool = True, probabilities: bool = True) -> Scores:
    """Score ratings against places.

    ``mu`` (float64[n]): rating of each row kept, before the round.
    ``scale``: scale of expected ranks and cross-entropy: this difference in points means odds of ten to one.
    ``places``, ``probabilities``: whether to compute the measures of order, and those of expected ranks and win
    probabilities; NaN if not.
    Raises ValueError: ``mu`` is not finite or does not have one entry for each selected row.
    """
    if len(mu) != len(kept.rows):
        raise ValueError(f"mu must have one entry for each selected row, {len(kept.rows)}, got {len(mu)}")
    if len(mu) and not np.isfinite(mu).all():
        raise ValueError(f"ratings must be finite, got {mu[~np.isfinite(mu)][0]}")
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
def _keep(offsets, lo, counts, top, all_tied, rows, kept_lo, kept_hi, ends):
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
        if done - begin < 2 or (kept_lo[done - 1] == 0 and not all_tied):
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
    """Compare the order of ratings with the places of one round; returns tau and rho."""
    n = len(mu)
    order = np.argsort(-mu, kind="mergesort")  # stable
    # level 1 has the highest rating; ``higher`` rows are above a level, ``equal_rows`` on it
    level, higher, equal_rows, levels = np.empty(n, np.int64), np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64), 0
    for position in range(n):
        i = order[position]
        if position == 0 or mu[i] < mu[order[position - 1]]:
            levels += 1
            higher[levels] = position
        level[i] = levels
        equal_rows[levels] += 1
        off = position - min(max(position, lo[i]), hi[i])
        deviation[i] = 100.0 * abs(off) / (n - 1)

    tree, seen = np.zeros(levels + 1, np.int64), np.zeros(levels + 1, np.int64)  # rows processed so far, by level
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
            wrong = inversion[i] + higher[one] - _up_to(tree, one - 1)  # and worse places with a higher rating
            equal = equal_rows[one] - (seen[one] - half[i])  # of another place
            wrong_pairs += wrong
            equal_pairs += equal
            inversion[i] = 100.0 * (n - 1 - wrong) / (n - 1)
            half[i] = inversion[i] - 50.0 * equal / (n - 1)
        first = stop

    equal_rating_pairs, covariance, spread_places, spread_ratings = 0, 0.0, 0.0, 0.0
    for one in range(1, levels + 1):
        equal_rating_pairs += equal_rows[one] * (equal_rows[one] - 1)
    for i in range(n):
        place = lo[i] + hi[i] - (n - 1.0)
        rank = 2.0 * higher[level[i]] + equal_rows[level[i]] - n
        covariance += place * rank
        spread_places += place * place
        spread_ratings += rank * rank
    if levels == 1:
        return math.nan, math.nan
    pairs = float(n) * (n - 1.0)
    untied, distinct = pairs - tied_pairs, pairs - equal_rating_pairs
    tau = (untied - equal_pairs - 2.0 * wrong_pairs) / (math.sqrt(untied) * math.sqrt(distinct))
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
