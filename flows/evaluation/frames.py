"""Scores of a history that :func:`ranklake.rate_history` returned; no lake needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels.core.limits import POINTS, SHARE, positive
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import System, check_value
from ranklake.rating_kernels.metrics.metrics import SCALE
from ranklake.rating_kernels.warm import CHANCES, SCORES

from ..chances.record import chances_of_games
from ..chances.stored import games_of_entrants
from ..common.arguments import checked
from ..common.configuration.settings import build_params, find_system
from ..compilation.compile import compile_parts
from ..entrants.entrants import Entrants
from ..frames.kinds import to_pandas
from .game_chances import score_chances
from .three_way import ThreeWayScores

_COLUMNS = ("round_index", "lo", "mu_prior", "n_before")


@checked
def evaluate_history(
    history: Any,
    first_round: int = 0,
    *,
    scale: float = SCALE,
    columns: Mapping[str, str] | None = None,
    by: Literal["chance", "result"] | None = None,
    system: str | None = None,
    **hyperparameters: Any,
) -> pd.DataFrame:
    """Score how well the ratings before each round predicted its places.

    Parameters
    ----------
    history
        One row a participation in rating order, of any kind, with the columns ``round_index, lo, mu_prior, n_before``.
        Rows whose column ``rated`` is false are left out.
    first_round
        Rounds with a smaller ``round_index`` are not scored.
    scale
        Rating difference at which odds of ten to one are predicted, for expected ranks and cross-entropy.
    columns
        What the history calls its columns ``team`` and ``share`` of a member, if teams took places: metrics then have
        one row a team. Without their names these columns are not read.
    by
        ``"chance"`` for the reliability table: the pairs by the favourite's chance. ``"result"``, if all rounds are of
        two: games by the chances of a win, a draw and a loss. Both need the system.
    system, hyperparameters
        The system that rated the history, for rank information and the metrics of its own chances
        (``own_cross_entropy``, ``brier``, ``calibration_error``), which are NaN without it; ``sigma_prior`` is read
        then, and ``weight`` and ``precision`` of contests, if there are such columns.

    Returns
    -------
    pd.DataFrame
        One row a filter (``everyone``, ``experienced``, ``top100``): ``weight``, the participations scored, and every
        metric of ``ranklake evaluate``. A metric is NaN if no round is scored under the filter. If all rounds are of
        two and the system is given, also the scores of the chances of a win, a draw and a loss, ``log_loss3, brier3,
        ranked_probability, draws_predicted, draws_seen``, by what earlier rounds taught about draws.

        With ``by="chance"`` one row a filter and bin of the favourite's chance, from ``least`` to ``most``: number of
        ``pairs``, their ``weight`` in participations, the mean ``chance`` of the favourites, and the share of them that
        won, ``seen``; a tie is half a win. With ``by="result"`` one row a filter, ``result`` and bin of its chance.

    Raises
    ------
    ValueError
        A column is missing, rounds are not in order, a rating is not finite, no round is left to score, the scale is
        out of range, there is no such system or hyperparameter, or ``by`` is not known.
    """
    history = to_pandas(history, "history")
    if "rated" in history.columns and pd.api.types.is_bool_dtype(history["rated"]):  # as rate_history marks them
        history = history[history["rated"].fillna(True).astype(bool)]
    check_value("scale", scale, positive(POINTS)["limits"])
    if system is None and hyperparameters:
        raise ValueError(f"{next(iter(hyperparameters))} is a hyperparameter of a system; give system too")
    if by not in (None, "chance", "result"):
        raise ValueError(f'by must be "chance", "result" or None, got {by!r}')
    if by is not None and system is None:
        raise ValueError(f"by={by!r} needs the system that rated the history; give system")
    needed = _COLUMNS if system is None else (*_COLUMNS, "sigma_prior")
    if missing := [name for name in needed if name not in history.columns]:
        raise ValueError(f"history needs the columns {', '.join(needed)}; {missing[0]} is missing")
    round_index = history["round_index"].to_numpy()
    if np.any(np.diff(round_index) < 0):
        raise ValueError("history must be in rating order: round_index decreases")
    if first_round < 0:
        raise ValueError(f"first_round must be >= 0, got {first_round}")
    rows = history[round_index >= first_round]
    if rows.empty:
        raise ValueError(f"history has no round from round {first_round} on")
    if not np.isfinite(rows["mu_prior"].to_numpy(np.float64)).all():
        raise ValueError("history: mu_prior must be finite")
    if not (rows["lo"] >= 0).all():
        row = rows.index[~(rows["lo"] >= 0)][0]
        raise ValueError(f"history: lo must be a place from 0, got {rows['lo'][row]!r} in row {row!r}")
    compile_parts([SCORES] if system is None else [SCORES, CHANCES])
    if system is None:
        scores = entrants_of(None, None, rows, columns or {})[0].scores(scale=scale)
        return pd.DataFrame({name: one.summary() for name, one in scores.items()}).T.rename_axis("filter")
    found = find_system(system)
    params = build_params(found, hyperparameters)
    entrants, _ = entrants_of(found, params, rows, columns or {})
    results = _three_way(found, params, history, first_round, columns or {})
    if by == "result":
        if results is None:
            raise ValueError("by='result' is for games, and contests of two: a round has more entrants")
        return _by_result(results)
    scores = entrants.scores(scale=scale)
    if by == "chance":
        tables = {name: pd.DataFrame(table) for name, one in scores.items() if (table := one.reliability())}
        return pd.concat(tables, names=["filter"]).reset_index("filter").reset_index(drop=True)
    means = {} if results is None else results.means()
    summaries = {name: one.summary() | means.get(name, {}) for name, one in scores.items()}
    return pd.DataFrame(summaries).T.rename_axis("filter")


def entrants_of(
    system: System | None, params: Any, rows: pd.DataFrame, columns: Mapping[str, str]
) -> tuple[Entrants, Conditions]:
    """The entrants of a history's rows, and the conditions of its rounds."""
    starts = np.flatnonzero(np.diff(rows["round_index"], prepend=-1))
    offsets = np.append(starts, len(rows)).astype(np.int64)
    lo, n_before = (np.array(rows[name], dtype=np.int32) for name in ("lo", "n_before"))
    sigma, conditions = np.zeros(len(rows)), Conditions(np.ones(len(starts)), np.ones(len(starts)))
    if system is not None:
        given = [name for name in Conditions._fields if name in rows]
        conditions = conditions._replace(**{name: np.array(rows[name], dtype=np.float64)[starts] for name in given})
        sigma = np.array(rows["sigma_prior"], dtype=np.float64)
    mu, teams = np.array(rows["mu_prior"], dtype=np.float64), _teams(rows, starts, columns)
    of_round = offsets, lo, mu, sigma, n_before, np.zeros(len(rows)), conditions, teams
    return Entrants.of(system, params, *of_round), conditions


