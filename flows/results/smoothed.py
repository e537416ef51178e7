"""The smoothing of a run as its readers see it: whether it is of the run's current rounds, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ranklake.storage import Chain, LakeError, Run
from ranklake.storage.lake.access.lake import digest_of_facts
from ranklake.storage.lake.layout import smoothing_folder
from ranklake.storage.runs.smoothing import StoredSmoothing

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
