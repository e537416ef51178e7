"""Previews with a run of a lake, by the function and by the command: equal to ingesting and rating the contest."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.lakes import contest, files, ingest, lake_of, rate_run, rated, same_beliefs, synthetic

import ranklake
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import Standings, standings_from_file
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Contest, Dataset, Lake, Run

CONTESTS = synthetic(30)
NEXT = ("player 3", ["player 0", "somebody new"], "player 7", "player 12", ["player 5", "visitor 9"])
PLACES = np.array([0, 1, 1, 3, 4, 5, 5]), np.array([0, 2, 2, 3, 4, 6, 6])
NUMBERS = ("perf", "mu_prior", "sigma_prior", "mu", "sigma")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with ``CONTESTS``, rated as ``run``."""
    opened = lake_of(tmp_path / "lake", CONTESTS)
    rate_run(opened)
    return opened


def standings_of(one: Contest) -> Standings:
    facts = {"time_seconds": one.time_seconds, "weight": one.weight, "perf_ceiling": one.perf_ceiling}
    return Standings.of(one.handles.to_pylist(), one.lo, one.hi, **facts)


def names_in(groups: Sequence[Any]) -> list[str]:
    return [name for group in groups for name in ([group] if isinstance(group, str) else group)]


def equal_to_the_rating(lake: Lake, one: Contest, run: str = "run", **settings: Any) -> None:
    """The preview of the contest, with all beliefs in memory and with those of the participants alone."""
    standings = standings_of(one)
    whole = RunPreview.open(lake, run)
    some = RunPreview.open(lake, run, among=standings.players)
    assert len(some.handles) <= len(whole.handles)
    found, other = (state.preview(standings).table() for state in (whole, some))
    assert found.equals(other)
    ingest(lake, [one])
    rate_run(lake, run=run, **settings)
    last = rated(lake, run)
    last = last.filter(np.asarray(last["contest_id"]) == one.contest_id)
    for name in NUMBERS:
        a, b = (np.asarray(table[name].to_numpy(), dtype=np.float64) for table in (found, last))
        assert np.array_equal(a.view(np.int64), b.view(np.int64)) or (np.isnan(a).all() and np.isnan(b).all()), name


@pytest.mark.parametrize(
    ("system", "settings"), [("elo-mmr", {}), ("elo-srm", {}), ("elo-mms", {"learnt_drift": True})]
)
def test_preview__equals_the_next_round_of_a_run(lake: Lake, system: str, settings: dict[str, Any]) -> None:
    """To the bit: later, and as another division of the last event; with weights, a ceiling, ties and newcomers."""
    run, last = f"of-{system}", CONTESTS[-1].time_seconds
    rate_run(lake, run=run, system=system, exclude=("3",), **settings)
    equal_to_the_rating(
        lake, contest("later", *NEXT, time_seconds=last + 10**6, weight=0.5), run, system=system, **settings
    )
    second = contest("same", "player 9", "new again", "player 4", time_seconds=last + 10**6, perf_ceiling=1500.0)
    equal_to_the_rating(lake, second, run, system=system, **settings)


def test_open__reads_one_manifest_of_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    read: list[str] = []
    for stop in (10, 20, 30):
        rate_run(lake, max_rounds=stop)
    monkeypatch.setattr(Lake, "read_bytes", lambda self, path, of=Lake.read_bytes: read.append(path) or of(self, path))
    state = RunPreview.open(lake, "run")
    assert sum(path.startswith("runs/run/rounds/") for path in read) == 1
    monkeypatch.setattr(Run, "newest_segment", lambda self: None)  # as if it did not fit the data set
    read.clear()
    other = RunPreview.open(lake, "run")
    assert sum(path.startswith("runs/run/rounds/") for path in read) > 1
    assert (state.n_events, state.last_time, state.latest) == (other.n_events, other.last_time, other.latest)
    assert same_beliefs(state.columns, other.columns)


