"""A run smoothed in its lake: the bits of the frame, engines, crashes, damage, and what stays as it is.

Runs over contests, contests of teams, and games with advantages.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_server import CommandServer
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.games import as_periods, ingest_periods, league
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import files, ingest, lake_of, rate_run, synthetic
from helpers.tables import read
from helpers.teams import draw_team_contests, team_contests, team_frame

from ranklake import smooth_history
from ranklake.flows.common.adapters import all_rounds
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution import smoothing as execution
from ranklake.flows.execution.smoothing import smooth_rounds
from ranklake.flows.frames.results import Reading
from ranklake.flows.maintenance.delete import delete_run, describe_run
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.publish import publish
from ranklake.flows.smoothing.params import params_of
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels import SYSTEMS, ConvergenceError, EloMMR
from ranklake.rating_kernels.smoothing import sweeps
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.rating_kernels.systems.elo_mms import EloMMS
from ranklake.storage import DamagedError, Dataset, Lake, LakeError, MissingError, Run
from ranklake.storage.runs.smoothing import StoredSmoothing

NUMBERS = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma", "log_gain")
SETTINGS = {"beta": "150", "gamma": "20", "drift_per_day": "5", "practice": "6"}
RANKED = {"duel": "2", "resolution": "rank", "skew": "1.4", "lower": "logistic"}
NUMERIC = {name: float(value) for name, value in SETTINGS.items()}


@pytest.fixture
def rated(tmp_path: Path) -> Lake:
    """A rated run of forty contests of every kind."""
    lake = lake_of(tmp_path / "lake", synthetic(40))
    rate_run(lake)
    return lake


def folder_of(lake: Lake) -> Path:
    return Path(lake.url.removeprefix("file://")) / "runs/run/smoothing"


def smoothed(lake: Lake) -> pa.Table:
    stored = StoredSmoothing(lake, "run")
    manifest = stored.manifest("smoothed")
    assert manifest is not None
    assert "team" not in manifest.params  # defaults that came later: earlier smoothings stay valid
    return stored.read("smoothed", manifest)


def bits(table: pa.Table) -> list[bytes]:
    return [table.column(name).to_numpy().tobytes() for name in NUMBERS]


class StoppedError(Exception):
    """Raised in the fourth sweep."""


def interrupt(sweep: int, mean_move: float, spread: float) -> None:
    if sweep == 4:
        raise StoppedError


def contents(lake: Lake) -> dict[str, bytes]:
    """The lake's files beside leases and smoothings."""
    root = Path(lake.url.removeprefix("file://"))
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if "lease" not in name and "smoothing" not in name}


def test_run__has_the_bits_of_the_frame_and_its_ratings_stay(rated: Lake) -> None:
    before = contents(rated)
    report = smooth_run(rated, "run", Serial(), SETTINGS)
    assert contents(rated) == before
    history = smooth_history(frame_of(synthetic(40)), tie_mode="full", **NUMERIC)
    assert bits(smoothed(rated)) == [history[name].to_numpy().tobytes() for name in NUMBERS]
    assert smoothed(rated).column("round_index").to_pylist() == history["round_index"].tolist()
    assert report.sweeps == history.attrs["sweeps"]
    assert list(Verifier(rated).everything()) == []


@pytest.mark.parametrize(
    "engine", [lambda: Threads(2), lambda: InProcessEngine(3, losses=(2,))], ids=["two", "cluster"]
)
@pytest.mark.parametrize("settings", [{}, RANKED], ids=["usual", "ranked"])
def test_run__has_the_same_bits_on_every_engine(rated: Lake, engine, settings: dict[str, str]) -> None:
    smooth_run(rated, "run", Serial(), settings)
    expected = bits(smoothed(rated))
    (folder_of(rated) / "smoothed.json").unlink()
    with engine() as opened:
        smooth_run(rated, "run", opened, settings)
    assert bits(smoothed(rated)) == expected


def test_run__ends_when_workers_are_lost_again_and_again(rated: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "RECOVERIES", 0)
    with InProcessEngine(3, losses=(2,)) as engine, pytest.raises(EngineError, match="1 times in one sweep"):
        smooth_run(rated, "run", engine)


@pytest.mark.slow
def test_run__smoothed_again_does_nothing_until_a_round_or_a_setting_changes(rated: Lake) -> None:
    first = smooth_run(rated, "run", Serial())
    assert smooth_run(rated, "run", Serial()).line() == f"smoothed before, {first.sweeps} sweeps; nothing to do"
    assert smooth_run(rated, "run", Serial(), {"beta": 100.0}).resumed == 0
    ingest(rated, synthetic(45)[40:])
    rate_run(rated)
    assert smooth_run(rated, "run", Serial(), {"beta": 100.0}).resumed == 0
    assert smoothed(rated).column("round_index").to_numpy().max() >= 40


