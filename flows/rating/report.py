"""The progress and the report of rating one run."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class RateReport:
    """The result of a rating, or the plan of a dry run.

    ``kept``, ``replayed``, ``rated``, ``skipped``: kept rounds; of these, rounds computed again after the snapshot;
    rounds rated now; of these, skipped rounds.
    ``rows``: participations rated now; an upper bound in a dry run.
    ``why``: reason why committed rounds were not kept; empty if all were.
    ``violations``: violations of the system's invariants in the rounds rated now, by invariant.
    ``excluded``: number of excluded contests among the rounds rated now.
    ``planned``: whether this is a dry run.
    ``damaged_snapshots``: paths of damaged snapshots, which were removed.
    ``recoveries``: number of recoveries from lost workers.
    ``phases``: time of a cluster's driver: seconds and calls, by phase.
    ``reasons``: number of contests skipped, by reason.
    ``warnings``: columns that the system ignores, and a drift of the level of the ratings.
    ``holds``: number of leading rounds whose ratings are those of before; at least ``kept``, because whole segments are
    kept.
    ``left_out``: workers of the cluster that took no part, at some time of the run, each with the reason.
    ``rounding``: how replayed rounds differ by rounding from the stored ones, and why; empty if they have the same
    bits.
    """

    kept: int
    replayed: int
    rated: int
    skipped: int
    rows: int
    seconds: float
    why: str
    violations: dict[str, int] = field(default_factory=dict)
    excluded: int = 0
    planned: bool = False
    damaged_snapshots: tuple[str, ...] = ()
    recoveries: int = 0
    phases: dict[str, tuple[float, int]] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    holds: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    rounding: str = ""

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
