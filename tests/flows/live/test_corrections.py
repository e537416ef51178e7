"""Matches that are removed, and players who are banned, while matches go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.lakes import rated, same_tables
from helpers.live_matches import DAY, START, MemoryLog, config_of, duels, fields

from ranklake.flows.live.engine import Answer, LiveOptions, LiveRuns, Refused
from ranklake.flows.live.matches.match import Match, MatchError
from ranklake.storage import Dataset, Lake


def send(runs: LiveRuns, matches: Sequence[Match], first: int = 0) -> None:
    for at, match in enumerate(matches, first):
        (reply,) = runs.accept([match], now=START + 40.0 * at)
        assert isinstance(reply, Answer)


def settle(runs: LiveRuns, now: float) -> None:
    """Write what has ended, and compute what is wanted."""
    while runs.close_periods(now):
        pass
    assert not runs.failure


def boards(lake: Lake, log: MemoryLog, games: bool, now: float) -> dict[str, tuple[float, float, int]]:
    options, config = LiveOptions("hour", games=games), config_of("run", "elo-mmr")
    with LiveRuns.open(lake, [config], log, options, now=now) as runs:
        rows = runs.leaderboard("run", 0, 1_000).players
        return {row.player: (row.mu, row.sigma, row.n_rounds) for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("games", [True, False])
def test_removed_matches__leave_the_ratings_of_a_history_without_them(tmp_path: Path, games: bool) -> None:
    matches = duels(200) if games else fields(200)
    removed = {matches[at].id for at in (3, 50, 120, 180)}  # of written periods and of the open one
    options, config = LiveOptions("hour", games=games), config_of("run", "elo-mmr")
    log, lake = MemoryLog(), Lake.open(tmp_path / "live", create=True)
    with LiveRuns.open(lake, [config], log, options, now=START) as runs:
        send(runs, matches[:190])
        settle(runs, START + 40 * 190)
        for match_id in sorted(removed):
            runs.remove(match_id, "a cheat", now=START + 40 * 190)
        assert runs.stale
        runs.close_periods(START + 40 * 190)
        send(runs, matches[190:], 190)  # while the second state is computed
        settle(runs, START + 40 * 200)
        assert not runs.stale
        assert runs.rebased is not None
        assert runs.rebased.n_changed > 5
        assert runs.match("run", matches[3].id) is None
        again = runs.accept([matches[3], matches[4]], now=START + 40 * 200)
        assert isinstance(again[0], Refused)
        assert isinstance(again[1], Answer)
        after = runs.match("run", matches[4].id)
        assert after is not None
        assert after.result == again[1].results["run"]
        state = {row.player: (row.mu, row.sigma, row.n_rounds) for row in runs.leaderboard("run", 0, 1_000).players}
        with pytest.raises(MatchError):
            runs.remove(matches[3].id)

    other, kept = MemoryLog(), Lake.open(tmp_path / "kept", create=True)
    other.records = [
        record._replace(kind="ban", id="", body=b'{"name":"nobody"}') if record.id in removed else record
        for record in log.records
        if record.kind == "match"
    ]
    other.records = [record._replace(sequence=number) for number, record in enumerate(other.records, 1)]
    for now in (START + 40 * 200, START + DAY):
        without = boards(kept, other, games, now)
        assert state.keys() <= without.keys()
        assert state == without == boards(lake, log, games, now)
    assert same_tables(rated(lake), rated(kept))
    digests = [Dataset.open(one, "games").contests.column("content_digest") for one in (lake, kept)]
    assert digests[0].equals(digests[1])


def test_removal__that_no_state_has_is_made_at_the_next_start(tmp_path: Path) -> None:
    matches, options, config = duels(150), LiveOptions("hour"), config_of("run", "elo")
    log, lake = MemoryLog(), Lake.open(tmp_path / "live", create=True)
    with LiveRuns.open(lake, [config], log, options, now=START) as runs:
        send(runs, matches)
        settle(runs, START + 40 * 150)
        runs.remove(matches[10].id, now=START + 40 * 150)
    with LiveRuns.open(lake, [config], log, options, now=START + 40 * 150) as runs:
        assert not runs.stale
        assert runs.match("run", matches[10].id) is None
        assert runs.match("run", matches[11].id) is not None
    assert rated(lake).num_rows == 2 * 89  # of the first hour, with 90 matches


def test_bans__refuse_matches_from_now_on(tmp_path: Path) -> None:
    matches, options, config = duels(40), LiveOptions("hour"), config_of("run", "elo")
    log, lake = MemoryLog(), Lake.open(tmp_path, create=True)
    last = [replaced_id(match) for match in matches[:1]]
    handle = matches[0].sides[1].players[0]
    with LiveRuns.open(lake, [config], log, options, now=START) as runs:
        send(runs, matches)
        runs.ban(handle, why="a bot", now=START + 1_600)
        (reply,) = runs.accept(last, now=START + 1_600)
        assert isinstance(reply, Refused)
        assert reply.error.pointer == "/sides/1/players/0"
        assert runs.player("run", handle)[0] is not None
    for now in (START + 2_000, START + DAY):  # from the log, and from the lake
        with LiveRuns.open(lake, [config], log, options, now=now) as runs:
            assert runs.banned == {handle}
            assert isinstance(runs.accept(last, now=now)[0], Refused)
    with LiveRuns.open(lake, [config], log, options, now=START + DAY) as runs:
        runs.ban(handle, banned=False, now=START + DAY)
        assert isinstance(runs.accept(last, now=START + DAY)[0], Answer)


def replaced_id(match: Match) -> Match:
    return Match("again", match.sides)
