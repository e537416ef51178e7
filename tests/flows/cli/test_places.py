"""How sure a place is at the command line: intervals, tiers, provisional players, and who counts for whom."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run, synthetic

from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.results.places import PlaceOptions
from ranklake.storage import Lake

CONTESTS = synthetic(20, spice=False, n_players=30, size=10)
PLACES = ("place", "place_high", "place_low", "tier", "percentile")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("places") / "lake", CONTESTS)
    rate_run(lake)
    rate_run(lake, run="elo", system="elo")
    people = tmp_path_factory.mktemp("people") / "people.csv"
    rows = [f"player {n},{'GB' if n % 3 else 'US'}" for n in range(30)]
    people.write_text("handle,country\n" + "\n".join(rows) + "\n", encoding="utf-8")
    record_attributes(lake, "games", str(people))
    return lake


def rows(invoke: Command, lake: Lake, *options: object, run: str = "run") -> list[dict[str, Any]]:
    answer = invoke("leaderboard", "--run", run, "--all", "--format", "json", *options, "--lake", lake.url)
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = json.loads(answer.out)
    return found


def test_leaderboard__counts_whose_bounds_are_apart(invoke: Command, lake: Lake) -> None:
    board = rows(invoke, lake, "--interval", 0.8)
    z = PlaceOptions(interval=0.8).z
    for row in board:
        low, high = row["mu"] - z * row["sigma"], row["mu"] + z * row["sigma"]
        assert row["place_high"] == 1 + sum(other["mu"] - z * other["sigma"] > high for other in board)
        assert row["place_low"] == len(board) - sum(other["mu"] + z * other["sigma"] < low for other in board)
    assert board == rows(invoke, lake, "--interval", 0.8, "--places", "separated")
    own = rows(invoke, lake, "--interval", 0.8, "--places", "own")
    assert sum(row["place_low"] - row["place_high"] for row in own) < sum(
        row["place_low"] - row["place_high"] for row in board
    )


def test_leaderboard__provisional_players_have_no_place_and_count_for_nobody(invoke: Command, lake: Lake) -> None:
    everybody = rows(invoke, lake)
    least = sorted(row["n_rounds"] for row in everybody)[10]
    few = {row["handle"] for row in everybody if row["n_rounds"] < least}
    assert few
    hidden, shown, only = (
        rows(invoke, lake, "--min-rounds", least, "--provisional", choice) for choice in ("hide", "show", "only")
    )
    assert {row["handle"] for row in only} == few
    assert [row for row in shown if row["handle"] not in few] == hidden
    assert [row for row in shown if row["handle"] in few] == only
    assert [row["place"] for row in hidden] == list(range(1, len(hidden) + 1))
    assert max(row["place_low"] for row in hidden) == len(hidden)
    assert all(row["provisional"] and not any(row[name] for name in PLACES) for row in only)
    table = invoke("leaderboard", "--run", "run", "--min-rounds", least, "--lake", lake.url).out
    assert table.endswith(f"\n({len(few)} provisional players not shown)\n")
    assert f"20 of {len(hidden)} players" in table
    said = invoke("leaderboard", "--run", "run", "--min-rounds", least, "--format", "csv", "--lake", lake.url)
    assert said.err.endswith(f"({len(few)} provisional players not shown)\n")
    assert "not shown" not in said.out


@pytest.mark.slow
def test_leaderboard__sigma_makes_a_player_provisional(invoke: Command, lake: Lake) -> None:
    board = rows(invoke, lake)
    middle = sorted(row["sigma"] for row in board)[15]
    hidden = rows(invoke, lake, "--max-sigma", middle)
    assert {row["handle"] for row in hidden} == {row["handle"] for row in board if row["sigma"] <= middle}


def test_leaderboard__at_a_time_has_the_rounds_of_that_time(invoke: Command, lake: Lake) -> None:
    at = CONTESTS[9].time_seconds
    then = ("--min-rounds", 3, "--at", datetime.fromtimestamp(at, UTC).isoformat())
    before = [one.handles.to_pylist() for one in CONTESTS if one.time_seconds <= at]
    n_rounds = {name: sum(name in field for field in before) for field in before for name in field}
    found = rows(invoke, lake, *then, "--provisional", "show")
    assert {row["handle"]: row["provisional"] for row in found} == {name: n < 3 for name, n in n_rounds.items()}


def test_leaderboard__where_filters_after_places_and_among_before(invoke: Command, lake: Lake) -> None:
    board = rows(invoke, lake, "--min-rounds", 4)
    british = [row for row in board if int(row["handle"].removeprefix("player ")) % 3]
    where = ("--min-rounds", 4, "--where", "country=GB")
    assert rows(invoke, lake, *where) == british
    among = rows(invoke, lake, *where, "--among")
    assert [row["handle"] for row in among] == [row["handle"] for row in british]
    assert [row["place"] for row in among] == list(range(1, len(among) + 1))
    assert max(row["place_low"] for row in among) == len(among) < len(board)


def test_leaderboard__tiers_are_runs_with_a_line_between(invoke: Command, lake: Lake) -> None:
    everybody = {row["handle"]: row for row in rows(invoke, lake, "--deviations", 3, "--interval", 0.5)}
    options = ("--tiers", "--all", "--deviations", 3, "--interval", 0.5)
    text = invoke("leaderboard", "--run", "run", *options, "--lake", lake.url).out
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    tiers = [int(row[0]) for row in cells]
    assert tiers == sorted(tiers) == [everybody[row[4]]["tier"] for row in cells]
    assert text.count("├") == len(set(tiers)) - 1 > 0
    levels = [everybody[row[4]]["mu"] for row in cells]
    assert levels == sorted(levels, reverse=True)
    assert "separated 50%" in text


def test_leaderboard__of_a_system_without_uncertainty(invoke: Command, lake: Lake) -> None:
    board = rows(invoke, lake, "--min-rounds", 4, run="elo")
    assert board
    assert not {"place_high", "place_low", "tier"} & board[0].keys()
    asked = ("leaderboard", "--run", "elo", "--lake", lake.url)
    for given, name in (
        (("--interval", 0.9), "--interval"),
        (("--max-sigma", 90), "--max-sigma"),
        (("--places", "own"), "--places"),
        (("--tiers",), "--tiers"),
    ):
        said = invoke.refuses(*asked, *given, code=2)
        assert said.startswith(f"{name} needs the uncertainty of skills, which elo has not; elo-mmr, ")
    assert invoke(*asked).code == 0


@pytest.mark.slow
def test_leaderboard__of_two_components_has_places_within_each(invoke: Command, tmp_path: Path) -> None:
    ladders = [
        contest(f"{ladder}{n}", *(f"{ladder} {place}" for place in range(5)), time_seconds=n + 1)
        for n in range(4)
        for ladder in ("north", "south")
    ]
    rate_run(lake := lake_of(tmp_path / "lake", ladders))
    alone = rows(invoke, lake, "--component", 1)
    assert [row for row in rows(invoke, lake) if row["component"] == 1] == [row | {"component": 1} for row in alone]
    text = invoke("leaderboard", "--run", "run", "--tiers", "--lake", lake.url).out
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert [row[0] for row in cells] == ["0"] * 5 + ["1"] * 5
    assert [row[2] for row in cells] == ["1", "2", "3", "4", "5"] * 2
    assert text.count("├") == len({(row[0], row[1]) for row in cells}) - 1


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (("--interval", 1), "--interval must be > 0 and < 1, got 1.0"),
        (("--interval", "nan"), "--interval must be > 0 and < 1, got nan"),
        (("--min-rounds", -1), "--min-rounds must be a whole number within 0..2147483647 rounds, got -1"),
        (("--max-sigma", 0), "--max-sigma must be > 0 and < 1e+10 rating points or inf, got 0.0"),
        (("--tiers", "--format", "csv"), "--tiers draws lines in a table of players; csv and json have the column"),
        (("--among",), "--among is for the players of --where: give a condition"),
        (("--all-time", "--tiers"), "--all-time has neither provisional players nor intervals"),
    ],
    ids=str,
)
def test_leaderboard__wrong_use_names_the_option(invoke: Command, lake: Lake, given: Any, rule: str) -> None:
    assert invoke.refuses("leaderboard", "--run", "run", *given, "--lake", lake.url, code=2).startswith(rule)


@pytest.mark.slow
def test_leaderboard__without_a_ranked_player_says_so(invoke: Command, lake: Lake) -> None:
    said = invoke("leaderboard", "--run", "run", "--min-rounds", 99, "--lake", lake.url)
    assert said.out == "run run has no ranked player\n(29 provisional players not shown)\n"
    assert (
        invoke("leaderboard", "--run", "run", "--provisional", "only", "--lake", lake.url).out
        == "run run has no provisional player\n"
    )


@pytest.mark.slow
def test_leaderboard__takes_the_thresholds_of_the_run(invoke: Command, tmp_path: Path) -> None:
    rate_run(lake := lake_of(tmp_path / "lake", CONTESTS))
    plain = rows(invoke, lake, "--min-rounds", 4, "--interval", 0.7)
    set_display = ("--set-display", "min_rounds=4", "--set-display", "interval=0.7")
    assert invoke("rate", "--run", "run", *set_display, "--lake", lake.url).code == 0
    assert rows(invoke, lake) == plain
    assert rows(invoke, lake, "--min-rounds", 0, "--interval", 0.95) == rows(
        invoke, lake, "--min-rounds", 0, "--interval", 0.95, "--max-sigma", "inf"
    )
    assert len(rows(invoke, lake, "--min-rounds", 0)) > len(plain)


@pytest.mark.slow
def test_leaderboard__of_elo_r_has_the_deviation_of_its_factors(invoke: Command, tmp_path: Path) -> None:
    rate_run(other := lake_of(tmp_path / "lake", CONTESTS), system="elo-r")
    board = rows(invoke, other)
    deviation = {row["handle"]: row["sigma"] * math.pi / math.sqrt(12.0) for row in board}
    for row in board:
        high = row["mu"] + 1.96 * deviation[row["handle"]]
        assert row["place_high"] == 1 + sum(one["mu"] - 1.96 * deviation[one["handle"]] > high for one in board)
