"""Names near a name: nearly equal ones, similar ones, and what is said about them."""

from __future__ import annotations

import itertools
import json
import random
import string
import tarfile
from collections import defaultdict
from time import process_time

import pytest
from helpers.data import shared

from ranklake.storage.names.folding import are_alike, fold, fold_lines, words_of
from ranklake.storage.names.hints import alike_lines, alike_note, hint, near_names, unknown_names
from ranklake.storage.names.letters import edits_allowed
from ranklake.storage.names.search import Search

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


@pytest.mark.slow
def test_search__is_that_of_plain_python() -> None:
    chance = random.Random(3)
    texts = ["".join(chance.choices("abÁß\n_ 1", k=chance.randint(0, 9))) for _ in range(300)]
    search, words = Search(texts), [words_of(text) for text in texts]
    assert fold_lines(texts).decode().split("\n") == [" ".join(of_text) for of_text in words]
    for q in {text[:6].strip() for text in texts} | {"ba a1", "aabb1"}:
        kinds = [plain_kind(q, text) for text in texts]
        expected = sorted((row for row in range(len(texts)) if kinds[row] < 10), key=lambda row: (kinds[row], row))
        assert search.rows(q, 1000) == (expected if words_of(q) else [])
        assert search.rows(q, 2) == search.rows(q, 1000)[:2]


def plain_kind(q: str, text: str) -> int:
    """How good a match is, from 0, by the rules in the documentation; 10 is none."""
    words, of_text = words_of(q), words_of(text)
    one, other = "".join(words), "".join(of_text)
    if one == other:
        return 0 if q == text else 1 if fold(q) == fold(text) else 2
    edits = plain_edits(one, other) if other else 9
    near = edits <= edits_allowed(len(one))
    if other.startswith(one) or (near and edits == 1 and len(words) == 1 and len(one) >= 5):
        return 3
    costs = [
        min((0 if b.startswith(a) else plain_edits(a, b) if plain_edits(a, b) <= edits_allowed(len(a)) else 9)
            for b in of_text) if len(of_text) > 1 else 9
        for a in words
    ]  # fmt: skip
    if sum(costs) == 0:
        return 4
    kinds = [5] if one in other else []
    kinds += [6 if edits == 1 else 8] if near else []
    kinds += [7 if sum(costs) == 1 else 9] if sum(costs) <= 2 else []
    return min(kinds, default=10)


