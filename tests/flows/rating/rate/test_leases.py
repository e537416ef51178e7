"""A run under the lease of another writer."""

from __future__ import annotations

import pytest
from helpers.lakes import rate_run

from ranklake.flows.rating.report import Progress
from ranklake.storage import Lake, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease


def test_rate__of_a_run_under_another_lease_is_refused_without_steal(lake: Lake) -> None:
    lost = pytest.raises(LeaseHeldError, match="took over")
    with lost, hold_lease(lake, "runs/run", "rate run"):
        with pytest.raises(LeaseHeldError, match=r"runs/run: .* holds the lease, last heartbeat"):
            rate_run(lake)
        rate_run(lake, steal=True)


def test_rate__commits_nothing_after_the_loss_of_its_lease(lake: Lake) -> None:
    committed: list[int] = []

    def lose(progress: Progress) -> None:
        with hold_lease(lake, "runs/run", "rate run", steal=True):
            committed.append(Run.open(lake, "run").segments().stop_round)

    with pytest.raises(LeaseHeldError, match="took over from this process"):
        rate_run(lake, on_progress=lose)
    assert Run.open(lake, "run").segments().stop_round == committed[0] < 60
