"""Beliefs of players as data frames: build a store from a frame, a frame from a store, and select players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels import Beliefs, System
from ranklake.rating_kernels.core.limits import LARGEST, Limits
from ranklake.rating_kernels.core.ragged import Ragged, Shared

from ..common.configuration.settings import (
    build_params,
    find_system,
    params_to_json,
    recorded_settings,
    renamed_settings,
)
from ..common.text import described
from ..execution.rater import BeliefColumns
from ..results.level_shifts import LevelShifts
from .kinds import to_pandas
from .notebook import warn_user

_DEFAULT = "elo-mmr"


@dataclass(frozen=True, slots=True, eq=False)
class PlayerBeliefs:
    """Beliefs about players, and what computed them.

    ``name``: the name of the system.
    ``players``: in the order of the columns.
    ``columns``: as from ``Beliefs.columns``.
    ``n_events``: events rated or skipped so far; consecutive contests of one time are one event.
    ``last_time``: end of the last contest, UTC seconds; 0 if unknown.
    """

    name: str
    params: Any
    players: list[Any]
    columns: BeliefColumns
    n_events: int = 0
    last_time: int = 0

    @property
    def system(self) -> System:
        """The system that computed the beliefs."""
        return find_system(self.name)

    def frame(self) -> pd.DataFrame:
        """A frame indexed by player, one column for each of the store's; :class:`InitialBeliefs` takes it."""
        columns: dict[str, Any] = {}
        shared: dict[str, list[float]] = {}
        for name, column in self.columns.items():
            if isinstance(column, Shared):
                shared[name] = column.values.ravel().tolist()
            elif isinstance(column, Ragged):
                offsets, values = column
                cells = np.empty(len(self.players), dtype=object)
                cells[:] = np.split(values, offsets[1:-1]) if len(self.players) > 1 else [values]
                columns[name] = cells
            else:
                columns["last_time_seconds" if name == "last_time" else name] = column
        frame = pd.DataFrame(columns, index=pd.Index(self.players, name="player"))
        frame.attrs |= {
            "system": self.name,
            "hyperparameters": params_to_json(self.params),
            "events": self.n_events,
            "time_seconds": self.last_time,
        } | ({"shared": shared} if shared else {})
        return frame


@runtime_checkable
class HasBeliefs(Protocol):
    """An object that can be given for ``beliefs``, such as :class:`ranklake.Ratings`."""

    def __ranklake_beliefs__(self) -> PlayerBeliefs:
        """The beliefs it has."""


def shift_of(beliefs: Any) -> LevelShifts | None:
    """The shifts of the display rating of :class:`ranklake.Ratings` of a run with a steady level."""
    of_ratings = getattr(beliefs, "__ranklake_shift__", None)
    return None if of_ratings is None else of_ratings()


