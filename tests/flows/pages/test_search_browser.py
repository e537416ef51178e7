"""The search of the scripts finds what that of Python finds, in the same order: both are one rule."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest
from helpers.browser import served_files

from ranklake.flows.pages.files import package_files
from ranklake.storage.names.search import Search

pytestmark = pytest.mark.slow
KNOWN = ["tourist", "Um_nik", "Petr", "Novak Djokovic", "Roger Federer", "max-verstappen", "jos-verstappen", "Straße",
         "Łukasz Kubot", "ΣΊΣΥΦΟΣ", "Иван Иванов", "İzmir", "C++", "C#", "!!", "two\nlines", "\u3164", "a\u200bnn",
         "王 小明", "Zo\u00eb", "Zoe\u0308", "ﬁne"]  # fmt: skip
QUERIES = ["turist", "um nik", "UMNIK", "nik um", "Federer Roger", "max-verstapen", "djokovich", "strasse", "STRAẞE",
           "lukasz", "σισυφος", "иван", "izmir", "c++", "C", "!!", "two lines", "zoe", "ann", "fine", "小明", "", " ",
           "x" * 300]  # fmt: skip
SCRIPT = """async ([handles, names, queries]) => {
  const { best } = await import("./search.js");
  const lists = [0, 1].map((part) => {
    const rows = (all) => all.slice(part * 500, part ? undefined : 500);
    return { handle: rows(handles), name: rows(names), rating: rows(handles.map((_, i) => i)) };
  });
  return queries.map((q) => best(lists, q, 10).map(([, row]) => row));
}"""


def test_search__of_the_scripts_is_that_of_python(browser: Any, tmp_path: Any) -> None:
    chance = random.Random(6)
    handles = KNOWN + ["".join(chance.choices("aabcdenort_-. ", k=chance.randint(1, 9))) for _ in range(1500)]
    handles = list(dict.fromkeys(handles))
    names = [chance.choice(KNOWN) if chance.random() < 0.1 else None for _ in handles]
    queries = QUERIES + [_misspelt(chance, chance.choice(handles)) for _ in range(250)]
    for name, data in package_files("static").items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "index.html").write_text('<!doctype html><body data-kind="site" data-root="./"></body>', "utf-8")
    with served_files(tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}index.html")
        found = page.evaluate(SCRIPT, [handles, names, queries])
        page.close()
    search = Search(handles, names)
    assert dict(zip(queries, found, strict=True)) == {q: search.rows(q, 10) for q in queries}


def _misspelt(chance: random.Random, text: str) -> str:
    letters = list(text)
    for _ in range(chance.randint(0, 2)):
        at = chance.randrange(len(letters) + 1)
        letters[at : at + chance.randint(0, 1)] = chance.choice(["", *string.ascii_lowercase[:8], " "])
    return "".join(letters)
