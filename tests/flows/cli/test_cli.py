"""The command line: output, exit codes and errors."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from helpers.commands import Command
from helpers.folders import reference, write_folder
from helpers.frames import frame_of
from helpers.lakes import contest, copy_of, files, ingest, lake_of, rate_run, rated, start, synthetic
from helpers.timeouts import TIMEOUT

from ranklake.flows.cli.main import cli
from ranklake.flows.cli.terminal.output import progress
from ranklake.flows.common.progress import ProgressLog
from ranklake.storage import Contest, Dataset, Lake, Run

COMMANDS = [(), ("ingest",), ("ingest", "files"), ("ingest", "synthetic"), ("rate",), ("leaderboard",), ("player",)]
COMMANDS += [("runs",), ("evaluate",), ("tune",), ("export",)]
COMMANDS += [("predict",), ("preview",), ("plot",), ("plot", "player"), ("plot", "distribution"), ("experiment",)]
FOLDER = "FOLDER"  # replaced by an existing folder


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", synthetic(40))
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with a rated run ``run`` of ``games``."""
    return copy_of(rated_once, tmp_path / "lake")


# Help


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help__prints_the_usage_of_every_command(invoke: Command, command: tuple[str, ...], flag: str) -> None:
    answer = invoke(*command, flag)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Usage: ")
    assert " ".join((*command, "[OPTIONS]")) in answer.out.splitlines()[0]
    assert max(map(len, answer.out.splitlines())) <= 110


def test_version__is_printed(invoke: Command) -> None:
    assert re.search(r", version \d+\.\d+", invoke("--version").out)


@pytest.mark.parametrize("command", [(), ("rate",), ("leaderboard",)], ids=" ".join)
def test_help__imports_nothing_heavy(command: tuple[str, ...]) -> None:
    report = "import atexit\natexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    with start(*command, "--help", before=report) as process:
        _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    roots = {name.removeprefix("ranklake.").partition(".")[0] for name in err.decode().split()}
    assert "click" in roots
    assert not roots & {"numba", "pandas", "pyarrow", "prefect", "numpy", "dask", "rich", "storage", "rating_kernels"}


def test_help__ends_within_half_a_second() -> None:
    """Of processor time: it does not depend on other processes."""
    report = "import atexit, time\natexit.register(lambda: print(time.process_time(), file=sys.stderr))"
    took = []
    for _ in range(5):
        with start("--help", before=report) as process:
            took.append(float(process.communicate(timeout=TIMEOUT)[1]))
    assert min(took) < 0.5


def test_renamed__commands_keep_their_old_names_with_a_notice(invoke: Command) -> None:
    old, new = invoke("search", "--help"), invoke("tune", "--help")
    assert (old.code, old.err) == (0, "search is called tune now; the next release has the new name alone\n")
    assert (old.out, new.err) == (new.out, "")
    of_runs = invoke("compare", "one", "one", "--lake", "nowhere")
    assert of_runs.err.startswith("compare is called diff now; the next release has the new name alone\n")
    assert "two different runs are compared, got one twice" in of_runs.err
    assert "HANDLE HANDLE..." in invoke("compare", "--help").out  # the name of another command now
    assert "search" not in cli.commands