@dataclass(frozen=True, slots=True)
class InitialBeliefs:
    """Beliefs before the first contest, as they are given, and the system that takes them with its hyperparameters."""

    given: PlayerBeliefs | pd.DataFrame | None
    system: System
    params: Any

    @classmethod
    def open(cls, beliefs: Any, name: str | None, hyperparameters: Mapping[str, Any]) -> InitialBeliefs:
        """The beliefs, with the system and the hyperparameters given, else their own, else the defaults."""
        given = _read(beliefs)
        facts: Mapping[Any, Any] = {} if given is None else getattr(given, "attrs", {})
        if isinstance(given, PlayerBeliefs):
            facts = {"system": given.name, "hyperparameters": params_to_json(given.params)}
        recorded_name, recorded = facts.get("system"), facts.get("hyperparameters", {})
        if recorded_name is None:
            system = find_system(name or _DEFAULT)
            return cls(given, system, build_params(system, hyperparameters))
        if name is not None and find_system(name).name != recorded_name:
            raise ValueError(
                f"beliefs are those of {recorded_name}, not of {name}; leave system out, or pass a mapping of ratings"
            )
        system = find_system(recorded_name)
        recorded = recorded_settings(system, recorded)
        params = build_params(system, {**recorded, **renamed_settings(system, hyperparameters)})
        computed = build_params(system, recorded)
        wanted, had = params_to_json(params, whole=True), params_to_json(computed, whole=True)
        if differs := [key for key in wanted if wanted[key] != had[key]]:
            key = differs[0]
            raise ValueError(
                f"beliefs were computed with {key} = {had[key]}, not {wanted[key]}; leave {key} out, or pass a mapping "
                f"of ratings to start from these with other hyperparameters"
            )
        return cls(given, system, params)

    @property
    def last_event(self) -> tuple[int, int]:
        """The number of events so far, and the end of the last one (0 if unknown)."""
        if isinstance(self.given, PlayerBeliefs):
            return self.given.n_events, self.given.last_time
        attrs = {} if self.given is None else self.given.attrs
        return attrs.get("events", 0), attrs.get("time_seconds", 0)

    @property
    def players(self) -> list[Any]:
        """The players with beliefs."""
        if self.given is None:
            return []
        return self.given.players if isinstance(self.given, PlayerBeliefs) else self.given.index.tolist()

    def newcomers_among(self, players: Sequence[Any]) -> list[Any]:
        """The players without beliefs, each once, if any other one has some; otherwise :meth:`store` says it."""
        known = set(self.players)
        new = [player for player in dict.fromkeys(players) if player not in known]
        return new if len(new) < len(set(players)) else []

    def store(self, players: list[Any], what: str = "results") -> tuple[Beliefs, list[Any]]:
        """A store with these beliefs, and all players in its order: ``players``, then the others who have beliefs.

        Warns if no player has beliefs that carry their system: players may be new.

        Raises ValueError: invalid beliefs; or no player has any, and names are of another kind or the beliefs lack
        their system.
        """
        given = self.given
        if given is None:
            return self.system.newcomers(self.params, len(players)), players
        known, number = self.players, {player: i for i, player in enumerate(players)}
        if known and players and not any(player in number for player in known):
            recorded = isinstance(given, PlayerBeliefs) or "system" in given.attrs
            report_no_common_player(known[0], players[0], recorded, what)
        players = players + [player for player in known if player not in number]
        number = {player: i for i, player in enumerate(players)}
        store = self.system.newcomers(self.params, len(players))
        row = np.array([number[player] for player in known], dtype=np.int64)
        if isinstance(given, PlayerBeliefs):
            columns = store.columns()
            for name, column in given.columns.items():
                newcomers = columns[name]
                if isinstance(column, Shared):
                    columns[name] = column
                elif isinstance(column, Ragged) and isinstance(newcomers, Ragged):
                    columns[name] = newcomers.put(row, column)
                else:
                    newcomers[row] = column  # type: ignore[index]
        else:
            columns = _columns_of_frame(self.system, self.params, given, row, store.columns())
        store.restore(columns)
        return store, players

    def warn_of_lost_record(self, name: str | None) -> None:
        """Warn if beliefs come from a history, but neither they nor the caller name their system."""
        if name is not None or not isinstance(self.given, pd.DataFrame):
            return
        if "last_time_seconds" in self.given.columns and "system" not in self.given.attrs:
            warn_user(
                f"beliefs do not record what computed them, their attrs are lost: they are read as of {_DEFAULT}; name "
                f"the system and its hyperparameters, or keep beliefs with Ratings.save"
            )


def _read(beliefs: Any) -> PlayerBeliefs | pd.DataFrame | None:
    """Beliefs as they are accepted: an object with beliefs, or a frame indexed by player."""
    if beliefs is None or isinstance(beliefs, PlayerBeliefs):
        return beliefs
    if isinstance(beliefs, HasBeliefs):
        return beliefs.__ranklake_beliefs__()
    if isinstance(beliefs, Mapping | pd.Series):
        given = pd.DataFrame({"mu": pd.Series(dict(beliefs), dtype=object)})
    else:
        try:
            given = to_pandas(beliefs)
        except ValueError:
            kinds = "Ratings, a mapping from player to mu, or a frame by player"
            raise ValueError(f"beliefs must be {kinds}, got {described(beliefs)}") from None
    if "player" in given.columns and given.index.name != "player":
        given = given.set_index("player")
    if not given.index.is_unique:
        raise ValueError(f"beliefs name player {given.index[given.index.duplicated()][0]!r} twice")
    return given


def report_no_common_player(known: Any, player: Any, recorded: bool = True, what: str = "results") -> None:
    """Warn that no player has beliefs, given one who has and one of the results.

    ``recorded``: whether the beliefs carry their system.
    """
    if isinstance(known, str) != isinstance(player, str):
        raise ValueError(
            f"no player of beliefs is in {what}: names are {_kind_of(known)} in beliefs and {_kind_of(player)} in "
            f"{what}; convert the numbers to texts, as with astype(str)"
        )
    text = f"no player of beliefs, such as {known!r}, is in {what}, such as {player!r}"
    if not recorded:
        raise ValueError(text)
    warn_user(f"{text}; all are newcomers")


def _kind_of(name: Any) -> str:
    return f"{'texts' if isinstance(name, str) else 'numbers'} such as {getattr(name, 'item', lambda: name)()!r}"


