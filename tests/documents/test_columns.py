"""The page "What the columns mean": its example prints what it shows, its numbers and names are those of the code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.documents import blocks_of, page

from ranklake import SYSTEMS, Ratings
from ranklake.flows.preview.preview import COLUMNS as PREVIEW
from ranklake.flows.problems.columns import OF_PROBLEMS
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage.lake.schemas import OF_SEASONS, OF_STRENGTHS, PUBLISHED, SEASON_COLUMNS

PAGE = page("columns")
EXPLAINED = set(re.findall(r"`([a-z_0-9]+)`", PAGE))
MEANING = {"topcoder": "a volatility", "cf-general": "a constant"}


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    names: dict[str, Any] = {"print": lambda text: names.setdefault("printed", []).append(text)}
    (program,) = blocks_of(PAGE, "python")
    exec(compile(program, "columns.md", "exec"), names)
    return names


def test_example__prints_the_tables_of_the_page(example: dict[str, Any]) -> None:
    (shown,) = blocks_of(PAGE, "text")
    assert shown.splitlines() == "\n".join(example["printed"]).splitlines()


def test_values__are_those_of_the_example(example: dict[str, Any]) -> None:
    history, board = example["ratings"].history, example["ratings"].leaderboard()
    row = {**history[(history["player"] == "linus") & (history["contest"] == "autumn")].iloc[0]}
    of_player = {**board[board["player"] == "linus"].iloc[0]}
    checked = 0
    for values, found in ((row, "linus` in `autumn"), (of_player, "meaning | `linus` |")):
        table = PAGE[PAGE.index(found) :].partition("\n\n")[0]
        for names, shown in re.findall(r"^\| (.+?) \|.*\| ([\d., ]+) \|$", table, re.MULTILINE):
            numbers = shown.split(", ")
            for name, number in zip(re.findall(r"`(\w+)`", names), numbers * 2, strict=False):
                assert float(number.replace(",", "")) == pytest.approx(values[name], abs=0.05), name
                checked += 1
    assert checked > 15


def test_systems__have_the_sigma_and_the_rating_of_the_table(example: dict[str, Any]) -> None:
    for name in of_contests():
        system, ratings = SYSTEMS[name], Ratings.rate(example["results"], name, engine="serial")
        ada = ratings.leaderboard().set_index("player").loc["ada"]
        meaning = MEANING.get(name, "the uncertainty of `mu`" if ada["sigma"] else "0: not used")
        numbers = (system.sigma_limit(system.params()), ada["mu"], ada["sigma"], ada["rating"])
        shown = " | ".join(f"{number:,.{2 if name == 'trueskill' else 1}f}" for number in numbers)
        assert f"| `{name}` | {meaning} | {system.deviations:g} | {shown} |" in PAGE


def test_columns__of_all_tables_are_explained(example: dict[str, Any]) -> None:
    published = [PUBLISHED[name].names for name in ("ratings", "leaderboard")]
    further = OF_PROBLEMS | OF_STRENGTHS | OF_SEASONS
    published += [SEASON_COLUMNS.names, *(schema.names for schema in further.values())]
    names = {*example["ratings"].history, *example["ratings"].leaderboard(), *PREVIEW}.union(*published)
    names -= {*example["results"]}
    assert names <= EXPLAINED, names - EXPLAINED
