"""Wrong arguments of commands: one line with the argument, the value and the remedy; never an error of a library."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.cli.terminal.options import AGE, SPAN

RUN = ("--run", "run")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("leaderboard", *RUN, "--top", "9" * 21), 2, "is not in the range 1<=x<=2147483648"),
        (("predict", "ada", *RUN, "--newcomers", "9" * 21), 2, "is not in the range 0<=x<=10000"),
        (("predict", "--field", "bytes", *RUN), 2, "--field: the text of the file is not UTF-8: byte 0x80; save it as"),
        (("preview", "one.csv", "--entrants", "bytes", *RUN), 2, "--entrants: the text of the file is not UTF-8"),
        (("attributes", "bytes", "--dataset", "games"), 1, "bytes: cannot be read: the header has the byte 0x00"),
        (
            ("attributes", "empty", "--dataset", "games"),
            1,
            "empty: the file is empty; it needs a header with the column",
        ),
        (("ingest", "files", "", "--dataset", "d"), 1, "the path of a file is empty, got ''"),
        (("ingest", "files", "empty.csv", "--dataset", "d"), 1, "Error: empty.csv: the file is empty"),
        (("ingest", "files", "wide.csv", "--dataset", "d"), 1, "the header has 3 columns, the row 4: 1,ada,1,2"),
        (("export", *RUN, "--what", "ratings", "--output", "a" * 300), 1, "aaa: File name too long"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else "",
)
def test_command__says_what_is_wrong(
    command: tuple[str, ...], code: int, said: str, invoke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lake = lake_of(tmp_path / "lake", [contest("1", "ada", "bob")], "games")
    rate_run(lake, dataset="games", run="run", system="elo")
    for name, content in {
        "bytes": bytes(range(256)),
        "empty": b"",
        "empty.csv": b"",
        "one.csv": b"player,rank\nada,1\nbob,2\n",
        "wide.csv": b"contest,player,rank\n1,ada,1,2\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    answer = invoke(*command, "--lake", lake.url)
    assert answer.code == code
    error = answer.err.rpartition("Error: ")[2]
    assert said in f"Error: {error}"
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "text", "seconds"),
    [
        (SPAN, "90s", 90), (SPAN, "15m", 900), (SPAN, "2h", 7_200), (SPAN, "3d", 259_200),
        (AGE, "90d", 7_776_000), (AGE, "2w", 1_209_600), (AGE, "1y", 31_557_600),
    ],
)  # fmt: skip
def test_duration__is_a_number_and_a_unit(kind: click.ParamType, text: str, seconds: int) -> None:
    assert kind.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "h", "0h", "1", "1.5h", "-1h", "1H", "1w", "1h ", "99999999s"])
def test_duration__of_any_other_form_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be a duration as 90s, 15m, 1h or 1d, got"):
        SPAN.convert(text, None, None)
    with pytest.raises(click.BadParameter, match="must be a duration as 90d, 26w or 1y, got '90s'"):
        AGE.convert("90s", None, None)