def _columns_of_frame(
    system: System, params: Any, given: pd.DataFrame, row: npt.NDArray[np.int64], columns: BeliefColumns
) -> BeliefColumns:
    """The store's columns with the beliefs of a frame in the given rows."""
    have = set(given.columns)
    if "mu" not in have and have.isdisjoint(column for column, _, _ in system.attributes):
        raise ValueError(f"beliefs need a column mu, got {', '.join(map(str, given.columns)) or 'no columns'}")
    mu = _number_column(given, "mu", np.full(len(given), float(params.mu_init)), least=-np.inf)
    sigma = np.full(len(given), float(params.sigma_init))
    if params.sigma_init > 0.0:  # otherwise the system has no sigma
        sigma = _number_column(given, "sigma", sigma, least=1.0 / LARGEST)
    n_rounds = _number_column(given, "n_rounds", np.zeros(len(given)), least=-1.0, whole=True)
    state = system.state(params, mu, sigma)
    limits = system.permitted(params)
    if "mu" in have & limits.keys():
        mu = _state_column(given, "mu", np.full(len(given), float(params.mu_init)), limits["mu"])
    for name in state.keys() & set(given.columns):
        state[name] = _state_column(given, name, state[name], limits.get(name))
    if "last_time_seconds" in given.columns:  # from return_beliefs: restore all
        _check_complete(system, given, columns)
        for name, column in columns.items():
            if isinstance(column, Ragged):
                cells = _list_cells(given, name)
                lengths = np.array([len(cell) for cell in cells], dtype=np.int64)
                columns[name] = column.put(row, Ragged.from_lengths(lengths, np.concatenate([*cells, np.empty(0)])))
        columns["last_time"][row] = given["last_time_seconds"].to_numpy()  # type: ignore[index]
    for name, values in {"mu": mu, "sigma": sigma, "n_rounds": n_rounds, **state}.items():
        columns[name][row] = values  # type: ignore[index]
    for name, numbers in given.attrs.get("shared", {}).items():
        columns[name] = Shared(np.array(numbers))
    return columns


def _check_complete(system: System, given: pd.DataFrame, columns: BeliefColumns) -> None:
    """Refuse a frame of stored beliefs without all columns of the system, but values of a player's own (NaN: none)."""
    rows = [name for name, column in columns.items() if not isinstance(column, Shared)]
    wanted = ["last_time_seconds" if name == "last_time" else name for name in rows]
    own = {name for name in given.columns if str(name).startswith("history_")}
    optional = {name for name in rows if isinstance(columns[name], np.ndarray) and np.isnan(columns[name]).all()}
    missing = [name for name in wanted if name not in given.columns and name not in optional]
    if missing or own - set(wanted):
        have = ", ".join(map(str, given.columns))
        raise ValueError(
            f"beliefs of {system.name} have the columns {', '.join(wanted)}, got {have}: they are of another system or "
            f"not complete; beliefs['mu'] alone starts from ratings"
        )


def _list_cells(given: pd.DataFrame, name: str) -> list[npt.NDArray[np.float64]]:
    """The lists of a column, one for each player."""
    for player, cell in zip(given.index, given[name], strict=True):
        if isinstance(cell, str) or not hasattr(cell, "__len__"):
            raise ValueError(
                f"beliefs of player {player!r}: {name} must be a list of numbers, got {str(cell)[:20]!r}; CSV has no "
                f"lists: keep beliefs with to_parquet or Ratings.save, or start from beliefs['mu'] alone"
            )
    return [np.asarray(cell, dtype=np.float64) for cell in given[name]]


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


def _state_column(
    given: pd.DataFrame, name: str, default: np.ndarray[Any, Any], limits: Limits | None
) -> np.ndarray[Any, Any]:
    """A state column, with the default of the system for missing values; some have limits."""
    values = pd.to_numeric(given[name], errors="coerce").to_numpy(dtype=np.float64)
    good = ~np.isnan(values)
    if limits is not None:
        of_kind = (np.floor(values) == values) | (limits.kind != "whole number")
        good = (limits.mask(values) & of_kind) | (values == default)
    wrong = np.flatnonzero(~good & given[name].notna())
    if len(wrong):
        player, value = given.index[wrong[0]], given[name].iloc[wrong[0]]
        rule, shown = "a number" if limits is None else limits.rule, getattr(value, "item", lambda: value)()
        if limits is not None and default[wrong[0]] == 0.0 and not limits.contains(0.0):
            rule += ", or 0 for none"
        raise ValueError(f"beliefs of player {player!r}: {name} must be {rule}, got {shown!r}")
    return np.where(np.isnan(values), default, values)
