"""Rate a round with unrated participants: they show a performance, and their beliefs do not change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from ranklake.rating_kernels import Beliefs, Outcome, Rounds
from ranklake.rating_kernels.core.standings import OUTSIDE, RATED

__all__ = ["rate_with_unrated"]


def rate_with_unrated(
    beliefs: Beliefs, round: Rounds, rate: Callable[[Rounds, Outcome], None], outcome: Outcome
) -> None:
    """Rate one round with unrated participants.

    Parameters
    ----------
    beliefs
        Written in place; those about unrated participants keep their bits, with their times and numbers of rounds.
    round
        Its unrated participants are all ``OUTSIDE`` or all ``IN_FIELD``.
    rate
        Rates a round without roles, in these beliefs.
    outcome
        Of all rows. For unrated ones, the performance is that in a round of all participants, and ``mu`` and ``sigma``
        are those before the diffusion.

    Notes
    -----
    If the unrated participants are in the field, one round of all is rated, and their beliefs are restored. Otherwise
    the beliefs about all are restored, and the rated participants are rated again without them: to the bit as if the
    others had not taken part.
    """
    rated, outside = round.roles == RATED, bool((round.roles == OUTSIDE).any())
    restored = round.player if outside else round.player[~rated]
    before = beliefs.take(restored)
    rate(replace(round, roles=round.roles[:0]), outcome)
    beliefs.put(restored, before)
    if outside:
        found = Outcome.empty(int(rated.sum()))
        rate(round.select(rated), found)
        for column in fields(found):
            getattr(outcome, column.name)[rated] = getattr(found, column.name)
    outcome.mu[~rated], outcome.sigma[~rated] = beliefs.mu[round.player[~rated]], beliefs.sigma[round.player[~rated]]
