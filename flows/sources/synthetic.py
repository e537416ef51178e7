"""Synthetic contests of any size, from players whose true skills are known.

Sources: the generator described in Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions"
(arXiv:2101.00400), section 5 (presets ``paper``), and the script published with the authors' engine (presets
``synth``). Skills are normal; a performance is a skill plus noise; between rounds skills drift. The two differ in the
players whose skills drift: all, or the participants of a round just before it. The paper's "variance" of 300, 200 and
35 means standard deviations. The paper leaves open whether 2,500 of 10,000 players took part in each round or there
were 2,500 players in all, so there are presets for both.

The skills of a round depend on the round before, and all rounds use one random stream: contests are always generated
from the first round on. One round is in memory at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.standings import Floats, places_from_ranks
from ranklake.storage.datasets.tables.contests import Contest

from .columns import Longs

_DAY = 86_400


def check_count(name: str, value: object, least: int) -> None:
    """Raise ``ValueError`` unless a value is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and math.isfinite(value)


def random_generator(seed: int) -> np.random.Generator:
    """The random numbers of a seed; raises ``ValueError`` unless it is an integer >= 0."""
    check_count("seed", seed, 0)
    return np.random.Generator(np.random.PCG64(int(seed)))


@dataclass(frozen=True, slots=True)
class Preset:
    """All parameters of a synthetic data set except its seed; ``dataclasses.replace`` makes another preset.

    ``participants``: players in each round, drawn without replacement; None for all players.
    ``skill_mean``, ``skill_sd``: normal distribution of the skills before the first round, rating points.
    ``drift_sd``: standard deviation of the normal change of a skill between rounds, rating points.
    ``drift``: all skills drift between rounds, or those of a round's participants just before it, also the first.
    ``noise``, ``noise_sd``: distribution of a performance around the skill; its standard deviation, rating points.
    ``tie_points``: performances are rounded to multiples of this, so that ties occur; None: not rounded.
    ``start_time``: time of the first round, UTC seconds since the epoch.
    """

    n_players: int
    n_rounds: int
    participants: int | None = None
    skill_mean: float = 1500.0
    skill_sd: float = 350.0
    drift_sd: float = 35.0
    drift: Literal["everyone", "participants"] = "everyone"
    noise: Literal["normal", "logistic"] = "normal"
    noise_sd: float = 200.0
    tie_points: float | None = None
    seconds_between: int = _DAY
    start_time: int = 0

    def __post_init__(self) -> None:
        check_count("n_players", self.n_players, 1)
        check_count("n_rounds", self.n_rounds, 1)
        if self.participants is not None:
            check_count("participants", self.participants, 1)
            if self.participants > self.n_players:
                raise ValueError(f"participants must be <= n_players = {self.n_players}, got {self.participants}")
        if not is_number(self.skill_mean):
            raise ValueError(f"skill_mean must be a finite number of rating points, got {self.skill_mean!r}")
        for name in ("skill_sd", "drift_sd", "noise_sd"):
            if not (is_number(value := getattr(self, name)) and value >= 0):
                raise ValueError(f"{name} must be >= 0 rating points, got {value!r}")
        if self.tie_points is not None and not (is_number(self.tie_points) and self.tie_points > 0):
            raise ValueError(f"tie_points must be > 0 rating points or None, got {self.tie_points!r}")
        if self.drift not in ("everyone", "participants"):
            raise ValueError(f"drift must be 'everyone' or 'participants', got {self.drift!r}")
        if self.noise not in ("normal", "logistic"):
            raise ValueError(f"noise must be 'normal' or 'logistic', got {self.noise!r}")
        check_count("seconds_between", self.seconds_between, 0)
        check_count("start_time", self.start_time, 0)


PRESETS = {
    "paper": Preset(2_500, 50, skill_sd=300.0),
    "paper-quarter": Preset(10_000, 50, participants=2_500, skill_sd=300.0),
    "synth-sm": Preset(1_000, 15_000, participants=5, drift="participants", noise="logistic"),
    "synth-la": Preset(100_000, 60, drift="participants", noise="logistic"),
}


def generate(preset: Preset, seed: int) -> Iterator[Contest]:
    """The contests of a synthetic data set, in order; one preset and seed always give the same contests.

    This holds for one release of numpy: another release may change its generators. ``ValueError`` unless the seed is an
    integer >= 0.
    """
    rounds = performances(preset, seed)  # checks the seed now, not at the first contest
    return _contests(preset, rounds)


def performances(preset: Preset, seed: int) -> Iterator[tuple[Longs, Floats]]:
    """The performances that :func:`generate` ranks: of each round, the participants in ascending order and theirs.

    Players are counted from 0; performances are in rating points, rounded to ``tie_points`` if that is given.
    """
    return _performances(preset, random_generator(seed))


def _performances(preset: Preset, rng: np.random.Generator) -> Iterator[tuple[Longs, Floats]]:
    everyone = np.arange(preset.n_players)
    n = preset.n_players if preset.participants is None else preset.participants
    skill = rng.normal(preset.skill_mean, preset.skill_sd, preset.n_players)
    for index in range(preset.n_rounds):
        if n == preset.n_players:
            players = everyone
        else:
            players = np.sort(rng.choice(preset.n_players, n, replace=False, shuffle=False))
        if preset.drift == "participants":
            skill[players] += rng.normal(0.0, preset.drift_sd, n)
        elif index > 0:
            skill += rng.normal(0.0, preset.drift_sd, preset.n_players)
        performance = skill[players] + _noise(preset, rng, n)
        if preset.tie_points is not None:
            performance = np.rint(performance / preset.tie_points) * preset.tie_points
        yield players, performance


def _noise(preset: Preset, rng: np.random.Generator, n: int) -> Floats:
    if preset.noise == "normal":
        return rng.normal(0.0, preset.noise_sd, n)
    return rng.logistic(0.0, preset.noise_sd * math.sqrt(3.0) / math.pi, n)


def _contests(preset: Preset, rounds: Iterator[tuple[Longs, Floats]]) -> Iterator[Contest]:
    handles = pa.array([f"player-{player:06d}" for player in range(preset.n_players)], pa.string())
    for index, (players, performance) in enumerate(rounds):
        order, lo, hi = places_from_ranks(-performance)
        yield Contest(
            contest_id=str(index),
            name=f"synthetic round {index}",
            url="",
            time_seconds=int(preset.start_time) + index * int(preset.seconds_between),
            handles=handles.take(pa.array(players[order])),
            lo=lo,
            hi=hi,
        )
