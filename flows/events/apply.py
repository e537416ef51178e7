"""Resets as raters take them, and their checks against a system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ranklake.rating_kernels import System
from ranklake.storage import Dataset, Event
from ranklake.storage.datasets.tables.events import MEAN, MU_INIT

from ..execution.rater import BeliefReset
from .resets import DueReset, Mask
from .start import check_position


def belief_reset(reset: DueReset, params: Any, dataset: Dataset) -> BeliefReset:
    """A reset of a data set as raters take it, for a run with these hyperparameters."""
    return reset_of_event(reset.event, params, reset.mask(dataset))


def reset_of_event(event: Event, params: Any, players: Mask | None) -> BeliefReset:
    """The reset of an event as raters take it; ``players`` (bool[n]): those with its attribute, None: others, too."""
    centre = None
    if event.centre != MEAN:
        centre = float(params.mu_init if event.centre == MU_INIT else event.centre)
    forget = event.history == "forget"
    return BeliefReset(centre, event.keep, event.widen, forget, event.restart_counts, event.active_since, players)


def check_resets(system: System, params: Any, dataset: Dataset, resets: Sequence[DueReset]) -> None:
    """Check the resets of a data set against a system.

    Raises ValueError: the system has no rule for one of them. LakeError: a period of games has games on both sides.
    """
    for reset in resets:
        check_position(dataset, reset.event)
        found = belief_reset(reset, params, dataset)
        try:
            system.check_reset(params, found.around(params.mu_init if found.centre is None else found.centre))
        except ValueError as error:
            remedy = f"`ranklake season remove` removes it from data set {dataset.name}"
            raise ValueError(f"season {reset.event.name} begins with a reset, and {error}; {remedy}") from error
