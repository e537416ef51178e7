"""Rating again: valid rounds are kept, others are rated, and interruptions and other writers change no file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.lakes import commit_often, contest, files, ingest, lake_of, rate_run, rated, same_tables, stamps, synthetic
from helpers.rated_runs import CONTESTS_MADE, SEGMENT_ROWS, changed, folder, fresh, manifests

from ranklake.flows.rating.report import Progress
from ranklake.storage import Contest, Lake, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease


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


@pytest.mark.slow
def test_rate__other_hyperparameters_rate_the_run_again(tmp_path: Path, lake: Lake) -> None:
    rate_run(lake)
    report = rate_run(lake, rho=0.04, replace=True)
    assert (report.kept, report.rated, report.why) == (0, 60, "other parameters")
    assert "kept 0 rounds rated before (other parameters), rated 60 rounds" in report.line()
    assert json.loads(folder(lake, "run.json").read_text())["params"]["rho"] == 0.04
    other = fresh(tmp_path, CONTESTS_MADE, rho=0.04)
    assert files(folder(lake, "")) == files(folder(other, ""))
    assert rate_run(lake, rho=0.04).rated == 0


def test_rate__keeping_uninformative_contests_is_another_configuration(lake: Lake) -> None:
    rate_run(lake)
    report = rate_run(lake, skip_uninformative=False, replace=True)
    assert (report.kept, report.rated, report.why) == (0, 60, "other parameters")


def test_rate__does_not_change_another_run(lake: Lake) -> None:
    rate_run(lake)
    before = stamps(folder(lake, ""))
    rate_run(lake, run="other", rho=5.0)
    assert stamps(folder(lake, "")) == before
    assert Run.names(lake) == ["other", "run"]


@pytest.mark.quick("29-time")
@pytest.mark.parametrize("what", changed(CONTESTS_MADE[29]))
@pytest.mark.parametrize("at", [0, 29])
def test_rate__a_corrected_contest_is_rated_again_with_all_after_it(
    tmp_path: Path, lake: Lake, what: str, at: int
) -> None:
    rate_run(lake, drift_per_day=5.0)
    before = stamps(folder(lake))
    corrected = changed(CONTESTS_MADE[at])[what]
    assert ingest(lake, [corrected]) == ["corrected"]
    report = rate_run(lake, drift_per_day=5.0)
    assert report.why == f"round {at}, contest {at}, changed"
    assert report.kept <= at
    assert report.kept + report.rated == 60
    kept = {name: stamp for name, stamp in before.items() if int(name[:6]) < report.kept}
    assert len(kept) == 2 * len([path for path in manifests(lake) if int(path.stem) < report.kept])
    assert kept.items() <= stamps(folder(lake)).items()
    assert at - report.kept < SEGMENT_ROWS  # at most its segment
    contests = [*CONTESTS_MADE[:at], corrected, *CONTESTS_MADE[at + 1 :]]
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests, drift_per_day=5.0)))


@pytest.mark.slow
def test_rate__an_undone_correction_gives_the_first_files_again(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake)
    for one in (changed(CONTESTS_MADE[29])["order"], CONTESTS_MADE[29]):
        ingest(lake, [one])
        rate_run(lake)
    assert files(folder(lake)) == files(folder(undisturbed))


def test_rate__a_new_title_rates_nothing_again(undisturbed: Lake) -> None:
    before = stamps(folder(undisturbed, ""))
    one = CONTESTS_MADE[29]
    renamed = Contest("29", "A better title", "https://x.org", one.time_seconds, one.handles, one.lo, one.hi)
    ingest(undisturbed, [renamed])
    assert rate_run(undisturbed).rated == 0
    assert stamps(folder(undisturbed, "")) == before


@pytest.mark.quick("1")
@pytest.mark.parametrize("n_more", [1, 40])
def test_rate__appended_contests_leave_earlier_rounds_unchanged(tmp_path: Path, n_more: int) -> None:
    contests = synthetic(60 + n_more)
    assert [one.content_digest for one in contests[:60]] == [one.content_digest for one in CONTESTS_MADE]
    lake = lake_of(tmp_path / "lake", contests[:60])
    rate_run(lake)
    before = stamps(folder(lake))
    ingest(lake, contests[60:])
    report = rate_run(lake)
    assert (report.kept, report.replayed, report.rated, report.why) == (60, 0, n_more, "")
    assert before.items() <= stamps(folder(lake)).items()
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests)))


def test_rate__removed_last_contests_remove_their_rounds(tmp_path: Path, undisturbed: Lake) -> None:
    ingest(undisturbed, CONTESTS_MADE[:31], "shorter")
    report = rate_run(undisturbed, dataset="shorter", replace=True)
    assert report.kept <= 31
    assert report.why
    assert Run.open(undisturbed, "run").segments().stop_round == 31
    assert same_tables(rated(undisturbed), rated(fresh(tmp_path, CONTESTS_MADE[:31])))


def test_rate__rounds_with_other_player_numbers_are_not_kept(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("0", "ann", "bob")], "one")
    ingest(lake, [contest("0", "zoe", "ann")], "other")
    ingest(lake, [contest("0", "ann", "bob")], "other")  # the same content, but zoe has number 0
    rate_run(lake, dataset="one")
    rate_run(lake, dataset="other", replace=True)
    assert rated(lake).column("player").to_pylist() == ["ann", "bob"]


def test_rate__of_a_run_under_another_lease_is_refused_without_steal(lake: Lake) -> None:
    lost = pytest.raises(LeaseHeldError, match="took over")
    with lost, hold_lease(lake, "runs/run", "rate run"):
        with pytest.raises(LeaseHeldError, match=r"runs/run: .* holds the lease, last heartbeat"):
            rate_run(lake)
        rate_run(lake, steal=True)


def test_rate__commits_nothing_after_the_loss_of_its_lease(lake: Lake) -> None:
    committed: list[int] = []

    def lose(progress: Progress) -> None:
        with hold_lease(lake, "runs/run", "rate run", steal=True):
            committed.append(Run.open(lake, "run").segments().stop_round)

    with pytest.raises(LeaseHeldError, match="took over from this process"):
        rate_run(lake, on_progress=lose)
    assert Run.open(lake, "run").segments().stop_round == committed[0] < 60
