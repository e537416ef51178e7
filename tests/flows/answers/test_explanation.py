"""One change of a rating explained: its parts sum to it, and the expected place is that of the system's model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.answers import player_history
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run, rated, synthetic

from ranklake.flows.answers.explanations.explanation import Explanation, explain
from ranklake.storage import Dataset, Lake, LakeError

CONTESTS = synthetic(14, n_players=10, size=6)
SYSTEMS: dict[str, dict[str, Any]] = {
    "elo-mmr": {},
    "elo-mms": {},
    "codeforces": {},
    "atcoder": {},
    "glicko": {"period_days": 30.0},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("explained") / "lake", CONTESTS)
    for system, settings in SYSTEMS.items():
        rate_run(lake, run=system, system=system, **settings)
    return lake


def all_of(lake: Lake, run: str) -> list[tuple[dict[str, Any], Explanation]]:
    rows = rated(lake, run).to_pylist()
    return [(row, explain(lake, run, row["player"], row["contest_id"])[0]) for row in rows]


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("system", SYSTEMS)
def test_explain__parts_sum_to_the_change_shown(lake: Lake, system: str) -> None:
    histories: dict[str, list[float]] = {}
    for row, found in all_of(lake, system):
        parts = found.from_mu + found.from_sigma_before + found.from_sigma + found.from_offset
        assert parts == pytest.approx(found.change, abs=1e-9)
        assert found.change == found.rating - found.rating_before
        assert (found.mu, found.sigma, found.perf) == (row["mu"], row["sigma"], row["perf"])
        shown = histories.setdefault(row["player"], [])
        assert shown[-1:] == ([found.rating_before] if found.n_before else [])
        shown.append(found.rating)
    for handle, shown in histories.items():
        assert player_history(lake, system, handle).rows.column("rating").to_pylist() == shown


def test_explain__expected_place_is_the_seed_of_codeforces(lake: Lake) -> None:
    """Mirzayanov: the seed is one and the chances of all others to win, 1 / (1 + 10^((own - other) / 400))."""
    rows = rated(lake, "codeforces").to_pylist()
    for row, found in all_of(lake, "codeforces"):
        others = [other for other in rows if other["round_index"] == row["round_index"] and other is not row]
        others = [other for other in others if other["player"] != row["player"]]
        seed = 1 + sum(1 / (1 + 10 ** ((row["mu_prior"] - other["mu_prior"]) / 400)) for other in others)
        assert found.expected_place == pytest.approx(seed, abs=1e-9)
        assert (found.place, found.n_players) == (row["lo"] + 1, len(others) + 1)


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("system", ["elo-mmr", "elo-mms", "glicko"])
def test_explain__expected_places_of_a_round_sum_to_all_places(lake: Lake, system: str) -> None:
    by_round: dict[int, list[float]] = {}
    for row, found in all_of(lake, system):
        by_round.setdefault(row["round_index"], []).append(found.expected_place)
    for places in by_round.values():
        assert sum(places) == pytest.approx(len(places) * (len(places) + 1) / 2, abs=1e-6)


def test_explain__last_place_gains_by_certainty_alone(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [contest("debut", *(f"player {i}" for i in range(10)))])
    rate_run(lake)
    found, _ = explain(lake, "run", "player 9", "debut")
    assert found.place == found.n_players == 10
    assert found.from_mu < 0.0 < found.change
    assert found.reason() == "mu fell, but sigma fell by more: the rating shown rose"
    winner, _ = explain(lake, "run", "player 0", "debut")
    assert winner.reason() == ""


def test_explain__finds_names_of_players_and_contests(lake: Lake, tmp_path: Path) -> None:
    row = rated(lake, "elo-mmr").to_pylist()[-1]
    name = next(one.name for one in CONTESTS if one.contest_id == row["contest_id"])
    by_id, by_name = (explain(lake, "elo-mmr", row["player"], text)[0] for text in (row["contest_id"], name.upper()))
    assert by_id == by_name
    twins = [contest(str(i), "ada", "bob", time_seconds=i) for i in range(2)]
    object.__setattr__(twins[1], "name", twins[0].name)
    rate_run(several := lake_of(tmp_path, twins), system="codeforces")
    with pytest.raises(LakeError, match=r"2 contests of run run have the name 'Contest 0'; give an id: 0, 1"):
        explain(several, "run", "ada", "Contest 0")


def test_explain__names_what_is_missing(lake: Lake) -> None:
    with pytest.raises(LakeError, match=r"run elo-mmr has no contest 'Contest 99'; there is 'Contest 9'"):
        explain(lake, "elo-mmr", "player 1", "Contest 99")
    with pytest.raises(LakeError, match="no player 'nobody'"):
        explain(lake, "elo-mmr", "nobody", CONTESTS[0].contest_id)
    alone = next(one for one in CONTESTS if len(one.handles) == 1)
    with pytest.raises(LakeError, match=f"contest {alone.contest_id} is round .* which skipped it"):
        explain(lake, "elo-mmr", alone.handles[0].as_py(), alone.contest_id)
    here = set(CONTESTS[0].handles.to_pylist())
    absent = next(name for name in Dataset.open(lake, "games").handles().to_pylist() if name not in here)
    with pytest.raises(LakeError, match=f"which did not rate '{absent}' there"):
        explain(lake, "elo-mmr", absent, CONTESTS[0].contest_id)


def test_command__shows_the_parts(lake: Lake, invoke: Command) -> None:
    row = rated(lake, "elo-mmr").to_pylist()[-1]
    words = ("explain", row["player"], row["contest_id"], "--run", "elo-mmr", "--lake", lake.url)
    found, form = explain(lake, "elo-mmr", row["player"], row["contest_id"])
    assert json.loads(invoke(*words, "--format", "json").out) == found.to_json()
    text = invoke(*words).out
    assert f"expected {found.expected_place:.1f}" in text
    assert form.change(found.from_mu) in text
    assert form.change(found.change) in text


def test_explain__of_a_game_shows_how_often_it_counted(tmp_path: Path, invoke: Command) -> None:
    games = [
        contest("first", "ann", "bob", points=np.array([3.0, 1.0])),
        contest("upset", "bob", "ann", points=np.array([9.0, 2.0])),
        contest("unknown", "ann", "bob"),
    ]
    made = lake_of(tmp_path / "lake", games)
    rate_run(made, system="elo", margin="log_lead", margin_cap=5.0)
    found, _ = explain(made, "run", "ann", "upset")
    lead = -16.0 * 1.584962500721156 * math.log(2.0) * 2  # the first game counted ln 3 times
    factor = math.log(6.0) * 2.2 / (0.001 * lead + 2.2)
    assert found.to_json()["margin"] == pytest.approx(
        {"points": 2.0, "opponent_points": 9.0, "difference": 5.0, "lead": lead, "factor": factor}, rel=1e-12
    )
    shown = invoke("explain", "ann", "upset", "--run", "run", "--lake", made.url).out
    assert "points 2 to 9, d = 5" in shown
    assert f"counted m = {factor:.4f} times" in shown
    assert "margin" not in explain(made, "run", "ann", "unknown")[0].to_json()
