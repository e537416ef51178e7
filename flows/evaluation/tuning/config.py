"""The configuration of a search for hyperparameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ranklake.rating_kernels.metrics.metrics import FILTERS
from ranklake.storage.lake import layout

from ...common.configuration.settings import find_system
from ...rating.config import default_run
from .proposals import Proposals, open_proposals

METRICS = ("pair_inversion", "rank_deviation", "rank_information")


def check_choices(metric: str, filter: str, train_share: float, **numbers: int | None) -> None:
    """Raise ``ValueError`` for an unknown criterion, an impossible share, or a number below 1."""
    for name, value, known in (("metric", metric, METRICS), ("filter", filter, tuple(FILTERS))):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ValueError(f"{name} must be >= 1, got {number}")
    if not 0.0 < train_share < 1.0:
        raise ValueError(f"train_share must be between 0 and 1, both excluded, got {train_share}")


@dataclass(frozen=True, slots=True)
class TuningConfig:
    """The configuration of a search.

    ``space``: texts of ``--space``; empty for the system's default space, see :mod:`.published_grids`.
    ``method``: a key of ``proposals.METHODS``.
    ``metric``, ``filter``: metric to optimise, of ``METRICS``, under one of ``FILTERS``.
    ``train_share``: share of the contests for training; the others are for the test.
    ``prune``: stop trials early that are worse than half of the others.
    ``name``: name of the search in the lake; by default made of the other attributes.
    """

    dataset: str
    system: str
    space: tuple[str, ...] = ()
    method: str = "grid"
    metric: str = "pair_inversion"
    filter: str = "experienced"
    train_share: float = 0.1
    trials: int | None = None
    seed: int = 0
    prune: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        check_choices(self.metric, self.filter, self.train_share, trials=self.trials)
        if not self.name:
            values = {key: value for key, value in self.identity().items() if key not in ("dataset", "system")}
            name = default_run(self.dataset, f"{self.system}-{self.method}", values)
            object.__setattr__(self, "name", name)
        layout.search_file(self.name)  # raises for a name that is not valid for a folder
        layout.contests_file(self.dataset)

    def identity(self) -> dict[str, Any]:
        """The configuration without ``trials``, which may grow, and ``name``."""
        return {key: value for key, value in asdict(self).items() if key not in ("name", "trials")}

    def proposals(self) -> Proposals:
        """The proposals; see :func:`.proposals.open_proposals`."""
        return open_proposals(self.method, find_system(self.system), self.space, self.metric, self.seed, self.trials)
