"""The walk over the rounds of a run: keep those that still hold, rate the others, commit as they come.

A round holds while its chain digest does: the digest of its contest's content and of all that came before it,
beginning with the system, its hyperparameters and the format. Whatever changed, a corrected contest, another
hyperparameter, a crash, shows as the first digest that differs; the run is cut there and goes on from the newest
snapshot before it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from storage import Dataset, Lake, MissingError, Run, layout
from storage.lease import Lease, hold

from .commit import Committer
from .config import RunConfig, find_system
from .engines.base import Engine
from .walk import Walk

__all__ = ["Progress", "RateReport", "rate"]

SNAPSHOT_ROWS = 3_000_000  # participations between snapshots: about a second of rating
SNAPSHOTS_KEPT = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a walk has come: rounds done of ``n_rounds``, participations and seconds since it began."""

    rounds: int
    n_rounds: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RateReport:
    """What a walk did.

    Attributes
    ----------
    kept, replayed, rated, skipped : int
        Rounds that still held; of these, computed once more to come from a snapshot to the end; rated now; of
        these, passed over because they tell nobody apart.
    rows : int
        Participations rated now.
    why : str
        Why rounds that had been committed were not kept; empty if all were.
    broken : dict of str to int
        How often the rounds rated now broke what the system is expected to keep.
    """

    kept: int
    replayed: int
    rated: int
    skipped: int
    rows: int
    seconds: float
    why: str
    broken: dict[str, int] = field(default_factory=dict)

    def line(self) -> str:
        """The report in one line."""
        told = f"kept {self.kept:,} rounds"
        told += f" ({self.why})" if self.why else ""
        told += f", replayed {self.replayed:,}" if self.replayed else ""
        told += f", rated {self.rated:,} with {self.rows:,} participations in {self.seconds:.1f} s"
        told += f"; {self.skipped:,} of them told nobody apart and were skipped" if self.skipped else ""
        return told + "".join(f"; {what}: {count:,}" for what, count in self.broken.items())


def rate(
    lake: Lake,
    config: RunConfig,
    engine: Engine,
    max_rounds: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    steal: bool = False,
) -> RateReport:
    """Bring one run up to date with its data set: keep the rounds that still hold, rate the others.

    Parameters
    ----------
    max_rounds
        Rate only the first so many contests of the data set; rounds committed beyond them stay.
    steal
        Take the run over from a writer who is dead for certain.

    Raises
    ------
    LakeError
        The data set is missing or damaged, replayed rounds do not give the ratings on record, or somebody else is
        writing the run.
    """
    with hold(lake, layout.run_folder(config.run), f"rate {config.run}", steal=steal) as lease:
        return _rate(lake, config, engine, max_rounds, on_progress, lease)


def _rate(
    lake: Lake,
    config: RunConfig,
    engine: Engine,
    max_rounds: int | None,
    on_progress: Callable[[Progress], None],
    lease: Lease,
) -> RateReport:
    began = time.perf_counter()
    dataset = Dataset.open(lake, config.dataset)
    wanted = _chain(config, dataset)
    run, kept, why = _cut(lake, config, wanted, lease)
    n_rounds = len(wanted) if max_rounds is None else min(max_rounds, len(wanted))
    if kept > n_rounds or kept == 0 == n_rounds or (kept == n_rounds and kept - 1 in run.snapshots()):
        return RateReport(kept, 0, 0, 0, 0, time.perf_counter() - began, why)

    system = find_system(config.system)
    walk = Walk(dataset, system, config.params, config.skip_uninformative, engine)
    replayed = walk.resume(run, kept, wanted)
    contest_ids = dataset.contests.column("contest_id").to_pylist()
    skipped = rows = 0
    broken: Counter[str] = Counter()
    start = kept
    with Committer(run, contest_ids, wanted) as committer:
        for stop in _snapshot_stops(dataset, kept, n_rounds):
            for rated in walk.rate(start, stop):
                committer.add(rated)
                skipped += int(np.count_nonzero(~rated.informative))
                rows += rated.rounds.n_rows
                broken.update(system.broken(rated.rounds, rated.outcome))
                on_progress(Progress(rated.stop, n_rounds, rows, time.perf_counter() - began))
            committer.snapshot(stop - 1, walk.beliefs.columns(engine.map), SNAPSHOTS_KEPT)
            start = stop
    seconds = time.perf_counter() - began
    return RateReport(kept, replayed, n_rounds - kept, skipped, rows, seconds, why, dict(broken))


def _snapshot_stops(dataset: Dataset, start: int, stop: int) -> list[int]:
    """Rounds before which a snapshot is due: where the data set says, wherever a walk begins, and at its end."""
    rows = np.cumsum(dataset.contests.column("n_players").to_numpy(), dtype=np.int64)
    due = np.flatnonzero(np.diff(rows // SNAPSHOT_ROWS, prepend=0)) + 1
    return [*due[(due > start) & (due < stop)].tolist(), stop]


def _chain(config: RunConfig, dataset: Dataset) -> list[str]:
    """The digest that each round must have: of its contest, and of all before it."""
    digest, chain = config.digest, []
    for content in dataset.contests.column("content_digest").to_pylist():
        digest = blake2b(digest + bytes.fromhex(content), digest_size=16).digest()
        chain.append(digest.hex())
    return chain


def _cut(lake: Lake, config: RunConfig, wanted: list[str], lease: Lease) -> tuple[Run, int, str]:
    """The run, made if need be, without the rounds that no longer hold; how many are left, and why not all."""
    try:
        run = Run.open(lake, config.run)
    except MissingError:
        run = Run.create(lake, config.run, config.to_json())
        run.lease = lease
        return run, 0, ""
    run.lease = lease
    chain, why = run.segments(), ""
    found = [digest for segment in chain.segments for digest in segment.digests]
    same = (a == b for a, b in zip(found, wanted, strict=False))
    holds = next((i for i, equal in enumerate(same) if not equal), min(len(found), len(wanted)))
    changed = run.config != config.to_json()
    if holds < len(found):
        contest = next(s.contest_ids[holds - s.first_round] for s in chain.segments if holds < s.stop_round)
        fate = "changed" if holds < len(wanted) else "is no longer there"
        why = "other parameters" if changed else f"round {holds}, contest {contest}, {fate}"
    elif chain.rest:
        why = chain.reason
    chain = run.truncate(holds)  # sweeps what a crash left half written, too
    if changed:
        run.configure(config.to_json())
    return run, chain.stop_round, why
