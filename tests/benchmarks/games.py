"""One-to-one games by the million: periods of games into a lake, rated and published; rated with margins."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import Command, Options, Result, invoke, run_command

from ranklake.flows.sources.games.synthetic import GAMES_PRESETS, GamesPreset, write_games

SIZES, QUICK_SIZES = (4, 2, 1), (10, 1)  # a quarter, half and all games; players and games of a day are the same
LEAST = {"ingest": 1e6, "elo": 2e6, "glicko2": 2e6, "elo-mmr": 0.5e6, "elo-mms": 0.5e6}  # games a second
MEMORY = 2e9  # bytes
GROWTH = 1.3  # time of a game of the second half, beside that of the second quarter; memory of all, beside half
PUBLISHED = "elo"
QUICK_GAMES, QUICK_SYSTEMS = 100_000, (PUBLISHED,)
SCORED, MARGINS, TURNS = 1_000_000, ("none", "log", "log_lead"), 6
MARGIN = 1.05  # processor time of a run with a margin, beside one without
SEED = 20150906


def games(options: Options) -> Iterator[Result]:
    """Synthetic games in the shape of a chess server: `ingest games`, `rate` by four systems, `publish`."""
    largest = _preset(options)
    sizes = [max(largest.n_games // part, 1) for part in (QUICK_SIZES if options.quick else SIZES)]
    systems = QUICK_SYSTEMS if options.quick else tuple(LEAST)[1:]
    done: dict[str, list[Command]] = {name: [] for name in ("ingest", *systems, "publish")}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            file, lake = Path(folder, "games.parquet"), Path(folder, f"lake-{n}")
            write_games(replace(largest, n_games=n), 0, file)
            done["ingest"].append(_run("ingest", "games", file, "--dataset", "games", "--lake", lake))
            for system in systems:
                rate = ("rate", "--dataset", "games", "--system", system, "--run", system)
                done[system].append(_run(*rate, "--lake", lake))
            done["publish"].append(_run("publish", "--run", PUBLISHED, "--lake", lake))
        for name, commands in done.items():
            yield _result(name, sizes, commands)


def margins(options: Options) -> Iterator[Result]:
    """`rate --system elo` of games with points, without a margin and with two of them in turns."""
    n = options.smaller(SCORED)
    with tempfile.TemporaryDirectory() as folder:
        file, lake = Path(folder, "games.parquet"), Path(folder, "lake")
        pq.write_table(_scored(n), file)
        _run("ingest", "games", file, "--dataset", "games", "--lake", lake)
        rate = ("rate", "--dataset", "games", "--system", "elo", "--engine", "serial", "--lake", lake)
        seconds: dict[str, list[float]] = {margin: [] for margin in MARGINS}
        for turn in range(options.repeats(TURNS)):
            for margin in MARGINS:
                one = _run(*rate, "--set", f"margin={margin}", "--run", f"{margin}-{turn}")
                seconds[margin].append(one.cpu_seconds)
    without = min(seconds["none"])
    for margin in MARGINS[1:]:
        ratio = min(seconds[margin]) / without
        what = f"ranklake rate --system elo --set margin={margin} of {n:,} games: {ratio:.3f} of the processor time"
        targets = {f"at most {MARGIN:g} of a run without margin: {ratio:.3f}": ratio <= MARGIN}
        yield Result("margins", f"{what} without margin", targets=targets, figures={"ratio": ratio}, case=margin)


def _scored(n: int) -> pa.Table:
    """Games of players with points, a hundred thousand a day."""
    random, n_players = np.random.default_rng(SEED), max(n // 50, 2)
    first = random.integers(0, n_players, n)
    second = (first + random.integers(1, n_players, n)) % n_players
    names = pa.array([f"player-{i}" for i in range(n_players)])
    days = 1_500_000_000 + 86_400 * (np.arange(n) // 100_000)
    columns = {"player": names.take(pa.array(first)), "opponent": names.take(pa.array(second)), "time": days}
    return pa.table(columns | {name: random.poisson(1.4, n) for name in ("points", "opponent_points")})


def _preset(options: Options) -> GamesPreset:
    whole = replace(GAMES_PRESETS["chess"], n_games=options.games)
    if options.limit is None and not options.quick:
        return whole
    n = min(QUICK_GAMES, options.games) if options.quick else options.smaller(options.games)
    return replace(whole, n_games=n, n_players=max(n // 50, 2), games_a_day=max(n // 100, 1))


def _run(*words: str | Path) -> Command:
    return run_command(invoke(), *words)


def _result(name: str, sizes: Sequence[int], commands: Sequence[Command]) -> Result:
    """The time of a game between neighbouring sizes, without the start of the command; its growth, of three sizes."""
    *before, game = (
        (b.seconds - a.seconds) / max(n_b - n_a, 1)
        for (n_a, n_b), (a, b) in zip(pairwise(sizes), pairwise(commands), strict=True)
    )
    part, last = commands[-2:]
    cpu = (last.cpu_seconds - part.cpu_seconds) / max(sizes[-1] - sizes[-2], 1)
    memory = last.peak_bytes / part.peak_bytes
    command = name if name in ("ingest", "publish") else f"rate --system {name}"
    what = (
        f"ranklake {command} of {sizes[-1]:,} games: {game * 1e6:.2f} us a game and {cpu * 1e6:.2f} us of all cores "
        f"together; peak {last.peak_bytes / 1e9:.2f} GB, {memory:.2f} times that of {sizes[-2]:,}"
    )
    targets = {
        f"below {MEMORY / 1e9:g} GB, at most {GROWTH:g}x that of {sizes[-2]:,}: {last.peak_bytes / 1e9:.2f} GB, "
        f"{memory:.2f}x": last.peak_bytes < MEMORY and memory <= GROWTH
    }
    figures = {"seconds_a_game": game, "cpu_seconds_a_game": cpu}
    figures |= {"cpu_seconds": last.cpu_seconds, "peak_bytes": last.peak_bytes}
    if before:
        growth = game / before[0] if min(game, before[0]) > 0 else float("nan")  # noise
        figures["growth"] = growth
        targets[f"a game at most {GROWTH:g}x the time of {sizes[-2]:,}: {growth:.2f}x"] = growth <= GROWTH
    if name in LEAST:
        rate = 1e-6 / game if game > 0 else float("nan")
        targets[f"at least {LEAST[name] / 1e6:g} million games/s: {rate:.2f}"] = rate >= LEAST[name] / 1e6
    return Result("games", what, last.seconds, targets=targets, figures=figures, case=name)
