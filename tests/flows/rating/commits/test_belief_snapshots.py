"""Snapshots that are encoded part by part have the files of those that are encoded from all beliefs at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.rating.commits import belief_snapshots
from ranklake.flows.rating.commits.belief_snapshots import encode_beliefs
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.storage import Lake, Run
from ranklake.storage.runs import snapshots

PART = 16
LAST = 11  # round


def rounds(n_players: int) -> Rounds:
    """Rounds of some players, so that histories have different lengths."""
    draw = np.random.default_rng(n_players)
    fields = [draw.choice(n_players, size, replace=False) for size in draw.integers(2, n_players + 1, 12)]
    places = [np.arange(len(field), dtype=np.int32) for field in fields]
    n, ones = len(fields), np.ones(len(fields))
    lo = np.concatenate(places)
    player = np.concatenate(fields).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(field) for field in fields])])
    return Rounds(offsets, player, lo, lo.copy(), np.arange(n) * 86400, ones, np.full(n, np.inf), np.arange(n))


def files(lake: Lake, run: Run) -> dict[str, bytes]:
    folder = run.path_of_snapshot(LAST)
    return {name: lake.read_bytes(f"{folder}/{name}") for name in lake.list(folder)}


@pytest.mark.parametrize("system", ["elo-mmr", "glicko"])  # with histories, and without
@pytest.mark.parametrize("n_players", [2, PART - 1, PART, PART + 1, 5 * PART + 3])
def test_encode_beliefs__gives_the_files_of_all_beliefs_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, n_players: int
) -> None:
    monkeypatch.setattr(belief_snapshots, "PART_PLAYERS", PART)
    monkeypatch.setattr(snapshots, "PART_PLAYERS", PART)
    params = SYSTEMS[system].params()
    found: list[dict[str, bytes]] = []
    for engine in (Serial(), Threads(3)):
        with engine:
            rater = LocalRater(SYSTEMS[system], params, n_players, engine)
            list(rater.rate_batches([rounds(n_players)]))
            lake = Lake.open(tmp_path / f"{type(engine).__name__}", create=True)
            run = Run.create(lake, "run", {})
            columns: dict[str, Any] = rater.columns()
            run.write_snapshot(LAST, columns, "ab" * 16)
            found.append(files(lake, run))
            parts = encode_beliefs(rater)
            assert [part.rows for part in parts] == [min(PART, n_players - at) for at in range(0, n_players, PART)]
            run.write_encoded(LAST, parts, "ab" * 16)
            found.append(files(lake, run))
    assert found[0] == found[1] == found[2] == found[3]