def test_help__lists_commands_under_headings_in_order(invoke: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {}
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines[width] = invoke("--help").out.partition("Commands:\n")[2].splitlines()
    assert lines[80] == lines[120]
    headings = [line.strip() for line in lines[80] if re.fullmatch(r"  \S.*:", line)]
    assert headings == ["Ingest and correct:", "Rate:", "Show and publish:", "Evaluate:", "Maintain:"]
    commands = [re.fullmatch(r"    (\S+) +(\S.*\.)", line) for line in lines[80] if line.startswith("    ")]
    assert sorted(found[1] for found in commands if found) == sorted(cli.commands)
    assert not any("..." in line or len(line) > 80 for line in lines[80])


@pytest.mark.parametrize("group", ["ingest", "plot"])
def test_help__of_a_group_has_complete_lines(invoke: Command, monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in invoke(group, "--help").out.partition("Commands:")[2]


def test_help__imports_no_command() -> None:
    code = "from ranklake.flows.cli.main import cli\ntry:\n    cli.main(['--help'])\nfinally:\n    import sys\n"
    code += "    print(*(name for name in sys.modules if 'commands.' in name), sep='', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=TIMEOUT)
    assert done.stderr == "\n"


@pytest.mark.parametrize("name", cli.commands)
def test_commands__have_their_listed_names(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name


# Wrong use: 2


@pytest.mark.parametrize("group", [(), ("ingest",), ("plot",)], ids=" ".join)
def test_usage__without_a_command_shows_help_and_ends_with_2(invoke: Command, group: tuple[str, ...]) -> None:
    answer = invoke(*group)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == invoke(*group, "--help").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rate", "--dataset", "games", "--system", "elo-mnr"], "system must be one of elo-mmr"),
        (["rate", "--dataset", "games", "--engine", "steam"], "must be one of serial, threads, dask, got 'steam'"),
        (["rate", "--dataset", "games", "--set", "rho"], "a setting is key=value, got 'rho'"),
        (["rate", "--dataset", "games", "--set", "rho=fast"], "rho must be a number, got 'fast'"),
        (["rate", "--dataset", "games", "--set", "rho=-1"], "rho must be within 0..1e+09 or inf, got -1"),
        (["rate", "--dataset", "games", "--set", "rho=nan"], "rho must be"),
        (["rate", "--dataset", "games", "--set", "rho=1", "--set", "rho=2"], "rho is set twice"),
        (["rate", "--dataset", "games", "--set", "roh=1"], "elo-mmr has no parameter 'roh'; it has rho, history_len"),
        (["rate", "--dataset", "games", "--set", "tie_mode=half"], "tie_mode must be one of full, split, got 'half'"),
        (
            ["rate", "--dataset", "games", *(f"--set={one}" for one in ("tie_mode=full", "tie_loss=0.3", "tie_win=1"))],
            "give tie_mode, or tie_loss and tie_win, not both; got tie_mode=full, tie_loss=0.3, tie_win=1.0",
        ),
        (["rate", "--dataset", "games", "--set", "history_len=2.5"], "history_len must be a whole number, got '2.5'"),
        (["rate", "--dataset", "games", "--set", "beta=200"], "beta and gamma go together"),
        (["rate", "--dataset", "games", "--workers", "0"], "0 is not in the range x>=1"),
        (["rate", "--dataset", "games", "--max-rounds", "-1"], "-1 is not in the range x>=0"),
        (["rate", "--dataset", "games", "--fast"], "No such option"),
        (["rate"], "give --dataset, or the --run of an existing run"),
        (["rate", "--run", "run", "--system", "elo"], "run run exists with system elo-mmr; requested was system elo."),
        (["rate", "--run", "new", "--system", "elo"], "no run 'new' in the lake; there are: run; give --dataset"),
        (["leaderboard"], "Missing option '--run'"),
        (["leaderboard", "--run", "run", "--top", "0"], "0 is not in the range 1<=x<=2147483648"),
        (["leaderboard", "--run", "run", "--format", "xml"], "'xml' is not one of 'table', 'csv', 'json'"),
        (["player", "--run", "run"], "Missing argument 'HANDLE'"),
        (["ingest", "files", FOLDER, "--dataset", "../up"], "the name of a data set must be"),
        (["ingest", "files", FOLDER, "--dataset", "Runs"], "a data set must not be called"),
        (["ingest", "files", "x", "--dataset", "games", "--column", "when=day"], "expected KEY=COLUMN with KEY one of"),
        (["ingest", "files", "x", "--dataset", "games", "--on-error", "shrug"], "'shrug' is not one of"),
        (["ingest", "synthetic", "--preset", "big"], "preset must be one of paper"),
        (["ingest", "synthetic", "--preset", "paper", "--set", "n_rounds=-1"], "n_rounds must be an integer >= "),
        (["ingest", "synthetic", "--preset", "paper", "--set", "rounds=1"], "preset paper has no parameter 'rounds'"),
        (["leaderboard", "--run", "run", "--deviations", "nan"], "must be a finite number, got nan"),
        (["leaderboard", "--run", "run", "--deviations", "inf"], "must be a finite number, got inf"),
        (["leaderboard", "--run", "../up"], "the name of a run must be"),
        (["player", "player 1", "--run", "../up"], "the name of a run must be"),
        (["rate", "--dataset", "../up"], "the name of a data set must be"),
        (["rate", "--dataset", "games", "--run", "../up"], "the name of a run must be"),
        (["ingest", "synthetic", "--preset", "paper", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["fly"], "No such command 'fly'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage__errors_are_one_line_and_end_with_2(
    invoke: Command, lake: Lake, tmp_path: Path, arguments: list[str], said: str
) -> None:
    before = files(Path(lake.url))
    arguments = [str(tmp_path) if argument is FOLDER else argument for argument in arguments]
    if arguments != ["fly"]:
        arguments = [*arguments, "--lake", lake.url]
    assert said in " ".join(invoke.refuses(*arguments, code=2).split())
    assert files(Path(lake.url)) == before


def test_usage__a_lake_must_be_an_option_or_in_the_environment(
    invoke: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Missing option '--lake'" in invoke.refuses("runs", code=2)
    monkeypatch.setenv("RANKLAKE_LAKE", lake.url)
    assert "games" in invoke("runs").out


# Failures: 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rate", "--dataset", "gamse"], "no data set 'gamse' in {lake}; there are: games"),
        (["leaderboard", "--run", "rnu"], "no run 'rnu' in {lake}; there are: run"),
        (["player", "player 1", "--run", "rnu"], "no run 'rnu' in {lake}; there are: run"),
        (["player", "nobody", "--run", "run"], "no player 'nobody' in data set games"),
        (["player", "Player 1", "--run", "run"], "no player 'Player 1' in data set games; there is 'player 1'"),
        (["player", " player 1\t", "--run", "run"], "no player ' player 1\\t' in data set games; there is 'player 1'"),
        (["player", "player 1\udcff", "--run", "run"], "surrogates not allowed"),
        (["ingest", "files", "no such file.zip", "--dataset", "games"], "no such file.zip: no such file or folder"),
    ],
    ids=lambda value: " ".join(value).encode("ascii", "replace").decode() if isinstance(value, list) else "",
)
def test_failure__is_one_line_with_the_remedy_and_ends_with_1(
    invoke: Command, lake: Lake, arguments: list[str], said: str
) -> None:
    before = files(Path(lake.url))
    assert said.format(lake=lake.url) in invoke.refuses(*arguments, "--lake", lake.url)
    assert files(Path(lake.url)) == before


@pytest.mark.parametrize("command", [["runs"], ["rate", "--dataset", "games"], ["leaderboard", "--run", "run"]])
def test_failure__a_missing_lake_is_not_created(invoke: Command, tmp_path: Path, command: list[str]) -> None:
    said = invoke.refuses(*command, "--lake", tmp_path / "no")
    assert said == f"no lake at {tmp_path / 'no'}; `ranklake ingest` makes one"
    assert not (tmp_path / "no").exists()


def test_failure__a_run_without_rounds_has_no_leaderboard(invoke: Command, lake: Lake) -> None:
    assert invoke("rate", "--dataset", "games", "--run", "new", "--max-rounds", 0, "--lake", lake.url).code == 0
    assert "no rated rounds yet" in invoke.refuses("leaderboard", "--run", "new", "--lake", lake.url)


def test_failure__of_an_unrated_player_differs_from_that_of_an_unknown_one(invoke: Command, lake: Lake) -> None:
    ingest(lake, [contest("new", "newcomer", "player 1")])
    assert "player 'newcomer' has no rated rounds in run run" in invoke.refuses(
        "player", "newcomer", "--run", "run", "--lake", lake.url
    )


@pytest.mark.slow
def test_failure__shows_its_traceback_with_debug_only(lake: Lake) -> None:
    for debug, shown in ((), False), (("--debug",), True):
        with start(*debug, "leaderboard", "--run", "no", "--lake", lake.url) as process:
            out, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, out) == (1, b"")
        assert (b"Traceback (most recent call last)" in err) == shown
        assert b"no run 'no'" in err


def test_progress__in_a_log_is_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ProgressLog, "line", lambda *_: "games: 5 of 9 contests")
    with progress("games") as update:
        update(5, 9, "")
    assert capsys.readouterr() == ("", "games: 5 of 9 contests\n")


def test_failure__of_a_run_named_debug_shows_no_traceback(invoke: Command, lake: Lake) -> None:
    assert "no run '--debug'" in invoke.refuses("leaderboard", "--run", "--debug", "--lake", lake.url)


# Ingest


@pytest.mark.parametrize("kind", ["folder", "tar.xz", "zip", "csv", "parquet"])
def test_ingest__files_of_every_format_have_the_same_ratings(invoke: Command, tmp_path: Path, kind: str) -> None:
    import shutil

    contests = synthetic(12, spice=False)
    path = tmp_path / f"games.{kind}"
    if kind == "csv":
        frame_of(contests).to_csv(path, index=False)
    elif kind == "parquet":
        frame_of(contests).to_parquet(path)
    else:
        folder = write_folder(tmp_path / "games", contests)
        forms = {"tar.xz": "xztar", "zip": "zip"}
        path = folder if kind == "folder" else Path(shutil.make_archive(str(folder), forms[kind], tmp_path, "games"))
    url = str(tmp_path / "lake")
    answer = invoke("ingest", "files", path, "--dataset", "games", "--lake", url)
    rows = sum(map(len, contests))
    assert answer.code == 0
    assert answer.out == f"read 12 contests, {rows} participations\ndata set games: 12 new contests\n"
    answer = invoke("rate", "--dataset", "games", "--lake", url)
    result = [line for line in answer.err.splitlines() if not line.startswith("rating: ")]  # of a compilation
    assert (answer.code, result) == (0, [])
    assert answer.out.startswith(f"run games-elo-mmr: rated 12 rounds with {rows} participations in ")
    other = lake_of(tmp_path / "other", contests)
    rate_run(other)
    one = rated(Lake.open(url), "games-elo-mmr").select(["contest_id", "player", "mu", "sigma"])
    assert one.equals(rated(other).select(["contest_id", "player", "mu", "sigma"]))


def test_ingest__again_changes_nothing_and_a_correction_is_counted(invoke: Command, tmp_path: Path) -> None:
    contests = synthetic(5, spice=False)
    folder, url = write_folder(tmp_path / "games", contests), str(tmp_path / "lake")
    arguments = ("ingest", "files", folder, "--dataset", "games", "--lake", url)
    invoke(*arguments)
    before = files(Path(url))
    assert invoke(*arguments).out.endswith("data set games: 5 unchanged contests\n")
    assert files(Path(url)) == before
    (folder / "3.json").write_text(json.dumps({**reference(contests[3]), "time_seconds": 5}))
    (folder / "5.json").write_text(json.dumps(reference(contest("5", "ann", "bob"))))
    assert invoke(*arguments).out.endswith("data set games: 1 new, 1 corrected, 4 unchanged contests\n")


def test_ingest__an_invalid_contest_leaves_the_lake_unchanged(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "more", [contest(str(i), *"abcdef") for i in range(100, 105)])
    (folder / "104.json").write_text('{"name": "x", "time_seconds": 0, "standings": [["ann", 0, 1]]}')
    before = files(Path(lake.url))
    message = invoke.refuses("ingest", "files", folder, "--dataset", "games", "--lake", lake.url)
    assert "more, contest 104 (104.json)" in message
    assert files(Path(lake.url)) == before
    message = invoke.refuses("ingest", "files", folder, "--dataset", "new", "--lake", lake.url)
    assert Dataset.names(Lake.open(lake.url)) == ["games"]


def test_ingest__invalid_contests_can_be_skipped_and_are_listed(invoke: Command, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "games", [contest(str(i), *"abc") for i in range(4)])
    (folder / "1.json").write_text("{")
    (folder / "2.json").write_text('{"name": "x", "time_seconds": 0, "standings": []}')
    url = str(tmp_path / "lake")
    answer = invoke("ingest", "files", folder, "--dataset", "games", "--on-error", "skip", "--lake", url)
    assert answer.code == 0
    assert answer.out == "read 2 contests, 6 participations; left out 2 contests\ndata set games: 2 new contests\n"
    first, second = answer.err.splitlines()
    assert first.startswith("left out: games, contest 1 (1.json): not JSON")
    assert second.startswith("left out: games, contest 2 (2.json): the standings are empty")


def test_ingest__duplicates_are_dropped_on_request(invoke: Command, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "games", [contest(str(i), *("abc" if i else "bca")) for i in range(3)])
    url = str(tmp_path / "lake")
    answer = invoke("ingest", "files", folder, "--dataset", "games", "--dedupe", "--lake", url)
    assert answer.code == 0
    assert "data set games: 2 new" in answer.out
    assert answer.err == "duplicate dropped: contest 2 repeats 1\n"
    assert "3 new" in invoke("ingest", "files", folder, "--dataset", "all", "--lake", url).out


def test_ingest__a_table_may_have_other_column_names(invoke: Command, tmp_path: Path) -> None:
    path, url = tmp_path / "games.csv", str(tmp_path / "lake")
    path.write_text(
        "match,who,place,on\n1,ann,1,2020-01-01\n1,bob,2,2020-01-01\n0,bob,1,2019-01-01\n0,ann,1,2019-01-01\n"
    )
    columns = [f"--column={setting}" for setting in ("contest=match", "player=who", "rank=place", "time=on")]
    answer = invoke("ingest", "files", path, *columns, "--order", "time", "--dataset", "games", "--lake", url)
    assert answer.code == 0, answer.err
    table = Dataset.open(Lake.open(url), "games").contests
    assert table.column("contest_id").to_pylist() == ["0", "1"]
    assert table.column("time_seconds").to_pylist() == [1_546_300_800, 1_577_836_800]
    message = invoke.refuses("ingest", "files", path, "--dataset", "other", "--lake", url)
    assert "there is no column contest, player, rank" in message
    assert message.endswith("; add --column contest=match --column rank=place --column player=...?")


def test_ingest__synthetic_has_the_name_of_its_preset_and_depends_on_the_seed(invoke: Command, tmp_path: Path) -> None:
    url = str(tmp_path / "lake")
    small = ("--set", "n_rounds=3", "--set", "n_players=10", "--lake", url)
    assert invoke("ingest", "synthetic", "--preset", "paper", *small).out.endswith("data set paper: 3 new contests\n")
    assert invoke("ingest", "synthetic", "--preset", "paper", *small).out.endswith(
        "data set paper: 3 unchanged contests\n"
    )
    answer = invoke("ingest", "synthetic", "--preset", "paper", "--seed", 1, *small)
    assert answer.out.endswith("data set paper: 3 corrected contests\n")


def test_ingest__synthetic_games_are_periods(invoke: Command, tmp_path: Path) -> None:
    small = ("--set", "n_players=20", "--set", "n_games=25", "--set", "games_a_day=10", "--lake", tmp_path / "lake")
    first = invoke("ingest", "synthetic", "--preset", "chess", *small)
    assert (first.code, first.out[:45]) == (0, "data set chess: 3 new periods with 25 games, ")
    again = invoke("ingest", "synthetic", "--preset", "chess", *small)
    assert again.out.startswith("data set chess: 3 unchanged periods with 25 games, ")
    assert invoke("rate", "--dataset", "chess", "--system", "elo", "--lake", tmp_path / "lake").code == 0


# Rate


def test_rate__the_default_name_of_a_run_has_its_settings(invoke: Command, lake: Lake) -> None:
    names = []
    for more in ([], ["--set", "rho=0.04"], ["--set", "rho=5", "--set", "tie_mode=split"], ["--run", "mine"]):
        answer = invoke("rate", "--dataset", "games", "--lake", lake.url, "--engine", "serial", *more)
        assert answer.code == 0
        names.append(answer.out.partition(":")[0].removeprefix("run "))
    assert names[0] == "games-elo-mmr"
    assert names[3] == "mine"
    assert len(set(names)) == 4
    assert Run.names(lake) == sorted(["run", *names])


def test_rate__settings_are_stored(invoke: Command, lake: Lake) -> None:
    settings = ["rho=inf", "noob_delay=0.6,0.8", "history_len=none", "tie_mode=split", "sig_limit=70"]
    arguments = [f"--set={setting}" for setting in settings]
    assert invoke("rate", "--dataset", "games", "--run", "new", *arguments, "--lake", lake.url).code == 0
    params = Run.open(lake, "new").config["params"]
    assert {key: params[key] for key in ("rho", "noob_delay", "history_len", "tie_mode", "sig_limit")} == {
        "rho": "inf",
        "noob_delay": [0.6, 0.8],
        "history_len": None,
        "tie_mode": "split",
        "sig_limit": 70.0,
    }
    before = files(Path(lake.url))
    assert (
        "kept 40 rounds rated before, rated 0 rounds"
        in invoke("rate", "--dataset", "games", "--run", "new", *arguments, "--lake", lake.url).out
    )
    assert files(Path(lake.url)) == before
    assert invoke("leaderboard", "--run", "new", "--lake", lake.url).code == 0


def test_rate__reports_max_rounds_and_skipped_contests(invoke: Command, lake: Lake) -> None:
    arguments = ("rate", "--dataset", "games", "--run", "new", "--lake", lake.url)
    assert "rated 7 " in invoke(*arguments, "--max-rounds", 7).out
    answer = invoke(*arguments)
    assert "kept 7 rounds rated before, rated 33 rounds " in answer.out
    assert "contests skipped: one participant only" in answer.out
    answer = invoke(*arguments, "--keep-uninformative", "--workers", 1, "--replace")
    assert "kept 0 rounds rated before (other parameters), rated 40 rounds " in answer.out
    assert "skipped" not in answer.out


# Leaderboard and player


def test_leaderboard__json_and_csv_have_every_bit(invoke: Command, lake: Lake) -> None:
    rows = rated(lake).to_pylist()
    last = {row["player"]: row for row in rows}
    answer = invoke("leaderboard", "--run", "run", "--all", "--format", "json", "--lake", lake.url)
    assert (answer.code, answer.err) == (0, "")
    board = json.loads(answer.out)
    assert len(board) == len(last)
    for entry in board:
        row = last[entry["handle"]]
        assert (entry["mu"], entry["sigma"], entry["n_rounds"]) == (row["mu"], row["sigma"], row["n_before"] + 1)
        assert entry["rating"] == row["mu"] - 3.0 * (row["sigma"] - 80.0)
        assert entry["max_rating"] >= entry["rating"]
    ratings = [entry["rating"] for entry in board]
    assert ratings == sorted(ratings, reverse=True)
    assert [entry["place"] for entry in board] == [1 + sum(r > rating for r in ratings) for rating in ratings]
    answer = invoke("leaderboard", "--run", "run", "--all", "--format", "csv", "--lake", lake.url)
    for row, entry in zip(csv.DictReader(io.StringIO(answer.out)), board, strict=True):
        assert list(row) == list(entry)
        for name, value in entry.items():
            read = str(value).lower() if isinstance(value, bool) else value
            assert (row[name] == "") if read is None else (type(read)(row[name]) == read)


def test_leaderboard__shows_twenty_or_the_requested_number(invoke: Command, lake: Lake) -> None:
    n = len(set(rated(lake).column("player").to_pylist()))
    for more, expected in ((), 20), (("--top", 3), 3), (("--top", 1000), n), (("--all",), n):
        answer = invoke("leaderboard", "--run", "run", *more, "--format", "json", "--lake", lake.url)
        assert len(json.loads(answer.out)) == expected
        answer = invoke("leaderboard", "--run", "run", *more, "--lake", lake.url)
        assert f"{expected} of {n} players" in answer.out
        assert answer.out.count("player ") == expected


def test_leaderboard__deviations_change_the_display_rating(invoke: Command, lake: Lake) -> None:
    answer = invoke("leaderboard", "--run", "run", "--all", "--format", "json", "--deviations", 0, "--lake", lake.url)
    assert all(entry["rating"] == entry["mu"] for entry in json.loads(answer.out))


def test_leaderboard__equal_ratings_share_a_place(invoke: Command, tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("0", "zoe", ["bob", "ann"], "cy")])
    rate_run(lake)
    board = json.loads(invoke("leaderboard", "--run", "run", "--format", "json", "--lake", lake.url).out)
    assert [(entry["place"], entry["handle"]) for entry in board] == [(1, "zoe"), (2, "ann"), (2, "bob"), (4, "cy")]


