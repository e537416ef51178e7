"""Matches rated when they come and the same history ingested and rated: the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.lakes import ingest, rated, same_beliefs, same_tables
from helpers.live_matches import DAY, START, MemoryLog, config_of, duels, fields, groups
from msgspec.structs import replace

from ranklake.flows.engines.threads import Threads
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.live.engine import Answer, LiveOptions, LiveRuns, Refused, Reply
from ranklake.flows.live.matches.match import Match, Side
from ranklake.flows.live.matches.rounds import contest_of, period_of
from ranklake.flows.live.periods.calendar import period_number
from ranklake.flows.live.periods.logged import with_time
from ranklake.flows.maintenance.verify import replay
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.flows.sources.games.periods import period_name
from ranklake.storage import Dataset, Event, Lake, Run


def season(lake: Lake, event: Event | None) -> None:
    """Record a season with a reset, if any."""
    if event is not None:
        with Dataset.ingest(lake, "games") as adding:
            adding.start_season(event)


def play(
    lake: Lake, log: MemoryLog, configs: Sequence[RunConfig], matches: Sequence[Match], options: LiveOptions
) -> dict[str, Answer]:
    """Send matches in groups, end their periods, and return the answers by id."""
    answers: dict[str, Answer] = {}
    with LiveRuns.open(lake, configs, log, options, now=START) as runs:
        for now, group in groups(matches, first=log.last):
            replies = runs.accept(group, now=now)
            assert all(isinstance(reply, Answer) and not reply.known for reply in replies)
            answers |= {reply.match.id: reply for reply in replies if isinstance(reply, Answer)}
            while runs.close_periods(now):
                pass
        while runs.close_periods(START + 10 * DAY):
            pass
        assert not runs.failure
        assert not runs.unsaved
    return answers


def batch(
    path: Path,
    log: MemoryLog,
    config: RunConfig,
    matches: Sequence[Match],
    options: LiveOptions,
    event: Event | None = None,
) -> Lake:
    """A lake with the same history, ingested at once, period after period, and rated by the batch engine."""
    lake = Lake.open(path, create=True)
    received = {record.id: record.received for record in log.records}
    given = [with_time(match, received[match.id]) for match in matches]
    if not options.games:
        ingest(lake, map(contest_of, given), config.dataset)
    else:
        numbers = [period_number(int(received[match.id]), options.period) for match in matches]
        after = [event is not None and received[match.id] >= event.time_seconds for match in matches]
        split = set(zip(numbers, after, strict=True))
        with Dataset.ingest(lake, config.dataset, games=True) as adding:
            for number, late in dict.fromkeys(zip(numbers, after, strict=True)):
                part = [one for one, *own in zip(given, numbers, after, strict=True) if own == [number, late]]
                name = period_name(number, options.period)
                adding.add(period_of(f"{name}.2" if late and (number, False) in split else name, [part], ()))
    season(lake, event)
    with Threads(2) as engine:
        rate(lake, config, engine)
    return lake


def check_same(lake: Lake, other: Lake, run: str) -> None:
    """Both lakes have the same data set and the same run, to the bit."""
    one, two = Run.open(lake, run), Run.open(other, run)
    datasets = [Dataset.open(where, one.config["dataset"]) for where in (lake, other)]
    columns = ["contest_id", "time_seconds", "n_players", "content_digest"]
    assert datasets[0].contests.select(columns).equals(datasets[1].contests.select(columns))
    assert datasets[0].handles().equals(datasets[1].handles())
    assert one.config == two.config
    assert one.segments().digests == two.segments().digests
    assert one.segments().resets == two.segments().resets
    assert same_tables(rated(lake, run), rated(other, run))
    last = one.segments().stop_round - 1
    assert last == one.snapshots()[-1]
    (mine, digest), (theirs, theirs_digest) = one.read_snapshot(last), two.read_snapshot(last)
    assert digest == theirs_digest
    assert same_beliefs(mine, theirs)


def check_system(path: Path, matches: Sequence[Match], options: LiveOptions, config: RunConfig) -> None:
    log, lake = MemoryLog(), Lake.open(path / "live", create=True)
    answers = play(lake, log, [config], matches, options)
    other = batch(path / "batch", log, config, matches, options)
    check_same(lake, other, config.run)
    with Threads(1) as engine:  # nothing is left to do, and what is there is what the batch engine makes
        report = rate(lake, config, engine, RateOptions(dry_run=True))
        assert report.rated == 0
        assert report.kept == Dataset.open(lake, config.dataset).contests.num_rows
        notes: list[str] = []
        assert list(replay(lake, config.run, 0, report.kept - 1, engine, notes)) == []
        assert notes == []
    rows = rated(lake, config.run).to_pylist()
    by_player = {(row["contest_id"], row["player"], row["n_before"]): row for row in rows}
    names = {}
    for answer in answers.values():
        for result in answer.results[config.run].players:
            number = period_number(int(log.records[answer.sequence - 1].received), options.period)
            contest = answer.match.id if not options.games else period_name(number, options.period)
            names[contest, result.player, result.n_rounds - 1] = result
    assert names.keys() == by_player.keys()
    assert all(row["mu"] == names[key].mu and row["sigma"] == names[key].sigma for key, row in by_player.items())


GAMES = LiveOptions("hour")
CONTESTS = LiveOptions("hour", games=False)


def test_duels__are_rated_as_the_ingested_history(tmp_path: Path) -> None:
    check_system(tmp_path, duels(260), GAMES, config_of("run", "elo"))


@pytest.mark.slow
def test_fields_of_teams__are_rated_as_the_ingested_history(tmp_path: Path) -> None:
    check_system(tmp_path, fields(150, teams=True), CONTESTS, config_of("run", "trueskill"))


@pytest.mark.slow
@pytest.mark.parametrize("system", ["glicko2", "elo-mmr", "bar", "elo-srm"])
def test_every_system__rates_duels_as_the_ingested_history(tmp_path: Path, system: str) -> None:
    check_system(tmp_path, duels(260), GAMES, config_of("run", system))


@pytest.mark.slow
@pytest.mark.parametrize("system", ["glicko2", "codeforces", "topcoder"])
def test_every_system__rates_fields_as_the_ingested_history(tmp_path: Path, system: str) -> None:
    check_system(tmp_path, fields(150), CONTESTS, config_of("run", system))


@pytest.mark.slow
def test_answers__are_the_same_before_and_after_a_period_is_written(tmp_path: Path) -> None:
    log, lake, configs = (
        MemoryLog(),
        Lake.open(tmp_path, create=True),
        [config_of("a", "elo"), config_of("b", "glicko2")],
    )
    matches, options = duels(120), LiveOptions("hour")
    answers = play(lake, log, configs, matches, options)
    with LiveRuns.open(lake, configs, log, options, now=START + 11 * DAY) as runs:
        again = runs.accept(matches, now=START + 11 * DAY)
    for reply in again:
        assert isinstance(reply, Answer)
        assert reply.known
        assert reply._replace(known=False) == answers[reply.match.id]


@pytest.mark.slow
def test_a_restart__rates_the_rest_of_the_log(tmp_path: Path) -> None:
    log, lake, config = MemoryLog(), Lake.open(tmp_path / "lake", create=True), config_of("run", "elo-mmr")
    matches, states = duels(200), []
    for part in (matches[:110], matches[110:]):
        with LiveRuns.open(lake, [config], log, LiveOptions("hour"), now=START) as runs:
            for number, match in enumerate(part):
                runs.accept([match], now=START + 40.0 * (number if part is matches[:110] else number + 110))
            states.append(runs.leaderboard("run", 0, 1_000))
    with LiveRuns.open(lake, [config], log, LiveOptions("hour"), now=START) as runs:
        assert runs.leaderboard("run", 0, 1_000).players == states[-1].players
        assert runs.last == 200
    other = Lake.open(tmp_path / "other", create=True)
    with LiveRuns.open(other, [config], log, LiveOptions("hour"), now=START + DAY) as runs:  # all periods have ended
        assert runs.leaderboard("run", 0, 1_000).players == states[-1].players
        assert runs.unsaved == 0
    assert np.isclose(sum(player.n_rounds for player in states[-1].players), 400)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "widen"), [("elo-mmr", 60.0), ("elo", 0.0)])
def test_resets__come_before_the_first_match_of_a_season(tmp_path: Path, system: str, widen: float) -> None:
    log, lake, config = MemoryLog(), Lake.open(tmp_path / "live", create=True), config_of("run", system)
    matches = [replace(match, time=None) for match in duels(220)]
    event = Event(0, START + 6_410, "reset", "two", keep=0.5, widen=widen)  # within an hour
    play(lake, log, [config], matches[:100], GAMES)
    season(lake, event)
    play(lake, log, [config], matches[100:], GAMES)
    check_same(lake, batch(tmp_path / "batch", log, config, matches, GAMES, event), "run")


def test_match__is_refused_if_a_reset_is_between_its_time_and_now(tmp_path: Path) -> None:
    log, lake, config = MemoryLog(), Lake.open(tmp_path, create=True), config_of("run", "elo")
    matches = [replace(match, time=None) for match in duels(30)]
    play(lake, log, [config], matches[:20], GAMES)
    season(lake, Event(0, START + DAY, "reset", "two", keep=0.5))
    with LiveRuns.open(lake, [config], log, GAMES, now=START + DAY) as runs:
        (reply,) = runs.accept([replace(matches[20], time=START + DAY - 1)], now=START + DAY + 5)
        assert isinstance(reply, Refused)
        assert reply.error.pointer == "/time"
        (reply,) = runs.accept([replace(matches[20], time=START + DAY)], now=START + DAY + 5)
        assert isinstance(reply, Answer)


def test_groups__do_not_change_an_answer(tmp_path: Path) -> None:
    matches, config, answers = duels(90), config_of("run", "elo-mmr"), list[list[Reply]]()
    for size in (1, 13, 90):
        with LiveRuns.open(
            Lake.open(tmp_path / str(size), create=True), [config], MemoryLog(), GAMES, now=START
        ) as runs:
            found = [runs.accept(matches[at : at + size], now=START + 3_000) for at in range(0, 90, size)]
            answers.append([reply for group in found for reply in group])
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.slow
@pytest.mark.parametrize("games", [True, False])
def test_aliases_of_the_data_set__hold_for_matches(tmp_path: Path, games: bool) -> None:
    options, config = LiveOptions("hour", games=games), config_of("run", "glicko2")
    matches = duels(160) if games else fields(160)
    log, lake = MemoryLog(), Lake.open(tmp_path / "live", create=True)
    play(lake, log, [config], matches[:40], options)
    met = [players(match) for match in matches[:40]]
    one, other = next((a, b) for a in sorted(met[0]) for b in sorted(met[1]) if not any({a, b} <= of for of in met))
    with Dataset.ingest(lake, "games") as adding:
        adding.alias(one, other)
        adding.alias("p1", "someone")
        adding.alias("p60", "somebody")  # nobody has played as these
    kept = [match for match in matches[40:] if not {one, other} <= players(match)]
    with LiveRuns.open(lake, [config], log, options, now=START + 2_000) as runs:
        sides = [match for match in matches[40:] if {one, other} <= players(match)] or [
            replace(kept[0], sides=(Side((one,), 1), Side((other,), 2)))
        ]
        (reply,) = runs.accept([replace(sides[0], id="twice")], now=START + 2_000)
        assert isinstance(reply, Refused)
        assert reply.error.text == "by an alias, the player is in the match twice"
    play(lake, log, [config], kept, options)
    before = rated(lake)
    with Threads(1) as engine:
        assert rate(lake, config, engine, RateOptions(start=0)).rated > 0
    assert same_tables(before, rated(lake))


def players(match: Match) -> set[str]:
    return {handle for side in match.sides for handle in side.players}


def test_points__count_in_margins(tmp_path: Path) -> None:
    config, matches = config_of("run", "elo", margin="log"), []
    for match in duels(120):
        points = (float(len(matches) % 9), 3.0)
        matches.append(replace(match, sides=tuple(map(with_points, match.sides, points))))
    check_system(tmp_path, matches, GAMES, config)


def with_points(side: Side, points: float) -> Side:
    return replace(side, points=points)


@pytest.mark.slow
def test_attributes__hold_for_players_who_come_later(tmp_path: Path) -> None:
    log, lake, config = MemoryLog(), Lake.open(tmp_path / "live", create=True), config_of("run", "elo")
    matches = duels(120)
    play(lake, log, [config], matches[:40], GAMES)
    later = {f"p{number}" for number in range(12, 40)} - set(Dataset.open(lake, "games").handles().to_pylist())
    table = "handle,k\n" + "".join(f"{handle},8\n" for handle in (*sorted(later)[::2], "p3"))
    (tmp_path / "players.csv").write_text(table, "utf-8")
    record_attributes(lake, "games", str(tmp_path / "players.csv"))
    answers = play(lake, log, [config], matches[40:], GAMES)
    before = rated(lake)
    with Threads(1) as engine:
        assert rate(lake, config, engine, RateOptions(start=0)).rated > 0
    assert same_tables(before, rated(lake))
    assert len(answers) == 80
