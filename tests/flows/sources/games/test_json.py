"""Games in JSON: votes of an arena, one object a line or one array; faults name the line."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.games import read_games as read

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.games.scores import parse_values

VOTES: list[dict[str, Any]] = [
    {"model_a": "m1", "model_b": "m2", "winner": "model_a", "tstamp": 1682351591.1322, "turn": 1},
    {"model_a": "m2", "model_b": "m3", "winner": "model_b", "tstamp": 1682351600, "language": "English"},
    {"model_a": "m3", "model_b": "m1", "winner": "tie", "tstamp": 1682351700.5, "turn": 3},
    {"model_a": "m3", "model_b": "m2", "winner": "tie (bothbad)", "tstamp": 1682438000.25},
]
COLUMNS = {"white": "model_a", "black": "model_b", "result": "winner", "time": "tstamp"}
MEANINGS = ["model_a=1", "model_b=0", "tie (bothbad)=0.5"]
GAMES = [
    ("2023-04-24", [("m1", "m2", 1.0, 1682351591), ("m2", "m3", 0.0, 1682351600), ("m3", "m1", 0.5, 1682351700)]),
    ("2023-04-25", [("m3", "m2", 0.5, 1682438000)]),
]


def lines(votes: list[dict[str, Any]] = VOTES) -> str:
    return "".join(json.dumps(vote) + "\n" for vote in votes)


@pytest.mark.parametrize(
    "name", ["votes.jsonl", "votes.ndjson", "votes.json", "votes.jsonl.gz", "votes.zip", "votes.csv"]
)
@pytest.mark.parametrize("rows", [2, 2**16])
def test_votes__are_read_from_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: int) -> None:
    monkeypatch.setattr("ranklake.flows.sources.files.json_tables.CHUNK_ROWS", rows)
    path, text = tmp_path / name, json.dumps(VOTES) if name == "votes.json" else lines()
    if name == "votes.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("votes.jsonl", text)
            archive.writestr("about.json", "{}")
    elif name == "votes.csv":
        rows_of = [",".join(str(vote.get(key, "")) for key in (*COLUMNS.values(), "turn")) for vote in VOTES]
        path.write_text("\n".join([",".join((*COLUMNS.values(), "turn")), *rows_of]))
    else:
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert read(path, columns=COLUMNS, values=parse_values(MEANINGS))[0] == GAMES


def test_votes__are_ingested_by_the_command(tmp_path: Path, invoke: Command) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text(lines())
    columns = [f"--column={key}={column}" for key, column in COLUMNS.items()]
    options = [*columns, "--dataset", "arena", "--lake", str(tmp_path / "lake")]
    refused = invoke("ingest", "games", str(path), *options)
    assert "votes.jsonl, row 1 (line 1): a result must be" in refused.err
    assert "got 'model_a'; --value TEXT=SCORE says what a text means" in refused.err
    answer = invoke("ingest", "games", str(path), *options, *(f"--value={meaning}" for meaning in MEANINGS))
    assert "2 new periods with 4 games" in answer.out
    less = [*MEANINGS[:2], "tie(bothbad)=none"]
    answer = invoke("ingest", "games", str(path), *options, *(f"--value={meaning}" for meaning in less))
    assert "left out: 1 game, with the result 'tie (bothbad)', as --value says (first: votes.jsonl, row 4" in answer.err


def test_faults__name_the_line_or_are_left_out(tmp_path: Path) -> None:
    path, bad = tmp_path / "votes.jsonl", {**VOTES[1], "model_a": ["m2"]}
    path.write_text(
        "\n" + lines([VOTES[0]]) + "[1]\n" + lines([bad]) + "\n" + lines([VOTES[2], {**VOTES[3], "winner": 3}])
    )
    options: dict[str, Any] = {"columns": COLUMNS, "values": parse_values(MEANINGS)}
    with pytest.raises(SourceError, match=r"votes\.jsonl, line 3: must be an object with a key a column"):
        read(path, **options)
    games, report = read(path, **options, on_error="skip")
    assert [game for _, period in games for game in period] == [GAMES[0][1][0], GAMES[0][1][2]]
    assert report.lines()[2].endswith("(first: votes.jsonl, line 3)")
    assert "column 'model_a' must be text or a number" in report.lines()[1]
    assert "row 2 (line 4)" in report.lines()[1]
    assert "got '3'; --value" in report.lines()[0]
    path.write_text(lines([VOTES[0]]) + lines([{**VOTES[3], "winner": 3}]))
    with pytest.raises(SourceError, match=r"votes\.jsonl, row 2 \(line 2\): a result must be .*, got '3'"):
        read(path, **options)


def test_files_without_votes__are_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text("\n")
    with pytest.raises(SourceError, match=r"votes\.jsonl: the file has no rows"):
        read(path)
    path.write_text(lines())
    with pytest.raises(SourceError, match=r"has no column 'verdict' for result; it has 'model_a', 'model_b', 'winner'"):
        read(path, columns={**COLUMNS, "result": "verdict"})
    path.with_suffix(".csv").write_text("winner,loser,date\na,b,2026-01-01\n")
    with pytest.raises(SourceError, match="--value is of results, and no column of them is used"):
        read(path.with_suffix(".csv"), values={"a": 1.0})
