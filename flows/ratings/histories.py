"""Histories as frames: rated results with their index and all other columns, smoothed ones, and those of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels.smoothing.dates import Path
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.storage import Lake, Run
from ranklake.storage.datasets.selection import Selection
from ranklake.storage.datasets.tables.teams import Teams

from ..answers.dates import DatesDifference, SmoothedPlayer
from ..answers.rated_run import RatedRun
from ..chances.record import RunChances, learnt_chances
from ..common.configuration.settings import check_times
from ..events.seasons import Season
from ..frames.beliefs import PlayerBeliefs
from ..frames.history import smooth_results
from ..frames.kinds import SUFFIX
from ..frames.rating import RatedResults
from ..frames.results import Reading
from ..frames.run_state import RunState
from ..problems.difficulties import RunProblems
from ..problems.joint import joint_tables
from ..problems.options import ProblemOptions
from ..results.components import Components
from ..results.display import Display
from ..results.level_shifts import LevelShifts
from ..results.rated_rounds import RatedRounds
from ..smoothing.params import params_of
from ..sources.column_names import Columns
from ..strengths.strengths import RunStrengths

_REPLACED = ("contest", "player", "lo", "hi", "time", "team")  # keys of results whose values a history has itself
_OWN = (
    "round_index", "contest", "player", "time_seconds", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma",
    "n_before", "rating",
)  # fmt: skip
_SMOOTHED = ["round_index", "contest", "player", "lo", "hi"]
_FIRST = ("round_index", "contest", "player", "time_seconds")
# values of a removed contest, or of none
_OF_CONTEST = {"time_seconds": 0, "weight": 1.0, "precision": 1.0, "perf_ceiling": math.inf}
_FACTORS = {"weight", "precision"}
_SCORED = ("round_index", "lo", "mu_prior", "sigma_prior", "n_before")


def found_columns(reading: Reading, history: pd.DataFrame) -> dict[str, str]:
    """The history's names of columns with factors, ceilings, teams and shares, by key, of those that it has.

    A column of teams that was not named is none.
    """
    keys, of_teams = ("weight", "precision", "perf_ceiling"), bool(reading.columns.get("team"))
    own = (*_OWN, "team") if of_teams else _OWN
    given = {key: name + SUFFIX if name in own else name for key, name in reading.columns.items()}
    named = Columns.parse(f"{key}={given[key]}" for key in keys if key in given)
    columns = named.find([str(name) for name in history.columns], "history", frame=True)
    found = {key: columns[key] for key in keys if key in columns}
    if of_teams:
        found |= {"team": "team"} | ({"share": given["share"]} if given.get("share") else {})
    return found


def scored_columns(reading: Reading, history: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """What :func:`ranklake.evaluate_history` reads of a history, and its ``columns``."""
    found = found_columns(reading, history)
    rows = history[list(_SCORED)].assign(**{key: history[name] for key, name in found.items()})
    for key in _FACTORS & found.keys():  # empty where an update had none
        rows[key] = rows[key].fillna(1.0)
    return rows, {key: key for key in ("team", "share") if key in found}


def history_of(rated: RatedResults, first_round: int = 0, shift: LevelShifts | None = None) -> Any:
    """Every rated participation in rating order, as a frame of the kind of the results, with their other columns.

    ``first_round``: the round of the first contest.
    ``shift``: the shifts of the rounds before.
    """
    columns, beliefs, rows = rated.columns(first_round), rated.beliefs, rated.rows()
    display = Display(beliefs.system, beliefs.params, beliefs.system.deviations, shift=shift)
    times = np.repeat(rated.rated.time_seconds, np.diff(rated.rated.offsets))
    after = columns["n_before"] + np.int32(1), columns["round_index"]
    rating = display.rating(columns["mu"], columns["sigma"], *after)
    head = {name: columns.pop(name) for name in ("round_index", "contest", "player")}
    new = head | {"time_seconds": times} | columns | {"rating": rating}
    new.pop("rated", None)
    if not (are_rated := rated.rated.are_rated).all():
        rows, new = rows[are_rated], {name: column[are_rated] for name, column in new.items()}
    replaced = {key: name for key, name in rated.results.columns.items() if key in _REPLACED}
    history = rated.results.frame.extend(rows, new, replaced)
    if isinstance(history, pd.DataFrame):
        history.attrs |= rated.attributes()
    return history


def smoothed_history(
    history: pd.DataFrame,
    reading: Reading,
    beliefs: PlayerBeliefs,
    settings: Mapping[str, Any],
    engine: Any,
    workers: int | None,
) -> tuple[pd.DataFrame, Smoothing]:
    """Every rated participation, smoothed, except contests of one participant; and the hyperparameters.

    ``reading``: how the results of the history were read.
    ``beliefs``: after the history. Sums are over players in their order, so that the bits are those of the whole
    results.
    ``settings``: as for :func:`ranklake.flows.smoothing.params.params_of`.
    """
    columns = found_columns(reading, history)
    timed = bool(history["time_seconds"].any())
    own = {"contest": "contest", "player": "player", "lo": "lo", "hi": "hi", "time": "time_seconds" if timed else ""}
    own |= dict.fromkeys(("rated", "rated_above", "rated_below"), "")  # the history has rated participations alone
    present = {key: columns.get(key, "") for key in (*_FACTORS, "perf_ceiling", "team", "share")}
    history = history.fillna({present[key]: 1.0 for key in _FACTORS if present[key]})  # empty where an update had none
    results = Reading(own | present, skip_uninformative=False).read(history)
    number = pd.Index(beliefs.players).get_indexer(pd.Index(results.players))
    rounds = replace(results.rounds, player=number[results.rounds.player].astype(np.int32))
    results = replace(results, rounds=rounds, players=beliefs.players)
    params = params_of(beliefs.params, settings)
    if not timed:
        check_times(Smoothing, {name: getattr(params, name) for name in settings}, "the contests have no times")
    smoothed = smooth_results(results, params, engine, workers)
    rows = history.iloc[smoothed.rows()]
    of_teams = {"team": rows["team"]} if present["team"] else {}
    frame = rows[_SMOOTHED].assign(**smoothed.numbers(), **of_teams)
    frame.attrs = {"sweeps": smoothed.smoother.sweeps}
    return frame, params


def smoothed_player(smoothed: pd.DataFrame, params: Smoothing, history: pd.DataFrame, player: Any) -> SmoothedPlayer:
    """The smoothed rounds of a player, from what :func:`smoothed_history` returned about a history."""
    rows, rated = smoothed[smoothed["player"] == player], history[history["player"] == player]
    rounds = rows["round_index"]
    sizes = smoothed[smoothed["round_index"].isin(rounds)].groupby("round_index")["hi"].max() + 1  # places of teams
    time = rated.loc[rated["round_index"].isin(rounds), "time_seconds"].to_numpy()
    path = Path(*(rows[name].to_numpy() for name in ("smooth_mu", "smooth_sigma", "log_gain")))
    return SmoothedPlayer(path._replace(variance=path.variance**2), time, sizes[rounds].to_numpy(), params)


@dataclass(frozen=True, slots=True)
class RunHistory:
    """Where the history of a run is, and whether it has the columns ``team`` and ``share``."""

    lake: str
    run: str
    has_teams: bool = False

    def read(self, beliefs: PlayerBeliefs, display: Display) -> pd.DataFrame:
        """The rounds of the run, with the names of contests and players."""
        rounds = RatedRounds(Lake.open(self.lake), self.run)
        table = rounds.with_ratings(rounds.rows(), display)
        teams = (rounds.teams_of(table) or Teams.none(table.num_rows)) if self.has_teams else None
        handles = pa.array(beliefs.players).take(table.column("player").combine_chunks())
        table = table.set_column(table.column_names.index("player"), "player", handles)
        for name, unknown in _OF_CONTEST.items():
            of_round = rounds.contests_table.column(name).fill_null(unknown)
            table = table.append_column(name, of_round.take(table.column("round_index")))
        table = table.rename_columns({"contest_id": "contest"})
        if teams is not None:
            table = table.append_column("team", teams.name)
        last = ["rating", *(name for name in _OF_CONTEST if name not in _FIRST)]
        others = [name for name in table.column_names if name not in (*_FIRST, *last)]
        history: pd.DataFrame = table.select([*_FIRST, *others, *last]).to_pandas()
        return history if teams is None else history.assign(share=teams.share)

    def between(self, player: str, start: int, end: int) -> DatesDifference:
        """The difference of a player's skill between two dates, by the smoothing of the run."""
        return RatedRun(Lake.open(self.lake), self.run).between(player, start, end)

    def check_without_resets(self) -> None:
        """Raise ``ValueError`` if ratings are reset between rounds: the frame of a history does not say so."""
        if RatedRounds(Lake.open(self.lake), self.run).dataset.events().resets:
            remedy = f"`ranklake smooth --run {self.run}` smooths it"
            raise ValueError(f"the ratings of run {self.run} are reset between contests; {remedy}")

    def seasons(self) -> list[Season]:
        """The seasons of the data set, with the rounds of the run."""
        return RatedRun(Lake.open(self.lake), self.run).seasons()

    def season(self, name: str) -> Season:
        """A season of the data set, with the rounds of the run; ``MissingError`` names those that exist."""
        return RatedRun(Lake.open(self.lake), self.run).season(name)

    def chances(self) -> RunChances | None:
        """What the run has learnt of games between two; None if the contests have more participants."""
        return learnt_chances(RatedRounds(Lake.open(self.lake), self.run))

    def problems(self, options: ProblemOptions, contest: str | None) -> pa.Table:
        """The difficulties of the problems of the run's contests, or of one of them."""
        found = RunProblems(Lake.open(self.lake), self.run, options)
        if options.joint:
            return joint_tables(found, contest).problems.rows
        return found.of_contest(found.table(), contest)

    def strengths(self, where: Mapping[str, str], by: str | None) -> RunStrengths:
        """The strengths that explain all games of the run, or some of them."""
        selection = Selection(tuple((column, (value,)) for column, value in sorted(where.items())))
        return RunStrengths(RatedRounds(Lake.open(self.lake), self.run), selection, by)

    def components(self, stop: int | None = None) -> Components:
        """Who met whom in the run, or in its rounds before ``stop``."""
        return RatedRounds(Lake.open(self.lake), self.run).components(stop)


def shown_by(run: Run) -> dict[str, Any]:
    """The display of a run in ``run.json``, for JSON: numbers of the display rating, and options of places."""
    shown = dict(run.config.get("display", {}))
    shift = Display.of(run).shift if shown.pop("level", None) else None
    return shown if shift is None else shown | {"shift": asdict(shift)}


def run_beliefs(run: Run) -> tuple[PlayerBeliefs, int, bool]:
    """The beliefs after the last round of a run, the number of its rounds, and whether any of them has teams.

    Raises LakeError: the run has no ratings or was interrupted.
    """
    state, display = RunState.read(run), Display.of(run)
    players = state.dataset.handles().to_pylist()[: len(state.columns["mu"])]
    last_time = int(state.ends[-1])
    beliefs = PlayerBeliefs(display.system.name, display.params, players, state.columns, state.n_events, last_time)
    return beliefs, len(state.ends), state.has_teams
