"""The contests of a vector as rounds, which the package rates at once, or step by step as large ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from golden.runner import Vector
from helpers.histories import four_steps, set_ratings

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System


class Shown(NamedTuple):
    """A contest: its participants in order, its round, and their performances if they are given."""

    names: tuple[str, ...]
    round: Rounds
    performances: list[float] | None


def number_players(vector: Vector, state: Mapping[str, Any]) -> dict[str, int]:
    """A row for each participant, and for each player of whom something is known beforehand."""
    names = {row[0] for contest in vector["contests"] for row in contest.get("performances") or contest["standings"]}
    return {name: row for row, name in enumerate(sorted(names | set(state)))}


def store_of(system: System, params: Any, rows: Mapping[str, int], state: Mapping[str, Sequence[Any]]) -> Beliefs:
    """A store with the known ratings: mu, sigma and the number of rounds before."""
    beliefs = system.newcomers(params, len(rows))
    for name, (mu, sigma, n) in state.items():
        set_ratings(system, params, beliefs, [rows[name]], mu, sigma, n)
    return beliefs


def contests_of(vector: Vector, rows: Mapping[str, int]) -> Iterator[Shown]:
    """The contests in order."""
    for contest in vector["contests"]:
        given = contest.get("performances")
        standings = contest["standings"] if given is None else [(name, i, i) for i, (name, _) in enumerate(given)]
        names, lo, hi = zip(*standings, strict=True)
        how = [[contest.get(name, other)] for name, other in (("time", 0), ("weight", 1.0), ("perf_ceiling", math.inf))]
        precision = [contest.get("precision", 1.0)]
        round = Rounds.from_columns([0, len(names)], [rows[name] for name in names], lo, hi, *how, precision=precision)
        yield Shown(names, round, None if given is None else [perf for _, perf in given])


def rate_contest(system: System, params: Any, beliefs: Beliefs, contest: Shown, step_by_step: bool) -> Outcome:
    """The outcome of a contest, from its performances if they are given."""
    if step_by_step or contest.performances is not None:
        return four_steps(system, params, beliefs, contest.round, contest.performances)
    return rate_rounds(system, params, beliefs, contest.round, Serial())


def answers_of(
    system: System, params: Any, vector: Vector, state: Mapping[str, Sequence[Any]], step_by_step: bool, perf: bool
) -> list[dict[Any, dict[str, Any]]]:
    """``mu`` and ``sig`` of every participant after each contest, and the performance if ``perf``."""
    rows = number_players(vector, state)
    beliefs, answers = store_of(system, params, rows, state), []
    for contest in contests_of(vector, rows):
        outcome = rate_contest(system, params, beliefs, contest, step_by_step)
        columns = {"mu": outcome.mu, "sig": outcome.sigma} | ({"performance": outcome.perf} if perf else {})
        answers.append(
            {name: {key: float(column[i]) for key, column in columns.items()} for i, name in enumerate(contest.names)}
        )
    return answers
