"""Beliefs of players as data frames: build a store from a frame, a frame from a store, and select players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels import Beliefs, System
from ranklake.rating_kernels.core.beliefs import Column
from ranklake.rating_kernels.core.limits import LARGEST
from ranklake.rating_kernels.core.ragged import Ragged

from ..execution.rater import BeliefColumns

__all__ = ["beliefs_frame", "build_store", "select_beliefs"]


def build_store(
    system: System, params: Any, players: list[Any], beliefs: Mapping[Any, float] | pd.DataFrame | None
) -> tuple[Beliefs, list[Any]]:
    """A store with the given beliefs, and all players in its order: ``players``, then the others of ``beliefs``."""
    if beliefs is None:
        return system.newcomers(params, len(players)), players
    if not isinstance(beliefs, Mapping | pd.Series | pd.DataFrame):
        raise ValueError(f"beliefs must be a mapping or a pandas frame by player, got {type(beliefs).__name__}")
    if isinstance(beliefs, pd.DataFrame):
        given = beliefs
    else:
        given = pd.DataFrame({"mu": pd.Series(dict(beliefs), dtype=object)})
    if "mu" not in given.columns:
        raise ValueError(f"beliefs need a column mu, got {', '.join(map(str, given.columns))}")
    if not given.index.is_unique:
        raise ValueError(f"beliefs name player {given.index[given.index.duplicated()][0]!r} twice")
    number = {player: i for i, player in enumerate(players)}
    players = players + [player for player in given.index if player not in number]
    number = {player: i for i, player in enumerate(players)}
    store = system.newcomers(params, len(players))
    row = np.array([number[player] for player in given.index], dtype=np.int64)
    mu = _number_column(given, "mu", np.full(len(given), np.nan), least=-np.inf)
    sigma = np.full(len(given), float(params.sigma_init))
    if params.sigma_init > 0.0:  # otherwise the system has no sigma
        sigma = _number_column(given, "sigma", sigma, least=1.0 / LARGEST)
    n_rounds = _number_column(given, "n_rounds", np.zeros(len(given)), least=-1.0, whole=True)
    columns = store.columns()
    state = system.state(params, mu, sigma)
    for name in state.keys() & set(given.columns):
        state[name] = _state_column(given, name, state[name])
    if set(columns) <= {_stored_name(name) for name in given.columns}:  # from return_beliefs: restore all
        for name, column in columns.items():
            if isinstance(column, Ragged):
                cells = [np.asarray(cell, dtype=np.float64) for cell in given[name]]
                lengths = np.array([len(cell) for cell in cells], dtype=np.int64)
                columns[name] = column.put(row, Ragged.from_lengths(lengths, np.concatenate(cells)))
        columns["last_time"][row] = given["last_time_seconds"].to_numpy()  # type: ignore[index]
    for name, values in {"mu": mu, "sigma": sigma, "n_rounds": n_rounds, **state}.items():
        columns[name][row] = values  # type: ignore[index]
    store.restore(columns)
    return store, players


def _number_column(
    given: pd.DataFrame, name: str, default: np.ndarray[Any, Any], least: float, whole: bool = False
) -> np.ndarray[Any, Any]:
    """A column of numbers above ``least``, small enough for their squares to be finite."""
    if name not in given.columns:
        return default
    values: np.ndarray[Any, Any] = pd.to_numeric(given[name], errors="coerce").to_numpy(dtype=np.float64)
    good = (np.abs(values) <= LARGEST) & (values > least)
    if whole:
        good &= (np.floor(values) == values) & (values < np.iinfo(np.int32).max)
    wrong = np.flatnonzero(~good)
    if len(wrong):
        player, value = given.index[wrong[0]], given[name].iloc[wrong[0]]
        low = f"{least:g}" if least > 0.0 else f"-{LARGEST:g}"
        rule = "a count >= 0" if whole else f"within {low}..{LARGEST:g} rating points"
        raise ValueError(f"beliefs of player {player!r}: {name} must be {rule}, got {value}")
    return values


def _state_column(given: pd.DataFrame, name: str, default: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A state column, with the default of the system for missing values."""
    values = pd.to_numeric(given[name], errors="coerce")
    wrong = np.flatnonzero(values.isna() & given[name].notna())
    if len(wrong):
        player, value = given.index[wrong[0]], given[name].iloc[wrong[0]]
        raise ValueError(f"beliefs of player {player!r}: {name} must be a number, got {value!r}")
    return np.where(values.isna(), default, values.to_numpy(dtype=np.float64))


def beliefs_frame(beliefs: BeliefColumns, players: list[Any]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name, column in beliefs.items():
        if isinstance(column, Ragged):
            offsets, values = column
            cells = np.empty(len(players), dtype=object)
            cells[:] = np.split(values, offsets[1:-1]) if len(players) > 1 else [values]
            columns[name] = cells
        else:
            columns["last_time_seconds" if name == "last_time" else name] = column
    return pd.DataFrame(columns, index=pd.Index(players, name="player"))


def _stored_name(name: str) -> str:
    return "last_time" if name == "last_time_seconds" else name


def select_beliefs(
    system: System, params: Any, columns: Mapping[str, Column | Ragged], rows: npt.NDArray[np.int64]
) -> dict[str, Column | Ragged]:
    """The beliefs in some rows of the columns; row -1, and any beyond the last, is a newcomer."""
    selected = system.newcomers(params, len(rows)).columns()
    known = (rows >= 0) & (rows < len(columns["mu"]))
    at = rows[known]
    for name, column in columns.items():
        newcomers = selected[name]
        if isinstance(column, Ragged) and isinstance(newcomers, Ragged):
            selected[name] = newcomers.put(np.flatnonzero(known), column.take(at))
        else:
            newcomers[known] = column[at]  # type: ignore[index]
    return selected
