"""The place that each participant of a round needs for a rating: the worst place after which the rating is reached.

The participant finishes alone at the place, and all others keep their order and their ties. A member of a team finishes
with its team, and the place is that of the team. In rounds of up to
:data:`EXACT` participants each such round is rated, many at a time, and the place is found by bisection: in one round,
no system rates a better place lower. In larger rounds of teams the place is unknown, and in others it is found for

    elo-mmr, elo-mmx, elo-mms, elo-r    from the performances of the round: the participant gets the performance of
                                        those at the place, which differs from the own one by one of n terms
    codeforces                          from the rule, with the correction against inflation of the given standings
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.rating_kernels.core.ragged import Ragged, Shared

from ..engines.threads import Threads
from ..execution.rater import BeliefColumns, select_beliefs
from ..execution.rounds import rate_rounds
from ..results.display import Display

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

EXACT = 100
UNKNOWN = -1
_BY_PERFORMANCE = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r")  # a performance depends on the place and the field only
_ROWS = 1 << 16  # participations of hypothetical rounds in memory at a time
_BISECTED = 8  # every such step of a search halves the positions, so that the number of steps is logarithmic


def places_needed(
    display: Display,
    beliefs: BeliefColumns,
    round: Rounds,
    outcome: Outcome,
    rows: Longs,
    goals: Floats,
    engine: Threads,
    exact: bool = False,
) -> Longs:
    """The worst place, from 1, after which each of some participants has a display rating; 0 if no place suffices.

    ``beliefs``: about all participants, row ``i`` about player ``i`` of the round; not changed.
    ``outcome``: of the round.
    ``rows``, ``goals``: participants, and the display rating of each.
    ``exact``: rate the hypothetical rounds, however large the round is.
    Returns int64[rows]: :data:`UNKNOWN` in larger rounds of other systems, and of teams.
    """
    if exact or round.n_rows <= EXACT:
        return _by_rounds(display, beliefs, round, rows, goals, engine)
    if round.teams is not None:
        return np.full(len(rows), UNKNOWN)
    if display.system.name in _BY_PERFORMANCE:
        return _by_performance(display, beliefs, round, outcome, rows, goals)
    if display.system.name == "codeforces":
        from .codeforces_places import codeforces_places  # with the kernels of that system

        return codeforces_places(display, outcome, rows, goals)
    return np.full(len(rows), UNKNOWN)


def _by_rounds(
    display: Display, beliefs: BeliefColumns, round: Rounds, rows: Longs, goals: Floats, engine: Threads
) -> Longs:
    """Bisection by rating a round for each participant and step."""
    n, system, params = round.n_rows, display.system, display.params
    teams = Ragged.from_lengths(np.ones(n, np.int64), np.ones(n)) if round.teams is None else round.teams
    first, group = np.unique(round.lo[teams.offsets[:-1]], return_inverse=True)
    n_teams, team = len(group), np.repeat(np.arange(len(group)), teams.lengths)[rows]
    n_before = np.asarray(beliefs["n_rounds"])[rows]
    coupled = any(isinstance(column, Shared) for column in beliefs.values())  # each round would change the next one

    def excess(at: Longs, before: Longs) -> Floats:
        """The rating above the goal of some of the rows, alone before the others of a tie group."""
        above = np.empty(len(at))
        step = 1 if coupled else max(1, _ROWS // n)
        for start in range(0, len(at), step):
            some = at[start : start + step]
            m = len(some)
            key = np.tile(2 * group + 1, (m, 1))
            key[np.arange(m), team[some]] = 2 * before[start : start + step]
            order = np.argsort(key, axis=1, kind="stable")
            moved = _moved(round, teams, np.take_along_axis(key, order, 1), order)
            store = system.newcomers(params, m * n)
            store.restore(select_beliefs(system, params, beliefs, np.tile(np.arange(n), m)))
            rated = rate_rounds(system, params, store, moved, engine)
            own = np.flatnonzero(moved.player == np.repeat(rows[some] + n * np.arange(m), n))
            rating = display.rating(rated.mu[own], rated.sigma[own], n_before[some] + np.int32(1))
            above[start : start + step] = rating - goals[some]
        return above

    before = _last_sufficient(len(rows), len(first), excess, -np.arange(len(first) + 1.0))
    ahead = np.append(first, n_teams)[np.maximum(before, 0)]
    place = 1 + ahead - (group[team] < before)  # without the participant's own old place
    return np.where(before < 0, 0, place)


def _moved(round: Rounds, teams: Ragged, key: Longs, order: Longs) -> Rounds:
    """One round for each row of ``order``, of teams, on copies of all participants; equal keys tie."""
    m, k = order.shape
    n, moved = round.n_rows, teams.take(order.ravel())
    opens = np.ones((m, k), dtype=np.bool_)
    opens[:, 1:] = key[:, 1:] != key[:, :-1]
    starts = np.flatnonzero(opens)
    sizes = np.diff(starts, append=m * k)
    lo = np.repeat(starts % k, sizes).astype(np.int32)
    hi = lo + np.repeat(sizes - 1, sizes).astype(np.int32)
    members = np.repeat(teams.offsets[order.ravel()] - moved.offsets[:-1], moved.lengths) + np.arange(m * n)
    return Rounds(
        n * np.arange(m + 1),
        (members + np.repeat(n * np.arange(m), n)).astype(np.int32),
        np.repeat(lo, moved.lengths),
        np.repeat(hi, moved.lengths),
        np.repeat(round.time_seconds, m),
        np.repeat(round.weight, m),
        np.repeat(round.perf_ceiling, m),
        np.repeat(round.event, m),
        precision=np.repeat(round.precision, m),
        teams=None if round.teams is None else moved,
    )


def _by_performance(
    display: Display, beliefs: BeliefColumns, round: Rounds, outcome: Outcome, rows: Longs, goals: Floats
) -> Longs:
    """Bisection with the performances of the round: only the last step is computed again, for all participants."""
    system, params, n = display.system, display.params, round.n_rows
    diffused, prior = system.newcomers(params, n), Outcome.empty(n).prior
    diffused.restore(beliefs)
    system.prior(params, diffused, round, 0, n, prior)
    first = np.unique(round.lo)
    perf = outcome.perf[first]

    def excess(at: Longs, place: Longs) -> Floats:
        row, m = rows[at], len(at)
        store = system.newcomers(params, m)
        store.restore(diffused.take(row))
        one = np.arange(m, dtype=np.int32)
        some = Rounds(
            np.array([0, m]), one, one, one, round.time_seconds, round.weight, round.perf_ceiling, round.event,
            round.participants, precision=round.precision,
        )  # fmt: skip
        store.reserve(one)
        after = Outcome.empty(m)
        after.perf[:] = perf[np.minimum(place, len(perf) - 1)]
        part = type(prior)(prior.mu[row], prior.sigma[row], prior.beta[row], prior.n_before[row])
        nothing: Any = None  # no system of this kind reads the summary in this step
        system.absorb(params, store, some, part, nothing, 0, m, after)
        above: Floats = display.rating(after.mu, after.sigma, prior.n_before[row] + np.int32(1)) - goals[at]
        return above

    own = np.searchsorted(first, round.lo[rows])
    shown = display.rating(outcome.mu[rows], outcome.sigma[rows], outcome.n_before[rows] + np.int32(1))
    place = _last_sufficient(len(rows), len(first) - 1, excess, perf, (own, shown - goals))
    return np.where(place < 0, 0, first[np.maximum(place, 0)] + 1)


def _last_sufficient(
    n: int,
    most: int,
    excess: Callable[[Longs, Longs], Floats],
    level: Floats,
    start: tuple[Longs, Floats] | None = None,
) -> Longs:
    """For each of ``n`` searches the last position from 0 to ``most`` with an excess >= 0; -1 if there is none.

    ``excess``: ``excess(searches, positions)``, not increasing with the position, and smooth in the level.
    ``level`` (float64[most + 1]): the level of each position, not increasing.
    ``start``: a position of each search, and its excess.

    The ends are tried first. Then Chandrupatla's method (Advances in Engineering Software 28, 1997) in the level:
    inverse quadratic interpolation where it is safe, bisection elsewhere.
    """
    good, bad = np.full(n, -1), np.full(n, most + 1)
    x, f = np.full((3, n), np.nan), np.full((3, n), np.nan)  # the last point, that of the other sign, the one before

    def record(searches: Longs, position: Longs, found: Floats) -> None:
        enough = found >= 0.0
        good[searches[enough]], bad[searches[~enough]] = position[enough], position[~enough]
        turned = enough != (f[0, searches] >= 0.0)
        for points, new in ((x, level[position]), (f, found)):
            points[2, searches] = np.where(turned, points[1, searches], points[0, searches])
            points[1, searches] = np.where(turned, points[0, searches], points[1, searches])
            points[0, searches] = new

    if start is not None:
        record(np.arange(n), *start)
    step = 0
    while len(open_searches := np.flatnonzero(bad - good > 1)):
        a, b = good[open_searches], bad[open_searches]
        step += 1
        if step % _BISECTED:
            some = (a >= 0) & (b <= most)
            wanted = _interpolated(x[:, open_searches[some]], f[:, open_searches[some]])
            middle = np.where(a < 0, 0, most)
            guess = np.searchsorted(-level, -wanted, side="right") - 1
            middle[some] = np.clip(guess, a[some] + 1, b[some] - 1)
        else:
            middle = (a + b) // 2
        record(open_searches, middle, excess(open_searches, middle))
    return good


def _interpolated(x: Floats, f: Floats) -> Floats:
    """The next point of Chandrupatla's method: the roots of f, of which each row is one point of all searches."""
    with np.errstate(divide="ignore", invalid="ignore"):  # of searches with two points, or with equal ones
        xi, phi = (x[0] - x[1]) / (x[2] - x[1]), (f[0] - f[1]) / (f[2] - f[1])
        quadratic = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        t = f[0] / (f[1] - f[0]) * f[2] / (f[1] - f[2])
        t += (x[2] - x[0]) / (x[1] - x[0]) * f[0] / (f[2] - f[0]) * f[1] / (f[2] - f[1])
        linear = f[0] / (f[0] - f[1])
    share = np.where(quadratic, t, np.where(np.isnan(x[2]), linear, 0.5))
    root: Floats = x[0] + share * (x[1] - x[0])
    return root
