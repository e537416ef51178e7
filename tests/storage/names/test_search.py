"""Names near a name: nearly equal ones, similar ones, and what is said about them."""

from __future__ import annotations

import random
import string
from difflib import SequenceMatcher
from time import process_time

import pytest

from ranklake.storage.names.hints import alike_lines, alike_note, hint, near_names, unknown_names
from ranklake.storage.names.search import Search, are_alike, fold

KNOWN = ["ann", "Petr", "tourist", "José", "ann lee", "Ｗide", "ㅤ", "two\nlines", "Zoë"]


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("Ann", ["ann"]),
        (" ann\t", ["ann"]),
        ("a\u200bnn\ufeff", ["ann"]),
        ("an\u00adn", ["ann"]),
        ("Jose\u0301", ["José"]),
        ("JOSE\u0301", ["José"]),
        ("Ann\u00a0 Lee", ["ann lee"]),
        ("wide", ["Ｗide"]),
        ("TWO LINES", ["two\nlines"]),
        ("ann", []),
        ("Jose", []),  # another letter is another name
        ("annlee", []),
        ("", ["ㅤ"]),
    ],
)
def test_alike__are_names_that_look_the_same(name: str, alike: list[str]) -> None:
    search = Search(KNOWN)
    assert [KNOWN[row] for row in search.alike([name]).get(name, [])] == alike
    many = [name, *(f"other {i}" for i in range(30))]  # found in one pass instead
    assert [KNOWN[row] for row in search.alike(many).get(name, [])] == alike
    assert [one for one in KNOWN if are_alike(name, one)] == alike


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ann", "; there is 'ann'"),
        ("Jose\u0301", "; there is 'José' in another Unicode form"),
        ("turist", "; did you mean 'tourist'?"),
        ("TOURSIT", "; did you mean 'tourist'?"),
        ("Pter", "; did you mean 'Petr'?"),
        ("zoe", "; did you mean 'Zoë'?"),
        ("nobody of all", ""),
        ("", ""),
        ("\n", ""),
    ],
)
def test_hint__names_what_was_probably_meant(name: str, said: str) -> None:
    known = [one for one in KNOWN if one != "ㅤ"]
    assert hint(name, near_names(name, known)) == said


@pytest.mark.bound("ranklake.storage.names.hints._MOST_SHOWN", "ranklake.storage.names.hints._MOST_LINES")
def test_lines__about_many_names_are_few() -> None:
    names = [f"Player {i}" for i in range(9)]
    lines = alike_lines(["new", *names], Search([name.lower() for name in names]), "in run r", "a newcomer")
    assert lines[0] == "no player 'Player 0' in run r; there is 'player 0', and 'Player 0' is a newcomer"
    assert lines[5:] == ["4 more names are nearly equal to those of players"]
    assert unknown_names([7, "Ann", "x", "y", "z"], ["ann", 3]) == "7, 'Ann' (there is 'ann'), 'x' and 2 more"


def test_similar__is_the_closest_by_the_ratio_of_difflib() -> None:
    chance = random.Random(4)
    known = ["".join(chance.choices("abcde", k=chance.randint(3, 9))) for _ in range(90)]
    for name in ("abcde", "eeddc", "bacedabc"):
        ratios = [SequenceMatcher(None, one, name).ratio() for one in known]
        assert ratios[Search(known).similar(name, 1)[0]] == max(ratios)
    assert Search([]).near("ann") == []
    assert [fold(one) for one in ("A B", " a\u00a0b ", "Á\tB")] == ["a b"] * 3


@pytest.mark.slow
def test_near__is_found_at_once_among_all_players_of_codeforces() -> None:
    chance, letters = random.Random(1), string.ascii_letters + string.digits + "_.-"
    known = ["".join(chance.choices(letters, k=chance.randint(3, 16))) for _ in range(358_553)]
    began = process_time()
    assert near_names("turist", [*known, "tourist"])[0] == "tourist"
    assert process_time() - began < 0.6  # 0.12 s on an idle machine


def test_new_names__nearly_equal_to_earlier_ones_are_one_line() -> None:
    names = ["ann", "bob", "Ann", "ANN ", "Zoe\u0301", "Zo\u00e9"]
    assert alike_note(names, 6) == alike_note(names[:2], 0) == ""
    assert alike_note(names, 5).startswith("new players with names nearly equal to others: 'Zo\u00e9' beside")
    assert "in another Unicode form; `ranklake alias`" in alike_note(names, 5)
    assert alike_note(names, 0).count(" beside ") == 3
    many = [case(f"player {i}") for case in (str, str.upper) for i in range(20)]
    assert "and 17 more;" in alike_note(many, 0)
