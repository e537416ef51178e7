"""Tables in an object store equal those on a disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from helpers.answers import stored_board
from helpers.lakes import ingest, lake_of, rate_run, same_tables, synthetic
from helpers.tables import over_years

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake, Run

pytestmark = pytest.mark.slow

pytest.importorskip("moto", reason="needs moto[server], a local object store")
s3fs = pytest.importorskip("s3fs")

# A separate process: the Delta library holds the interpreter lock while it waits.
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty bucket of a local store."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = next(line for line in server.stdout if line.strip().isdigit()).strip()
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                monkeypatch.setenv(name, "made-up")
            monkeypatch.setenv("AWS_REGION", "us-east-1")
            monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            s3fs.S3FileSystem.clear_instance_cache()
            s3fs.S3FileSystem().mkdir("bucket")
            yield "s3://bucket"
        finally:
            s3fs.S3FileSystem.clear_instance_cache()
            server.kill()


def read(lake: Lake, name: str) -> pa.Table:
    return DeltaTable(lake.uri(f"published/run/{name}"), storage_options={"allow_http": "true"}).to_pyarrow_table()


def test_publish__into_an_object_store_equals_a_disk(bucket: str) -> None:
    contests = over_years(synthetic(30))
    lake = lake_of(f"{bucket}/lake", contests[:20])
    rate_run(lake)
    publish(lake, "run")
    ingest(lake, contests)
    rate_run(lake)
    assert publish(lake, "run").kept == 20
    assert publish(lake, "run", maintain=True).tables == ()
    assert same_tables(read(lake, "leaderboard"), stored_board(lake))
    order = [("round_index", "ascending"), ("player", "ascending")]
    rows = Run.open(lake, "run").read_rounds().sort_by(order)
    assert same_tables(read(lake, "ratings").sort_by(order).select(rows.column_names), rows)
    assert lake.exists("published/run/latest.parquet")