def test_player__json_is_the_rounds_table(invoke: Command, lake: Lake) -> None:
    answer = invoke("player", "player 1", "--run", "run", "--format", "json", "--lake", lake.url)
    assert (answer.code, answer.err) == (0, "")
    history = json.loads(answer.out)
    rows = [row for row in rated(lake).to_pylist() if row["player"] == "player 1"]
    shared = [name for name in rows[0] if name != "player"]
    assert [{name: entry[name] for name in shared} for entry in history] == [
        {name: row[name] for name in shared} for row in rows
    ]
    contests = synthetic(40)
    for entry in history:
        one = contests[entry["round_index"]]
        assert (entry["contest_id"], entry["name"]) == (one.contest_id, one.name)
        assert (entry["time_seconds"], entry["n_players"]) == (one.time_seconds, len(one))
    text = invoke("player", "player 1", "--run", "run", "--lake", lake.url).out
    assert all(f"Contest {row['contest_id']}" in text for row in rows)


def test_runs__lists_data_sets_and_the_progress_of_runs(invoke: Command, lake: Lake) -> None:
    invoke("rate", "--dataset", "games", "--run", "short", "--max-rounds", 7, "--lake", lake.url)
    text = invoke("runs", "--lake", lake.url).out
    (line,) = [line for line in text.splitlines() if " short " in line]
    assert "behind by 33 rounds" in line
    (line,) = [line for line in text.splitlines() if " run " in line and "elo-mmr" in line]
    assert "complete" in line
    (Path(lake.url) / "runs" / "run" / "rounds" / "000000.parquet").unlink()
    text = invoke("runs", "--lake", lake.url).out
    assert "damaged from round 0 on" in text
    assert "runs/run/rounds/000000.parquet: is missing, its manifest records" in text


