"""Tables on terminals of any width: no line is wider, no number is wrapped or cut, hidden columns are counted."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest
from helpers.commands import Answer, Command
from helpers.lakes import contest, lake_of, rate_run, synthetic
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from ranklake.flows.cli.terminal.tables import CONTEST, NAME, NUMBER, TEXT, WHOLE, fit, new_table, print_fitted, shorten
from ranklake.storage import Contest, Dataset, Lake

NAMES = ["ada", "a player whose name has no end to it", "选手选手选手选手选手选手", "grace_hopper_1906"]
AT_RUN = ("--run", "games-elo-mmr")
COMMANDS = {
    "runs": ("runs",),
    "leaderboard": ("leaderboard", *AT_RUN),
    "titles": ("leaderboard", *AT_RUN, "--titles", "codeforces"),
    "trueskill": ("leaderboard", "--run", "games-trueskill-with-a-long-name-of-its-own"),
    "player": ("player", NAMES[1], *AT_RUN),
    "predict": ("predict", *NAMES, "player 1", "player 2", *AT_RUN),
    "pairs": ("predict", *NAMES, "--pairs", *AT_RUN),
    "places": ("predict", *NAMES, "--of", NAMES[1], *AT_RUN),
    "evaluate": ("evaluate", *AT_RUN, "--by", "era", "--by", "size", "--by", "experience", "--by", "rank-error"),
    "compare": ("evaluate", *AT_RUN, "--run", "games-trueskill-with-a-long-name-of-its-own", "--pairs",
                "--filter", "everyone", "--filter", "experienced"),
    "log": ("log", "--dataset", "games"),
    "aliases": ("alias", "--list", "--dataset", "games"),
    "amendments": ("amend", "x1", "--dataset", "games"),
    "tune": ("tune", "--dataset", "games", "--system", "elo", "--space", "k=8,123.456789", "--filter", "everyone",
               "--train-share", "0.5"),
    "experiments": ("experiment", "--list"),
}  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Contests with long names and many places, rated by two systems, with corrections."""
    contests = [*synthetic(30, large=11)]
    for i in range(8):
        one = contest(f"x{i}", *NAMES[i % 4 :], *NAMES[: i % 4], "player 1", time_seconds=1_600_000_000 + i)
        contests.append(Contest(one.contest_id, f"The {i}th Open Championship of the Whole Wide World", "",
                                one.time_seconds, one.handles, one.lo, one.hi))  # fmt: skip
    lake = lake_of(tmp_path_factory.mktemp("lake"), contests)
    with Dataset.ingest(lake, "games") as adding:
        adding.disqualify("x1", "player 1", "was seen with a compiler that is not allowed in rounds of 2020")
        adding.alias("player 3", "the player formerly known as 3", 1_500_000_000, "a new name")
    rate_run(lake, run="games-elo-mmr")
    rate_run(lake, run="games-trueskill-with-a-long-name-of-its-own", system="trueskill")
    return lake


