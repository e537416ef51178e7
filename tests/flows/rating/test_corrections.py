"""Corrections and ratings: after any corrections, a run equals that of the current history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.answers import leaderboard, player_history
from helpers.commands import Command
from helpers.folders import reference, write_folder
from helpers.lakes import (
    commit_often,
    contest,
    copy_of,
    files,
    ingest,
    lake_of,
    rate_run,
    rated,
    same_tables,
    small_files,
    stamps,
    synthetic,
)
from helpers.storage_twin import FIRST, Twin, changes
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.common.adapters import ContestFacts
from ranklake.flows.rating.report import RateReport
from ranklake.storage import Dataset, Lake, LakeError, MissingError, Run

SEGMENT_ROWS = 30
CONTESTS = synthetic(40, spice=False)


@pytest.fixture(scope="module", autouse=True)
def many_small_files() -> Iterator[None]:
    """Segments, snapshots and standings files of a few rounds."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=SEGMENT_ROWS, snapshot_rows=60)
        small_files(patch, file_rows=24)
        yield


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, many_small_files: None) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS)
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with ``CONTESTS``, rated as ``run``."""
    return copy_of(rated_once, tmp_path / "lake")


def change(lake: Lake, method: str, *how: Any) -> None:
    with Dataset.ingest(lake, "games") as body:
        getattr(body, method)(*how)


def rounds(lake: Lake) -> Path:
    return Path(lake.url) / "runs" / "run" / "rounds"


def kept_and_rated(report: RateReport, first: int) -> None:
    """All rounds from the first affected one on were rated, and before it at most its segment."""
    assert first - SEGMENT_ROWS / 2 < report.kept <= first
    assert report.kept + report.rated == len(CONTESTS)


# Random sequences


@pytest.mark.slow
@repeatable(40)
@given(st.data())
def test_rate__after_any_corrections_equals_the_final_history(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("any")
    system = data.draw(st.sampled_from(["elo-mmr", "elo-srm", "glicko2", "trueskill"]))
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=4, snapshot_rows=8)
        small_files(patch, file_rows=5)
        lake, twin = Lake.open(path / "lake", create=True), Twin()
        excluded: set[str] = set()
        twin.change(lake, data.draw(FIRST))
        for _ in range(data.draw(st.integers(2, 9))):
            kind = data.draw(st.sampled_from(["change", "change", "rate", "exclude", "include"]))
            if kind == "change":
                twin.change(lake, data.draw(changes(twin)))
            elif kind == "rate":
                rate_run(lake, system=system, max_rounds=data.draw(st.none() | st.integers(0, 5)))
            elif kind == "exclude" and twin.order:
                one = data.draw(st.sampled_from(twin.order))
                rate_run(lake, system=system, exclude=(one,))
                excluded.add(one)
            elif kind == "include" and excluded:
                one = data.draw(st.sampled_from(sorted(excluded)))
                rate_run(lake, system=system, include=(one,))
                excluded.remove(one)
        predicted = rate_run(lake, system=system, dry_run=True)
        report = rate_run(lake, system=system)
        assert (predicted.kept, predicted.replayed, predicted.rated) == (report.kept, report.replayed, report.rated)
        assert (predicted.why, predicted.excluded) == (report.why, report.excluded)

        history = twin.contests()
        one_go = lake_of(path / "one go", history)
        if history:
            rate_run(one_go, system=system, exclude=tuple(excluded.intersection(twin.order)))
            assert same_tables(rated(lake), rated(one_go))
            assert Run.open(lake, "run").segments().stop_round == len(history)
        without = lake_of(path / "without", [one for one in history if one.contest_id not in excluded])
        if Dataset.names(without):
            rate_run(without, system=system)
            tables = [rated(found).drop_columns(["round_index"]) for found in (lake, without)]
            assert same_tables(*tables)


# Rounds rated again


@pytest.mark.slow
def test_rate__a_disqualification_rates_again_and_undone_gives_the_first_files(lake: Lake) -> None:
    before = files(rounds(lake))
    handle = CONTESTS[25].handles[0].as_py()
    change(lake, "disqualify", "25", handle)
    report = rate_run(lake)
    kept_and_rated(report, 25)
    assert report.why == "round 25, contest 25, changed"
    assert handle not in [row["player"] for row in rated(lake).to_pylist() if row["contest_id"] == "25"]
    change(lake, "reinstate", "25", handle)
    kept_and_rated(rate_run(lake), 25)
    assert files(rounds(lake)) == before


@pytest.mark.slow
def test_rate__an_alias_rates_again_from_the_first_contest_of_the_old_name(lake: Lake) -> None:
    with_visitor = contest("30", "visitor", "player 1", time_seconds=CONTESTS[30].time_seconds)
    ingest(lake, [with_visitor])
    rate_run(lake)
    before = files(rounds(lake))
    change(lake, "alias", "visitor", "player 3")
    report = rate_run(lake)
    kept_and_rated(report, 30)
    change(lake, "unalias", "visitor")
    rate_run(lake)
    assert files(rounds(lake)) == before


@pytest.mark.slow
def test_rate__describes_the_first_invalid_round(lake: Lake) -> None:
    late = contest("late", "player 1", "player 2", time_seconds=1)
    ingest(lake, [*CONTESTS[:20], late, *CONTESTS[20:]])
    assert rate_run(lake).why == "round 20, contest late, was inserted"
    change(lake, "remove", "late")
    assert rate_run(lake).why == "round 20, contest late, was removed"
    ingest(lake, [*CONTESTS[:10], CONTESTS[11], CONTESTS[10], *CONTESTS[12:]])
    assert rate_run(lake).why == "round 10, contest 11, was moved here"
    ingest(lake, CONTESTS)
    assert rate_run(lake).why == "round 10, contest 10, was moved here"
    with Dataset.ingest(lake, "games", mirror=True) as body:
        for one in CONTESTS[:30]:
            body.add(one)
    assert rate_run(lake).why == "round 30, contest 30, was removed"


def test_rate__of_a_correction_that_changes_no_standings_keeps_everything(lake: Lake) -> None:
    before = stamps(rounds(lake))
    change(lake, "alias", "nobody", "player 1")
    handle = CONTESTS[25].handles[0].as_py()
    change(lake, "disqualify", "25", handle)
    change(lake, "reinstate", "25", handle)
    assert rate_run(lake).rated == 0
    assert stamps(rounds(lake)) == before


# Exclusions


def test_exclude__skips_a_contest_until_it_is_included(tmp_path: Path, lake: Lake) -> None:
    before = files(rounds(lake))
    report = rate_run(lake, exclude=("20", "30"))
    kept_and_rated(report, 20)
    assert (report.why, report.excluded, report.skipped) == ("round 20, contest 20, is excluded", 2, 0)
    assert report.line().endswith("; 2 of them excluded")
    assert rate_run(lake).rated == 0  # the configuration has the exclusion
    assert Run.open(lake, "run").config["exclude"] == ["20", "30"]
    assert {20, 30} <= {i for s in Run.open(lake, "run").segments().segments for i in s.skipped}
    without = lake_of(tmp_path / "without", [one for one in CONTESTS if one.contest_id not in ("20", "30")])
    rate_run(without)
    assert same_tables(*(rated(found).drop_columns(["round_index"]) for found in (lake, without)))

    report = rate_run(lake, include=("30",))
    kept_and_rated(report, 30)
    assert report.why == "round 30, contest 30, is included again"
    rate_run(lake, include=("20",))
    assert files(rounds(lake)) == before
    assert "exclude" not in Run.open(lake, "run").config


@pytest.mark.slow
def test_exclude__counts_in_new_runs_with_other_parameters_and_of_uninformative_contests(lake: Lake) -> None:
    assert rate_run(lake, run="other", exclude=("0",)).excluded == 1
    report = rate_run(lake, run="other", rho=0.5, replace=True)
    assert (report.why, report.excluded) == ("other parameters", 1)
    assert rate_run(lake).rated == 0
    ingest(lake, [contest("40", ["player 1", "player 2", "player 3"])])
    assert rate_run(lake, run="all", skip_uninformative=False).rows > rate_run(lake, run="some").rows
    report = rate_run(lake, run="all", skip_uninformative=False, exclude=("40",))
    assert (report.excluded, report.skipped) == (1, 0)


@pytest.mark.slow
def test_exclude__a_correction_or_removal_of_an_excluded_contest_rates_nothing_again(lake: Lake) -> None:
    rate_run(lake, exclude=("20",))
    before = stamps(rounds(lake))
    change(lake, "disqualify", "20", CONTESTS[20].handles[0].as_py())
    assert rate_run(lake).rated == 0
    assert stamps(rounds(lake)) == before
    kept_and_rated(rate_run(lake, include=("20",)), 20)
    rate_run(lake, exclude=("20",))
    change(lake, "remove", "20")
    rate_run(lake)
    assert Run.open(lake, "run").config["exclude"] == ["20"]
    with pytest.raises(MissingError, match="contest '21' is not excluded from run run; excluded are: '20'"):
        rate_run(lake, include=("21",))
    assert rate_run(lake, include=("20",)).rated == 0
    assert "exclude" not in Run.open(lake, "run").config


def test_exclude__an_excluded_contest_divides_no_event() -> None:
    facts = {name: pa.nulls(4, pa.float64()) for name in ("perf_ceiling", "precision")}
    facts |= {"field_includes_unrated": pa.nulls(4, pa.bool_())}
    table = pa.table({"time_seconds": [5, 7, 5, 7], "weight": [1.0] * 4, **facts})
    counts = np.array([True, False, True, True])
    assert ContestFacts.of(table, counts).event[counts].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"exclude": ("20", "x")}, "no contest 'x' in data set games"),
        ({"include": ("20",)}, "contest '20' is not excluded from run run; it excludes none"),
        ({"include": ("20",), "exclude": ("20",)}, "contest '20' is both excluded and included"),
    ],
)
def test_exclude__invalid_requests_are_refused_and_change_nothing(lake: Lake, how: dict[str, Any], said: str) -> None:
    before = stamps(rounds(lake))
    with pytest.raises((LakeError, ValueError), match=said):
        rate_run(lake, **how)
    assert stamps(rounds(lake)) == before


# Dry runs


HOW: dict[str, dict[str, Any]] = {
    "nothing": {},
    "new run": {"run": "other"},
    "correction": {},
    "exclusion": {"exclude": ("33",)},
    "parameters": {"rho": 0.5, "replace": True},
    "no last snapshot": {},
}


@pytest.mark.quick("correction", "no last snapshot")
@pytest.mark.parametrize("what", HOW)
def test_dry_run__reports_the_plan_and_writes_nothing(lake: Lake, what: str) -> None:
    if what == "correction":
        change(lake, "disqualify", "33", CONTESTS[33].handles[0].as_py())
    elif what == "no last snapshot":
        Run.open(lake, "run").prune_snapshots(0)
    before = stamps(Path(lake.url))
    predicted = rate_run(lake, dry_run=True, **HOW[what])
    assert stamps(Path(lake.url)) == before
    report = rate_run(lake, **HOW[what])
    for name in ("kept", "replayed", "rated", "why", "excluded", "rows"):
        assert getattr(predicted, name) == getattr(report, name)
    assert predicted.line().startswith(f"would keep {report.kept} rounds")
    assert " at most" in predicted.line()
    assert (what in ("nothing", "no last snapshot")) == (predicted.rated == 0)


# Displayed results


def test_leaderboard__of_a_stale_run_shows_its_rated_contests(lake: Lake) -> None:
    board = leaderboard(lake, "run")
    history = player_history(lake, "run", "player 3").rows
    ingest(lake, [contest("first", "player 1", "player 2", time_seconds=5), *CONTESTS])
    change(lake, "remove", history.column("contest_id")[0].as_py())
    assert leaderboard(lake, "run").select(["handle", "last_time_seconds"]).num_rows == board.num_rows
    again = player_history(lake, "run", "player 3").rows
    assert again.column("name").to_pylist()[1:] == history.column("name").to_pylist()[1:]
    assert again.column("name")[0].as_py() is None


@pytest.mark.slow
def test_player__an_old_name_leads_to_the_history_under_the_new_one(lake: Lake) -> None:
    change(lake, "alias", "player 3", "zed")
    before = player_history(lake, "run", "player 3")
    assert (before.handle, "the run has the old name" in before.note) == ("player 3", True)
    rate_run(lake)
    after = player_history(lake, "run", "player 3")
    assert (after.handle, after.note) == ("zed", "'player 3' is now 'zed'")
    assert after.rows.num_rows == before.rows.num_rows
    assert player_history(lake, "run", "zed").note == ""
    assert "zed" in leaderboard(lake, "run").column("handle").to_pylist()
    assert "player 3" not in leaderboard(lake, "run").column("handle").to_pylist()


@pytest.mark.slow
def test_player__a_reused_name_shows_its_current_owner(lake: Lake) -> None:
    played = [one for one in CONTESTS if "player 3" in one.handles.to_pylist()]
    since = played[2].time_seconds
    change(lake, "alias", "player 3", "zed", since)
    rate_run(lake)
    now = player_history(lake, "run", "player 3")
    assert (now.handle, now.rows.num_rows) == ("player 3", len(played) - 2)
    assert "is 'zed' before 1970-" in now.note
    assert player_history(lake, "run", "zed").rows.num_rows == 2


# Commands


@pytest.mark.slow
def test_commands__correct_and_report(invoke: Command, lake: Lake) -> None:
    there = ("--dataset", "games", "--lake", lake.url)
    handle = CONTESTS[20].handles[0].as_py()
    answer = invoke("amend", "20", "--remove", handle, "--why", "[two] accounts", *there)
    said = "data set games: 1 contest changed\n"
    assert (answer.code, answer.out) == (0, said)
    command = f"ranklake rate --dataset games --run run --lake {lake.url}"
    assert answer.err == (f"run run is stale from round 20 (contest 20, changed): `{command}` brings it up to date\n")
    answer = invoke("amend", "20", "--remove", handle, *there)
    assert answer.out == f"contest 20: {handle!r} is already disqualified\ndata set games: 0 contests changed\n"
    text = invoke("amend", "20", *there).out
    assert all(word in text for word in (handle, "[two] accounts", "in force"))
    assert invoke("amend", "21", *there).out == "contest 21: no corrections\n"
    answer = invoke("rate", "--run", "run", "--dry-run", *there)
    assert "run run: would keep" in answer.out
    assert "(round 20, contest 20, changed), replay" in answer.out
    assert invoke("amend", "20", "--remove", handle, "--undo", *there).out == said
    assert "undone" in invoke("amend", "20", *there).out
    assert "kept 40 rounds rated before, rated 0 rounds" in invoke("rate", "--run", "run", *there).out

    assert invoke("remove", "5", "6", "5", "--why", "tests", *there).out == "data set games: 2 contests removed\n"
    assert "changed" in invoke("alias", "player 3", "zed", "--since", "1970-01-20", *there).out
    again = invoke("alias", "player 3", "zed", "--since", "1970-01-20", *there)
    assert "'player 3' is already an alias of 'zed'" in again.out
    text = invoke("alias", "--list", *there).out
    assert all(word in text for word in ("player 3", "zed", "1970-01-20"))
    assert invoke("rate", "--run", "run", "--exclude", "7", *there).code == 0
    assert "'player 3' is 'zed' before 1970-01-20 00:00:00 UTC" in invoke("player", "player 3", *of_run(lake)).err
    assert invoke("unalias", "player 3", *there).code == 0
    assert "player 3" not in invoke("alias", "--list", *there).out
    log = json.loads(invoke("log", "--format", "json", *there).out)
    kinds = ["disqualify", "reinstate", "remove", "remove", "alias", "unalias"]
    assert [entry["kind"] for entry in log] == kinds
    assert log[2]["why"] == "tests"
    assert log[4]["since_seconds"] == 19 * 86_400
    assert "reinstate" in invoke("log", *there).out


def of_run(lake: Lake) -> tuple[str, ...]:
    return ("--run", "run", "--lake", lake.url)


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("amend", "20", "--undo"), "name the players with --remove HANDLE", 2),
        (("amend", "20", "--why", "x"), "name the players with --remove HANDLE", 2),
        (("amend", "99"), "no contest '99' in data set games, and no corrections of it", 1),
        (("amend", "99", "--remove", "player 1"), "no contest '99' in data set games", 1),
        (("amend", "20", "--remove", "nobody"), "contest 20: no player 'nobody' took part", 1),
        (("remove",), "Missing argument 'CONTEST...'", 2),
        (("remove", "99"), "no contest '99' in data set games", 1),
        (("alias", "player 1"), "give an old and a new name, or --list", 2),
        (("alias", "a", "b", "--list"), "give an old and a new name, or --list", 2),
        (("alias", "--list", "--why", "x"), "--list takes no other arguments", 2),
        (("alias", "player 1", "player 1"), "an alias needs two names", 1),
        (("alias", "a", "b", "--since", "yesterday"), "must be a time as 2020-01-31", 2),
        (("unalias", "player 1"), "'player 1' has no alias", 1),
        (("rate", "--exclude", "99"), "no contest '99' in data set games", 1),
        (("rate", "--from", "99"), "no round 99 in data set games; its ", 1),
        (("rate", "--from", "99", "--dry-run"), "its last round is 39", 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_commands__errors_are_one_line_and_leave_the_lake_unchanged(
    invoke: Command, lake: Lake, arguments: tuple[str, ...], said: str, code: int
) -> None:
    before = files(Path(lake.url))
    assert said in invoke.refuses(*arguments, "--dataset", "games", "--lake", lake.url, code=code)
    assert files(Path(lake.url)) == before


@pytest.mark.parametrize("command", ["amend", "remove", "alias", "unalias", "log"])
def test_commands__have_a_help_and_create_no_data_set(invoke: Command, lake: Lake, command: str) -> None:
    text = invoke(command, "--help").out
    assert f"ranklake {command} [OPTIONS]" in text.splitlines()[0]
    assert max(map(len, text.splitlines())) <= 110
    names = {"alias": ("a", "b"), "amend": ("20",), "log": ()}.get(command, ("20",))
    assert "no data set 'gamse'" in invoke.refuses(command, *names, "--dataset", "gamse", "--lake", lake.url)


def test_ingest__mirror_and_order_by_time_are_counted(invoke: Command, tmp_path: Path) -> None:
    contests = synthetic(5, spice=False)
    folder, url = write_folder(tmp_path / "games", contests), str(tmp_path / "lake")
    arguments = ("ingest", "files", folder, "--dataset", "games", "--lake", url)
    invoke(*arguments)
    (folder / "2.json").unlink()
    (folder / "3.json").write_text("{")
    (folder / "9.json").write_text(json.dumps(reference(contest("9", "ann", "bob", time_seconds=5))))
    answer = invoke(*arguments, "--mirror", "--on-error", "skip", "--order", "time")
    assert answer.out.endswith("data set games: 1 new, 1 removed, 3 unchanged contests\n")
    table = Dataset.open(Lake.open(url), "games").contests
    assert table.column("contest_id").to_pylist() == ["9", "0", "1", "3", "4"]
    (folder / "2.json").write_text(json.dumps(reference(contests[2])))
    (folder / "3.json").write_text(json.dumps({**reference(contests[3]), "time_seconds": 1}))
    answer = invoke(*arguments, "--order", "time")
    assert answer.out.endswith("data set games: 1 new, 1 corrected, 4 unchanged contests; 1 of them moved\n")
    for path in folder.iterdir():
        path.unlink()
    (folder / "note.json").write_text("{")
    before = files(Path(url))
    answer = invoke(*arguments, "--mirror", "--on-error", "skip")
    assert (answer.code, "no contests: 1 contest left out, the first one because of this" in answer.err) == (1, True)
    assert files(Path(url)) == before
