"""Draws and advantages that a run learns: the truth found again, by rounds, engines, corrections and stops; options."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.builders import Killed, WatchedLake
from helpers.commands import Command
from helpers.games import Game, as_contests, as_periods, ingest_periods, league
from helpers.in_process_engine import InProcessEngine
from helpers.known_chances import known_league
from helpers.lakes import contest, copy_of, ingest, often, rated, same_tables
from helpers.rated_runs import problems

from ranklake.flows.chances import prequential
from ranklake.flows.chances.record import RunChances, chances_before_rounds, learnt_chances
from ranklake.flows.chances.settings import ChanceOptions, ChanceSettings
from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.evaluation.seen_chances import PredictedGames
from ranklake.flows.maintenance.verify import replay
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.datasets.tables.games import Period
from ranklake.storage.datasets.tables.kept import Kept, text_of

NU, AHEAD = 0.8, 60.0
GAMES = known_league(2_000, NU, AHEAD)
PERIODS = as_periods(GAMES)
RUNS = pytest.mark.parametrize("run", ["ahead", pytest.param("run", marks=pytest.mark.slow)])
OFTEN = often(segment_rows=300, snapshot_rows=900)
LEARNT = ChanceOptions(advantage="learnt")


def keeping(periods: list[Period], column: str, values: list[str]) -> list[Period]:
    """The periods with values of a column, game by game in turn."""
    texts = tuple(text_of({column: value}) for value in values)

    def kept(n: int) -> Kept:
        return Kept(texts, (np.arange(n) % len(values)).astype(np.int32))

    return [replace(one, games=replace(one.games, kept=kept(len(one)))) for one in periods]


def bring(
    lake: Lake,
    run: str = "run",
    chances: ChanceOptions | None = None,
    engine: Engine | None = None,
    system: str = "elo",
    max_rounds: int | None = None,
    policy: Any = OFTEN,
    dataset: str = "league",
    **settings: Any,
) -> None:
    """Bring a run up to date, with choices of what it learns."""
    params = build_params(find_system(system), settings)
    config = RunConfig(dataset, run, system, params, chances=None if chances is None else chances.over(None))
    rate(lake, config, engine or Serial(), RateOptions(max_rounds, policy=policy))


def learnt(lake: Lake, run: str = "run") -> RunChances:
    found = learnt_chances(RatedRounds(lake, run))
    assert found is not None
    return found


def stored(lake: Lake, run: str = "run") -> bytes:
    return (Path(lake.url) / "runs" / run / "rounds" / "chances.json").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A run over games, and one that rates with what it has learnt."""
    lake = Lake.open(tmp_path_factory.mktemp("undisturbed") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    bring(lake)
    bring(lake, "ahead", LEARNT)
    return lake


@pytest.fixture
def lake(undisturbed: Lake, tmp_path: Path) -> Lake:
    return copy_of(undisturbed, tmp_path / "lake")


# --- what is learnt ---


def test_run__finds_draws_and_advantage_again(undisturbed: Lake) -> None:
    last = learnt(undisturbed).last.overall
    assert last.games == 2_000
    assert abs(np.log(last.nu / NU)) < 3.0 * last.ln_nu_error
    assert abs(last.advantage - AHEAD) < 3.0 * last.advantage_error
    assert learnt(undisturbed, "ahead").last.overall.advantage == pytest.approx(last.advantage, abs=3.0)


def test_round__is_predicted_by_earlier_games_only(undisturbed: Lake, tmp_path: Path) -> None:
    changed = [*PERIODS[:6], *(replace(one, score=1.0 - one.score) for one in PERIODS[6:])]
    other = Lake.open(tmp_path / "other", create=True)
    ingest_periods(other, changed)
    bring(other)
    bring(other, "ahead", LEARNT)
    for run in ("run", "ahead"):
        one, two = learnt(undisturbed, run), learnt(other, run)
        assert [one.before(r).overall for r in range(7)] == [two.before(r).overall for r in range(7)]
        assert one.before(7).overall != two.before(7).overall
        assert one.last.overall.advantage > two.last.overall.advantage + 20.0
    assert learnt(other).before(0).games == 0


@pytest.mark.slow
def test_advantage__in_the_column_leaves_none_to_learn(undisturbed: Lake, tmp_path: Path) -> None:
    last = learnt(undisturbed).last.overall
    other = Lake.open(tmp_path / "other", create=True)
    ingest_periods(other, as_periods([game._replace(advantage=last.advantage) for game in GAMES]))
    ratings = {"k": 0.0}  # the same ratings with and without
    bring(other, **ratings)
    same = copy_of(undisturbed, tmp_path / "same")
    bring(same, "flat", **ratings)
    without, within = learnt(same, "flat").last.overall, learnt(other).last.overall
    assert within.advantage + last.advantage == pytest.approx(without.advantage, abs=4.0)  # the prior pulls both to 0
    assert within.nu == pytest.approx(without.nu, rel=0.005)
    bring(other, "rated")
    assert abs(learnt(other, "rated").last.overall.advantage) < 3.0 * last.advantage_error


def test_learnt_advantage__rates_as_the_same_column(undisturbed: Lake, tmp_path: Path) -> None:
    """Every period again, with the advantage that was known before it as its column."""
    known = learnt(undisturbed, "ahead")
    periods = []
    for at, period in enumerate(PERIODS):
        ahead = np.full(len(period), known.before(at).overall.advantage)
        periods.append(replace(period, games=replace(period.games, advantage=ahead)))
    other = Lake.open(tmp_path / "other", create=True)
    ingest_periods(other, periods)
    bring(other)
    assert same_tables(rated(other), rated(undisturbed, "ahead"))
    assert not same_tables(rated(undisturbed), rated(undisturbed, "ahead"))
    assert known.of_games(np.arange(len(PERIODS))).advantage.tolist() == [
        known.before(at).overall.advantage for at in range(len(PERIODS))
    ]


@pytest.mark.slow
def test_column__has_draws_and_advantages_of_its_own(tmp_path: Path) -> None:
    neutral = known_league(1_000, 0.8, 0.0, seed=6)
    mixed = [game for pair in zip(known_league(1_000, 0.8, 90.0), neutral, strict=True) for game in pair]
    lake = Lake.open(tmp_path / "lake", create=True)
    periods = keeping(as_periods(mixed), "neutral", ["no", "yes"])
    ingest_periods(lake, [*periods[:-1], replace(periods[-1], games=replace(periods[-1].games, kept=None))])
    bring(lake, chances=ChanceOptions(by="neutral"))
    both = learnt(lake).last.values
    assert abs(both["no"].advantage - 90.0) < 3.0 * both["no"].advantage_error
    assert abs(both["yes"].advantage) < 3.0 * both["yes"].advantage_error
    assert (both["no"].games, both["yes"].games) == (900, 900)
    bring(lake, chances=ChanceOptions(by="neutral", no_advantage=("yes",)))  # replaces the settings: no rating changes
    known = learnt(lake)
    assert (known.last.of("yes").advantage, known.last.of("yes").nu) == (0.0, known.last.overall.nu)
    assert known.last.of("no").advantage == pytest.approx(both["no"].advantage, abs=1e-6)
    assert known.last.of("elsewhere") == known.last.of() == known.last.overall
    assert known.last.overall.advantage > known.last.of("no").advantage - 20.0  # games without one do not dilute it
    table = known.of_games(np.full(3, 9), ["no", "yes"], np.array([0, 1, -1], np.int32))
    assert table.advantage.tolist() == [known.before(9).of(value).advantage for value in ("no", "yes", None)]
    bring(lake, "ahead", ChanceOptions(by="neutral", no_advantage=("yes",), advantage="learnt"))
    assert learnt(lake, "ahead").last.of("no").advantage > 60.0


@pytest.mark.slow
def test_games__that_say_nothing_of_the_first_player_teach_draws_only(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    winners = [g if g.score >= 0.5 else Game(g.black, g.white, 1.0, g.time_seconds) for g in GAMES[:900]]
    ingest_periods(lake, as_periods(winners))
    ingest(lake, as_contests(winners), "contests")
    ingest(lake, [contest("three", "a", "b", "c")], "three")
    bring(lake)
    bring(lake, "duels", dataset="contests")
    bring(lake, "three", dataset="three")
    table, duels = learnt(lake).last.overall, learnt(lake, "duels").last.overall
    assert (table.advantage, duels.advantage) == (0.0, 0.0)
    assert table.nu == pytest.approx(duels.nu, rel=1e-9)
    assert abs(np.log(table.nu / NU)) < 4.0 * table.ln_nu_error
    assert learnt_chances(RatedRounds(lake, "three")) is None
    assert not (tmp_path / "lake" / "runs" / "three" / "rounds" / "chances.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["trueskill", "glicko2", "elo-mmr"])
def test_systems__learn_by_their_own_chances(lake: Lake, system: str) -> None:
    bring(lake, system, system=system)
    last = learnt(lake, system).last.overall
    scale = 25.0 / 350.0 if system == "trueskill" else 1.0
    assert 0.2 * AHEAD * scale < last.advantage < 2.0 * AHEAD * scale
    assert (last.nu == 0.0) == (system == "trueskill")
    record = stored(lake, system)
    (Path(lake.url) / "runs" / system / "rounds" / "chances.json").unlink()
    bring(lake, system, system=system)  # from the stored rounds
    assert stored(lake, system) == record


# --- one record, however it came about ---


ENGINES: dict[str, tuple[Any, dict[str, Any]]] = {
    "workers": (lambda: InProcessEngine(2), {"segment_rows": 1_000, "snapshot_rows": 100}),
    "serial": (Serial, {"segment_rows": 100_000}),
    "threads": (lambda: Threads(2), {"segment_rows": 70}),
    "dask": (lambda: open_engine("dask", 2), {"segment_rows": 500}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("ahead", "workers"),
        *(
            pytest.param(run, name, marks=pytest.mark.slow)
            for run, name in (("run", "workers"), ("run", "serial"), ("run", "threads"), ("ahead", "threads"))
        ),
        pytest.param("ahead", "dask", marks=pytest.mark.slow),
    ],
)
def test_record__is_the_same_for_every_engine_and_commit(
    undisturbed: Lake, tmp_path: Path, run: str, name: str
) -> None:
    engine, sizes = ENGINES[name]
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_periods(lake, PERIODS[:6])
    choice = LEARNT if run == "ahead" else None
    with engine() as opened:
        bring(lake, run, choice, opened, policy=often(**sizes))
        ingest_periods(lake, PERIODS[6:])
        bring(lake, run, None, opened, policy=often(**sizes))  # keeps what the run has
    assert stored(lake, run) == stored(undisturbed, run)
    assert same_tables(rated(lake, run), rated(undisturbed, run))
    assert problems(lake, run) == []
    assert list(replay(lake, run, 4, 9, Serial(), [])) == []


@pytest.mark.slow
@RUNS
def test_record__is_corrected_from_the_corrected_round_on(lake: Lake, run: str) -> None:
    before = learnt(lake, run)
    corrected = replace(PERIODS[4], score=1.0 - PERIODS[4].score)
    ingest_periods(lake, [corrected])
    bring(lake, run)
    after = learnt(lake, run)
    assert after.fits[:4] == before.fits[:4]
    assert after.fits[4].overall != before.fits[4].overall
    fresh = copy_of(lake, Path(lake.url).parent / "fresh")
    bring(fresh, f"{run}-2", LEARNT if run == "ahead" else None)
    assert stored(fresh, f"{run}-2") == stored(lake, run)


@pytest.mark.slow
@pytest.mark.parametrize("run", ["run", "ahead"])
def test_record__is_made_again_after_a_stop(undisturbed: Lake, tmp_path: Path, run: str) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_periods(lake, PERIODS)
    watched = WatchedLake(lake, fail_at=9, error=Killed())
    with pytest.raises(Killed):
        bring(watched, run, LEARNT if run == "ahead" else None)  # type: ignore[arg-type]
    bring(lake, run, LEARNT if run == "ahead" else None)
    assert stored(lake, run) == stored(undisturbed, run)


@pytest.mark.slow
def test_record__that_is_missing_stale_or_damaged_is_fitted_now(lake: Lake) -> None:
    expected, path = learnt(lake).last.overall, Path(lake.url) / "runs" / "run" / "rounds" / "chances.json"
    record = json.loads(path.read_bytes())
    assert learnt(lake).note == ""
    for content, why in (
        (None, "was rated before chances were stored"),
        (json.dumps({**record, "digest": "00"}), "has a record of chances of other rounds"),
        ('{"format": 1', "has a damaged record"),
    ):
        path.unlink()
        if content is not None:
            path.write_text(content)
        found = learnt(lake)
        assert f"run run {why}" in found.note
        assert "fitted now, to 2,000 games" in found.note
        assert found.last.overall.nu == pytest.approx(expected.nu, rel=1e-9)
        assert found.last.overall.advantage == pytest.approx(expected.advantage, abs=1e-6)
        path.write_text("")
    assert "chances.json: not readable" in problems(lake)[0]
    bring(lake)
    assert json.loads(path.read_bytes()) == record
    assert problems(lake) == []


@pytest.mark.bound(
    "ranklake.flows.chances.prequential.MOST_GAMES", "ranklake.flows.chances.prequential.MOST_SLOW_GAMES"
)
def test_games__too_many_are_learnt_from_if_asked(lake: Lake, invoke: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prequential, "MOST_GAMES", 1_999)
    many = ("rate", "--dataset", "league", "--system", "elo", "--run", "many", "--lake", lake.url)
    assert "draws and advantages of 2,000 games take much memory: they are learnt by --draws" in invoke(*many).err
    assert "fitted now, to 1,800 games" in learnt(lake, "many").note
    assert chances_before_rounds(RatedRounds(lake, "many")) is None
    with pytest.raises(LakeError, match="has 2,000 games, of which it learns only if asked: `ranklake rate --run many"):
        PredictedGames.of(RatedRounds(lake, "many"))
    assert invoke(*many, "--draws", "preserving").code == 0
    assert learnt(lake, "many").fits == learnt(lake).fits


def test_run_without_choices__has_the_configuration_of_before(undisturbed: Lake) -> None:
    assert not {"chances", "learnt_advantage"} & Run.open(undisturbed, "run").config.keys()
    assert Run.open(undisturbed, "ahead").config["learnt_advantage"] == {"draws": "preserving"}


# --- options ---


@pytest.mark.slow
def test_options__are_stored_replaced_and_refused(lake: Lake, invoke: Command) -> None:
    where = ("--lake", lake.url)
    davidson = invoke("rate", "--run", "run", "--draws", "davidson", "--chances-weighted", *where)
    assert davidson.code == 0
    assert Run.open(lake, "run").config["chances"] == {"draws": "davidson", "weighted": True}
    assert learnt(lake).settings == ChanceSettings("davidson", weighted=True, asked=True)
    assert invoke("rate", "--run", "run", "--draws", "none", "--chances-unweighted", *where).code == 0
    assert (learnt(lake).last.overall.nu, learnt(lake).fits) == (0.0, ())
    refused = invoke("rate", "--run", "run", "--advantage", "learnt", *where)
    assert refused.code == 2
    assert "run run exists with advantage stored; requested was advantage learnt (draws none)" in refused.err
    again = invoke("rate", "--run", "ahead", "--draws", "davidson", *where)
    assert (
        "run ahead exists with advantage learnt (draws preserving); requested was advantage learnt (draws" in again.err
    )
    same = invoke("rate", "--run", "ahead", "--advantage", "learnt", *where)
    assert (same.code, "rated 0 rounds" in same.out) == (0, True)
    assert invoke("rate", "--run", "ahead", "--advantage", "stored", "--replace", *where).code == 0
    assert same_tables(rated(lake, "ahead"), rated(lake, "run"))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("--chances-by leagues", "data set kept has no such column; did you mean 'league'?; it has league"),
        ("--chances-by league --no-advantage E3", "no game has this value of league"),
        ("--no-advantage E0", "has values of a column: name it by --chances-by"),
        ("--chances-by league --no-advantage E0,,", "an empty value or one twice"),
        ("--advantage learnt --system codeforces", "codeforces computes in whole numbers"),
        ("--advantage learnt --dataset duels", "data set duels has contests: contests do not say who came first"),
        ("--chances-by league --dataset duels", "data set duels has contests"),
        ("--draws preserving --dataset three", "contest three has 3 participants"),
    ],
)
def test_options__that_cannot_be_met_are_refused(kept: Lake, invoke: Command, options: str, rule: str) -> None:
    answer = invoke("rate", "--dataset", "kept", "--run", "new", *options.split(), "--lake", kept.url)
    assert answer.code != 0
    assert rule in answer.err
    assert "new" not in Run.names(kept)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Games with a league, contests of two, and one of three."""
    lake = Lake.open(tmp_path_factory.mktemp("kept") / "lake", create=True)
    ingest_periods(lake, keeping(as_periods(league(60)), "league", ["E0", "E1"]), "kept")
    ingest(lake, as_contests(league(5)), "duels")
    ingest(lake, [contest("two", "a", "b"), contest("three", "a", "b", "c")], "three")
    return lake