# Strange names


STRANGE = {
    "red": "[red]x[/red]",
    "close": "[/]",
    "link": "[link=https://x.org]y[/link]",
    "escape": "\x1b[31mred\x1b[0m",
    "bell": "a\x07b\x00c\x7fd",
    "c1": "a\x9b31mb",
    "lines": "one\ntwo\r\nthree\u2028four",
    "bidi": "abc\u202edef",
    "no-break space": "\u00a0",
    "spaces": "  ",
    "backslash": "x\\",
    "backslash in markup": "\\[red]x",
    "chinese": "选手",
    "accents": "Žofie O\u0308zil",
    "astral": "😀🏳️‍🌈",
    "comma": 'a,"b",c',
    "formula": "=1+1",
    "option": "--debug",
    "long": "long" * 2500,
}


@pytest.mark.quick("link", "bidi")
@pytest.mark.parametrize("handle", STRANGE.values(), ids=STRANGE)
def test_tables__escape_every_name(invoke: Command, tmp_path: Path, handle: str) -> None:
    contests = [contest("0", handle, "bob"), contest("1", "bob", handle)]
    contests = [Contest(c.contest_id, handle, "", 0, c.handles, c.lo, c.hi) for c in contests]
    lake = lake_of(tmp_path / "lake", contests)
    rate_run(lake)
    for command in (("leaderboard",), ("player",)):
        end = () if command == ("leaderboard",) else ("--", handle)
        answer = invoke(*command, "--run", "run", "--lake", lake.url, *end)
        assert (answer.code, answer.err) == (0, "")
        assert all(c.isprintable() or c in "\n\u00a0" for c in answer.out)
        assert len({len(line) for line in answer.out.splitlines() if line[:1] in "│┃"}) <= (
            1 if handle.isascii() else 9
        )
        if len(handle) > 100:
            assert handle[:199] + "…" in answer.out  # csv and json have the whole name
        elif handle.isprintable() and handle.strip() and handle.isascii():
            assert handle in answer.out
        for form in ("json", "csv"):
            answer = invoke(*command, "--run", "run", "--format", form, "--lake", lake.url, *end)
            rows = (
                json.loads(answer.out) if form == "json" else list(csv.DictReader(io.StringIO(answer.out, newline="")))
            )
            assert handle in [row["handle" if command == ("leaderboard",) else "name"] for row in rows]


