"""Parquet bytes in memory."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from helpers.builders import rounds

from ranklake.storage.lake import parquet


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
