"""The strengths that explain all games of a run at once, also of categories of its games, and what belongs to them.

All is derived from the rated rounds, and no digest depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.bradley_terry.all_games import AllGames
from ranklake.rating_kernels.bradley_terry.fit import Fit
from ranklake.rating_kernels.bradley_terry.params import DROP, UNIT
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.inference.win_probability import logistic
from ranklake.storage import LakeError
from ranklake.storage.datasets.selection import Selection, check_selection
from ranklake.storage.lake.schemas import COEFFICIENTS, PAIRS, STRENGTHS

from ..common.configuration.settings import find_system
from ..common.text import listed
from ..entrants.explained import GameBlocks, named_players
from ..results.components import Components
from ..results.display import Display
from ..results.places import PlaceOptions
from ..results.rated_rounds import RatedRounds
from ..results.states import States, board_table
from ..results.titles import NONE

ALL = Selection()
_OF_PLACES = ("place", "place_high", "place_low", "tier", "handle")


class RunStrengths:
    """The strengths of a run.

    ``where``: only these games.
    ``places``: who has a place; by default those of the run.
    ``by``: a kept column; each of its values is a category with a fit of its own, beside that of all games.
    Raises ``ValueError``: the system does not explain all games at once, or games have no most likely strengths.
    Raises ``LakeError``: no game has such a column or value.
    """

    def __init__(
        self, rounds: RatedRounds, where: Selection = ALL, by: str | None = None, places: PlaceOptions | None = None
    ) -> None:
        name, system = rounds.run.name, find_system(rounds.run.config["system"])
        if system.all_games is None:
            raise ValueError(f"run {name} is rated by {system.name}, game after game; bt explains all games at once")
        self._rounds, self._where, self._by = rounds, where, by
        self._display, self._places = Display.of(rounds.run), places or PlaceOptions.of_run(rounds.run)

    @cached_property
    def _fitted(self) -> dict[str | None, _Fitted]:
        """The fit of each category, in order; None is that of all games."""
        blocks, where, by = GameBlocks(self._rounds), self._where, self._by
        check_selection(self._rounds.dataset, where)
        games: dict[str | None, AllGames] = {None: blocks.no_games()}
        for rounds, kept in blocks.read(0, self._rounds.chain.stop_round):
            mask = where.mask(kept, len(rounds))
            games[None].add(rounds.keep(mask))
            values, codes = ([], None) if by is None or kept is None else kept.values(by)
            for code, value in enumerate(values):
                of = games.setdefault(value, blocks.no_games())
                of.add(rounds.keep(mask & (codes == code)))
        if by is not None and len(games) == 1:
            name = self._rounds.dataset.name
            raise LakeError(
                f"no game of data set {name} has a column {by!r}; "
                f"`ranklake ingest games FILE --keep {by} --dataset {name}` keeps one"
            )
        with named_players(self._rounds.dataset):
            whole = _Fitted(games.pop(None), None)
            chosen = sorted((value, of) for value, of in games.items() if value is not None and of.n_games)
            return {None: whole, **{value: _Fitted(of, whole) for value, of in chosen}}

    def table(self) -> pa.Table:
        """The players of each category, best first; columns as in ``STRENGTHS``."""
        parts = [self._board(name, of) for name, of in self._fitted.items()]
        return pa.concat_tables(parts)

    def coefficients(self) -> pa.Table:
        """The coefficients of each category, and how common ties are; columns as in ``COEFFICIENTS``."""
        found = []
        for category, of in self._fitted.items():
            names = list(of.params.covariates)
            values, errors = list(of.fit.gamma), list(of.covariance.coefficient_errors)
            if of.fit.nu:
                names.append("ln_nu")
                values.append(np.log(of.fit.nu))
                errors.append(of.covariance.ln_nu_error)
            for name, value, error in zip(names, values, errors, strict=True):
                z = value / error if error else None
                found.append({"category": category, "name": name, "value": value, "se": error, "z": z})
        return pa.Table.from_pylist(found, schema=COEFFICIENTS)

    def pairs(self) -> pa.Table:
        """The players of each category who met, with their results; columns as in ``PAIRS``."""
        return pa.concat_tables([self._pairs(name, of) for name, of in self._fitted.items()])

    def ahead(self, covariates: Mapping[str, float]) -> float:
        """Rating points by which covariates favour the first player of a game, by the fit to all games.

        Raises ``ValueError`` for a name that the run has not.
        """
        whole = self._fitted[None]
        known = whole.params.covariates
        if unknown := [name for name in covariates if name not in known]:
            there = f"it has {listed(known)}" if known else "it has none"
            raise ValueError(f"run {self._rounds.run.name} has no covariate {unknown[0]!r}; {there}")
        x = np.array([covariates.get(name, 0.0) for name in known])
        return UNIT * float(x @ whole.fit.gamma)

    def deviations(self, players: Sequence[int]) -> Floats:
        """Deviations of the differences of all pairs of players, given their numbers, -1 for newcomers.

        Returns float64[n, n], rating points. Strengths of one fit depend on each other: V_aa + V_bb - 2 V_ab.
        """
        whole, numbers = self._fitted[None], np.array(players)
        known = np.flatnonzero(numbers >= 0)
        of = numbers[known].astype(np.int32)
        variance = np.full(len(numbers), whole.params.sigma_init**2)
        variance[known] = whole.covariance.sigma[of] ** 2
        found: Floats = np.sqrt(variance[:, None] + variance)
        one, other = (side.ravel() for side in np.meshgrid(np.arange(len(of)), np.arange(len(of)), indexing="ij"))
        found[known[one], known[other]] = whole.covariance.of_differences(of[one], of[other])
        return found

    def _board(self, category: str | None, of: _Fitted) -> pa.Table:
        players = np.flatnonzero(of.fit.component >= 0).astype(np.int32)
        mu, sigma = of.params.mu_init + UNIT * of.fit.theta, of.covariance.sigma
        n_games = of.fit.n_games.astype(np.int32)
        rating = self._display.rating(mu, sigma, n_games)
        ends = np.zeros(len(mu), np.int64)
        columns = {"rating": rating, "mu": mu, "sigma": sigma, "n_rounds": n_games, "max_rating": rating}
        columns = {name: values[players] for name, values in (columns | {"last_time_seconds": ends}).items()}
        met = Components(of.fit.component, n_games, self._places.min_rounds)
        handles = self._rounds.handles_of(players)
        states = States(players, columns, ends[players], met)
        board = board_table(states, handles, NONE, self._places, 1.0)
        at = board.column("player").to_numpy()
        found = {name: board.column(name) for name in (*_OF_PLACES, "rating", "sigma", "component")}
        found |= {
            "category": pa.array([category] * len(at), pa.string()), "extreme": of.covariance.extreme[at],
            "sigma_sandwich": of.covariance.sandwich[at], "sigma_model": of.covariance.model[at],
            **{name: getattr(of.fit, name)[at].astype(np.int64) for name in ("n_games", "wins", "draws", "losses")},
        }  # fmt: skip
        return pa.table([found[name] for name in STRENGTHS.names], schema=STRENGTHS)

    def _pairs(self, category: str | None, of: _Fitted) -> pa.Table:
        games = of.games.comparisons()
        rows = ~((games.result > 0.0) & (games.result < 1.0)) if of.params.ties == DROP else slice(None)
        games = games.take(np.flatnonzero(rows)) if isinstance(rows, np.ndarray) else games
        key = games.first.astype(np.int64) * len(of.fit.theta) + games.second
        keys, at = np.unique(key, return_inverse=True)
        lead = of.fit.theta[games.first] - of.fit.theta[games.second] + games.x @ of.fit.gamma + games.offset
        numbers = {
            "games": 1.0, "wins": games.result == 1.0, "losses": games.result == 0.0, "score": games.result,
            "expected": logistic(lead),
        }  # fmt: skip
        sums = {name: np.bincount(at, games.count * values, len(keys)) for name, values in numbers.items()}
        sums["draws"] = sums["games"] - sums["wins"] - sums["losses"]
        a, b = (self._rounds.handles_of(part.astype(np.int32)) for part in np.divmod(keys, len(of.fit.theta)))
        whole = {name: sums[name].astype(np.int64) for name in ("games", "wins", "draws", "losses")}
        found = {"category": pa.array([category] * len(keys), pa.string()), "a": a, "b": b, **sums, **whole}
        return pa.table([found[name] for name in PAIRS.names], schema=PAIRS)


class _Fitted:
    """The games of a category, with their fit; ``start``: the fit where the search begins."""

    def __init__(self, games: AllGames, start: _Fitted | None) -> None:
        self.games, self.params = games, games.params
        self.fit: Fit = games.fit(start=None if start is None else start.fit)
        self.covariance = games.covariance(self.fit)


def first_of_each(rows: pa.Table, n: int) -> pa.Table:
    """The first ``n`` rows of each category, whose rows are adjacent."""
    category = rows.column("category").fill_null("").to_numpy()
    null = rows.column("category").is_null().to_numpy()
    first = np.flatnonzero(np.append(True, (category[1:] != category[:-1]) | (null[1:] != null[:-1])))
    at = np.arange(rows.num_rows)
    return rows.filter(pa.array(at - np.repeat(first, np.diff(first, append=len(at))) < n))
