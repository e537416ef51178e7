"""What a run learns of draws and advantages while it is rated, and the record of it beside its rounds."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ranklake.rating_kernels import ConvergenceError, System
from ranklake.rating_kernels.core.standings import Longs
from ranklake.storage import DamagedError, Dataset, FormatError, Run, StandingsPart
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.leases.lease import Lease
from ranklake.storage.runs.chances import StoredChances, read_chances

from ..chances.played import RoundGames
from ..chances.prequential import Prequential, RoundFit, has_leads, most_unasked
from ..chances.record import store_chances, to_fit
from ..chances.settings import ChanceSettings, unknown_column, unknown_value
from ..chances.stored import count_games, games_of_entrants, read_games
from ..common.adapters import HALVES
from ..common.configuration.settings import find_system
from ..common.text import count
from ..entrants.entrants import Entrants
from ..results.rated_rounds import RatedRounds
from .commits.rated_batch import RatedBatch
from .config import RunConfig, covariates_used
from .plan import Plan


class Learning:
    """Learns from the rounds of a plan, those that it keeps and those that are rated.

    A thread makes the fits while later rounds are rated, unless the run rates by them.

    ``run``: the run, whose committed rounds are read where they are needed again.
    ``counts`` (int64[n]): games of each round of the data set.
    """

    def __init__(self, config: RunConfig, plan: Plan, run: Run, counts: Longs) -> None:
        self.settings = ChanceSettings.of(plan.config)
        self._run, self._dataset = run, plan.dataset
        self._system, self._params = find_system(config.system), config.params
        self._stop = max(plan.n_rounds, plan.kept)
        self._digest = plan.digests[self._stop - 1] if self._stop else ""
        self._stored: StoredChances | None = None
        with suppress(DamagedError, FormatError):  # it is made again
            self._stored = read_chances(run)
        same = self._stored is not None and self._stored.settings == self.settings.facts()
        fits = [to_fit(one) for one in self._stored.fits] if same and self._stored else []
        of_run = self._system, self._params, counts, plan.digests
        self._worker: ThreadPoolExecutor | None = None
        self._waiting: list[Future[RoundFit]] = []
        self._fits = Prequential(self.settings, *of_run, fits, self._read)

    @classmethod
    def of(cls, config: RunConfig, plan: Plan, run: Run) -> Learning | None:
        """What the run of a plan learns from; None if it has no games, or nothing is to be learnt."""
        settings = ChanceSettings.of(plan.config)
        counts, larger = count_games(plan.dataset, plan.excluded)
        rounds = max(plan.n_rounds, plan.kept)
        wanted = settings.learns and larger is None and rounds > 0 and counts.sum() > 0
        most = most_unasked(find_system(config.system), config.params)
        return cls(config, plan, run, counts) if wanted and (settings.asked or counts.sum() <= most) else None

    def add(self, batch: RatedBatch) -> None:
        """Add rated rounds, the next ones or some of before."""
        if not self._fits.is_due(self._stop) or covariates_used(self._params):
            return  # with covariates, games are read where they are needed: with what the fits before them say
        self._fits.add(_games_of(self._system, self._params, batch))
        if not self.settings.learnt and self._fits.is_due(self._fits.reached):
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="ranklake-learn")
            self._waiting.append(self._worker.submit(self._fits.at, self._fits.reached))

    def legs(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The rounds from ``start`` to ``stop``, cut where an advantage by which the run rates changes."""
        return self._fits.legs(start, stop) if self.settings.learnt else [(start, stop)]

    def with_advantages(self, part: StandingsPart) -> StandingsPart:
        """Games of a leg with the advantages by which they are rated: their own, and what the run has learnt before."""
        games = part.games
        if not self.settings.learnt or games is None or not len(part):
            return part
        known = self._fits.at(part.first_contest)
        ahead = np.full(len(games.weight), known.overall.advantage)
        if self.settings.by and games.kept is not None:
            values, codes = games.kept.values(self.settings.by)
            ahead = np.array([known.of(value).advantage for value in (*values, None)])[codes]
        if not ahead.any():
            return part
        ahead = np.where(games.swapped, -ahead, ahead) if len(games.swapped) else ahead
        own = games.advantage if len(games.advantage) else 0.0
        return replace(part, games=replace(games, advantage=own + ahead))

    def store(self, lease: Lease) -> str:
        """Make the fits that are missing, and the record if it is not of all rounds; returns a warning if that fails.

        Raises ConvergenceError: there is no fit by which the run would have to rate.
        """
        try:
            for waiting in self._waiting:
                waiting.result()
            self._fits.at(self._stop)
        except (ConvergenceError, ValueError) as error:
            if self.settings.learnt:
                raise
            return f"draws and advantages were not learnt: {error}; --draws none learns none"
        fits = [one for one in self._fits.fits if one.round_index <= self._stop]
        wanted = self.settings.facts(), self._stop, self._digest, len(fits)
        stored = self._stored
        if stored is None or (stored.settings, stored.rounds, stored.digest, len(stored.fits)) != wanted:
            lease.check()
            store_chances(self._run, lease.lake, self.settings, self._stop, self._digest, fits)
        return ""

    def close(self) -> None:
        """End the thread that fits, after the fit at which it is."""
        if self._worker is not None:
            self._worker.shutdown(cancel_futures=True)

    def _read(self, start: int, stop: int) -> Any:
        rounds = RatedRounds.of(self._run, self._dataset, self._run.segments())
        return read_games(rounds, self._system, self._params, start, stop)