def plain_edits(one: str, other: str) -> int:
    """Letters more, less or changed, and neighbours exchanged, from one word to another."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


@pytest.mark.parametrize(
    ("q", "first"),
    [
        ("turist", "tourist"),
        ("um nik", "Um_nik"),
        ("UM-NIK", "Um_nik"),
        ("UMNIK", "umnik"),
        ("nik um", "Um_nik"),
        ("Federer Roger", "Roger Federer"),
        ("max-verstapen", "max-verstappen"),
        ("verstapen", "max-verstappen"),
        ("djokovich", "Novak Djokovic"),
        ("novak djokovich", "Novak Djokovic"),
        ("Djoković N", "Novak Djokovic"),
        ("lukasz kubot", "Łukasz Kubot"),
        ("turist22", "turist22"),
        ("Petr", "Petr"),
        ("petr", "petr"),
        ("C++", "C++"),
        ("c++", "C++"),
        ("!!", "!!"),
        ("hamilton", "44"),
        ("44", "44"),
    ],
)
def test_search__finds_what_was_meant_first(q: str, first: str) -> None:
    names = ["C#", "jos-verstappen", "tourist", "Petr", "Um_nik", "Novak Djokovic", "Roger Federer", "max-verstappen",
             "C++", "umnik", "petr", "Marko Djokovic", "Łukasz Kubot", "turist22", "!!", "44"]  # fmt: skip
    names = [*names[2:], *names[:2]] if q.casefold() != "c++" else names
    search = Search(names, [{"44": "Lewis Hamilton"}.get(name) for name in names])
    assert names[search.rows(q, 5)[0]] == first


def test_search__of_an_empty_query_or_of_nothing_finds_nothing() -> None:
    assert Search([]).near("ann") == Search(["ann"]).rows("", 5) == Search(["ann", ""]).rows(" \n", 5) == []
    assert Search(["", "ann"]).rows("an", 5) == [1]
    assert Search(["a" * 90, "b"]).rows("a" * 500, 5) == []
    assert Search(["x" * 300]).rows("x" * 500, 5) == [0]
    assert [fold(one) for one in ("A B", " a\u00a0b ", "Á\tB")] == ["a b"] * 3
    assert [fold(one) for one in ("Straße", "STRASSE", "STRAẞE", "ΣΊΣΥΦΟΣ", "Ærø", "İı")] == [
        "strasse", "strasse", "strasse", "σισυφοσ", "aero", "ii"]  # fmt: skip
    assert Search([]).near(" ") == Search([]).near("ada") == []


def test_close__are_names_that_are_probably_meant() -> None:
    known = ["tourist", "Um_nik", "anna", "annabel", "maximilian", "Zoë"]
    search = Search(known)
    found = {name: [known[row] for row in search.close(name)] for name in
             ("turist", "umnik", "ann", "maximillien", "tuorits", "zoe", "an", "", "!!")}  # fmt: skip
    assert found == {"turist": ["tourist"], "umnik": ["Um_nik"], "ann": ["anna"], "maximillien": ["maximilian"],
                     "tuorits": [], "zoe": ["Zoë"], "an": [], "": [], "!!": []}  # fmt: skip


def misspelt(chance: random.Random, handle: str) -> str:
    """A handle with one letter lost, added, changed, or exchanged with the next one."""
    at, letter = chance.randrange(len(handle) - 1), chance.choice(string.ascii_lowercase)
    before, here, after = handle[:at], handle[at], handle[at + 1 :]
    return chance.choice([before + after, before + letter + here + after, before + letter + after,
                          before + after[0] + here + after[1:]])  # fmt: skip


@pytest.mark.slow
def test_search__finds_misspelt_handles_of_codeforces_among_the_first_five(codeforces: list[str]) -> None:
    search, chance = Search(codeforces), random.Random(200)
    rows = [row for row in chance.sample(range(len(codeforces)), 300) if len(codeforces[row]) >= 5][:200]
    wrong = [(row, misspelt(chance, codeforces[row])) for row in rows]
    began = process_time()
    found = sum(row in search.rows(text, 5) for row, text in wrong)
    assert found >= 190  # 197 at the time of writing
    assert (process_time() - began) / len(wrong) < 0.05  # 0.01 s on an idle machine
    assert [codeforces[search.rows(q, 1)[0]] for q in ("turist", "um nik")] == ["tourist", "Um_nik"]


@pytest.fixture(scope="module")
def codeforces() -> list[str]:
    """The handles of some hundred rounds, the best mean place first."""
    total: dict[str, float] = defaultdict(float)
    rounds: dict[str, int] = defaultdict(int)
    with tarfile.open(shared("elo-datasets/codeforces.tar.xz"), "r|xz") as archive:
        for member in itertools.islice(filter(tarfile.TarInfo.isfile, archive), 400):
            standings = json.load(archive.extractfile(member))["standings"]
            for handle, lo, _ in standings:
                total[handle] += 1 - lo / len(standings)
                rounds[handle] += 1
    return sorted(total, key=lambda handle: -total[handle] / (rounds[handle] + 5))


@pytest.mark.slow
def test_near__is_found_at_once_among_all_players_of_codeforces() -> None:
    chance, letters = random.Random(1), string.ascii_letters + string.digits + "_.-"
    known = ["".join(chance.choices(letters, k=chance.randint(3, 16))) for _ in range(358_553)]
    began = process_time()
    assert near_names("turist", [*known, "tourist"])[0] == "tourist"
    assert process_time() - began < 1.2  # 0.3 s on an idle machine


def test_new_names__nearly_equal_to_earlier_ones_are_one_line() -> None:
    names = ["ann", "bob", "Ann", "ANN ", "Zoe\u0301", "Zo\u00e9"]
    assert alike_note(names, 6) == alike_note(names[:2], 0) == ""
    assert alike_note(names, 5).startswith("new players with names nearly equal to others: 'Zo\u00e9' beside")
    assert "in another Unicode form; `ranklake alias`" in alike_note(names, 5)
    assert alike_note(names, 0).count(" beside ") == 3
    many = [case(f"player {i}") for case in (str, str.upper) for i in range(20)]
    assert "and 17 more;" in alike_note(many, 0)


@pytest.mark.bound("ranklake.storage.names.search._MOST_WORDS")
def test_search__compares_the_first_words_of_a_query() -> None:
    names = ["one two three four five six seven eight", "nine"]
    assert Search(names).rows(f"{names[0]} nine", 10) == [0]