@pytest.fixture
def on_terminal(invoke: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, with a standard output that is a terminal; its width is the environment's COLUMNS."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: stream is sys.stdout, raising=False)
    return invoke


def output(answer: Answer) -> str:
    assert answer.code == 0, answer.err
    return re.sub(r"\x1b\[[0-9;]*m", "", answer.out)


def numbers(text: str) -> set[str]:
    """Every word with a digit in the cells of a table, without shortened cells."""
    cells = [cell for line in text.splitlines() for cell in line.split("│")[1:-1] if "…" not in cell]
    return {word for cell in cells for word in cell.split() if re.search(r"\d", word)}


def columns(text: str) -> int:
    return sum(line.count("┳") + 1 for line in text.splitlines() if line.startswith("┏"))


@pytest.mark.quick(
    "runs",
    "leaderboard",
    "titles",
    "player",
    "predict",
    "pairs",
    "places",
    "log",
    "aliases",
    "amendments",
    "experiments",
)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_table__shows_numbers_in_full_or_hides_their_column(
    on_terminal: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    arguments = command if command[0] == "experiment" else (*command, "--lake", lake.url)
    full = output(on_terminal(*arguments, "--wide"))
    assert "hidden" not in full
    assert "…" not in full
    for width in (80, 100, 250):
        monkeypatch.setenv("COLUMNS", str(width))
        text = output(on_terminal(*arguments))
        assert max(cell_len(line) for line in text.splitlines() if not line.startswith("ranklake ")) <= width
        assert numbers(text) <= numbers(full), width
        hidden = sum(map(int, re.findall(r"^(\d+) columns? hidden", text, re.MULTILINE)))
        # empty columns are hidden without a note: of runs, smoothing; of evaluate, rank information and chances
        empty = {"runs": 1, "log": 6, "alias": 6, "amend": 6, "evaluate": 24}.get(command[0], 0)
        assert columns(text) + hidden <= columns(full) <= columns(text) + hidden + empty
        if width == 250:
            assert hidden == 0


@pytest.mark.parametrize("name", ["leaderboard", "runs", "compare", "predict"])
def test_table__is_in_full_without_a_terminal(
    invoke: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = output(invoke(*COMMANDS[name], "--lake", lake.url))
    assert "hidden" not in text
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) > 80
    assert text == output(invoke(*COMMANDS[name], "--wide", "--lake", lake.url))


def test_table__hides_the_least_important_columns_first(
    on_terminal: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = output(on_terminal(*COMMANDS["leaderboard"], "--lake", lake.url))
    assert "5 columns hidden: --wide shows them" in text  # their names have no room
    assert all(heading in text for heading in ("place", "separated", "rating", "handle", "rounds"))
    monkeypatch.setenv("COLUMNS", "76")
    assert "(percentile, sigma" in output(on_terminal(*COMMANDS["leaderboard"], "--lake", lake.url))
    monkeypatch.setenv("COLUMNS", "60")
    text = output(on_terminal(*COMMANDS["runs"], "--lake", lake.url))
    assert re.search("run +┃ system +┃ state +┃ rounds ┃ +size ┃", text)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_table__is_printed_in_any_encoding(
    invoke: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    for name in ("compare", "trueskill"):
        monkeypatch.setattr(type(sys.stdout), "encoding", encoding, raising=False)
        text = output(invoke(*COMMANDS[name], "--lake", lake.url))
        text.encode(encoding)
        assert ("pair inversion % ^" if name == "compare" else "\\u9009\\u624b") in text


def test_table__has_ascii_signs_for_output_that_is_not_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table({"gain ± ↑ ↓": TEXT})
    table.add_row("a…")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_fitted(table)
    stream.seek(0)
    assert re.search(r"gain \+- \^ v.*a\.\.\.", stream.read(), re.DOTALL)


def test_fit__a_table_that_needs_it_has_its_narrowest_columns() -> None:
    table = new_table({"a": NAME, "b": NAME})
    table.add_row("x" * 40, "y" * 40)
    assert fit(table, 24) == []
    assert sum(column.width or 0 for column in table.columns) + 2 * 3 + 1 == 24  # with lines and padding


@repeatable(60)
@given(
    st.lists(
        st.tuples(st.sampled_from([NUMBER, WHOLE, NAME, TEXT]), st.text("abc de%↑", max_size=20),
                  st.lists(st.text("0123456789. wörd选", max_size=30), min_size=3, max_size=3)),
        min_size=1, max_size=12,
    ),
    st.integers(10, 120),
    st.randoms(),
)  # fmt: skip
def test_fit__keeps_the_width_and_every_number(drawn: list, width: int, random: object) -> None:  # type: ignore[type-arg]
    headings = [f"{heading} {i}" for i, (_, heading, _) in enumerate(drawn)]
    table = new_table({heading: kind for heading, (kind, _, _) in zip(headings, drawn, strict=True)}, headings[::2])
    for row in zip(*(cells for _, _, cells in drawn), strict=True):
        table.add_row(*row)
    hidden = fit(table, width)
    console = Console(width=width, file=open(os.devnull, "w"))  # noqa: SIM115
    with console.file, console.capture() as capture:
        console.print(table)
    text = capture.get()
    left = len(table.columns)
    assert left + len(hidden) + sum(not any(map(str.strip, cells)) for _, _, cells in drawn) >= len(drawn)
    if left > 1:
        assert max(map(cell_len, text.splitlines())) <= width
        kept = [(drawn[headings.index(h)], c) for c in table.columns for h in headings if h.split() == _heading(c)]
        for (kind, _, cells), column in kept:
            if kind in (NUMBER, WHOLE):
                assert column.width is not None
                assert all(cell_len(cell) <= column.width for cell in cells)
                assert all(cell.strip() in text for cell in cells)


def _heading(column: object) -> list[str]:
    return str(getattr(column, "header", "")).split()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("leaderboard", "--run", "run", "--active", "1d", "--at", "2090-01-01"), "a contest in the time of --active"),
        (("log", "--dataset", "games"), "data set games has no manual corrections"),
        (("alias", "--list", "--dataset", "games"), "data set games has no aliases"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_table__without_rows_is_a_sentence(
    command: tuple[str, ...], said: str, invoke: Command, tmp_path: Path
) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(3), "games")
    rate_run(lake, dataset="games", run="run", system="elo")
    answer = invoke(*command, "--lake", lake.url)
    assert answer.code == 0
    assert said in answer.out
    assert len(answer.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("Educational Codeforces Round 12 (Div. 2)", 31, "Educational … Round 12 (Div. 2)"),
        ("Educational Codeforces Round 12 (Div. 2)", 40, "Educational Codeforces Round 12 (Div. 2)"),
        ("Codeforces Round 1234 (Div. 1 + Div. 2)", 24, "Codeforces Round 1234 …"),
        ("Codeforces Round 1234 (Div. 1 + Div. 2)", 5, "Codeforces Round 1234 (Div. 1 + Div. 2)"),
        ("AtCoder Beginner Contest 300", 20, "AtCoder … 300"),
        ("one_long_word_without_any_space", 10, "one_long_word_without_any_space"),
        ("選手 権 大会 第12回", 14, "選手 … 第12回"),
        ("word " * 200, 10, "word " * 200),
    ],
)
def test_shorten__keeps_the_numbers_of_a_name(name: str, width: int, shown: str) -> None:
    assert shorten(name, width) == shown


def test_table__shortens_a_contest_in_its_middle() -> None:
    table = new_table({"day": NUMBER, "contest": CONTEST, "rating": NUMBER})
    table.add_row("2020-01-01", "Educational Codeforces Round 12 (Rated for Div. 2)", "1500")
    assert fit(table, 60) == []
    (shown,) = table.columns[1].cells
    assert str(shown) == "Educational Codeforces Round 12 …"


def test_player__begins_with_a_summary(invoke: Command, lake: Lake) -> None:
    text = invoke("player", "ada", *AT_RUN, "--titles", "codeforces", "--lake", lake.url).out
    summary = " ".join(text.partition("┏")[0].split())
    facts = r"ada: \d+ [a-z ]+, place \d+ of [\d,]+, peak \d+ on \d{4}-\d\d-\d\d, [+-]\d+ in the last of 8 rounds"
    assert re.fullmatch(facts, summary), summary


def test_predict__has_the_chances_of_all_pairs_or_names_the_option(invoke: Command, lake: Lake) -> None:
    few = invoke("predict", *NAMES, *AT_RUN, "--lake", lake.url)
    assert few.out.count("┏") == 2
    assert "chance to finish before the entrant of each number, %" in few.out
    many = invoke("predict", "ada", "--newcomers", "9", *AT_RUN, "--lake", lake.url)
    assert many.out.count("┏") == 1
    assert "not shown: the chances of 45 pairs; --pairs shows them" in many.out
