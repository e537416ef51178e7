"""Previews from frames: equal to rating the contest, partial standings, and the official changes of Codeforces."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.data import sample
from helpers.frames import frame_of
from helpers.lakes import synthetic
from twins import atcoder, leetcode

from ranklake import Ratings, preview, rate_history
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Contest

SAME = ("perf", "mu_prior", "sigma_prior", "mu", "sigma")
LATER = 100_000_000


@pytest.fixture(scope="module")
def contests() -> list[Contest]:
    return synthetic(30, spice=False)


def drawn(rng: np.random.Generator, n: int, time_seconds: int, **more: Any) -> pd.DataFrame:
    """Standings with ties, of rated players and of newcomers."""
    names = rng.permutation([f"player {i}" for i in range(40)] + [f"new {i}" for i in range(n)])[:n]
    ranks = np.sort(rng.integers(0, max(2, n // 2), n)) + 1
    ranks[-1] = ranks[0] + n  # never all tied
    return pd.DataFrame({"player": names, "rank": ranks, "time_seconds": time_seconds, **more})


def rated(standings: pd.DataFrame, beliefs: Any, **options: Any) -> pd.DataFrame:
    results = standings if "contest" in standings else standings.assign(contest="next")
    history = rate_history(results, beliefs=beliefs, engine="serial", **options)
    assert isinstance(history, pd.DataFrame)
    return history.set_index("player")


def same_bits(one: pd.DataFrame, other: pd.DataFrame) -> None:
    for name in SAME:
        a, b = (frame[name].to_numpy(dtype=np.float64) for frame in (one, other.loc[one["player"]]))
        assert np.array_equal(a.view(np.int64), b.view(np.int64)) or (np.isnan(a).all() and np.isnan(b).all()), name


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("name", of_contests())
def test_preview__equals_the_rating_of_the_contest(name: str, contests: list[Contest]) -> None:
    """To the bit, with ties, newcomers, weights and ceilings, days later or as another division of the last event."""
    _, beliefs = rate_history(frame_of(contests), system=name, engine="serial", return_beliefs=True)
    before, rng = beliefs.copy(), np.random.default_rng(5)
    last = int(beliefs.attrs["time_seconds"])
    for n, time, more in (
        (2, last, {}),
        (9, last + LATER, {"weight": 0.3, "perf_ceiling": 1700.0}),
        (40, last + 1, {}),
    ):
        standings = drawn(rng, n, time, **more)
        found = preview(beliefs, standings)
        after = rated(standings, beliefs)
        same_bits(found, after)
        assert found["player"].tolist() == after.sort_values("lo", kind="stable").index.tolist()
        assert np.array_equal(found["place"], after["lo"].to_numpy() + 1)
        assert np.isclose(found["expected_place"].sum(), n * (n + 1) / 2, rtol=1e-5)
        assert np.array_equal(found["change"], found["rating"] - found["rating_before"], equal_nan=True)
        assert found["known"].tolist() == found["player"].isin(beliefs.index).tolist()
        assert found["known"].tolist() == found["rating_before"].notna().tolist()
    pd.testing.assert_frame_equal(beliefs, before)


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("name", ["elo-mmr", "elo-srm", "trueskill"])
def test_preview__of_a_large_contest_equals_its_rating(name: str, contests: list[Contest]) -> None:
    ratings = Ratings.rate(frame_of(contests), name, engine="serial")
    standings = drawn(np.random.default_rng(6), 700, LATER)
    found = ratings.preview(standings)
    same_bits(found, rated(standings, ratings))
    assert found["rating"].tolist() == ratings.update(standings.assign(contest="n")).history["rating"].tolist()[-700:]


def test_preview__has_the_official_changes_of_codeforces() -> None:
    """Contest 1326 with 10,630 participants, as the site rated it."""
    rows = json.loads(gzip.decompress(sample("codeforces/round-1326.json.gz").read_bytes()))
    frame = pd.DataFrame(rows, columns=["player", "points", "penalty", "old", "official"])
    frame["rank"] = frame.groupby([-frame["points"], frame["penalty"]]).ngroup() + 1
    old = dict(zip(frame["player"], frame["old"], strict=True))
    found = preview(old, frame[["player", "rank"]], system="codeforces", titles="codeforces").set_index("player")
    assert (found["change"].loc[frame["player"]].to_numpy() == frame["official"].to_numpy()).all()
    assert (found["rating_before"].loc[frame["player"]].to_numpy() == frame["old"].to_numpy()).all()
    # the places needed for the next title agree with the official ratings: better places reach it, worse ones do not
    place = found["place"] + found.groupby("place")["place"].transform("size") - 1  # of a tie group, the last counts
    minimum = found["next_title"].map({"pupil": 1200, "specialist": 1400, "expert": 1600, "candidate master": 1900})
    known = found[minimum.notna() & ((place - found["next_title_place"].fillna(0)).abs() > 3)]
    reached = known["rating"] >= minimum[known.index]
    assert reached.sum() > 100
    assert (reached == (place[known.index] <= known["next_title_place"].fillna(0))).all()


def test_preview__of_the_contest_at_917_is_official() -> None:
    rows = pd.DataFrame(json.loads(gzip.decompress(sample("codeforces/rating-changes-917.json.gz").read_bytes())))
    old = dict(zip(rows["handle"], rows["oldRating"], strict=True))
    found = preview(old, rows, columns={"player": "handle"}, system="codeforces").set_index("player")
    assert (found["rating"].loc[rows["handle"]].to_numpy() == rows["newRating"].to_numpy()).all()


def test_entrants__count_in_the_field_behind_all_others(contests: list[Contest]) -> None:
    _, beliefs = rate_history(frame_of(contests), engine="serial", return_beliefs=True)
    placed = pd.DataFrame({"player": ["player 3", "player 8", "player 1"], "rank": [1, 2, 2]})
    waiting = ["player 5", "nobody yet", "player 20"]
    found = preview(beliefs, placed, entrants=["player 8", *waiting], titles="codeforces")
    everybody = pd.DataFrame({"player": [*placed["player"], *waiting], "rank": [1, 2, 2, 4, 4, 4]})
    whole = preview(beliefs, everybody, titles="codeforces")
    assert found["player"].tolist() == whole["player"].tolist()
    before = ["mu_prior", "rating_before", "expected_place", "next_title", "next_title_chance", "next_title_place"]
    pd.testing.assert_frame_equal(found[before], whole[before])
    pd.testing.assert_frame_equal(found[:3], whole[:3], check_dtype=False)
    assert found[["place", "perf", "mu", "sigma", "rating", "change"]][3:].isna().all(axis=None)
    assert not found["change"][:3].equals(preview(beliefs, placed)["change"])


def test_preview__without_a_time_is_at_the_last_round(contests: list[Contest]) -> None:
    _, beliefs = rate_history(frame_of(contests), drift_per_day=50.0, engine="serial", return_beliefs=True)
    standings = drawn(np.random.default_rng(8), 12, 0).drop(columns="time_seconds")
    last = int(beliefs["last_time_seconds"].max())
    assert preview(beliefs, standings).equals(preview(beliefs, standings, time=last))
    later = preview(beliefs, standings, time=last + LATER)
    assert (later["sigma_prior"] >= preview(beliefs, standings)["sigma_prior"]).all()
    assert not later.equals(preview(beliefs, standings))


def test_preview__is_of_the_kind_of_the_standings() -> None:
    standings = pd.DataFrame({"player": [7, 3], "score": [2.0, 1.0]})
    expected = preview({7: 1500.0, 3: 1600.0}, standings)
    assert expected["player"].tolist() == [7, 3]
    polars = pytest.importorskip("polars")
    found = preview({7: 1500.0, 3: 1600.0}, polars.DataFrame(standings))
    assert isinstance(found, polars.DataFrame)
    assert found["mu"].to_list() == expected["mu"].tolist()


TWO = {"player": ["a", "b"], "rank": [1, 2]}
BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"player": ["a", "b"], "points_": [1, 2]}, {}, r"standings: there is no column rank \(or lo and hi, or score\)"),
    ({"player": ["a", "b", "a"], "rank": [1, 2, 3]}, {}, "player 'a' is listed twice"),
    ({"player": [], "rank": []}, {}, "the table has no rows"),
    ({"player": ["a"], "rank": [1]}, {}, "such a contest is not rated: one participant only"),
    (TWO | {"contest": [1, 2]}, {}, "a preview takes one contest, got 2"),
    (TWO | {"weight": [0.0, 0.0]}, {}, "a weight must be"),
    (TWO, {"entrants": ["c", "c"]}, "player 'c' is listed twice among the entrants"),
    (TWO, {"time": "soon"}, "time must be a time as 2020-01-31"),
    (TWO, {"system": "chess"}, "system must be one of"),
    (TWO, {"rho": -1.0}, "rho must be within 0"),
    (TWO, {"titles": "none such"}, "must be auto, codeforces, none, or a file"),
    (TWO, {"deviations": float("nan")}, "deviations must be"),
]


@pytest.mark.parametrize(("standings", "options", "message"), BAD)
def test_preview__reports_invalid_arguments(standings: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        preview(None, pd.DataFrame(standings), **options)


# Rules of sites, against their plain versions


def ranked(names: list[str], ranks: np.ndarray) -> list[tuple[str, int, int]]:
    """Standings as the plain versions take them."""
    lo, hi = np.searchsorted(ranks, ranks, "left"), np.searchsorted(ranks, ranks, "right") - 1
    return list(zip(names, lo.tolist(), hi.tolist(), strict=True))


def test_preview__has_the_changes_of_leetcode() -> None:
    """From ratings and numbers of contests alone, as the site shows them before a contest."""
    frame = pd.read_parquet(sample("leetcode/synthetic-contest.parquet")).sort_values("rank", kind="stable")
    frame["player"] = [f"player {i}" for i in range(len(frame))]
    before = frame.rename(columns={"old": "mu", "contests": "n_rounds"}).set_index("player")[["mu", "n_rounds"]]
    state = {name: (row.mu, row.n_rounds) for name, row in zip(before.index, before.itertuples(), strict=True)}
    expected = leetcode.Twin(initial_state=state).rate(ranked(frame["player"].tolist(), frame["rank"].to_numpy()))
    found = preview(before, frame[["player", "rank"]], system="leetcode").set_index("player")
    assert found["rating"].loc[[one.player for one in expected]].tolist() == pytest.approx(
        [one.mu for one in expected], abs=1e-8
    )
    assert found["change"].loc[frame["player"]].to_numpy() == pytest.approx(
        (frame["new"] - frame["old"]).to_numpy(), abs=0.05
    )


def test_preview__has_the_ratings_of_atcoder() -> None:
    """The displayed ratings before and after, of newcomers and of low ratings too, and performances below a cap."""
    contests, twin = synthetic(20, spice=False), atcoder.Twin()
    shown: dict[str, float] = {}
    for contest in contests:
        rows = zip(contest.handles.to_pylist(), contest.lo.tolist(), contest.hi.tolist(), strict=True)
        shown |= {one.player: one.rating for one in twin.rate(list(rows))}
    _, beliefs = rate_history(frame_of(contests), system="atcoder", engine="serial", return_beliefs=True)
    names = [*list(shown)[:30], "newcomer", "another"]
    ranks = np.sort(np.random.default_rng(2).integers(1, 20, len(names)))
    expected = twin.rate(ranked(names, ranks), ceiling=1400.0)
    standings = pd.DataFrame({"player": names, "rank": ranks, "perf_ceiling": 1400.0})
    found = preview(beliefs, standings).set_index("player").loc[names]
    before = [shown.get(name, np.nan) for name in names]
    assert found["rating_before"].tolist() == pytest.approx(before, abs=1e-6, nan_ok=True)
    assert found["rating"].tolist() == pytest.approx([one.rating for one in expected], abs=1e-6)
    assert found["perf"].tolist() == [one.perf for one in expected]
    assert found["perf"].max() == 1400.0
    assert found["rating"].min() < 400.0
