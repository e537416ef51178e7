"""The commands and examples of README.md and docs/ work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from helpers.data import SHARED
from helpers.documents import PAGES, README, ROOT, TEXT, Follow, blocks
from helpers.fake_codeforces import FakeCodeforces, changes
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.server import serving

import ranklake
from ranklake.flows.sources.sites.site import SITES

CODEFORCES = SHARED / "elo-datasets" / "codeforces.tar.xz"


def commands(containing: str) -> str:
    """The block of commands that contains a text."""
    (block,) = [block for block in blocks("sh") if containing in block]
    return block


def python(program: str, folder: Path = ROOT) -> str:
    """What a program prints in a process of its own, which must succeed."""
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_command(printed: str) -> str:
    """The command that `tune` prints in its last line of results."""
    return [line for line in printed.splitlines() if line.startswith("ranklake rate")][-1]


def ingest_site(follow: Follow, second: str, n_contests: int = 5) -> None:
    """A data set ``site`` of contests that ada wins before ``second`` and grace."""
    Path("site").mkdir()
    for i in range(n_contests):
        standings = [["ada", 0, 0], [second, 1, 1], ["grace", 2, 2]]
        text = json.dumps({"name": f"Round {i}", "time_seconds": 1_500_000_000 + i, "standings": standings})
        Path("site", f"{i}.json").write_text(text, encoding="utf-8")
    follow("ranklake ingest files site --dataset site --lake lake")


def test_readme__is_short_and_its_links_exist() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 160
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.slow
def test_readme__first_command_rates_the_synthetic_history(follow: Follow) -> None:
    ingested, rated, board = follow(commands("--preset paper "))
    assert "50 new" in ingested
    assert "rated 50 rounds with 125,000 participations" in rated
    assert "20 of 2,500 players" in board


@pytest.mark.slow
def test_readme__notebook_example_prints_both_tables() -> None:
    """In the root of the checkout, where a newcomer is after the first command; so does a script in that folder."""
    (example,) = [block for block in blocks("python") if "print(ratings.history[[" in block]
    printed = python(example + "import ranklake\nhelp(ranklake)\n")
    assert "spring" in printed
    assert "ada" in printed
    assert printed.index("DESCRIPTION") < printed.index("rate_history      Rate")
    for name in ranklake.__all__:
        assert re.search(rf"^ +{name}  +[A-Z].*\.$", printed, re.MULTILINE), name


def test_checkout__has_no_folder_that_hides_the_package() -> None:
    """Python looks for packages in the current folder first; ``python -m ranklake`` and notebooks start in the root."""
    program = [sys.executable, "-m", "ranklake", "--version"]
    assert not (ROOT / "ranklake").exists()
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    assert ranklake.__version__ in done.stdout


def test_documents__install_extras_that_exist_from_the_checkout() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = (*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "deploy/README.md", "deploy/RUNBOOK.md")))
    n_commands = 0
    for page in pages:
        for what in re.findall(r"pip install\s+(?:-e )?'?([^\s'`]+)", page.read_text(encoding="utf-8")):
            n_commands += 1
            assert what.split("[")[0] != "ranklake" or page in (README, ROOT / "deploy/README.md"), f"{page}: {what}"
            for extra in re.findall(r"[\w-]+", what.partition("[")[2]):
                assert extra in project["optional-dependencies"], f"{page}: {what}"
    assert n_commands > 15


@pytest.mark.slow
def test_readme__prediction_example_prints_chances_and_places() -> None:
    (example,) = [block for block in blocks("python") if "somebody new" in block]
    assert {"expected_place", "somebody new"} <= set(re.findall("expected_place|somebody new", python(example)))


def test_readme__experiments_exist() -> None:
    from ranklake.flows.experiments import EXPERIMENTS

    section = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| ([`a-z, -]+) \|$", section, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`([a-z-]+)`", row)) == sorted(EXPERIMENTS)


@pytest.mark.slow
def test_readme__experiment_writes_its_report(follow: Follow) -> None:
    listed, written = follow("".join(commands("experiment robustness").splitlines(keepends=True)[:2]))
    assert "robustness" in listed
    assert "robustness.html" in written
    assert Path("reports/robustness-rises.parquet").exists()


@pytest.mark.slow
def test_readme__tables_may_have_other_column_names(follow: Follow) -> None:
    table = pd.DataFrame({"match_id": [7, 7], "player_id": [10, 20], "day": [-86400, -86400], "rank": [1, 2]})
    table.to_parquet("tennis.parquet")
    Path("points.csv").write_text("event,player,points,time\nx,ann,3,15/01/2024\nx,bob,4,15/01/2024\n")
    assert all("1 new" in printed for printed in follow(commands("tennis.parquet")))


def test_docs__durations_are_read(follow: Follow) -> None:
    Path("long.csv").write_text("contest,player,rank,seconds\nx,ann,1,9000\nx,bob,2,9000\n")
    (printed,) = follow(commands("--duration-unit 2h"))
    assert "1 new contest" in printed


def test_readme__columns_of_a_table_are_listed(follow: Follow) -> None:
    rows = ["1,ann,1,2024-01-15", "1,bob,2,2024-01-15", "2,bob,1,2024-02-15", "2,ann,2,2024-02-15"]
    lines = ["contest,player,rank,time,country,score", *(f"{row},DE,9" for row in rows)]
    Path("results.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (shown,) = [block for block in blocks("text") if block.startswith("read 2 contests")]
    (printed,) = follow(commands("ingest files results.csv"))
    assert sorted(printed.splitlines()) == sorted(shown.splitlines())


def test_readme__reference_format_examples_are_contests(follow: Follow) -> None:
    Path("contests").mkdir()
    for number, example in enumerate(block for block in blocks("json") if "time_seconds" in block):
        Path("contests", f"{number}.json").write_text(example, encoding="utf-8")
    (printed,) = follow("ranklake ingest files contests --dataset d --lake lake")
    assert "2 contests, 8 participations" in printed


@pytest.mark.slow
def test_docs__a_smoothed_run_has_a_leaderboard_of_all_time(tmp_path: Path, follow: Follow) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(30), "codeforces")
    rate_run(lake, dataset="codeforces", run="codeforces-elo-mmr")
    progress = commands("--between").replace("tourist", "'player 3'")
    smoothed, board, apart = follow(commands("ranklake smooth") + commands("--all-time") + progress)
    assert "participations smoothed in" in smoothed
    assert re.search(r"10 of \d+ players", board)
    assert re.fullmatch(r"[+-]\d+ \+- \d+ points, chance of progress [\d.]+ %\n", apart)


@pytest.mark.slow
@pytest.mark.skipif(not CODEFORCES.exists(), reason=f"needs {CODEFORCES.relative_to(ROOT.parent)} beside the project")
def test_readme__real_history_leads_to_a_leaderboard_and_a_player(follow: Follow) -> None:
    Path("codeforces.tar.xz").symlink_to(CODEFORCES)
    Path("entrants.txt").write_text("tourist\nUm_nik\n", encoding="utf-8")
    ingested, rated, board, player, runs = follow(commands("player tourist --run codeforces-elo-mmr --lake"))
    chances, places, needed = follow(commands("predict tourist"))
    assert "chance to finish before" in chances
    assert "a round of 6" in places
    drawn = follow(commands("plot player"))
    assert all("wrote" in result for result in drawn)
    assert "'Petr' needs the first place of 3" in needed
    assert "1,194 new" in ingested
    assert "rated 1,194 rounds with 4,259,857 participations" in rated
    assert "10 of 358,554 players" in board
    assert "tourist" in player
    assert "complete" in runs


def test_readme__systems_exist() -> None:
    from ranklake.rating_kernels import SYSTEMS

    tables = re.findall(r"^\| name \| what .*?\n\n", TEXT, re.MULTILINE | re.DOTALL)
    assert len(tables) == 2
    for table in tables:
        assert sorted(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE)) == sorted(SYSTEMS)


def test_project__extras_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"cluster", "flows", "publish", "report", "all"} <= set(extras)


@pytest.mark.slow
def test_readme__corrections_work(follow: Follow) -> None:
    ingest_site(follow, "mallory")
    follow("ranklake rate --dataset site --lake lake")
    amended, aliased, removed, predicted, log = follow(commands("amend 2"))
    assert "1 contest changed" in amended
    assert "5 contests changed" in aliased
    assert "1 contest removed" in removed
    assert (
        "would keep 0 rounds rated before (round 0, contest 0, changed), rate 4 rounds with 8 participations at most"
        in predicted
    )
    assert all(word in log for word in ("mallory", "lovelace", "two accounts", "a test"))


@pytest.mark.slow
def test_readme__a_cluster_rates_two_systems(follow: Follow) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    ingest_site(follow, "linus", n_contests=1)
    (rated,) = follow(commands("--system glicko --engine dask"))
    assert sorted(re.findall(r"^run ([\w-]+): ", rated, re.MULTILINE)) == ["site-elo-mmr", "site-glicko"]


@pytest.mark.slow
def test_readme__maintenance_works(follow: Follow) -> None:
    ingest_site(follow, "linus")
    follow("ranklake rate --dataset site --lake lake")
    went_on, replaced = follow(commands("--replace"))
    assert "kept 5 rounds rated before, rated 0" in went_on
    assert "kept 0 rounds rated before (other parameters), rated 5" in replaced
    listed, verified, replayed, compacted, deleted = follow(commands("ranklake verify"))
    assert "complete" in listed
    assert "no problems: 1 data set with 5 contests and 15 participations, 1 run with 5 rounds" in verified
    assert "rounds 0 to 3, computed again, have the same bits" in replayed
    assert "data set site: standings files: 1 before, now 1" in compacted
    assert "run site-elo-mmr: deleted" in deleted


@pytest.mark.slow
def test_readme__evaluation_works(follow: Follow) -> None:
    follow("ranklake ingest synthetic --preset paper --set n_rounds=12 --dataset codeforces --lake lake")
    for system in ("elo-mmr", "elo"):
        follow(f"ranklake rate --dataset codeforces --system {system} --lake lake")
    alone, compared, result = follow(commands("evaluate --run codeforces"))
    assert "rounds 1 to 11" in alone
    assert "by players" in compared
    assert re.search(r"everyone.*rounds 0 to 11.*difference to the best", compared, re.DOTALL)
    assert json.loads(result)["rounds"] == 12
    assert len(pd.read_parquet("scores.parquet")) == 3 * 12


@pytest.mark.slow
def test_readme__export_works(follow: Follow) -> None:
    ingest_site(follow, "linus")
    follow("ranklake rate --dataset site --run codeforces-elo-mmr --lake lake")
    ratings, piped, board = follow(commands("--what leaderboard --output"))
    *_, safe = follow(commands("--safe --output"))
    assert "ratings.csv: 15 rows" in safe
    assert "ratings.parquet: 15 rows" in ratings
    assert piped.startswith('"round_index","contest_id"')
    assert "board.jsonl: 3 rows" in board


@pytest.mark.slow
def test_readme__search_works(follow: Follow) -> None:
    size = "--set n_rounds=60 --set participants=12 --set n_players=30"
    follow(f"ranklake ingest synthetic --preset synth-sm {size} --dataset codeforces --lake lake")
    tuned = follow(commands("--trials 100"), ["--train-share", "0.5"])
    for printed, trials in zip(tuned, (100, 20, 40), strict=True):
        assert f"{trials} trials, {trials} of them now" in printed
        assert "rated 60" in follow(last_command(printed))[0]


@pytest.mark.slow
def test_docs__hyperparameters_are_estimated_from_smoothed_skills(follow: Follow) -> None:
    size = "--set n_rounds=40 --set participants=40 --set n_players=80"
    follow(f"ranklake ingest synthetic --preset synth-sm {size} --dataset codeforces --lake lake")
    (printed,) = follow(commands("--method em"), ["--train-share", "0.5"])
    assert "rated 40" in follow(last_command(printed))[0]


@pytest.mark.slow
def test_readme__follow_works(follow: Follow) -> None:
    ingest, rate, normalise = commands("normalise --source").splitlines()
    with serving() as server:
        site = FakeCodeforces(server)
        site.add(1, changes(1, ("ada", 1), ("grace", 2)))
        there = ["--base-url", server.url]
        assert "1 new contest; 2 requests" in follow(ingest, there)[0]
        assert "1 unchanged contest; 1 request" in follow(ingest, there)[0]
    assert "rated 1 round with 2 participations" in follow(rate)[0]
    assert "1 unchanged contest; no requests" in follow(normalise)[0]


def test_readme__sites_exist() -> None:
    (table,) = re.findall(r"^\| site \| what .*?\n\n", TEXT, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == [*SITES, "kaggle"]


def test_systems__each_has_its_hyperparameters_on_a_page() -> None:
    from ranklake.rating_kernels import SYSTEMS

    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "systems").glob("*.md"))
    assert sorted(re.findall(r"^```\{hyperparameters\} (\S+)$", text, re.MULTILINE)) == sorted(SYSTEMS)
