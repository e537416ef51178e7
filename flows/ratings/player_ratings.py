"""The ratings of all players at one time: what computed them, the leaderboard, and predictions from them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
import pandas as pd

from ranklake.storage.names.hints import hint, near_names, unknown_names

from ..answers.frame_rows import FrameRows
from ..chances.to_come import GamesToCome
from ..common.arguments import check_names, checked
from ..common.configuration.settings import check_uncertainty, params_to_json
from ..events.seasons import Season
from ..frames.beliefs import PlayerBeliefs
from ..frames.kinds import as_kind, to_pandas
from ..frames.lineup import members_of
from ..frames.notebook import warn_user
from ..frames.predict import predict
from ..frames.prediction import Prediction
from ..matchmaking.balance import Balance, first_teams
from ..matchmaking.quality import MatchQuality
from ..preview.frames import preview
from ..results.components import Components, apart
from ..results.display import Display
from ..results.level_shifts import LevelShifts
from ..results.places import OF_UNCERTAINTY, RECORDED, PlaceOptions
from ..results.ranks import PROVISIONAL
from ..sources.absences import Absent
from ..sources.options import Duplicates
from .boards import distribution_of, groups_of, leaderboard_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typing_extensions import TypeVar

    FrameT = TypeVar("FrameT", default=pd.DataFrame)
else:
    from typing import TypeVar

    FrameT = TypeVar("FrameT")  # the type of the frames; Python has defaults from 3.13 on


class PlayerRatings(Generic[FrameT]):
    """The ratings of all players at one time.

    Parameters
    ----------
    kind
        The kind of all frames of the players, as of :class:`ranklake.flows.frames.kinds.Frame`.
    shown
        ``deviations`` and ``minimum`` of the display rating, by default those of the system, the ``shift`` of a steady
        level, and values of ``PlaceOptions`` as ``places``.
    """

    def __init__(self, beliefs: PlayerBeliefs, kind: str = "pandas", shown: Mapping[str, Any] | None = None) -> None:
        self._beliefs, self._kind, self._shown = beliefs, kind, dict(shown or {})

    @property
    def system(self) -> str:
        """The name of the rating system."""
        return self._beliefs.system.name

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """All hyperparameters by name."""
        params = self._beliefs.params
        return {name: getattr(params, name) for name in params_to_json(params, whole=True)}

    @property
    def label(self) -> str:
        """The name of the system and the hyperparameters that are not its defaults."""
        default = self._beliefs.system.params()
        changed = {name: value for name, value in self.hyperparameters.items() if value != getattr(default, name)}
        return " ".join([self.system, *(f"{name}={value}" for name, value in changed.items())])

    @property
    def beliefs(self) -> pd.DataFrame:
        """The belief about each player, indexed by player, as :func:`ranklake.rate_history` returns and takes it."""
        return self._beliefs.frame()

    @property
    def history(self) -> FrameT:
        """Every participation in rating order; see :attr:`ranklake.Ratings.history`."""
        raise NotImplementedError

    def __len__(self) -> int:
        """The number of rated players."""
        return int(np.count_nonzero(self._beliefs.columns["n_rounds"]))

    def __ranklake_beliefs__(self) -> PlayerBeliefs:
        return self._beliefs

    @checked
    def leaderboard(
        self,
        top: int | None = None,
        *,
        min_rounds: int | None = None,
        max_sigma: float | None = None,
        interval: float | None = None,
        rule: Literal["separated", "own"] | None = None,
        provisional: Literal["hide", "show", "only"] = "hide",
        since: Any = None,
        at: Any = None,
        among: Collection[Any] | None = None,
        component: int | None = None,
        deviations: float | None = None,
        season: str | None = None,
        placement: int | None = None,
    ) -> FrameT:
        """All rated players, best first.

        Parameters
        ----------
        top
            Maximum number of rows.
        min_rounds, max_sigma
            Players with fewer rounds, or a larger sigma, are provisional; by default those of the run, else none are.
        interval
            The probability that a skill is within the bounds from which the interval of a place follows.
        rule
            "separated" counts the players who can be told apart, "own" the ratings outside of the player's own bounds.
        provisional
            What to do with provisional players: leave them out, show them without a place, or show only them.
        since
            Only players whose last round is not before this time: seconds, a date or a datetime.
        at
            The leaderboard of this time: after the rounds that had ended, with the uncertainty of the days since.
        among
            Only these players; a warning names those without a rating.
        component
            Only players of this component of players who met, even through others; 0 is the largest.
        deviations
            The display rating is mu - deviations (sigma - its limit); by default the factor of the system, or of the
            preset of a run.
        season
            The state at the end of this season of the data set of a run, or of ``"current"``.
        placement
            Contests of the season that a player needs for a place, 1 by default; others are provisional.

        Returns
        -------
        frame
            ``place`` (from 1, ties share one), ``player, rating, mu, sigma, n_rounds, last_time_seconds, percentile``
            (of the players with a lower rating), ``provisional, place_high, place_low, tier``; of the kind of the
            results. Places and percentiles are among the players that are left. A provisional player has neither place
            nor percentile nor interval nor tier. A system without an uncertainty has neither intervals nor tiers.
            If two components are large, places are within them, and there is the column ``component``.
            With a ``season`` also ``season_rounds, season_start_rating, season_best, season_change``.
            ``attrs["n_provisional"]`` of pandas is the number of provisional players.

        Raises
        ------
        ValueError
            ``top`` is negative, ``since`` or ``at`` is no time, no contest had ended by ``at``, there is no such
            ``component``, a number is out of range, or the system has no uncertainty and ``max_sigma``, ``interval`` or
            ``rule`` is given. There is a ``season``, and the ratings are not of a run of a lake, or ``at`` or
            ``min_rounds`` is given; or there is a ``placement`` without a season.
        LakeError
            The data set of the run has no such season; the message names those it has.
        """
        if top is not None and top < 0:
            raise ValueError(f"top must be >= 0 rows, got {top}")
        places = {"min_rounds": min_rounds, "max_sigma": max_sigma, "interval": interval, "rule": rule}
        chosen = self._season_of(season, placement, at, min_rounds)
        if chosen is not None:
            places["min_rounds"] = 1 if placement is None else placement
        table = self._leaderboard(places, provisional, since, at, among, deviations, component, chosen)
        leaderboard: FrameT = as_kind(table if top is None else table.head(top), self._kind)
        return leaderboard

    @checked
    def groups(
        self,
        by: Mapping[Any, Any] | pd.Series,
        *,
        min_rounds: int | None = None,
        max_sigma: float | None = None,
        since: Any = None,
        at: Any = None,
        among: Collection[Any] | None = None,
        deviations: float | None = None,
    ) -> FrameT:
        """The ratings of groups of players, as countries, best first.

        Parameters
        ----------
        by
            The group of each player; players who are not in it, or whose value is missing, are in none.
        min_rounds, max_sigma, since, at, among, deviations
            The players that count, and their ratings; as for :meth:`leaderboard`.

        Returns
        -------
        frame
            ``place, group, rating, n_players, best, best_rating``: the rating of a group solves the equation of
            :func:`ranklake.flows.results.groups.group_ratings`; ``best`` is its best player. Of the kind of
            the results.

        Raises
        ------
        ValueError
            As for :meth:`leaderboard`.
        """
        places = {"min_rounds": min_rounds, "max_sigma": max_sigma}
        table = self._leaderboard(places, "hide", since, at, among, deviations)
        groups: FrameT = as_kind(groups_of(table, by), self._kind)
        return groups

    @checked
    def predict(
        self,
        players: Sequence[Any],
        *,
        time: Any = None,
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
        precision: float = 1.0,
        deviations: float | None = None,
        chances_of: str | None = None,
    ) -> Prediction:
        """Predict a round among some players; see :func:`ranklake.predict`."""
        return predict(
            self, players, time=time, weight=weight, perf_ceiling=perf_ceiling, precision=precision,
            deviations=self._factor(deviations), chances_of=chances_of,
        )  # fmt: skip

    def quality(self, sides: Sequence[Any], *, time: Any = None, neutral: bool = False) -> MatchQuality:
        """How even a match between players, or lists of players, which are teams, would be; see :meth:`predict`.

        ``neutral``: of games, without the advantage of the first side that the games have shown.
        """
        return self.predict(sides, time=time).quality(neutral=neutral)

    def balance(self, players: Sequence[Any], *, sizes: Sequence[int] | None = None, time: Any = None) -> Balance:
        """Split players into two teams whose match is as even as possible.

        Parameters
        ----------
        players
            Players, or lists of players, which are parties that stay together; unknown ones are newcomers.
        sizes
            Sizes of the first team and of the second one; by default equal.
        time
            End of the match; as for :func:`ranklake.predict`.

        Returns
        -------
        Balance
            ``teams``, and the ``quality`` of their match; exact up to twelve parties, beyond by a local search.

        Raises
        ------
        ValueError
            No such teams keep the parties together, a player twice, or teams of a system without a rule for them.
        """
        parties = list(map(members_of, players))
        return self.predict(first_teams(parties, sizes), time=time).balance(parties, sizes)

    @checked
    def compare(self, players: Sequence[Any], *, neutral: bool = True, chances_of: str | None = None) -> FrameT:
        """What is known of each pair of some players, at the time of the last round.

        Parameters
        ----------
        players
            Two or more rated players. Others are left out, and a warning names similar ones.
        neutral, chances_of
            Of games: on neutral ground; otherwise there is a row for each order of a pair, and the first player has the
            advantage that the games have shown. ``chances_of`` is that of :func:`ranklake.predict`.

        Returns
        -------
        frame
            A row a pair: ``player, against``, ``chance``, as of :func:`ranklake.predict`: to finish before the other
            one, a tie counts half, and ``connected``: whether they met, even through others. If the system has an
            uncertainty of skills, also the ``difference`` of the skills, its standard ``deviation``, and
            ``skill_chance``: that the skill of ``player`` is the higher one, which is not the chance to win the next
            round. Of games between two also ``win, draw, loss``, the ``expected`` score and the ``advantage`` of
            ``player``. Of the kind of the results.

        Raises
        ------
        ValueError
            A player twice, or fewer than two rated ones; the message names players who are similar to an unknown one.
        """
        known = set(self._beliefs.players)
        unknown = [player for player in players if player not in known]
        players = [player for player in players if player in known]
        if unknown:
            if len(players) < 2:
                self._check_player(unknown[0])
            warn_user(f"no rating of {unknown_names(unknown, self._beliefs.players)}: left out of the comparison")
        prediction = self.predict(list(players), chances_of=chances_of)
        pairs = prediction.pairs(neutral=neutral)
        if not neutral and prediction.games is not None:
            every: FrameT = as_kind(pairs, self._kind)
            return every
        order = {player: number for number, player in enumerate(players)}
        first = pairs["player"].map(order) < pairs["against"].map(order)
        compared: FrameT = as_kind(pairs[first].reset_index(drop=True), self._kind)
        return compared

    @checked
    def preview(
        self,
        standings: Any,
        *,
        entrants: Iterable[Any] = (),
        columns: Mapping[str, str] | None = None,
        duplicates: Duplicates = "error",
        absent: Absent = "error",
        time: Any = None,
        titles: str | None = None,
        deviations: float | None = None,
    ) -> Any:
        """Preview a contest: the rating changes from its standings; see :func:`ranklake.preview`."""
        return preview(
            self, standings,
            entrants=entrants, columns=columns, duplicates=duplicates, absent=absent, time=time,
            titles=titles, deviations=self._factor(deviations),
        )  # fmt: skip

    def plot_distribution(self) -> Figure:
        """A histogram of the ratings of all players.

        Raises
        ------
        MissingExtraError
            Matplotlib is not installed.
        """
        return distribution_of(to_pandas(self.leaderboard())["rating"].to_numpy(), self.label)

    def _factor(self, deviations: float | None) -> float | None:
        return self._shown.get("deviations") if deviations is None else deviations

    def _leaderboard(
        self,
        places: Mapping[str, Any],
        provisional: str,
        since: Any,
        at: Any,
        among: Collection[Any] | None,
        deviations: float | None,
        component: int | None = None,
        season: Season | None = None,
    ) -> pd.DataFrame:
        beliefs = self._beliefs
        if provisional not in PROVISIONAL:
            raise ValueError(f"provisional must be one of {', '.join(PROVISIONAL)}, got {provisional!r}")
        for name, value in places.items():
            if name in OF_UNCERTAINTY and value is not None:
                check_uncertainty(beliefs.system, name)
        options = PlaceOptions.from_json(self._shown.get(RECORDED, {})).changed(**places)
        display = self._display(deviations)
        rows = FrameRows(
            beliefs.players, beliefs.columns, display, lambda: to_pandas(self.history), self._components_before
        )
        table = leaderboard_of(rows, at, since, among, options, provisional, component, season)
        if at is None and component is None:
            self._warn_of_components()
        return table

    def _season_of(self, name: str | None, placement: int | None, at: Any, min_rounds: int | None) -> Season | None:
        """The season of a leaderboard, None without a name; refuses what does not go with one."""
        if name is None:
            if placement is not None:
                raise ValueError("placement counts the contests of a season: give season")
            return None
        if at is not None:
            raise ValueError("season takes no at: its state is that at its end")
        if min_rounds is not None:
            raise ValueError("min_rounds counts all contests; with season, give placement")
        if placement is not None and placement < 1:
            raise ValueError(f"placement must be >= 1 contests, got {placement}")
        return self._find_season(name)

    def _find_season(self, name: str) -> Season:
        raise ValueError(f"season {name!r}: only ratings of a run of a lake have seasons, which are of its data set")

    def _components_before(self, stop: int | None = None) -> Components | None:
        """Who met whom before a round, or in all, by the order of the players of the beliefs; None if not known."""
        return None

    def _warn_of_components(self) -> None:
        found, names = self._components_before(), self._beliefs.players
        if found is not None and (line := found.line(lambda rows: [names[row] for row in rows])):
            warn_user(line)

    def __ranklake_components__(self, players: Sequence[Any]) -> list[int]:
        """The number of the component of each of these players; -1 if it is not known."""
        found = self._components_before()
        if found is None or len(found.sizes) < 2:
            return [-1] * len(players)
        row = {player: row for row, player in enumerate(self._beliefs.players)}
        return found.numbers([row.get(player, -1) for player in players])

    def _note(self, players: Sequence[Any]) -> str:
        """A line if some of these players never met, not even through others; else empty."""
        return apart(self.__ranklake_components__(players), players)

    def __ranklake_games__(self, value: str | None = None) -> GamesToCome | None:
        """What is known of games between two that have not been played; None if it is not, or the contests have more.

        ``value``: of a column by which a run has learnt.
        """
        return None

    def _display(self, deviations: float | None = None) -> Display:
        """The display rating; ``deviations`` replaces the default."""
        system, params = self._beliefs.system, self._beliefs.params
        chosen = {} if deviations is None else {"deviations": deviations}
        shift = {"shift": self.__ranklake_shift__()}
        shown = {name: value for name, value in self._shown.items() if name != RECORDED}
        return Display(system, params, **({"deviations": system.deviations} | shown | chosen | shift))

    def __ranklake_shift__(self) -> LevelShifts | None:
        """The shifts of the display rating, of a run with a steady level."""
        shift = self._shown.get("shift")
        return None if shift is None else LevelShifts(**shift)

    def _check_player(self, player: Any) -> None:
        """Refuse an unknown player; the message names similar ones."""
        check_names([player])
        known = self._beliefs.players
        if player not in known:
            names = [name for name in known if isinstance(name, str)]
            near = near_names(player, names) if isinstance(player, str) else []
            about = hint(player, near) if isinstance(player, str) else ""
            if known and isinstance(player, str) != isinstance(known[0], str):
                about = f"; the names of players are {'texts' if names else 'numbers'}, such as {known[0]!r}"
            raise ValueError(f"there is no player {player!r}{about}")
