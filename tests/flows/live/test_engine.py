"""What a process answers: ids that are known, what is refused, readers between groups, and crashes of its writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.lakes import contest, lake_of, rated, same_tables
from helpers.live_matches import DAY, START, MemoryLog, config_of, duels, fields

from ranklake.flows.live.engine import Answer, Conflict, LiveOptions, LiveRuns, Refused, Reply
from ranklake.flows.live.log.records import LogUnavailableError
from ranklake.flows.live.matches.match import Match, MatchRules, read_match
from ranklake.flows.live.matches.outcomes import Outcomes
from ranklake.flows.live.periods import closing
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.storage import Dataset, Lake
from ranklake.storage.lake.errors import LeaseHeldError

HOUR = LiveOptions("hour")


@contextmanager
def opened(
    path: Path, log: MemoryLog, *, options: LiveOptions = HOUR, now: float = START, system: str = "elo"
) -> Iterator[LiveRuns]:
    with LiveRuns.open(Lake.open(path, create=True), [config_of("run", system)], log, options, now=now) as runs:
        yield runs


def game(match_id: str = "m", a: str = "ada", b: str = "bo", score: float = 1.0, **more: Any) -> Match:
    return read_match(
        json.dumps({"id": match_id, "a": a, "b": b, "score": score, **more}).encode(), MatchRules("games")
    )


def one(runs: LiveRuns, match: Match, now: float = START) -> Reply:
    (reply,) = runs.accept([match], now=now)
    return reply


def test_known_ids__have_the_first_answer_and_one_effect(tmp_path: Path) -> None:
    log = MemoryLog()
    with opened(tmp_path, log) as runs:
        first = one(runs, game())
        assert isinstance(first, Answer)
        assert not first.known
        storm = runs.accept([game()] * 50 + [game("n")] * 3, now=START + 1)
        assert all(reply == first._replace(known=True) for reply in storm[:50])
        assert [reply.known for reply in storm[50:] if isinstance(reply, Answer)] == [False, True, True]
        assert runs.last == log.last == 2
        view, sequence = runs.player("run", "ada")
        assert view is not None
        assert view.n_rounds == 2
        assert sequence == 2


def test_another_content__is_a_conflict_that_names_the_field(tmp_path: Path) -> None:
    with opened(tmp_path, MemoryLog()) as runs:
        one(runs, game())
        assert one(runs, game(score=0.5)) == Conflict("m", 1, "/sides/1/place")
        replies = runs.accept([game("n"), game("n", weight=2.0)], now=START)
        assert replies[1] == Conflict("n", 2, "/weight")
        assert runs.last == 2


def test_times__are_near_the_clock_but_known_matches_are_answered_later(tmp_path: Path) -> None:
    with opened(tmp_path, MemoryLog()) as runs:
        for time in (START + 301, START - 86_401):
            reply = one(runs, game(time=time))
            assert isinstance(reply, Refused)
            assert reply.error.pointer == "/time"
        assert runs.last == 0
        assert isinstance(one(runs, game(time=START - 86_400)), Answer)
        again = one(runs, game(time=START - 86_400), now=START + 5 * DAY)
        assert isinstance(again, Answer)
        assert again.known


def test_earlier_match__is_rated_last_and_no_days_count(tmp_path: Path) -> None:
    with opened(tmp_path, MemoryLog(), system="glicko2") as runs:
        one(runs, game("m1", time=START))
        late = one(runs, game("m2", time=START - 80_000))
        view, _ = runs.player("run", "ada")
        assert isinstance(late, Answer)
        assert view is not None
        assert late.results["run"].players[0].n_rounds == 2
        assert view.last_match == START


def test_log_that_fails__leaves_no_match_in_memory(tmp_path: Path) -> None:
    log = MemoryLog()
    with opened(tmp_path, log) as runs:
        log.full = True
        with pytest.raises(LogUnavailableError):
            one(runs, game())
        assert runs.n_players == 0
        assert runs.last == 0
        log.full = False
        assert isinstance(one(runs, game()), Answer)


def test_new_players__are_limited_or_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "a", MemoryLog(), options=LiveOptions(new_players=3)) as runs:
        replies = runs.accept([game("1"), game("2", "cy", "dee"), game("3", "ada", "eve")], now=START)
        assert [type(reply) for reply in replies] == [Answer, Refused, Answer]
        assert isinstance(one(runs, game("2", "cy", "dee"), now=START + 60), Answer)
    with opened(tmp_path / "b", MemoryLog(), options=LiveOptions(known_players_only=True)) as runs:
        reply = one(runs, game())
        assert isinstance(reply, Refused)
        assert reply.error.pointer == "/sides/0/players/0"


def test_leases__let_one_process_write(tmp_path: Path) -> None:
    with opened(tmp_path, MemoryLog()), pytest.raises(LeaseHeldError), opened(tmp_path, MemoryLog()):
        pass


@pytest.mark.parametrize("system", ["fide", "bt"])
def test_systems_of_whole_periods__are_refused_with_the_reason(tmp_path: Path, system: str) -> None:
    with (
        pytest.raises(ValueError, match="cannot be rated match by match"),
        opened(tmp_path, MemoryLog(), system=system),
    ):
        pass


def test_contest_of_the_data_set__keeps_its_id(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [contest("c1", "ada", "bo", time_seconds=START - DAY)])
    options = LiveOptions(games=False)
    with LiveRuns.open(lake, [config_of("run", "elo-mmr")], MemoryLog(), options, now=START) as runs:
        match = fields(1)[0]
        reply = one(runs, Match("c1", match.sides))
        assert isinstance(reply, Refused)
        assert reply.error.pointer == "/id"
        view, _ = runs.player("run", "ada")
        assert view is not None
        assert view.n_rounds == 1


def test_match__has_its_result_and_its_period(tmp_path: Path) -> None:
    log = MemoryLog()
    with opened(tmp_path, log) as runs:
        answer = one(runs, game())
        before = runs.match("run", "m")
        while runs.close_periods(START + DAY):
            pass
        after = runs.match("run", "m")
        assert isinstance(answer, Answer)
        assert before is not None
        assert before == after
        assert before.period == "2024-10-04T09"
        assert before.result == answer.results["run"]
        assert before.sequence == 1
        assert runs.match("run", "n") is None


def test_leaderboard__has_places_and_the_state(tmp_path: Path) -> None:
    with opened(tmp_path, MemoryLog()) as runs:
        runs.accept(
            [game("1"), game("2", "cy", "dee"), game("3", "ada", "cy"), game("4", "eve", "flo", 0.5)], now=START
        )
        board = runs.leaderboard("run", 1, 3)
        assert (board.sequence, board.n_players) == (4, 6)
        assert [(row.place, row.player) for row in board.players] == [(2, "cy"), (2, "eve"), (2, "flo")]
        assert runs.leaderboard("run", 0, 1).players[0].player == "ada"
        assert runs.leaderboard("run", 6).players == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("games", "step"), [(True, "write_period"), (True, "write_rounds"), (True, "before"), (False, "write_period")]
)
def test_crash_between_the_steps__is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, games: bool, step: str
) -> None:
    matches = duels(30) if games else fields(30)
    lakes = [Lake.open(tmp_path / name, create=True) for name in ("crashed", "whole")]
    config, options = config_of("run", "elo-mmr"), LiveOptions("hour", games=games)
    for lake in lakes:
        log = MemoryLog()
        if lake is lakes[0]:
            stop(monkeypatch, step)
        with LiveRuns.open(lake, [config], log, options, now=START) as runs:
            for at, match in enumerate(matches):
                runs.accept([match], now=START + 40 * at)
            while runs.close_periods(START + DAY):
                pass
            assert bool(runs.failure) == (lake is lakes[0])
            assert isinstance(one(runs, Match("last", matches[0].sides), START + DAY), Answer)  # it goes on serving
        monkeypatch.undo()
        with LiveRuns.open(lake, [config], log, options, now=START + 3 * DAY) as runs:
            assert runs.unsaved == 0
    one_set, other = (Dataset.open(lake, "games").contests for lake in lakes)
    assert one_set.column("content_digest").equals(other.column("content_digest"))
    assert same_tables(rated(lakes[0]), rated(lakes[1]))


def stop(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Have the writing of a period end after a step, or before all."""

    def failing(*arguments: Any) -> Any:
        if step != "before":
            whole(*arguments)
        raise RuntimeError("the process ended")

    name = "write_period" if step == "before" else step
    whole = getattr(closing, name)
    monkeypatch.setattr(closing, name, failing)


