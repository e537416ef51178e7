"""The page about rounds of teams: its example runs, and what it says about several rounds is true."""

from __future__ import annotations

import math

import pytest
from helpers.documents import ROOT, blocks_of
from helpers.teams import team_rounds

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.sources.files.reference import parse_reference
from ranklake.rating_kernels import SYSTEMS

PAGE = (ROOT / "docs" / "systems" / "teams.md").read_text(encoding="utf-8")


def test_example__of_teams_shows_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    program, of_ratings, season = blocks_of(PAGE, "python")
    names: dict = {}
    exec(program, names)
    assert "barbara" in capsys.readouterr().out
    history = names["history"]
    assert history["lo"].tolist() == [0, 0, 1, 2, 2, 0, 0, 1, 1]
    exec(of_ratings, names)
    assert names["ratings"].history["mu"].tolist() == history["mu"].tolist()
    exec(season, names)
    joint, own = names["gain"]("joint"), names["gain"]("own")
    assert (joint[:6] > 0).all()
    assert (joint[6:] < -1.0).all()
    assert (own > 30.0).all()


@pytest.mark.parametrize(("credit", "sign"), [("joint", -1), ("own", 1)])
def test_better_place__of_an_earlier_round_can_cost_a_member_unless_credit_is_its_own(credit: str, sign: int) -> None:
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


def test_example__of_a_contest_file_with_rosters_is_read() -> None:
    (example,) = blocks_of((ROOT / "docs" / "ingest" / "teams.md").read_text(encoding="utf-8"), "json")
    contest = parse_reference(example.encode(), "1")
    assert contest.teams is not None
    assert contest.teams.name.to_pylist() == ["red", "red", None, "blue", "blue"]
    assert contest.teams.share.tolist() == [1.0, 1.0, 1.0, 2.0, 1.0]
