"""What a system takes from attributes of players: first beliefs, such as a rating, and own hyperparameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, LakeError
from ranklake.storage.datasets.player_attributes import player_attributes

if TYPE_CHECKING:
    from ranklake.rating_kernels.core.limits import Limits

    from ..execution.rater import BeliefColumns

PlayerState = dict[str, npt.NDArray[np.float64]]


def player_state(
    system: str, dataset: Dataset, params: Any = None, handles: pa.StringArray | None = None
) -> PlayerState:
    """A number for each player of a data set, or of ``handles``, by column of the beliefs, NaN where there is none.

    Empty if no player has such an attribute, or the system is unknown. ``LakeError`` names a value out of range, which
    may depend on hyperparameters.
    """
    state = PlayerState()
    if not dataset.attributes().num_rows:
        return state
    from ranklake.rating_kernels import SYSTEMS  # kernels, which `ranklake runs` otherwise does without

    wanted = SYSTEMS[system].attributes if system in SYSTEMS else ()
    if not wanted:
        return state
    recorded = player_attributes(dataset, handles)
    permitted = {} if params is None else SYSTEMS[system].permitted(params)
    for column, name, limits in wanted:
        rows = recorded.filter(pc.equal(recorded.column("attribute"), name))
        if rows.num_rows:
            state[column] = np.full(dataset.n_players if handles is None else len(handles), np.nan)
            columns = (rows.column(key).to_pylist() for key in ("player", "handle", "value"))
            for player, handle, value in zip(*columns, strict=True):
                state[column][player] = _number(name, permitted.get(column, limits), handle, value)
    return state


def state_of_player(system: str, dataset: Dataset, player: int) -> PlayerState:
    """The state of one player of a data set, for a store of one; as :func:`player_state`."""
    return {name: values[[player]] for name, values in player_state(system, dataset).items()}


def newcomers_with_state(system: str, dataset: Dataset, params: Any) -> tuple[pa.StringArray, PlayerState]:
    """The names of which a data set has attributes but no contest yet, and their state."""
    names = pc.unique(dataset.attributes().column("handle"))
    names = names.filter(pc.invert(pc.is_in(names, dataset.handles())))
    return names, player_state(system, dataset, params, names)


def with_state(columns: BeliefColumns, state: PlayerState) -> BeliefColumns:
    """Columns of beliefs about all players, in which players without rounds have their state."""
    new = columns["n_rounds"] == 0
    given = {name: np.where(new & ~np.isnan(values), values, columns[name]) for name, values in state.items()}
    return columns | given


def _number(name: str, limits: Limits, handle: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not limits.contains(value) or (limits.kind == "whole number" and value % 1.0):
        raise LakeError(
            f"{name} of player {handle!r} must be {limits.rule}, got {text!r}; correct the table of players and record "
            "it again with `ranklake attributes`"
        )
    return value


def add_state(contents: list[bytes], dataset: Dataset, state: PlayerState) -> None:
    """Add to the content of each contest, in place, the state of its players, if any of them has one.

    A run is then rated again from the first contest of a player whose attribute was changed. Reads all standings.
    """
    if not state:
        return
    for part in dataset.standings():
        values = np.stack([column[part.player] for column in state.values()], axis=1)
        for i in range(len(part)):
            of_contest = values[part.offsets[i] : part.offsets[i + 1]]
            if not np.isnan(of_contest).all():
                contents[part.first_contest + i] += of_contest.tobytes()
