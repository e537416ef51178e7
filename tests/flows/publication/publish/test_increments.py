"""Publishing again: only what changed, and after any changes the current state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.lakes import contest, ingest, lake_of, rate_run, same_tables, stamps
from helpers.life import corrected
from helpers.publishing import CONTESTS, go_on
from helpers.strategies import repeatable
from helpers.tables import assert_published, contents, delta, folder, read, same_content, versions
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake, Run


def test_publish__only_new_rounds_and_players_are_added(published: Lake) -> None:
    before = stamps(folder(published, "ratings"))
    report = go_on(published, CONTESTS[:31])
    assert_published(published)
    assert (report.rounds, report.kept, report.added) == (31, 30, len(CONTESTS[30].handles))
    assert versions(published) == {"players": 1, "contests": 2, "ratings": 2, "leaderboard": 2}
    after, players = stamps(folder(published, "ratings")), stamps(folder(published, "players"))
    assert before.items() <= after.items()
    added = [name for name in after.keys() - before.keys() if name.endswith(".parquet")]
    assert [name.partition("/")[0] for name in added] == ["year=1972"]
    assert len(delta(published, "leaderboard").history()) == 3
    report = go_on(published, [*CONTESTS[:31], contest("new", "nobody knew", "player 1", time_seconds=10**8)])
    assert "players" in report.tables
    assert players.items() <= stamps(folder(published, "players")).items()
    assert read(published, "players").column("handle").to_pylist()[-1] == "nobody knew"
    assert_published(published)


def test_publish__without_a_change_writes_nothing(published: Lake) -> None:
    before = stamps(folder(published))
    report = publish(published, "run", maintain=True)
    assert stamps(folder(published)) == before
    assert (report.rounds, report.kept, report.added, report.tables) == (30, 30, 0, ())


@pytest.mark.slow
def test_publish__after_a_correction_replaces_later_rows_in_one_commit(published: Lake) -> None:
    before = stamps(folder(published, "ratings"))
    report = go_on(published, [*CONTESTS[:27], corrected(CONTESTS[27]), *CONTESTS[28:30]])
    assert_published(published)
    assert (report.rounds, report.kept) == (30, 27)
    assert report.added == Run.open(published, "run").read_rounds(27).num_rows
    assert versions(published) == {"players": 1, "contests": 2, "ratings": 2, "leaderboard": 2}
    (commit,) = delta(published, "ratings").history(1)
    assert commit["operationParameters"]["predicate"] == "round_index >= 27"
    at = folder(published, "ratings")
    files_now = {str(Path(uri).relative_to(at)) for uri in delta(published, "ratings").file_uris()}
    untouched = {name for name in before if name.startswith(("year=1970", "year=1971"))}
    assert untouched <= files_now
    assert before.items() <= stamps(folder(published, "ratings")).items()  # the earlier version is readable


def test_publish__an_undone_unpublished_correction_is_no_change(published: Lake) -> None:
    ingest(published, [corrected(CONTESTS[3])])
    rate_run(published)
    before = stamps(folder(published))
    report = go_on(published, CONTESTS[:30])
    assert (report.kept, report.tables) == (30, ())
    assert stamps(folder(published)) == before


@pytest.mark.slow
def test_publish__an_undone_correction_restores_the_tables(published: Lake) -> None:
    whole = contents(published)
    assert go_on(published, [corrected(CONTESTS[21])]).kept == 21
    assert not same_content(contents(published), whole)
    assert go_on(published, [CONTESTS[21]]).kept == 21
    assert same_content(contents(published), whole)
    assert_published(published)


def test_publish__removed_rounds_are_removed_from_the_tables(published: Lake) -> None:
    kept = Run.open(published, "run").truncate(15).stop_round
    report = publish(published, "run")
    assert (report.rounds, report.kept, report.added) == (kept, kept, 0)
    assert_published(published)


@pytest.mark.slow
def test_publish__earlier_versions_can_be_read(lake: Lake) -> None:
    result = []
    for stop in (30, 33, 36):
        go_on(lake, CONTESTS[:stop])
        result.append(contents(lake))
    for version, then in enumerate(result, 1):
        for name in ("contests", "ratings", "leaderboard"):
            assert same_tables(read(lake, name, version), then[name])
    assert len({table["ratings"].num_rows for table in result}) == 3


@pytest.mark.slow
def test_publish__a_changed_time_is_published_before_the_next_rating(published: Lake) -> None:
    ingest(published, [replace(CONTESTS[28], time_seconds=CONTESTS[28].time_seconds + 400 * 86_400)])
    assert publish(published, "run").kept == 28
    assert_published(published)
    ingest(published, [CONTESTS[28]])
    assert publish(published, "run").kept == 28
    assert_published(published)


@pytest.mark.slow
def test_publish__inserted_and_removed_contests_are_not_confused_with_rated_ones(published: Lake) -> None:
    before = contents(published)
    ingest(published, [CONTESTS[0], contest("between", "ada", "bob", time_seconds=1), *CONTESTS[1:30]])
    assert publish(published, "run").tables == ("players",)
    assert same_tables(read(published, "ratings"), before["ratings"])
    with Dataset.ingest(published, "games") as changing:
        changing.remove(CONTESTS[9].contest_id)
    assert publish(published, "run").kept == 9
    assert_published(published)
    gone = [row for row in read(published, "ratings").to_pylist() if row["round_index"] == 9]
    assert {(row["contest_id"], row["time_seconds"], row["year"]) for row in gone} == {("9", None, None)}
    assert read(published, "contests").to_pylist()[9]["name"] is None
    rate_run(published)
    publish(published, "run")
    assert_published(published)
    assert "9" not in read(published, "contests").column("contest_id").to_pylist()


@pytest.mark.slow
def test_publish__a_new_name_of_a_contest_is_a_new_version_of_contests_only(published: Lake) -> None:
    assert go_on(published, [replace(CONTESTS[2], name="Spring Cup")]).tables == ("contests",)
    assert read(published, "contests").column("name").to_pylist()[2] == "Spring Cup"
    assert_published(published)


@pytest.mark.slow
def test_publish__other_numbers_of_players_replace_all_tables(tmp_path: Path) -> None:
    contests = [contest("0", "ada", "bob", "cyd"), contest("1", "bob", "ada", "cyd", time_seconds=1)]
    lake = lake_of(tmp_path, contests)
    rate_run(lake)
    publish(lake, "run")
    lake.delete_folder("games")
    Run.open(lake, "run").delete()
    ingest(lake, [contest("x", "cyd", "bob", "ada"), *contests])
    with Dataset.ingest(lake, "games") as changing:
        changing.remove("x")
    rate_run(lake)
    assert publish(lake, "run").kept == 0
    assert_published(lake)


@pytest.mark.slow
@repeatable(12)
@given(data=st.data())
def test_publish__after_any_changes_has_the_current_state(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lake = lake_of(tmp_path_factory.mktemp("lake"), CONTESTS[:4])
    now = CONTESTS[:4]
    moves = st.sampled_from(["add", "correct", "undo", "shorten", "publish", "publish", "maintain"])
    for move in [*data.draw(st.lists(moves, max_size=9)), "publish"]:
        if move == "add":
            now = now + CONTESTS[len(now) : len(now) + data.draw(st.integers(1, 4))]
        elif move in ("correct", "undo"):
            at = data.draw(st.integers(0, len(now) - 1))
            now = [*now[:at], corrected(CONTESTS[at]) if move == "correct" else CONTESTS[at], *now[at + 1 :]]
        elif move == "shorten":  # as after a crash of the next rating
            rate_run(lake)
            Run.open(lake, "run").truncate(data.draw(st.integers(1, len(now))))
            if Run.open(lake, "run").read_rounds().num_rows:
                publish(lake, "run")
                assert_published(lake)
        else:
            ingest(lake, now)
            rate_run(lake)
            publish(lake, "run", maintain=move == "maintain")
            assert_published(lake)
