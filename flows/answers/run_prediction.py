"""Predict the next round of a run in the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ranklake.storage import Dataset, Lake, Run

from ..common.configuration.settings import check_to_come
from ..execution.rater import select_beliefs
from ..frames.prediction import Prediction
from ..frames.run_state import RunState
from ..matchmaking.balance import Balance, first_teams
from ..results.display import Display
from ..results.player_names import candidate_names
from .rated_run import RatedRun


def predict_run(
    lake: Lake,
    run_name: str,
    handles: Sequence[str | list[str]],
    newcomers: int = 0,
    time_seconds: int | None = None,
    weight: float = 1.0,
    precision: float = 1.0,
    deviations: float | None = None,
    value: str | None = None,
    covariates: Mapping[str, float] | None = None,
    new: bool = False,
) -> tuple[Prediction, dict[str, str]]:
    """Predict the next round of a run; also returns the rated name of the player of each handle, members included.

    Unrated players of the data set, and ``newcomers`` more, enter as newcomers; with ``new`` unknown handles, too. A
    handle ``ada+grace`` that no player has is the team of these two, as a list of both is. Of games, three chances are
    those of all games, or of games with a ``value`` of the column by which the run learns.

    ``covariates``: of a game between two, turned to the first entrant; 0 by default.
    Raises ``LakeError`` if there is no such run or player, or the run has no ratings or was interrupted.
    Raises ``ValueError`` as :class:`Prediction`, or if the run learns by no column, or knows no such covariate.
    """
    run = Run.open(lake, run_name)
    state = RunState.read(run, until=time_seconds)
    n_rounds = np.asarray(state.columns["n_rounds"])
    names: dict[str, str] = {}
    rows: list[int] = []
    players: list[Any] = []
    for entrant in handles:
        members = entrant if isinstance(entrant, list) else members_of(state.dataset, entrant)
        for handle in members:
            if new and not _is_known(state.dataset, handle):
                names[handle] = handle
                rows.append(-1)
                continue
            known = candidate_names(state.dataset, handle)
            rated = (name for name, row in known.items() if row < len(n_rounds) and n_rounds[row])
            names[handle] = next(rated, next(iter(known)))
            rows.append(known[names[handle]])
        team = [names[handle] for handle in members]
        names["+".join(members)] = "+".join(team)
        players.append(team if len(team) > 1 else team[0])
    players += [f"newcomer {i + 1}" for i in range(newcomers)]
    display = Display.of(run, deviations)
    latest = int(state.ends.max())
    if time_seconds is None:
        time_seconds = latest if state.reset_time is None else max(latest, state.reset_time)
    check_to_come(display.params, time_seconds, state.last_time, latest)
    at = np.array(rows + [-1] * newcomers, dtype=np.int64)
    selected = select_beliefs(display.system, display.params, state.columns, at)
    opened = RatedRun(lake, run_name)
    if covariates and len(players) != 2:
        raise ValueError(f"covariates are of a game between two entrants, and there are {len(players)}")
    games = opened.games_to_come(value) if len(players) == 2 else None
    numbers = np.full(len(at), -1)
    numbers[at >= 0] = opened.components_of(at[at >= 0].tolist())
    return Prediction(
        display, players, selected, time_seconds, state.n_events, weight=weight, precision=precision,
        components=numbers.tolist(), games=lambda: games, deviations=lambda: opened.deviations(at.tolist()),
        ahead=opened.ahead(covariates or {}),
    ), names  # fmt: skip


def members_of(dataset: Dataset, entrant: str) -> list[str]:
    """The handles of an entrant: of a team ``ada+grace``, unless a player has just this name."""
    return _split_unless_known(dataset, entrant, "+", "team")


def balance_run(
    lake: Lake,
    run_name: str,
    parties: Sequence[str],
    sizes: Sequence[int] | None = None,
    time_seconds: int | None = None,
    deviations: float | None = None,
    new: bool = False,
) -> tuple[Balance, Prediction]:
    """Two teams of some players of a run that are as even as possible; also the prediction that knows the players.

    ``parties``: a handle, or handles between commas that stay together, unless a player has just this name.
    ``sizes``: of the two teams, by default equal ones.
    ``new``: whether unknown handles are newcomers; otherwise they are errors.
    Raises ``LakeError`` as :func:`predict_run`; ``ValueError`` as :func:`ranklake.flows.matchmaking.balance.balance`,
    or if the system has no rule for teams.
    """
    dataset = Dataset.open(lake, Run.open(lake, run_name).config["dataset"])
    handles = [_split_unless_known(dataset, party, ",", "party") for party in parties]
    sides: list[str | list[str]] = [*first_teams(handles, sizes)]
    prediction, names = predict_run(lake, run_name, sides, time_seconds=time_seconds, deviations=deviations, new=new)
    return prediction.balance([[names[handle] for handle in party] for party in handles], sizes), prediction


def _split_unless_known(dataset: Dataset, text: str, sign: str, what: str) -> list[str]:
    if sign not in text or _is_known(dataset, text):
        return [text]
    members = text.split(sign)
    if not all(members):
        raise ValueError(f"no player {text!r}, and no {what}: a member between two {sign} has no name")
    return members


def _is_known(dataset: Dataset, handle: str) -> bool:
    return dataset.find(handle) is not None or handle in dataset.log().aliases
