"""`smooth_history`: columns, kinds of frames, engines, errors."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.frames import frame_of
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import synthetic

from ranklake import smooth_history
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.smoothing import smooth_rounds
from ranklake.flows.frames.results import Reading
from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.smoothing import sweeps
from ranklake.rating_kernels.smoothing.params import Smoothing

NUMBERS = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")
FRAME = frame_of(synthetic(30, seed=5, large=10))


def bits(history: pd.DataFrame) -> list[bytes]:
    return [history[name].to_numpy().tobytes() for name in NUMBERS]


def test_smooth__columns_and_types_are_as_documented() -> None:
    history = smooth_history(FRAME)
    assert list(history.columns) == ["round_index", "contest", "player", "lo", "hi", *NUMBERS]
    assert all(history[name].dtype == np.float64 and history[name].notna().all() for name in NUMBERS)
    assert (history["smooth_sigma"] < history["cavity_sigma"]).all()
    assert history.attrs["sweeps"] > 2
    assert history["contest"].nunique() == FRAME["contest"].nunique() - history.attrs["skipped"]
    between = (history["smooth_mu"] - history["cavity_mu"]) * (history["perf"] - history["smooth_mu"])
    assert (between >= 0.0).all()


@pytest.mark.parametrize(
    "kind",
    [
        pl.from_pandas,
        lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        lambda frame: dd.from_pandas(frame, npartitions=3),
    ],
    ids=["polars", "arrow", "dask"],
)
def test_smooth__every_kind_of_frame_gives_the_same(kind) -> None:
    assert bits(smooth_history(kind(FRAME))) == bits(smooth_history(FRAME))


@pytest.mark.parametrize("engine", [("serial", None), ("threads", 1), ("threads", 3)], ids=str)
def test_smooth__every_engine_gives_the_same(engine: tuple[str, int | None]) -> None:
    assert bits(smooth_history(FRAME, engine=engine[0], workers=engine[1])) == bits(smooth_history(FRAME))


@pytest.mark.parametrize(("workers", "losses"), [(1, ()), (3, ()), (2, (2, 7))], ids=["one", "three", "losses"])
def test_smooth__workers_of_a_cluster_give_the_same(workers: int, losses: tuple[int, ...]) -> None:
    table = Reading().read(FRAME)
    rounds = table.rounds.keep(table.rounds.informative)
    arguments = Smoothing(), rounds, len(table.players)
    expected = smooth_rounds(*arguments, Serial())
    spread = smooth_rounds(*arguments, InProcessEngine(workers, losses=losses))
    assert spread.sweeps == expected.sweeps
    for name in NUMBERS:
        assert getattr(spread.result(), name).tobytes() == getattr(expected.result(), name).tobytes()


def test_smooth__needs_no_times_but_for_a_drift_by_the_day() -> None:
    timeless = FRAME.drop(columns="time_seconds")
    assert len(smooth_history(timeless)) == len(smooth_history(FRAME))
    with pytest.raises(ValueError, match="drift_per_day"):
        smooth_history(timeless, drift_per_day=3.0)


def test_smooth__names_wrong_hyperparameters() -> None:
    with pytest.raises(ValueError, match="smoothing has no parameter 'rho'; it has tie_mode, beta"):
        smooth_history(FRAME, rho=1.0)
    with pytest.raises(ValueError, match="beta must be"):
        smooth_history(FRAME, beta=-1.0)


def test_smooth__an_empty_selection_gives_an_empty_table() -> None:
    alone = pd.DataFrame({"contest": ["a"], "player": ["x"], "rank": [1]})
    history = smooth_history(alone)
    assert len(history) == 0
    assert history.attrs["reasons"] == {"one participant only": 1}


def test_smooth__says_what_still_moves(monkeypatch) -> None:
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


def test_smooth__skips_a_contest_in_which_three_tie_unless_told_otherwise() -> None:
    results = small([1, 2, 3], [1, 1, 1], [2, 1, 3])
    history = smooth_history(results, mu_init=0.0)
    assert (history["contest"].unique().tolist(), history.attrs["skipped"]) == ([0, 2], 1)
    assert list(history.attrs["reasons"].values()) == [1]
    whole = smooth_history(results, mu_init=0.0, skip_uninformative=False)
    assert whole["contest"].unique().tolist() == [0, 1, 2]
    middle = whole[whole["contest"] == 1]
    assert middle["perf"].nunique() == 1  # the tie draws all three together
    assert np.ptp(middle["smooth_mu"]) < np.ptp(middle["cavity_mu"])


def test_smooth__counts_a_draw_of_two() -> None:
    history = smooth_history(small([1, 1], [1, 2]), practice=0.0)
    assert history["contest"].tolist() == [0, 0, 1, 1]
    first, second = history["cavity_mu"][2:]
    assert first == pytest.approx(second, abs=2.0)  # equal but for the tolerance of the sweeps


def test_smooth__adds_no_drift_where_time_goes_back() -> None:
    ranks = [1, 2, 3], [2, 1, 3], [1, 3, 2]
    with pytest.warns(UserWarning, match="time goes back at 1 contest"):
        back = smooth_history(small(*ranks, times=[800_000_000, 0, 0]), drift_per_day=500.0)
    still = smooth_history(small(*ranks, times=[1, 1, 1]), drift_per_day=500.0)
    assert bits(back) == bits(still)


@pytest.mark.parametrize(
    ("name", "value"), [("gamma", -1.0), ("drift_per_day", float("nan")), ("practice", float("inf")),
                        ("sigma_init", 0.0), ("practice_rounds", 0.0), ("tie_mode", "none")]
)  # fmt: skip
def test_smooth__names_a_hyperparameter_out_of_range(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        smooth_history(FRAME, **{name: value})