def test_run__that_does_not_match_its_data_is_refused(rated: Lake) -> None:
    ingest(rated, [dataclasses.replace(synthetic(40)[3], weight=7.0)])
    with pytest.raises(LakeError, match=r"run run does not match data set games .*`ranklake rate --run run` first"):
        smooth_run(rated, "run", Serial())


def test_run__needs_rounds_and_known_settings(rated: Lake) -> None:
    with pytest.raises(ValueError, match="smoothing has no parameter 'rho'"):
        smooth_run(rated, "run", Serial(), {"rho": "1"})
    with pytest.raises(MissingError, match="no run 'other'"):
        smooth_run(rated, "other", Serial())
    rate_run(rated, run="empty", max_rounds=0)
    with pytest.raises(LakeError, match="run empty has no rated rounds"):
        smooth_run(rated, "empty", Serial())


def test_run__interrupted_at_a_checkpoint_ends_with_the_same_bits(rated: Lake, monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "PERIOD", 2)
    whole = smooth_run(rated, "run", Serial(), SETTINGS)
    expected = bits(smoothed(rated))
    smooth_run(rated, "run", Serial(), {"beta": 300.0})  # another one in its place

    with pytest.raises(StoppedError):
        smooth_run(rated, "run", Serial(), SETTINGS, on_sweep=interrupt)
    assert StoredSmoothing(rated, "run").manifest("checkpoint").sweeps == 3
    assert smoothed(rated).num_rows  # the old one is still there
    report = smooth_run(rated, "run", Serial(), SETTINGS)
    assert (report.resumed, report.sweeps) == (3, whole.sweeps)
    assert bits(smoothed(rated)) == expected
    assert StoredSmoothing(rated, "run").manifest("checkpoint") is None


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "halfway"])
def test_command__killed_at_any_write_continues_with_the_same_bits(
    rated: Lake, command_server: CommandServer, how: str
) -> None:
    path = rated.url.removeprefix("file://")
    before = "import ranklake.rating_kernels.smoothing.sweeps as sweeps; sweeps.PERIOD = 3"
    command = ("smooth", "--run", "run", "--engine", "serial", "--lake", path)
    command_server.run(*command, before=before)
    expected, ratings = bits(smoothed(rated)), contents(rated)
    killed = 0
    for at in range(0, 60, 7 if how == "kill" else 11):
        folder = folder_of(rated)
        for file in folder.iterdir():
            file.unlink()
        killed += command_server.run(*command, at=at, how=how, before=before).code != 0
        ended = command_server.run(*command, before=before)
        assert ended.code == 0, ended.err
        assert bits(smoothed(rated)) == expected
        assert list(Verifier(rated).everything()) == []
        assert len(list(folder.iterdir())) == 2
    assert killed > 2
    assert contents(rated) == ratings


def test_verify__finds_a_damaged_smoothing_which_is_then_made_again(rated: Lake) -> None:
    smooth_run(rated, "run", Serial())
    expected = bits(smoothed(rated))
    [data] = folder_of(rated).glob("*.parquet")
    data.write_bytes(data.read_bytes()[:-9] + b"x" * 9)
    with pytest.raises(DamagedError):
        smoothed(rated)
    [problem] = Verifier(rated).everything()
    assert "runs/run/smoothing/" in problem
    assert "`ranklake smooth --run run` makes it again" in problem
    smooth_run(rated, "run", Serial())
    assert bits(smoothed(rated)) == expected


def test_verify__notes_files_of_an_interrupted_smoothing(rated: Lake) -> None:
    smooth_run(rated, "run", Serial())
    folder = folder_of(rated)
    (folder / "checkpoint-000009-000009.parquet").write_bytes(b"half")
    verifier = Verifier(rated)
    assert list(verifier.everything()) == []
    assert any("1 file of an interrupted smoothing" in note for note in verifier.notes)
    smooth_run(rated, "run", Serial(), {"beta": 99.0})
    assert not (folder / "checkpoint-000009-000009.parquet").exists()


def test_delete__removes_the_smoothing_too(rated: Lake) -> None:
    smooth_run(rated, "run", Serial())
    delete_run(rated, "run")
    assert describe_run(rated, "run") == ""
    assert not any("smooth" in name for name in files(Path(rated.url.removeprefix("file://"))))


