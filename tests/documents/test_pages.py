"""Pages below docs/: their commands and examples work and print what is shown, and their tables are complete."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.answers import leaderboard, player_history
from helpers.commands import Command
from helpers.data import shared
from helpers.documents import ROOT, Follow, block_of, blocks_of, page
from helpers.lakes import contest, lake_of, rate_run
from helpers.teams import team_rounds

from ranklake import Ratings
from ranklake.flows.answers.diff import compare_boards
from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.preview.preview import COLUMNS as PREVIEWED
from ranklake.flows.preview.preview import GAME as OF_GAMES
from ranklake.flows.sources.files.reference import parse_reference
from ranklake.flows.sources.games.synthetic import GamesPreset, write_games
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Dataset, Lake, Run

DAY = 86_400


def run_examples(name: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names after the Python of a page."""
    exec(compile("\n".join(blocks_of(page(name), "python")), name, "exec"), names)
    return names


def listed(name: str) -> list[str]:
    """The columns that the first cells of a page's tables name."""
    rows = [line.split("|")[1] for line in page(name).splitlines() if line.startswith("| `")]
    return sorted(name.strip(" `") for row in rows for name in row.split(","))


# Ingestion


def test_ingest__leads_to_each_page() -> None:
    index = page("ingest")
    for path in (ROOT / "docs" / "ingest").glob("*.md"):
        assert f"](ingest/{path.name})" in index, path.name
        assert f"\ningest/{path.stem}\n" in index, path.name


def test_lake_tables__are_read_by_the_examples(follow: Follow) -> None:
    deltalake = pytest.importorskip("deltalake", reason="the extra publish is not installed")
    table = pa.table({"contest": ["a"] * 3, "player": ["ada", "bob", "cy"], "rank": [1, 2, 3]})
    deltalake.write_deltalake("results", table)
    deltalake.DeltaTable("results").delete("player = 'bob'")
    read, again = blocks_of(page("ingest/lake-tables"), "sh")
    assert "read 1 contest, 2 participations" in follow(read)[0]
    follow("ranklake rate --dataset club --lake lake\nranklake publish --run club-elo-mmr --lake lake")
    assert "read 1 contest, 2 participations" in follow(again)[0]


def test_files__are_read_by_the_examples(follow: Follow) -> None:
    board, reddit = blocks_of(page("ingest/files"), "sh")
    shutil.copyfile(shared("elo-datasets/reddit.tar.xz"), "reddit.tar.xz")
    file = Path(shlex.split(board)[3])
    file.parent.mkdir()
    rows = [{"team_id": "7", "rank": 1}, {"team_id": "8", "rank": 2}]
    file.write_text(json.dumps({"state": {"ended": "2024-06-25T14:00:00Z"}, "rows": rows}), "utf-8")
    assert "read 1 contest, 2 participations" in follow(board)[0]
    assert sorted(follow(reddit)[0].split("\n")) == sorted(block_of("ingest/files", "text").split("\n"))


