"""A rated period of one player explained: each game with the expected score of the table, K with its tier, the sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels.core.standings import Ints
from ranklake.rating_kernels.systems.federations.account import PeriodAccount, rate_with_account
from ranklake.storage import LakeError

from ...events.shown import apply_to_one, resets_of
from ...rating.player_state import state_of_player, with_state
from ...results.display import Display
from ...results.rated_rounds import RatedRounds

_COLUMNS = ("round_index", "player", "lo", "mu_prior", "mu")


@dataclass(frozen=True, slots=True)
class ExplainedGame:
    """One game of a period.

    ``opponent_rating``: None for an unrated opponent; the game then does not count.
    ``lead``, ``counted_lead``, ``expected``: the player's rating less the opponent's; as what the table takes it; the
    expected score by the table. None unless both are rated.
    """

    opponent: str
    opponent_rating: int | None
    score: float
    lead: int | None
    counted_lead: int | None
    expected: float | None


@dataclass(frozen=True, slots=True)
class PooledPeriod:
    """Games of an unrated player in one month: their number, the points, and the sum of the opponents' ratings."""

    month: str
    games: int
    score: float
    opponents: int


@dataclass(frozen=True, slots=True)
class FirstRatingSteps:
    """What a first rating follows from: games, points and mean opponent with two draws against 1800, the share of
    points in hundredths, its lead by the table, and the rating before its bounds.
    """

    games: int
    score: float
    mean: float
    share: float
    lead: int
    computed: int


@dataclass(frozen=True, slots=True)
class PeriodExplanation:
    """How one period changed the official rating of one player.

    ``rating_before``, ``rating``: None for unrated.
    ``n_games``, ``score``: games against rated opponents, and the points in them.
    ``expected``, ``k_of_tier``, ``tier``, ``k``, ``exact_change``: points by the table; K of the tier, who is in it,
    and K after the bound for many games; K times the points above the expected ones. None for an unrated player.
    ``change``: rounded; a rating that it takes below 1400 is none. None for an unrated player.
    ``performance``: by the table; None without games that count.
    ``pool``, ``first``: of an unrated player.
    """

    handle: str
    contest_id: str
    name: str | None
    round_index: int
    time_seconds: int
    rating_before: int | None
    rating: int | None
    games: list[ExplainedGame]
    n_games: int
    score: float
    expected: float | None
    k_of_tier: int | None
    tier: str | None
    k: int | None
    exact_change: float | None
    change: int | None
    performance: int | None
    pool: list[PooledPeriod]
    first: FirstRatingSteps | None

    def to_json(self) -> dict[str, Any]:
        """The attributes as a JSON object."""
        return asdict(self)


def explain_period(
    rounds: RatedRounds, display: Display, handle: str, player: int, index: int, contest_id: str
) -> PeriodExplanation:
    """Explain the period of a player in round ``index`` of a run that rates whole periods.

    Raises LakeError: the stored ratings do not follow from the data set as it is now.
    """
    for period in _periods(rounds, display, player, index):  # the last one is the wanted one
        account, opponent = period.account, period.opponent
        if (account.before, account.rating) != (period.before, period.after):
            where = f"the ratings of {handle!r} in round {period.round_index} of run {rounds.run.name}"
            raise LakeError(
                f"{where} do not follow from data set {rounds.dataset.name} as it is now; "
                f"`ranklake rate --run {rounds.run.name}` brings the run up to date"
            )
    names = rounds.handles_of(opponent).to_pylist()
    name = rounds.contests_table.column("name")[index].as_py()
    return PeriodExplanation(
        handle, contest_id, name, index, int(rounds.ends[index]), **_facts_of_rating(account),
        games=list(_games(account, names)), **_facts_of_pool(account),
    )  # fmt: skip


def _facts_of_rating(account: PeriodAccount) -> dict[str, Any]:
    """What a rated player's change follows from."""
    rated, tier = account.before > 0.0, account.tier
    return {
        "rating_before": _rating(account.before),
        "rating": _rating(account.rating),
        "n_games": account.n,
        "score": account.score,
        "expected": account.expected / 100 if rated else None,
        "k_of_tier": tier.k if rated else None,
        "tier": tier.rule if rated else None,
        "k": account.k if rated else None,
        "exact_change": account.k * account.surplus / 100 if rated else None,
        "change": account.change if rated else None,
        "performance": None if np.isnan(account.performance) else int(account.performance),
    }


def _facts_of_pool(account: PeriodAccount) -> dict[str, Any]:
    """What an unrated player's first rating follows from."""
    pool = [
        PooledPeriod(str(np.datetime64(month, "M")), games, halves / 2, opponents)
        for month, games, halves, opponents in account.pool
    ]
    if (first := account.first) is None:
        return {"pool": pool, "first": None}
    points, mean = first.half_points / 2, first.opponents / first.games
    steps = FirstRatingSteps(first.games, points, mean, first.score / 100, first.lead, first.computed)
    return {"pool": pool, "first": steps}


def _games(account: PeriodAccount, opponents: Sequence[str]) -> Iterator[ExplainedGame]:
    games = account.games
    both = games.counts & (account.before > 0.0)
    columns = (games.opponent, games.score, games.lead, games.counted, games.expected, both)
    for opponent, rating, score, *rated, counts in zip(
        opponents, *(column.tolist() for column in columns), strict=True
    ):
        lead, counted, expected = rated if counts else (None, None, None)
        yield ExplainedGame(
            opponent, _rating(rating), score, lead, counted, None if expected is None else expected / 100
        )


def _rating(value: float) -> int | None:
    """A rating; None for unrated."""
    return int(value) if value > 0.0 else None


class _Period(NamedTuple):
    """A period of a player computed again, the opponents, and the ratings that are stored."""

    round_index: int
    account: PeriodAccount
    opponent: Ints
    before: float
    after: float


def _periods(rounds: RatedRounds, display: Display, player: int, last: int) -> Iterator[_Period]:
    """The periods of a player up to round ``last``; each needs the ratings of the opponents in it, and no others."""
    system, params = display.system, display.params
    me = np.zeros(1, dtype=np.int64)
    own = state_of_player(system.name, rounds.dataset, player)
    belief = with_state(system.newcomers(params, 1).columns(), own)
    resets, last_round, latest = rounds.known_resets(display), -1, int(np.iinfo(np.int64).min)
    for _, table in rounds.walk(0, last + 1, _COLUMNS):
        columns = {name: table.column(name).to_numpy() for name in _COLUMNS}
        mine = np.flatnonzero(columns["player"] == player)  # the two rows of a game are adjacent
        for rows in np.split(mine, np.flatnonzero(np.diff(columns["round_index"][mine])) + 1) if len(mine) else ():
            beside, index = rows ^ 1, int(columns["round_index"][rows[0]])
            store = system.newcomers(params, 1 + len(rows))
            store.put(me, belief)
            apply_to_one(system, params, store, resets_of(resets, player, last_round, index, latest))
            last_round, latest = index, max(latest, int(rounds.ends[index]))
            store.mu[1:] = columns["mu_prior"][beside]
            score = 0.5 + 0.5 * np.sign(columns["lo"][beside] - columns["lo"][rows])
            others = np.arange(1, 1 + len(rows))
            account = rate_with_account(params, store, 0, others, score, int(rounds.ends[index]))
            belief = store.take(me)
            before, after = (float(columns[name][rows[0]]) for name in ("mu_prior", "mu"))
            yield _Period(index, account, columns["player"][beside], before, after)