def test_table__is_read_by_any_tool_with_units(rated: Lake) -> None:
    smooth_run(rated, "run", Serial())
    folder = folder_of(rated)
    facts = json.loads((folder / "smoothed.json").read_text("utf-8"))
    table = pq.read_table(folder / facts["file"])
    assert table.schema.field("smooth_mu").metadata[b"unit"] == b"rating points"
    assert facts["n_rows"] == table.num_rows == sum(s.n_rows for s in Run.open(rated, "run").segments().segments)


@pytest.mark.parametrize("system", SYSTEMS)
def test_params__follow_from_every_system(system: str) -> None:
    system_params = SYSTEMS[system].params()
    params = params_of(system_params, {})
    assert params.mu_init == system_params.mu_init
    assert np.isclose(params_of(system_params, {"beta": "77"}).beta, 77.0)
    if system in ("elo-mmr", "elo-mmx"):
        assert (round(params.beta, 2), round(params.gamma, 2), params.practice) == (195.96, 35.78, 0.0)


def test_params__of_elo_mms_are_its_noise_its_drift_and_its_practice() -> None:
    given = {
        "beta": 100.0, "skew": 2.0, "lower": "normal", "duel": 3.0, "resolution": "exact", "gamma": 9.0,
        "drift_per_day": 3.0, "practice": 4.0, "practice_rounds": 11.0, "mu_init": 1000.0, "sigma_init": 200.0,
    }  # fmt: skip
    params = params_of(EloMMS(**given), {})
    assert {name: getattr(params, name) for name in given} == given
    assert params_of(EloMMS(), {}).resolution == EloMMS().resolution == "rank"
    before = params_of(EloMMS(duel=1.0, resolution="exact"), {})
    assert params_of(EloMMS(), {"resolution": "exact", "duel": "1"}) == before


def test_params__of_ties_by_weights_require_a_mode() -> None:
    weighted = EloMMR(tie_loss=0.25, tie_win=0.75)
    with pytest.raises(
        ValueError, match=r"smoothing has no tie_loss=0\.25 and tie_win=0\.75 as the run has: set tie_mode"
    ):
        params_of(weighted, {})
    assert params_of(weighted, {"tie_mode": "split"}) == params_of(EloMMR(tie_mode="split"), {})


def test_params__with_normal_noise_have_the_variance_of_skewed_performances_in_a_large_round() -> None:
    system_params = EloMMS(beta=100.0, skew=2.0, gamma=9.0, drift_per_day=3.0, practice=4.0, practice_rounds=11.0)
    params = params_of(system_params, {}).with_normal_noise()
    draw = np.random.default_rng(3)
    size = np.abs(draw.normal(0.0, 1.0, 400_000))
    below = draw.random(size.size) < 2.0 / 3.0  # a two-piece law has its sides in proportion to their widths
    assert params.beta == pytest.approx(float(np.std(np.where(below, -200.0, 100.0) * size)), rel=0.01)
    assert (params.skew, params.lower, params.gamma, params.practice_rounds) == (1.0, "normal", 9.0, 11.0)
    assert params.with_normal_noise() == params


def test_command__reports_and_refuses_in_words(rated: Lake, monkeypatch, capsys) -> None:
    command = Command(monkeypatch, capsys)
    path = rated.url.removeprefix("file://")
    assert "participations smoothed in" in command("smooth", "--run", "run", "--lake", path).out
    assert "nothing to do" in command("smooth", "--run", "run", "--lake", path).out
    assert "has no parameter 'rho'" in command.refuses("smooth", "--run", "run", "--set", "rho=1", "--lake", path)


# Contests of teams


ALONE = [(place, place, [player], None) for place, player in enumerate(range(9))]
TEAMS = draw_team_contests(3, 18, 14)
HISTORY = [*TEAMS[:5], (ALONE, TEAMS[4][1] + 1_000, 1.0, math.inf), *TEAMS[5:]]


@pytest.fixture
def teams(tmp_path: Path) -> Lake:
    """A rated run of contests of teams, with one of individuals between them."""
    made = lake_of(tmp_path / "lake", team_contests(HISTORY))
    rate_run(made)
    return made


def test_run__of_teams_has_the_bits_of_the_frame(teams: Lake) -> None:
    report = smooth_run(teams, "run", Serial(), SETTINGS)
    columns = {"team": "team", "share": "share"}
    history = smooth_history(team_frame(HISTORY), columns=columns, tie_mode="full", **NUMERIC)
    assert bits(smoothed(teams)) == [history[name].to_numpy().tobytes() for name in NUMBERS]
    assert report.sweeps == history.attrs["sweeps"]
    members = [at for standings, *_ in HISTORY for at, row in enumerate(standings) for _ in row[2]]
    assert history["team"].tolist() == [f"team {at}" for at in members]


