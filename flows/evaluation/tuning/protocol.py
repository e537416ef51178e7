"""What a search asks of every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .trials import History, Trial

__all__ = ["Proposals", "Settings"]

Settings = dict[str, str]


class Proposals(Protocol):
    """Attributes: ``batch``, the number of trials in a batch; ``total``, the number of all trials."""

    batch: int
    total: int

    def begin(self, history: History) -> None:
        """Receive the contests for training, before the first proposal; not used by most methods."""
        return None

    def ask(self, first: int, n: int) -> list[Settings]:
        """Settings of ``n`` trials from number ``first`` on; called in order."""
        ...

    def tell(self, trials: Sequence[Trial]) -> None:
        """Receive the results of the proposals since the last call, in their order; not used by most methods."""
        return None
