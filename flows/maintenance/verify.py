"""Verify a lake: read every file and report each fault with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.remedies import damaged, remedies_for_sources
from ranklake.storage.maintenance.leftovers import find_leftovers
from ranklake.storage.maintenance.verify import verify_dataset, verify_rows, verify_run
from ranklake.storage.runs.smoothing import StoredSmoothing

from ..common.progress import ProgressCallback, not_shown
from ..common.text import count
from ..engines.protocols import Engine
from ..ingestion.response_archive import ResponseArchive
from .freshness import Freshness, update_command

if TYPE_CHECKING:
    from ..compilation.compile import CompileCallback

_NUMBERS = ("perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")


@dataclass
class Verifier:
    """Verifies data sets and runs of a lake, and counts what it has read; ``notes`` are remarks that are not faults.

    ``on_progress`` is called with the number of files that are read, of all, and what they belong to. The files of a
    run's segments count twice: they are compared with the run, and with its data set.
    """

    lake: Lake
    on_progress: ProgressCallback = not_shown
    notes: list[str] = field(default_factory=list)
    datasets: int = 0
    contests: int = 0
    participations: int = 0
    runs: int = 0
    rounds: int = 0
    segments: int = 0
    snapshots: int = 0
    published: int = 0
    sites: int = 0
    responses: int = 0
    _files: int = 0
    _total: int = 0

    def everything(self) -> Iterator[str]:
        """The faults in the lake: a line each, with the file and the remedy."""
        datasets, runs = Dataset.names(self.lake), Run.names(self.lake)
        self._total = sum(map(self._dataset_files, datasets)) + sum(map(self._run_files, runs))
        for name in datasets:
            yield from self.dataset(name)
        for name in runs:
            yield from self.run(name)
        for source in self.lake.list(layout.RAW):
            yield from self.site(source)
        for folder in self.lake.list(""):
            if folder not in datasets and folder not in layout.RESERVED:
                yield from self._writers(folder)
                parts, command = ("standings", "players", "log", "events"), f"`ranklake delete --dataset {folder}`"
                self._note_leftovers(folder, parts, command)
        for name in self.lake.list(layout.RUNS):
            if name not in runs:
                folder, parts = f"{layout.RUNS}/{name}", ("rounds", "snapshots", "smoothing", "entry")
                yield from self._writers(folder)
                self._note_leftovers(folder, parts, f"`ranklake delete --run {name}`")
        for folder in self.lake.list(layout.PUBLISHED):
            if folder not in runs and self.lake.list(f"{layout.PUBLISHED}/{folder}"):
                command = f"`ranklake delete --run {folder} --with-published`"
                self.notes.append(f"{layout.PUBLISHED}/{folder}: the run was deleted; {command} deletes its tables")

    def dataset(self, name: str) -> Iterator[str]:
        """The faults of a data set."""
        yield from self._writers(layout.dataset_folder(name))
        try:
            dataset = Dataset.open(self.lake, name)
        except LakeError as error:
            yield str(error)
            return
        self.datasets += 1
        self.contests += dataset.contests.num_rows
        self.participations += sum(dataset.contests.column("n_players").to_pylist())
        self._total = self._total or self._dataset_files(name)
        for problem in verify_dataset(dataset, partial(self._begin_file, f"data set {name}")):
            yield remedies_for_sources(self.lake, problem, problem.partition(": ")[0])
        if n_leftover := dataset.n_leftover():
            left = "an interrupted command left"
            self.notes.append(f"{name}: {left} {_files(n_leftover)} without a reference; the next commit removes them")

    def run(self, name: str) -> Iterator[str]:
        """The faults of a run and its published tables. A data set that has changed since is a note, not a fault."""
        yield from self._run(name)
        if self.lake.list(layout.published_folder(name)):
            from ..publication.verification import verify_published

            self.published += 1
            yield from verify_published(self.lake, name, self.notes, partial(self._begin_file, f"published/{name}"))

    def _run(self, name: str) -> Iterator[str]:
        from ..rating.config import RunConfig  # verifying data sets needs no kernels
        from ..rating.plan import Plan

        yield from self._writers(layout.run_folder(name))
        try:
            run = Run.open(self.lake, name)
            chain = run.segments()
        except LakeError as error:
            yield str(error)
            return
        self.runs += 1
        self.rounds += chain.stop_round
        self.segments += len(chain.segments)
        self.snapshots += len(run.snapshots())
        self._total = self._total or self._run_files(name)
        begin_file = partial(self._begin_file, f"run {name}")
        yield from verify_run(run, begin_file)
        stored = StoredSmoothing(self.lake, name)
        yield from stored.problems()
        if n_leftover := stored.n_leftover:
            self.notes.append(
                f"{stored.folder}: {_files(n_leftover)} of an interrupted smoothing; the next `ranklake smooth --run "
                f"{name}` removes them"
            )
        try:
            config = RunConfig.of(run)
            dataset = Dataset.open(self.lake, config.dataset)
            plan = Plan.of(config, dataset)
        except LakeError as error:
            yield str(error)
            return
        if not chain.rest:
            why = plan.why.removeprefix(f"round {plan.holds}, ")
            fresh = Freshness(plan.n_rounds, chain.stop_round, plan.holds, why)
            self.notes += filter(None, [fresh.line(name, dataset.name, self.lake.url)])
        yield from verify_rows(run, dataset, plan.holds, begin_file)

    def site(self, source: str) -> Iterator[str]:
        """The faults of the responses of a site."""
        yield from self._writers(layout.raw_folder(source))
        self.sites += 1
        try:
            for _, wrong in ResponseArchive(self.lake, source).verify():
                self.responses += 1
                self._begin_file(f"responses of {source}")
                if wrong:
                    yield wrong
        except LakeError as error:
            yield str(error)

    def _begin_file(self, what: str) -> None:
        self._files += 1
        self._total = max(self._total, self._files)
        self.on_progress(self._files - 1, self._total, what)

    def _dataset_files(self, name: str) -> int:
        """The files of a data set that are read; 0 if it cannot be opened."""
        with suppress(LakeError):
            return len(Dataset.open(self.lake, name).contests.column("file").unique())
        return 0

    def _run_files(self, name: str) -> int:
        """The files of a run that are read, without published ones that only a manifest lists."""
        with suppress(LakeError):
            run = Run.open(self.lake, name)
            return 2 * len(run.segments().segments) + len(run.snapshots())
        return 0

    def line(self) -> str:
        """The counts in one line."""
        contests, rows = count(self.contests, "contest"), count(self.participations, "participation")
        rounds, segments = count(self.rounds, "round"), count(self.segments, "segment")
        parts = {
            f"{count(self.datasets, 'data set')} with {contests} and {rows}": self.datasets,
            f"{count(self.runs, 'run')} with {rounds} in {segments} and {count(self.snapshots, 'snapshot')}": self.runs,
            f"the published tables of {count(self.published, 'run')}": self.published,
            f"{count(self.responses, 'response')} of {count(self.sites, 'site')}": self.sites,
        }
        return ", ".join(part for part, n in parts.items() if n) or f"{self.lake.url} has no data set and no run"

    def _writers(self, folder: str) -> Iterator[str]:
        """The faults of the leases of a folder; adds notes about its writer, and what ended ones left."""
        faults, notes = find_leftovers(self.lake, folder)
        self.notes += notes
        yield from faults

    def _note_leftovers(self, folder: str, parts: tuple[str, ...], command: str) -> None:
        """Add a note about a folder without its table of contests or run.json, after an interrupted command."""
        if n_files := sum(len(self.lake.list(f"{folder}/{part}")) for part in parts):
            left = f"{_files(n_files)} of an interrupted deletion or creation"
            lost = ""
            if "log" in parts and self.lake.list(f"{folder}/log"):
                root = layout.contests_file(folder)
                lost = f", with corrections that no source can send again; restore {root} to keep them"
            self.notes.append(f"{folder}: {left}; {command} removes them{lost}")


def replay(
    lake: Lake,
    name: str,
    first: int,
    last: int,
    engine: Engine,
    notes: list[str],
    on_progress: ProgressCallback = not_shown,
    on_compile: CompileCallback | None = None,
) -> Iterator[str]:
    """Rate rounds ``first`` to ``last`` of a run again, from the nearest snapshot on, and yield a line for each segment
    and column that differs from the record in any bit.

    A difference by rounding is expected of rounds that another kind of machine rated: it is added to ``notes``.
    ``on_progress`` is called with the number of rounds that are rated, of all from the snapshot on. Raises
    ``LakeError`` if the run or its data set cannot be read, or round ``last`` is not valid any more.
    """
    from ..compilation.compile import announce, compile_kernels
    from ..rating.config import RunConfig
    from ..rating.plan import Plan
    from ..rating.rating_pass import RatingPass
    from ..rating.replay import largest

    run = Run.open(lake, name)
    config = RunConfig.of(run)
    dataset = Dataset.open(lake, config.dataset)
    plan = Plan.of(config, dataset)
    if last >= plan.holds:
        fresh = Freshness(plan.n_rounds, run.segments().stop_round, plan.holds, plan.why)
        raise LakeError(
            f"run {name} is {fresh.state}, only the rounds before can be computed again: "
            f"`{update_command(name, dataset.name, lake.url)}` first"
        )
    rating_pass = RatingPass(run, config, plan, engine)
    compile_kernels(config.system, plan.sizes(0, last + 1), on_compile or announce)
    start = rating_pass.restore(first)
    expected = []

    def on_round(reached: int) -> None:
        on_progress(reached - start, last + 1 - start, f"run {name}")

    for difference in rating_pass.differences(start, last + 1, _NUMBERS, on_round):
        if difference.elsewhere and difference.is_rounding:
            expected.append(difference)
            continue
        rounds = f"{difference.within(start, last + 1)}, rated again from round {start} on"
        damage = f"have another {difference.column}, by up to {difference.points:.1g}"
        yield str(damaged(run.path_of(difference.segment), f"{rounds}, {damage}; {difference.cause}"))
    if expected:
        notes.append(f"run {name}: rounds computed again {largest(expected)}; such a difference of bits is expected")


def replay_last(
    lake: Lake,
    name: str,
    engine: Engine,
    notes: list[str],
    on_progress: ProgressCallback = not_shown,
    on_compile: CompileCallback | None = None,
) -> tuple[range, list[str]]:
    """Rate the last rounds of a run again, from the snapshot before the newest one on: what was committed last.

    Returns these rounds, and the lines of :func:`replay`; errors as there.
    """
    run = Run.open(lake, name)
    stop, snapshots = run.segments().stop_round, run.snapshots()
    rounds = range(snapshots[-2] + 1 if len(snapshots) > 1 else 0, stop)
    shown = on_progress, on_compile
    return rounds, list(replay(lake, name, rounds.start, stop - 1, engine, notes, *shown)) if rounds else []


def _files(n: int) -> str:
    return count(n, "file")
