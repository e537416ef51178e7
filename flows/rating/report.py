"""The progress and the report of rating one run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..common.skipping import skipped_text
from ..common.text import count, with_reasons


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a rating.

    ``rounds``, ``n_rounds``: finished rounds, and all rounds.
    ``rows``, ``n_rows``: participations of the finished rounds that were not kept, and of all of these; the time is in
    proportion.
    ``seconds``: since the start.
    """

    rounds: int
    n_rounds: int
    rows: int
    n_rows: int
    seconds: float

    def shown(self) -> tuple[int, int, str]:
        """Finished and total participations, and the rounds: what a :data:`.ProgressCallback` takes."""
        return self.rows, self.n_rows, f"{self.rounds:,} of {count(self.n_rounds, 'contest')}"


@dataclass(slots=True)
class RateReport:
    """The result of a rating, counted while it goes on, or the plan of a dry run.

    ``kept``, ``replayed``, ``rated``: kept rounds; of these, those computed again after the snapshot; rounds rated now.
    ``holds``: number of leading rounds whose ratings are those of before; at least ``kept``, because whole segments are
    kept.
    ``why``: reason why committed rounds were not kept; empty if all were.
    ``excluded``, ``rows``: excluded contests among the rounds rated now, and their rated participations; of a dry run
    an upper bound.
    ``reasons``, ``violations``: contests skipped because of their places, by reason; violations of the system's
    invariants, by invariant.
    ``damaged_snapshots``: paths of damaged snapshots, which were removed.
    ``recoveries``, ``left_out``: recoveries from lost workers, and workers that took no part, each with the reason.
    ``phases``: time of a cluster's driver: seconds and calls, by phase.
    ``warnings``: columns that the system ignores, and a drift of the level of the ratings.
    ``apart``: a line about large groups of players who never met; else empty.
    ``rounding``: how replayed rounds differ by rounding from the stored ones, and why; empty if they have the same
    bits.
    """

    kept: int
    replayed: int
    rated: int
    holds: int
    why: str = ""
    excluded: int = 0
    rows: int = 0
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    planned: bool = False
    damaged_snapshots: tuple[str, ...] = ()
    recoveries: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    phases: dict[str, tuple[float, int]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    apart: str = ""
    rounding: str = ""

    @property
    def skipped(self) -> int:
        """Number of rounds skipped because of their places."""
        return self.reasons.total()

    def line(self) -> str:
        """The report in one line."""
        kept, replayed, rated = ("kept", "replayed", "rated") if not self.planned else ("would keep", "replay", "rate")
        took = f"in {self.seconds:.1f} s" if not self.planned else "at most"
        text = f"{kept} {count(self.kept, 'round')} rated before" if self.kept or self.why or self.planned else ""
        text += f" ({self.why})" if self.why else ""
        text += f", {replayed} {self.replayed:,} of them" if self.replayed else ""
        text += f" (they {self.rounding})" if self.rounding else ""
        text += f"{', ' if text else ''}{rated} {count(self.rated, 'round')}"
        text += f" with {count(self.rows, 'participation')} {took}"
        text += skipped_text(self.reasons)
        text += f"; {self.excluded:,} of them excluded" if self.excluded else ""
        text += "".join(f"; {what}: {n:,}" for what, n in self.violations.items())
        text += f"; recoveries from lost workers: {self.recoveries}" if self.recoveries else ""
        text += f"; workers left out: {with_reasons(self.left_out)}" if self.left_out else ""
        return text + "".join(
            f"; damaged snapshot removed, an older one used: {path}" for path in self.damaged_snapshots
        )

    def phases_line(self) -> str:
        """The time of the driver by phase, longest first, in one line."""
        phases = sorted(self.phases.items(), key=lambda item: -item[1][0])
        return "time by phase: " + ", ".join(f"{name} {seconds:.2f} s ({n:,})" for name, (seconds, n) in phases)
