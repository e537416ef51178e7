"""Prediction from frames and from a lake: expected places, ratings after a place, and the needed place."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.lakes import contest, ingest, lake_of, rate_run, synthetic

from ranklake import predict, rate_history
from ranklake.flows.frames import prediction as module
from ranklake.flows.frames.prediction import Prediction
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Contest, Lake

FIELD = ["player 3", "player 0", "player 7", "nobody yet", "player 12", "player 5", "player 21"]


@pytest.fixture(params=of_contests())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def contests() -> list[Contest]:
    return synthetic(40, spice=False)


def believed(contests: list[Contest], name: str) -> pd.DataFrame:
    _, beliefs = rate_history(frame_of(contests), system=name, engine="serial", return_beliefs=True)
    assert isinstance(beliefs, pd.DataFrame)
    return beliefs


@pytest.mark.quick("elo-mmr", "trueskill")
def test_expected_places__sum_to_their_total_and_follow_the_chances(name: str, contests: list[Contest]) -> None:
    prediction = predict(believed(contests, name), FIELD, system=name)
    n, chances, places = len(FIELD), prediction.chances(), prediction.expected_places()
    assert np.isclose(places.sum(), n * (n + 1) / 2, rtol=1e-12)
    assert np.allclose(chances + chances.T, 1.0, rtol=0, atol=1e-12)
    twin = [1 + sum(chances[j, i] for j in range(n) if j != i) for i in range(n)]
    assert np.allclose(places, twin, rtol=1e-12)
    assert prediction.chance("player 0", "player 5") == chances[FIELD.index("player 0"), FIELD.index("player 5")]
    assert prediction.chance("player 0", "player 0") == 0.5


def test_expected_places__of_a_large_field_equal_sums_over_single_pairs() -> None:
    """The field is larger than a block of rows."""
    rng = np.random.default_rng(2)
    beliefs = dict(enumerate(rng.normal(1500, 300, 1500)))
    prediction = predict(beliefs, list(beliefs), system="elo")
    mu = np.array(list(beliefs.values()))
    twin = [0.5 + np.sum(1 / (1 + 10 ** ((mu[i] - mu) / 400))) for i in range(0, 1500, 100)]
    assert np.allclose(prediction.expected_places()[::100], twin, rtol=1e-11)


@pytest.mark.parametrize("system", ["elo-mmr", "elo-mmx", "topcoder"])
def test_expected_places__are_the_mean_places_of_drawn_rounds(system: str, contests: list[Contest]) -> None:
    """A twin by simulation: performances drawn from the model, places counted."""
    beliefs = believed(contests, system)
    prediction = predict(beliefs, FIELD, system=system)
    rng, n_drawn = np.random.default_rng(8), 200_000
    table = prediction.table()
    if system == "topcoder":
        spread = table["sigma"].to_numpy()
    else:  # Elo-MMR's default limits: u = 0.2, s = 80; gamma^2 = u s^2 and beta^2 = (1 + 1 / u) s^2
        spread = np.sqrt(table["sigma"].to_numpy() ** 2 + 0.2 * 80**2 + (1 + 1 / 0.2) * 80**2)
    noise = rng.logistic(size=(n_drawn, len(FIELD))) * np.sqrt(3) / np.pi
    noise = noise if system == "elo-mmr" else rng.normal(size=noise.shape)
    shown = table["mu"].to_numpy() + spread * noise
    places = 1 + np.argsort(np.argsort(-shown, axis=1), axis=1)
    assert np.allclose(places.mean(axis=0), prediction.expected_places(), atol=4 * len(FIELD) / 2 / np.sqrt(n_drawn))


@pytest.mark.quick("elo-mmr", "trueskill")
def test_outcomes__equal_the_ratings_of_that_round(name: str, contests: list[Contest]) -> None:
    """To the bit: ``rate_history`` rates the round from the same beliefs, with the player at each place."""
    beliefs = believed(contests, name)
    later = int(beliefs["last_time_seconds"].max()) + 86_400
    prediction = predict(beliefs, FIELD, system=name, time_seconds=later, weight=0.7)
    for player in ("player 7", "nobody yet"):
        outcomes = prediction.outcomes(player)
        mu = dict(zip(FIELD, prediction._prior.mu, strict=True))
        others = sorted((one for one in FIELD if one != player), key=lambda one: -mu[one])
        for place, row in enumerate(outcomes.to_dict("records"), start=1):
            order = [*others[: place - 1], player, *others[place - 1 :]]
            results = pd.DataFrame({"contest": "next", "player": order, "rank": range(1, len(order) + 1)})
            results["time_seconds"], results["weight"] = later, 0.7
            rated = rate_history(results, system=name, engine="serial", beliefs=beliefs)
            assert isinstance(rated, pd.DataFrame)
            after = rated.set_index("player").loc[player]
            assert (row["place"], row["mu"], row["sigma"]) == (place, after["mu"], after["sigma"])


@pytest.mark.quick("elo-mmr", "trueskill")
def test_outcomes__do_not_change_the_prediction(name: str, contests: list[Contest]) -> None:
    prediction = predict(believed(contests, name), FIELD, system=name)
    before, first = prediction.table(), prediction.outcomes("player 3")
    assert prediction.outcomes("player 3").equals(first)
    assert prediction.table().equals(before)


@pytest.mark.quick("elo-mmr", "trueskill")
def test_place_needed__is_the_last_sufficient_place(name: str, contests: list[Contest]) -> None:
    prediction = predict(believed(contests, name), FIELD, system=name)
    rating = prediction.outcomes("player 12")["rating"].to_numpy()
    assert np.all(np.diff(rating) <= 1e-9), "a better place has a lower rating"
    for place in range(1, len(FIELD) + 1):
        assert (
            prediction.place_needed("player 12", rating[place - 1])
            == np.flatnonzero(rating >= rating[place - 1])[-1] + 1
        )
    assert prediction.place_needed("player 12", rating.max() + 1.0) is None
    assert prediction.place_needed("player 12", rating.min() - 1.0) == len(FIELD)


@pytest.mark.quick("elo-mmr", "trueskill")
def test_change__is_the_difference_of_display_ratings(name: str, contests: list[Contest]) -> None:
    prediction = predict(believed(contests, name), FIELD, system=name)
    outcomes = prediction.outcomes("player 0", [2, 5])
    shown = prediction.table().loc["player 0", "rating"]
    assert np.array_equal(outcomes["change"], outcomes["rating"] - shown)
    assert outcomes["place"].tolist() == [2, 5]


def test_predict__diffuses_beliefs_until_the_round(contests: list[Contest]) -> None:
    """Idle time increases sigma: the chance of the better player approaches one half."""
    _, beliefs = rate_history(frame_of(contests), drift_per_day=50.0, return_beliefs=True)
    best, worst = beliefs["mu"].idxmax(), beliefs["mu"].idxmin()
    last = int(beliefs["last_time_seconds"].max())
    soon, late = (
        predict(beliefs, [best, worst], drift_per_day=50.0, time_seconds=last + days * 86_400).chance(best, worst)
        for days in (0, 2000)
    )
    assert 0.5 < late < soon


def test_predict__uses_the_current_initial_rating_of_elosrm(contests: list[Contest]) -> None:
    beliefs = believed(contests, "elo-srm")
    prediction = predict(beliefs, ["player 0", "nobody yet"], system="elo-srm")
    assert prediction.table().loc["nobody yet", "mu"] == pytest.approx(1200 + 0.63 * beliefs.attrs["events"])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"players": ["a"]}, "a round to predict needs at least two players, got 1"),
    ({"players": ["a", "b", "a"]}, "player 'a' is named twice"),
    ({"players": ["a", "b"], "system": "chess"}, "system must be one of"),
    ({"players": ["a", "b"], "weight": 0.0}, "weight must be within"),
    ({"players": ["a", "b"], "rho": -1.0}, "rho must be within 0"),
    ({"players": ["a", "b"], "beliefs": {"a": "x"}}, "beliefs of player 'a': mu must be within"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_predict__reports_invalid_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predict(**({"beliefs": None} | arguments))


def test_prediction__refuses_unknown_players_and_places() -> None:
    prediction = predict({"a": 1500.0, "b": 1600.0}, ["a", "b"])
    with pytest.raises(ValueError, match="player 'c' does not take part"):
        prediction.chance("a", "c")
    with pytest.raises(ValueError, match="a place must be a whole number from 1 to 2, got 3"):
        prediction.outcomes("a", [3])
    with pytest.raises(ValueError, match="must be a finite number, got nan"):
        prediction.place_needed("a", float("nan"))


@pytest.fixture
def lake(tmp_path: Path, contests: list[Contest]) -> Lake:
    lake = lake_of(tmp_path, contests)
    rate_run(lake)
    return lake


def test_command__has_the_values_of_the_function(
    invoke: Command, lake: Lake, contests: list[Contest], tmp_path: Path
) -> None:
    there = ("--run", "run", "--lake", tmp_path)
    handles = [handle for handle in FIELD if handle != "nobody yet"]
    door = predict(believed(contests, "elo-mmr"), [*handles, "newcomer 1"])
    entrants = json.loads(invoke("predict", *handles, "--newcomers", 1, "--format", "json", *there).out)
    expected = door.table().sort_values("expected_place", kind="stable")
    assert [row["handle"] for row in entrants] == list(expected.index)
    assert [row["expected_place"] for row in entrants] == expected["expected_place"].tolist()
    assert [row["mu"] for row in entrants] == expected["mu"].tolist()
    pairs = list(csv.DictReader(io.StringIO(invoke("predict", *handles, "--pairs", "--format", "csv", *there).out)))
    assert len(pairs) == len(handles) * (len(handles) - 1)
    assert float(pairs[0]["chance"]) == door.chance(pairs[0]["handle"], pairs[0]["against"])
    result = invoke("predict", *handles, "--newcomers", 1, "--of", handles[0], "--format", "json", *there).out
    assert [row["rating"] for row in json.loads(result)] == door.outcomes(handles[0])["rating"].tolist()


def test_command__reads_entrants_from_a_file_and_finds_the_needed_place(
    invoke: Command, lake: Lake, tmp_path: Path, contests: list[Contest]
) -> None:
    (tmp_path / "field.txt").write_text("player 1\nplayer 2\r\n\nplayer 4\n", encoding="utf-8")
    there = ("--run", "run", "--lake", tmp_path, "--field", tmp_path / "field.txt")
    door = predict(believed(contests, "elo-mmr"), ["player 9", "player 1", "player 2", "player 4"])
    second = door.outcomes("player 9")["rating"][1]
    result = invoke("predict", "--of", "player 9", "--target", second - 0.5, *there)
    assert (result.code, result.err) == (0, "")
    assert "'player 9' needs place 2 or better of 4" in result.out
    result = invoke("predict", "--of", "player 9", "--target", 9999, *there)
    assert "cannot reach a rating of 9999 in this round: the first place gives" in result.out
    assert invoke("predict", "--of", "player 9", "--target", 9999, "--format", "csv", *there).out.count("\n") == 1


def test_command__shows_tables_of_hostile_handles(invoke: Command, tmp_path: Path) -> None:
    names = ["[red]x[/red]", "a\u202eb", "tab\there"]
    lake = lake_of(tmp_path, [contest("1", *names), contest("2", *reversed(names))])
    rate_run(lake)
    result = invoke("predict", *names, "--run", "run", "--lake", tmp_path)
    assert result.code == 0
    assert "[red]x[/red]" in result.out
    assert "\u202e" not in result.out
    assert invoke("predict", *names, "--of", names[1], "--run", "run", "--lake", tmp_path).code == 0
    assert "%" in invoke("predict", *names, "--pairs", "--run", "run", "--lake", tmp_path).out


WRONG = [
    (["player 1"], 2, "give at least two entrants"),
    (["player 1", "player 1"], 2, "'player 1' is named twice"),
    (["player 1", "Player 2"], 1, "no player 'Player 2' in data set games; there is 'player 2'"),
    (["player 1", "player 2", "--target", "1500"], 2, "--target needs --of HANDLE"),
    (["player 1", "player 2", "--of", "player 1", "--target", "nan"], 2, "must be a finite number"),
    (["player 1", "player 2", "--of", "player 1", "--pairs"], 2, "exclude each other; give one"),
    (["player 1", "player 2", "--weight", "0"], 2, "--weight must be within"),
    (["player 1", "player 2", "--time", "soon"], 2, "must be a time as 2020-01-31"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG)
def test_command__reports_errors(
    invoke: Command, lake: Lake, arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    assert message in invoke.refuses("predict", *arguments, "--run", "run", "--lake", tmp_path, code=code)


def test_command__refuses_an_interrupted_run(invoke: Command, tmp_path: Path, contests: list[Contest]) -> None:
    lake = lake_of(tmp_path, contests)
    assert "no run" in invoke.refuses("predict", "player 1", "player 2", "--run", "run", "--lake", tmp_path)
    rate_run(lake)
    for snapshot in (tmp_path / "runs" / "run" / "snapshots").iterdir():
        (snapshot / "manifest.json").unlink()
    result = invoke.refuses("predict", "player 1", "player 2", "--run", "run", "--lake", tmp_path)
    assert "` finishes it" in result


def test_command__treats_players_without_ratings_as_newcomers(
    invoke: Command, lake: Lake, contests: list[Contest], tmp_path: Path
) -> None:
    ingest(lake, [*contests, contest("late", "somebody else", "player 1")])
    result = invoke("predict", "player 1", "somebody else", "--format", "json", "--run", "run", "--lake", tmp_path)
    rows = {row["handle"]: row for row in json.loads(result.out)}
    assert (rows["somebody else"]["mu"], rows["somebody else"]["n_rounds"]) == (1500.0, 0)


def test_prediction__is_exported_for_its_type() -> None:
    assert isinstance(predict(None, ["a", "b"]), Prediction)


def test_prediction__of_many_players_is_computed_in_parts_and_shown_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    beliefs = {f"player {n}": 1500.0 + n for n in range(5)}
    whole = predict(beliefs, list(beliefs), system="elo")
    assert "<table" in whole._repr_html_()
    monkeypatch.setattr(module, "_PAIRS", 7)  # one row at a time
    parts = predict(beliefs, list(beliefs), system="elo")
    assert np.array_equal(whole.expected_places(), parts.expected_places())
    monkeypatch.setattr(module, "MAX_SHOWN", 4)
    assert "<table" not in parts._repr_html_()
