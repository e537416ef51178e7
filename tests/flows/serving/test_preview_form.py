"""Standings as text in the form of the preview page: those that would take much memory are refused."""

from __future__ import annotations

import pytest

from ranklake.flows.serving.answers.problems import Problem
from ranklake.flows.serving.preview_page import read_standings
from ranklake.flows.serving.previews import MOST_PREVIEWED
from ranklake.flows.sources.limits import MAX_COLUMNS


@pytest.mark.parametrize(
    ("text", "entrants", "status", "words"),
    [
        (
            "player,rank" + ",c" * MAX_COLUMNS + "\na,1\n",
            "",
            400,
            "the standings: the table has more than 10,000 columns",
        ),
        ("a\n" * (MOST_PREVIEWED + 1), "", 413, "a preview takes at most 50,000 participants"),
        ("a\u2028" * (MOST_PREVIEWED + 1), "", 413, "a preview takes at most 50,000 participants"),
        ("a\nb\n", "c\r\n\r\n" * (MOST_PREVIEWED + 1), 413, "a preview takes at most 50,000 participants"),
        ("\n \r\n", "a", 400, "the standings are empty"),
    ],
    ids=["columns", "lines", "separators", "entrants", "empty"],
)
def test_form__of_too_many_columns_or_lines_is_refused(text: str, entrants: str, status: int, words: str) -> None:
    with pytest.raises(Problem) as caught:
        read_standings(text, entrants)
    assert caught.value.status == status
    assert caught.value.detail.startswith(words)


def test_form__lines_end_as_in_any_text() -> None:
    assert read_standings("\n1 ann\r\n 2 bob\r3 cid\u2028", "dan\n").players == ["ann", "bob", "cid", "dan"]
