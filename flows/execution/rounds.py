"""Rate rounds: any system, any engine, no lake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import Map
from ranklake.rating_kernels.core.learning import Tally
from ranklake.rating_kernels.core.margins import NO_MARGIN, factor_of_round, margin_rule
from ranklake.rating_kernels.core.standings import OUTSIDE

from ..common.text import listed
from ..engines.threads import Threads
from .outcomes import check_outcome
from .waves import LEAST_GAMES, are_games, rate_waves


def rate_rounds(system: System, params: object, beliefs: Beliefs, rounds: Rounds, engine: Threads) -> Outcome:
    """Rate consecutive rounds in order; ``beliefs``, a store with a row for every player, is written in place.

    Neighbouring small rounds share one kernel call. Many games of two are rated in waves (:mod:`.waves`) if the system
    stores histories and the engine has several workers. A large round goes through the four steps of :mod:`.system`,
    each spread over the engine's workers; so does a small one with advantages, unless the system rates these together.

    Raises ValueError: a player has no row in the store, or the system has no rule for teams or for some advantages.
    Raises RoundError: a round cannot be rated, or a rating is no number; what was rated before it stays in ``beliefs``.
    Beliefs about its players, and about those of a few games after it, may be diffused.
    """
    if rounds.n_rows and rounds.player.max() >= len(beliefs):
        raise ValueError(f"player {rounds.player.max()} has no row in a store of {len(beliefs)} players")
    check_rounds(system, params, rounds)
    outcome = Outcome.empty(rounds.n_rows)
    for start, stop, large in split_batches(system, rounds):
        part, rows = rounds.part(start, stop), outcome.part(rounds.offsets[start], rounds.offsets[stop])
        with check_outcome(system, params, part, rows, start):
            if large:
                _rate_large(system, params, beliefs, part, engine.map, rows)
            elif engine.workers > 1 and _stores_each(system, beliefs) and len(part) >= LEAST_GAMES and are_games(part):
                rate_waves(system, params, beliefs, part, engine.map, rows, start)
            else:
                rate_few(system, params, beliefs, part, engine.map, rows)
    return outcome


def _stores_each(system: System, beliefs: Beliefs) -> bool:
    """Whether a system stores a history of rounds, and a game depends on its two players alone: neither on the period
    nor on what a run has learnt.
    """
    return bool(system.history) and not system.periods and not beliefs.shared


def rate_few(system: System, params: object, beliefs: Beliefs, rounds: Rounds, map: Map, outcome: Outcome) -> None:
    """Rate a batch that is no large round (:func:`split_batches`): small rounds, or a round that is always alone."""

    def rate(given: Rounds, found: Outcome) -> None:
        by_steps = given.advantage.any() and not system.advantages
        if len(given) > 1 or (given.n_rows <= system.small and not by_steps):
            system.rate_small(params, beliefs, given, found)
        elif given.teams is None:
            _rate_large(system, params, beliefs, given, map, found)
        else:
            assert system.rate_teams is not None
            system.rate_teams(params, beliefs, given, map, found)

    if rounds.roles.any():
        _rate_with_unrated(system, params, beliefs, rounds, rate, outcome)
    else:
        rate(rounds, outcome)


def check_rounds(system: System, params: Any, rounds: Rounds) -> None:
    """Raise ``ValueError`` if a system has no rule for some of the rounds."""
    check_teams(system, rounds)
    check_advantages(system, params, rounds)
    check_margins(system, params, np.diff(rounds.offsets))
    if not system.fractional and (fractions := rounds.with_fractions).any():
        at = int(np.argmax(fractions))
        check_score_rule(system, f"round {at} of those given has the score {rounds.score[at]:.15g}")
    if system.periods and not are_games(rounds):
        sizes = np.diff(rounds.offsets)
        at = int(np.argmax((sizes != 2) | rounds.with_unrated))
        what = "unrated" if sizes[at] == 2 else sizes[at]
        rule = f"{system.name} rates games of two rated players only"
        raise ValueError(f"{rule}; round {at} of those given has {what} participants")


def check_teams(system: System, rounds: Rounds) -> None:
    """Raise ``ValueError`` if rounds have teams and the system has no rule for them, or one has unrated members."""
    if rounds.teams is not None:
        check_team_rule(system)
        if (rounds.of_teams & rounds.with_unrated).any():
            raise ValueError("a round of teams has an unrated participant; all members of teams must be rated")


def check_team_rule(system: System, where: str = "") -> None:
    """Raise ``ValueError`` if the system has no rule for teams; ``where`` says which contests have them."""
    if system.rate_teams is None:
        able = [name for name, other in SYSTEMS.items() if other.rate_teams is not None]
        rule = f"{system.name} has no rule for rounds of teams; {listed(able)} have one"
        raise ValueError(f"{where}: {rule}" if where else rule)


def check_score_rule(system: System, where: str) -> None:
    """Raise ``ValueError`` if the system has no rule for scores besides 1, 0.5 and 0; ``where`` says where one is."""
    if not system.fractional:
        able = [name for name, other in SYSTEMS.items() if other.fractional]
        rule = f"{system.name} rates wins, draws and losses only; {listed(able)} rate any score"
        raise ValueError(f"{where}, and {rule} from 0 to 1")


def check_margins(system: System, params: Any, sizes: npt.NDArray[np.integer]) -> None:
    """Raise ``ValueError`` if a round is too large to count the margins of all its pairs, by the sizes of rounds."""
    if system.margins == "pairs" and params.margin != NO_MARGIN and (sizes > system.small).any():
        at = int(np.argmax(sizes > system.small))
        rule = f"{system.name} counts margins pair by pair, in rounds of at most {system.small} participants"
        raise ValueError(f"{rule}; round {at} of those given has {sizes[at]}; choose margin={NO_MARGIN}")


def check_advantages(system: System, params: Any, rounds: Rounds) -> None:
    """Raise ``ValueError`` if the system has no rule for some advantages.

    The rules for teams combine members, who have no advantages of their own. A performance ceiling would be one of
    strength or of rating. A system that computes in whole numbers has whole advantages.
    """
    mask, rule = rounds.with_advantages, ""
    if system.all_games is not None or not mask.any():
        return
    found = mask
    if system.periods:
        rule = f"{system.name} has no rule for advantages; choose another system, or ingest the games without them"
    elif (found := mask & rounds.of_teams).any():
        rule = "a round of teams has advantages; only rounds without teams can have them"
    elif (found := mask & np.isfinite(rounds.perf_ceiling)).any():
        rule = "a round has advantages and a performance ceiling; it can have one of them"
    elif system.is_whole is not None and system.is_whole(params):
        found = replace(rounds, advantage=rounds.advantage % 1.0).with_advantages
        rule = (
            f"advantages of participants must be whole points where {system.name} computes in whole numbers; "
            "choose others, or hyperparameters without rounding"
        )
    if rule and found.any():
        raise ValueError(f"round {int(np.argmax(found))} of those given: {rule}")


def split_batches(system: System, rounds: Rounds) -> list[tuple[int, int, bool]]:
    """Cut rounds into ``start, stop, large``: each large round alone, consecutive small ones together.

    A round with unrated participants, and one of teams with more members than ``small``, is alone, too, and not called
    large. So is a round with advantages, if it is large or the system does not rate it with others.
    """
    cuts, done, of_teams, with_advantages = [], 0, rounds.of_teams, rounds.with_advantages
    alone = rounds.with_unrated if system.advantages else rounds.with_unrated | with_advantages
    for at in [*np.flatnonzero(alone | (np.diff(rounds.offsets) > system.small)).tolist(), len(rounds)]:
        if at > done:
            cuts.append((done, at, False))
        if at < len(rounds):
            cuts.append((at, at + 1, not (of_teams[at] or alone[at] or with_advantages[at])))
        done = at + 1
    return cuts


def _rate_large(system: System, params: Any, beliefs: Beliefs, round: Rounds, map: Map, outcome: Outcome) -> None:
    n, prior = round.n_rows, outcome.prior
    map(lambda start, stop: system.prior(params, beliefs, round, start, stop, prior), n)
    beliefs.reserve(round.player)
    if system.margins and not system.advantages and n == 2:  # rated by steps for its advantages alone
        factor = factor_of_round(0, round.columns, margin_rule(params), round.strengths(prior.mu))
        if system.performs:
            prior.beta[:] /= np.sqrt(factor)
        else:  # which takes its noise from the round
            round = replace(round, precision=round.precision * factor)
    advantage = round.advantage
    summary = system.summarise(params, system.field_of(prior, advantage), round, map)
    in_rating = system.in_rating(summary, advantage)
    tally = Tally(system.learning, params, beliefs, round, prior)

    def finish(start: int, stop: int) -> None:  # the tie groups that begin between these rows
        first, last = np.searchsorted(summary.first, (start, stop))
        begin, end = summary.first[first], summary.first[last]
        system.perform(params, summary, first, last, outcome.perf)
        if len(advantage):
            outcome.perf[begin:end] -= advantage[begin:end]
        tally.add(begin, end, outcome.perf)
        system.absorb(params, beliefs, round, prior, in_rating, begin, end, outcome)

    map(finish, n)
    tally.close()


def _rate_with_unrated(
    system: System,
    params: object,
    beliefs: Beliefs,
    round: Rounds,
    rate: Callable[[Rounds, Outcome], None],
    outcome: Outcome,
) -> None:
    """Rate one round whose unrated participants are all ``OUTSIDE`` or all ``IN_FIELD``.

    ``rate`` rates a round without roles in these beliefs. Those about unrated participants keep their bits. In the
    outcome, their performance is that in a round of all participants, and ``mu`` and ``sigma`` are those of before.

    If the unrated participants are in the field, one round of all is rated, and their beliefs are restored. Otherwise
    the beliefs about all are restored, and the rated participants are rated again without them: to the bit as if the
    others had not taken part. What all players share changes by the rated participants only.
    """
    rated, outside = round.are_rated, bool((round.roles == OUTSIDE).any())
    restored = round.player if outside else round.player[~rated]
    before = beliefs.take(restored)
    everybody = beliefs.take(round.player) if beliefs.shared else {}
    rate(replace(round, roles=round.roles[:0]), outcome)
    beliefs.put(restored, before)
    beliefs.share(before)
    if outside:
        found = Outcome.empty(int(rated.sum()))
        rate(round.select(rated), found)
        for name in Outcome._fields:
            getattr(outcome, name)[rated] = getattr(found, name)
    elif everybody:
        store, rows = system.newcomers(params, round.n_rows), np.flatnonzero(rated)
        store.restore(everybody)
        part = replace(round.select(rated), player=rows.astype(np.int32), participants=round.participants)
        tally = Tally(system.learning, params, store, part, outcome.select(rated).prior)
        tally.add(0, len(rows), outcome.perf[rated])
        tally.close()
        beliefs.share(store.shared_columns)
    outcome.mu[~rated], outcome.sigma[~rated] = beliefs.mu[round.player[~rated]], beliefs.sigma[round.player[~rated]]
