"""Rounds of teams beside rounds of individuals: one round of a crowd, and many games of two against two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from timing import Options, Result, best_of

from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds, System
from ranklake.rating_kernels.core.ragged import Ragged

CROWD, GAMES, POOL, SIZE = 300_000, 20_000, 5_000, 3
NAMES = ("elo-mmr", "elo-mmx", "elo-mms", "trueskill", "bar")
SEED = 20210725
AT_MOST = 2.5  # times the round of as many individuals as teams


def teams(options: Options) -> Iterator[Result]:
    """Each system with a rule for teams: a crowd in teams of three, and games of pairs."""
    crowd = [_crowd(options.smaller(CROWD), size) for size in (1, SIZE)]
    games = [_games(options.smaller(GAMES), size) for size in (1, 2)]
    with open_engine("threads") as engine:
        for name in NAMES:
            for what, (alone, together) in (("round of {n:,} teams of three", crowd), ("{n:,} games of pairs", games)):
                of_one, of_more = (
                    _seconds(SYSTEMS[name], rounds, engine, options.repeats(3, 2)) for rounds in (alone, together)
                )
                n = len(together) if len(together) > 1 else alone.n_rows
                text = f"{name}: {what.format(n=n)}: {of_more / of_one:.2f}x the time of individuals"
                judged = len(together) == 1 and name != "trueskill"  # whose number of sweeps differs
                targets = {f"at most {AT_MOST:g}x: {of_more / of_one:.2f}x": of_more / of_one <= AT_MOST}
                figures = {"ratio": of_more / of_one, "individuals_seconds": of_one}
                case = f"{name}, {'games' if len(together) > 1 else 'crowd'}"
                yield Result("teams", text, of_more, targets=targets if judged else {}, figures=figures, case=case)


def _seconds(system: System, rounds: Rounds, engine: Threads, repeats: int) -> float:
    """Seconds of several passes from newcomers."""
    params, n_players = system.params(), int(rounds.player.max()) + 1
    return best_of(
        repeats,
        lambda beliefs: rate_rounds(system, params, beliefs, rounds, engine),
        lambda: system.newcomers(params, n_players),
    )[0]


def _crowd(n_teams: int, size: int) -> Rounds:
    """One round of teams of this size without ties."""
    order = np.random.default_rng(SEED).permutation(n_teams * size)
    return _rounds(np.array([0, n_teams * size]), order, np.repeat(np.arange(n_teams), size), size)


def _games(n: int, size: int) -> Rounds:
    """Games of two teams of this size."""
    rng = np.random.default_rng(SEED)
    players = np.concatenate([rng.choice(POOL, 2 * size, replace=False) for _ in range(n)])
    return _rounds(np.arange(n + 1) * 2 * size, players, np.tile(np.repeat([0, 1], size), n), size)


def _rounds(offsets: np.ndarray, players: np.ndarray, places: np.ndarray, size: int) -> Rounds:
    sizes = np.full(len(players) // size, size)
    return Rounds.from_columns(
        offsets, players, places, places, teams=Ragged.from_lengths(sizes, np.ones(len(players)))
    )
