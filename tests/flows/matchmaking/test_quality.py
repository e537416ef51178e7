"""The quality of a match: chances of sides by the system, those to finish first, and the quality of TrueSkill."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import SYSTEMS, Ratings, predict
from ranklake.flows.matchmaking.first_place import first_place_chances
from ranklake.flows.matchmaking.lobby import Lobby, equal_shares
from ranklake.flows.matchmaking.quality import quality_of
from ranklake.rating_kernels import Prior
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.registry import of_contests


def lobby_of(system: str, mu: list[float], sigma: list[float], **hyperparameters: float) -> Lobby:
    n = len(mu)
    prior = Prior(np.array(mu, float), np.array(sigma, float), np.full(n, np.nan), np.full(n, 9, np.int32))
    return Lobby(SYSTEMS[system], SYSTEMS[system].params(**hyperparameters), Conditions(1.0, 1.0), prior)


def law_of(shape: str, mean: list[float], deviation: list[float]) -> PerformanceLaw:
    return PerformanceLaw(shape, np.array(mean, float), np.array(deviation, float))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "players", "value"),
    [
        ([1, 1], [(25, 25 / 3), (25, 25 / 3)], 0.4472135954999579),
        ([1, 1], [(29.4, 7.1), (20.6, 2.2)], 0.40396962386862934),
        ([2, 1], [(29.4, 7.1), (25, 25 / 3), (20.6, 2.2)], 0.02144395002889355),
        ([2, 3, 1], [(29.4, 7.1), (25, 25 / 3), (20.6, 2.2), (31, 1.5), (22, 4), (27, 3)], 5.015601765961495e-06),
    ],
)
def test_quality__of_trueskill_is_that_of_the_package(
    sizes: list[int], players: list[tuple[float, float]], value: float
) -> None:
    """Witness: ``trueskill.TrueSkill().quality`` of the package trueskill 0.4.5; 44.7 % is in its manual."""
    mu, sigma = (list(column) for column in zip(*players, strict=True))
    found = quality_of(lobby_of("trueskill", mu, sigma), equal_shares(np.array(sizes)))
    assert found.quality == pytest.approx(value, rel=1e-9)


def test_quality__of_known_and_equal_skills_is_one_and_falls_with_the_gap() -> None:
    equal = [
        quality_of(lobby_of("elo", [1500, 1500 + gap], [1, 1]), equal_shares(np.array([1, 1]))) for gap in (0, 200)
    ]
    assert equal[0].quality == pytest.approx(1.0, rel=1e-12)
    # the curve of Elo has the standard deviation pi 400 / (sqrt(3) ln 10) of a difference
    deviation = np.pi * 400 / (np.sqrt(3) * np.log(10))
    assert equal[1].quality == pytest.approx(np.exp(-0.5 * (200 / deviation) ** 2), rel=1e-12)
    assert equal[1].chances[1] == pytest.approx(1 / (1 + 10**-0.5), rel=1e-12)


@pytest.mark.parametrize("shape", ["normal", "logistic"])
def test_first_place__of_two_is_the_chance_of_the_larger_performance(shape: str) -> None:
    system = {"normal": "elo-mmx", "logistic": "elo-mmr"}[shape]
    for sigma in ([80.0, 300.0], [0.5, 5_000.0]):
        lobby = lobby_of(system, [1500.0, 1820.0], sigma)
        law = lobby.performances(lobby.prior)
        assert law is not None
        assert law.shape == shape
        beats = lobby.chances(lobby.take([0]).prior, lobby.take([1]).prior)
        assert first_place_chances(law)[0] == pytest.approx(beats[0], abs=1e-10)


def test_first_place__of_many_is_the_share_in_drawn_rounds() -> None:
    mean, deviation = [0.0, 30.0, 60.0, 80.0, 500.0], [200.0, 150.0, 90.0, 300.0, 20.0]
    rng, n = np.random.default_rng(5), 400_000
    drawn = {"normal": rng.normal(size=(n, 5)), "logistic": rng.logistic(size=(n, 5)) * np.sqrt(3) / np.pi}
    for shape, noise in drawn.items():
        winners = np.argmax(mean + np.array(deviation) * noise, axis=1)
        shares = np.bincount(winners, minlength=5) / n
        assert np.allclose(first_place_chances(law_of(shape, mean, deviation)), shares, atol=4 * 0.5 / np.sqrt(n))


def test_first_place__of_equal_sides_is_shared_and_follows_their_order() -> None:
    for shape in ("normal", "logistic"):
        chances = first_place_chances(law_of(shape, [7.0] * 64, [120.0] * 64))
        assert np.allclose(chances, 1 / 64, rtol=1e-12)
        mean, deviation = np.array([1.0, 90.0, -40.0, 300.0]), np.array([100.0, 50.0, 900.0, 1.0])
        order = [2, 0, 3, 1]
        one = first_place_chances(PerformanceLaw(shape, mean, deviation))  # type: ignore[arg-type]
        other = first_place_chances(PerformanceLaw(shape, mean[order], deviation[order]))  # type: ignore[arg-type]
        assert one.sum() == pytest.approx(1.0, rel=1e-14)
        assert np.allclose(one[order], other, rtol=1e-12)
        assert np.allclose(
            one, first_place_chances(law_of(shape, (mean + 1e4).tolist(), deviation.tolist())), atol=1e-10
        )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return frame_of(synthetic(40, spice=False))


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("name", of_contests())
def test_quality__of_two_agrees_with_the_prediction_and_turns_with_the_sides(name: str, frame: pd.DataFrame) -> None:
    ratings = Ratings.rate(frame, name, engine="serial")
    found, turned = (ratings.quality(sides) for sides in (["player 3", "player 7"], ["player 7", "player 3"]))
    assert found.chances[0] == ratings.predict(["player 3", "player 7"]).chance("player 3", "player 7")
    assert sum(found.chances) == pytest.approx(1.0, abs=1e-12)
    assert found.chances == pytest.approx(turned.chances[::-1], rel=1e-9)
    assert found.quality == pytest.approx(turned.quality, rel=1e-9)
    if name == "trueskill":
        assert None not in (found.win, found.draw, found.loss)
        assert found.win + found.draw + found.loss == pytest.approx(1.0)  # type: ignore[operator]
        assert found.win + found.draw / 2 == pytest.approx(found.chances[0])  # type: ignore[operator]
    else:
        assert (found.win, found.draw, found.loss) == (None, None, None)
    several = ratings.quality(["player 3", "player 7", "player 12", "nobody yet"])
    assert sum(several.chances) == pytest.approx(1.0, rel=1e-12)
    assert several.draw is None


@pytest.mark.parametrize("name", [name for name in of_contests() if SYSTEMS[name].team_laws is not None])
def test_quality__of_teams_is_by_the_law_of_the_system(name: str, frame: pd.DataFrame) -> None:
    ratings = Ratings.rate(frame, name, engine="serial")
    sides = [["player 3", "player 5"], ["player 7", "player 12"]]
    prediction = predict(ratings, sides)
    assert ratings.quality(sides).chances[0] == prediction.chances()[0, 1]
    inside = [list(reversed(side)) for side in sides]
    assert ratings.quality(inside).chances == pytest.approx(ratings.quality(sides).chances, rel=1e-12)
    three = ratings.quality([*sides, ["player 21", "player 0"]])
    assert sum(three.chances) == pytest.approx(1.0, rel=1e-12)


def test_quality__of_games_has_what_the_games_have_taught() -> None:
    games = pd.DataFrame(
        {"winner": ["a", "b", "a", "c"] * 9, "loser": ["c", "a", "b", "b"] * 9, "draw": [False, True, False, True] * 9}
    )
    ratings = Ratings.rate(games, "elo")
    found, three = ratings.quality(["a", "b"]), ratings.predict(["a", "b"]).three_way("a", "b")
    assert (found.win, found.draw, found.loss, found.chances[0]) == tuple(map(float, three))


def test_command__shows_sides_and_refuses_what_is_none(tmp_path, invoke: Command) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(20, spice=False), dataset="d")
    rate_run(lake, dataset="d", run="r", system="trueskill")
    given = ("--run", "r", "--lake", lake.url)
    shown = invoke("quality", "player 3+player 5", "player 7+new one", "--new", *given)
    assert shown.code == 0, shown.err
    assert "player 7+new one" in shown.out
    assert "quality 0." in shown.out
    assert "draw 0." in shown.out
    assert "player 'new one'" in invoke.refuses("quality", "player 3", "new one", *given)
    assert "two sides" in invoke.refuses("quality", "player 3", *given, code=2)
