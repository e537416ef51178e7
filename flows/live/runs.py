"""The runs of a data set in memory: the numbers of its players, the beliefs of every run, and the periods of the log
that the lake does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Ints
from ranklake.storage import Dataset, Lake, MissingError
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ..events.apply import belief_reset
from ..rating.config import covariates_used
from .log.records import Log, Record
from .matches.answers import Result, results_of
from .matches.beliefs import Rated
from .matches.copies import BeliefsCopy
from .matches.match import Match, MatchRules
from .matches.players import Players
from .matches.rounds import Accepted, contest_rows, games_rows, handles_of
from .opening import OpenedRun
from .periods.calendar import PeriodLength, period_end, period_number
from .periods.logged import PART, Tail, match_of, read_tail, removed_by, with_bans, with_time
from .periods.period import LivePeriod
from .periods.record import LiveRecord, WrittenPeriod
from .periods.stored import StoredOutcomes


class OpenedRuns:
    """Runs over one data set, after the last record of its log that is rated.

    ``record``: what the lake has of the log. ``last``: sequence number of the last record that is rated.
    ``periods``: those that the lake does not have; the last one may be open.
    ``removed``: sequence numbers of removed matches that records after the written periods remove.
    ``banned``: players of whom no match is accepted.
    ``taken``: ids of the contests of the data set when this object was made; matches of the log are among them.
    """

    def __init__(
        self,
        lake: Lake,
        dataset: Dataset,
        runs: Sequence[OpenedRun],
        record: LiveRecord,
        length: PeriodLength,
        rules: MatchRules,
    ) -> None:
        self._stored, self._length = StoredOutcomes(lake), length
        self._of_games, self._kind = dataset.kind == GAMES_KIND, dataset.kind
        self._runs = {run.config.run: run for run in runs}
        self.rules = rules
        aliases = dataset.log().aliases
        self.players, self._has_aliases = Players(dataset.handles().to_pylist(), aliases), bool(aliases)
        self.record, self.last = record, record.last
        self.periods: list[LivePeriod] = []
        self.removed: set[int] = set()
        self.banned = set(record.banned)
        ids = [] if self._of_games else dataset.contests.column("contest_id").to_pylist()
        self.taken = frozenset(ids)
        self._dataset, self._resets = dataset, [event.time_seconds for event in dataset.events().resets]

    def __getitem__(self, run: str) -> OpenedRun:
        return self._runs[run]

    @property
    def names(self) -> list[str]:
        """The names of the runs."""
        return list(self._runs)

    def replay(self, log: Log, tail: Tail | None = None) -> None:
        """Rate the further records of the log, without matches that any of them removes.

        ``tail``: these records and perhaps some before; None: to be read.
        """
        self.removed |= removed_by(log, read_tail(log, self.last + 1) if tail is None else tail)
        group: list[Record] = []

        def take() -> None:
            if group:
                self._take(group[0].sequence, list(map(match_of, group)), [record.received for record in group])
                group.clear()

        ends = 0.0  # of the time in which records join the group: their period ends then, or a reset is due
        for record in log.read(self.last + 1):
            is_match = record.kind == "match" and record.sequence not in self.removed
            if record.received >= ends or len(group) == PART or not is_match:
                take()
            if is_match:
                if not group:
                    ends = self._end_of_group(record.received)
                group.append(record)
            else:
                self.note(record)
        take()

    def note(self, record: Record) -> None:
        """Take a record that rates no match: a change, or a match that is removed."""
        self._reset(record.received)
        period = self._open_period(record.sequence, record.received)
        period.others.append(record)
        period.last = self.last = record.sequence
        self.banned = with_bans(self.banned, [record])

    def is_removed(self, record: Record) -> bool:
        """Whether the match of a record is removed."""
        written = self.record.period_of(record.sequence)
        return record.sequence in self.removed or (written is not None and record.sequence in written.others)

    def is_kept(self, record: Record, log: Log) -> bool:
        """Whether the log has all records of the period of a record."""
        written = self.record.period_of(record.sequence)
        try:
            return written is None or next(log.read(written.first), None) is not None
        except MissingError:
            return False

    def n_changed(self, before: OpenedRuns) -> int:
        """The number of players who have another belief than in other runs, in any run."""
        rows = np.array([before.players.find(handle) for handle in self.players.handles], np.float64)
        known = np.flatnonzero(~np.isnan(rows))
        changed = np.isnan(rows)
        for name, run in self._runs.items():
            one, two = run.beliefs, before[name].beliefs
            here = known[(known < one.n_players) & (rows[known] < two.n_players)]
            there = rows[here].astype(np.int64)
            for column in ("mu", "sigma", "n_rounds"):
                changed[here] |= getattr(one.store, column)[here] != getattr(two.store, column)[there]
        return int(changed.sum())

    def rate(self, first: int, matches: Sequence[Match], received: float) -> dict[str, list[Result]]:
        """Rate matches that the log has, the first one with the sequence number ``first``; their results by run."""
        rated = self._take(first, matches, [received] * len(matches))
        return {
            name: results_of(run.beliefs.display, matches, rated[name], self._of_games)
            for name, run in self._runs.items()
        }

    def end_period(self, now: float) -> None:
        """End the open period if its time is over: begin to copy the beliefs."""
        if self.periods and not self.periods[-1].copies:
            period = self.periods[-1]
            if period_end(period.number, self._length) <= now:
                period.copies = {name: BeliefsCopy(run.beliefs) for name, run in self._runs.items()}

    def written(self, record: LiveRecord) -> None:
        """The lake has the oldest period."""
        self.record = record
        del self.periods[0]

    def period_of(self, record: Record) -> tuple[int, WrittenPeriod | None]:
        """The number of the period of a record of the log, and the period if the lake has it."""
        return period_number(int(record.received), self._length), self.record.period_of(record.sequence)

    def results(self, match: Match, record: Record, runs: Sequence[str]) -> dict[str, Result]:
        """The results of a match of the log, by run: those of its answer, made again."""
        given = with_time(match, record.received)
        found = {}
        for name in runs:
            run, rows = self._runs[name], None
            written = self.record.period_of(record.sequence)
            if written is None:
                period = next(one for one in self.periods if one.first <= record.sequence <= one.last)
                rows = period.outcomes[name].of_match(period.places[match.id])
            elif self._of_games:
                rows = self._stored.find(name, written.name, written.place_of(record.sequence))
            else:
                rows = self._stored.find(name, match.id, None)
            if rows is None:
                continue
            players, outcome = rows
            if self._of_games and match.first_score < 0.5:
                players = players[::-1].copy()
            rounds = self._rounds(run, players, [given], again=True)
            informative = np.array([len(outcome.mu) > 0])
            rated = Rated(informative, rounds.keep(informative), outcome)
            found[name] = results_of(run.beliefs.display, [match], rated, self._of_games)[0]
        return found

    def _end_of_group(self, received: float) -> float:
        """Before which time, UTC seconds, records can be rated together with one of a time."""
        end = period_end(period_number(int(received), self._length), self._length)
        return min([end, *(reset for reset in self._resets if reset > received)])

    def _take(self, first: int, matches: Sequence[Match], received: Sequence[float]) -> dict[str, Rated]:
        """Rate matches of one period in order and keep the results; no reset is due between them."""
        self._reset(received[0])
        period = self._open_period(first, received[0])
        given = list(map(with_time, matches, received))
        times: list[int] = []
        if self._has_aliases:  # of a period, its end counts: about when its games are accepted
            of_match = [int(at) if self._of_games else one.time for one, at in zip(given, received, strict=True)]
            times = [
                time
                for one, time in zip(given, of_match, strict=True)
                for side in one.match.sides
                for _ in side.players
            ]
        n_before = len(self.players)
        players = self.players.rows(handles_of(self._kind, given), times)
        fresh, found = self.players.handles[n_before:], {}
        for name, run in self._runs.items():
            run.beliefs.grow(len(self.players), fresh)
            for ended in self.periods:
                if ended.copies:
                    ended.copies[name].before(players)
            found[name] = run.beliefs.rate(self._rounds(run, players, given), self._of_games)
        period.add(first, [match.id for match in matches], found)
        self.last = period.last
        return found

    def season_between(self, time_seconds: int, received: int) -> int | None:
        """The time of a reset between the time of a match and its acceptance, UTC seconds; None without one.

        A match is of the season in which it is accepted: its period must not be on both sides of a reset.
        """
        early, late = min(time_seconds, received), max(time_seconds, received)
        return next((reset for reset in self._resets if early < reset <= late), None)

    def _reset(self, received: float) -> None:
        """Reset the beliefs if a season has begun since the last match; the open period ends before it."""
        for run in self._runs.values():
            while run.resets and run.resets[0].event.time_seconds <= received:
                self._cut()
                reset = belief_reset(run.resets[0], run.config.params, self._dataset)
                if (handles := run.resets.pop(0).handles) is not None:
                    mask = np.zeros(len(self.players), np.bool_)
                    mask[[row for row in map(self.players.find, handles) if row is not None]] = True
                    reset = replace(reset, players=mask)
                run.beliefs.reset(reset)

    def _cut(self) -> None:
        """End the open period, and complete the copies of all beliefs: all of them are about to change."""
        if self.periods and not self.periods[-1].copies:
            self.periods[-1].copies = {name: BeliefsCopy(run.beliefs) for name, run in self._runs.items()}
        for period in self.periods:
            for copy in period.copies.values():
                copy.complete()

    def _rounds(self, run: OpenedRun, players: Ints, given: Sequence[Accepted], again: bool = False) -> Rounds:
        """The rounds of matches, the next of the history, or some of before ``again``."""
        events = replace(run.events) if again else run.events
        if not self._of_games:
            return contest_rows(players, given, events)
        used = covariates_used(run.config.params)
        rounds = games_rows(players, given, events.count, self.rules.covariates, used)
        events.count += len(given)
        return rounds

    def _open_period(self, sequence: int, received: float) -> LivePeriod:
        """The period of the next records; the one before it has ended."""
        number = period_number(int(received), self._length)
        if not self.periods or self.periods[-1].copies or self.periods[-1].number < number:
            self.end_period(received)
            self.periods.append(LivePeriod(number, sequence, sequence - 1))
        return self.periods[-1]
