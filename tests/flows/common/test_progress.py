"""Lines of progress in a log: an early one, one at every tenth, and one after each maximum interval."""

from __future__ import annotations

import itertools
import re

import pytest

from ranklake.flows.common.progress import Pace, ProgressLog, time_left


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def lines_of(n: int, seconds_each: float, total: int | None) -> list[tuple[float, str]]:
    """The lines for ``n`` items, with the seconds since the start."""
    clock = Clock()
    log, found = ProgressLog("codeforces", "responses", clock), []
    for done in range(n):
        if line := log.line(done, total, f"asking for {done}"):
            found.append((clock.now - 1000.0, line))
        clock.now += seconds_each
    return found


def test_progress_log__an_hour_of_requests_has_an_early_line_and_one_at_every_tenth() -> None:
    found = lines_of(1200, 3.0, 1200)
    assert found[0][0] <= 6.0
    shares = [int(re.search(r"\((\d+) %\)", line)[1]) for _, line in found]  # type: ignore[index]
    assert set(range(10, 100, 10)) <= set(shares)
    assert 10 <= len(found) <= 30
    times = [0.0, *(at for at, _ in found), 3600.0]
    assert max(b - a for a, b in itertools.pairwise(times)) <= 360.0
    assert found[0][1] == "codeforces: 2 of 1,200 responses (0 %), 0.33 a second, 60 min left, asking for 2"
    assert {line.split("(")[1].split(")")[0]: line for _, line in found}["50 %"].endswith(
        "0.33 a second, 30 min left, asking for 600"
    )


def test_progress_log__slow_work_has_a_line_every_five_minutes() -> None:
    times = [at for at, _ in lines_of(100, 290.0, 100)]
    assert max(b - a for a, b in itertools.pairwise(times)) <= 600.0


@pytest.mark.parametrize("total", [40, None])
def test_progress_log__short_work_has_no_line(total: int | None) -> None:
    assert lines_of(40, 0.1, total) == []


def test_progress_log__work_of_unknown_amount_has_lines_at_growing_intervals() -> None:
    found = lines_of(36_000, 0.1, None)
    assert 20 <= len(found) <= 60
    assert found[0][0] == pytest.approx(5.0, abs=0.2)
    assert found[-1][0] > 3000.0
    assert found[0][1].startswith("codeforces: 50 responses, 10 a second, asking for")


def test_progress_log__each_phase_has_its_own_rate() -> None:
    clock = Clock()
    log = ProgressLog("codeforces", "responses", clock)
    for done in range(100):
        log.line(done, 100, "asking")
        clock.now += 10.0
    found = []
    for done in range(100_000):
        found.append(log.line(done, 100_000, "reading"))
        clock.now += 0.001
    result = [line for line in found if line]
    assert 5 <= len(result) <= 20
    assert all(
        "1,000 a second" in line or "999 a second" in line or line.startswith("codeforces: 0 of") for line in result
    )


def test_pace__counts_in_the_singular_and_says_nothing_of_nothing() -> None:
    pace = Pace("sweeps", Clock())
    for done, words in ((0, "reading"), (1, "1 sweep, reading"), (2, "2 sweeps, reading")):
        pace.take(done, None)
        assert pace.words("reading", rate=False) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89.0, "89 s"), (91.0, "2 min"), (5399.0, "90 min"), (4201.0, "71 min"), (7201.0, "2 h 1 min")],
)
def test_time_left__is_in_two_units_at_most(seconds: float, words: str) -> None:
    assert time_left(seconds) == words.replace("90 min", "1 h 30 min")
