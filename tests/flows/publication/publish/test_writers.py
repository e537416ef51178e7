"""Concurrent writers: one of them publishes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from helpers.tables import TABLES, assert_published, folder, versions

import ranklake.flows.publication.delta_table
from ranklake.flows.publication.delta_table import PublishedTable
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.schemas import PUBLISHED
from ranklake.storage.leases.acquire import hold_lease


def test_publish__does_not_wait_for_a_rating(lake: Lake) -> None:
    with hold_lease(lake, "runs/run", "rate run"), pytest.raises(LeaseHeldError, match="rate run"):
        publish(lake, "run")
    assert not folder(lake).exists()
    publish(lake, "run")
    with pytest.raises(LeaseHeldError, match="took over"), hold_lease(lake, "runs/run", "rate run"):
        publish(lake, "run", steal=True)


def test_publish__stops_after_the_loss_of_its_lease(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = ranklake.flows.publication.delta_table.write_deltalake

    def write_deltalake(table: Any, rows: Any, **how: Any) -> None:
        monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", commit)
        commit(table, rows, **how)
        publish(lake, "run", steal=True)

    monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", write_deltalake)
    with pytest.raises(LeaseHeldError, match="took over"):
        publish(lake, "run")
    assert versions(lake) == dict.fromkeys(TABLES, 1)
    assert_published(lake)


def test_publish__one_of_two_concurrent_appends_fails(published: Lake) -> None:
    one, other = (PublishedTable(published, "published/run/players", PUBLISHED["players"]) for _ in range(2))
    rows = pa.table({"player": pa.array([99], pa.int32()), "handle": ["late"]}, schema=PUBLISHED["players"])
    one.append(rows.to_batches(), {"rows": 0})
    with pytest.raises(LakeError, match=r"published/run/players: cannot write: .*transaction"):
        other.append(rows.to_batches(), {"rows": 0})
