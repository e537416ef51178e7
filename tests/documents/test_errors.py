"""The page of frequent errors: each command and each example gives the message that the page shows."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest
from helpers.documents import ROOT

from ranklake.flows.cli.main import main

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^### (.+?)\n.*?^```(sh|python)\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FILES = {
    "races.csv": b"event,driver,position\n1,ada,1\n1,bob,2\n",
    "retired.csv": b"contest,player,rank\n1,ada,1\n1,bob,DNF\n",
    "twice.csv": b"contest,player,rank\n1,ada,1\n1,ada,2\n",
    "dates.csv": b"contest,player,rank,time\n1,ada,1,01/02/2024\n1,bob,2,01/02/2024\n",
    "latin.csv": "contest,player,rank\n1,Jérôme,1\n".encode("latin-1"),
    "short.csv": b"contest,player,rank\n1,ada,1\n1,bob\n",
    "goals.csv": b"white,black,result,date\nada,bob,3-1,2024-01-01\n",
    "club.csv": b"contest,player,rank,time\n1,ada,1,2024-01-01\n1,bob,2,2024-01-01\n",
}


def ranklake(command: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """The exit code of a command in this process."""
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    try:
        main()
    except SystemExit as done:
        return done.code
    return 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page, and a lake with the run of ``club.csv``."""
    folder = tmp_path_factory.mktemp("errors")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in ("ingest files club.csv --dataset club", "rate --dataset club --engine serial"):
            assert not ranklake(f"ranklake {command} --lake lake", patch)
    return folder


def test_page__has_an_example_for_each_section() -> None:
    assert [heading for heading, *_ in ENTRIES] == re.findall(r"^### (.+)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("heading", "language", "example", "shown"), ENTRIES, ids=[entry[0] for entry in ENTRIES])
def test_error__is_the_one_of_the_page(
    heading: str,
    language: str,
    example: str,
    shown: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    if language == "sh":
        assert ranklake(example, monkeypatch) in (1, 2)
        said = capsys.readouterr().err.rpartition("Error: ")
        assert "".join(said[1:]).split() == shown.split(), heading
        return
    results = pd.DataFrame({"contest": [1, 1], "player": ["ada", "bob"], "rank": [1, 2], "club": ["x", "y"]})
    with pytest.raises((TypeError, ValueError)) as caught:
        exec(compile(example, "errors.md", "exec"), {"results": results})
    assert f"{type(caught.value).__name__}: {caught.value}".split() == shown.split(), heading
