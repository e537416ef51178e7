"""Answers to the golden vectors of FIDE's rules: tables (``fide``), performances and rated periods."""

from __future__ import annotations

import calendar
from fractions import Fraction
from typing import Any

from golden.runner import Answers, Vector, check_names
from twins import fide as twins

from ranklake.rating_kernels import SYSTEMS, Beliefs
from ranklake.rating_kernels.systems.federations.fide import rate_games
from ranklake.rating_kernels.systems.federations.tables import difference_of, divided, expected_hundredths, performance


def tables(vector: Vector, step_by_step: bool = False) -> Answers:
    """The package's tables."""
    check_names(vector, (), ("p", "rating", "opponent"))
    return [
        {"player": {"dp": int(difference_of(one["p"]))}}
        if "p" in one
        else {"player": {"expected": int(expected_hundredths(one["rating"], one["opponent"])) / 100}}
        for one in vector["contests"]
    ]


def tables_twin(vector: Vector) -> Answers:
    """The twin's tables."""
    return [
        {"player": {"dp": twins.difference(Fraction(one["p"], 100))}}
        if "p" in one
        else {"player": {"expected": float(twins.expected(one["rating"], one["opponent"]))}}
        for one in vector["contests"]
    ]


def performances(vector: Vector, step_by_step: bool = False) -> Answers:
    """The package's performances."""
    check_names(vector, (), ("opponents", "half_points"))
    answers: Answers = []
    for one in vector["contests"]:
        n, total = len(one["opponents"]), sum(one["opponents"])
        p, average = int(divided(50 * one["half_points"], n)), int(divided(total, n))
        shown = float(performance(n, one["half_points"], total))
        answers.append({"player": {"p": p, "average": average, "performance": shown}})
    return answers


def performances_twin(vector: Vector) -> Answers:
    """The twin's performances."""
    answers: Answers = []
    for one in vector["contests"]:
        n, score = len(one["opponents"]), Fraction(one["half_points"], 2)
        p, average = twins.whole(100 * score / n), twins.whole(Fraction(sum(one["opponents"]), n))
        shown = twins.performance(one["opponents"], score)
        answers.append({"player": {"p": p, "average": average, "performance": shown}})
    return answers


def believed(players: dict[str, Any]) -> tuple[Beliefs, list[str]]:
    """A store of players with ``rating``, ``games``, ``peak`` and ``birth_year``, and their names by row."""
    system, names = SYSTEMS["fide"], list(players)
    beliefs = system.newcomers(system.params(), len(names))
    for row, facts in enumerate(players.values()):
        if facts.get("rating") is not None:
            beliefs.mu[row] = facts["rating"]
        for name in facts.keys() & beliefs.state.keys():
            beliefs.state[name][row] = facts[name]
    return beliefs, names


def periods(vector: Vector, step_by_step: bool = False) -> Answers:
    """The package's rated periods."""
    check_names(vector, ("players",), ("year", "games"))
    beliefs, names = believed(vector["params"]["players"])
    answers: Answers = []
    for one in vector["contests"]:
        a, b, score = zip(*one["games"], strict=True)
        rows = [[names.index(name) for name in side] for side in (a, b)]
        when = calendar.timegm((one["year"], 1, 31, 0, 0, 0))
        found = rate_games(SYSTEMS["fide"].params(), beliefs, *rows, score, when)
        answer: dict[Any, dict[str, Any]] = {}
        for at, row in enumerate(found.player.tolist()):
            answer[names[row]] = {"counted": int(found.games[at]), "rating": int(found.rating[at]) or None}
            answer[names[row]] |= dict.fromkeys(("k", "change"))
            if found.before[at]:
                hundredths = round(100 * (found.score[at] - found.expected[at]))
                change = int(divided(int(found.k[at]) * hundredths, 100))
                assert found.rating[at] in (0.0, found.before[at] + change)
                answer[names[row]] |= {"k": int(found.k[at]), "sum_of_surplus": hundredths / 100, "change": change}
        answers.append(answer)
    return answers


def periods_twin(vector: Vector) -> Answers:
    """The twin's rated periods."""
    twin = twins.Twin(vector["params"]["players"])
    answers: Answers = []
    for one in vector["contests"]:
        answers.append({})
        for name, found in twin.rate([tuple(game) for game in one["games"]], one["year"]).items():
            answers[-1][name] = {name: getattr(found, name) for name in ("counted", "rating", "k", "change")}
            if found.surplus is not None:
                answers[-1][name]["sum_of_surplus"] = float(found.surplus)
    return answers
