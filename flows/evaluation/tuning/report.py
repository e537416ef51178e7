"""The result of a search: its trials, the best ones, and the folds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...common.finite import finite_json
from ...common.text import count
from .folds import Fold, mean_score
from .record import TuningConfig
from .trials import Trial


@dataclass(frozen=True, slots=True)
class Found:
    """One of the best trials, with its scores in the test: none if ratings diverged there, or without a test."""

    settings: dict[str, str]
    train: dict[str, float]
    test: dict[str, float]


@dataclass(frozen=True, slots=True)
class TuningReport:
    """The result of a search.

    ``config``: the configuration, with its filter and name.
    ``trials``: all trials in the order of their proposals.
    ``best``: the best trials, best first: on the training share, and tested on the rest; with several folds on all
    contests, without a test.
    ``folds``: the setting and the score of each fold; see :mod:`.folds`.
    ``n_train``, ``n_contests``: number of contests for training; number of all contests.
    ``warnings``: what the system ignores of the contests.
    ``apart``: a line about large groups of players who never met; else empty.
    """

    config: TuningConfig
    trials: list[Trial]
    n_new: int
    best: list[Found]
    folds: list[Fold]
    n_train: int
    n_contests: int
    seconds: float
    warnings: tuple[str, ...] = ()
    apart: str = ""

    @property
    def failed(self) -> list[Trial]:
        """Trials without a score."""
        return [trial for trial in self.trials if trial.error]

    @property
    def n_stopped(self) -> int:
        """Number of pruned trials."""
        return sum(trial.stopped for trial in self.trials)

    def summary(self) -> str:
        """One line about the trials."""
        text = f"search {self.config.name}: {count(len(self.trials), 'trial')}, {self.n_new:,} of them now"
        text += f" in {self.seconds:.1f} s"
        text += f"; {self.n_stopped:,} pruned" if self.n_stopped else ""
        failed = self.failed
        return text + (f"; {len(failed):,} failed, the first with: {failed[0].error}" if failed else "")

    def to_json(self) -> dict[str, Any]:
        """The report as a document; a number that is not finite is null."""
        config = self.config
        names = ("dataset", "system", "method", "metric", "filter", "train_share", "seed")
        document: dict[str, Any] = finite_json(
            {"search": config.name}
            | {name: getattr(config, name) for name in names}
            | {
                "contests": self.n_contests,
                "training_contests": self.n_train,
                "trials": len(self.trials),
                "new": self.n_new,
                "pruned": self.n_stopped,
                "failed": len(self.failed),
                "seconds": self.seconds,
                "best": [asdict(found) for found in self.best],
                "folds": [{"fold": number} | asdict(fold) for number, fold in enumerate(self.folds, 1)],
                "mean": mean_score(self.folds),
            }
        )
        return document
