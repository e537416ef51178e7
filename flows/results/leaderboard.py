"""Who stands where after a run: the leaderboard, and one player's history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.limits import finite
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import Chain, Dataset, Lake, LakeError, Run
from ranklake.storage.datasets.aliases import NEVER, turning_point
from ranklake.storage.lake.schemas import PUBLISHED

from ..common.settings import build_params, find_system
from ..common.times import utc
from ..common.titles import RatingFormat, Titles, TitlesChoice, titles_of

__all__ = [
    "Display",
    "LeaderboardBuilder",
    "PlayerHistory",
    "check_rated",
    "known_as",
    "leaderboard",
    "player_history",
    "rated_contests",
    "rating_format",
]

_DEVIATIONS = finite()["limits"]
_DIGITS = 3  # significant digits of a newcomer's sigma that a rating shown has


@dataclass(frozen=True, slots=True)
class Display:
    """The conservative rating people are shown: ``mu - deviations * (sigma - sigma_limit)``, rating points.

    A newcomer must prove himself before he ranks high; for a veteran, whose sigma is near its limit, it is ``mu``. Some
    systems add an offset while a player is new.
    """

    system: System
    params: Any
    deviations: float

    def __post_init__(self) -> None:
        check_value("deviations", self.deviations, _DEVIATIONS)

    @classmethod
    def of(cls, run: Run, deviations: float | None = None) -> Display:
        """As the run's system defines it; ``deviations`` instead of the system's own."""
        system = find_system(run.config["system"])
        params = build_params(system, run.config["params"])
        return cls(system, params, system.deviations if deviations is None else deviations)

    @property
    def decimals(self) -> int:
        """Decimals of a rating for people: what three digits of a newcomer's ``sigma_init`` have.

        For 350 rating points none, for TrueSkill's 8.33 two. Systems without sigma have as many as four digits of
        ``mu_init``.
        """
        sigma, mu = abs(float(self.params.sigma_init)), abs(float(self.params.mu_init))
        scale, digits = (sigma, _DIGITS) if sigma else (mu, _DIGITS + 1)
        return max(0, digits - 1 - math.floor(math.log10(scale))) if scale else 0

    def rating(self, mu: Any, sigma: Any, n_rounds: Any) -> Any:
        shown = mu - self.deviations * (sigma - self.system.sigma_limit(self.params))
        return shown if self.system.offset is None else shown + self.system.offset(self.params, n_rounds)


class LeaderboardBuilder:
    """The state of each player after the rounds of a run, updated with one batch of rounds after the other.

    Parameters
    ----------
    contests
        Of every round, as :func:`rated_contests` gives them.

    Attributes
    ----------
    columns : tuple of str
        Columns of the rounds table that :meth:`update` reads.
    n_rounds : int32[n]
        Rounds rated; 0 for players who have none.
    mu, sigma, rating, max_rating : float64[n]
        After the last round; the display rating then, and the highest ever. Undefined without rounds.
    last_time_seconds : int64[n]
        End of the last contest, UTC.
    """

    columns = ("round_index", "player", "mu", "sigma", "n_before")

    def __init__(self, n_players: int, contests: pa.Table, display: Display) -> None:
        self._ends = contests.column("time_seconds").fill_null(0).to_numpy()  # 0 is unknown
        self._display = display
        self.n_rounds = np.zeros(n_players, dtype=np.int32)
        self.mu, self.sigma, self.rating = np.zeros(n_players), np.zeros(n_players), np.zeros(n_players)
        self.max_rating = np.full(n_players, -np.inf)
        self.last_time_seconds = np.zeros(n_players, dtype=np.int64)

    def restore(self, table: pa.Table) -> None:
        """Begin where a table that :meth:`table` gave ended, with the display it was made with."""
        players = table.column("player").to_numpy()
        for name in ("n_rounds", "mu", "sigma", "rating", "max_rating", "last_time_seconds"):
            getattr(self, name)[players] = table.column(name).to_numpy()

    def update(self, rounds: pa.Table) -> None:
        """Add the rows of the rounds that come next; see :attr:`columns`."""
        round_index, player, mu, sigma, n_before = (rounds.column(name).to_numpy() for name in self.columns)
        shown = self._display.rating(mu, sigma, n_before + np.int32(1))
        np.maximum.at(self.max_rating, player, shown)
        self.mu[player], self.sigma[player], self.rating[player] = mu, sigma, shown  # of several rows the last stays
        self.n_rounds[player] = n_before + np.int32(1)
        self.last_time_seconds[player] = self._ends[round_index]

    def table(self, handles: pa.StringArray, titles: Titles) -> pa.Table:
        """Everybody who was rated, best first; equals by handle. See ``PUBLISHED["leaderboard"]``."""
        players = np.flatnonzero(self.n_rounds > 0).astype(np.int32)
        shown = pa.table({"rating": self.rating[players], "handle": handles.take(pa.array(players))})
        order = pc.sort_indices(shown, sort_keys=[("rating", "descending"), ("handle", "ascending")])
        players, shown = players[order.to_numpy()], shown.take(order)
        rating = shown.column("rating").to_numpy()
        columns = {
            "place": np.searchsorted(-rating, -rating, side="left") + 1,
            "handle": shown.column("handle"),
            "rating": rating,
            "mu": self.mu[players],
            "sigma": self.sigma[players],
            "n_rounds": self.n_rounds[players],
            "last_time_seconds": self.last_time_seconds[players],
            "max_rating": self.max_rating[players],
            "title": titles.of(rating),
            "player": players,
        }
        schema = PUBLISHED["leaderboard"]
        return pa.table([columns[name] for name in schema.names], schema=schema)


def leaderboard(lake: Lake, run_name: str, deviations: float | None = None, titles: TitlesChoice = None) -> pa.Table:
    """Everybody who was rated, best first.

    Parameters
    ----------
    deviations
        The rating shown is mu - deviations (sigma - its limit); by default as the system has it.
    titles
        By default those of the run; see :func:`ranklake.flows.common.titles.titles_of`.

    Returns
    -------
    pa.Table
        ``place`` (from 1, equals share), ``handle, rating, mu, sigma, n_rounds, last_time_seconds, max_rating, title,
        player``; ratings in full precision, ``title`` null without titles.

    Raises
    ------
    LakeError
        There is no such run, or it has no rounds yet.
    """
    run = Run.open(lake, run_name)
    dataset = Dataset.open(lake, run.config["dataset"])
    chain = run.segments()
    check_rated(run, chain)
    display = Display.of(run, deviations)
    builder = LeaderboardBuilder(dataset.n_players, rated_contests(chain, dataset), display)
    for _, rounds in run.iter_segments(0, None, LeaderboardBuilder.columns, chain=chain):
        builder.update(rounds)
    return builder.table(dataset.handles(), titles_of(run, dataset, display.params.mu_init, titles))


def rating_format(lake: Lake, run_name: str, titles: TitlesChoice = None) -> RatingFormat:
    """How the ratings of a run are written for people.

    Raises
    ------
    LakeError
        There is no such run, or its data set is gone.
    """
    run = Run.open(lake, run_name)
    display, dataset = Display.of(run), Dataset.open(lake, run.config["dataset"])
    return RatingFormat(titles_of(run, dataset, display.params.mu_init, titles), display.decimals)


def rated_contests(chain: Chain, dataset: Dataset) -> pa.Table:
    """What the data set says now of the contest of each round; nulls for contests that are no longer there."""
    ids = pa.array([contest_id for segment in chain.segments for contest_id in segment.contest_ids], pa.string())
    return dataset.contests.take(pc.index_in(ids, value_set=dataset.contests.column("contest_id").combine_chunks()))


def check_rated(run: Run, chain: Chain) -> None:
    """Refuse a run that has rated nobody.

    Raises
    ------
    LakeError
        Names the way out.
    """
    if not any(segment.n_rows for segment in chain.segments):
        raise LakeError(f"run {run.name} has no rated rounds yet; `ranklake rate --run {run.name}` makes them")


@dataclass(frozen=True, slots=True)
class PlayerHistory:
    """One player's rated rounds.

    Attributes
    ----------
    handle : str
        The name that counts.
    rows : pa.Table
        The rounds table's columns, and ``name, time_seconds, n_players, rating``.
    note : str
        How that name relates to the one asked for; empty if it is the same.
    format : RatingFormat
        How the run's ratings are written.
    """

    handle: str
    rows: pa.Table
    note: str
    format: RatingFormat


def player_history(
    lake: Lake, run_name: str, handle: str, deviations: float | None = None, titles: TitlesChoice = None
) -> PlayerHistory:
    """Every rated round of one player, in order, with what the contest was; old names lead to the new one.

    Raises
    ------
    LakeError
        The data set has no such handle, or the run has not rated them; names handles that differ by case or space.
    """
    run = Run.open(lake, run_name)
    dataset = Dataset.open(lake, run.config["dataset"])
    players = known_as(dataset, handle)
    wanted = pa.array(players.values(), pa.int32())
    parts = [table.filter(pc.is_in(table.column("player"), wanted)) for _, table in run.iter_segments()]
    rows = pa.concat_tables(
        [part.replace_schema_metadata() for part in parts if part.num_rows] or [run.read_rounds(0, 0)]
    )
    rated = set(rows.column("player").unique().to_pylist())
    shown = next((name for name, player in players.items() if player in rated), None)
    if shown is None:
        raise LakeError(f"player {handle!r} has no rated rounds in run {run_name}")
    rows = rows.filter(pc.equal(rows.column("player"), players[shown]))
    contests = rated_contests(run.segments(), dataset).select(["name", "time_seconds", "n_players"])
    contests = contests.take(rows.column("round_index"))
    for name in contests.column_names:
        rows = rows.append_column(name, contests.column(name))
    mu, sigma, n_before = (rows.column(name).to_numpy() for name in ("mu", "sigma", "n_before"))
    display = Display.of(run, deviations)
    rows = rows.append_column("rating", pa.array(display.rating(mu, sigma, n_before + np.int32(1))))
    form = RatingFormat(titles_of(run, dataset, display.params.mu_init, titles), display.decimals)
    return PlayerHistory(shown, rows, _explained(dataset, handle, shown), form)


def known_as(dataset: Dataset, handle: str) -> dict[str, int]:
    """Names under which the rounds of who is or was called ``handle`` may be rated, likeliest first, and their indices.

    Raises
    ------
    LakeError
        The data set has no such handle; names handles that differ by case or space.
    """
    names = _names_of(dataset, handle)
    players = {name: player for name in names if (player := dataset.find(name)) is not None}
    if not players:
        folded = handle.strip().casefold()
        alike = [repr(name) for name in dataset.handles().to_pylist() if name.strip().casefold() == folded]
        hint = f"; there is {', '.join(alike[:5])}" if alike else ""
        raise LakeError(f"no player {handle!r} in data set {dataset.name}{hint}")
    return players


def _names_of(dataset: Dataset, handle: str) -> list[str]:
    """Names under which the rounds of who is or was called ``handle`` may be rated, likeliest first."""
    until, before, after = turning_point(dataset.log().aliases, handle)
    # a name given up at some time may have rounds of its own from then on; if the alias is younger than the run, too
    return list(dict.fromkeys([before, handle] if until == NEVER else [after, before, handle]))


def _explained(dataset: Dataset, handle: str, shown: str) -> str:
    """What to say when a handle has more than one name; empty if it has one."""
    aliases = dataset.log().aliases
    until, before, after = turning_point(aliases, handle)
    if handle not in aliases:
        return ""
    if until == NEVER:
        return f"{handle!r} is now {before!r}" + ("; `ranklake rate` has not been told yet" if shown != before else "")
    try:
        time = f"{utc(until).replace(tzinfo=None)} UTC"
    except OverflowError:  # beyond the calendar
        time = f"{until} s"
    return f"{handle!r} is {before!r} before {time}, {after!r} from then on; shown is {shown!r}"
