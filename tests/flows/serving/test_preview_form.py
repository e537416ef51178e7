"""Standings as text in the form of the preview page: those that would take much memory are refused."""

from __future__ import annotations

import tracemalloc
from urllib.parse import urlencode

import pytest

from ranklake.flows.serving.messages.problems import Problem
from ranklake.flows.serving.previews import MOST_PREVIEWED, read_form, read_standings
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


@pytest.mark.parametrize("text", ["1 ann\r\n2 b+b & 100 %", "1 \u017e\u00fc\U0001f600\n" * 20_000, "%41+", ""])
def test_form__is_read_as_it_was_sent(text: str) -> None:
    form = read_form(urlencode({"standings": text, "entrants": "a=b", "teams": "on"}).encode())
    assert form == {"standings": text, "entrants": "a=b", "teams": True}
    assert read_form(b"entrants=%zz%4")["entrants"] == "%zz%4"


@pytest.mark.slow
def test_form__of_escapes_takes_little_memory() -> None:
    body = b"standings=" + b"%2C" * 1_000_000
    tracemalloc.start()
    read_form(body)
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()


@pytest.mark.parametrize("body", [b"standings=\xff", b"standings=%ff", b"&" * 10], ids=["bytes", "escapes", "fields"])
def test_form__of_another_kind_is_refused(body: bytes) -> None:
    with pytest.raises(Problem, match="must be a form"):
        read_form(body)
