"""The page of frequent errors: each command and each example gives the message that the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.documents import Follow, page

PAGE = page("errors")
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


@pytest.fixture
def folder(follow: Follow) -> None:
    """The files of the page in this folder, and a lake with the run of ``club.csv``."""
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    follow("ranklake ingest files club.csv --dataset club --lake lake")
    follow("ranklake rate --dataset club --engine serial --lake lake")


def test_page__has_an_example_for_each_section() -> None:
    assert [heading for heading, *_ in ENTRIES] == re.findall(r"^### (.+)$", PAGE, re.MULTILINE)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("heading", "language", "example", "shown"), ENTRIES, ids=[entry[0] for entry in ENTRIES])
def test_error__is_the_one_of_the_page(heading: str, language: str, example: str, shown: str, invoke: Command) -> None:
    if language == "sh":
        answer = invoke(*shlex.split(example)[1:])
        assert answer.code in (1, 2)
        assert "".join(answer.err.rpartition("Error: ")[1:]).split() == shown.split(), heading
        return
    results = pd.DataFrame({"contest": [1, 1], "player": ["ada", "bob"], "rank": [1, 2], "club": ["x", "y"]})
    with pytest.raises((TypeError, ValueError)) as caught:
        exec(compile(example, "errors.md", "exec"), {"results": results})
    assert f"{type(caught.value).__name__}: {caught.value}".split() == shown.split(), heading
