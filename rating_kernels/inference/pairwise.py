"""Every pair of a round as one game: sums over each player's games, for the Glicko systems.

Source: Glickman, "The Glicko system" (glicko.net/glicko/glicko.pdf), step 2; the same sums are in Glicko-2. A player
with scores S_ij (1, 1/2 or 0) against opponents j and expected scores E_ij has

    surprise    = sum_j g_j (S_ij - E_ij)           E_ij = logistic(q g_j (mu_i - mu_j))
    information = sum_j g_j^2 E_ij (1 - E_ij)       g_j = 1 / sqrt(1 + 3 q^2 sigma_j^2 / pi^2)

where q converts rating points into natural units. In a contest both depend on sums over the whole field at ``mu_i``
(:mod:`.field`, with weight g_j and rate q g_j) and on the weights of players ranked above and below, so a round costs
O(n). The term against oneself is excluded: it is 0 in the first sum and g_i^2 / 4 in the second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact, inner_exact, inner_kernel
from ..core.margins import factor_of_game, factor_of_round, factor_of_rows
from ..core.numerics import C3, exp, exp_in_registers
from ..core.standings import Floats, Ints, Longs
from ..fields.field_sums import field_sums
from .game_performance import GAMES
from .performance import group_starts, weigh_groups

SMALL = 256  # participants up to which all pairs are faster than a table
_MU, _MU_OTHER, _SIGMA, _SIGMA_OTHER, _SCORE = range(5)
_SURPRISE, _SURPRISE_OTHER, _INFORMATION, _INFORMATION_OTHER, _NUMBERS = range(5, 10)


@dataclass(frozen=True, slots=True)
class GameSums:
    """Sums over the games of each participant of a contest.

    ``first`` (int64[groups + 1]): first row of each tie group, and the number of rows.
    ``surprise``, ``information`` (float64[n]): pure numbers. Glicko's 1 / d^2 is q^2 ``information``; Glicko-2's v and
    Delta are 1 / ``information`` and ``surprise`` / ``information``.
    """

    by_row: ClassVar[tuple[str, ...]] = ("surprise", "information")
    first: Longs
    surprise: Floats
    information: Floats


@dataclass(frozen=True, slots=True)
class Period:
    """Sums over the single games of a rating period.

    ``player`` (int32[m]): rows of the store, in order of first appearance.
    ``surprise``, ``information`` (float64[m]): as in :class:`GameSums`.
    """

    player: Ints
    surprise: Floats
    information: Floats


class PeriodGames(NamedTuple):
    """The games of a rating period, one entry a game.

    ``a``, ``b`` (int32): places of the two players in :attr:`Period.player`.
    ``score``: of ``a``, 0 to 1.
    ``lead``: advantage of ``a`` less that of ``b``, rating points; empty for none.
    ``difference``: points of ``a`` less those of ``b``, NaN where unknown; empty for none.
    """

    a: Ints
    b: Ints
    score: Floats
    lead: Floats
    difference: Floats


def pairwise_sums(mu: Floats, sigma: Floats, lo: Ints, q: float, map: Map) -> GameSums:
    """Sums over all pairs of one contest, from the tabulated field.

    ``mu``, ``sigma``: float64[n]: beliefs before the contest, best place first; rating points.
    ``lo``: int32[n]: first place of each row's tie group.
    ``q``: natural units a rating point.
    """
    g = 1.0 / np.sqrt(1.0 + (q / C3 * sigma) ** 2)
    first = group_starts(lo)
    result = GameSums(first, np.empty(len(mu)), np.empty(len(mu)))
    sums = field_sums(mu, q * g, g, map)
    _score(g, q, first, *weigh_groups(g, first), *sums, result.surprise, result.information)
    return result


def gather_games(
    beliefs: Beliefs, a: npt.ArrayLike, b: npt.ArrayLike, score: npt.ArrayLike
) -> tuple[Period, PeriodGames]:
    """The players in order of first appearance, with zero sums, and the games between them.

    Raises ValueError: columns of unequal length, a player without a row, equal players, or a score outside [0, 1];
    names the game.
    """
    one, other = _rows("a", a, len(beliefs)), _rows("b", b, len(beliefs))
    # writable although never written: kernels would be compiled again for read-only arrays
    scores = np.require(score, np.float64, ["C_CONTIGUOUS", "WRITEABLE"])
    if not one.shape == other.shape == scores.shape:
        raise ValueError(f"games need as many a as b and scores, got shapes {one.shape}, {other.shape}, {scores.shape}")
    bad = np.flatnonzero(one == other)
    if len(bad):
        raise ValueError(f"game {bad[0]}: player {one[bad[0]]} plays against oneself")
    bad = np.flatnonzero(~((scores >= 0.0) & (scores <= 1.0)))
    if len(bad):
        raise ValueError(f"game {bad[0]}: score must be between 0 and 1, got {scores[bad[0]]}")
    place = np.zeros(len(beliefs), dtype=np.int32)
    player, one, other = number_players(one, other, place)
    games = PeriodGames(one, other, scores, np.empty(0), np.empty(0))
    return Period(player, np.zeros(len(player)), np.zeros(len(player))), games


def _rows(name: str, given: npt.ArrayLike, n_players: int) -> Ints:
    values = np.asarray(given)
    if values.ndim != 1 or (len(values) and values.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a list of whole numbers, got {values.dtype} of shape {values.shape}")
    bad = np.flatnonzero((values < 0) | (values >= n_players))
    if len(bad):
        raise ValueError(f"game {bad[0]}: {name} must be a row of a store of {n_players} players, got {values[bad[0]]}")
    return np.require(values, np.int32, ["C_CONTIGUOUS", "WRITEABLE"])


@inner_exact
def _certainty(q, sigma):
    """g: weight of a game against an opponent with this sigma; 1 if sigma is 0."""
    spread = q / C3 * sigma
    return 1.0 / math.sqrt(1.0 + spread * spread)


@exact
def _score(g, q, first, over, under, above, below, slope, surprise, information):
    """Turn the field's sums into surprise and information.

    ``over`` and ``under`` are the weights of all players placed above and below a tie group, ``above`` and ``below``
    the expectations of the field. The surprise is the difference of the smaller numbers.
    """
    for group in range(len(over)):
        tied = 0.0
        for i in range(first[group], first[group + 1]):
            tied += g[i]
        for i in range(first[group], first[group + 1]):
            high = above[i] <= below[i]
            surprise[i] = above[i] - over[group] - 0.5 * tied if high else under[group] + 0.5 * tied - below[i]
            information[i] = max(-slope[i] / q - 0.25 * g[i] * g[i], 0.0)


@inner_kernel
def pairwise_sums_directly(begin, end, lo, hi, q, mu, sigma, g, surprise, information):
    """All pairs of the contest in rows ``begin`` to ``end - 1``, term by term; ``g`` has room for one contest."""
    n = end - begin
    for k in range(n):
        g[k] = _certainty(q, sigma[begin + k])
    for k in range(n):
        i = begin + k
        own = g[k]
        g[k] = 0.0  # excludes the term against oneself
        first, last, p = lo[i], hi[i], mu[i]
        surprise_sum = 0.0
        information_sum = 0.0
        for j in range(n):
            e = exp((mu[begin + j] - p) * q * g[j])
            expected = 1.0 / (1.0 + e)
            scored = 0.5 if j >= first else 0.0
            scored = 1.0 if j > last else scored
            surprise_sum += g[j] * (scored - expected)
            information_sum += g[j] * g[j] * (e * expected) * expected
        surprise[i], information[i] = surprise_sum, information_sum
        g[k] = own


@inner_exact
def sum_game(i, score, q, mu, sigma, surprise, information):
    """The sums of one game in rows ``i`` and ``i + 1``, of which the first has any ``score`` from 0 to 1."""
    for me, you, scored in ((i, i + 1, score), (i + 1, i, 1.0 - score)):
        g = _certainty(q, sigma[you])
        e = exp((mu[you] - mu[me]) * q * g)
        expected = 1.0 / (1.0 + e)
        surprise[me] = g * (scored - expected)
        information[me] = g * g * (e * expected) * expected


@inner_exact
def count_games(r, stop, rounds, margin, mu, surprise, information):
    """Let rounds ``r`` to ``stop - 1`` of two count as their margins say; ``mu`` are strengths."""
    for one in range(r, stop):
        m = factor_of_round(one, rounds, margin, mu)
        for i in range(rounds.offsets[one], rounds.offsets[one + 1]):
            surprise[i] *= m
            information[i] *= m


@inner_exact
def count_pairs(begin, end, rounds, q, margin, mu, sigma, g, surprise, information):
    """The sums of :func:`pairwise_sums_directly`, where each pair of a contest counts as its margin says."""
    n, lo = end - begin, rounds.lo
    for k in range(n):
        g[k] = _certainty(q, sigma[begin + k])
        surprise[begin + k], information[begin + k] = 0.0, 0.0
    for a in range(n):
        for b in range(a + 1, n):
            drawn, lead = lo[begin + b] == lo[begin + a], mu[begin + a] - mu[begin + b]
            m = factor_of_rows(margin, rounds.points, begin + a, begin + b, drawn, lead)
            for me, you, scored, ahead in ((a, b, 0.5 if drawn else 1.0, lead), (b, a, 0.5 if drawn else 0.0, -lead)):
                e = exp(-ahead * q * g[you])
                expected = 1.0 / (1.0 + e)
                surprise[begin + me] += m * g[you] * (scored - expected)
                information[begin + me] += m * g[you] * g[you] * (e * expected) * expected


@inner_exact
def sum_each_game(begin, n, lo, score, q, mu, sigma, surprise, information):
    """The sums of each of ``n`` games of two, at most :data:`.game_performance.GAMES`, in rows from ``begin`` on.

    ``score``: of the first row of each game; empty: by the places.
    """
    games = np.ones((_NUMBERS, GAMES))  # complete, and one array: the compiler vectorises without checks
    for k in range(n):
        i = begin + 2 * k
        games[_MU, k], games[_MU_OTHER, k] = mu[i], mu[i + 1]
        games[_SIGMA, k], games[_SIGMA_OTHER, k] = sigma[i], sigma[i + 1]
        games[_SCORE, k] = score[k] if len(score) > 0 else 0.5 if lo[i + 1] == 0 else 1.0
    for k in range(GAMES):
        g, g_other = _certainty(q, games[_SIGMA, k]), _certainty(q, games[_SIGMA_OTHER, k])
        lead = (games[_MU, k] - games[_MU_OTHER, k]) * q
        e, e_other = exp_in_registers(-lead * g_other), exp_in_registers(lead * g)
        expected, expected_other = 1.0 / (1.0 + e), 1.0 / (1.0 + e_other)
        games[_SURPRISE, k] = g_other * (games[_SCORE, k] - expected)
        games[_SURPRISE_OTHER, k] = g * (1.0 - games[_SCORE, k] - expected_other)
        games[_INFORMATION, k] = g_other * g_other * (e * expected) * expected
        games[_INFORMATION_OTHER, k] = g * g * (e_other * expected_other) * expected_other
    for k in range(n):
        i = begin + 2 * k
        surprise[i], surprise[i + 1] = games[_SURPRISE, k], games[_SURPRISE_OTHER, k]
        information[i], information[i + 1] = games[_INFORMATION, k], games[_INFORMATION_OTHER, k]


@exact
def number_players(a, b, place):
    """Players in order of first appearance, and games with these numbers; ``place`` is zero for every row."""
    player = np.empty(min(2 * len(a), len(place)), dtype=np.int32)
    one, other = np.empty_like(a), np.empty_like(b)
    count = 0
    for i in range(len(a)):
        for side, numbered in ((a, one), (b, other)):
            row = side[i]
            if place[row] == 0:
                player[count] = row
                count += 1
                place[row] = count
            numbered[i] = place[row] - 1
    return player[:count].copy(), one, other


@exact
def sum_games(games, q, margin, mu, sigma, surprise, information):
    """Add games of :class:`PeriodGames` between players of the given beliefs to the sums, in order."""
    a, b, score, lead, difference = games
    g = np.empty(len(mu))
    for i in range(len(mu)):
        g[i] = _certainty(q, sigma[i])
    for i in range(len(a)):
        one, other = a[i], b[i]
        ahead = lead[i] if len(lead) > 0 else 0.0
        m = 1.0
        if len(difference) > 0:
            m = factor_of_game(margin, difference[i], score[i], mu[one] - mu[other] + ahead)
        for me, you, scored, more in ((one, other, score[i], ahead), (other, one, 1.0 - score[i], -ahead)):
            e = exp((mu[you] - (mu[me] + more)) * q * g[you])
            expected = 1.0 / (1.0 + e)
            surprise[me] += m * g[you] * (scored - expected)
            information[me] += m * g[you] * g[you] * (e * expected) * expected