def test_writing__is_tried_again_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = closing.write_rounds, list[int]()

    def once(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the disk is full")
        whole(*arguments)

    monkeypatch.setattr(closing, "write_rounds", once)
    monkeypatch.setattr(closing, "_RETRY_SECONDS", 0.0)
    with opened(tmp_path, MemoryLog()) as runs:
        one(runs, game())
        failures = set()
        while runs.unsaved:
            runs.close_periods(START + DAY)
            failures.add(runs.failure)
        assert failures == {"", "period 2024-10-04T09: the disk is full"}
        assert runs.failure == ""
    assert rated(Lake.open(tmp_path)).num_rows == 2


@pytest.mark.slow
def test_check__stops_the_writing_at_a_number_that_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, matches = LiveOptions("hour", check=True), duels(60)

    def wrong(*arguments: Any) -> None:
        *others, outcomes, beliefs = arguments
        players, outcome = Outcomes.rows(outcomes, 0, outcomes.n_rows)
        outcome.mu[7] += 0.5
        changed = Outcomes()
        monkeypatch.setattr(changed, "rows", lambda start, stop: (players[start:stop], outcome.part(start, stop)))
        changed._n_rows = outcomes.n_rows
        whole(*others, changed, beliefs)

    whole = closing.write_rounds
    for faulty in (False, True):
        if faulty:
            monkeypatch.setattr(closing, "write_rounds", wrong)
        with opened(tmp_path / str(faulty), MemoryLog(), options=options) as runs:
            for at, match in enumerate(matches):
                runs.accept([match], now=START + 40 * at)
            while runs.close_periods(START + DAY):
                pass
            assert bool(runs.mismatch) == faulty
            assert isinstance(one(runs, game("last")), Answer)
            assert ("another mu, by up to 0.5" in runs.failure) == faulty


def test_new_run__is_in_the_lake_before_its_first_round(tmp_path: Path) -> None:
    log = MemoryLog()
    with opened(tmp_path, log) as runs:
        one(runs, game())
    lake = Lake.open(tmp_path)
    assert Dataset.open(lake, "games").contests.num_rows == 0
    (config,) = resolve_runs(lake, None, ["run"], [], ())
    assert (config.dataset, config.system) == ("games", "elo")
    with pytest.raises(ValueError, match="glicko2"):
        resolve_runs(lake, None, ["run"], ["glicko2"], ())
    with LiveRuns.open(lake, [config], log, HOUR, now=START + 60) as runs:
        assert runs.player("run", "ada")[0] is not None