@pytest.mark.slow
def test_run__of_teams_has_the_same_bits_on_every_engine_and_after_an_interruption(
    teams: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "PERIOD", 2)
    smooth_run(teams, "run", Serial())
    expected = bits(smoothed(teams))

    for engine in (Threads(2), InProcessEngine(3, losses=(2,))):
        (folder_of(teams) / "smoothed.json").unlink()
        with engine as opened:
            with pytest.raises(StoppedError):
                smooth_run(teams, "run", opened, on_sweep=interrupt)
            assert smooth_run(teams, "run", opened).resumed == 3
        assert bits(smoothed(teams)) == expected


@pytest.mark.slow
def test_publish__has_the_smoothed_skills_of_members(teams: Lake) -> None:
    smooth_run(teams, "run", Serial())
    publish(teams, "run")
    rows = read(teams, "ratings").sort_by([("round_index", "ascending"), ("handle", "ascending")])
    assert rows.column("smooth_mu").null_count == 0
    assert np.isin(np.round(smoothed(teams)["smooth_mu"], 9), np.round(rows["smooth_mu"], 9)).all()
    assert list(Verifier(teams).everything()) == []


def test_command__smooths_the_mean_of_members_only(teams: Lake, invoke: Command) -> None:
    rate_run(teams, run="best", team="best")
    there = ("--run", "best", "--lake", teams.url)
    assert "smoothing has no rule for contests of teams with team=best; set team=mean" in invoke.refuses(
        "smooth", *there
    )
    assert "smoothed in" in invoke("smooth", *there, "--set", "team=mean", "--engine", "serial").out


def test_frame__of_teams_and_of_unrated_participants_is_refused() -> None:
    frame = team_frame(HISTORY)
    frame["rated"] = (frame["contest"] != "5") | (frame["rank"] > 1)
    with pytest.raises(ValueError, match="contests of teams and with unrated participants cannot be smoothed together"):
        smooth_history(frame, columns={"team": "team", "share": "share", "rated": "rated"})


