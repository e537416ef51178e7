"""The smoothing of a run as its readers see it: whether it is of the run's current rounds, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Chain, LakeError, Run
from ranklake.storage.lake.access.lake import digest_of_facts
from ranklake.storage.lake.layout import smoothing_folder
from ranklake.storage.runs.smoothing import StoredSmoothing

if TYPE_CHECKING:  # imports kernels
    from .rated_rounds import RatedRounds

SKILLS = ("smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")
NUMERICS = 1  # raise it when a release changes the bits of any smoothing


class RunSmoothing:
    """The stored smoothing of a run. It is current if it was made from all rounds that the run has now.

    ``exists``: whether there is a smoothing, current or not.
    ``params``: its hyperparameters.
    ``digest``: digest of the current smoothing: of the rounds and its hyperparameters. None without a current one.
    Raises ``DamagedError``, ``FormatError`` if its manifest cannot be read.
    """

    def __init__(self, run: Run, chain: Chain) -> None:
        self._run, self._stored = run, StoredSmoothing(run.lake, run.name)
        self._manifest = self._stored.manifest("smoothed")
        self.exists, self.params = self._manifest is not None, {} if self._manifest is None else self._manifest.params
        self.digest: str | None = None
        if self._manifest is not None and self._manifest.digest == smoothing_digest(chain, self._manifest.params):
            self.digest = self._manifest.digest

    @property
    def is_stale(self) -> bool:
        """Whether there is a smoothing, but of other rounds."""
        return self.exists and self.digest is None

    def read(self) -> pa.Table:
        """The rows of the current smoothing, one a participation, in the order of the run's rounds.

        Raises ``LakeError``, which names the remedy, without one; ``DamagedError``, ``MissingError`` for its file.
        """
        if self.digest is None or self._manifest is None:
            raise self._unusable("is of earlier rounds" if self.exists else "does not exist")
        return self._stored.read("smoothed", self._manifest)

    def read_with_gains(self) -> pa.Table:
        """As :meth:`read`; also raises ``LakeError`` for a smoothing of an earlier release, which has no gains."""
        rows = self.read()
        if rows.column("log_gain").null_count:
            raise self._unusable("is of an earlier release, which did not record how the skills of a player depend")
        return rows

    def _unusable(self, problem: str) -> LakeError:
        name = self._run.name
        remedy = f"`ranklake smooth --run {name}` makes a current one"
        return LakeError(f"run {name}: its smoothing {problem}; {remedy}", path=smoothing_folder(name))


def smoothing_digest(chain: Chain, params: Mapping[str, Any]) -> str:
    """Digest of the inputs of a smoothing: all rounds of a run, and the hyperparameters."""
    last = chain.segments[-1].last_digest if chain.segments else ""
    facts = [last, chain.stop_round, dict(params), NUMERICS]
    return digest_of_facts(facts)


def times_of_rows(rated: RatedRounds, round_index: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The end of each of all rated rows of a run, UTC seconds, 0 if unknown; of games, their own times.

    ``round_index``: of the rows, in order. Raises ``LakeError``: the data set has other games now.
    """
    times: npt.NDArray[np.int64] = rated.ends[round_index]
    if not rated.of_games:
        return times
    ids, known = pa.array(rated.chain.contest_ids, pa.string()), rated.dataset.contests.column("contest_id")
    rounds = {place: number for number, place in enumerate(pc.index_in(ids, known.combine_chunks()).to_pylist())}
    first = np.searchsorted(round_index, np.arange(len(ids) + 1)).tolist()
    for part in rated.dataset.standings():
        assert part.games is not None, "a data set of games"
        for place, (a, b) in enumerate(pairwise(part.offsets.tolist()), part.first_contest):
            if (number := rounds.get(place)) is None or first[number] == first[number + 1]:
                continue
            if b - a != first[number + 1] - first[number]:
                raise LakeError(
                    f"run {rated.run.name}: the games of {ids[number]} have changed since they were rated; "
                    f"`ranklake rate --run {rated.run.name}` rates them again"
                )
            times[first[number] : first[number + 1]] = np.repeat(part.games.time_seconds[a // 2 : b // 2], 2)
    return times
