"""Contests of teams through the lake: the ratings of ``rate_history``, to the bit, whatever happens on the way."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import commit_often, contest, copy_of, ingest, lake_of, rate_run, rated, same_tables
from helpers.rated_runs import problems
from helpers.teams import draw_team_contests, team_contests, team_frame

from ranklake import rate_history
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset, compact_run

N_PLAYERS = 18
TEAMS = draw_team_contests(3, N_PLAYERS, 14)
BITS = ["perf", "mu_prior", "sigma_prior", "mu", "sigma"]


def history() -> list[tuple[Any, int, float, float]]:
    """Contests of teams with one of individuals between them."""
    alone = [(place, place, [player], None) for place, player in enumerate(range(9))]
    return [*TEAMS[:5], (alone, TEAMS[4][1] + 1_000, 1.0, math.inf), *TEAMS[5:]]


def write_history(folder: Path, contests: list[Any]) -> Path:
    """A folder of the reference format; in it, a player without partners has no team in every second contest."""
    folder.mkdir()
    for number, (standings, time, weight, ceiling) in enumerate(contests):
        rows = []
        for at, (lo, hi, members, shares) in enumerate(standings):
            names = [f"p{member}" for member in members]
            lonely = len(names) == 1 and number % 2
            rows.append([names[0], lo, hi] if lonely else [f"team {at}", lo, hi, names, *([shares] if shares else [])])
        facts = {"name": f"Round {number}", "time_seconds": time, "weight": weight, "standings": rows}
        facts |= {} if ceiling == math.inf else {"perf_ceiling": ceiling}
        (folder / f"{number}.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with ``history()``, as a folder of contests brought it in."""
    path = tmp_path_factory.mktemp("teams")
    folder = write_history(path / "set", history())
    return lake_of(path / "lake", read_contests(folder))


@pytest.fixture
def lake(tmp_path: Path, made: Lake, monkeypatch: pytest.MonkeyPatch) -> Lake:
    commit_often(monkeypatch, segment_rows=30, snapshot_rows=60)
    return copy_of(made, tmp_path / "lake")


def by_row(frame: pd.DataFrame, contest: str) -> pd.DataFrame:
    return frame.set_index([contest, "player"])[["lo", "hi", *BITS]].sort_index()


ENGINES = {
    "serial elo-mmr": ("elo-mmr", Serial()),
    "serial elo-mms": ("elo-mms", Serial()),
    "threads": ("elo-mmx", Threads(2)),
    "workers": ("elo-mmx", InProcessEngine(2)),
}


@pytest.mark.quick("serial elo-mmr", "workers")
@pytest.mark.parametrize(("system", "engine"), ENGINES.values(), ids=ENGINES)
def test_ratings__of_a_data_set_are_those_of_a_frame(lake: Lake, system: str, engine: Engine) -> None:
    rate_run(lake, system=system, engine=engine)
    rows = rated(lake).to_pandas()
    expected = rate_history(team_frame(history()), system, columns={"team": "team", "share": "share"}, engine="serial")
    expected["contest"] = expected["contest"].astype(str)
    one, other = by_row(rows, "contest_id"), by_row(expected, "contest")
    assert one.index.tolist() == other.index.tolist()
    for name in one:
        assert np.array_equal(one[name].to_numpy(), other[name].to_numpy(), equal_nan=True), name


@pytest.mark.slow
def test_table__with_columns_of_teams_gives_the_same_ratings(lake: Lake, tmp_path: Path) -> None:
    from ranklake.flows.sources.column_names import Columns

    path = tmp_path / "results.csv"
    team_frame(history()).sample(frac=1.0, random_state=1).to_csv(path, index=False)
    columns = Columns.parse(["team=team", "share=share"])
    ingest(lake, read_contests(path, ReadOptions(columns=columns, order="number")), "table")
    for dataset in ("games", "table"):
        rate_run(lake, run=dataset, dataset=dataset, system="elo-mmx")
    one, other = (by_row(rated(lake, run).to_pandas(), "contest_id") for run in ("games", "table"))
    pd.testing.assert_frame_equal(one, other, rtol=1e-12)  # the members of a team are in another order


def test_system__without_a_rule_for_teams_refuses_before_any_work(lake: Lake) -> None:
    for name in set(of_contests()) - {name for name, system in SYSTEMS.items() if system.rate_teams is not None}:
        with pytest.raises(ValueError, match=f"games has contests of teams: {name} has no rule .* elo-mmr, elo-mmx"):
            rate_run(lake, system=name)
    assert Run.names(lake) == []


