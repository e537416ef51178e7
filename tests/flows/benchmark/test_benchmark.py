"""All systems on several histories: the numbers of `evaluate`, one report by any engine, and what cannot be done."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.games import league
from helpers.lakes import lake_of, synthetic
from helpers.tables import over_years

import ranklake
from ranklake.flows.benchmark.candidates import candidates_of, published_for
from ranklake.flows.benchmark.cells import measure
from ranklake.flows.benchmark.histories import HistorySource, sources_of
from ranklake.flows.benchmark.measures import COLUMNS, RESULTS, differences, measures
from ranklake.flows.common.metric_names import COMPARED_METRICS
from ranklake.flows.common.progress import not_shown
from ranklake.flows.ingestion.games import ingest_games
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.metrics.bootstrap import MOST_UNITS
from ranklake.rating_kernels.metrics.metrics import LAW_METRICS
from ranklake.storage import Lake

CHANCES = ("own_cross_entropy", "brier", "calibration_error")
SYSTEM = ("--system", "elo", "--system", "elo-mmr")
CONTESTS = over_years(synthetic(60, n_players=40))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of contests ``club``, games ``chess.csv``, and results of teams ``teams.csv``."""
    folder = tmp_path_factory.mktemp("histories")
    write_folder(folder / "club", CONTESTS)
    games = pd.DataFrame(league(200, n_players=12))
    games["result"] = games.score.map({1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"})
    columns = {"white": games.white, "black": games.black, "result": games.result, "time": games.time_seconds}
    pd.DataFrame(columns).to_csv(folder / "chess.csv", index=False)
    rows = [
        (contest, f"p{(contest + place + 3 * member) % 9}", place + 1, f"team {place}")
        for contest in range(12)
        for place in range(3)
        for member in range(2)
    ]
    table = pd.DataFrame(rows, columns=["contest", "player", "rank", "club"])
    table.drop_duplicates(["contest", "player"]).to_csv(folder / "teams.csv", index=False)
    return folder


def report_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    return found


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    """The report without what depends on the machine."""
    for history in report["histories"]:
        for row in history["systems"]:
            assert row.pop("seconds", 0.0) >= 0.0
            row.pop("machine", None)
    return report


def rows_of(report: dict[str, Any], history: str) -> dict[str, dict[str, Any]]:
    (found,) = [one for one in report["histories"] if one["name"] == history]
    return {row["label"]: row for row in found["systems"]}


@pytest.mark.quick("club*")
@pytest.mark.parametrize(
    ("name", "system", "setting"),
    [
        ("club", "elo-mmr", ""),
        ("chess", "elo", ""),
        ("chess", "glicko", "games=simultaneous"),
        ("chess", "fide", "mu_init=1500"),
        ("chess", "bt", ""),
    ],
)
def test_benchmark__has_the_numbers_of_evaluate(
    invoke: Command, files: Path, tmp_path: Path, name: str, system: str, setting: str
) -> None:
    given = ["--set", setting] if setting else []
    paths = ([], [files / "chess.csv"]) if name == "chess" else ([files / "club"], [])
    label = f"{system} {setting}".strip()
    frame = ranklake.benchmark(paths[0], [label], games=paths[1])
    source, lake = ("games" if name == "chess" else "files"), ("--lake", tmp_path / "lake")
    assert invoke("ingest", source, *paths[0], *paths[1], "--dataset", name, *lake).code == 0
    assert invoke("rate", "--dataset", name, "--system", system, *given, "--run", "run", *lake).code == 0
    expected = json.loads(invoke("evaluate", "--run", "run", "--skip-share", "0.1", "--format", "json", *lake).out)
    scores = rows_of(frame.attrs["report"], name)[label]["scores"]
    for group in ("everyone", "experienced"):
        for metric in ("pair_inversion", "pair_inversion_equal_half", "rank_deviation", *LAW_METRICS, *CHANCES):
            value = expected["filters"][group][metric]
            assert scores[group][metric] == (None if value is None else pytest.approx(value, rel=1e-12)), metric
    if name == "chess":
        errors = [expected["games"]["everyone"][metric] for metric in ("squared_error", "cross_entropy")]
        assert [scores["everyone"][metric] for metric in ("brier", "own_cross_entropy")] == pytest.approx(errors)
    for group in ("everyone", "experienced"):
        for metric in RESULTS:
            value = expected["three_way"]["filters"][group][metric] if name == "chess" else None
            assert scores[group][metric] == (None if value is None else pytest.approx(value, rel=1e-12)), metric


def test_benchmark__drift_is_the_slope_of_the_yearly_means(files: Path) -> None:
    rows = [
        (one.contest_id, handle, lo, hi, one.time_seconds)
        for one in CONTESTS
        for handle, lo, hi in zip(one.handles.to_pylist(), one.lo, one.hi, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["contest", "player", "lo", "hi", "time"])
    row = ranklake.benchmark({"club": frame}, ["elo"], engine="serial").iloc[0]
    history = ranklake.rate_history(frame, "elo", engine="serial")
    time = history.contest.map({one.contest_id: one.time_seconds for one in CONTESTS})
    dated = history.assign(year=time.cummax() // 31_556_952)[time > 0]  # the first one has no time
    last = dated.groupby(["year", "player"])["mu"].last().groupby("year").agg(["mean", "size"])
    slope = np.polyfit(last.index.to_numpy(), last["mean"], 1, w=np.sqrt(last["size"]))[0]
    assert row["drift"] == pytest.approx(slope, rel=1e-9)


@pytest.mark.slow
def test_benchmark__gives_the_same_report_by_any_engine(files: Path) -> None:
    one, other = (
        ranklake.benchmark([files / "club"], ["elo", "elo-mmr"], games=[files / "chess.csv"], **engine).attrs["report"]
        for engine in ({"engine": "serial"}, {"engine": "threads", "workers": 3})
    )
    assert timeless(one) == timeless(other)


@pytest.mark.slow
def test_benchmark__gives_the_same_report_on_a_cluster(files: Path) -> None:
    pytest.importorskip("distributed", reason="needs pip install 'ranklake[cluster]'")
    one, other = (
        ranklake.benchmark([files / "club"], games=[files / "chess.csv"], **engine).attrs["report"]
        for engine in ({"engine": "serial"}, {"engine": "dask", "workers": 2})
    )
    assert timeless(one) == timeless(other)


def test_fide__needs_games_and_players_with_a_rating(files: Path) -> None:
    systems = ["fide", "fide mu_init=1500"]
    report = ranklake.benchmark([files / "club"], systems, games=[files / "chess.csv"]).attrs["report"]
    for name, last in (("club", "not possible"), ("chess", "rated")):
        assert [rows_of(report, name)[label]["status"] for label in systems] == ["not possible", last]
    reason = rows_of(report, "chess")["fide"]["reason"]
    said = "fide rates games against rated players, and no player of history chess has a rating"
    assert reason == f"{said}; a benchmark reads no attributes of players: give newcomers one, as mu_init=1500"


def test_fide__is_not_possible_for_periods_of_hours_or_games_with_advantages(tmp_path: Path) -> None:
    lines = ["white,black,result,time", "a,b,1-0,2026-01-10T10:00", "b,c,1-0,2026-01-10T18:00", "c,a,1-0,2026-01-12"]
    (tmp_path / "hours.csv").write_text("\n".join(lines), encoding="utf-8")
    columns = [",".join(cells) for cells in zip(lines, ("advantage", "0", "0", "35"), strict=True)]
    (tmp_path / "ahead.csv").write_text("\n".join(columns), encoding="utf-8")
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_games(lake, [str(tmp_path / "hours.csv")], "hours", GamesOptions(period="hour"))
    [fide] = candidates_of(["fide mu_init=1500"])
    sources = [HistorySource("hours", lake, {}), *sources_of([], [str(tmp_path / "ahead.csv")], [], {})]
    hours, ahead = (measure(source.read(not_shown), fide, 0.1, 1) for source in sources)
    assert (hours.status, ahead.status) == ("not possible", "not possible")
    assert hours.reason == (
        "fide rates periods of a day or longer, and the periods to 2026-01-10 10:00:00 UTC and to 2026-01-10 18:00:00 "
        "UTC end on one day; give a data set of games with a longer --period"
    )
    assert ahead.reason == (
        "fide has no rule for advantages, and period to 2026-01-12 00:00:00 UTC of history ahead has a game with one; "
        "leave the column of advantages out"
    )


def test_benchmark__names_what_cannot_be_read_or_rated(invoke: Command, files: Path, tmp_path: Path) -> None:
    (tmp_path / "torn.tar.xz").write_bytes(b"no archive")
    words = (
        "benchmark", tmp_path / "torn.tar.xz", f"no such={tmp_path / 'missing.csv'}", f"teams={files / 'teams.csv'}",
        "--column", "teams.team=club", "--system", "elo", "--system", "elo-mmx", "--system", "elo-mmr drift_per_day=5",
    )  # fmt: skip
    answer = invoke(*words, "-o", tmp_path / "out")
    assert answer.code == 1
    assert re.search(r"^torn: torn\.tar\.xz: .*", answer.err, re.MULTILINE)
    assert re.search(r"^no such: .*missing\.csv: no such file or folder$", answer.err, re.MULTILINE)
    report = report_in(tmp_path / "out")
    assert [one["name"] for one in report["unreadable"]] == ["torn", "no such"]
    rows = rows_of(report, "teams")
    assert rows["elo-mmx"]["status"] == "rated"
    assert rows["elo-mmx"]["scores"]["everyone"]["pair_inversion"] > 0.0
    assert (rows["elo"]["status"], rows["elo"]["reason"]) == (
        "not possible", "elo has no rule for rounds of teams; elo-mmr, elo-mmx, elo-mms, trueskill and bar have one"
    )  # fmt: skip
    reason = rows["elo-mmr drift_per_day=5"]["reason"]
    assert reason == "drift_per_day = 5 counts the days between contests, and the history has no times"
    assert "not possible: elo has no rule" in answer.out
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "elo has no rule for rounds of teams" in page
    assert re.search(r"no such could not be read: \S*missing\.csv: no such file or folder", page)


@pytest.mark.slow
def test_benchmark__reads_a_folder_of_histories_and_a_lake(invoke: Command, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    table = "contest,player,rank\n1,ada,1\n1,bob,2\n2,bob,1\n2,cy,2\n"
    for name in ("one.csv", "two.tsv"):
        (folder / name).write_text(table if name == "one.csv" else table.replace(",", "\t"), encoding="utf-8")
    (folder / "README.md").write_text("about", encoding="utf-8")
    lake_of(tmp_path / "lake", CONTESTS[:5], "stored")
    lake = ("--lake", tmp_path / "lake", "--dataset", "stored")
    answer = invoke("benchmark", folder, *lake, "--system", "elo", "--format", "json", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    printed = json.loads(answer.out)
    assert printed == report_in(tmp_path / "out")
    assert [(one["name"], one["contests"]) for one in printed["histories"]] == [("one", 2), ("two", 2), ("stored", 5)]
    whole = sources_of([f"both={folder}/*.csv"], (), (), {})
    assert [(one.name, one.place) for one in whole] == [("both", f"{folder}/*.csv")]


def test_sources__choose_columns_by_history_and_kind(files: Path) -> None:
    paths = [f"club={files / 'club'}", f"a.b={files / 'teams.csv'}"]
    columns = ["player=handle", "white=White", "a.b.player=name", "chess.black=Black"]
    found = {one.name: one for one in sources_of(paths, [str(files / "chess.csv")], columns, {"on_error": "skip"})}
    assert {name: one.options["columns"] for name, one in found.items()} == {
        "club": [],
        "a.b": ["player=name"],
        "chess": {"black": "Black", "white": "White"},
    }
    assert (found["chess"].games, found["chess"].options["on_error"], found["a.b"].games) == (True, "skip", False)


def test_candidates__know_where_their_settings_come_from() -> None:
    found = candidates_of(["elo", "elo k=20", "elo-mmr"], ["elo-mmr.rho=0.04"], ["dmoj"])
    assert [(one.label, one.provenance) for one in found] == [
        ("elo", "default"), ("elo k=20", "set"), ("elo-mmr rho=0.04", "set"), ("dmoj", "preset"),
    ]  # fmt: skip
    assert [one.to_json()["settings"] for one in found[:3]] == [{}, {"k": 20.0}, {"rho": 0.04}]
    assert found[3].to_json()["system"] == "elo-mmr"
    assert [one.label for one in candidates_of(())] == list(SYSTEMS)
    assert candidates_of(["elo"], ["k=7"])[0].label == "elo k=7"
    published = published_for("reddit")
    assert {one.provenance for one in published} == {"published"}
    assert published[0].to_json()["settings"] == {"beta": 30.0, "weight": 0.05}
    assert published_for("unknown") == []


def test_benchmark__adds_what_is_published_for_a_history_of_this_name() -> None:
    frame = pd.DataFrame({"contest": [1, 1, 2, 2], "player": list("abba"), "rank": [1, 2, 1, 2]})
    found = ranklake.benchmark({"reddit": frame, "club": frame}, ["elo"], published=True, skip_share=0.0)
    rows = found[found["provenance"] == "published"]
    assert set(rows["history"]) == {"reddit"}
    assert {"cf-general, published", "elo-mmr, published", "bar, published"} <= set(rows["system"])
    assert set(found["status"]) == {"rated"}


@pytest.mark.slow
def test_differences__are_those_of_drawn_rounds() -> None:
    draw = np.random.default_rng(1)
    width = len(COLUMNS) + 40
    one, other = (draw.uniform(1.0, 2.0, (50, width)) for _ in range(2))
    other[:, 0] = one[:, 0]  # the same participations
    found = differences({"one": one, "other": other})
    for metric in COMPARED_METRICS:
        names = {row.best for row in found[metric].values()}
        (best,) = names
        assert found[metric][best][1:] == (0.0, 0.0, 0.0)
        (rest,) = found[metric].keys() - names
        values = {name: measures(sums.sum(axis=0))[metric] for name, sums in (("one", one), ("other", other))}
        assert found[metric][rest].difference == values[rest] - values[best]
        drawn = np.random.default_rng(0).integers(0, 50, (2_000, 50))
        each = {name: measures(sums[drawn].sum(axis=1))[metric] for name, sums in (("one", one), ("other", other))}
        low, high = np.quantile(each[rest] - each[best], [0.025, 0.975])
        assert found[metric][rest][2:] == pytest.approx((low, high), rel=1e-9)


@pytest.mark.slow
def test_measures__of_a_long_history_are_those_of_all_its_rounds(tmp_path: Path) -> None:
    n = MOST_UNITS + 900
    draw = np.random.default_rng(2)
    players = np.argsort(draw.random((n, 20)), axis=1)[:, :2]
    frame = pd.DataFrame({"contest": np.repeat(np.arange(n), 2), "player": players.ravel(), "rank": [1, 2] * n})
    row = ranklake.benchmark({"duels": frame}, ["elo"], skip_share=0.25, engine="serial").iloc[0]
    scores = ranklake.evaluate_history(ranklake.rate_history(frame, "elo", engine="serial"), n // 4)
    for group in ("everyone", "experienced"):
        for metric in ("pair_inversion", "rank_deviation"):
            assert row[f"{metric}_{group}"] == pytest.approx(scores.loc[group, metric], rel=1e-12)


@pytest.mark.slow
def test_benchmark__in_python_is_that_of_the_command(invoke: Command, files: Path, tmp_path: Path) -> None:
    invoke("benchmark", files / "club", *SYSTEM, "--engine", "serial", "--metric", "own_cross_entropy", "-o", tmp_path)
    frame = ranklake.benchmark([files / "club"], ["elo", "elo-mmr"], engine="serial", metric="own_cross_entropy")
    assert timeless(frame.attrs["report"]) == timeless(report_in(tmp_path))
    assert frame["system"].tolist() == frame.sort_values("own_cross_entropy_experienced")["system"].tolist()
    assert frame["difference"].tolist()[0] == 0.0
    with pytest.warns(UserWarning, match="history gone could not be read: .*gone.csv: no such file"):
        assert ranklake.benchmark({"gone": tmp_path / "gone.csv"}, ["elo"]).empty
    with pytest.raises(TypeError, match="histories must be a mapping from names"):
        ranklake.benchmark(files / "club")  # type: ignore[arg-type]


@pytest.mark.slow
def test_report__escapes_names_and_needs_no_other_file(invoke: Command, files: Path, tmp_path: Path) -> None:
    name = "<b onclick\u202e>"
    assert invoke("benchmark", f"{name}={files / 'club'}", *SYSTEM, "-o", tmp_path).code == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<b onclick" not in page
    assert "&lt;b onclick" in page
    assert "\u202e" not in page
    assert page.count('<img alt="') == 2
    assert not re.search(r'(?:src|href)="(?!data:image/svg)', page)
    assert "elo-mmr" in page
    assert "drift_per_day=0.0" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give at least one history"),
        (("{club}", "{club}"), "two histories are called 'club'"),
        (("{club}", "--system", "eloo"), "did you mean elo"),
        (("{club}", "--system", "elo", "--system", "elo"), "--system 'elo' is given twice"),
        (("{club}", "--system", "elo k=-1"), "k must be"),
        (("{club}", "--set", "k=1"), "with several systems a setting is SYSTEM.KEY=VALUE, got k=1"),
        (("{club}", "--preset", "dmjo"), "did you mean dmoj"),
        (("{club}", "--preset", "dmoj", "--set", "rho=1"), "a preset has its own settings"),
        (("{club}", "--column", "chess.rank=x"), "there is no history 'chess'; there are club"),
        (("{club}", "--column", "rnak=x"), "there is no key 'rnak'"),
        (("{club}", "--dataset", "x"), "--dataset needs --lake"),
        (("{club}", "--metric", "luck"), "'luck' is not one of"),
        (("{club}", "--skip-share", "1"), "1.0 is not in the range"),
        (("{club}", "--engine", "gpu"), "engine must be one of serial, threads, dask"),
    ],
)
def test_command__refuses_wrong_use(
    invoke: Command, files: Path, tmp_path: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKLAKE_LAKE", raising=False)
    given = [word.format(club=files / "club") for word in words]
    answer = invoke("benchmark", *given, "-o", tmp_path / "out")
    assert answer.code == 2
    assert message in answer.err
    assert not (tmp_path / "out").exists()
