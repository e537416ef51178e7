"""Runs that rate each match when it is accepted: one writer, one thread that changes them, any threads that read.

A group of matches is checked, appended to the log, and only then rated, in the order of the log. The log before the
beliefs: what an answer tells is durable, and what is not durable is in no belief.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import NamedTuple, TypeAlias

import msgspec
import pyarrow as pa

from ranklake.rating_kernels import Beliefs
from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease

from ..compilation.compile import CompileCallback, announce
from ..rating.config import RunConfig
from ..results.display import Display
from ..sources.games.periods import period_name
from .log.records import Kind, Log, Record
from .matches.answers import Result
from .matches.match import Match, MatchError, MatchLimits, MatchRules, first_difference
from .opening import open_dataset, open_run
from .periods.calendar import PeriodLength, period_end
from .periods.closing import PeriodWriter
from .periods.logged import LoggedChange, Tail, change_entry, entry_of, match_of
from .periods.record import read_record
from .rebase import Rebase, Rebased
from .refusals import check_run, rules_of
from .runs import OpenedRuns
from .views import Board, Leaderboard, PlayerView, beliefs_of, views_of


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How matches are accepted and written.

    ``period``, ``grace``: length of the periods of the data set; seconds after the end of one before it is written.
    ``keep_log``: seconds for which the log keeps the bodies of records after the end of their period.
    ``known_players_only``: matches with other players are refused.
    ``new_players``: a minute; beyond them, matches with new players are refused until the next minute.
    ``games``: whether a new data set has games; else it has contests.
    ``limits``: bounds of matches.
    ``check``: the rounds of a period are computed again when they are written, by the batch engine.
    """

    period: PeriodLength = "day"
    grace: float = 0.0
    keep_log: float = 30 * 86_400.0
    known_players_only: bool = False
    new_players: int = 10_000
    games: bool = True
    limits: MatchLimits = field(default_factory=MatchLimits)
    check: bool = False


DEFAULTS = LiveOptions()


class Answer(NamedTuple):
    """A match that is accepted.

    ``known``: whether it was before; the results are then those of then.
    ``results``: by run.
    """

    match: Match
    sequence: int
    known: bool
    results: dict[str, Result]


class Conflict(NamedTuple):
    """A match whose id another one has.

    ``pointer``: JSON pointer of the first value that differs.
    """

    id: str
    sequence: int
    pointer: str


class Refused(NamedTuple):
    """A match that cannot be accepted at present."""

    id: str
    error: MatchError


Reply: TypeAlias = Answer | Conflict | Refused


class StoredMatch(msgspec.Struct, frozen=True):
    """A match that was accepted.

    ``received``: when, UTC seconds. ``period``: of the data set that has it or will have it.
    """

    match: Match
    sequence: int
    received: float
    period: str
    result: Result


_MINUTE = 60


