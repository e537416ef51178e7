"""What a run has learnt of draws and advantages, for all who predict by it: stored with the run, or fitted now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels.chances.fit import Learnt
from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import ConvergenceError, System
from ranklake.storage import DamagedError, FormatError, Run
from ranklake.storage.datasets.tables.kept import NO_VALUE
from ranklake.storage.lake.access.lake import Lake
from ranklake.storage.runs.chances import StoredChances, StoredFit, StoredLearnt, read_chances, write_chances

from ..common.text import count
from ..results.display import system_of
from ..results.rated_rounds import RatedRounds
from .played import GamesSoFar, RoundGames
from .prequential import Prequential, RoundFit, fit_games, most_unasked, nothing_learnt
from .settings import ChanceSettings
from .stored import read_games


class GameChances(NamedTuple):
    """Draws and advantage in force in each of some games, as the run knew them before their rounds."""

    nu: Floats
    advantage: Floats


@dataclass(frozen=True, slots=True)
class RunChances:
    """What a run has learnt, fit by fit.

    ``settings``: what it learns, and from which games.
    ``fits``: in the order of their rounds.
    ``note``: how it comes that the fit was made now, in words; empty if it is stored with the run.
    """

    settings: ChanceSettings
    fits: tuple[RoundFit, ...]
    note: str = ""

    @property
    def last(self) -> RoundFit:
        """What the run knows after its last round."""
        return self.fits[-1] if self.fits else nothing_learnt(self.settings)

    def before(self, round_index: int) -> RoundFit:
        """What the run knew before a round."""
        earlier = [known for known in self.fits if known.round_index <= round_index]
        return earlier[-1] if earlier else nothing_learnt(self.settings)

    def of_games(self, rounds: Longs, values: Sequence[str] = (), codes: Ints | None = None) -> GameChances:
        """Draws and advantage of the first player in each of some games, before it.

        ``rounds`` (int64[m]): the round of each game.
        ``values``, ``codes``: values of the column of the settings, and that of each game, as
        :meth:`ranklake.storage.datasets.tables.kept.Kept.values` has them.
        """
        fits = [nothing_learnt(self.settings), *self.fits]
        place = np.searchsorted([known.round_index for known in self.fits], rounds, side="right")
        value = np.full(len(rounds), NO_VALUE, np.int32) if codes is None else codes
        table = [[known.of(one) for one in (*values, None)] for known in fits]  # NO_VALUE is the last column
        nu, advantage = (
            np.array([[getattr(one, name) for one in row] for row in table]) for name in GameChances._fields
        )
        return GameChances(nu[place, value], advantage[place, value])


def learnt_chances(rounds: RatedRounds) -> RunChances | None:
    """What a run has learnt, for every answer about its games; None if it has contests of three entrants or more.

    Fits all games once, with a note that says so, if the run has no record of all its rounds; the newest games only if
    there are more than the run would learn from without being asked.

    Raises LakeError: the data set has other games than the run.
    """
    known = _recorded(rounds)
    if not isinstance(known, str):
        return known
    settings, counts, system, params = _to_fit(rounds)
    first, stop = _first_to_fit(settings, counts, system, params), rounds.chain.stop_round
    n_games = int(counts[first:].sum())
    games = GamesSoFar(system, params, settings, n_games, first)
    for part in read_games(rounds, system, params, first, stop):
        games.add(part)
    try:
        found = fit_games(games, settings, stop, n_games, rounds.chain.last_digest, None)
    except (ConvergenceError, ValueError) as error:
        return RunChances(settings, (), _not_learnt(rounds, known, error))
    return RunChances(settings, (found,), _fitted_now(rounds, known, found.games))


def chances_before_rounds(rounds: RatedRounds) -> RunChances | None:
    """What a run had learnt before each of its rounds, for scores; None as for :func:`learnt_chances`, and of a run
    with so many games that it learns only if asked.

    Makes all fits now, on the schedule of `rate`, with a note that says so, if the run has no record of all its rounds.

    Raises LakeError: the data set has other games than the run.
    """
    known = _recorded(rounds)
    if not isinstance(known, str):
        return known
    settings, counts, system, params = _to_fit(rounds)
    if not settings.asked and counts.sum() > most_unasked(system, params):
        return None
    read = partial(read_games, rounds, system, params)
    fits = Prequential(settings, system, params, counts, [""] * len(counts), (), read)
    try:
        note = _fitted_now(rounds, known, fits.at(len(counts)).games)
    except (ConvergenceError, ValueError) as error:
        note = _not_learnt(rounds, known, error)
    return RunChances(settings, tuple(fits.fits), note)


def chances_of_games(system: System, params: Any, games: RoundGames) -> RunChances:
    """What the games of rounds from the first on teach, fit by fit as a run learns it."""
    settings, counts = ChanceSettings(), games.counts
    fits = Prequential(settings, system, params, counts, [""] * len(counts), (), lambda start, stop: ())
    fits.add(games)
    fits.at(len(counts))
    return RunChances(settings, tuple(fits.fits))


def _recorded(rounds: RatedRounds) -> RunChances | str | None:
    """What a run has learnt as it is stored; None without games; or why there is no record of all rounds."""
    settings = ChanceSettings.of(rounds.run.config)
    if games_of(rounds)[1] is not None:
        return None
    if not settings.learns:
        return RunChances(settings, ())
    try:
        stored = read_chances(rounds.run)
    except (DamagedError, FormatError):
        return "has a damaged record of its chances"
    if stored is None:
        return "was rated before chances were stored"
    if is_current(stored, settings, rounds):
        return RunChances(settings, tuple(map(to_fit, stored.fits)))
    return "has a record of chances of other rounds"


def _to_fit(rounds: RatedRounds) -> tuple[ChanceSettings, Longs, System, Any]:
    """From what a fit is made: settings, games of each round, and the system with its hyperparameters."""
    return ChanceSettings.of(rounds.run.config), games_of(rounds)[0], *system_of(rounds.run)


def _fitted_now(rounds: RatedRounds, why: str, games: int) -> str:
    name = rounds.run.name
    note = f"run {name} {why}: draws and advantages were fitted now, to {count(games, 'game')}; "
    return f"{note}`ranklake rate --run {name}` stores them"


def _first_to_fit(settings: ChanceSettings, counts: Longs, system: System, params: Any) -> int:
    """The first round of the games that are fitted now."""
    most = most_unasked(system, params)
    if settings.asked or counts.sum() <= most:
        return 0
    found = int(np.searchsorted(np.cumsum(counts[::-1])[::-1] <= most, True))
    return min(found, int(np.flatnonzero(counts)[-1]))


def _not_learnt(rounds: RatedRounds, why: str, error: Exception) -> str:
    return f"run {rounds.run.name} {why}, and they cannot be learnt: {error}"


def games_of(rounds: RatedRounds) -> tuple[Longs, str | None]:
    """The games of each round of a run, and the first contest of three entrants or more."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(segment.rows for segment in rounds.chain.segments)]).astype(
        np.int64
    )
    if rounds.of_games:
        return sizes // 2, None
    contests = rounds.contests_table.column("n_players").fill_null(0).to_numpy()
    entrants = np.where(sizes > 0, contests, 0)
    larger = np.flatnonzero(entrants > 2)
    return (entrants == 2).astype(np.int64), rounds.chain.contest_ids[larger[0]] if len(larger) else None


