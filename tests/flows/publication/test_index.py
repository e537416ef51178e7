"""The index of a published run: the same rows as all rounds, incremental, and switched by its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.answers import leaderboard, player_history, stored_board
from helpers.lakes import (
    commit_often,
    copy_of,
    ingest,
    lake_of,
    rate_run,
    same_tables,
    small_files,
    stamps,
    start,
    synthetic,
)
from helpers.tables import over_years, rooted
from helpers.timeouts import TIMEOUT

from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.cli.main import cli
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication import root_writer
from ranklake.flows.publication.index_parts import cut, integers
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import index_path, read_manifest
from ranklake.storage import DamagedError, Dataset, Lake, LakeError, MissingError, Run

CONTESTS = over_years(synthetic(40))
OF_INDEX = ["rating", "team", "points"]  # columns that rounds do not have


@pytest.fixture(scope="module", autouse=True)
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=20)
        small_files(patch, index_rows=64)
        yield


@pytest.fixture(scope="module")
def published_once(tmp_path_factory: pytest.TempPathFactory, _small: None) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("published") / "lake", CONTESTS[:30])
    rate_run(lake)
    publish(lake, "run")
    return lake


@pytest.fixture
def lake(tmp_path: Path, published_once: Lake) -> Lake:
    """A lake with a published run of the first 30 contests."""
    return copy_of(published_once, tmp_path / "lake")


def extend(lake: Lake, n_contests: int) -> None:
    ingest(lake, CONTESTS[:n_contests])
    rate_run(lake)


def assert_indexed(lake: Lake) -> None:
    """The index has all rows of the run, to the bit."""
    published, run = open_published(lake, "run"), Run.open(lake, "run")
    assert same_tables(published.leaderboard_table, stored_board(lake))
    rounds = run.read_rounds().drop_columns(["contest_id"])
    contests = run.read_rounds(columns=["contest_id"]).column("contest_id").to_pylist()
    player, round_index = (rounds.column(name).to_numpy() for name in ("player", "round_index"))
    for number in np.unique(player).tolist():
        assert same_tables(
            published.rows_of(number).drop_columns(OF_INDEX), rounds.take(np.flatnonzero(player == number))
        )
    for number in range(run.segments().stop_round):
        expected = rounds.filter(round_index == number)
        assert same_tables(published.rows_of_round(number).drop_columns(OF_INDEX), expected)
        row = published.contests_table.slice(number, 1).to_pylist()[0]
        assert row["round_index"] == number
        if expected.num_rows:
            assert row["contest_id"] == contests[np.flatnonzero(round_index == number)[0]]


def no_rounds(*_: object) -> None:
    raise AssertionError("the rounds were read")


# Content


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("system", ["elo-mmr", "elo", "codeforces"])
def test_index__rows_of_players_and_rounds_are_those_of_the_run(tmp_path: Path, system: str) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS[:30])
    rate_run(lake, system=system)
    publish(lake, "run")
    assert_indexed(lake)


@pytest.mark.slow
def test_index__more_rounds_keep_large_parts(lake: Lake) -> None:
    before = read_manifest(lake, "run")
    extend(lake, 36)
    publish(lake, "run")
    after = read_manifest(lake, "run")
    assert_indexed(lake)
    assert before is not None
    assert after is not None
    assert after.version == before.version + 1
    assert after.etag != before.etag
    assert len(set(before.parts) & set(after.parts)) >= 2
    assert {part.stop for part in after.parts[:-1]} == {part.start for part in after.parts[1:]}


@pytest.mark.slow
def test_index__a_correction_rewrites_the_parts_from_there_on(lake: Lake) -> None:
    before = read_manifest(lake, "run")
    with Dataset.ingest(lake, "games") as adding:
        adding.remove(CONTESTS[20].contest_id)
    rate_run(lake)
    publish(lake, "run")
    after = read_manifest(lake, "run")
    assert_indexed(lake)
    assert before is not None
    assert after is not None
    kept = [part for part in before.parts if part.stop <= 20]
    assert kept
    assert set(kept) <= set(after.parts)


def test_index__a_second_publish_reads_no_round_and_writes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamps(Path(lake.uri("published")))
    monkeypatch.setattr(Run, "iter_segments", no_rounds)
    publish(lake, "run")
    assert stamps(Path(lake.uri("published"))) == before


@pytest.mark.slow
def test_index__the_files_of_the_manifest_before_stay_for_one_publish(lake: Lake) -> None:
    reader = open_published(lake, "run")
    paths = [index_path("run", file.name) for file in reader.manifest.files]
    board, rows = reader.leaderboard_table.to_pylist(), reader.rows_of(0).to_pylist()
    extend(lake, 35)
    publish(lake, "run")
    assert all(map(lake.exists, paths))
    extend(lake, 40)
    publish(lake, "run")
    assert not all(map(lake.exists, paths))
    assert (reader.leaderboard_table.to_pylist(), reader.rows_of(0).to_pylist()) == (board, rows)


@pytest.mark.slow
def test_index__a_publish_that_is_killed_before_the_manifest_leaves_the_index_as_it_was(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_manifest(lake, "run")
    extend(lake, 35)
    with monkeypatch.context() as patch:
        patch.setattr(root_writer, "index_path", lambda run, name="": index_path(run, name) if name else no_rounds())
        with pytest.raises(AssertionError):
            publish(lake, "run")
    assert read_manifest(lake, "run") == before
    open_published(lake, "run")
    publish(lake, "run")
    assert_indexed(lake)


def test_integers__of_one_chunk_are_not_copied() -> None:
    column = pa.chunked_array([np.arange(9, dtype=np.int32)])
    first, second = integers(column), integers(column)
    assert np.shares_memory(first, second)
    parts = pa.chunked_array([np.arange(3, dtype=np.int32)] * 2)
    assert integers(parts).tolist() == [0, 1, 2, 0, 1, 2]


def test_cut__small_parts_are_merged_and_large_parts_stay() -> None:
    rows = [10] * 30
    parts: list[tuple[int, int, int]] = []
    written = 0
    for stop in range(1, 31):
        stay, cuts = cut(parts, rows[:stop], 100)
        parts = [*parts[:stay], *((start, end, 10 * (end - start)) for start, end in cuts)]
        written += sum(end - start for start, end in cuts)
        assert [end for _, end, _ in parts[:-1]] == [start for start, _, _ in parts[1:]]
        assert (parts[0][0], parts[-1][1]) == (0, stop)
        assert all(size <= 100 for *_, size in parts)
    assert len(parts) <= 6
    assert written <= 30 * 5  # rounds written, in all publishes


# Commands


@pytest.mark.quick("command0-json")
@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize(
    "command",
    [["leaderboard", "--all"], ["leaderboard", "--top", "3", "--titles", "codeforces"], ["player", "player 1"],
     ["player", "an old name"]],
)  # fmt: skip
def test_commands__output_is_the_same_with_and_without_an_index(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, command: list[str], form: str
) -> None:
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("an old name", "player 1", None, "renamed")
    rate_run(lake)
    publish(lake, "run")
    arguments = [*command, "--run", "run", "--format", form, "--lake", lake.url]
    with monkeypatch.context() as patch:
        patch.setattr(Run, "iter_segments", no_rounds)
        fast = CliRunner().invoke(cli, arguments)
    publish(lake, "run", index=False)
    slow = CliRunner().invoke(cli, arguments)
    assert (fast.exit_code, fast.stdout_bytes, fast.stderr) == (slow.exit_code, slow.stdout_bytes, slow.stderr)
    assert fast.exit_code == 0, fast.output


@pytest.mark.slow
def test_commands__an_index_of_another_state_or_display_is_not_used(lake: Lake) -> None:
    extend(lake, 33)
    assert same_tables(RatedRun(lake, "run").leaderboard(), leaderboard(lake, "run"))
    assert same_tables(RatedRun(lake, "run", 1.5).leaderboard(), leaderboard(lake, "run", 1.5))
    publish(lake, "run", deviations=1.5)
    for deviations in (None, 1.5):
        history = RatedRun(lake, "run", deviations).player("player 2")
        assert same_tables(history.rows, player_history(lake, "run", "player 2", deviations).rows)
        board = leaderboard(lake, "run", deviations)
        assert same_tables(RatedRun(lake, "run", deviations).leaderboard(), board)


def test_commands__a_damaged_index_is_not_used_and_verify_names_its_file(lake: Lake) -> None:
    expected = leaderboard(lake, "run")
    name = open_published(lake, "run").manifest.parts[0].name
    path = Path(lake.uri(f"published/run/index/{name}"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert [name in fault for fault in Verifier(lake).everything()] == [True]
    for file in path.parent.iterdir():
        file.write_bytes(b"damaged")
    assert same_tables(RatedRun(lake, "run").leaderboard(), expected)
    assert RatedRun(lake, "run").player("player 2").rows.num_rows
    with pytest.raises(DamagedError, match="publish --run run"):
        open_published(lake, "run")


def test_commands__a_missing_player_gives_the_same_error(lake: Lake) -> None:
    ingest(lake, [*CONTESTS[:30]])
    for name in ("nobody", "PLAYER 2"):
        with pytest.raises(LakeError) as fast:
            RatedRun(lake, "run").player(name)
        with pytest.raises(LakeError) as slow:
            player_history(lake, "run", name)
        assert str(fast.value) == str(slow.value)


# Other commands


@pytest.mark.slow
def test_publish__without_index_deletes_it_and_afresh_makes_it_again(lake: Lake) -> None:
    publish(lake, "run", index=False)
    assert not lake.list("published/run/index")
    assert same_tables(rooted(lake)["latest"], stored_board(lake))
    assert list(Verifier(lake).everything()) == []
    with pytest.raises(MissingError, match="ranklake publish --run run"):
        open_published(lake, "run")
    publish(lake, "run")
    assert_indexed(lake)
    Path(lake.uri("published/run/index.json")).write_bytes(b"damaged")
    publish(lake, "run", rebuild=True)
    assert_indexed(lake)


@pytest.mark.slow
def test_publish__afresh_keeps_the_state_of_before_until_the_new_version_is_complete(lake: Lake) -> None:
    before = open_published(lake, "run")
    seen = []

    def progress(done: int, total: int | None, what: str) -> None:
        published = open_published(lake, "run")
        assert published.leaderboard_table.equals(before.leaderboard_table)
        assert published.rows_of(0).equals(before.rows_of(0))
        seen.append(published.manifest.etag)

    publish(lake, "run", rebuild=True, on_progress=progress)
    assert set(seen) == {before.manifest.etag}
    after = open_published(lake, "run")
    assert (after.manifest.version, after.manifest.content) == (before.manifest.version + 1, before.manifest.content)
    assert_indexed(lake)
    assert list(Verifier(lake).everything()) == []


@pytest.mark.slow
def test_publish__afresh_writes_damaged_files_of_the_index_again(lake: Lake) -> None:
    before = read_manifest(lake, "run")
    assert before is not None
    damaged = Path(lake.uri(index_path("run", before.parts[0].name)))
    damaged.write_bytes(bytes(damaged.stat().st_size))
    publish(lake, "run")
    assert list(Verifier(lake).everything())
    publish(lake, "run", rebuild=True)
    assert list(Verifier(lake).everything()) == []


@pytest.mark.slow
def test_publish__afresh_gives_a_new_version_after_a_root_that_no_release_reads(lake: Lake) -> None:
    root = Path(lake.uri("published/run/index.json"))
    publish(lake, "run", rebuild=True)
    root.write_bytes(root.read_bytes()[:-1])
    publish(lake, "run", rebuild=True)
    after = read_manifest(lake, "run")
    assert after is not None
    assert after.version == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("leaderboard",),
        ("leaderboard", "--format", "csv"),
        ("player", "player 1"),
        ("plot", "player", "player 1", "-o", "player.png"),
    ],
)
def test_commands__with_an_index_import_neither_numba_nor_pandas(
    lake: Lake, command: tuple[str, ...], tmp_path: Path
) -> None:
    if command[0] == "plot":
        pytest.importorskip("matplotlib.font_manager")  # makes its cache here: it says so after five seconds
    show = "import atexit; atexit.register(lambda: print({'numba', 'pandas'} & set(sys.modules)))"
    process = start(*command, "--run", "run", "--lake", lake.url, before=show, cwd=tmp_path)
    output, errors = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, output.splitlines()[-1], errors) == (0, b"set()", b"")
