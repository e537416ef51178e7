"""Preview of a contest: each participant's change, expected place and way to the next title, from standings.

The round is rated on a store that holds copies of the participants' beliefs, by the function that rates the rounds of a
run. The ratings are therefore equal to the bit to those of the contest after it is ingested and rated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.rating_kernels.chances.games import Pairings
from ranklake.storage.datasets.rating_limits import in_range
from ranklake.storage.names.lists import join_handles

from ..chances.to_come import GamesToCome, ThreeChances
from ..common.configuration.settings import check_rounds_matter, check_to_come
from ..common.skipping import REASONS, Skipping, count_ignored, ignored_lines
from ..compilation.compile import announce_compilation, compile_kernels
from ..engines.serial import Serial
from ..engines.threads import Threads
from ..execution.outcomes import RoundError, named_error
from ..execution.rater import BeliefColumns, select_beliefs
from ..execution.rounds import check_teams, rate_rounds
from ..execution.team_laws import team_prior
from ..matchmaking.lobby import part_of
from ..results.display import Display
from ..results.rating_format import RatingFormat
from ..results.titles import Titles
from .needed import places_needed
from .places import PlaceModel
from .standings import Standings

_UNKNOWN = ("perf", "mu", "sigma", "rating", "change")  # of an entrant without a place
COLUMNS = (
    "place", "handle", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "rating_before", "rating", "change",
    "expected_place", "next_title", "next_title_chance", "next_title_place", "known", "near",
)  # fmt: skip
GAME = ThreeChances._fields[:3]


@dataclass(frozen=True, slots=True)
class Rules:
    """How a contest is rated and shown; ``skipping`` are the contests that are not rated.

    ``games``: finds out what is known of games between two; None: the contests have more participants.
    """

    display: Display
    titles: Titles
    skipping: Skipping
    games: Callable[[], GamesToCome | None] = lambda: None


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """A contest, as if it were rated.

    ``standings``: the participants, best first, then the entrants without a place.
    ``columns``: by the names of :data:`COLUMNS` without ``handle``, in this order; of a game between two also
    :data:`GAME`, its chances on neutral ground before it. NaN and 0 stand for none. An entrant
    without a place has no performance, posterior and change. In a contest of teams, places are those of teams.
    ``notes``: what to know about the contest: newcomers who are nearly called as a player, columns that the system
    ignores.

    :func:`.newcomers.name_newcomers` adds ``known`` and ``near``.
    """

    standings: Standings
    columns: dict[str, Any]
    format: RatingFormat
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.standings)

    def table(self, joined: bool = False) -> pa.Table:
        """The columns :data:`COLUMNS` in the order of the standings, null for none: ``team`` follows ``handle``, those
        of a game come last.

        ``joined``: the names of ``near`` are one text with commas.
        """
        arrays: dict[str, Any] = {"handle": pa.array(self.standings.players)}
        names = list(COLUMNS)
        if self.standings.team_names is not None:
            arrays["team"] = pa.array(self.standings.team_names)
            names.insert(names.index("handle") + 1, "team")
        names = [name for name in names if name in self.columns or name in arrays]
        names += [name for name in GAME if name in self.columns]
        for name, values in self.columns.items():
            if name == "near":
                arrays[name] = pa.array(values, pa.list_(pa.string()))
                if joined:
                    arrays[name] = pa.array([join_handles(names) for names in values], pa.string())
            elif name.endswith("place") and name != "expected_place":
                arrays[name] = pa.array(values, pa.int32(), mask=values == 0)
            else:
                arrays[name] = pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values
        return pa.table([arrays[name] for name in names], names)


def preview_round(
    rules: Rules, standings: Standings, beliefs: BeliefColumns, event: int, engine: Threads | None = None
) -> Preview:
    """Rate a contest on copies of beliefs. A pure function: nothing is changed.

    ``standings``: without a time no day passes before the contest. With limits, only participants whose display
    rating before it is within them are in the preview.
    ``beliefs``: about the participants, in the order of the standings; as from ``Beliefs.columns``.
    ``event``: number of events before the contest.
    Raises ValueError: the system or the run skips a contest with these places, or has no rule for its teams; or no
    placed participant has a rating within the limits.
    Raises ConvergenceError: the contest cannot be rated; the message names the player.
    """
    if standings.limited:
        standings, beliefs = _in_range(rules.display, standings, beliefs)
    display, n, placed = rules.display, len(standings), standings.n_placed
    system, params, engine = display.system, display.params, engine or Serial()
    check_rounds_matter(system, "change by one game")
    if system.periods and n != 2:
        raise ValueError(f"{system.name} rates games of two players only, and the standings have {n:,} participants")
    round = Rounds.from_columns(
        [0, n], np.arange(n), standings.lo, standings.hi, [standings.time_seconds or 0], [standings.weight],
        [standings.perf_ceiling], [event], standings.teams, precision=[standings.precision],
    )  # fmt: skip
    check_teams(system, round)
    if reason := int(rules.skipping.reasons(round)[0]):
        raise ValueError(f"such a contest is not rated: {REASONS[reason]}")
    compile_kernels(system.name, [n])
    outcome = _rate(rules, standings, beliefs, round, engine)
    n_rounds, new = np.asarray(beliefs["n_rounds"]), np.asarray(beliefs["n_rounds"]) == 0
    mu = np.where(new, outcome.mu_prior, beliefs["mu"])  # some systems start late newcomers at another mu
    before = display.rating(mu, np.asarray(beliefs["sigma"]), n_rounds)
    rating = display.rating(outcome.mu, outcome.sigma, n_rounds + np.int32(1))
    titles, minimum = rules.titles.above(before)
    titled = np.flatnonzero(~np.isnan(minimum))
    needed, chance = np.zeros(n, dtype=np.int64), np.full(n, np.nan)
    with announce_compilation(system.name):
        prior, of_row, conditions = outcome.prior, np.arange(n), round.conditions.take(0)
        if round.teams is not None:
            prior = team_prior(system, params, round.teams, conditions, prior)
            of_row = np.repeat(np.arange(len(prior.mu)), round.teams.lengths)
        model = PlaceModel(system, params, conditions, prior)
        expected = model.expected_places()[of_row]
        if len(titled):
            found = places_needed(display, beliefs, round, outcome, titled, minimum[titled], engine)
            needed[titled] = np.maximum(found, 0)
            reachable = found > 0
            chance[titled] = np.where(found == 0, 0.0, np.nan)
            chance[titled[reachable]] = model.chances(of_row[titled[reachable]], found[reachable])
    columns = {
        "place": standings.lo + 1, "perf": outcome.perf, "mu_prior": outcome.mu_prior,
        "sigma_prior": outcome.sigma_prior, "mu": outcome.mu, "sigma": outcome.sigma, "rating_before": before,
        "rating": rating, "change": rating - before, "expected_place": expected, "next_title": titles,
        "next_title_chance": chance, "next_title_place": needed,
    }  # fmt: skip
    for name in _UNKNOWN:
        columns[name][placed:] = np.nan
    columns["place"][placed:] = 0
    notes = tuple(ignored_lines(system, count_ignored(system, round)))
    if len(prior.mu) == 2 and (games := rules.games()) is not None:
        one, other = part_of(prior, slice(0, 1)), part_of(prior, slice(1, 2))
        with announce_compilation(system.name):
            three = games.chances(Pairings(system, params, conditions, 2, one, other), neutral=True)
        columns |= {name: np.concatenate(both)[of_row] for name, *both in zip(GAME, *three, strict=False)}
        notes = (*notes, games.note) if games.note else notes
    return Preview(standings, columns, RatingFormat(rules.titles, display.decimals), notes)


def preview_next(
    rules: Rules,
    standings: Standings,
    beliefs: BeliefColumns,
    n_events: int,
    ends: tuple[int, ...],
    engine: Threads | None = None,
) -> Preview:
    """Rate the contest after ``n_events`` others; see :func:`preview_round`.

    ``ends``: the ends of the last contest in rated order and of the latest one, UTC seconds; empty without contests.
    Raises ValueError: also a contest that ends before the last one.
    """
    given, (last, latest) = standings.time_seconds, ends or (0, 0)
    time = latest if given is None else given
    check_to_come(rules.display.params, time, *ends)
    same_event = given not in (None, 0) and given == last and n_events > 0  # a division of the last event
    return preview_round(rules, standings.at(time), beliefs, n_events - same_event, engine)


def _in_range(display: Display, standings: Standings, beliefs: BeliefColumns) -> tuple[Standings, BeliefColumns]:
    """The participants whose display rating before the contest is within its limits, and the beliefs about them."""
    rating = display.rating(*(np.asarray(beliefs[name]) for name in ("mu", "sigma", "n_rounds")))
    above, below = standings.rated_above, standings.rated_below
    rows = np.flatnonzero(in_range(rating, above, below))
    if not len(rows) or rows[0] >= standings.n_placed:
        span = " and ".join(
            text
            for text, given in ((f"at least {above:g}", above > -np.inf), (f"less than {below:g}", below < np.inf))
            if given
        )
        raise ValueError(f"no participant with a place is rated: the contest rates ratings of {span}")
    return standings.select(rows), select_beliefs(display.system, display.params, beliefs, rows)


def _rate(rules: Rules, standings: Standings, beliefs: BeliefColumns, round: Rounds, engine: Threads) -> Outcome:
    system, params = rules.display.system, rules.display.params
    store = system.newcomers(params, len(standings))
    store.restore(beliefs)
    try:
        return rate_rounds(system, params, store, round, engine)
    except RoundError as error:
        player = None if error.player is None else str(standings.players[error.player])
        raise named_error(error, system, params, round, "of the preview", 0, player, "correct the standings") from error
