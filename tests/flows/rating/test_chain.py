"""The digests of rounds are a chain, and the description of the first invalid round names the change of its contest."""

from __future__ import annotations

from hashlib import blake2b
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ranklake.flows.rating.chain import first_break, n_valid, round_digests
from ranklake.storage import Chain


@pytest.mark.parametrize(
    ("at", "rated", "present", "before", "exclude", "text"),
    [
        (1, ["a", "b"], ["a", "b"], [], [], "contest b, changed"),
        (1, ["a", "b"], ["a", "b"], [], ["b"], "contest b, is excluded"),
        (1, ["a", "b"], ["a", "b"], ["b"], [], "contest b, is included again"),
        (0, ["a", "b"], ["b"], [], [], "contest a, was removed"),
        (1, ["a", "b"], ["a"], [], [], "contest b, was removed"),
        (1, ["a", "b"], ["a", "c", "b"], [], [], "contest c, was inserted"),
        (0, ["a", "b"], ["b", "a"], [], [], "contest b, was moved here"),
    ],
)
def test_first_break__says_what_happened_to_the_contest(
    at: int, rated: list[str], present: list[str], before: list[str], exclude: list[str], text: str
) -> None:
    segment: Any = SimpleNamespace(contest_ids=rated)
    chain = Chain((segment,), (), "")
    dataset: Any = SimpleNamespace(contests=pa.table({"contest_id": present}))
    assert first_break(at, chain, dataset, before, exclude) == text


@pytest.mark.parametrize("exclude", [set(), {"b"}, {"a", "c", "unknown"}])
def test_round_digests__are_each_the_digest_of_the_one_before_and_its_contest(exclude: set[str]) -> None:
    contents = {name: blake2b(name.encode(), digest_size=16).hexdigest() for name in "abc"}
    dataset: Any = SimpleNamespace(
        contests=pa.table({"contest_id": list(contents), "content_digest": list(contents.values())})
    )
    digest, wanted = b"configuration", []
    for name, content in contents.items():
        update = b"excluded " + name.encode() if name in exclude else bytes.fromhex(content)
        digest = blake2b(digest + update, digest_size=16).digest()
        wanted.append(digest.hex())
    assert round_digests(b"configuration", dataset, exclude) == wanted


@pytest.mark.parametrize(
    ("recorded", "required", "n"),
    [
        ("", "", 0),
        ("abc", "", 0),
        ("", "abc", 0),
        ("abc", "abc", 3),
        ("ab", "abc", 2),
        ("abc", "ab", 2),
        ("axc", "abc", 1),
    ],
)
def test_n_valid__counts_the_rounds_before_the_first_difference(recorded: str, required: str, n: int) -> None:
    assert n_valid(list(recorded), list(required)) == n
