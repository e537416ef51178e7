"""A period of the log becomes a part of the data set, and the results in memory become rounds of the runs.

The files are those of an ingest and of `ranklake rate`, by the same functions; no match is rated again. If the process
ends between two steps, the next one finds what is missing, and rates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import msgspec
import numpy as np
from msgspec.structs import replace as replace_struct

from ranklake.rating_kernels.core.standings import Ints
from ranklake.storage import Dataset, Lake, LakeError, Run, StandingsPart
from ranklake.storage.datasets.tables.games import GAMES_KIND, Period
from ranklake.storage.leases.lease import Lease

from ...common.adapters import ContestFacts
from ...events.apply import belief_reset
from ...events.resets import by_round, cuts
from ...execution.rater import BeliefColumns
from ...rating.commits import commit_policy
from ...rating.commits.commit_policy import SnapshotSchedule
from ...rating.commits.segment_writer import SegmentWriter
from ...rating.config import RunConfig, covariates_used
from ...rating.learning import Learning
from ...rating.plan import Plan
from ...rating.rate import RateOptions, checked_plan, store_apart, truncated_run
from ...rating.rating_pass import unrated_batch
from ..log.records import Record
from ..matches.outcomes import Outcomes
from ..matches.rounds import Accepted, contest_of, period_of
from .logged import with_bans
from .record import LiveRecord, WrittenPeriod, read_record, record_path


def write_period(
    lease: Lease,
    lake: Lake,
    dataset: str,
    kind: str,
    written: WrittenPeriod,
    matches: Iterable[Sequence[Accepted]],
    covariates: tuple[str, ...],
    changes: Iterable[Record],
) -> LiveRecord:
    """Add a period of the log to the data set; again without effect if it is there.

    ``written``: the period. Where another source has a period of its name, a number is added to the name.
    ``matches``: its matches, in parts that are read one after the other.
    ``changes``: its other records, some of which ban players.
    Returns the record of the log with the period.
    """
    before, version = read_record(lake, dataset)
    with Dataset.ingest_under(lake, dataset, lease, games=kind == GAMES_KIND) as ingest:
        if kind != GAMES_KIND:
            for accepted in chain.from_iterable(matches):
                ingest.add(contest_of(accepted))
        elif first := next(parts := iter(matches), None):
            own = _named(period_of(written.name, chain([first], parts), covariates), _digests(lake, dataset))
            written = replace_struct(written, name=own.contest_id)
            ingest.add(own)
        record = before.with_period(written, with_bans(before.banned, changes))
        ingest.record(record_path(dataset), msgspec.json.encode(record), version)
    return record


def rewrite_period(
    lease: Lease,
    lake: Lake,
    dataset: str,
    kind: str,
    written: WrittenPeriod,
    matches: Iterable[Sequence[Accepted]],
    covariates: tuple[str, ...],
    removed: Mapping[str, str],
) -> None:
    """Remove matches from a period that the data set has.

    ``written``, ``matches``: the period without them. ``removed``: why, by the id of each.
    """
    before, version = read_record(lake, dataset)
    with Dataset.ingest_under(lake, dataset, lease) as ingest:
        if kind != GAMES_KIND:
            for match_id, why in removed.items():
                ingest.remove(match_id, why)
        elif first := next(parts := iter(matches), None):
            ingest.add(period_of(written.name, chain([first], parts), covariates))
        else:
            ingest.remove(written.name, "; ".join(sorted(set(removed.values()))))
        record = before.with_period(written, before.banned)
        ingest.record(record_path(dataset), msgspec.json.encode(record), version)


def write_rounds(lease: Lease, lake: Lake, config: RunConfig, outcomes: Outcomes, beliefs: BeliefColumns) -> None:
    """Commit the rounds of a run that its data set has more than the run, with their results and a snapshot.

    ``outcomes``: of all matches of these rounds. ``beliefs``: about all players after them.
    Raises LakeError: the rounds are not those of the results, or the run has other rounds than before.
    """
    dataset = Dataset.open(lake, config.dataset)
    plan = checked_plan(dataset, config, RateOptions())
    run = truncated_run(lake, config, plan, lease)
    if plan.kept < plan.n_rounds:
        _write(run, config, plan, outcomes, beliefs)
    if (learning := Learning.of(config, plan, run)) is not None:
        try:
            learning.store(lease)
        finally:
            learning.close()
    store_apart(run, dataset, True)


def _write(run: Run, config: RunConfig, plan: Plan, outcomes: Outcomes, beliefs: BeliefColumns) -> None:
    dataset, policy, counts = plan.dataset, commit_policy.DEFAULT, ~plan.excluded
    contests = dataset.contests
    facts = ContestFacts.of(contests, counts, False, covariates_used(config.params))
    schedule = SnapshotSchedule(contests, plan.kept, plan.n_rounds, max(plan.snapshots, default=-1), policy)
    last_round, due = plan.n_rounds - 1, by_round(plan.resets)
    batches = [unrated_batch(part, facts.rounds(part), counts, plan.skipping) for part in _parts(plan)]
    done = outcomes.n_rows - sum(batch.rounds.n_rows for batch in batches)  # rows that an earlier attempt has written
    if done < 0:
        raise _other_rounds(config)
    with SegmentWriter(run, contests.column("contest_id").to_pylist(), plan.digests, policy) as writer:
        for batch in batches:
            stop = done + batch.rounds.n_rows
            players, outcome = outcomes.rows(done, stop)
            _check_players(config, players, batch.rounds.player)
            resets = (one.applied(belief_reset(one, config.params, dataset).centre) for one in due.get(batch.start, ()))
            writer.add(replace(batch, outcome=outcome, resets=tuple(resets)))
            done = stop
        writer.snapshot(last_round, partial(run.write_snapshot, last_round, beliefs), schedule)


def _parts(plan: Plan) -> Iterator[StandingsPart]:
    """The standings of the rounds to write; no part has contests on both sides of a reset."""
    for first, last in cuts(plan.resets, plan.kept, plan.n_rounds):
        yield from plan.dataset.standings(first, last)


def _check_players(config: RunConfig, rated: Ints, stored: Ints) -> None:
    if not np.array_equal(rated, stored):
        raise _other_rounds(config)


def _other_rounds(config: RunConfig) -> LakeError:
    return LakeError(
        f"run {config.run}: the rounds of data set {config.dataset} are not the matches that were rated; "
        f"`ranklake rate --run {config.run}` rates them"
    )


def _digests(lake: Lake, dataset: str) -> dict[str, str]:
    """The digest of the source of each contest of a data set; empty without one."""
    try:
        contests = Dataset.open(lake, dataset).contests
    except LakeError:
        return {}
    columns = (contests.column(name).to_pylist() for name in ("contest_id", "source_digest"))
    return dict(zip(*columns, strict=True))


def _named(period: Period, known: dict[str, str]) -> Period:
    """The period under a name that no other period of the data set has."""
    base, number = period.contest_id, 1
    while known.get(period.contest_id, period.content_digest) != period.content_digest:
        number += 1
        period = replace(period, contest_id=f"{base}.{number}")
    return period
