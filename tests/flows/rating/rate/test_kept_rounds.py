"""Rating again: finished rounds are kept, and interruptions change no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lakes import commit_often, files, rate_run, rated, same_tables, stamps
from helpers.rated_runs import CONTESTS_MADE, SEGMENT_ROWS, folder, manifests

from ranklake.storage import Lake, Run


def test_rate__a_second_time_rates_nothing_and_writes_nothing(undisturbed: Lake) -> None:
    before = stamps(Path(undisturbed.url))
    report = rate_run(undisturbed)
    assert (report.kept, report.replayed, report.rated, report.rows, report.why) == (60, 0, 0, 0, "")
    assert stamps(Path(undisturbed.url)) == before


@pytest.mark.quick("[[]0],*", "[[]0[]]", "[[]1]")
@pytest.mark.parametrize("cuts", [[0], [1], [17], [5, 6, 30], [59, 60], list(range(1, 60, 4))], ids=str)
def test_rate__in_several_calls_equals_one_call(lake: Lake, undisturbed: Lake, cuts: list[int]) -> None:
    for done, until in zip([0, *cuts], cuts, strict=False):
        report = rate_run(lake, max_rounds=until)
        assert (report.kept, report.rated) == (done, until - done)
        assert Run.open(lake, "run").segments().stop_round == until
    assert rate_run(lake).kept == cuts[-1]
    assert same_tables(rated(lake), rated(undisturbed))


def test_rate__max_rounds_removes_nothing_and_may_exceed_the_history(undisturbed: Lake) -> None:
    before = stamps(Path(undisturbed.url))
    for max_rounds in (0, 10, 60, 1000):
        assert rate_run(undisturbed, max_rounds=max_rounds).kept == 60
    assert stamps(Path(undisturbed.url)) == before


@pytest.mark.bound("ranklake.flows.rating.commits.commit_policy.DEFAULT.segment_rows")
def test_rate__small_contests_share_segments_that_close_at_a_size(undisturbed: Lake) -> None:
    segments = Run.open(undisturbed, "run").segments().segments
    assert len(segments) > 5
    assert max(len(segment.rows) for segment in segments) > 3
    for segment in segments[:-1]:
        assert segment.n_rows >= SEGMENT_ROWS > segment.n_rows - segment.rows[-1]


@pytest.mark.bound("ranklake.flows.rating.commits.commit_policy.DEFAULT.segment_seconds")
def test_rate__a_segment_of_slow_rounds_closes_early(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_seconds=-1.0)
    monkeypatch.setattr("ranklake.flows.rating.commits.segment_writer._WAITING", 0)  # each segment is waited for
    rate_run(lake)
    assert len(Run.open(lake, "run").segments().segments) > len(CONTESTS_MADE) * 6 / SEGMENT_ROWS
    monkeypatch.undo()
    assert rate_run(lake).rated == 0


@pytest.mark.quick("1", "4")
@pytest.mark.parametrize("last", range(1, 8))
def test_rate__interruptions_do_not_change_the_ends_of_segments(lake: Lake, undisturbed: Lake, last: int) -> None:
    rate_run(lake)
    for path in manifests(lake)[last:]:
        path.unlink()
    report = rate_run(lake)
    assert report.kept == int(manifests(undisturbed)[last].stem)
    assert files(folder(lake)) == files(folder(undisturbed))
