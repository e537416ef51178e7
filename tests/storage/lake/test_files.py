"""JSON files keep their bytes from release to release, and damage is named; Parquet bytes; imports."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.builders import rounds

from ranklake.storage import DamagedError, FormatError, Lake, RoundEntry, Segment
from ranklake.storage.lake import parquet
from ranklake.storage.lake.access.lake import Written
from ranklake.storage.lake.json_files import decode
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import lease_holder
from ranklake.storage.runs.snapshots import encode_parts, read_digest, write_snapshot

ODD = 'é"\\\n\x1f\x7f\u2028😀'  # characters that encoders escape in different ways


def test_segment__has_the_bytes_that_every_release_wrote() -> None:
    entries = [RoundEntry(3, ODD, 2, "a" * 32), RoundEntry(4, "b", 0, "c" * 32, True)]
    segment = Segment.of(entries, "p" * 32, Written(17, "d" * 32))
    fields = {
        "format": 1, "first_round": 3, "contest_ids": [ODD, "b"], "rows": [2, 0], "digests": ["a" * 32, "c" * 32],
        "skipped": [4], "parent": "p" * 32, "n_rows": 2, "file": "000003.parquet", "file_size": 17,
        "file_digest": "d" * 32,
    }  # fmt: skip
    data = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    assert segment.to_json() == data
    assert decode(Segment, data, "x.json") == segment


def test_snapshot__manifest_has_the_bytes_that_every_release_wrote(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    write_snapshot(lake, "s", 7, encode_parts({"mu": np.zeros(2)}), "e" * 32)
    data = lake.read_bytes("s/manifest.json")
    size, digest = lake.size("s/part-0000.arrow"), json.loads(data)["parts"][0]["digest"]
    part = f'{{"rows": 2, "size": {size}, "digest": "{digest}"}}'
    head = f'{{"format": 1, "last_round": 7, "digest": "{"e" * 32}", "n_players": 2, "parts": ['
    assert data.decode() == f"{head}{part}]}}"
    assert read_digest(lake, "s") == "e" * 32


def test_lease__has_the_bytes_that_every_release_wrote(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    lake.write_bytes("d/x", b"")
    with hold_lease(lake, "d", "rate"):
        data = lake.read_bytes("d/lease-000000.json")
        holder = lease_holder(lake, "d")
    assert holder is not None
    keys = ["who", "machine", "pid", "started", "token", "beats", "time_seconds", "released"]
    values = [getattr(holder, {"who": "owner", "beats": "heartbeats"}.get(key, key)) for key in keys]
    assert data == json.dumps(dict(zip(keys, values, strict=True))).encode().ljust(512)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b"[]", b'{"format": 1', b'{"format": true}', b"{}"])
def test_decode__of_damage_names_the_file(data: bytes) -> None:
    with pytest.raises(DamagedError, match=r"^runs/x/run\.json: .*; restore it, or `ranklake delete --run x`"):
        decode(dict[str, Any], data, "runs/x/run.json")


def test_decode__error_of_another_format_comes_before_all_others() -> None:
    with pytest.raises(FormatError, match="is format 2, this code reads 1; update ranklake"):
        decode(Segment, b'{"format": 2, "rounds": "other keys"}', "runs/x/rounds/000000.json")


# Parquet


def test_arrow_buffer__is_a_copy_that_python_does_not_own() -> None:
    data = b"0123456789"
    buffer = parquet.arrow_buffer(data)
    assert buffer.to_pybytes() == data
    assert buffer.address != np.frombuffer(data, np.uint8).ctypes.data


@pytest.mark.slow
def test_decode__no_thread_of_arrow_releases_bytes_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    released: set[int] = set()

    class Bytes(np.ndarray):  # bytes whose release is seen
        def __del__(self) -> None:
            released.add(threading.get_ident())

    table, _, _ = rounds(0, [20_000])
    data = np.frombuffer(parquet.encode(table, "rounds"), np.uint8)
    monkeypatch.setattr(parquet, "_THREADS_FROM", 0)
    for _ in range(200):
        assert parquet.decode(data.view(Bytes), "rounds", "path").num_rows == table.num_rows  # type: ignore[arg-type]
    assert released == {threading.get_ident()}


def test_import__storage_imports_neither_kernels_nor_flows_nor_clusters() -> None:
    code = (
        "import sys, ranklake.storage; "
        "print(*sorted({'numba', 'rating_kernels', 'flows', 'dask', 'distributed', 'prefect', 'pandas'}"
        " & {name.removeprefix('ranklake.').partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