# Games with advantages


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A rated run of 300 games, of which those of even periods favour White."""
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    periods = as_periods(league(300, n_players=12))
    for each, period in enumerate(periods[::2]):
        ahead = np.full(len(period), 60.0 + each)
        periods[2 * each] = dataclasses.replace(period, games=dataclasses.replace(period.games, advantage=ahead))
    ingest_periods(lake, periods)
    rate_run(lake, run="run", dataset="league", system="elo-mmr")
    return lake


@pytest.mark.parametrize("engine", [Serial, lambda: Threads(2), lambda: InProcessEngine(2)])
def test_run__of_games_is_smoothed_in_the_field_of_strengths(games: Lake, engine: Callable[[], Any]) -> None:
    dataset = Dataset.open(games, "league")
    rounds = all_rounds(dataset)
    assert 0 < np.count_nonzero(rounds.advantage) < rounds.n_rows
    smoother = Smoother(params_of(SYSTEMS["elo-mmr"].params(), {}), rounds, dataset.n_players)
    while not smoother.converged:
        smoother.sweep()
    with engine() as opened:
        smooth_run(games, "run", opened)
    expected = smoother.result()
    assert bits(smoothed(games)) == [getattr(expected, name).tobytes() for name in NUMBERS]
    (folder_of(games) / "smoothed.json").unlink()


# Frames: columns, kinds, engines, errors


FRAME = frame_of(synthetic(30, seed=5, large=10))


def frame_bits(history: pd.DataFrame) -> list[bytes]:
    return [history[name].to_numpy().tobytes() for name in NUMBERS]


def test_frame__columns_and_types_are_as_documented() -> None:
    history = smooth_history(FRAME)
    assert list(history.columns) == ["round_index", "contest", "player", "lo", "hi", *NUMBERS]
    assert all(history[name].dtype == np.float64 and history[name].notna().all() for name in NUMBERS)
    assert (history["smooth_sigma"] < history["cavity_sigma"]).all()
    assert history.attrs["sweeps"] > 2
    assert history["contest"].nunique() == FRAME["contest"].nunique() - history.attrs["skipped"]
    between = (history["smooth_mu"] - history["cavity_mu"]) * (history["perf"] - history["smooth_mu"])
    assert (between >= 0.0).all()


@pytest.mark.parametrize("engine", [("serial", None), ("threads", 1), ("threads", 3)], ids=str)
def test_frame__every_engine_gives_the_same(engine: tuple[str, int | None]) -> None:
    assert frame_bits(smooth_history(FRAME, engine=engine[0], workers=engine[1])) == frame_bits(smooth_history(FRAME))


@pytest.mark.parametrize(("workers", "losses"), [(1, ()), (3, ()), (2, (2, 7))], ids=["one", "three", "losses"])
def test_frame__workers_of_a_cluster_give_the_same(workers: int, losses: tuple[int, ...]) -> None:
    table = Reading().read(FRAME)
    rounds = table.rounds.keep(table.rounds.informative)
    arguments = Smoothing(), rounds, len(table.players)
    expected = smooth_rounds(*arguments, Serial())
    spread = smooth_rounds(*arguments, InProcessEngine(workers, losses=losses))
    assert spread.sweeps == expected.sweeps
    for name in NUMBERS:
        assert getattr(spread.result(), name).tobytes() == getattr(expected.result(), name).tobytes()


def test_frame__needs_no_times_but_for_a_drift_by_the_day() -> None:
    timeless = FRAME.drop(columns="time_seconds")
    assert len(smooth_history(timeless)) == len(smooth_history(FRAME))
    with pytest.raises(ValueError, match="drift_per_day"):
        smooth_history(timeless, drift_per_day=3.0)


def test_frame__an_empty_selection_gives_an_empty_table() -> None:
    alone = pd.DataFrame({"contest": ["a"], "player": ["x"], "rank": [1]})
    history = smooth_history(alone)
    assert len(history) == 0
    assert history.attrs["reasons"] == {"one participant only": 1}


def test_frame__says_what_still_moves(monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "SWEEPS", 2)
    with pytest.raises(ConvergenceError, match="not converged after 2 sweeps"):
        smooth_history(FRAME)


def small(*contests: list[int], times: list[int] | None = None) -> pd.DataFrame:
    """Contests by the ranks of players 0, 1, 2 and so on."""
    rows = [
        {"contest": at, "player": player, "rank": rank, "time_seconds": times[at] if times else 86_400 * at}
        for at, ranks in enumerate(contests)
        for player, rank in enumerate(ranks)
    ]
    return pd.DataFrame(rows)


def test_frame__skips_a_contest_in_which_three_tie_unless_told_otherwise() -> None:
    results = small([1, 2, 3], [1, 1, 1], [2, 1, 3])
    history = smooth_history(results, mu_init=0.0)
    assert (history["contest"].unique().tolist(), history.attrs["skipped"]) == ([0, 2], 1)
    assert list(history.attrs["reasons"].values()) == [1]
    whole = smooth_history(results, mu_init=0.0, skip_uninformative=False)
    assert whole["contest"].unique().tolist() == [0, 1, 2]
    middle = whole[whole["contest"] == 1]
    assert middle["perf"].nunique() == 1  # the tie draws all three together
    assert np.ptp(middle["smooth_mu"]) < np.ptp(middle["cavity_mu"])


def test_frame__counts_a_draw_of_two() -> None:
    history = smooth_history(small([1, 1], [1, 2]), practice=0.0)
    assert history["contest"].tolist() == [0, 0, 1, 1]
    first, second = history["cavity_mu"][2:]
    assert first == pytest.approx(second, abs=2.0)  # equal but for the tolerance of the sweeps


def test_frame__adds_no_drift_where_time_goes_back() -> None:
    ranks = [1, 2, 3], [2, 1, 3], [1, 3, 2]
    with pytest.warns(UserWarning, match="time goes back at 1 contest"):
        back = smooth_history(small(*ranks, times=[800_000_000, 0, 0]), drift_per_day=500.0)
    still = smooth_history(small(*ranks, times=[1, 1, 1]), drift_per_day=500.0)
    assert frame_bits(back) == frame_bits(still)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("rho", 1.0, "smoothing has no parameter 'rho'; it has tie_mode, beta"), ("beta", -1.0, "beta must be"),
        ("gamma", -1.0, "gamma must be"), ("drift_per_day", math.nan, "drift_per_day must be"),
        ("practice", math.inf, "practice must be"), ("sigma_init", 0.0, "sigma_init must be"),
        ("practice_rounds", 0.0, "practice_rounds must be"), ("tie_mode", "none", "tie_mode must be"),
    ],
)  # fmt: skip
def test_frame__names_a_wrong_hyperparameter(name: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        smooth_history(FRAME, **{name: value})