def test_races__examples_print_what_the_page_shows(
    follow: Follow, invoke: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    refused, read, _ = blocks_of(page("ingest/races"), "sh")
    table, error, report = blocks_of(page("ingest/races"), "text")
    Path("races.csv").write_text(table, encoding="utf-8")
    assert invoke.refuses(*shlex.split(refused)[1:]) == error.removeprefix("Error: ").strip()
    assert sorted(follow(read)[0].splitlines()) == sorted(report.splitlines())
    history = run_examples("ingest/races", {})["ratings"].history
    spa = history[history["contest"] == "spa"]
    assert spa[["player", "lo", "hi"]].to_numpy().tolist() == [
        ["ada", 0, 0], ["ben", 1, 2], ["cid", 1, 2], ["dot", 3, 4], ["eve", 3, 4]
    ]  # fmt: skip
    assert "eve" in capsys.readouterr().out


@pytest.mark.slow
def test_races__formula_one_has_the_figures_of_the_page(follow: Follow) -> None:
    shutil.copy(shared("f1_races.parquet"), "f1.parquet")
    found = 0
    for printed in follow(blocks_of(page("ingest/races"), "sh")[2]):
        if rated := re.search(r"run (\S+): rated .* with (\S+) participations", printed):
            drift = re.search(r"changed by (\S+) points a year", printed)
            ratings = Ratings.open("lake", rated[1])
            best = f"{ratings.leaderboard(top=1)['rating'].iloc[0]:,.0f}"
            pairs = f"{ratings.evaluate().loc['everyone', 'pair_inversion']:.1f}"
            row = f"| {rated[2]} | {best} | {drift[1] if drift else 'less than 10'} | {pairs}"
            assert row in page("ingest/races"), (rated[1], row)
            found += 1
    assert found == 3


def test_unrated__example_rates_those_whose_rating_is_in_the_range(follow: Follow) -> None:
    table = block_of("ingest/unrated", "text", "contest,player,rank,time_seconds,rated_")
    Path("divisions.csv").write_text(table)
    follow(block_of("ingest/unrated", "sh", "divisions.csv"))
    lake = Lake.open("lake")
    ((_, rows),) = Run.open(lake, "divisions-elo").iter_segments(unrated=True)
    names = Dataset.open(lake, "divisions").handles().take(rows["player"].combine_chunks()).to_pylist()
    assert round(rows["mu"][0].as_py()) == 1516
    assert "is 1,516" in page("ingest/unrated")
    found = zip(rows["contest_id"].to_pylist(), names, rows["rated"].to_pylist(), strict=True)
    assert [row[1:] for row in found if row[0] == "2"] == [
        ("ada", False), ("cid", True), ("ben", True), ("dot", True)
    ]  # fmt: skip


@pytest.mark.slow
def test_games__example_compares_advantages_by_the_predicted_results(follow: Follow) -> None:
    write_games(GamesPreset(20, 4_000, 40, skill_sd=150.0, advantage=60.0, draws=0.25), 1, Path("league.parquet"))
    follow(block_of("ingest/games", "sh", "league.parquet"))
    scores = {
        points: evaluate(Lake.open("lake"), f"home-{points}-elo").to_json()["games"]["everyone"]
        for points in (0, 60, 120)
    }
    for measure in ("cross_entropy", "squared_error"):
        assert min(scores, key=lambda points: scores[points][measure]) == 60
    shown = ", ".join(f"{score['cross_entropy']:.4f}" for score in scores.values())
    assert shown in " ".join(page("ingest/games").split()), shown


# FIDE


def test_fide__example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    run_examples("systems/fide", {})
    assert capsys.readouterr().out == blocks_of(page("systems/fide"), "text")[1]


# Teams


def test_teams__example_shows_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    names = run_examples("systems/teams", {})
    assert "barbara" in capsys.readouterr().out
    history = names["history"]
    assert history["lo"].tolist() == [0, 0, 1, 2, 2, 0, 0, 1, 1]
    assert names["ratings"].history["mu"].tolist() == history["mu"].tolist()
    joint, own = names["gain"]("joint"), names["gain"]("own")
    assert (joint[:6] > 0).all()
    assert (joint[6:] < -1.0).all()
    assert (own > 30.0).all()


@pytest.mark.parametrize(("credit", "sign"), [("joint", -1), ("own", 1)])
def test_teams__a_better_place_of_an_earlier_round_can_cost_a_member_unless_credit_is_its_own(
    credit: str, sign: int
) -> None:
    """Player 0, who is known well, wins or loses with the new player 1; then both are in the middle of a field."""
    system = SYSTEMS["elo-mmx"]
    params = system.params(credit=credit, beta=40.0, gamma=0.0)
    others = [[player] for player in range(4, 13)]
    then = [(k, k, team, None) for k, team in enumerate([*others[:4], [0, 1], *others[4:]])]
    rated = []
    for first in ([0, 1], [2, 3]), ([2, 3], [0, 1]):
        beliefs = system.newcomers(params, 13)
        beliefs.sigma[0] = 60.0
        together = [(k, k, team, None) for k, team in enumerate(first)]
        rounds = team_rounds([(together, 0, 1.0, math.inf), (then, 0, 1.0, math.inf)], {k: k for k in range(13)})
        rate_rounds(system, params, beliefs, rounds, Serial())
        rated.append(float(beliefs.mu[0]))
    won, lost = rated
    assert (won - lost) * sign > 1.0


def test_teams__example_of_a_contest_file_with_rosters_is_read() -> None:
    contest = parse_reference(block_of("ingest/teams", "json").encode(), "1")
    assert contest.teams is not None
    assert contest.teams.name.to_pylist() == ["red", "red", None, "blue", "blue"]
    assert contest.teams.share.tolist() == [1.0, 1.0, 1.0, 2.0, 1.0]


# Answers


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A data set ``codeforces`` in the lake of the documents."""
    names = ["ada", "grace", "linus", "edsger"]
    contests = [contest(f"{i}", *names[i % 3 :], *names[: i % 3], time_seconds=(18_200 + i) * DAY) for i in range(5)]
    return lake_of(tmp_path / "lake", [*contests, contest("spring", *names, time_seconds=18_300 * DAY)], "codeforces")


@pytest.mark.slow
def test_migrating__commands_compare_and_explain(lake: Lake, follow: Follow) -> None:
    printed = follow("".join(blocks_of(page("migrating"), "sh")))
    boards = [leaderboard(lake, run) for run in ("before", "after")]
    found = compare_boards(("before", "after"), *boards)
    assert f"rank correlation {found.rank_correlation():.4f}" in printed[2]
    assert Path("comparison.svg").exists()
    assert "place 1 of 4" in printed[-1]
    assert listed("migrating") == sorted(found.players.column_names)


def test_tables__commands_show_a_day_and_groups(lake: Lake, follow: Follow) -> None:
    rate_run(lake, run="codeforces-elo-mmr", dataset="codeforces")
    assert all("ada" in printed for printed in follow(block_of("tables", "sh", "--at")))
    people = block_of("tables", "text", "handle,country")
    Path("people.csv").write_text(people.replace("FI,", "FR,"), encoding="utf-8")
    added, board, groups, table = follow(block_of("tables", "sh", "--by"))
    assert "country, organisation of 3 players" in added
    assert "linus" in board
    assert "3 of 3 groups" in groups
    assert table.startswith('"place","group"')


@pytest.mark.slow
def test_places__commands_and_the_decision_print_what_the_page_shows(
    follow: Follow, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, tiers, provisional), (board, decision) = (blocks_of(page("places"), kind) for kind in ("sh", "text"))
    assert follow(first)[-1].rstrip() == board.rstrip()
    in_tiers, drawn = follow(tiers)
    assert in_tiers.count("├") == 1
    assert drawn.startswith("wrote places.svg")
    assert b"<svg" in (ROOT / "docs/_static/places.svg").read_bytes()
    shown, only, stored = follow(provisional)
    assert shown.endswith("(8 provisional players not shown)\n")
    assert only.count("?") == 8
    assert "rated 0 rounds" in stored
    capsys.readouterr()
    run_examples("places", {})
    assert capsys.readouterr().out == decision


def test_previewing__commands_show_the_changes(tmp_path: Path, follow: Follow) -> None:
    rate_run(lake_of(tmp_path / "lake", [contest("1", "ada", "grace", "linus")]), run="club-elo-mmr")
    Path("standings.csv").write_text("player,rank\nlinus,1\nada,2\n", encoding="utf-8")
    Path("entrants.txt").write_text("grace\n", encoding="utf-8")
    shown, entrants, read = follow(block_of("previewing", "sh"))
    assert "2 participants" in shown
    assert "grace" in entrants
    assert [row["handle"] for row in json.loads(read)] == ["linus", "ada"]


def test_previewing__examples_print_previews_and_columns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    run_examples("previewing", {})
    out = capsys.readouterr().out
    assert all(words in out for words in ("red", "next_title_place", "a newcomer"))
    assert listed("previewing") == sorted((*PREVIEWED, *OF_GAMES))


def test_site__is_published_and_a_history_is_read(
    tmp_path: Path, follow: Follow, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = [("ada", "tourist", "bob"), ("tourist", "ada"), ("ada", "bob"), ("bob", "tourist")]
    lake = lake_of(tmp_path / "lake", [contest(str(i), *order) for i, order in enumerate(orders)], "codeforces")
    rate_run(lake, dataset="codeforces", run="codeforces-elo-mmr")
    assert len(follow("".join(blocks_of(page("site"), "sh")))) == 1
    capsys.readouterr()
    run_examples("site", {})
    rows = player_history(lake, "codeforces-elo-mmr", "tourist").rows.to_pylist()
    assert capsys.readouterr().out.splitlines() == [f"{row['name']} {round(row['rating'])}" for row in rows]


@pytest.mark.slow
def test_tutorial__ends_with_a_page(follow: Follow) -> None:
    pytest.importorskip("deltalake", reason="the extra publish is not installed")
    pytest.importorskip("matplotlib", reason="the extra report is not installed")
    Path("club.csv").write_text(block_of("tutorial", "csv"), encoding="utf-8")
    ingested, *printed = follow("".join(blocks_of(page("tutorial"), "sh")))
    assert sorted(ingested.splitlines()) == sorted(block_of("tutorial", "text").splitlines())
    words = (
        "rated 4 rounds with 15 participations", "5 of 5 players", "2024 autumn", "chance to finish before",
        "1 contest changed", "rated 4 rounds with 14 participations", "leaderboard", "distribution.svg",
    )  # fmt: skip
    assert all(word in one for word, one in zip(words, printed, strict=True)), printed
    subprocess.run([sys.executable, "-c", block_of("tutorial", "python")], check=True, timeout=600)
    assert "<td>ada</td>" in Path("club.html").read_text(encoding="utf-8")
    assert Path("distribution.svg").is_file()
