"""Small contests, runs and failing lakes for the tests of storage."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from ranklake.storage import Contest, Dataset, Lake, LakeError, RoundEntry, Run
from ranklake.storage.leases.reserve import RESERVE


def contest(contest_id: str, handles: list[str], *, url: str = "", name: str = "", ties: int = 1, **more) -> Contest:
    """``handles`` best first, in tie groups of ``ties``."""
    n = len(handles)
    lo = np.arange(n, dtype=np.int32) // ties * ties
    hi = np.minimum(lo + ties - 1, n - 1).astype(np.int32)
    title = name or f"Contest {contest_id}"
    return Contest(contest_id, title, url, more.pop("time_seconds", 60), pa.array(handles, pa.string()), lo, hi, **more)


def field(prefix: str, n: int, start: int = 0) -> list[str]:
    return [f"{prefix}{number}" for number in range(start, start + n)]


def ingest(lake: Lake, contests: Iterable[Contest], name: str = "games") -> list[str]:
    with Dataset.ingest(lake, name) as body:
        return [body.add(one) for one in contests]


def content(lake: Lake, name: str = "games") -> list[tuple]:
    """All that a reader sees of a data set, as plain values."""
    dataset = Dataset.open(lake, name)
    handles = dataset.handles().to_pylist()
    assert len(handles) == dataset.n_players
    rows = dataset.contests.select(["contest_id", "name", "url", "time_seconds", "weight", "perf_ceiling"]).to_pylist()
    found = [(*row.values(), []) for row in rows]
    for part in dataset.standings():
        for index in range(len(part)):
            mine = slice(part.offsets[index], part.offsets[index + 1])
            columns = ([handles[p] for p in part.player[mine]], part.lo[mine].tolist(), part.hi[mine].tolist())
            found[part.first_contest + index][-1].extend(zip(*columns, strict=True))
    return found


def expected(contests: list[Contest]) -> list[tuple]:
    return [
        (
            one.contest_id,
            one.name,
            one.url or None,
            one.time_seconds,
            one.weight,
            None if one.perf_ceiling == math.inf else one.perf_ceiling,
            list(zip(one.handles.to_pylist(), one.lo.tolist(), one.hi.tolist(), strict=True)),
        )
        for one in contests
    ]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` and its bytes, apart from leases, which tell who wrote, and the reserve."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not is_kept(str(path.relative_to(folder))))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def is_kept(path: str) -> bool:
    """Whether a file belongs to the lake's own upkeep: a lease or a part of the reserve."""
    return path.rpartition("/")[2].startswith("lease-") or path.startswith(f"{RESERVE}/")


def digest(round_index: int, history: str = "a") -> str:
    """Chain digest after a round of an imagined history; empty before the first."""
    return hashlib.blake2b(f"{history}{round_index}".encode(), digest_size=16).hexdigest() if round_index >= 0 else ""


def rounds(first: int, sizes: list[int], history: str = "a") -> tuple[pa.Table, list[RoundEntry], str]:
    """What ``Run.append`` takes: a segment of rounds with ``sizes`` rows, those without rows skipped."""
    rng = np.random.default_rng(first)
    n = sum(sizes)
    index = np.repeat(np.arange(first, first + len(sizes), dtype=np.int32), sizes)
    table = pa.table(
        {
            "round_index": index,
            "contest_id": pa.array([f"c{number}" for number in index], pa.string()),
            "player": rng.integers(0, 1000, n).astype(np.int32),
            "lo": np.arange(n, dtype=np.int32),
            "hi": np.arange(n, dtype=np.int32),
            "perf": pa.array([None if row % 5 == 0 else float(row) for row in range(n)], pa.float64()),
            **{name: rng.normal(1500, 300, n) for name in ("mu_prior", "sigma_prior", "mu", "sigma")},
            "n_before": rng.integers(0, 50, n).astype(np.int32),
        }
    )
    entries = [
        RoundEntry(first + place, f"c{first + place}", size, digest(first + place, history), skipped=size == 0)
        for place, size in enumerate(sizes)
    ]
    return table, entries, digest(first - 1, history)


def run_of(lake: Lake, segments: list[list[int]], name: str = "run") -> Run:
    """A run whose segments have rounds of these sizes."""
    run = Run.create(lake, name, {"system": "elo"})
    first = 0
    for sizes in segments:
        run.append(*rounds(first, sizes))
        first += len(sizes)
    return run


class Killed(BaseException):
    """What no `except Exception` may swallow."""


class WatchedLake(Lake):
    """A lake that notes its writes and deletions, and may fail at one of its writes, or be dead from then on.

    Leases and the reserve are passed over: a dead process gives none back, but here the process lives on.
    """

    def __init__(
        self, lake: Lake, *, fail_at: int = -1, done: bool = False, error: BaseException | None = None
    ) -> None:
        super().__init__(lake._filesystem, lake._root, lake.url, lake.limits)
        self.fail_at = fail_at
        self.done = done  # whether the failing write reaches the disk
        self.error = error or LakeError("disk full")
        self.writes: list[str] = []
        self.deletions: list[str] = []

    def write_bytes(self, path, data, **how):
        if is_kept(path):
            return super().write_bytes(path, data, **how)
        failing = len(self.writes) == self.fail_at
        self._live()
        self.writes.append(path)
        if self.done or not failing:
            super().write_bytes(path, data, **how)
        if failing:
            raise self.error

    def delete(self, path):
        if is_kept(path):
            return super().delete(path)
        self._live()
        self.deletions.append(path)
        super().delete(path)

    def delete_folder(self, folder):
        if "/writing-" not in folder:
            self._live()
            self.deletions.append(folder)
        super().delete_folder(folder)

    def _live(self):
        if isinstance(self.error, Killed) and 0 <= self.fail_at < len(self.writes):
            raise self.error