class LiveRuns:
    """Runs over one data set in memory, with its log. Made by :meth:`open`.

    One thread calls :meth:`accept` and :meth:`close_periods`; any threads call the other methods, which see a state
    between two groups of matches.

    ``rules``: what matches may have; for :func:`.matches.match.read_match`.
    ``append_seconds``: of the appends of all groups to the log.
    """

    def __init__(
        self,
        runs: OpenedRuns,
        log: Log,
        options: LiveOptions,
        writer: PeriodWriter,
        now: float,
        load: Callable[[], OpenedRuns],
    ) -> None:
        self._rebase = Rebase(load, writer)
        self._runs, self._log, self._options, self._writer = runs, log, options, writer
        self.rules: MatchRules = runs.rules
        self.lock = RLock()
        self.append_seconds = 0.0
        self._received, self._minute, self._new_players = now, 0, 0
        self._boards = {run: Leaderboard() for run in runs.names}

    @classmethod
    @contextmanager
    def open(
        cls,
        lake: Lake,
        configs: Sequence[RunConfig],
        log: Log,
        options: LiveOptions = DEFAULTS,
        *,
        now: float | None = None,
        steal: bool = False,
        on_compile: CompileCallback = announce,
    ) -> Iterator[LiveRuns]:
        """A ``with`` block that holds the leases of the data set and of the runs.

        Periods of the log that have ended are written first, then the runs are rated up to the end of the data set, and
        the rest of the log is rated in memory. At its end, a period that is being written is finished.

        ``configs``: of the runs, over one data set; runs that do not exist are made.
        ``now``: UTC seconds; by default the clock.
        ``steal``: take over the leases of a process that has certainly ended.

        Raises LeaseHeldError: another process writes the data set or a run; names it.
        Raises ValueError: a run cannot be rated match by match; or they are over several data sets.
        Raises LakeError, ConvergenceError: as :func:`ranklake.flows.rating.rate.rate`.
        """
        names = list(dict.fromkeys(config.dataset for config in configs))
        if len(names) != 1:
            raise ValueError(f"the runs must be over one data set, got {', '.join(names) or 'no run'}")
        now = time.time() if now is None else now
        with ExitStack() as held:
            folders = [layout.dataset_folder(names[0]), *(layout.run_folder(config.run) for config in configs)]
            lease, *leases = [held.enter_context(hold_lease(lake, folder, "rated", steal=steal)) for folder in folders]
            of_runs = dict(zip((config.run for config in configs), leases, strict=True))
            dataset = open_dataset(lake, names[0], lease, options.games)
            for config in configs:
                check_run(config, dataset)
            rules = rules_of(configs, dataset, options.limits)
            facts = lake, log, dataset.name, dataset.kind, options.period, rules.covariates
            resets = [event.time_seconds for event in dataset.events().resets]
            by_name = {config.run: config for config in configs}
            writer = PeriodWriter(*facts, lease, of_runs, by_name, resets, options.check)
            held.callback(writer.close)
            tail = writer.finish(now - options.grace)

            def load(tail: Tail | None = None) -> OpenedRuns:
                dataset = open_dataset(lake, names[0], lease, options.games)
                opened = [open_run(lake, config, dataset, of_runs[config.run], on_compile) for config in configs]
                record, _ = read_record(lake, dataset.name)
                runs = OpenedRuns(lake, dataset, opened, record, options.period, rules)
                runs.replay(log, tail)
                pa.default_memory_pool().release_unused()  # 100 bytes a player, of the files that were read
                return runs

            yield cls(load(tail), log, options, writer, now, load)

    @property
    def names(self) -> list[str]:
        """The names of the runs."""
        return self._runs.names

    @property
    def last(self) -> int:
        """The sequence number of the last record that is in the beliefs."""
        return self._runs.last

    @property
    def n_players(self) -> int:
        """The number of players."""
        return len(self._runs.players)

    @property
    def unsaved(self) -> int:
        """The number of records that the lake does not have."""
        return self._runs.last - self._runs.record.last

    @property
    def failure(self) -> str:
        """Why the last attempt to write to the lake failed; empty if it did not. It is made again."""
        return self._writer.failure

    @property
    def mismatch(self) -> str:
        """Which numbers of the lake differed when they were computed again; empty if none did."""
        return self._writer.mismatch

    def accept(self, matches: Sequence[Match], by: Sequence[str] = (), now: float | None = None) -> list[Reply]:
        """Accept one group of matches, in their order, each on its own.

        ``by``: who sent each of them, for the log.

        Raises LogUnavailableError: nothing was accepted.
        """
        self._received = received = max(time.time() if now is None else now, self._received)
        replies: list[Reply | None] = [None] * len(matches)
        known = self._log.find([match.id for match in matches])
        new: dict[str, int] = {}  # place in the group, by id
        again: list[int] = []  # of one id with an earlier match of the group
        fresh: set[str] = set()  # new players of the group
        for at, (match, record) in enumerate(zip(matches, known, strict=True)):
            if record is not None:
                replies[at] = self._again(match, record)
            elif match.id in new:
                again.append(at)
            elif (error := self._fault(match, int(received), fresh)) is not None:
                replies[at] = Refused(match.id, error)
            else:
                new[match.id] = at
        if new:
            accepted = [matches[at] for at in new.values()]
            entries = [entry_of(matches[at], by[at] if by else "") for at in new.values()]
            began = time.perf_counter()
            try:
                first = self._log.append(entries, received)
            finally:
                self.append_seconds += time.perf_counter() - began
            with self.lock:
                results = self._runs.rate(first, accepted, received)
            for number, (at, match) in enumerate(zip(new.values(), accepted, strict=True)):
                found = {run: of_run[number] for run, of_run in results.items()}
                replies[at] = Answer(match, first + number, False, found)
        for at in again:
            replies[at] = _repeated(matches[at], replies[new[matches[at].id]])
        return [reply for reply in replies if reply is not None]

    def remove(self, match_id: str, why: str = "", by: str = "", now: float | None = None) -> int:
        """Remove a match; returns the sequence number of the record. It takes effect with the next state of the runs,
        which a thread computes: see :attr:`stale`.

        Raises MatchError: there is no such match, or it is removed already, or its records are released.
        Raises LogUnavailableError: nothing was recorded.
        """
        (record,) = self._log.find([match_id])
        if record is None:
            raise MatchError("/id", "no match has this id")
        if not record.body:
            raise MatchError("/id", "the log has released the match; correct the data set while no process rates it")
        if self._runs.is_removed(record) or record.sequence in self._rebase.removing:
            raise MatchError("/id", "the match is removed already")
        if not self._runs.is_kept(record, self._log):
            raise MatchError("/id", "the log has released its period; correct the data set while no process rates it")
        sequence = self._change("remove", LoggedChange(match_id, why, by), now)
        self._rebase.want(record.sequence)
        return sequence

    def ban(self, handle: str, banned: bool = True, why: str = "", by: str = "", now: float | None = None) -> int:
        """Refuse matches with a player from now on, or accept them again; returns the sequence number of the record.

        Raises LogUnavailableError: nothing was recorded.
        """
        return self._change("ban" if banned else "unban", LoggedChange(handle, why, by), now)

    @property
    def banned(self) -> frozenset[str]:
        """The players of whom no match is accepted."""
        return frozenset(self._runs.banned)

    @property
    def stale(self) -> bool:
        """Whether a correction is recorded that the state does not have yet."""
        return self._rebase.wanted

    @property
    def rebased(self) -> Rebased | None:
        """The last change of the state by a correction; None if there was none."""
        return self._rebase.last

    def _change(self, kind: Kind, change: LoggedChange, now: float | None) -> int:
        self._received = received = max(time.time() if now is None else now, self._received)
        entry = change_entry(kind, change)
        sequence = self._log.append([entry], received)
        with self.lock:
            self._runs.note(Record(sequence, kind, entry.id, received, entry.body))
        return sequence

    def close_periods(self, now: float | None = None) -> bool:
        """Go on with writing periods that have ended and with corrections, for a few milliseconds; returns whether
        there is more to do.

        To be called between two groups of matches, at least every second.
        """
        now = time.time() if now is None else now
        if self._rebase.wanted and not self._writer.paused:
            with self.lock:
                self._runs = self._rebase.advance(self._runs, self._log)
            if self._rebase.wanted:
                return not self._writer.paused
        runs, options = self._runs, self._options
        if self._writer.paused or self._rebase.wanted or not runs.periods:
            return False
        with self.lock:
            runs.end_period(now)
        oldest = runs.periods[0]
        if not oldest.copies or period_end(oldest.number, options.period) + options.grace > now:
            return False
        with self.lock:
            record = self._writer.advance(oldest)
            if record is not None:
                runs.written(record)
        if record is not None:
            self._log.release(record.first_after(int(now - options.keep_log)))
        return bool(runs.periods and runs.periods[0].copies) and not self._writer.paused

    def player(self, run: str, handle: str) -> tuple[PlayerView | None, int]:
        """A player of a run, None without a rated match; and the sequence number of the state."""
        (found,), sequence = self.players_of(run, [handle])
        return found, sequence

    def players_of(self, run: str, handles: Sequence[str]) -> tuple[list[PlayerView | None], int]:
        """Players of a run, in one state; and its sequence number."""
        with self.lock:
            opened = self._runs[run]
            return views_of(opened.beliefs, opened.places, self._runs.players, handles), self._runs.last

    def beliefs_of(self, run: str, handles: Sequence[str]) -> tuple[Beliefs, int]:
        """A store of the beliefs about players of a run, in their order, unknown ones as newcomers; and the sequence
        number of the state.
        """
        with self.lock:
            return beliefs_of(self._runs[run].beliefs, self._runs.players, handles), self._runs.last

    def display(self, run: str) -> Display:
        """The system of a run, its hyperparameters, and how it shows ratings."""
        return self._runs[run].beliefs.display

    def leaderboard(self, run: str, start: int = 0, limit: int = 100) -> Board:
        """The rows of a leaderboard from ``start`` on; it is at most a second old."""
        beliefs, board = self._runs[run].beliefs, self._boards[run]
        columns = None
        with self.lock:
            if board.is_old(self._runs.last):
                columns = board.make(beliefs, self._runs.last)
        if columns is not None:
            board.sort(beliefs, columns)
        return board.part(self._runs.players, start, limit)

    def match(self, run: str, match_id: str) -> StoredMatch | None:
        """A match by its id; None if none has it.

        Raises LogUnavailableError: the log cannot be read.
        """
        (record,) = self._log.find([match_id])
        if record is None or not record.body or self._runs.is_removed(record):
            return None
        match = match_of(record)
        with self.lock:
            result = self._runs.results(match, record, [run])[run]
            number, period = self._runs.period_of(record)
        name = period.name if period is not None else period_name(number, self._options.period)
        return StoredMatch(match, record.sequence, record.received, name, result)

    def _again(self, match: Match, record: Record) -> Reply:
        """The reply to a match whose id is known."""
        if record.body and (before := match_of(record)) != match:
            return Conflict(match.id, record.sequence, first_difference(before, match))
        if self._runs.is_removed(record):
            return Refused(match.id, MatchError("/id", "the match of this id was removed; send it with another one"))
        with self.lock:
            return Answer(match, record.sequence, True, self._runs.results(match, record, self.names))

    def _fault(self, match: Match, now: int, fresh: set[str]) -> MatchError | None:
        """Why a new match is refused now; None if it is not, and its new players are then added to ``fresh``."""
        limits, options = self._options.limits, self._options
        if match.time is not None and not now - limits.behind <= match.time <= now + limits.ahead:
            span = f"within {limits.behind:,} s before and {limits.ahead:,} s after the present time, {now}"
            return MatchError("/time", f"must be {span}, got {match.time}")
        if match.time is not None and (season := self._runs.season_between(match.time, now)) is not None:
            return MatchError("/time", f"a reset at {season} is between this time, {match.time}, and now, {now}")
        if match.id in self._runs.taken:
            return MatchError("/id", "a contest of the data set has this id; choose another one")
        banned, players, new = self._runs.banned, self._runs.players, dict[str, str]()
        twice = players.same(match) if players.turns else None
        for at, side in enumerate(match.sides):
            for number, handle in enumerate(side.players):
                if handle in banned:
                    return MatchError(f"/sides/{at}/players/{number}", "the player is banned")
                if handle == twice:
                    return MatchError(f"/sides/{at}/players/{number}", "by an alias, the player is in the match twice")
                if players.is_new(handle) and handle not in fresh:
                    new[handle] = f"/sides/{at}/players/{number}"
        if not new:
            return None
        pointer = next(iter(new.values()))
        if options.known_players_only:
            return MatchError(pointer, "nobody has this name, and only matches of known players are accepted")
        if now // _MINUTE != self._minute:
            self._minute, self._new_players = now // _MINUTE, 0
        if self._new_players + len(new) > options.new_players:
            return MatchError(pointer, f"at most {options.new_players:,} new players a minute; send it again then")
        self._new_players += len(new)
        fresh.update(new)
        return None


def _repeated(match: Match, reply: Reply | None) -> Reply:
    """The reply to a match whose id an earlier one of its group has."""
    assert isinstance(reply, Answer)
    if reply.match != match:
        return Conflict(match.id, reply.sequence, first_difference(reply.match, match))
    return reply._replace(known=True)