def is_current(stored: StoredChances, settings: ChanceSettings, rounds: RatedRounds) -> bool:
    """Whether a record is of all rounds and of these settings."""
    same = stored.rounds == rounds.chain.stop_round and stored.digest == rounds.chain.last_digest
    return same and stored.settings == settings.facts()


def to_fit(stored: StoredFit) -> RoundFit:
    """A fit as stored."""
    values = {value: _learnt(one) for value, one in stored.values.items()}
    return RoundFit(stored.round, stored.games, stored.digest, _learnt(stored.overall), values)


def to_stored(fit: RoundFit) -> StoredFit:
    """A fit as it is stored."""
    values = {value: _stored(one) for value, one in fit.values.items()}
    return StoredFit(fit.round_index, fit.games, fit.digest, _stored(fit.overall), values)


def store_chances(
    run: Run, lake: Lake, settings: ChanceSettings, rounds: int, digest: str, fits: Sequence[RoundFit]
) -> None:
    """Replace the record of a run; ``lake`` is that of its lease."""
    write_chances(run, lake, StoredChances(settings.facts(), rounds, digest, list(map(to_stored, fits))))


def _stored(one: Learnt) -> StoredLearnt:
    return StoredLearnt(one.games, one.nu, one.ln_nu_error, one.advantage, one.advantage_error)


def _learnt(one: StoredLearnt) -> Learnt:
    return Learnt(one.nu, one.advantage, one.ln_nu_error, one.advantage_error, one.games)