@pytest.mark.parametrize("handle", [":cat:", "x\\\\", "x\\\\\\"])
def test_tables__keep_ordinary_names(invoke: Command, tmp_path: Path, handle: str) -> None:
    lake = lake_of(tmp_path / "lake", [contest("0", handle, "bob")])
    rate_run(lake)
    text = invoke("leaderboard", "--run", "run", "--lake", lake.url).out
    assert f"│ {handle} " in text


# Closed pipes


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json", "table"])
@pytest.mark.parametrize("n_players", [30, 4000], ids=["short", "long"])
def test_leaderboard__a_closed_pipe_is_no_failure(tmp_path: Path, form: str, n_players: int) -> None:
    lake = lake_of(tmp_path / "lake", [contest("0", *(f"player {i}" for i in range(n_players)))])
    rate_run(lake)
    read, write = os.pipe()
    os.close(read)  # the reader has ended before the first byte
    default = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)"  # as in Python by default
    arguments = ("leaderboard", "--run", "run", "--all", "--format", form, "--lake", lake.url)
    with start(*arguments, before=default, stdout=write) as process:
        os.close(write)
        _, err = process.communicate(timeout=TIMEOUT)
    assert err == b""
    assert process.returncode in (0, 1, -signal.SIGPIPE)


@pytest.mark.slow
def test_leaderboard__piped_into_head_shows_the_first_line(lake: Lake) -> None:
    with (
        start("leaderboard", "--run", "run", "--all", "--format", "csv", "--lake", lake.url) as process,
        subprocess.Popen(["head", "-1"], stdin=process.stdout, stdout=subprocess.PIPE) as head,
    ):
        assert process.stdout is not None
        process.stdout.close()
        out, _ = head.communicate(timeout=TIMEOUT)
        assert process.stderr is not None
        err = process.stderr.read()
    assert out.startswith(b'"place","handle"')
    assert (process.returncode in (0, 1), err) == (True, b"")
