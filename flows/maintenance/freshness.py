"""Whether a run is up to date with its data set, from the digests in its manifests; reads no ratings.

A run is *complete* if it holds every contest of its data set, *behind* if contests are not rated yet, and *stale* if
contests changed after they were rated. The module imports no kernel, so that `ranklake runs` and the note below a
leaderboard stay fast.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ranklake.storage import Chain, Dataset, Lake, LakeError, Run
from ranklake.storage.lake import layout
from ranklake.storage.leases.holder import lease_holder

from ..common.text import count
from ..rating.chain import NUMERICS, first_break, n_valid, required_digests


@dataclass(frozen=True, slots=True)
class Freshness:
    """The state of a run compared with its data set: its committed rounds, how many of the first ones still hold
    (rating the data set now would give the same), and why the others do not; empty if all do.
    """

    n_contests: int
    n_rounds: int
    holds: int
    why: str

    @property
    def stale_from(self) -> int | None:
        """The first round that is no longer valid; None if all are."""
        return self.holds if self.holds < self.n_rounds else None

    @property
    def to_rate(self) -> int:
        """Rounds that `rate` would rate, or rate again."""
        return max(self.n_contests - self.holds, 0)

    @property
    def state(self) -> str:
        """In words: ``complete``, ``behind by 3 rounds`` or ``stale from round 19``."""
        if self.stale_from is not None:
            return f"stale from round {self.stale_from}"
        if self.to_rate:
            return f"behind by {count(self.to_rate, 'round')}"
        return "complete"

    def line(self, run_name: str, dataset: str, lake_url: str, writer: str = "") -> str:
        """The state, the reason, and the command that updates the run, or its writer; empty if complete."""
        if self.state == "complete":
            return ""
        why = f" ({self.why})" if self.why else ""
        if writer:
            return f"run {run_name} is {self.state}{why}; {writer} holds the lease"
        command = update_command(run_name, dataset, lake_url)
        return f"run {run_name} is {self.state}{why}: `{command}` brings it up to date"


def freshness(run: Run, dataset: Dataset, chain: Chain | None = None) -> Freshness:
    """Compare a run with its data set.

    Without ``chain``, the segments of the run, only the newest manifest is read: the digest of its last round depends
    on all rounds before, so the others are read only if it differs.
    """
    exclude = set(run.config.get("exclude", []))
    digests = required_digests(run, dataset)
    n_contests = len(digests)
    if chain is None:
        newest = run.newest_segment()
        if newest is None:
            return Freshness(n_contests, 0, 0, "")
        n_rounds = newest.stop_round
        if _same_release(run) and digests[n_rounds - 1 : n_rounds] == [newest.last_digest]:
            return Freshness(n_contests, n_rounds, n_rounds, "")
        chain = run.segments()
    n_rounds = chain.stop_round
    if n_rounds and not _same_release(run):
        return Freshness(n_contests, n_rounds, 0, "another release of ranklake rated it")
    recorded = chain.digests
    holds = n_valid(recorded, digests)
    why = first_break(holds, chain, dataset, run, exclude, digests) if holds < n_rounds else ""
    return Freshness(n_contests, n_rounds, holds, why)


def note(lake: Lake, run_name: str) -> str:
    """One line about a run that is stale or behind, with the command that updates it.

    Empty if the run is complete, or if a file cannot be read: the command that reads the file raises the error.
    """
    try:
        run = Run.open(lake, run_name)
        dataset = Dataset.open(lake, run.config["dataset"])
        by = lease_holder(lake, layout.run_folder(run_name))
        return freshness(run, dataset).line(run_name, dataset.name, lake.url, by.owner if by else "")
    except (LakeError, ValueError, KeyError, TypeError):
        return ""


def update_command(run_name: str, dataset: str, lake_url: str) -> str:
    """The command that updates a run, quoted for a shell."""
    return shlex.join(["ranklake", "rate", "--dataset", dataset, "--run", run_name, "--lake", lake_url])


def _same_release(run: Run) -> bool:
    """Whether the ratings of the run were computed by a release with the same numerics."""
    return bool(run.config.get("numerics") == NUMERICS)
