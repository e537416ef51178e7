"""Predict a round that has not been played: win probabilities, expected places, and the rating after each place.

Win probabilities are those of the system (``System.win_probability``), between priors at the time of the round. The
rating after a place is computed by rating the round on a copy of the beliefs, with the other entrants in the order of
their ratings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels import Beliefs, Prior, Rounds
from ranklake.rating_kernels.chances.games import Pairings
from ranklake.rating_kernels.core.limits import LARGEST
from ranklake.rating_kernels.core.standings import Floats, Longs

from ..chances.to_come import GamesToCome, ThreeChances
from ..common.adapters import HALVES
from ..common.arguments import check_names, checked
from ..common.configuration.settings import check_uncertainty
from ..common.skipping import count_ignored, ignored_lines
from ..common.text import count, described
from ..compilation.compile import announce_compilation, compile_kernels
from ..engines.serial import Serial
from ..execution.outcomes import RoundError, named_error
from ..execution.rater import BeliefColumns
from ..execution.rounds import check_teams, rate_rounds
from ..matchmaking.balance import Balance, balance
from ..matchmaking.lobby import Lobby, part_of
from ..matchmaking.quality import MatchQuality, quality_of
from ..results.components import apart
from ..results.differences import SkillDifference, skill_difference
from ..results.display import Display
from ..results.rating_format import RatingFormat
from ..results.titles import NONE
from .lineup import Lineup
from .notebook import titled_table

MAX_SHOWN = 100  # entrants in a cell of a notebook
_PAIRS = 1 << 20  # pairs whose chances are in memory at a time


class Prediction:
    """A round that has not been played.

    ``display``: the system, its parameters, and how it shows ratings.
    ``players``: the entrants' names, all different; a list is a team of these players.
    ``columns``: beliefs about each player, the members of teams one after the other, as from ``Beliefs.columns``.
    ``time_seconds``, ``event``, ``weight``, ``perf_ceiling``, ``precision``: properties of the round.
    ``components``: the number of the component of who met whom of each member; -1 if it is not known.
    ``apart``: a line about two members who never met, not even through others; else empty.
    ``notes``: what to know about the players, and the properties of the round that the system ignores.
    ``games``: finds out what is known of games between two players, which may take a fit to all games so far; None: the
    contests have more, or are not known.
    ``ahead``: rating points by which covariates favour the first of two entrants.
    ``deviations``: finds those of the differences of the entrants' skills, float64[n, n], rating points, which may take
    a fit to all games; None: beliefs about two players are independent.
    ``lobby``: all players, with their beliefs at the time of the round.
    Raises ValueError: fewer than two players, a player twice, an invalid weight or precision, or teams for a system
    without a rule for them.
    """

    def __init__(
        self,
        display: Display,
        players: Sequence[Any],
        columns: BeliefColumns,
        time_seconds: int,
        event: int = 0,
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
        precision: float = 1.0,
        components: Sequence[int] = (),
        games: Callable[[], GamesToCome | None] = lambda: None,
        deviations: Callable[[], Floats | None] = lambda: None,
        ahead: float = 0.0,
    ) -> None:
        self._deviations = deviations
        self._find_games, self._found_games = games, list[GamesToCome | None]()
        self._lineup, self._display, self._columns = Lineup.of(players), display, columns
        self.players, members = self._lineup.players, self._lineup.members
        self._row = {player: row for row, player in enumerate(self.players)}
        self._member = {player: row for row, player in enumerate(members)}
        n, places = len(members), self._lineup.places
        self._round = Rounds.from_columns(
            [0, n], np.arange(n), places, places, [time_seconds], [weight], [perf_ceiling], [event],
            self._lineup.teams, precision=[precision],
        )  # fmt: skip
        check_teams(display.system, self._round)
        self._components = np.array(list(components) or [-1] * n, np.int64)
        self.apart = apart(self._components.tolist(), members)
        self.notes = (
            *([self.apart] if self.apart else []),
            *ignored_lines(display.system, count_ignored(display.system, self._round)),
        )
        store = self._build_store()
        self.n_rounds = store.n_rounds.copy()
        self.mu, self.sigma = store.mu.copy(), store.sigma.copy()
        self.lobby = Lobby.of(display.system, display.params, store, self._round)
        prior = self.lobby.prior
        _check_prior(members, prior)
        new = self.n_rounds == 0
        self.mu[new] = prior.mu[new]  # some systems start late newcomers at another mu
        if ahead:
            prior.mu[:] += np.multiply(HALVES, ahead)
        self.rating: Floats = display.rating(self.mu, self.sigma, self.n_rounds)
        self._before = self.rating, self.n_rounds  # of each member
        self._prior = self.lobby.sides(self._lineup.teams)
        if self._lineup.has_teams:
            law = display.system, display.params
            self.mu, self.sigma, self.n_rounds, self.rating = self._lineup.beliefs(
                *law, self.mu, self.sigma, self.n_rounds, self.rating
            )

    def __len__(self) -> int:
        return len(self.players)

    def __repr__(self) -> str:
        return f"Prediction({self._display.system.name}: {count(len(self), 'player')})"

    def _repr_html_(self) -> str:
        if len(self) > MAX_SHOWN:
            return f"<code>{escape(repr(self))}</code>"
        table = self.table().sort_values("expected_place", kind="stable").reset_index()
        return titled_table(repr(self), table, max(2, self._display.decimals))

    @property
    def format(self) -> RatingFormat:
        """The format of the ratings, without titles."""
        return RatingFormat(NONE, self._display.decimals)

    def rating_of(self, player: Any) -> float:
        """The display rating of an entrant, or of a member of a team, before the round."""
        if player in self._member and player not in self._row:
            return float(self._before[0][self._member[player]])
        return float(self.rating[self._find(player)])

    def chance(self, player: Any, opponent: Any) -> float:
        """The chance that ``player`` finishes before ``opponent``; a tie counts half."""
        i, j = self._find(player), self._find(opponent)
        return float(self._beats(slice(i, i + 1), slice(j, j + 1))[0, 0]) if i != j else 0.5

    def difference(self, player: Any, opponent: Any) -> SkillDifference:
        """The skill of ``player`` minus that of ``opponent``: ``difference, deviation`` and ``skill_chance``.

        ``skill_chance`` is the chance that the skill of ``player`` is the higher one, not that to win the next round.
        Raises ValueError: the system has no uncertainty of skills.
        """
        check_uncertainty(self._display.system, "a difference of skills")
        i, j = self._find(player), self._find(opponent)
        return SkillDifference(*(float(of_pair[0]) for of_pair in self._differences(np.array([i]), np.array([j]))))

    @property
    def games(self) -> GamesToCome | None:
        """What is known of games between two players; None if the contests have more, or are not known."""
        if not self._found_games:  # no cached_property: a warning is shown at the line of the caller
            self._found_games.append(self._find_games())
        return self._found_games[0]

    def three_way(self, player: Any, opponent: Any, *, neutral: bool = False) -> ThreeChances:
        """The chances of ``player`` in a game against ``opponent``: ``win, draw, loss``, and the ``expected`` score.

        ``player`` is the first one, who has the advantage that the games so far have shown, unless ``neutral``.
        Raises ValueError: the contests are no games between two.
        """
        if self.games is None:
            raise ValueError(
                "three chances are of games between two, and the contests have more participants, or are not known; "
                "chance() is that to finish before another one"
            )
        i, j = self._find(player), self._find(opponent)
        if i == j:
            raise ValueError(f"a game is between two players, got {player!r} twice")
        return ThreeChances(*(float(of_pair[0]) for of_pair in self._games(np.array([i]), np.array([j]), neutral)[0]))

    def quality(self, *, neutral: bool = False) -> MatchQuality:
        """How even the round is as a match: the chance of each entrant to finish first, and more."""
        with announce_compilation(self._display.system.name):
            return quality_of(self.lobby, self._lineup.teams, self.games if len(self) == 2 else None, neutral)

    @checked
    def balance(self, parties: Sequence[Sequence[Any]], sizes: Sequence[int] | None = None) -> Balance:
        """Two teams of all members that are as even as possible; see :func:`.matchmaking.balance.balance`."""
        rows = [self._member[player] for party in parties for player in party]
        return balance(self.lobby.take(rows), parties, sizes, self.games if len(self) == 2 else None)

    def pairs(self, *, neutral: bool = False) -> pd.DataFrame:
        """Every ordered pair of entrants: ``player, against, chance, connected``; with uncertain skills also the
        numbers of :meth:`difference`, and of games those of :meth:`three_way` and the ``advantage`` of ``player``.
        """
        one, other = np.nonzero(~np.eye(len(self), dtype=bool))
        names = pd.Index(self.players)
        numbers = self.pair_columns(one, other, neutral)
        return pd.DataFrame({"player": names[one], "against": names[other], **numbers})

    def pair_columns(self, one: Longs, other: Longs, neutral: bool = False) -> dict[str, npt.NDArray[Any]]:
        """The columns of some pairs of entrants, given their rows; see :meth:`pairs`."""
        columns = {"chance": self.chances()[one, other], "connected": self._are_connected(one, other)}
        if self._display.system.uncertainty:
            columns |= self._differences(one, other)._asdict()
        if self.games is not None:
            advantage = np.full(len(one), 0.0 if neutral else self.games.learnt.advantage)
            columns |= {**self._games(one, other, neutral)[0]._asdict(), "advantage": advantage}
        return columns

    def game_columns(self, neutral: bool = False) -> dict[str, Floats]:
        """The numbers of both entrants of a game, the first of whom has the advantage; see :meth:`pair_columns`."""
        one, other = np.array([0, 1]), np.array([1, 0])
        columns = self.pair_columns(one, other, neutral)
        if self.games is not None:
            first, second = (np.array(of_one)[:, 0] for of_one in self._games(one, other, neutral))
            columns |= dict(zip(ThreeChances._fields, np.column_stack((first, second)), strict=True))
            columns["advantage"] = columns["advantage"] * np.array([1.0, -1.0])
        return columns

    def _games(self, one: Longs, other: Longs, neutral: bool) -> tuple[ThreeChances, ThreeChances]:
        """The chances of both entrants of some games."""
        assert self.games is not None, "games between two"
        display, sides = self._display, (part_of(self._prior, one), part_of(self._prior, other))
        with announce_compilation(display.system.name):
            games = Pairings(display.system, display.params, self._round.conditions.take(0), 2, *sides)
            return self.games.chances(games, neutral)

    def _differences(self, one: Longs, other: Longs) -> SkillDifference:
        mu, sigma = self.mu, self.sigma
        found = self._deviations()
        deviation = None if found is None else found[one, other]
        return skill_difference(self._display.system, mu[one], sigma[one], mu[other], sigma[other], deviation)

    def connected(self, player: Any, opponent: Any) -> bool:
        """Whether all players of two entrants met, directly or through others; newcomers and unknown ones count as met.

        The ratings of others cannot be compared.
        """
        rows = [self._find(player), self._find(opponent)]
        return bool(self._are_connected(np.array(rows[:1]), np.array(rows[1:]))[0])

    def _are_connected(self, one: Longs, other: Longs) -> npt.NDArray[np.bool_]:
        """Whether the players of pairs of entrants met, given the rows of the entrants."""
        of, starts = self._components, self._lineup.teams.offsets[:-1]
        last = np.maximum.reduceat(of, starts)
        first = np.minimum.reduceat(np.where(of < 0, np.iinfo(np.int64).max, of), starts)
        alike = np.minimum(first[one], first[other]) >= np.maximum(last[one], last[other])
        return np.asarray(alike)

    def chances(self) -> Floats:
        """The chance of each entrant (row) to finish before each entrant (column); 1/2 on the diagonal."""
        entrants = slice(0, len(self))
        return self._beats(entrants, entrants)

    def expected_places(self) -> Floats:
        """The expected place of each entrant, from 1; they sum to n (n + 1) / 2. O(n^2) time, O(n) memory."""
        n, step = len(self), max(1, _PAIRS // len(self))
        places = np.empty(n)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            places[rows] = 0.5 + (n - self._beats(rows, slice(0, n)).sum(axis=1))  # 1/2 against oneself
        return places

    def table(self) -> pd.DataFrame:
        """The entrants: ``rating, mu, sigma, n_rounds`` and ``expected_place``; indexed by player."""
        columns = {"rating": self.rating, "mu": self.mu, "sigma": self.sigma, "n_rounds": self.n_rounds}
        index = pd.Index(self.players, name="player")
        return pd.DataFrame({**columns, "expected_place": self.expected_places()}, index=index)

    @checked
    def outcomes(self, player: Any, places: Sequence[int] | None = None) -> pd.DataFrame:
        """The rating of a player after each place, for a member of a team after each place of the team.

        ``places``: places from 1 to n; default: all. Each place rates one round.
        Returns pd.DataFrame: ``place, mu, sigma, rating, change``: the display rating after the round and its change.
        """
        check_names([player])
        if player not in self._member:
            members = ", ".join(map(repr, self._lineup.roster(self._find(player))))
            raise ValueError(f"{player!r} is a team; the rating after a place is that of a member: {members}")
        row, (before, n_rounds) = self._member[player], self._before
        wanted = range(1, len(self) + 1) if places is None else list(places)
        mu, sigma = np.array([self._play(row, place) for place in wanted]).reshape(-1, 2).T
        rating = self._display.rating(mu, sigma, np.full(len(mu), n_rounds[row] + 1))
        change = rating - before[row]
        return pd.DataFrame({"place": wanted, "mu": mu, "sigma": sigma, "rating": rating, "change": change})

    @checked
    def place_needed(self, player: Any, rating: float) -> int | None:
        """The last place that still gives a player ``rating``; None if the first does not.

        Uses bisection: in one round, no system rates a better place lower.
        """
        if not math.isfinite(rating):
            raise ValueError(f"the rating aimed at must be a finite number, got {rating}")
        good, bad = 0, len(self) + 1
        while bad - good > 1:
            place = (good + bad) // 2
            enough = self.outcomes(player, [place])["rating"].iloc[0] >= rating
            good, bad = (place, bad) if enough else (good, place)
        return good or None

    def _find(self, player: Any) -> int:
        check_names([player])
        if player not in self._row:
            raise ValueError(f"player {player!r} does not take part in this round")
        return self._row[player]

    def _build_store(self) -> Beliefs:
        """A store of all players before the round."""
        store = self._display.system.newcomers(self._display.params, len(self._lineup.members))
        store.restore(self._columns)
        return store

    def _beats(self, rows: slice, columns: slice) -> Floats:
        one, other = part_of(self._prior, (rows, None)), part_of(self._prior, (None, columns))
        return self.lobby.chances(one, other, len(self))

    def _play(self, row: int, place: int) -> tuple[float, float]:
        """``mu`` and ``sigma`` of the player in ``row`` after finishing at ``place``."""
        if not (isinstance(place, int | np.integer) and 1 <= place <= len(self)):
            raise ValueError(f"a place must be a whole number from 1 to {len(self)}, got {described(place)}")
        entrant = self._lineup.entrant_of(row)
        others = np.argsort(-self._prior.mu, kind="stable")
        rows, places, teams = self._lineup.rows(np.insert(others[others != entrant], place - 1, entrant))
        played = replace(
            self._round, player=rows.astype(np.int32), lo=places, hi=places,
            teams=teams if self._lineup.has_teams else None,
        )  # fmt: skip
        compile_kernels(self._display.system.name, [len(rows)])
        system, params = self._display.system, self._display.params
        try:
            outcome = rate_rounds(system, params, self._build_store(), played, Serial())
        except RoundError as error:
            player = None if error.player is None else str(self._lineup.members[error.player])
            name = f"to be predicted, {self._lineup.members[row]!r} at place {place}"
            raise named_error(error, system, params, played, name, 0, player, "choose other values") from error
        at = int(np.flatnonzero(rows == row)[0])
        return float(outcome.mu[at]), float(outcome.sigma[at])


def _check_prior(players: Sequence[Any], prior: Prior) -> None:
    """Raise ``ValueError`` if the belief of a player is out of range."""
    bad = ~((np.abs(prior.mu) <= LARGEST) & (np.abs(prior.sigma) <= LARGEST))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"player {players[row]!r} comes with mu = {prior.mu[row]:.6g}, sigma = {prior.sigma[row]:.6g}; a rating is "
            f"within -{LARGEST:g}..{LARGEST:g}: rate the run again with other hyperparameters"
        )