def _three_way(
    system: System, params: Any, history: pd.DataFrame, first_round: int, columns: Mapping[str, str]
) -> ThreeWayScores | None:
    """The scores of three chances of rounds of two from the first on, by what all rounds before each taught.

    None if a round has more entrants. The rows do not say who came first: no advantage is learnt.
    """
    if "team" not in columns and history["round_index"].value_counts().max() > 2:
        return None
    entrants, conditions = entrants_of(system, params, history, columns)
    if not np.isfinite(entrants.mu).all() or (np.diff(entrants.offsets) > 2).any():
        return None
    games = games_of_entrants(entrants, 0, conditions)
    known = chances_of_games(system, params, games)
    first = int(np.searchsorted(np.unique(history["round_index"]), first_round))
    return score_chances(system, params, known, games.since(first))


def _by_result(scores: ThreeWayScores) -> pd.DataFrame:
    """The reliability table of each result."""
    tables = {
        (name, result): pd.DataFrame(table)
        for name, row in scores.summary().items()
        for result, table in row["reliability"].items()
    }
    found = pd.concat(tables, names=["filter", "result"]).reset_index(["filter", "result"]).reset_index(drop=True)
    return found


def _teams(rows: pd.DataFrame, starts: npt.NDArray[np.int64], columns: Mapping[str, str]) -> Ragged | None:
    """The teams of a history's rows, whose members are adjacent."""
    if others := columns.keys() - {"team", "share"}:
        raise ValueError(f"columns may name team and share, got {min(others)!r}")
    if missing := [name for name in columns.values() if name not in rows.columns]:
        raise ValueError(f"history has no column {missing[0]!r}")
    if "team" not in columns:
        if columns:
            raise ValueError("columns={'share': ...} needs the column of the teams, too")
        return None
    team, share = columns["team"], columns.get("share")
    codes, _ = pd.factorize(rows[team])
    opens = np.append(True, codes[1:] != codes[:-1]) | (codes < 0)
    opens[starts] = True
    sizes = np.diff(np.flatnonzero(opens), append=len(rows))
    if (sizes == 1).all():
        return None
    shares = np.ones(len(rows)) if share is None else rows[share].fillna(1.0).to_numpy(np.float64)
    if not SHARE.mask(shares).all():
        raise ValueError(f"history: {share} must be {SHARE.rule}")
    return Ragged.from_lengths(sizes, shares)