def test_preview__writes_nothing(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    before = files(tmp_path / "lake")
    RunPreview.open(lake, "run").preview(standings_of(contest("x", *NEXT)))
    (tmp_path / "x.csv").write_text("player,rank\nplayer 1,1\nplayer 2,2\n", encoding="utf-8")
    assert invoke("preview", tmp_path / "x.csv", "--run", "run", "--lake", lake.url).code == 0
    assert files(tmp_path / "lake") == before


def test_preview__finds_players_under_old_names(lake: Lake) -> None:
    """An alias holds at once, also while the run has the player under the old name."""
    plain = RunPreview.open(lake, "run").preview(standings_of(contest("x", *NEXT))).table()
    with Dataset.ingest(lake, "games") as change:
        change.alias("player 7", "champion")
        change.alias("retired", "player 12")
    renamed = [{"player 12": "retired"}.get(name, name) for name in names_in(NEXT)]
    given = Standings.of(renamed, *PLACES)
    for among in (None, renamed):
        found = RunPreview.open(lake, "run", among=among).preview(given).table()
        assert found.drop_columns("handle").equals(plain.drop_columns("handle"))
        assert found["handle"].to_pylist() == renamed
    twice = Standings.of(["player 1", "retired", "player 12"], np.arange(3), np.arange(3))
    with pytest.raises(ValueError, match=r"'player 12' is listed twice in the standings: as 'retired' and 'player"):
        RunPreview.open(lake, "run").preview(twice)
    rate_run(lake)
    equal_to_the_rating(lake, contest("real", "champion", "retired", "player 1", time_seconds=10**8))


def test_function__takes_a_run(lake: Lake) -> None:
    pandas = pytest.importorskip("pandas")
    names = names_in(NEXT)
    frame = pandas.DataFrame({"player": names, "rank": [1, 2, 2, 4, 5, 6, 6]})
    run = ranklake.Lake.open(lake.url).run("run")
    found = ranklake.preview(run, frame, titles="codeforces")
    table = RunPreview.open(lake, "run").preview(standings_of(contest("x", *NEXT))).table()
    assert found["player"].tolist() == names
    assert found["mu"].tolist() == table["mu"].to_pylist()
    assert found["next_title"].notna().any()
    with pytest.raises(ValueError, match="a run has its own system and hyperparameters"):
        ranklake.preview(run, frame, system="elo")


def test_command__prints_the_same_in_every_format(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    there = ("--run", "run", "--lake", lake.url)
    file = tmp_path / "standings.json"
    rows = list(zip(names_in(NEXT), *(places.tolist() for places in PLACES), strict=True))
    file.write_text(json.dumps({"name": "next", "time_seconds": 10**8, "standings": rows}), encoding="utf-8")
    found = json.loads(invoke("preview", file, "--format", "json", "--titles", "codeforces", *there).out)
    wanted = "place, handle, perf, mu_prior, sigma_prior, mu, sigma, rating_before, rating, change, expected_place, "
    wanted += "next_title, next_title_chance, next_title_place, known, near"
    assert list(found[0]) == wanted.split(", ")
    one = standings_of(contest("x", *NEXT, time_seconds=10**8))
    table = RunPreview.open(lake, "run").preview(one).table()
    for name in ("handle", "place", "mu", "change", "expected_place"):
        assert [row[name] for row in found] == table[name].to_pylist()
    text = "player,rank\n" + "".join(f"{name},{lo + 1}\n" for name, lo, _ in rows)
    monkey = tmp_path / "standings.csv"
    monkey.write_text(text, encoding="utf-8")
    answer = invoke("preview", monkey, "--time", str(10**8), "--format", "csv", *there)
    assert [float(row["mu"]) for row in csv.DictReader(io.StringIO(answer.out))] == table["mu"].to_pylist()
    shown = invoke("preview", file, "--top", 3, "--titles", "codeforces", "--wide", *there).out
    assert "3 of 7 participants" in shown
    assert "next title" in shown
    assert "player 12" not in shown


def test_command__counts_entrants(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    there = ("--run", "run", "--lake", lake.url, "--format", "json")
    (tmp_path / "s.csv").write_text("player,score\nplayer 1,9\nplayer 2,7\n", encoding="utf-8")
    (tmp_path / "entrants.txt").write_text("player 2\r\nplayer 3\n\nnobody\n", encoding="utf-8")
    found = json.loads(invoke("preview", tmp_path / "s.csv", "--entrants", tmp_path / "entrants.txt", *there).out)
    assert [(row["place"], row["handle"]) for row in found] == [
        (1, "player 1"), (2, "player 2"), (None, "player 3"), (None, "nobody"),
    ]  # fmt: skip
    assert found[2]["change"] is None
    assert found[2]["expected_place"] > 1.0


MANY = "contest,player,rank\na,x,1\na,y,2\nb,x,1\nb,y,2\n"
WRONG = [
    ("place,name_\n1,x\n", (), 1, "there is no column player"),
    ("player,rank\nx,1\nx,2\n", (), 1, "player 'x' is listed twice"),
    ("player,rank\n", (), 1, "the table has no rows"),
    ("player,rank\nx,1\n", (), 2, "such a contest is not rated: one participant only"),
    (MANY, (), 1, "a preview takes one contest, got 2: a, b"),
    ("player,rank\nx,1\ny,2\n", ("--safe",), 2, "--safe is for --format csv"),
]


@pytest.mark.parametrize(("text", "options", "code", "message"), WRONG)
def test_command__reports_invalid_input(
    lake: Lake, invoke: Command, tmp_path: Path, text: str, options: tuple[str, ...], code: int, message: str
) -> None:
    file = tmp_path / "s.csv"
    file.write_text(text, encoding="utf-8")
    there = ("--run", "run", "--lake", lake.url)
    assert message in invoke.refuses("preview", file, *options, *there, code=code)


def test_command__names_the_runs_that_exist(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("player,rank\nx,1\ny,2\n", encoding="utf-8")
    refused = invoke.refuses("preview", tmp_path / "s.csv", "--run", "ruin", "--lake", lake.url)
    assert "no run 'ruin'" in refused
    assert "there are: run" in refused


def test_command__safe_csv_has_no_formulas(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("player,rank\n=1+1,1\nplayer 2,2\n", encoding="utf-8")
    there = ("--run", "run", "--lake", lake.url, "--format", "csv")
    exact, safe = (invoke("preview", tmp_path / "s.csv", *there, *more).out for more in ((), ("--safe",)))
    assert '"=1+1"' in exact
    assert '"\'=1+1"' in safe


# Unrated participants, and limits of a rating


RESULTS = "player,rank,rated\nguest,1,false\na,2,\nb,2,true\nother,2,no\nc,5,1\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(RESULTS)
    return path


def test_unrated__outside_the_field_are_left_out(path: Path) -> None:
    found = standings_from_file(path, entrants=["a", "guest", "late"])
    assert list(found.players) == ["a", "b", "c", "late"]
    assert (found.lo.tolist(), found.hi.tolist(), found.n_placed) == ([0, 0, 2, 3], [1, 1, 2, 3], 3)


def test_unrated__in_the_field_stay(path: Path) -> None:
    found = standings_from_file(path, ReadOptions(field_includes_unrated=True))
    assert list(found.players) == ["guest", "a", "b", "other", "c"]
    assert found.lo.tolist() == [0, 1, 1, 1, 4]


def test_unrated__alone_are_an_error(path: Path) -> None:
    path.write_text("player,rank,rated\na,1,false\nb,2,false\n")
    with pytest.raises(SourceError, match="contest results: no participant is rated"):
        standings_from_file(path)


def test_limits__decide_as_when_the_contest_is_rated(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(12))
    rate_run(lake, system="elo")
    ratings = {row["handle"]: row["rating"] for row in leaderboard(lake, "run").to_pylist()}
    names = [*sorted(ratings)[:9], "newcomer"]
    bound = float(np.median([ratings[name] for name in names[:9]]))
    path = tmp_path / "next.csv"
    rows = [f"{name},{i},{bound!r}\n" for i, name in enumerate(names, start=1)]
    path.write_text("player,rank,rated_below\n" + "".join(rows))
    standings = standings_from_file(path, entrants=[*names, "late"], time_seconds=9_000_000)
    placed = dataclasses.replace(standings_from_file(path, time_seconds=9_000_000), rated_below=bound)
    preview = RunPreview.open(lake, "run")
    found = preview.preview(placed).table()
    expected = [name for name in names if ratings.get(name, 1500.0) < bound]
    assert found["handle"].to_pylist() == expected
    assert 1 < len(expected) < 9
    assert preview.preview(standings).table()["handle"].to_pylist()[: len(expected)] == expected
    ingest(lake, [contest("next", *names, time_seconds=9_000_000, rated_below=bound)])
    rate_run(lake, system="elo")
    last = rated(lake).filter(np.asarray(rated(lake)["contest_id"]) == "next")
    assert last["player"].to_pylist() == expected
    assert found["mu"].to_pylist() == last["mu"].to_pylist()


def test_limits__without_a_rating_between_them_are_an_error(tmp_path: Path, path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(5))
    rate_run(lake, system="elo")
    path.write_text("player,rank,rated_above\nnew,1,9000\nother,2,9000\n")
    with pytest.raises(ValueError, match=r"is rated: the contest rates ratings of at least 9000$"):
        RunPreview.open(lake, "run").preview(standings_from_file(path))


def test_limits__with_unrated_in_the_field_leave_nobody_out(path: Path) -> None:
    path.write_text("player,rank,rated_below\na,1,1500\nb,2,1500\n")
    assert standings_from_file(path).limited
    assert not standings_from_file(path, ReadOptions(field_includes_unrated=True)).limited
