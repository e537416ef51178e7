"""The progress and the report of rating one run."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Progress", "RateReport"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rating pass has come: rounds done of ``n_rounds``, participations and seconds since it began."""

    rounds: int
    n_rounds: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RateReport:
    """What rating did, or would do.

    Attributes
    ----------
    kept, replayed, rated, skipped : int
        Rounds that still held; of these, computed once more to come from a snapshot to the end; rated now; of
        these, passed over because of their places.
    rows : int
        Participations rated now; when planned, at most.
    why : str
        Why rounds that had been committed were not kept; empty if all were.
    violations : dict of str to int
        Violations of the system's invariants in the rounds rated now, by invariant.
    excluded : int
        Of the rounds rated now, passed over because they were to be.
    planned : bool
        Nothing was done: a dry run.
    damaged_snapshots : tuple of str
        Snapshots that were damaged, and removed.
    recoveries : int
        How often workers were lost, and others went on.
    phases : dict of str to (float, int)
        Where the time of a cluster's driver went: seconds and how often, by phase.
    reasons : dict of str to int
        Why contests were skipped, and how many.
    drift : str
        What is to be known of the level of the ratings, if the rounds rated now moved it; else empty.
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
    drift: str = ""

    def line(self) -> str:
        """The report in one line."""
        kept, replayed, rated = ("kept", "replayed", "rated") if not self.planned else ("would keep", "replay", "rate")
        took = f"in {self.seconds:.1f} s" if not self.planned else "at most"
        told = f"{kept} {self.kept:,} rounds rated before" if self.kept or self.why or self.planned else ""
        told += f" ({self.why})" if self.why else ""
        told += f", {replayed} {self.replayed:,} of them" if self.replayed else ""
        told += f"{', ' if told else ''}{rated} {self.rated:,} rounds with {self.rows:,} participations {took}"
        told += "".join(
            f"; {count:,} contest{'s' if count > 1 else ''} skipped: {reason}" for reason, count in self.reasons.items()
        )
        told += f"; {self.excluded:,} of them excluded" if self.excluded else ""
        told += "".join(f"; {what}: {count:,}" for what, count in self.violations.items())
        told += f"; recoveries from lost workers: {self.recoveries}" if self.recoveries else ""
        return told + "".join(f"; damaged, removed, and an older one served: {path}" for path in self.damaged_snapshots)

    def phases_line(self) -> str:
        """Where the driver's time went, the longest first, in one line."""
        phases = sorted(self.phases.items(), key=lambda one: -one[1][0])
        return "time by phase: " + ", ".join(f"{name} {seconds:.2f} s ({n:,})" for name, (seconds, n) in phases)