def check_learning(config: RunConfig, plan: Plan) -> None:
    """Refuse what nothing can be learnt from: contests of three entrants or more, unknown columns and values; and
    advantages that a system cannot rate with.
    """
    settings, dataset = ChanceSettings.of(plan.config), plan.dataset
    if not (settings.asked and settings.learns):
        return
    _, larger = count_games(dataset, plan.excluded)
    if larger is not None:
        contest, n = (dataset.contests.column(name)[larger].as_py() for name in ("contest_id", "n_players"))
        raise ValueError(
            f"data set {dataset.name}: contest {contest} has {n:,} participants, and chances of a win, a draw and a "
            "loss are of games between two; exclude it, or choose --draws none"
        )
    if dataset.kind != GAMES_KIND and (settings.by or settings.learnt):
        option = "--advantage learnt" if settings.learnt else f"--chances-by {settings.by}"
        rule = "contests do not say who came first, and have no further columns; `ranklake ingest games` reads games"
        raise ValueError(f"{option}: data set {dataset.name} has contests: {rule}")
    if settings.learnt:
        _check_advantages(find_system(config.system), config.params)
    if settings.by:
        _check_values(settings, dataset)


def _check_advantages(system: System, params: Any) -> None:
    if system.periods:
        rule = f"{system.name} has no rule for advantages; choose another system"
    elif system.is_whole is not None and system.is_whole(params):
        rule = f"{system.name} computes in whole numbers, and what is learnt is none; choose another system"
    else:
        return
    raise ValueError(f"--advantage learnt: {rule}")


def _check_values(settings: ChanceSettings, dataset: Dataset) -> None:
    """Raise ``ValueError`` unless some game has each of the values; reads games until all are found."""
    columns, values, missing = set[str](), set[str](), set(settings.no_advantage)
    for part in dataset.standings():
        kept = None if part.games is None else part.games.kept
        if kept is None:
            continue
        columns |= set(kept.names())
        values |= set(kept.values(settings.by)[0])
        if values and missing <= values:
            return
    if settings.by not in columns:
        raise ValueError(unknown_column(settings.by, sorted(columns), dataset.name))
    first = next(value for value in settings.no_advantage if value not in values)
    raise ValueError(unknown_value(first, settings.by, sorted(values)))


def too_many_games(config: RunConfig, plan: Plan) -> str:
    """A warning that a run learns nothing because it has many games; empty if it does, or never would."""
    settings = ChanceSettings.of(plan.config)
    counts, larger = count_games(plan.dataset, plan.excluded)
    n_games, system = int(counts.sum()), find_system(config.system)
    if settings.asked or larger is not None or n_games <= most_unasked(system, config.params):
        return ""
    cost = "much memory" if has_leads(system, config.params) else f"long by {system.name}"
    return f"draws and advantages of {count(n_games, 'game')} take {cost}: they are learnt by --draws preserving only"


def _games_of(system: System, params: Any, batch: RatedBatch) -> RoundGames:
    """The games of a rated batch."""
    rounds, outcome, facts = batch.rounds, batch.outcome, batch.facts
    if facts is None:
        rated = rounds.are_rated if rounds.roles.any() else None
        rounds, outcome = (rounds, outcome) if rated is None else (rounds.rated_only(), outcome.select(rated))
        entrants = Entrants.of_outcome(system, params, rounds, outcome)
        return games_of_entrants(entrants, batch.start, rounds.conditions, batch.informative)
    mu = outcome.mu_prior
    if len(facts.advantage):
        mu = mu + np.outer(facts.advantage, HALVES).ravel()
    sides = mu, outcome.sigma_prior, outcome.n_before, rounds.lo
    of_games = rounds.conditions, facts.score, facts.swapped, facts.kept
    return RoundGames(batch.start, batch.n_rows // 2, *sides, *of_games)