def test_system__without_a_rule_rates_the_contests_of_individuals(lake: Lake) -> None:
    others = tuple(str(number) for number in range(len(history())) if number != 5)
    assert rate_run(lake, system="elo", exclude=others).rated == len(history())


@pytest.mark.slow
def test_correction__of_a_member_and_its_withdrawal_resume_to_the_same_bits(lake: Lake, tmp_path: Path) -> None:
    rate_run(lake)
    before = rated(lake)
    at = next(i for i, one in enumerate(history()) if i > 8 and len(one[0][0][2]) > 1)
    standings = history()[at][0]
    member, alone = standings[0][2][0], next(row for row in standings if len(row[2]) == 1)
    with Dataset.ingest(lake, "games") as correcting:
        correcting.disqualify(str(at), f"p{member}")
        correcting.disqualify(str(at), f"p{alone[2][0]}")
    report = rate_run(lake)
    assert 0 < report.kept <= at
    corrected = history()
    gone = standings.index(alone)
    rest = []
    for lo, hi, members, shares in (row for k, row in enumerate(standings) if k != gone):
        of = [k for k, one in enumerate(members) if one != member]
        lo, hi = lo - (lo > alone[0]), hi - (hi >= alone[0])
        rest.append((lo, hi, [members[k] for k in of], shares and [shares[k] for k in of]))
    corrected[at] = (rest, *history()[at][1:])
    clean = lake_of(tmp_path / "clean", read_contests(write_history(tmp_path / "set", corrected)))
    rate_run(clean)
    assert same_tables(rated(lake), rated(clean))
    assert problems(lake) == []
    with Dataset.ingest(lake, "games") as correcting:
        correcting.reinstate(str(at), f"p{member}")
        correcting.reinstate(str(at), f"p{alone[2][0]}")
    rate_run(lake)
    assert same_tables(rated(lake), before)


def test_alias__of_a_member_joins_its_histories(lake: Lake) -> None:
    with Dataset.ingest(lake, "games") as correcting:
        correcting.alias("p0", "ada")
    rate_run(lake)
    handles = rated(lake).column("player").to_pylist()
    assert "ada" in handles
    assert "p0" not in handles
    standings = next(one[0] for one in history() if len(one[0][0][2]) > 1)
    one, other = (f"p{member}" for member in standings[0][2][:2])
    message = "both took part, and by their aliases are one player"
    with pytest.raises(LakeError, match=message), Dataset.ingest(lake, "games") as correcting:
        correcting.alias(one, other)


def test_team__itself_cannot_be_disqualified_and_the_error_lists_its_members(lake: Lake) -> None:
    members = ", ".join(f"'p{member}'" for member in history()[0][0][0][2])
    message = f"'team 0' took part; it is a team; disqualify its members: {members}$"
    with pytest.raises(LakeError, match=message), Dataset.ingest(lake, "games") as correcting:
        correcting.disqualify("0", "team 0")


def test_compaction_and_verification__of_contests_of_teams(lake: Lake) -> None:
    rate_run(lake)
    before = rated(lake)
    with hold_lease(lake, "games", "compact") as lease:
        compact_dataset(lake, "games", lease)
    run = Run.open(lake, "run")
    with hold_lease(lake, "runs/run", "compact") as lease:
        run.lease = lease
        compact_run(run)
    assert rate_run(lake).rated == 0
    assert same_tables(rated(lake), before)
    assert problems(lake) == []


def test_verification__of_teams_beside_contests_with_unrated_participants(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_often(monkeypatch, segment_rows=1_000, snapshot_rows=1_000)  # all in one segment
    unrated = contest("mixed", "p1", "p2", "p3", "p4", time_seconds=10**9, rated=np.array([True, False, True, True]))
    ingest(lake, [*team_contests(TEAMS[:3]), unrated], "both")
    rate_run(lake, dataset="both")
    assert problems(lake) == []


def test_contests__without_teams_have_the_digests_and_files_of_earlier_releases(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("1", "ada", ["grace", "linus"], time_seconds=1_000)])
    row = Dataset.open(lake, "games").contests.to_pylist()[0]
    assert row["content_digest"] == "cbccc10413b6d3553b6680de8aacdcc9"
    assert row["file"] == "10b27f3b5a1687f2f42ca9428fb4b478.parquet"
    assert row["n_teams"] is None


def test_command__refuses_a_system_without_a_rule(invoke: Command, lake: Lake) -> None:
    assert "glicko has no rule for rounds of teams" in invoke.refuses(
        "rate", "--dataset", "games", "--system", "glicko", "--lake", lake.url
    )
